package delta

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// keyMaxColumnID is the highest id that a column of the table ever had under column mapping.
const keyMaxColumnID = "delta.columnMapping.maxColumnId"

// physicalPrefix begins the physical name of a column that was added under column mapping.
const physicalPrefix = "col-"

// numberColumns gives every column the id and the physical name that column mapping demands. Columns
// that have them keep them. It carries out the one change of mode that an existing table can make:
// from none to name, in which each column's files keep the name that they have.
func (d *draft) numberColumns() error {
	before, _ := effectiveMapping(d.was.Protocol(), d.was.Metadata())
	now, known := effectiveMapping(&d.protocol, &d.meta)
	switch {
	case !known:
		return fmt.Errorf("the column mapping mode %q is none of none, name and id: %w", d.meta.Configuration[propMappingMode], ErrInput)
	case d.settled:
		return nil
	case !d.creating && before != now && (before != MappingNone || now != MappingName):
		return fmt.Errorf("column mapping cannot change from %s to %s on a table that exists: only from none to name; "+
			"to be without it, drop the feature columnMapping: %w", before, now, ErrInput)
	case now == MappingNone:
		return nil
	}
	n := numberer{fresh: d.physicalName, asNamed: before == MappingNone && !d.creating}
	return d.number(&n)
}

// number carries out a numbering.
func (d *draft) number(n *numberer) error {
	n.nested = isTrue(&d.meta, "delta.enableIcebergCompatV2")
	n.last = highestID(d.schema, d.meta.Configuration)
	numbered := n.structure(d.schema, "")
	if n.last > math.MaxInt32 {
		return fmt.Errorf("the table has no column ids left: the highest is %d: %w", math.MaxInt32, ErrInput)
	}
	if n.changed {
		d.schema = numbered
		d.meta.Configuration[keyMaxColumnID] = strconv.FormatInt(n.last, 10)
	}
	return nil
}

// physicalName is a name that no column of the table ever had in files: random, where the caller has
// random numbers to give, or else made of the column's id, which no other column ever gets. The
// latter comes out the same when an edit is worked out again for files that were written for it.
func (d *draft) physicalName(path string, f *Field, id int64) string {
	if d.fresh.ID != nil {
		return physicalPrefix + d.fresh.ID()
	}
	sum := sha256.Sum256([]byte(d.meta.ID + "\x00" + strconv.FormatInt(id, 10) + "\x00" + path + "\x00" + f.Type.String()))
	h := hex.EncodeToString(sum[:16])
	return physicalPrefix + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// numberer gives ids and physical names.
type numberer struct {
	fresh   func(path string, f *Field, id int64) string
	asNamed bool  // all columns get ids, and their names as physical ones
	nested  bool  // elements, keys and values have ids too
	last    int64 // the highest id
	changed bool
}

// structure numbers the fields of a struct, and what is below each before the next.
func (n *numberer) structure(s *Struct, path string) *Struct {
	out := &Struct{Fields: slices.Clone(s.Fields)}
	for i := range out.Fields {
		f := &out.Fields[i]
		f.Metadata = maps.Clone(f.Metadata)
		if f.Metadata == nil {
			f.Metadata = map[string]json.RawMessage{}
		}
		if n.asNamed {
			delete(f.Metadata, nestedIDsKey)
		}
		id, ok := f.mappingID()
		if !ok || n.asNamed {
			n.last++
			id = int32(min(n.last, math.MaxInt32))
			f.Metadata[mappingIDKey] = json.RawMessage(strconv.FormatInt(int64(id), 10))
			n.changed = true
		}
		switch _, named, _ := f.Text(physicalNameKey); {
		case n.asNamed:
			f.Metadata[physicalNameKey] = appendQuoted(nil, f.Name)
		case !named:
			f.Metadata[physicalNameKey] = appendQuoted(nil, n.fresh(path+f.Name, f, int64(id)))
			n.changed = true
		}
		f.Type = n.below(f.Type, path+f.Name)
	}
	for i := range out.Fields {
		n.numberNested(&out.Fields[i])
	}
	return out
}

func (n *numberer) below(t Type, path string) Type {
	switch t := t.(type) {
	case *Struct:
		return n.structure(t, path+".")
	case *Array:
		return &Array{Element: n.below(t.Element, path+".element"), ContainsNull: t.ContainsNull}
	case *Map:
		return &Map{Key: n.below(t.Key, path+".key"), Value: n.below(t.Value, path+".value"), ValueContainsNull: t.ValueContainsNull}
	}
	return t
}

// numberNested gives ids to the elements, keys and values of a field, down to the next struct, by
// their path from its physical name.
func (n *numberer) numberNested(f *Field) {
	if !n.nested {
		return
	}
	ids := map[string]json.Number{}
	if raw, ok := f.Metadata[nestedIDsKey]; ok {
		_ = json.Unmarshal(raw, &ids) // what cannot be read is made anew
	}
	had := len(ids)
	for _, part := range partsOf(f.Type, f.PhysicalName()) {
		if _, ok := ids[part]; !ok {
			n.last++
			ids[part] = json.Number(strconv.FormatInt(n.last, 10))
		}
	}
	if len(ids) == had {
		return
	}
	n.changed = true
	f.Metadata[nestedIDsKey], _ = json.Marshal(ids)
}

// partsOf are the paths of the elements, keys and values below a type that are in no struct.
func partsOf(t Type, path string) []string {
	switch t := t.(type) {
	case *Array:
		return append([]string{path + ".element"}, partsOf(t.Element, path+".element")...)
	case *Map:
		parts := append([]string{path + ".key"}, partsOf(t.Key, path+".key")...)
		parts = append(parts, path+".value")
		return append(parts, partsOf(t.Value, path+".value")...)
	}
	return nil
}

// highestID is the highest id that the table says it gave, or gave.
func highestID(s *Struct, conf map[string]string) int64 {
	highest, _ := strconv.ParseInt(conf[keyMaxColumnID], 10, 64)
	findField(s, "", func(f *Field) bool {
		if id, ok := f.mappingID(); ok {
			highest = max(highest, int64(id))
		}
		var nested map[string]json.Number
		if raw, ok := f.Metadata[nestedIDsKey]; ok && json.Unmarshal(raw, &nested) == nil {
			for _, id := range nested {
				if i, err := id.Int64(); err == nil {
					highest = max(highest, i)
				}
			}
		}
		return false
	})
	return max(highest, 0)
}

// withoutMapping takes the ids and physical names of column mapping from a type and all below it.
func withoutMapping(t Type) Type {
	return withoutKeys(t, mappingIDKey, physicalNameKey, nestedIDsKey)
}

// withoutKeys takes metadata from the fields of a type, at every depth.
func withoutKeys(t Type, keys ...string) Type {
	switch t := t.(type) {
	case *Struct:
		out := cloneStruct(t)
		for i := range out.Fields {
			f := &out.Fields[i]
			f.Metadata, f.Type = maps.Clone(f.Metadata), withoutKeys(f.Type, keys...)
			for _, key := range keys {
				delete(f.Metadata, key)
			}
		}
		return out
	case *Array:
		return &Array{Element: withoutKeys(t.Element, keys...), ContainsNull: t.ContainsNull}
	case *Map:
		return &Map{Key: withoutKeys(t.Key, keys...), Value: withoutKeys(t.Value, keys...), ValueContainsNull: t.ValueContainsNull}
	}
	return t
}

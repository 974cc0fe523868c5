package logcheck

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// mapping looks at the ids and the physical names that a definition gives its fields.
func (c *checker) mapping(s *step) {
	dropped := s.after.Mapping() == delta.MappingNone
	same := s.before != nil && s.before.Metadata() == s.after.Metadata()
	if (dropped || adopts(s.info.Operation)) && !same {
		clear(c.idNames) // once mapping is dropped ids begin anew, and those of a copy are its source's
		clear(c.nameIDs)
	}
	if dropped || same {
		return
	}
	text, _ := s.after.Property("delta.columnMapping.maxColumnId")
	most, _ := strconv.ParseInt(text, 10, 64)
	if s.before != nil && !s.returns() {
		was, _ := s.before.Property("delta.columnMapping.maxColumnId")
		if n, err := strconv.ParseInt(was, 10, 64); err == nil && most < n {
			c.find(MappingMax, s.v, s.key, "it is %q and was %d", text, n)
		}
	}
	ids := map[int64]string{}
	c.mapped(s, s.after.Schema(), nil, func(path []string, id int64) {
		name := strings.Join(path, "\x00")
		if other, twice := ids[id]; twice {
			c.find(MappingIDs, s.v, s.key, "the id %d is that of %s and of %s", id, show(other), show(name))
		} else if id > most {
			c.find(MappingMax, s.v, s.key, "it is %q, and %s has the id %d", text, show(name), id)
		} else {
			c.belong(s, id, name)
		}
		ids[id] = name
	})
	c.columns = ids
}

func show(path string) string { return strings.ReplaceAll(path, "\x00", ".") }

// mapped visits the fields by their paths of physical names.
func (c *checker) mapped(s *step, t delta.Type, path []string, visit func(path []string, id int64)) {
	under := func(name string) []string { return append(path[:len(path):len(path)], name) }
	switch t := t.(type) {
	case *delta.Struct:
		names := map[string]bool{}
		for _, f := range t.Fields {
			var id int64
			var name string
			if json.Unmarshal(f.Metadata["delta.columnMapping.id"], &id) != nil || json.Unmarshal(f.Metadata["delta.columnMapping.physicalName"], &name) != nil {
				c.find(MappingIDs, s.v, s.key, "%s has no id or no physical name", f.Name)
				continue
			}
			if names[name] {
				c.find(MappingIDs, s.v, s.key, "the physical name %s is that of two fields", name)
				continue
			}
			names[name] = true
			visit(under(name), id)
			c.mapped(s, f.Type, under(name), visit)
		}
	case *delta.Array:
		c.mapped(s, t.Element, under("element"), visit)
	case *delta.Map:
		c.mapped(s, t.Key, under("key"), visit)
		c.mapped(s, t.Value, under("value"), visit)
	}
}

// belong holds the pair of an id and a path of physical names against those that ever were.
func (c *checker) belong(s *step, id int64, path string) {
	name, hadID := c.idNames[id]
	other, hadName := c.nameIDs[path]
	_, stands := c.columns[id]
	switch {
	case s.returns() && c.mappedOnce[column{id, path}]: // it may be from before mapping was dropped
	case hadID && name != path:
		c.find(MappingReuse, s.v, s.key, "the id %d was that of %s and is that of %s", id, show(name), show(path))
	case hadName && other != id:
		c.find(MappingReuse, s.v, s.key, "%s had the id %d and has %d", show(path), other, id)
	case hadID && !stands && !s.returns():
		c.find(MappingReuse, s.v, s.key, "%s had been dropped and comes back", show(path))
	}
	c.idNames[id], c.nameIDs[path] = path, id
	c.mappedOnce[column{id, path}] = true
}

// column is a field under column mapping: its id, and its path of physical names.
type column struct {
	id   int64
	path string
}

// typeChange is an element of delta.typeChanges.
type typeChange struct {
	From any    `json:"fromType"`
	To   any    `json:"toType"`
	Path string `json:"fieldPath"`
}

// typeChanges looks at the changes of types that are recorded, and for those that are not.
func (c *checker) typeChanges(s *step) {
	if s.before != nil && s.before.Metadata() == s.after.Metadata() || !s.after.HasSchema() {
		return
	}
	walk(s.after.Schema(), nil, func(path []string, f *delta.Field, _ delta.Type) {
		if f == nil {
			return
		}
		raw, ok := f.Metadata[typeChangesKey]
		if !ok {
			return
		}
		var all []typeChange
		if err := json.Unmarshal(raw, &all); err != nil {
			c.find(TypeChanges, s.v, s.key, "column %s: the record cannot be read: %v", strings.Join(path, "."), err)
			return
		}
		last := map[string]string{}
		for _, one := range all {
			from, to := typeText(one.From), typeText(one.To)
			if !widens(from, to) || last[one.Path] != "" && last[one.Path] != from {
				c.find(TypeChanges, s.v, s.key, "column %s: %s to %s is no widening, or none of what it was", strings.Join(path, "."), from, to)
			}
			last[one.Path] = to
		}
		for inner, to := range last {
			if is := typeAt(f.Type, inner); is != to {
				c.find(TypeChanges, s.v, s.key, "column %s: the last change is to %s, and it is %s", strings.Join(path, "."), to, is)
			}
		}
	})
	if s.before != nil && s.before.HasSchema() && s.keepsFiles() {
		c.unrecorded(s)
	}
}

// keepsFiles says whether a file is live before and after.
func (s *step) keepsFiles() bool {
	for f := range s.before.Files() {
		if _, ok := s.after.Live(f.Key); ok {
			return true
		}
	}
	return false
}

// unrecorded looks for leaves whose type is another without a widening between.
func (c *checker) unrecorded(s *step) {
	was := map[string]delta.Type{}
	for _, l := range leaves(s.before) {
		was[strings.Join(l.path, "\x00")] = l.typ
	}
	for _, l := range leaves(s.after) {
		old, ok := was[strings.Join(l.path, "\x00")]
		_, nested := l.typ.(*delta.Array)
		_, isMap := l.typ.(*delta.Map)
		if !ok || nested || isMap || old == delta.Void || old.String() == l.typ.String() || s.returns() {
			continue
		}
		if !widens(old.String(), l.typ.String()) {
			c.find(TypeChanges, s.v, s.key, "column %s: %s became %s", strings.Join(l.path, "."), old, l.typ)
		}
	}
}

func typeText(t any) string {
	text, ok := t.(string)
	if !ok {
		return "a nested type"
	}
	return strings.ReplaceAll(text, " ", "")
}

// typeAt is the type that a path through arrays and maps leads to.
func typeAt(t delta.Type, path string) string {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		switch at := t.(type) {
		case *delta.Array:
			t = at.Element
		case *delta.Map:
			if t = at.Value; part == "key" {
				t = at.Key
			}
		default:
			return "no " + part
		}
	}
	return t.String()
}

// widens is the table of widenings of the protocol, on the texts of types.
func widens(from, to string) bool {
	ints := map[string]int{"byte": 3, "short": 5, "integer": 10, "long": 20}
	f, t := ints[from], ints[to]
	var fp, fs, tp, ts int
	_, fromDecimal := fmt.Sscanf(from, "decimal(%d,%d)", &fp, &fs)
	_, toDecimal := fmt.Sscanf(to, "decimal(%d,%d)", &tp, &ts)
	switch {
	case f > 0 && t > 0:
		return f < t
	case toDecimal == nil && fromDecimal == nil:
		return ts >= fs && tp-ts >= fp-fs && (tp > fp || ts > fs)
	case toDecimal == nil && f > 0:
		return tp-ts >= max(f, 10)
	case to == "double":
		return from == "float" || f > 0 && f < 20
	}
	return from == "date" && to == "timestamp_ntz"
}

package delta

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// TypedColumns are the columns of the typed forms in which a checkpoint holds what an add has as
// text: stats_parsed and partitionValues_parsed.
type TypedColumns struct {
	// Stats are the columns of which the table gathers statistics.
	Stats []TypedColumn

	// Partitions are the partition columns.
	Partitions []TypedColumn

	snap       *Snapshot
	partitions []string // as the schema spells them
	leaves     int
}

// TypedColumn is a column by its physical name: a leaf, or a struct of Fields.
type TypedColumn struct {
	Name   string
	Type   Type // of a leaf
	Bounds bool // the leaf has a min and a max; one that has none is only counted
	Fields []TypedColumn

	leaf int // its place among the leaves, depth first
}

// IsStruct says whether the column is a struct of Fields.
func (c *TypedColumn) IsStruct() bool { return len(c.Fields) > 0 }

// Leaf is the place of a leaf of the statistics in TypedValues.
func (c *TypedColumn) Leaf() int { return c.leaf }

// TypedValues are the typed forms of one add.
type TypedValues struct {
	// HasStats is false for a file without statistics that can be read.
	HasStats    bool
	NumRecords  *int64
	TightBounds *bool

	// Min, Max and Nulls are by leaf; nil where they are not known.
	Min, Max []scalar.Scalar
	Nulls    []*int64

	// Partitions are the values of the partition columns, in their order; an invalid scalar is NULL.
	Partitions []scalar.Scalar
}

// TypedColumns are the typed columns of the table.
func (s *Snapshot) TypedColumns() *TypedColumns {
	c := &TypedColumns{snap: s, partitions: s.PartitionColumns()}
	schema, nodes := s.Schema(), s.StatsBuilder().columns
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if slices.Contains(c.partitions, f.Name) {
			continue
		}
		c.Stats = c.take(c.Stats, f, nodes[0])
		nodes = nodes[1:]
	}
	for _, name := range c.partitions {
		f := &schema.Fields[schema.Index(name)]
		c.Partitions = append(c.Partitions, TypedColumn{Name: s.PartitionKey(f.Name), Type: f.Type})
	}
	return c
}

func (c *TypedColumns) take(to []TypedColumn, f *Field, n *statsNode) []TypedColumn {
	if !n.gather {
		return to
	}
	out := TypedColumn{Name: n.name}
	if s, ok := f.Type.(*Struct); ok {
		for i := range s.Fields {
			out.Fields = c.take(out.Fields, &s.Fields[i], n.children[i])
		}
		return append(to, out)
	}
	out.Type, out.Bounds, out.leaf = f.Type, n.bounds != nil, c.leaves
	c.leaves++
	return append(to, out)
}

// Values gives the typed forms of an add. Statistics are taken as they are written, without the
// allowances that a reader makes for them; what is none of its column's type is left out. A
// partition value that is missing, or none of its type, wraps ErrCorrupt.
func (c *TypedColumns) Values(a *Add) (TypedValues, error) {
	v := TypedValues{Partitions: make([]scalar.Scalar, len(c.Partitions))}
	for i, name := range c.partitions {
		text, err := c.snap.PartitionValue(a, name)
		if err == nil {
			v.Partitions[i], err = ParsePartitionValue(c.Partitions[i].Type, text)
		}
		if err != nil {
			return v, fmt.Errorf("the file %s: %w", a.Path, err)
		}
	}
	st, ok := ParseStats(a.Stats)
	if !ok {
		return v, nil
	}
	v.HasStats, v.NumRecords, v.TightBounds = true, st.NumRecords, st.TightBounds
	v.Min, v.Max, v.Nulls = make([]scalar.Scalar, c.leaves), make([]scalar.Scalar, c.leaves), make([]*int64, c.leaves)
	eachLeaf(c.Stats, st.minValues, func(leaf *TypedColumn, raw []byte) { v.Min[leaf.leaf] = leaf.exact(raw) })
	eachLeaf(c.Stats, st.maxValues, func(leaf *TypedColumn, raw []byte) { v.Max[leaf.leaf] = leaf.exact(raw) })
	eachLeaf(c.Stats, st.nullCount, func(leaf *TypedColumn, raw []byte) { v.Nulls[leaf.leaf] = parseCount(raw) })
	return v, nil
}

// eachLeaf calls f with the JSON text of each leaf that an object of statistics holds, in one pass.
func eachLeaf(columns []TypedColumn, object []byte, f func(leaf *TypedColumn, raw []byte)) {
	if len(object) == 0 || object[0] != '{' {
		return
	}
	s := scanner{data: object}
	_ = s.object(func(key []byte) error { // what follows an error is not known, and that is all
		i := slices.IndexFunc(columns, func(c TypedColumn) bool { return c.Name == string(key) })
		raw, err := s.raw()
		switch {
		case err != nil || i < 0:
		case columns[i].IsStruct():
			eachLeaf(columns[i].Fields, raw, f)
		default:
			f(&columns[i], raw)
		}
		return err
	})
}

// exact reads a bound as it is written, nil if it is none of the type.
func (c *TypedColumn) exact(raw []byte) scalar.Scalar {
	dt, err := ArrowType(c.Type)
	if err != nil || !c.Bounds || len(raw) == 0 {
		return nil
	}
	text, quoted := string(raw), raw[0] == '"'
	if quoted {
		s := scanner{data: raw}
		unquoted, err := s.text()
		if err != nil {
			return nil
		}
		text = string(unquoted)
	}
	if d, ok := c.Type.(Decimal); ok {
		n, _, ok := parseDecimal(text, d)
		return scalarIf(ok, scalar.NewDecimal128Scalar(n, dt))
	}
	switch c.Type {
	case Long, Integer, Short, Byte:
		n, ok := parseInteger(c.Type, text)
		return scalarIf(ok && !quoted, n)
	case Float:
		f, ok := parseFloat(text, 32)
		return scalarIf(ok && !math.IsNaN(f), scalar.NewFloat32Scalar(float32(f)))
	case Double:
		f, ok := parseFloat(text, 64)
		return scalarIf(ok && !math.IsNaN(f), scalar.NewFloat64Scalar(f))
	case String:
		return scalarIf(quoted, scalar.NewStringScalar(text))
	case Date:
		days, ok := parseDate(text)
		return scalarIf(ok && quoted && days >= minDay && days <= maxDay, scalar.NewDate32Scalar(arrow.Date32(days)))
	case Timestamp, TimestampNTZ:
		m, ok := parseMoment(text)
		ok = ok && quoted && m.micros >= minMicros && m.micros <= maxMicros
		ok = ok && (m.zoned || c.Type == TimestampNTZ) && (m.offset == 0 || c.Type == Timestamp)
		return scalarIf(ok, scalar.NewTimestampScalar(arrow.Timestamp(m.micros), dt))
	}
	return nil
}

func scalarIf(ok bool, v scalar.Scalar) scalar.Scalar {
	if !ok {
		return nil
	}
	return v
}

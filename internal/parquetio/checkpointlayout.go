package parquetio

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/parquet-go/parquet-go"

	"github.com/idemtable/idem/delta"
)

// CheckpointContent says what a checkpoint file is for, and so which actions it may hold.
type CheckpointContent int

const (
	ClassicCheckpoint  CheckpointContent = iota // all actions of V1 content
	CheckpointManifest                          // those, and the ones about the checkpoint itself
	CheckpointSidecar                           // adds and removes only
)

// CheckpointLayout is how a checkpoint file is written. The zero value is a classic one with
// statistics as text.
type CheckpointLayout struct {
	Content CheckpointContent

	// SkipText leaves add.stats out.
	SkipText bool

	// Typed adds add.stats_parsed, and add.partitionValues_parsed if the table has partition columns.
	Typed *delta.TypedColumns
}

// baseSchema has the columns that rows are made of.
var baseSchema = parquet.SchemaOf(checkpointRow{})

// columns are the top-level columns of a layout's file.
func (l CheckpointLayout) columns() []string {
	switch l.Content {
	case CheckpointSidecar:
		return []string{"add", "remove"}
	case CheckpointManifest:
		return []string{"txn", "add", "remove", "metaData", "protocol", "domainMetadata", "checkpointMetadata", "sidecar"}
	}
	return []string{"txn", "add", "remove", "metaData", "protocol", "domainMetadata"}
}

// schema is the one of a layout's file.
func (l CheckpointLayout) schema() *parquet.Schema {
	root := parquet.Group{}
	for _, f := range baseSchema.Fields() {
		if !slices.Contains(l.columns(), f.Name()) {
			continue
		}
		root[f.Name()] = f
		if f.Name() == "add" {
			root["add"] = parquet.Optional(l.addNode(f))
		}
	}
	return parquet.NewSchema("checkpoint", root)
}

// countElements counts the elements that a footer has for a node.
func countElements(n parquet.Node) int {
	count := 1
	for _, f := range n.Fields() {
		count += countElements(f)
	}
	return count
}

func (l CheckpointLayout) addNode(base parquet.Node) parquet.Group {
	add := parquet.Group{}
	for _, f := range base.Fields() {
		if f.Name() != "stats" || !l.SkipText {
			add[f.Name()] = f
		}
	}
	if l.Typed == nil {
		return add
	}
	long := func(*delta.TypedColumn) parquet.Node { return parquet.Leaf(parquet.Int64Type) }
	bounds := func(c *delta.TypedColumn) parquet.Node {
		if !c.Bounds {
			return nil
		}
		return typedNode(c.Type)
	}
	stats := parquet.Group{
		"numRecords":  parquet.Optional(parquet.Leaf(parquet.Int64Type)),
		"tightBounds": parquet.Optional(parquet.Leaf(parquet.BooleanType)),
	}
	putGroup(stats, "minValues", typedGroup(l.Typed.Stats, bounds))
	putGroup(stats, "maxValues", typedGroup(l.Typed.Stats, bounds))
	putGroup(stats, "nullCount", typedGroup(l.Typed.Stats, long))
	add["stats_parsed"] = parquet.Optional(stats)
	putGroup(add, "partitionValues_parsed", typedGroup(l.Typed.Partitions, func(c *delta.TypedColumn) parquet.Node { return typedNode(c.Type) }))
	return add
}

// putGroup puts a group that has fields: one without is no column in Parquet.
func putGroup(into parquet.Group, name string, g parquet.Group) {
	if len(g) > 0 {
		into[name] = parquet.Optional(g)
	}
}

// typedGroup has a leaf for each column of which leaf makes one.
func typedGroup(columns []delta.TypedColumn, leaf func(*delta.TypedColumn) parquet.Node) parquet.Group {
	g := parquet.Group{}
	for i := range columns {
		c := &columns[i]
		if c.IsStruct() {
			putGroup(g, c.Name, typedGroup(c.Fields, leaf))
		} else if n := leaf(c); n != nil {
			g[c.Name] = parquet.Optional(n)
		}
	}
	return g
}

// typedNode is a column of a type, nil for one that no typed form holds.
func typedNode(t delta.Type) parquet.Node {
	if d, ok := t.(delta.Decimal); ok {
		return parquet.Decimal(d.Scale, d.Precision, decimalNode(d.Precision))
	}
	switch t {
	case delta.Long:
		return parquet.Leaf(parquet.Int64Type)
	case delta.Integer:
		return parquet.Leaf(parquet.Int32Type)
	case delta.Short:
		return parquet.Int(16)
	case delta.Byte:
		return parquet.Int(8)
	case delta.Float:
		return parquet.Leaf(parquet.FloatType)
	case delta.Double:
		return parquet.Leaf(parquet.DoubleType)
	case delta.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case delta.String:
		return parquet.String()
	case delta.Binary:
		return parquet.Leaf(parquet.ByteArrayType)
	case delta.Date:
		return parquet.Date()
	case delta.Timestamp:
		return parquet.Timestamp(parquet.Microsecond)
	case delta.TimestampNTZ:
		return parquet.TimestampAdjusted(parquet.Microsecond, false)
	}
	return nil
}

func decimalNode(precision int) parquet.Type {
	switch {
	case precision <= 9:
		return parquet.Int32Type
	case precision <= 18:
		return parquet.Int64Type
	}
	return parquet.FixedLenByteArrayType(decimalBytes(int32(precision)))
}

// decimalValue is a decimal in the physical type of decimalNode.
func decimalValue(s *scalar.Decimal128) parquet.Value {
	switch precision := int(s.DataType().(*arrow.Decimal128Type).Precision); {
	case precision <= 9:
		return parquet.Int32Value(int32(s.Value.LowBits()))
	case precision <= 18:
		return parquet.Int64Value(int64(s.Value.LowBits()))
	default:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], uint64(s.Value.HighBits()))
		binary.BigEndian.PutUint64(b[8:], s.Value.LowBits())
		return parquet.FixedLenByteArrayValue(slices.Clone(b[16-decimalBytes(int32(precision)):]))
	}
}

// typedLeaf is a column of a typed form: where it is, and how its value is found.
type typedLeaf struct {
	column, defined int
	of              typedKind
	place           int // among the leaves, or the partition columns
}

type typedKind int

const (
	typedRecords typedKind = iota
	typedTight
	typedMin
	typedMax
	typedNulls
	typedPartition
)

// leaves finds the columns of the typed forms in the file's schema.
func (l CheckpointLayout) leaves(file *parquet.Schema) []typedLeaf {
	if l.Typed == nil {
		return nil
	}
	var out []typedLeaf
	find := func(of typedKind, place int, path ...string) {
		if c, ok := file.Lookup(append([]string{"add"}, path...)...); ok {
			out = append(out, typedLeaf{column: int(c.ColumnIndex), defined: int(c.MaxDefinitionLevel), of: of, place: place})
		}
	}
	find(typedRecords, 0, "stats_parsed", "numRecords")
	find(typedTight, 0, "stats_parsed", "tightBounds")
	var walk func(columns []delta.TypedColumn, path []string)
	walk = func(columns []delta.TypedColumn, path []string) {
		for i := range columns {
			below := append(slices.Clone(path), columns[i].Name)
			if columns[i].IsStruct() {
				walk(columns[i].Fields, below)
				continue
			}
			for of, group := range map[typedKind]string{typedMin: "minValues", typedMax: "maxValues", typedNulls: "nullCount"} {
				find(of, columns[i].Leaf(), append([]string{"stats_parsed", group}, below...)...)
			}
		}
	}
	walk(l.Typed.Stats, nil)
	for i, c := range l.Typed.Partitions {
		find(typedPartition, i, "partitionValues_parsed", c.Name)
	}
	return out
}

// value is that of a row, at its levels: of an add, or of none. Where the add has statistics their structs are there, and
// so is that of the partition values, whatever is NULL in them.
func (t typedLeaf) value(v *delta.TypedValues, isAdd bool) (parquet.Value, error) {
	if !isAdd {
		return parquet.NullValue().Level(0, 0, t.column), nil
	}
	if t.of != typedPartition && !v.HasStats {
		return parquet.NullValue().Level(0, 1, t.column), nil
	}
	out, err := t.plain(v)
	if err != nil {
		return out, err
	}
	if out.IsNull() {
		return out.Level(0, t.defined-1, t.column), nil
	}
	return out.Level(0, t.defined, t.column), nil
}

func (t typedLeaf) plain(v *delta.TypedValues) (parquet.Value, error) {
	count := func(n *int64) (parquet.Value, error) {
		if n == nil {
			return parquet.NullValue(), nil
		}
		return parquet.Int64Value(*n), nil
	}
	switch t.of {
	case typedRecords:
		return count(v.NumRecords)
	case typedTight:
		if v.TightBounds == nil {
			return parquet.NullValue(), nil
		}
		return parquet.BooleanValue(*v.TightBounds), nil
	case typedMin:
		return typedValue(v.Min[t.place])
	case typedMax:
		return typedValue(v.Max[t.place])
	case typedNulls:
		return count(v.Nulls[t.place])
	}
	return typedValue(v.Partitions[t.place])
}

// typedValue is a scalar of a type of delta.ArrowType as typedNode has it.
func typedValue(s scalar.Scalar) (parquet.Value, error) {
	if s == nil || !s.IsValid() {
		return parquet.NullValue(), nil
	}
	switch s := s.(type) {
	case *scalar.Int64:
		return parquet.Int64Value(s.Value), nil
	case *scalar.Int32:
		return parquet.Int32Value(s.Value), nil
	case *scalar.Int16:
		return parquet.Int32Value(int32(s.Value)), nil
	case *scalar.Int8:
		return parquet.Int32Value(int32(s.Value)), nil
	case *scalar.Float32:
		return parquet.FloatValue(s.Value), nil
	case *scalar.Float64:
		return parquet.DoubleValue(s.Value), nil
	case *scalar.Boolean:
		return parquet.BooleanValue(s.Value), nil
	case *scalar.String:
		return parquet.ByteArrayValue(s.Value.Bytes()), nil
	case *scalar.Binary:
		return parquet.ByteArrayValue(s.Value.Bytes()), nil
	case *scalar.Date32:
		return parquet.Int32Value(int32(s.Value)), nil
	case *scalar.Timestamp:
		return parquet.Int64Value(int64(s.Value)), nil
	case *scalar.Decimal128:
		return decimalValue(s), nil
	}
	return parquet.Value{}, fmt.Errorf("a value of Arrow type %s has no typed form", s.DataType())
}

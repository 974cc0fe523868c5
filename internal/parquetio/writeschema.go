package parquetio

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/idemtable/idem/delta"
)

// fieldIDKey is the key of an Arrow field's metadata that holds the column's id in the file.
const fieldIDKey = "PARQUET:field_id"

// fileRoot is the schema of a file that is written.
type fileRoot struct {
	group *schema.GroupNode
	cols  *schema.Schema
}

func (r fileRoot) path(leaf int) string { return r.cols.Column(leaf).Path() }

// fileSchema makes the file's schema and one writer for each of its columns.
func fileSchema(s *arrow.Schema) (fileRoot, []leafWriter, error) {
	var leaves []leafWriter
	var nodes schema.FieldList
	for i, f := range s.Fields() {
		if f.Type.ID() == arrow.NULL {
			continue
		}
		b := schemaShredder{leaves: &leaves, column: i}
		n, err := b.field(f.Name, f, nil)
		if err != nil {
			return fileRoot{}, nil, fmt.Errorf("write Parquet: column %s: %w", f.Name, err)
		}
		nodes = append(nodes, n)
	}
	g, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return fileRoot{}, nil, fmt.Errorf("write Parquet: %w", err)
	}
	if n := countNodes(g); len(leaves) > maxSchemaLeaves || n > maxSchemaNodes {
		return fileRoot{}, nil, beyond(fmt.Sprintf("a file of %d columns and %d schema elements", len(leaves), n), maxSchemaNodes, fewerColumns)
	}
	return fileRoot{group: g, cols: schema.NewSchema(g)}, leaves, nil
}

// countNodes counts the elements that a footer has for a node.
func countNodes(n schema.Node) int {
	count := 1
	if g, ok := n.(*schema.GroupNode); ok {
		for i := range g.NumFields() {
			count += countNodes(g.Field(i))
		}
	}
	return count
}

// schemaShredder walks a column's type and gathers the ways to its leaves.
type schemaShredder struct {
	leaves *[]leafWriter
	column int
}

// field makes the node of a column or field. way leads to it.
func (b *schemaShredder) field(name string, f arrow.Field, way []step) (schema.Node, error) {
	rep := parquet.Repetitions.Required
	if f.Nullable {
		rep = parquet.Repetitions.Optional
	}
	id := int32(-1) // none
	if given, ok := fieldID(f); ok {
		id = given
	}
	way = append(way[:len(way):len(way)], step{nullable: f.Nullable})
	switch t := f.Type.(type) {
	case *arrow.StructType:
		nodes, err := b.fields(t, way)
		switch {
		case err != nil:
			return nil, err
		case delta.IsVariant(t):
			return schema.NewGroupNodeLogical(name, rep, nodes, schema.VariantLogicalType{}, id)
		}
		return schema.NewGroupNode(name, rep, nodes, id)
	case *arrow.ListType:
		n, err := b.below(way, intoElement, "element", t.ElemField())
		if err != nil {
			return nil, err
		}
		return schema.ListOfWithName(name, n, rep, id)
	case *arrow.MapType:
		key := t.KeyField()
		key.Nullable = false
		k, err := b.below(way, intoKey, "key", key)
		if err != nil {
			return nil, err
		}
		v, err := b.below(way, intoValue, "value", t.ItemField())
		if err != nil {
			return nil, err
		}
		return schema.MapOf(name, k, v, rep, id)
	}
	return b.leaf(name, f.Type, rep, id, way)
}

func (b *schemaShredder) fields(t *arrow.StructType, way []step) (schema.FieldList, error) {
	var nodes schema.FieldList
	for i, c := range t.Fields() {
		if c.Type.ID() == arrow.NULL {
			continue
		}
		way[len(way)-1].field = i
		n, err := b.below(way, intoField, c.Name, c)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", c.Name, err)
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: a struct without fields that can be stored (void is not)", delta.ErrUnsupported)
	}
	return nodes, nil
}

// below makes the node one step further.
func (b *schemaShredder) below(way []step, into into, name string, f arrow.Field) (schema.Node, error) {
	way[len(way)-1].into = into
	return b.field(name, f, way)
}

func (b *schemaShredder) leaf(name string, t arrow.DataType, rep parquet.Repetition, id int32, way []step) (schema.Node, error) {
	phys, logical, length, put, err := leafType(t)
	if err != nil {
		return nil, err
	}
	*b.leaves = append(*b.leaves, leafWriter{
		column: b.column, way: append([]step(nil), way...), put: put, dictionary: phys != parquet.Types.Boolean,
		noBounds: phys == parquet.Types.ByteArray || phys == parquet.Types.Float || phys == parquet.Types.Double,
	})
	return schema.NewPrimitiveNodeLogical(name, rep, logical, phys, length, id)
}

// fieldID gives the id in a field's metadata; ok is false if there is none.
func fieldID(f arrow.Field) (id int32, ok bool) {
	i := f.Metadata.FindKey(fieldIDKey)
	if i < 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(f.Metadata.Values()[i], 10, 32)
	return int32(n), err == nil
}

// leafType is the table of physical types of the protocol, the side that is written.
func leafType(t arrow.DataType) (phys parquet.Type, logical schema.LogicalType, length int, put putFunc, err error) {
	none := schema.NoLogicalType{}
	switch t := t.(type) {
	case *arrow.BooleanType:
		return parquet.Types.Boolean, none, 0, putBools, nil
	case *arrow.Int8Type:
		return parquet.Types.Int32, schema.NewIntLogicalType(8, true), 0, putNarrow[int8], nil
	case *arrow.Int16Type:
		return parquet.Types.Int32, schema.NewIntLogicalType(16, true), 0, putNarrow[int16], nil
	case *arrow.Int32Type:
		return parquet.Types.Int32, none, 0, putFixed[int32], nil
	case *arrow.Int64Type:
		return parquet.Types.Int64, none, 0, putFixed[int64], nil
	case *arrow.Float32Type:
		return parquet.Types.Float, none, 0, putFixed[float32], nil
	case *arrow.Float64Type:
		return parquet.Types.Double, none, 0, putFixed[float64], nil
	case *arrow.StringType:
		return parquet.Types.ByteArray, schema.StringLogicalType{}, 0, putStrings, nil
	case *arrow.BinaryType:
		return parquet.Types.ByteArray, none, 0, putStrings, nil
	case *arrow.Date32Type:
		return parquet.Types.Int32, schema.DateLogicalType{}, 0, putFixed[int32], nil
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond && (t.TimeZone == "" || t.TimeZone == "UTC") {
			return parquet.Types.Int64, schema.NewTimestampLogicalType(t.TimeZone != "", schema.TimeUnitMicros), 0, putFixed[int64], nil
		}
	case *arrow.Decimal128Type:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			break
		}
		logical := schema.NewDecimalLogicalType(t.Precision, t.Scale)
		switch {
		case t.Precision <= 9:
			return parquet.Types.Int32, logical, 0, putDecimal32, nil
		case t.Precision <= 18:
			return parquet.Types.Int64, logical, 0, putDecimal64, nil
		}
		return parquet.Types.FixedLenByteArray, logical, decimalBytes(t.Precision), putDecimalBytes, nil
	}
	return 0, nil, 0, nil, fmt.Errorf("%w: writing %s to Parquet", delta.ErrUnsupported, t)
}

// decimalBytes is the least number of bytes that holds every decimal of a precision.
func decimalBytes(precision int32) int {
	return [...]int{19: 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16}[precision]
}

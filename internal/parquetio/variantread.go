package parquetio

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// maxVariantBytes bounds what the variants of a batch are put together to. They have about the size of their columns,
// unless names of fields are added to the metadata of each row.
const maxVariantBytes = 16 * batchBytes

// shredded says how variants are put together from the columns into which a file has split them: the group of a variant,
// of an object's field or of an array's element.
type shredded struct {
	metadata, value, typed int // fields of the group's Arrow struct; -1: none

	// What typed_value is, by the one that is set.
	scalar  variantFunc
	fields  []shreddedField
	element *shredded
}

type shreddedField struct {
	name string
	*shredded
}

// variantFunc appends the value at i of an array as a variant.
type variantFunc func(dst []byte, arr arrow.Array, i int) []byte

// variant plans a variant, however it is shredded.
func (pl *planner) variant(p *plan) error {
	n := p.file
	if n.isLeaf() || n.repeated() && n.rev != p.slotRev {
		return mismatch(p)
	}
	inner, s, err := n.shredded()
	if err != nil {
		return fmt.Errorf("%w: %s is no variant: %w", delta.ErrCorrupt, n.path(), err)
	}
	switch {
	case s.whole(n):
		return pl.structure(p, p.want.(*arrow.StructType))
	case s.metadata < 0:
		return fmt.Errorf("%w: %s has no metadata that is binary, and so is no variant", delta.ErrCorrupt, n.path())
	}
	pl.shredded = true
	c, err := pl.plan(inner, n, p.slotRev, p.slotDef)
	pl.shredded = false
	if err != nil {
		return err
	}
	names := map[string]bool{}
	s.gather(names)
	p.shredded, p.names, p.level, p.children = s, names, c.level, []*plan{c}
	return nil
}

// whole is true of variants that are not shredded, and none of which can lack a part.
func (s *shredded) whole(n *node) bool {
	return s.typed < 0 && s.metadata >= 0 && s.value >= 0 &&
		n.children[s.metadata].rep == parquet.Repetitions.Required && n.children[s.value].rep == parquet.Repetitions.Required
}

// gather collects the names of all fields.
func (s *shredded) gather(names map[string]bool) {
	for _, f := range s.fields {
		names[f.name] = true
		f.gather(names)
	}
	if s.element != nil {
		s.element.gather(names)
	}
}

// shredded gives the Arrow type in which a group of value and typed_value is read, and what to do with it.
func (n *node) shredded() (arrow.DataType, *shredded, error) {
	if n.isLeaf() {
		return nil, nil, fmt.Errorf("%s is %s, not a group of value and typed_value", n.path(), n.describe())
	}
	s := &shredded{metadata: -1, value: -1, typed: -1}
	var fields []arrow.Field
	for _, c := range n.children {
		t := arrow.DataType(arrow.BinaryTypes.Binary)
		var err error
		switch {
		case c.name == "metadata" && s.metadata < 0 && c.isVariantBinary():
			s.metadata = len(fields)
		case c.name == "value" && s.value < 0 && c.isVariantBinary():
			s.value = len(fields)
		case c.name == "typed_value" && s.typed < 0:
			s.typed = len(fields)
			t, err = c.typedValue(s)
		default:
			err = fmt.Errorf("%s is %s, which belongs to no variant", c.path(), c.describe())
		}
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: t, Nullable: true})
	}
	return arrow.StructOf(fields...), s, nil
}

func (n *node) isVariantBinary() bool {
	return n.isLeaf() && !n.repeated() && n.phys == parquet.Types.ByteArray && n.note == plainType
}

// typedValue says what the typed_value of s is.
func (n *node) typedValue(s *shredded) (arrow.DataType, error) {
	switch {
	case n.repeated():
		return nil, fmt.Errorf("%s is repeated", n.path())
	case n.isLeaf():
		t, f := n.variantScalar()
		if f == nil {
			return nil, fmt.Errorf("%s is %s, which no variant is shredded into", n.path(), n.describe())
		}
		s.scalar = f
		return t, nil
	case n.note == listType:
		if len(n.children) != 1 || !n.children[0].repeated() {
			return nil, fmt.Errorf("%s is annotated as a list and has not the layout of one", n.path())
		}
		element := n.children[0]
		if !element.isElement(n) {
			element = element.children[0]
		}
		t, e, err := element.shredded()
		if err != nil {
			return nil, err
		}
		s.element = e
		return arrow.ListOfField(arrow.Field{Name: "element", Type: t, Nullable: true}), nil
	}
	fields := make([]arrow.Field, len(n.children))
	s.fields = make([]shreddedField, len(n.children))
	for i, c := range n.children {
		t, f, err := c.shredded()
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: c.name, Type: t, Nullable: true}
		s.fields[i] = shreddedField{c.name, f}
	}
	return arrow.StructOf(fields...), nil
}

// variantScalar is the format's table of types into which scalars are shredded. The function is nil for any other.
func (n *node) variantScalar() (arrow.DataType, variantFunc) {
	switch {
	case n.note == decimalType:
		if t, ok := n.decimal().(*arrow.Decimal128Type); ok {
			return t, func(dst []byte, arr arrow.Array, i int) []byte {
				return appendVariantDecimal(dst, arr.(*array.Decimal128).Value(i), t.Precision, t.Scale)
			}
		}
	case n.note == stringType && n.phys == parquet.Types.ByteArray:
		return arrow.BinaryTypes.String, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariantString(dst, arr.(*array.String).Value(i))
		}
	case n.note == uuidType && n.typeLen == 16:
		return arrow.BinaryTypes.Binary, func(dst []byte, arr arrow.Array, i int) []byte {
			return append(append(dst, variantUUID), arr.(*array.Binary).Value(i)...)
		}
	case n.note == dateType:
		return arrow.FixedWidthTypes.Date32, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariant32(dst, variantDate, uint32(arr.(*array.Date32).Value(i)))
		}
	case n.rawVariant():
		header := byte(variantTime)
		if n.note == nanosType && n.utc {
			header = variantNanos
		} else if n.note == nanosType {
			header = variantNanosNTZ
		}
		return arrow.PrimitiveTypes.Int64, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariant64(dst, header, uint64(arr.(*array.Int64).Value(i)))
		}
	case n.note == microsType:
		header := byte(variantMicrosNTZ)
		if n.utc {
			header = variantMicros
		}
		return n.timestamp(), func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariant64(dst, header, uint64(arr.(*array.Timestamp).Value(i)))
		}
	case n.note == plainType:
		return n.variantPlain()
	}
	return nil, nil
}

// rawVariant is true of times and of timestamps in nanoseconds, which only a variant keeps: their numbers are read as they
// are.
func (n *node) rawVariant() bool {
	return n.phys == parquet.Types.Int64 && (n.note == timeType || n.note == nanosType)
}

func (n *node) variantPlain() (arrow.DataType, variantFunc) {
	switch n.phys {
	case parquet.Types.Boolean:
		return arrow.FixedWidthTypes.Boolean, func(dst []byte, arr arrow.Array, i int) []byte {
			if arr.(*array.Boolean).Value(i) {
				return append(dst, variantTrue)
			}
			return append(dst, variantFalse)
		}
	case parquet.Types.Int32, parquet.Types.Int64:
		return arrow.PrimitiveTypes.Int64, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariantInt(dst, arr.(*array.Int64).Value(i))
		}
	case parquet.Types.Float:
		return arrow.PrimitiveTypes.Float32, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariant32(dst, variantFloat, math.Float32bits(arr.(*array.Float32).Value(i)))
		}
	case parquet.Types.Double:
		return arrow.PrimitiveTypes.Float64, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariant64(dst, variantDouble, math.Float64bits(arr.(*array.Float64).Value(i)))
		}
	case parquet.Types.ByteArray:
		return arrow.BinaryTypes.Binary, func(dst []byte, arr arrow.Array, i int) []byte {
			return appendVariantBinary(dst, arr.(*array.Binary).Value(i))
		}
	}
	return nil, nil
}

// variant puts the n slots of a variant together.
func (a *assembler) variant(p *plan, n int) (arrow.ArrayData, error) {
	d, err := a.build(p.children[0], n)
	if err != nil {
		return nil, err
	}
	in := array.NewStructData(d)
	defer in.Release()
	out := variantColumn{keys: variantKeys{names: p.names}, group: in, shape: p.shredded,
		values: array.NewBinaryBuilder(a.mem, arrow.BinaryTypes.Binary), metadata: array.NewBinaryBuilder(a.mem, arrow.BinaryTypes.Binary)}
	defer out.values.Release()
	defer out.metadata.Release()
	for i := range n {
		if err := out.append(i); err != nil {
			return nil, err
		}
	}
	values, metadata := out.values.NewBinaryArray(), out.metadata.NewBinaryArray()
	defer values.Release()
	defer metadata.Release()
	valid := d.Buffers()[0]
	return a.keep(array.NewData(p.want, n, []*memory.Buffer{valid}, []arrow.ArrayData{values.Data(), metadata.Data()}, d.NullN(), 0)), nil
}

// variantColumn makes the two binaries of a column's variants.
type variantColumn struct {
	keys             variantKeys
	group            *array.Struct
	shape            *shredded
	values, metadata *array.BinaryBuilder
	scratch          []byte
}

func (c *variantColumn) append(i int) error {
	if c.group.IsNull(i) {
		c.values.AppendNull()
		c.metadata.AppendNull()
		return nil
	}
	metadata := c.group.Field(c.shape.metadata).(*array.Binary)
	if metadata.IsNull(i) {
		return fmt.Errorf("a variant without metadata")
	}
	value, ok := c.shape.plainValue(c.group, i)
	raw := metadata.Value(i)
	if !ok {
		if err := c.keys.reset(raw); err != nil {
			return err
		}
		out, present, err := c.shape.append(&c.keys, c.scratch[:0], c.group, i)
		if err == nil {
			raw, err = c.keys.extended()
		}
		if err != nil {
			return err
		}
		if !present { // where a variant must be, a missing one is null
			out = append(out, variantNull)
		}
		value, c.scratch = out, out
	}
	if total := c.values.DataLen() + len(value) + c.metadata.DataLen() + len(raw); total > maxVariantBytes && i > 0 || total > math.MaxInt32 {
		return beyond(fmt.Sprintf("variants of %d bytes and more, put together, in one batch", total), maxVariantBytes, "write the rows with the names of shredded fields in the metadata")
	}
	c.values.Append(value)
	c.metadata.Append(raw)
	return nil
}

// plainValue gives the value of a variant that is not shredded in row i.
func (s *shredded) plainValue(group *array.Struct, i int) (value []byte, ok bool) {
	if s.value < 0 || group.Field(s.value).IsNull(i) || s.typed >= 0 && group.Field(s.typed).IsValid(i) {
		return nil, false
	}
	return group.Field(s.value).(*array.Binary).Value(i), true
}

// append appends the value of a group in row i; present is false if it is missing.
func (s *shredded) append(keys *variantKeys, dst []byte, group *array.Struct, i int) (out []byte, present bool, err error) {
	if value, ok := s.plainValue(group, i); ok {
		n, err := delta.VariantSize(value)
		return append(dst, value[:n]...), true, err
	}
	if s.typed < 0 || group.Field(s.typed).IsNull(i) {
		return dst, false, nil
	}
	typed := group.Field(s.typed)
	rest := s.value >= 0 && group.Field(s.value).IsValid(i)
	switch {
	case rest && s.fields == nil:
		return nil, false, fmt.Errorf("a variant with both a value and a typed_value, which only an object may have")
	case s.scalar != nil:
		return s.scalar(dst, typed, i), true, nil
	case s.element != nil:
		dst, err = s.appendArray(keys, dst, typed.(*array.List), i)
		return dst, true, err
	}
	var fields []delta.VariantField
	if rest {
		if fields, err = delta.VariantFields(keys.metadata, group.Field(s.value).(*array.Binary).Value(i)); err != nil {
			return nil, false, err
		}
	}
	for k, f := range s.fields {
		value, present, err := f.append(keys, nil, typed.(*array.Struct).Field(k).(*array.Struct), i)
		if err != nil {
			return nil, false, err
		}
		if present {
			fields = append(fields, delta.VariantField{ID: keys.id(f.name), Key: f.name, Value: value})
		}
	}
	dst, err = appendVariantObject(dst, fields)
	return dst, true, err
}

func (s *shredded) appendArray(keys *variantKeys, dst []byte, list *array.List, i int) ([]byte, error) {
	from, to := list.ValueOffsets(i)
	elements := make([][]byte, 0, to-from)
	for k := from; k < to; k++ {
		value, present, err := s.element.append(keys, nil, list.ListValues().(*array.Struct), int(k))
		if err != nil {
			return nil, err
		}
		if !present {
			value = []byte{variantNull}
		}
		elements = append(elements, value)
	}
	return appendVariantArray(dst, elements)
}

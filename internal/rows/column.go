package rows

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// class says which columns can be compared with each other.
type class uint8

const (
	classNull class = iota
	classInt
	classFloat
	classBool
	classDate
	classTimestamp
	classTimestampNTZ
	classDecimal
	classString
	classBinary
	classStruct
	classList
	classMap
)

// nested classes can be compared for equality and digested, but are neither keys nor ordered.
func (c class) nested() bool { return c >= classStruct }

// column is an array seen by value: no offset, no width.
type column struct {
	class class
	typ   arrow.DataType
	n     int
	valid []byte // validity bits, from bit off on; nil means no NULL
	off   int

	// words hold integers, floats, bools, dates and timestamps such that two values are equal, or ordered, as their words are.
	words []int64
	dec   []decimal128.Num
	scale int32
	// offs delimit strings in data, or the rows of child[0] (and child[1] for a map), whose row 0 is at base.
	offs  []int32
	data  []byte
	base  int32
	child []column // struct: the fields; list: the element; map: key, value
	names []string // of a struct's fields
}

func (c *column) null(i int) bool {
	return c.class == classNull || c.valid != nil && !bitSet(c.valid, c.off+i)
}

func (c *column) bytes(i int) []byte { return c.data[c.offs[i]:c.offs[i+1]] }

// span is the range of child rows of row i.
func (c *column) span(i int) (lo, hi int) {
	return int(c.offs[i] - c.base), int(c.offs[i+1] - c.base)
}

func newColumns(arrs []arrow.Array) ([]column, error) {
	out := make([]column, len(arrs))
	for i, arr := range arrs {
		c, err := newColumn(arr)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		out[i] = c
	}
	return out, nil
}

// newKeys is newColumns for columns that are hashed or ordered.
func newKeys(arrs []arrow.Array) ([]column, error) {
	out, err := newColumns(arrs)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].class.nested() {
			return nil, fmt.Errorf("column %d: type %s has no order and cannot be a key: name its fields instead", i, out[i].typ)
		}
	}
	return out, nil
}

func newColumn(arr arrow.Array) (column, error) {
	c := column{typ: arr.DataType(), n: arr.Len(), off: arr.Data().Offset()}
	if arr.NullN() > 0 {
		c.valid = arr.NullBitmapBytes()
	}
	switch a := arr.(type) {
	case *array.Null:
		c.class = classNull
	case *array.Int8:
		c.class, c.words = classInt, widen(a.Int8Values())
	case *array.Int16:
		c.class, c.words = classInt, widen(a.Int16Values())
	case *array.Int32:
		c.class, c.words = classInt, widen(a.Int32Values())
	case *array.Int64:
		c.class, c.words = classInt, a.Int64Values()
	case *array.Date32:
		c.class, c.words = classDate, widen(a.Date32Values())
	case *array.Float32:
		c.class, c.words = classFloat, floatWords(a.Float32Values())
	case *array.Float64:
		c.class, c.words = classFloat, floatWords(a.Float64Values())
	case *array.Boolean:
		c.class, c.words = classBool, boolWords(a)
	case *array.Decimal128:
		c.class, c.dec, c.scale = classDecimal, a.Values(), a.DataType().(*arrow.Decimal128Type).Scale
	default:
		return c, c.setOther(arr)
	}
	return c, nil
}

// setOther completes a column whose class or length of values depends on more than its Go type.
func (c *column) setOther(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		if t.Unit != arrow.Microsecond {
			return unsupported(t)
		}
		c.class = classTimestamp
		if t.TimeZone == "" {
			c.class = classTimestampNTZ
		}
		if c.n > 0 {
			c.words = arrow.Int64Traits.CastFromBytes(a.Data().Buffers()[1].Bytes())[c.off : c.off+c.n]
		}
	case *array.String:
		c.class = classString
		c.setBytes(a)
	case *array.Binary:
		c.class = classBinary
		c.setBytes(a)
	case *array.Struct:
		return c.setStruct(a)
	case *array.Map:
		return c.setMap(a)
	case *array.List:
		return c.setList(a)
	default:
		return unsupported(arr.DataType())
	}
	return nil
}

func (c *column) setBytes(a interface {
	arrow.Array
	ValueOffsets() []int32
}) {
	if c.n == 0 {
		return
	}
	c.offs = a.ValueOffsets()
	if b := a.Data().Buffers()[2]; b != nil {
		c.data = b.Bytes()
	}
}

func (c *column) setStruct(a *array.Struct) error {
	c.class, c.child = classStruct, make([]column, a.NumField())
	fields := a.DataType().(*arrow.StructType).Fields()
	for i := range c.child {
		f, err := newColumn(a.Field(i))
		if err != nil {
			return fmt.Errorf("field %s: %w", fields[i].Name, err)
		}
		c.child[i], c.names = f, append(c.names, fields[i].Name)
	}
	return nil
}

func (c *column) setList(a *array.List) error {
	c.class = classList
	return c.setSpans(a.Offsets(), func(lo, hi int64) error {
		el, err := slicedColumn(a.ListValues(), lo, hi)
		c.child = []column{el}
		return err
	})
}

func (c *column) setMap(a *array.Map) error {
	c.class = classMap
	// The fields of the entries, not a.Keys and a.Items: those overlook the entries' own offset.
	entries, ok := a.ListValues().(*array.Struct)
	if !ok || entries.NumField() != 2 {
		return unsupported(a.DataType())
	}
	return c.setSpans(a.Offsets(), func(lo, hi int64) error {
		key, err := slicedColumn(entries.Field(0), lo, hi)
		if err != nil {
			return err
		}
		value, err := slicedColumn(entries.Field(1), lo, hi)
		c.child = []column{key, value}
		return err
	})
}

func (c *column) setSpans(offs []int32, children func(lo, hi int64) error) error {
	if c.n == 0 {
		return children(0, 0)
	}
	c.offs = offs[c.off : c.off+c.n+1]
	c.base = c.offs[0]
	return children(int64(c.base), int64(c.offs[c.n]))
}

// slicedColumn sees rows lo to hi of arr. The slice is released at once: its buffers live as long as arr's.
func slicedColumn(arr arrow.Array, lo, hi int64) (column, error) {
	s := array.NewSlice(arr, lo, hi)
	defer s.Release()
	return newColumn(s)
}

func unsupported(t arrow.DataType) error {
	return fmt.Errorf("type %s is not one that rows are compared in: cast it first", t)
}

func widen[T ~int8 | ~int16 | ~int32](v []T) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}

func floatWords[T float32 | float64](v []T) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = floatWord(float64(x))
	}
	return out
}

const nanBits = 0x7ff8000000000000

// floatWord maps a float to an integer of the same order, with one NaN, above +Inf, and one zero.
func floatWord(f float64) int64 {
	if f == 0 {
		return 0
	}
	if f != f {
		return nanBits
	}
	b := int64(math.Float64bits(f))
	return b ^ int64(uint64(b>>63)>>1)
}

// wordFloat is the inverse of floatWord.
func wordFloat(w int64) float64 {
	return math.Float64frombits(uint64(w ^ int64(uint64(w>>63)>>1)))
}

func boolWords(a *array.Boolean) []int64 {
	out := make([]int64, a.Len())
	for i := range out {
		if a.Value(i) {
			out[i] = 1
		}
	}
	return out
}

// checkComparable reports why a and b cannot be compared, if so.
func checkComparable(a, b *column) error {
	if a.class == classNull || b.class == classNull {
		return nil
	}
	if a.class != b.class || !slices.Equal(a.names, b.names) {
		return fmt.Errorf("%s cannot be compared with %s: cast one to the other's type", a.typ, b.typ)
	}
	for i := range a.child {
		if err := checkComparable(&a.child[i], &b.child[i]); err != nil {
			return fmt.Errorf("within %s: %w", a.typ, err)
		}
	}
	return nil
}

func checkAllComparable(a, b []column) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d columns cannot be compared with %d", len(a), len(b))
	}
	for i := range a {
		if err := checkComparable(&a[i], &b[i]); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

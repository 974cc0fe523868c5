package plan

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// A conversion makes an array of the table's type from one of the type it was planned for. The
// caller releases the result. A value that cannot be stored is a *cellError.
type conversion func(mem memory.Allocator, in arrow.Array) (arrow.Array, error)

// cellError says which value of the array at hand cannot be stored. row -1 means the whole array.
type cellError struct {
	row   int
	path  string // below the column: ".street", ".element"
	value string
	why   string // goes on after "the value V "
}

func (e *cellError) Error() string {
	return fmt.Sprintf("row %d: the value %s %s", e.row, e.value, e.why)
}

// columnsType is in what is said of values that a wider type would hold.
const columnsType = "the column's type "

// badCell refuses row i of in.
func badCell(in arrow.Array, i int, why string, args ...any) error {
	return &cellError{row: i, value: clip(in.ValueStr(i)), why: fmt.Sprintf(why, args...)}
}

// clip shortens a value for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// planConversion decides once a column how its values become those of the table. path names the
// column in errors.
func planConversion(from, to arrow.DataType, path string) (conversion, error) {
	switch f := from.(type) {
	case *arrow.NullType:
		return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
			return array.MakeArrayOfNull(mem, to, in.Len()), nil
		}, nil
	case *arrow.DictionaryType:
		return planEncoded(f.ValueType, to, path)
	case *arrow.RunEndEncodedType:
		return planEncoded(f.Encoded(), to, path)
	case arrow.ExtensionType:
		storage, err := planConversion(f.StorageType(), to, path)
		if err != nil {
			return nil, err
		}
		return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
			return storage(mem, in.(array.ExtensionArray).Storage())
		}, nil
	}
	c, err := planPlain(from, to, path)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, &typeError{path: path, from: from, to: to}
	}
	return c, nil
}

// typeError says that no value of one type can be stored as another. It wraps [delta.ErrInput].
type typeError struct {
	path     string
	from, to arrow.DataType
}

func (e *typeError) Error() string {
	return fmt.Sprintf("%v: column %q is %s in the table, and the rows have %s%s", delta.ErrInput, e.path, e.to, e.from, refusal(e.from, e.to))
}

func (e *typeError) Unwrap() error { return delta.ErrInput }

// planPlain is planConversion for types that hold their values themselves. No conversion and no
// error means that the one type cannot be stored as the other.
func planPlain(from, to arrow.DataType, path string) (conversion, error) {
	switch t := to.(type) {
	case *arrow.Int8Type:
		return integers[int8](from, to), nil
	case *arrow.Int16Type:
		return integers[int16](from, to), nil
	case *arrow.Int32Type:
		return integers[int32](from, to), nil
	case *arrow.Int64Type:
		return integers[int64](from, to), nil
	case *arrow.Float32Type:
		return toFloat32(from, to), nil
	case *arrow.Float64Type:
		return toFloat64(from, to), nil
	case *arrow.Decimal128Type:
		return toDecimal(from, t), nil
	case *arrow.StringType:
		return toString(from), nil
	case *arrow.BinaryType:
		return toBinary(from), nil
	case *arrow.Date32Type:
		return toDate(from), nil
	case *arrow.TimestampType:
		return toTimestamp(from, t), nil
	case *arrow.StructType:
		return toStruct(from, t, path)
	case *arrow.ListType:
		return toList(from, t, path)
	case *arrow.MapType:
		return toMap(from, t, path)
	case *arrow.BooleanType:
		if from.ID() == arrow.BOOL {
			return same, nil
		}
	}
	return nil, nil
}

// refusal says why two types do not go together and what to do, where that is worth a sentence.
func refusal(from, to arrow.DataType) string {
	f, t := from.ID(), to.ID()
	switch {
	case f == arrow.TIMESTAMP && t == arrow.TIMESTAMP && from.(*arrow.TimestampType).TimeZone == "":
		return ": a time without a zone is no instant; give the rows' column its time zone (\"UTC\" if it holds UTC)"
	case f == arrow.TIMESTAMP && t == arrow.TIMESTAMP:
		return ": an instant is no time without a zone; drop the zone from the rows' column, or store it in a timestamp column"
	case t == arrow.FLOAT32 && f == arrow.FLOAT64, t == arrow.FLOAT64 && isInteger(f), t == arrow.FLOAT32 && isInteger(f):
		return ": not every value would be exact; cast it in the rows if that is meant"
	case t == arrow.NULL:
		return ": a void column holds nothing; drop it from the rows"
	}
	return ": values are never converted between kinds; cast the column in the rows"
}

func isInteger(id arrow.Type) bool { return arrow.IsInteger(id) }

// same shares an array that is right as it is.
func same(_ memory.Allocator, in arrow.Array) (arrow.Array, error) {
	in.Retain()
	return in, nil
}

// checked shares an array after a look at its values.
func checked(check func(in arrow.Array) error) conversion {
	return func(_ memory.Allocator, in arrow.Array) (arrow.Array, error) {
		if err := check(in); err != nil {
			return nil, err
		}
		in.Retain()
		return in, nil
	}
}

// retyped gives the buffers of an array another type of the same layout.
func retyped(in arrow.Array, to arrow.DataType) arrow.Array {
	d := in.Data()
	out := array.NewData(to, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
	defer out.Release()
	return array.MakeFromData(out)
}

// ---- fixed width

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// fixed allocates n values of a fixed-width type.
func fixed[T arrow.FixedWidthType](mem memory.Allocator, n int) (*memory.Buffer, []T) {
	buf := memory.NewResizableBuffer(mem)
	var zero T
	buf.Resize(n * sizeOf(zero))
	if n == 0 {
		return buf, nil
	}
	return buf, arrow.GetData[T](buf.Bytes())
}

func sizeOf(v any) int {
	switch v.(type) {
	case int8:
		return 1
	case int16:
		return 2
	case int32, float32, arrow.Date32:
		return 4
	case decimal128.Num:
		return 16
	}
	return 8
}

// validity copies the validity of an array to bit 0 on; nil means that no value is NULL.
func validity(mem memory.Allocator, in arrow.Array) *memory.Buffer {
	if in.NullN() == 0 {
		return nil
	}
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(int(bitutil.BytesForBits(int64(in.Len()))))
	clear(buf.Bytes())
	if bits := in.NullBitmapBytes(); len(bits) > 0 {
		bitutil.CopyBitmap(bits, in.Data().Offset(), in.Len(), buf.Bytes(), 0)
	}
	return buf
}

// finish makes an array of in's length and validity from values. It takes over buffers.
func finish(mem memory.Allocator, in arrow.Array, to arrow.DataType, buffers ...*memory.Buffer) arrow.Array {
	all := append([]*memory.Buffer{validity(mem, in)}, buffers...)
	out := array.NewData(to, in.Len(), all, nil, in.NullN(), 0)
	for _, b := range all {
		if b != nil {
			b.Release()
		}
	}
	defer out.Release()
	return array.MakeFromData(out)
}

// mapValues computes each value that is not NULL. f says why a value cannot be stored, "" if it can.
func mapValues[I, O arrow.FixedWidthType](to arrow.DataType, f func(I) (O, string)) conversion {
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		buf, out := fixed[O](mem, in.Len())
		nulls := in.NullN() > 0
		for i, v := range arrow.GetValues[I](in.Data(), 1) {
			o, why := f(v)
			if why != "" {
				if nulls && in.IsNull(i) {
					var zero O
					out[i] = zero
					continue
				}
				buf.Release()
				return nil, badCell(in, i, "%s", why)
			}
			out[i] = o
		}
		return finish(mem, in, to, buf), nil
	}
}

// integers converts integers of any width to O; a value that O cannot hold is refused.
func integers[O int8 | int16 | int32 | int64](from, to arrow.DataType) conversion {
	if from.ID() == to.ID() {
		return same
	}
	switch from.ID() {
	case arrow.INT8:
		return integer[int8, O](to)
	case arrow.INT16:
		return integer[int16, O](to)
	case arrow.INT32:
		return integer[int32, O](to)
	case arrow.INT64:
		return integer[int64, O](to)
	case arrow.UINT8:
		return integer[uint8, O](to)
	case arrow.UINT16:
		return integer[uint16, O](to)
	case arrow.UINT32:
		return integer[uint32, O](to)
	case arrow.UINT64:
		return integer[uint64, O](to)
	}
	return nil
}

func integer[I int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64, O int8 | int16 | int32 | int64](to arrow.DataType) conversion {
	overflow := fmt.Sprintf("overflows "+columnsType+"%s", to)
	return mapValues(to, func(v I) (O, string) {
		o := O(v)
		if I(o) != v || (o < 0) != (v < 0) {
			return 0, overflow
		}
		return o, ""
	})
}

// widened converts numbers all of whose values O holds exactly.
func widened[I, O number](to arrow.DataType) conversion {
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		values := arrow.GetValues[I](in.Data(), 1)
		buf := memory.NewResizableBuffer(mem)
		var zero O
		buf.Resize(in.Len() * sizeOf(zero))
		out := arrow.GetData[O](buf.Bytes())
		for i, v := range values {
			out[i] = O(v)
		}
		return finish(mem, in, to, buf), nil
	}
}

func toFloat32(from, to arrow.DataType) conversion {
	switch from.ID() {
	case arrow.FLOAT32:
		return same
	case arrow.FLOAT16:
		return halfFloats[float32](to)
	case arrow.INT8:
		return widened[int8, float32](to)
	case arrow.INT16:
		return widened[int16, float32](to)
	case arrow.UINT8:
		return widened[uint8, float32](to)
	case arrow.UINT16:
		return widened[uint16, float32](to)
	}
	return nil
}

func toFloat64(from, to arrow.DataType) conversion {
	switch from.ID() {
	case arrow.FLOAT64:
		return same
	case arrow.FLOAT32:
		return widened[float32, float64](to)
	case arrow.FLOAT16:
		return halfFloats[float64](to)
	case arrow.INT8:
		return widened[int8, float64](to)
	case arrow.INT16:
		return widened[int16, float64](to)
	case arrow.INT32:
		return widened[int32, float64](to)
	case arrow.UINT8:
		return widened[uint8, float64](to)
	case arrow.UINT16:
		return widened[uint16, float64](to)
	case arrow.UINT32:
		return widened[uint32, float64](to)
	}
	return nil
}

func halfFloats[O float32 | float64](to arrow.DataType) conversion {
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		a := in.(*array.Float16)
		buf, out := fixed[O](mem, in.Len())
		for i := range out {
			out[i] = O(a.Value(i).Float32())
		}
		return finish(mem, in, to, buf), nil
	}
}

// ---- decimals

// toDecimal rescales without loss of a digit and refuses what does not fit the precision.
func toDecimal(from arrow.DataType, to *arrow.Decimal128Type) conversion {
	whole := rescale{to: to}
	switch f := from.(type) {
	case *arrow.Decimal128Type:
		if f.Scale == to.Scale && f.Precision <= to.Precision {
			return func(_ memory.Allocator, in arrow.Array) (arrow.Array, error) { return retyped(in, to), nil }
		}
		return mapValues(to, rescale{from: f.Scale, to: to}.num)
	case *arrow.Decimal32Type:
		r := rescale{from: f.Scale, to: to}
		return mapValues(to, func(v int32) (decimal128.Num, string) { return r.num(decimal128.FromI64(int64(v))) })
	case *arrow.Decimal64Type:
		r := rescale{from: f.Scale, to: to}
		return mapValues(to, func(v int64) (decimal128.Num, string) { return r.num(decimal128.FromI64(v)) })
	case *arrow.Decimal256Type:
		r := rescale{from: f.Scale, to: to}
		return mapValues(to, r.wide)
	case *arrow.Int8Type:
		return mapValues(to, func(v int8) (decimal128.Num, string) { return whole.num(decimal128.FromI64(int64(v))) })
	case *arrow.Int16Type:
		return mapValues(to, func(v int16) (decimal128.Num, string) { return whole.num(decimal128.FromI64(int64(v))) })
	case *arrow.Int32Type:
		return mapValues(to, func(v int32) (decimal128.Num, string) { return whole.num(decimal128.FromI64(int64(v))) })
	case *arrow.Int64Type:
		return mapValues(to, func(v int64) (decimal128.Num, string) { return whole.num(decimal128.FromI64(v)) })
	case *arrow.Uint8Type:
		return mapValues(to, func(v uint8) (decimal128.Num, string) { return whole.num(decimal128.FromU64(uint64(v))) })
	case *arrow.Uint16Type:
		return mapValues(to, func(v uint16) (decimal128.Num, string) { return whole.num(decimal128.FromU64(uint64(v))) })
	case *arrow.Uint32Type:
		return mapValues(to, func(v uint32) (decimal128.Num, string) { return whole.num(decimal128.FromU64(uint64(v))) })
	case *arrow.Uint64Type:
		return mapValues(to, func(v uint64) (decimal128.Num, string) { return whole.num(decimal128.FromU64(v)) })
	}
	return nil
}

// rescale brings unscaled values from one scale to the type of a column.
type rescale struct {
	from int32
	to   *arrow.Decimal128Type
}

func (r rescale) overflow() string {
	return fmt.Sprintf("overflows "+columnsType+"decimal(%d,%d)", r.to.Precision, r.to.Scale)
}

func (r rescale) lost() string {
	return fmt.Sprintf("has more than the %d decimal places of "+columnsType+"decimal(%d,%d); round it in the rows if that is meant",
		r.to.Scale, r.to.Precision, r.to.Scale)
}

func (r rescale) num(v decimal128.Num) (decimal128.Num, string) {
	up := r.to.Scale - r.from
	switch {
	case v == (decimal128.Num{}):
		return v, ""
	case up > 0:
		if up >= r.to.Precision || !v.FitsInPrecision(r.to.Precision-up) {
			return v, r.overflow()
		}
		return v.Mul(decimal128.GetScaleMultiplier(int(up))), ""
	case up < -38:
		return v, r.lost()
	case up < 0:
		q, exact := divideByPower(v, int(-up))
		if !exact {
			return v, r.lost()
		}
		v = q
	}
	if !v.FitsInPrecision(r.to.Precision) {
		return v, r.overflow()
	}
	return v, ""
}

// divideByPower divides by 10^pow and says whether nothing is left over. Values of 64 bits, which
// are nearly all, take no allocation.
func divideByPower(v decimal128.Num, pow int) (decimal128.Num, bool) {
	if small := int64(v.LowBits()); pow <= 18 && v.HighBits() == small>>63 {
		d := int64(decimal128.GetScaleMultiplier(pow).LowBits())
		return decimal128.FromI64(small / d), small%d == 0
	}
	q, left := v.Div(decimal128.GetScaleMultiplier(pow))
	return q, left == (decimal128.Num{})
}

func (r rescale) wide(v decimal256.Num) (decimal128.Num, string) {
	up := r.to.Scale - r.from
	switch {
	case v == (decimal256.Num{}):
		return decimal128.Num{}, ""
	case up > 0:
		if up >= r.to.Precision || !v.FitsInPrecision(r.to.Precision-up) {
			return decimal128.Num{}, r.overflow()
		}
		v = v.Mul(decimal256.GetScaleMultiplier(int(up)))
	case up < -76:
		return decimal128.Num{}, r.lost()
	case up < 0:
		q, left := v.Div(decimal256.GetScaleMultiplier(int(-up)))
		if left != (decimal256.Num{}) {
			return decimal128.Num{}, r.lost()
		}
		v = q
	}
	if !v.FitsInPrecision(r.to.Precision) {
		return decimal128.Num{}, r.overflow()
	}
	words := v.Array()
	return decimal128.New(int64(words[1]), words[0]), ""
}

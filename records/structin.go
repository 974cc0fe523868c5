package records

import (
	"cmp"
	"encoding"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// StructOptions are how structs become rows, and rows structs.
type StructOptions struct {
	_ struct{}

	// NullAsZero lets [StructsOf] give the zero value for a NULL that the field cannot hold.
	NullAsZero bool

	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch has fewer once
	// their values are 16 MiB.
	BatchRows int

	// Allocator makes Arrow buffers. nil is the Go allocator.
	Allocator memory.Allocator
}

// Structs gives structs as rows; they can be read again. The slice must not change while it is read.
//
// Each exported field is a column of its name; those of embedded structs are the row's own. A tag
// `idem:"name,option"` gives another name or says what a value is; `idem:"-"` leaves the field out.
//
//	Go                                     column
//	bool, string, float32, float64         boolean, string, float, double
//	int8, int16, int32, int64, int         byte, short, integer, long, long
//	uint8, uint16, uint32, uint64, uint    short, integer, long, long, long (above 2^63-1: refused)
//	[]byte, [n]byte                        binary
//	time.Time                              timestamp: an instant of whole microseconds
//	time.Time, option date                 date: its calendar day where it is; its clock must be at 00:00
//	time.Time, option timestamp_ntz        timestamp_ntz: what its clock shows
//	string, option decimal(p,s)            decimal(p,s), exactly; so do the following
//	*big.Int (decimal(38,0) if not said), *big.Rat, decimal128.Num
//	types with a MarshalText               string, or with the option decimal
//	*T, sql.NullX, sql.Null[T]             T that may be NULL
//	struct, []T, map[K]V                   struct, list, map; options are those of T and V
//
// A nil pointer, slice or map is NULL, an empty slice or map is not. Channels, functions, interfaces,
// complex numbers and time.Duration are refused, as are types that contain themselves.
//
// Errors: [delta.ErrInput] for fields that are no column, with their path, at once; and of values
// that the column cannot hold, with row and column, when they are read.
func Structs[T any](rows []T, o StructOptions) (*Rereader, error) {
	schema, s, err := newStructSource[T](o)
	if err != nil {
		return nil, err
	}
	at := 0
	s.pull = func() (*T, error) {
		if at == len(rows) {
			return nil, io.EOF
		}
		at++
		return &rows[at-1], nil
	}
	s.again = func() { at = 0 }
	return newRereader(schema, s), nil
}

// StructSeq gives the structs of a sequence as rows, once; see [Structs]. An error of the sequence
// ends the rows and is handed on as it is.
func StructSeq[T any](rows iter.Seq2[T, error], o StructOptions) (*Reader, error) {
	if rows == nil {
		return nil, inputErrorf("StructSeq needs a sequence; it is nil")
	}
	schema, s, err := newStructSource[T](o)
	if err != nil {
		return nil, err
	}
	var next func() (T, error, bool)
	s.pull = func() (*T, error) {
		if next == nil {
			next, s.stop = iter.Pull2(rows)
		}
		v, err, ok := next()
		switch {
		case !ok:
			return nil, io.EOF
		case err != nil:
			return nil, brokenOff(err)
		}
		return &v, nil
	}
	return newReader(schema, s), nil
}

// structSource makes batches of structs.
type structSource[T any] struct {
	*batcher
	fields []fieldPlan
	pull   func() (*T, error) // io.EOF at the end
	stop   func()
	again  func()
	count  int64

	appenders []func(v reflect.Value) (int, *fault)
}

func newStructSource[T any](o StructOptions) (*arrow.Schema, *structSource[T], error) {
	if err := checkBatchRows(o.BatchRows); err != nil {
		return nil, nil, err
	}
	fields, err := planStructOf[T]()
	if err != nil {
		return nil, nil, err
	}
	schema := schemaOf(fields)
	s := &structSource[T]{fields: fields}
	s.batcher = newBatcher(schema, o.Allocator, o.BatchRows, s.bind)
	return schema, s, nil
}

func (s *structSource[T]) bind(b *array.RecordBuilder) func() (int, error) {
	s.appenders = nil
	for i := range s.fields {
		s.appenders = append(s.appenders, s.fields[i].appender(b.Field(i)))
	}
	return s.row
}

func (s *structSource[T]) row() (int, error) {
	p, err := s.pull()
	if err != nil {
		return 0, err
	}
	s.count++
	v := reflect.ValueOf(p).Elem()
	size := 0
	for _, add := range s.appenders {
		n, f := add(v)
		if f != nil {
			return 0, f.at(fmt.Sprintf("row %d", s.count))
		}
		size += n
	}
	return size, nil
}

func (s *structSource[T]) close() {
	if s.stop != nil {
		s.stop()
	}
	s.batcher.close()
}

func (s *structSource[T]) rewind() error {
	s.count = 0
	s.again()
	return nil
}

// ---- values

// valueAppender appends a Go value to a column and gives its size in bytes.
type valueAppender func(v reflect.Value) (int, *fault)

// appender appends the field of a struct to its column.
func (f *fieldPlan) appender(b array.Builder) func(v reflect.Value) (int, *fault) {
	add := f.value.appender(b)
	if len(f.index) == 1 {
		i := f.index[0]
		return func(v reflect.Value) (int, *fault) {
			n, bad := add(v.Field(i))
			return n, bad.inside(f.name)
		}
	}
	return func(v reflect.Value) (int, *fault) {
		n, bad := add(v.FieldByIndex(f.index))
		return n, bad.inside(f.name)
	}
}

func (p *valuePlan) appender(b array.Builder) valueAppender {
	switch p.form {
	case pointerForm:
		add := p.elem.appender(b)
		return func(v reflect.Value) (int, *fault) {
			if v.IsNil() {
				b.AppendNull()
				return 1, nil
			}
			return add(v.Elem())
		}
	case sqlNullForm:
		add := p.elem.appender(b)
		return func(v reflect.Value) (int, *fault) {
			if !v.Field(1).Bool() {
				b.AppendNull()
				return 1, nil
			}
			return add(v.Field(0))
		}
	case structForm:
		return p.structAppender(b.(*array.StructBuilder))
	case listForm:
		return p.listAppender(b.(*array.ListBuilder))
	case mapForm:
		return p.mapAppender(b.(*array.MapBuilder))
	}
	add := p.flatAppender(b)
	if !p.nullable {
		return add
	}
	return func(v reflect.Value) (int, *fault) {
		if v.IsNil() {
			b.AppendNull()
			return 1, nil
		}
		return add(v)
	}
}

// flatAppender appends what is one value and not NULL.
func (p *valuePlan) flatAppender(b array.Builder) valueAppender {
	switch p.form {
	case boolForm:
		bb := b.(*array.BooleanBuilder)
		return func(v reflect.Value) (int, *fault) {
			bb.Append(v.Bool())
			return 1, nil
		}
	case intForm, uintForm:
		return p.intAppender(b)
	case floatForm:
		return floatAppender(b)
	case stringForm, bytesForm, arrayForm, markedForm:
		return p.bytesAppender(b)
	case timeForm, dateForm, wallForm:
		return p.timeAppender(b)
	}
	return p.decimalAppender(b.(*array.Decimal128Builder))
}

func (p *valuePlan) intAppender(b array.Builder) valueAppender {
	var add func(int64)
	switch b := b.(type) {
	case *array.Int8Builder:
		add = func(v int64) { b.Append(int8(v)) }
	case *array.Int16Builder:
		add = func(v int64) { b.Append(int16(v)) }
	case *array.Int32Builder:
		add = func(v int64) { b.Append(int32(v)) }
	case *array.Int64Builder:
		add = b.Append
	}
	if p.form == intForm {
		return func(v reflect.Value) (int, *fault) {
			add(v.Int())
			return 8, nil
		}
	}
	return func(v reflect.Value) (int, *fault) {
		u := v.Uint()
		if u > math.MaxInt64 {
			return 0, &fault{value: fmt.Sprint(u), why: "is above 9223372036854775807, the greatest integer of a table; store it as a decimal(20,0)"}
		}
		add(int64(u))
		return 8, nil
	}
}

func floatAppender(b array.Builder) valueAppender {
	if b, ok := b.(*array.Float32Builder); ok {
		return func(v reflect.Value) (int, *fault) {
			b.Append(float32(v.Float()))
			return 4, nil
		}
	}
	fb := b.(*array.Float64Builder)
	return func(v reflect.Value) (int, *fault) {
		fb.Append(v.Float())
		return 8, nil
	}
}

func (p *valuePlan) bytesAppender(b array.Builder) valueAppender {
	if b, ok := b.(*array.BinaryBuilder); ok {
		if p.form == bytesForm {
			return func(v reflect.Value) (int, *fault) {
				b.Append(v.Bytes())
				return v.Len(), nil
			}
		}
		return func(v reflect.Value) (int, *fault) {
			b.Append(arrayBytes(v))
			return v.Len(), nil
		}
	}
	sb := b.(*array.StringBuilder)
	add := func(text string) (int, *fault) {
		if !utf8.ValidString(text) {
			return 0, &fault{value: quote([]byte(text)), why: "is not valid UTF-8, which a string column must hold; decode it, or store it as []byte"}
		}
		sb.Append(text)
		return len(text), nil
	}
	if p.form == stringForm {
		return func(v reflect.Value) (int, *fault) { return add(v.String()) }
	}
	return func(v reflect.Value) (int, *fault) {
		text, f := marshalText(v)
		if f != nil {
			return 0, f
		}
		return add(string(text))
	}
}

// arrayBytes gives the bytes of an array, which reflect shares only if it has an address.
func arrayBytes(v reflect.Value) []byte {
	if v.CanAddr() {
		return v.Bytes()
	}
	out := make([]byte, v.Len())
	for i := range out {
		out[i] = byte(v.Index(i).Uint())
	}
	return out
}

// marshalText calls the MarshalText of a value, or of its address.
func marshalText(v reflect.Value) ([]byte, *fault) {
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		if !v.CanAddr() {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p.Elem()
		}
		m = v.Addr().Interface().(encoding.TextMarshaler)
	}
	text, err := m.MarshalText()
	if err != nil {
		return nil, &fault{value: clip(fmt.Append(nil, v.Interface())), why: fmt.Sprintf("has no text: %v", err)}
	}
	return text, nil
}

func (p *valuePlan) timeAppender(b array.Builder) valueAppender {
	if b, ok := b.(*array.Date32Builder); ok {
		return func(v reflect.Value) (int, *fault) {
			wall, f := civil(timeOf(v), true)
			if f == nil && wall%microsPerDay != 0 {
				f = timeFault(timeOf(v), "has a time of day, which a date column cannot hold; give the day at 00:00")
			}
			if f != nil {
				return 0, f
			}
			b.Append(arrow.Date32(wall / microsPerDay))
			return 4, nil
		}
	}
	tb, wall := b.(*array.TimestampBuilder), p.form == wallForm
	return func(v reflect.Value) (int, *fault) {
		micros, f := civil(timeOf(v), wall)
		if f != nil {
			return 0, f
		}
		tb.Append(arrow.Timestamp(micros))
		return 8, nil
	}
}

// timeOf is the time that a value holds, without a copy on the heap where that can be.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

// civil gives the microseconds of a time: of the instant, or of what its clock shows.
func civil(t time.Time, wall bool) (int64, *fault) {
	if t.Nanosecond()%1000 != 0 {
		return 0, timeFault(t, "has digits below a microsecond, which the column cannot hold; Truncate(time.Microsecond) cuts them off")
	}
	if y := t.Year(); y < -1 || y > 10_001 {
		return 0, timeFault(t, outsideYears)
	}
	micros := t.UnixMicro()
	if wall {
		micros = wallMicros(t)
	}
	if micros < minMicros || micros > maxMicros {
		return 0, timeFault(t, outsideYears)
	}
	return micros, nil
}

func timeFault(t time.Time, why string) *fault {
	return &fault{value: t.Format(time.RFC3339Nano), why: why}
}

func (p *valuePlan) decimalAppender(b *array.Decimal128Builder) valueAppender {
	t := p.typ.(*arrow.Decimal128Type)
	text := func(text []byte) (int, *fault) {
		v, bad := parseDecimal(text, t)
		if bad != parsed {
			return 0, badText("", text, decimalFault(bad, t))
		}
		b.Append(v)
		return 16, nil
	}
	switch p.form {
	case digitsForm:
		return func(v reflect.Value) (int, *fault) { return text([]byte(v.String())) }
	case markedDecimalForm:
		return func(v reflect.Value) (int, *fault) {
			s, f := marshalText(v)
			if f != nil {
				return 0, f
			}
			return text(s)
		}
	case bigForm:
		return func(v reflect.Value) (int, *fault) { return text([]byte(v.Interface().(*big.Int).String())) }
	case ratForm:
		return func(v reflect.Value) (int, *fault) {
			n, bad := ratDecimal(v.Interface().(*big.Rat), t)
			if bad != parsed {
				return 0, &fault{value: v.Interface().(*big.Rat).RatString(), why: decimalFault(bad, t)}
			}
			b.Append(n)
			return 16, nil
		}
	}
	return func(v reflect.Value) (int, *fault) {
		n := v.Interface().(decimal128.Num)
		if !n.FitsInPrecision(t.Precision) {
			return 0, &fault{value: n.ToString(t.Scale), why: decimalFault(tooGreat, t)}
		}
		b.Append(n)
		return 16, nil
	}
}

// ratDecimal is a fraction as a decimal, if it is one.
func ratDecimal(r *big.Rat, t *arrow.Decimal128Type) (decimal128.Num, parseFault) {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)
	n, rest := new(big.Int).QuoRem(new(big.Int).Mul(r.Num(), unit), r.Denom(), new(big.Int))
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
	switch {
	case rest.Sign() != 0:
		return decimal128.Num{}, tooFine
	case n.CmpAbs(most) >= 0:
		return decimal128.Num{}, tooGreat
	}
	return decimal128.FromBigInt(n), parsed
}

// ---- nested values

func (p *valuePlan) structAppender(b *array.StructBuilder) valueAppender {
	var fields []func(v reflect.Value) (int, *fault)
	for i := range p.fields {
		fields = append(fields, p.fields[i].appender(b.FieldBuilder(i)))
	}
	return func(v reflect.Value) (int, *fault) {
		b.Append(true)
		size := 0
		for _, add := range fields {
			n, f := add(v)
			if f != nil {
				return 0, f
			}
			size += n
		}
		return size, nil
	}
}

func (p *valuePlan) listAppender(b *array.ListBuilder) valueAppender {
	add := p.elem.appender(b.ValueBuilder())
	return func(v reflect.Value) (int, *fault) {
		if v.IsNil() {
			b.AppendNull()
			return 1, nil
		}
		b.Append(true)
		size := 4
		for i := range v.Len() {
			n, f := add(v.Index(i))
			if f != nil {
				return 0, f.inside(fmt.Sprintf("[%d]", i))
			}
			size += n
		}
		return size, nil
	}
}

// mapAppender appends the pairs of a map in the order of its keys, so that equal maps are equal
// bytes.
func (p *valuePlan) mapAppender(b *array.MapBuilder) valueAppender {
	key, item := p.key.appender(b.KeyBuilder()), p.elem.appender(b.ItemBuilder())
	return func(v reflect.Value) (int, *fault) {
		if v.IsNil() {
			b.AppendNull()
			return 1, nil
		}
		keys, f := p.sortedKeys(v)
		if f != nil {
			return 0, f
		}
		b.Append(true)
		size := 4
		for _, k := range keys {
			n, f := key(k)
			if f == nil {
				size += n
				n, f = item(v.MapIndex(k))
			}
			if f != nil {
				return 0, f.inside(fmt.Sprintf("[%q]", fmt.Sprint(k.Interface())))
			}
			size += n
		}
		return size, nil
	}
}

// sortedKeys gives the keys of a map in order. Keys of a type with a MarshalText must differ in it.
func (p *valuePlan) sortedKeys(v reflect.Value) ([]reflect.Value, *fault) {
	keys := v.MapKeys()
	switch p.key.form {
	case intForm:
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
	case uintForm:
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Uint(), b.Uint()) })
	case stringForm:
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	default:
		return sortedByText(keys)
	}
	return keys, nil
}

func sortedByText(keys []reflect.Value) ([]reflect.Value, *fault) {
	type pair struct {
		text string
		key  reflect.Value
	}
	pairs := make([]pair, len(keys))
	for i, k := range keys {
		text, f := marshalText(k)
		if f != nil {
			return nil, f
		}
		pairs[i] = pair{string(text), k}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.text, b.text) })
	for i, p := range pairs {
		if keys[i] = p.key; i > 0 && p.text == pairs[i-1].text {
			return nil, &fault{value: quote([]byte(p.text)), why: "is the text of two keys of the map; make them differ in it"}
		}
	}
	return keys, nil
}

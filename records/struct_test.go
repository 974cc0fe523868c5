package records_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

type (
	level string
	id    [4]byte

	// stamped is embedded.
	stamped struct {
		At   time.Time
		Wall time.Time `idem:",timestamp_ntz"`
	}

	line struct {
		SKU   string
		Price string `idem:"price,decimal(9,2)"`
		Tags  []string
	}

	// everything has every Go type that is a column.
	everything struct {
		B        bool
		I        int
		I8       int8
		I16      int16
		I32      int32
		I64      int64
		U        uint
		U8       uint8
		U16      uint16
		U32      uint32
		U64      uint64
		F32      float32
		F64      float64
		S        string
		Level    level
		Raw      []byte
		ID       id
		JSON     json.RawMessage
		Day      time.Time `idem:"day,date"`
		Amount   string    `idem:"amount,decimal(12,2)"`
		Big      *big.Int
		Scaled   *big.Int       `idem:",decimal(12,2)"`
		Rat      *big.Rat       `idem:",decimal(12,4)"`
		Num      decimal128.Num `idem:",decimal(10,3)"`
		Addr     netip.Addr
		Optional *int32
		Null     sql.NullString
		NullTime sql.Null[time.Time]
		Text     *netip.Addr
		Line     line
		OneLine  *line
		Lines    []line
		Matrix   [][]int16
		Counts   map[string]int64
		ByNumber map[int32]*float64
		ByAddr   map[netip.Addr]bool
		OptDay   *time.Time  `idem:",date"`
		Days     []time.Time `idem:",date"`
		Skipped  chan int    `idem:"-"`
		unwanted func()
		stamped
		_ struct{}
	}
)

func ptr[T any](v T) *T { return &v }

func full() everything {
	day := time.Date(2013, 1, 31, 0, 0, 0, 0, time.FixedZone("", 3600))
	l := line{"x", "1.50", []string{"a"}}
	return everything{
		B: true, I: math.MinInt64, I8: -128, I16: math.MaxInt16, I32: math.MinInt32, I64: math.MaxInt64,
		U: math.MaxInt64, U8: 255, U16: 65535, U32: math.MaxUint32, U64: math.MaxInt64, F32: 0.1, F64: math.Inf(-1),
		S: "x", Level: "high", Raw: []byte("hi"), ID: id{1, 2, 3, 4}, JSON: json.RawMessage(`{}`), Day: day, Amount: "-19.90",
		Big: new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil), Scaled: big.NewInt(-7), Rat: big.NewRat(1, 8), Num: decimal128.FromI64(1500),
		Addr: netip.MustParseAddr("10.0.0.1"), Optional: ptr(int32(0)), Null: sql.NullString{Valid: true}, NullTime: sql.Null[time.Time]{V: day, Valid: true},
		Text: ptr(netip.MustParseAddr("::1")), Line: l, OneLine: &l, Lines: []line{l, {Price: "0.00"}}, Matrix: [][]int16{{1, 2}, {}, nil},
		Counts: map[string]int64{"b": 2, "a": 1}, ByNumber: map[int32]*float64{2: ptr(0.5), -1: nil}, ByAddr: map[netip.Addr]bool{netip.MustParseAddr("::2"): true},
		OptDay: &day, Days: []time.Time{day}, unwanted: func() {},
		stamped: stamped{At: time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), Wall: time.Date(2013, 3, 31, 2, 30, 0, 0, time.UTC)},
	}
}

// readBack is what full and empty are when they come out: times in UTC, texts with their digits.
func readBack(e everything) everything {
	utc := func(t *time.Time) { *t = t.UTC() }
	calendar := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	e.unwanted = nil
	e.Day = calendar(e.Day)
	utc(&e.At)
	if e.NullTime.Valid {
		utc(&e.NullTime.V)
	}
	if e.OptDay != nil {
		e.OptDay = ptr(calendar(*e.OptDay))
	}
	for i := range e.Days {
		e.Days = append([]time.Time(nil), e.Days...)
		e.Days[i] = calendar(e.Days[i])
	}
	return e
}

func TestStructsRoundTrip(t *testing.T) {
	mem := checked(t)
	in := []everything{full(), {Amount: "0.00", Line: line{Price: "0.00"}}, full()}
	in[1].Day, in[1].At, in[1].Wall = time.Time{}, time.Time{}, time.Time{}
	rows, err := records.Structs(in, records.StructOptions{Allocator: mem, BatchRows: 2})
	require.NoError(t, err)
	defer rows.Release()
	for range 2 {
		out, err := collect(records.StructsOf[everything](array.IterFromReader(rows), records.StructOptions{}))
		require.NoError(t, err)
		require.Len(t, out, 3)
		for i := range in {
			require.Equal(t, readBack(in[i]), out[i])
		}
		require.NoError(t, rows.Rewind(t.Context()))
	}
}

// TestMapsAreSorted: equal maps are equal rows, byte by byte, in whatever order Go gives their keys.
func TestMapsAreSorted(t *testing.T) {
	type maps struct {
		S map[string]int8
		I map[int16]int8
		U map[uint32]int8
		A map[netip.Addr]int8
	}
	m := maps{S: map[string]int8{}, I: map[int16]int8{}, U: map[uint32]int8{}, A: map[netip.Addr]int8{}}
	var s, i, u, a []string
	for n := range int8(30) {
		m.S[fmt.Sprintf("%02d", n)], m.I[int16(n)-15], m.U[uint32(n)<<27], m.A[netip.AddrFrom4([4]byte{100 + byte(n)})] = n, n, n, n
		s, i = append(s, fmt.Sprintf(`{"key":"%02d","value":%d}`, n, n)), append(i, fmt.Sprintf(`{"key":%d,"value":%d}`, n-15, n))
		u, a = append(u, fmt.Sprintf(`{"key":%d,"value":%d}`, int64(n)<<27, n)), append(a, fmt.Sprintf(`{"key":"%d.0.0.0","value":%d}`, 100+int(n), n))
	}
	rows, err := records.Structs([]maps{m}, records.StructOptions{Allocator: checked(t)})
	require.NoError(t, err)
	defer rows.Release()
	list := func(l []string) string { return "[" + strings.Join(l, ",") + "]" }
	require.Equal(t, []string{list(s) + "|" + list(i) + "|" + list(u) + "|" + list(a)}, lines(t, rows))
}

func collect[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

func TestSchemaOf(t *testing.T) {
	type order struct {
		ID     int64     `idem:"order_id"`
		Day    time.Time `idem:"day,date"`
		Amount string    `idem:"amount,decimal(12,2)"`
		Note   *string
		Lines  []line
		By     map[string]uint8
		stamped
	}
	got, err := records.SchemaOf[order]()
	require.NoError(t, err)
	element := arrow.Field{Name: "element", Nullable: false, Type: arrow.StructOf(arrow.Field{Name: "SKU", Type: text}, arrow.Field{Name: "price", Type: decimalOf(9, 2)},
		field("Tags", arrow.ListOfField(arrow.Field{Name: "element", Type: text})))}
	by := arrow.MapOf(text, arrow.PrimitiveTypes.Int16)
	by.SetItemNullable(false)
	want := schemaOf(arrow.Field{Name: "order_id", Type: i64}, arrow.Field{Name: "day", Type: date}, arrow.Field{Name: "amount", Type: decimalOf(12, 2)},
		field("Note", text), field("Lines", arrow.ListOfField(element)), field("By", by), arrow.Field{Name: "At", Type: ts}, arrow.Field{Name: "Wall", Type: ntz})
	require.True(t, want.Equal(got), got.String())
}

// TestStructTypeErrors: a field that is no column is refused with its path before a row is read.
func TestStructTypeErrors(t *testing.T) {
	type inner struct{ C chan int }
	type node struct {
		ID       int
		Children []node
	}
	type twice struct {
		A int
		B int `idem:"a"`
	}
	type hidden struct {
		id int `idem:"id"`
	}
	_ = hidden{id: 1}
	type selfList []selfList
	type selfMap map[string]selfMap
	type Embedded struct{ ID int }
	for want, make := range map[string]func() (*arrow.Schema, error){
		"rows are structs with a field for each column, and int is none":                           records.SchemaOf[int],
		"rows are structs with a field for each column, and *records_test.line is none":            records.SchemaOf[*line],
		"rows are structs with a field for each column, and time.Time is none":                     records.SchemaOf[time.Time],
		"break a rule: struct {} has no field that is a column":                                    records.SchemaOf[struct{}],
		"field .In[].C: chan int (chan) is no type of a column; tag it `idem:\"-\"`":               records.SchemaOf[struct{ In []inner }],
		"field .F: func() (func) is no type":                                                       records.SchemaOf[struct{ F func() }],
		"field .V: interface {} (interface) is no type":                                            records.SchemaOf[struct{ V any }],
		"field .V: complex128 (complex128) is no type":                                             records.SchemaOf[struct{ V complex128 }],
		"field .V: uintptr (uintptr) is no type":                                                   records.SchemaOf[struct{ V uintptr }],
		"field .V: [2]int (array) is no type":                                                      records.SchemaOf[struct{ V [2]int }],
		"field .M[value]: interface {} (interface) is no type":                                     records.SchemaOf[struct{ M map[string]any }],
		"field .M: maps have strings or integers for keys, and not float64":                        records.SchemaOf[struct{ M map[float64]int }],
		"field .D: a time.Duration is no type of a column; store it as an integer whose name says": records.SchemaOf[struct{ D time.Duration }],
		"field .P: **int can be NULL in two ways, which columns do not tell apart; use *int":       records.SchemaOf[struct{ P **int }],
		"field .P: *[]int can be NULL in two ways":                                                 records.SchemaOf[struct{ P *[]int }],
		"field node.Children[]: records_test.node contains itself":                                 records.SchemaOf[node],
		"field .L[][][][]": records.SchemaOf[struct{ L selfList }],
		"[value][…: its types contain themselves, or nest deeper than 64; tag it":         records.SchemaOf[struct{ M selfMap }],
		"two fields are the column \"a\" (also spelled \"A\"; case is ignored)":           records.SchemaOf[twice],
		"field hidden.id: it is tagged and not exported, so it cannot be read; export it": records.SchemaOf[hidden],
		"field .Embedded: a pointer to a struct is embedded; embed the struct itself":     records.SchemaOf[struct{ *Embedded }],
		"field .R: the precision and scale of a *big.Rat are not said; tag it":            records.SchemaOf[struct{ R *big.Rat }],
		"field .R: a big.Rat cannot be copied; use *big.Rat":                              records.SchemaOf[struct{ R big.Rat }],
		"field .N: the precision and scale of a decimal128.Num are not said":              records.SchemaOf[struct{ N decimal128.Num }],
		"field .N: the option date is for time.Time, and not for int": records.SchemaOf[struct {
			N int `idem:",date"`
		}],
		"field .N: the option decimal(5,2) is for strings, *big.Int, *big.Rat, decimal128.Num": records.SchemaOf[struct {
			N float64 `idem:",decimal(5,2)"`
		}],
		"field .T: the option decimal(5,2) is for": records.SchemaOf[struct {
			T time.Time `idem:",decimal(5,2)"`
		}],
		"field .B: the option timestamp_ntz is for time.Time, and not for *big.Int": records.SchemaOf[struct {
			B *big.Int `idem:",timestamp_ntz"`
		}],
		"field .A: the option date is for time.Time, and not for netip.Addr": records.SchemaOf[struct {
			A netip.Addr `idem:",date"`
		}],
		"field .N: the tag \"n,omitempty\" has the option \"omitempty\"; options, one at a time, are": records.SchemaOf[struct {
			N int `idem:"n,omitempty"`
		}],
		"field .N: the option decimal is written decimal(precision,scale)": records.SchemaOf[struct {
			N string `idem:"n,decimal(39,2)"`
		}],
	} {
		_, err := make()
		require.ErrorIs(t, err, idem.ErrInput, want)
		require.ErrorContains(t, err, want)
	}
	_, err := records.Structs([]int{1}, records.StructOptions{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = records.Structs([]line{}, records.StructOptions{BatchRows: -1})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = records.StructSeq[line](nil, records.StructOptions{})
	require.ErrorIs(t, err, idem.ErrInput)
}

// failing has a text that cannot be had.
type failing struct{ Empty bool }

func (f failing) MarshalText() ([]byte, error) { return nil, errors.New("no text today") }

// same has one text for all.
type same int

func (s same) MarshalText() ([]byte, error) { return []byte("same"), nil }

// TestStructValueErrors: a value that its column cannot hold is refused with row and column.
func TestStructValueErrors(t *testing.T) {
	type row struct {
		U       uint64
		S       string
		At      time.Time
		Day     time.Time      `idem:"day,date"`
		Amount  string         `idem:",decimal(5,2)"`
		Rat     *big.Rat       `idem:",decimal(5,2)"`
		Num     decimal128.Num `idem:",decimal(5,2)"`
		Big     *big.Int
		Lines   []line
		M       map[string]line
		Failing *failing
		Same    map[same]int
	}
	good := row{Amount: "1"}
	for _, c := range []struct {
		why   string
		spoil func(*row)
		want  string
	}{
		{"an integer above 63 bits", func(r *row) { r.U = 1 << 63 }, `row 2, column "U": the value 9223372036854775808 is above 9223372036854775807, the greatest integer of a table; store it as a decimal(20,0)`},
		{"a string that is none", func(r *row) { r.S = "\xe9" }, `column "S": the value "\xe9" is not valid UTF-8`},
		{"nanoseconds", func(r *row) { r.At = time.Unix(0, 1).UTC() }, `column "At": the value 1970-01-01T00:00:00.000000001Z has digits below a microsecond, which the column cannot hold; Truncate(time.Microsecond) cuts them off`},
		{"a year that no reader agrees on", func(r *row) { r.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, `is outside the years 0001 to 9999`},
		{"a year far away", func(r *row) { r.At = time.Date(900000, 1, 1, 0, 0, 0, 0, time.UTC) }, `is outside the years 0001 to 9999`},
		{"a date with a time", func(r *row) { r.Day = time.Date(2013, 1, 1, 0, 0, 0, 1000, time.UTC) }, `column "day": the value 2013-01-01T00:00:00.000001Z has a time of day, which a date column cannot hold`},
		{"no decimal", func(r *row) { r.Amount = "" }, `column "Amount": the value "" is not a decimal number`},
		{"too many digits", func(r *row) { r.Amount = "1.234" }, `column "Amount": the value "1.234" has more than 2 digits behind the point`},
		{"a fraction that is no decimal", func(r *row) { r.Rat = big.NewRat(1, 3) }, `column "Rat": the value 1/3 has more than 2 digits behind the point`},
		{"too great a fraction", func(r *row) { r.Rat = big.NewRat(1000, 1) }, `column "Rat": the value 1000 has more than 3 digits before the point`},
		{"a decimal beyond its precision", func(r *row) { r.Num = decimal128.FromI64(100000) }, `column "Num": the value 1000.00 has more than 3 digits`},
		{"an integer of 39 digits", func(r *row) { r.Big = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil) }, `has more than 38 digits before the point`},
		{"a path", func(r *row) { r.Lines = []line{{Price: "1"}, {Price: "x"}} }, `row 2, column "Lines[1].price": the value "x" is not a decimal number`},
		{"a path through a map", func(r *row) { r.M = map[string]line{"k": {Price: "x"}} }, `column "M[\"k\"].price": the value "x"`},
		{"a text that cannot be had", func(r *row) { r.Failing = &failing{} }, `column "Failing": the value {false} has no text: no text today`},
		{"keys of one text", func(r *row) { r.Same = map[same]int{1: 1, 2: 2} }, `column "Same": the value "same" is the text of two keys of the map`},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := []row{good, good}
			c.spoil(&in[1])
			rows, err := records.Structs(in, records.StructOptions{Allocator: checked(t)})
			require.NoError(t, err)
			got := failure(t, rows, nil)
			require.Contains(t, got, c.want)
			require.True(t, strings.HasPrefix(got, idem.ErrInput.Error()+": row 2, column"), got)
		})
	}
}

func TestStructSeq(t *testing.T) {
	lost := errors.New("connection lost")
	seq := func(err error) iter.Seq2[line, error] {
		return func(yield func(line, error) bool) {
			for i := range 3 {
				if !yield(line{SKU: fmt.Sprint(i), Price: "1"}, nil) {
					return
				}
			}
			if err != nil {
				yield(line{}, err)
			}
		}
	}
	for _, end := range []error{nil, lost} {
		rows, err := records.StructSeq(seq(end), records.StructOptions{Allocator: checked(t), BatchRows: 2})
		require.NoError(t, err)
		got, err := tryLines(rows)
		require.Equal(t, end, err)
		if end == nil {
			require.Equal(t, []string{"0|1.00|-", "1|1.00|-", "2|1.00|-"}, got)
		} else {
			require.Len(t, got, 2, "the batch in which it broke off is not given")
		}
		rows.Release()
	}
	rows, err := records.StructSeq(seq(nil), records.StructOptions{Allocator: checked(t), BatchRows: 1})
	require.NoError(t, err)
	require.True(t, rows.Next())
	rows.Release() // ends the sequence
}

// TestStructsOfErrors: rows that do not go into the struct are refused with row and column.
func TestStructsOfErrors(t *testing.T) {
	mem := checked(t)
	read := func(t *testing.T, schema *arrow.Schema, rows string, out func(iter.Seq2[arrow.RecordBatch, error]) error, want string) {
		t.Helper()
		b := fromJSON(t, mem, schema, rows)
		defer b.Release()
		err := out(seqOf(b))
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, want)
	}
	type one struct{ X int8 }
	read(t, schemaOf(field("y", i64)), `[]`, into[one], `the rows, column "X": they have no such column; add it to the rows, or tag the field`)
	read(t, schemaOf(field("x", text)), `[]`, into[one], `the rows, column "X": the column is utf8, which does not go into a int8`)
	read(t, schemaOf(field("x", i64)), `[{"x":127},{"x":128}]`, into[one], `row 2, column "X": the value 128 is outside the range of int8; use a wider field`)
	read(t, schemaOf(field("x", i64)), `[{"x":null}]`, into[one], `row 1, column "X": it is NULL, which int8 cannot hold; make the field a pointer, or set StructOptions.NullAsZero`)
	read(t, schemaOf(field("x", i64)), `[{"x":-1}]`, into[struct{ X uint32 }], `the value -1 is outside the range of uint32`)
	read(t, schemaOf(field("x", i64)), `[{"x":-1}]`, into[struct{ X uint64 }], `the value -1 is outside the range of uint64`)
	read(t, schemaOf(field("x", f64)), `[{"x":0.1}]`, into[struct{ X float32 }], `the value 0.1 is not exact in a float32; use a float64`)
	read(t, schemaOf(field("x", i64)), `[]`, into[struct{ X float64 }], `the column is int64, which does not go into a float64`)
	read(t, schemaOf(field("x", ntz)), `[]`, into[struct{ X time.Time }], `tag the field "timestamp_ntz" if the column has no time zone`)
	read(t, schemaOf(field("x", arrow.FixedWidthTypes.Timestamp_ns)), `[]`, into[struct{ X time.Time }], `only microseconds are read`)
	read(t, schemaOf(field("x", date)), `[]`, into[struct{ X time.Time }], `the column is date32, which does not go into a time.Time`)
	read(t, schemaOf(field("x", bin)), `[{"x":"aGk="}]`, into[struct{ X [3]byte }], `the value "hi" has 2 bytes, and a [3]uint8 has 3`)
	read(t, schemaOf(field("x", text)), `[{"x":"a.b"}]`, into[struct{ X netip.Addr }], `the value "a.b" does not go into a netip.Addr`)
	read(t, schemaOf(field("x", text)), `[]`, into[struct{ X failing }], `the column is utf8, which does not go into a records_test.failing`)
	read(t, schemaOf(field("x", decimalOf(9, 2))), `[{"x":"1.25"}]`, into[struct{ X *big.Int }], `the value 1.25 has more than 0 digits behind the point`)
	read(t, schemaOf(field("x", decimalOf(9, 2))), `[{"x":"1.25"}]`, into[struct {
		X decimal128.Num `idem:",decimal(9,1)"`
	}], `the value 1.25 has more than 1 digits behind the point`)
	read(t, schemaOf(field("x", arrow.ListOf(i64))), `[{"x":[1,null]}]`, into[struct{ X []int64 }], `row 1, column "X[1]": it is NULL, which int64 cannot hold`)
	read(t, schemaOf(field("x", arrow.ListOf(text))), `[]`, into[struct{ X []int64 }], `column "X[]": the column is utf8`)
	read(t, schemaOf(field("x", arrow.StructOf(field("a", i64)))), `[]`, into[struct{ X line }], `column "X.SKU": they have no such column`)
	read(t, schemaOf(field("x", i64)), `[]`, into[struct{ X []int64 }], `the column is int64, which does not go into a []int64`)
	read(t, schemaOf(field("x", i64)), `[]`, into[struct{ X line }], `does not go into a records_test.line`)
	read(t, schemaOf(field("x", i64)), `[]`, into[struct{ X map[string]int }], `does not go into a map[string]int`)
	read(t, schemaOf(field("x", arrow.MapOf(i64, i64))), `[{"x":[{"key":300,"value":1}]}]`, into[struct{ X map[int8]int }], `column "X[key]": the value 300 is outside the range of int8`)
	read(t, schemaOf(field("x", arrow.MapOf(i64, i64))), `[{"x":[{"key":1,"value":1},{"key":1,"value":2}]}]`, into[struct{ X map[int8]int }], `column "X": the value 1 is two keys of the map`)
	read(t, schemaOf(field("x", arrow.MapOf(i64, i64))), `[{"x":[{"key":1,"value":null}]}]`, into[struct{ X map[int8]int }], `column "X[\"1\"]": it is NULL`)
	read(t, idSchema, `[]`, into[int], `rows are structs`)

	lost := errors.New("connection lost")
	type row struct{ ID int64 }
	got, err := collect(records.StructsOf[row](fresh(t, mem, lost), records.StructOptions{}))
	require.Equal(t, lost, err)
	require.Equal(t, []row{{1}, {2}, {3}}, got)
	_, err = collect(records.StructsOf[row](nil, records.StructOptions{}))
	require.ErrorIs(t, err, idem.ErrInput)
	for range records.StructsOf[row](fresh(t, mem, nil), records.StructOptions{}) {
		break
	}
}

func into[T any](rows iter.Seq2[arrow.RecordBatch, error]) error {
	_, err := collect(records.StructsOf[T](rows, records.StructOptions{}))
	return err
}

func TestStructsOfForms(t *testing.T) {
	mem := checked(t)
	type row struct {
		ID   int64
		Name string
		F    float32
	}
	b := fromJSON(t, mem, schemaOf(field("name", text), field("extra", i64), field("f", f64), field("ID", i32)),
		`[{"name":"x","f":0.5,"ID":1},{"name":null,"f":null,"ID":null},{"name":"","f":1e300}]`)
	defer b.Release()
	got, err := collect(records.StructsOf[row](seqOf(b), records.StructOptions{NullAsZero: true}))
	require.ErrorContains(t, err, "row 3", "a value that is not exact")
	require.Equal(t, []row{{1, "x", 0.5}, {}}, got, "by name, whatever the case; narrower columns; NULL as zero if that is wanted")

	// A struct keeps nothing of its batch.
	text := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("name", text), field("raw", bin)), `[{"name":"abc","raw":"aGk="}]`)
	type kept struct {
		Name string
		Raw  []byte
	}
	out, err := collect(records.StructsOf[kept](seqOf(text), records.StructOptions{}))
	require.NoError(t, err)
	copy(text.Column(0).Data().Buffers()[2].Bytes(), "xyz")
	copy(text.Column(1).Data().Buffers()[2].Bytes(), "xy")
	require.Equal(t, kept{"abc", []byte("hi")}, out[0])

	// Slices of batches, of nested columns too, have their own rows.
	type nested struct {
		L []int64
		S struct{ A int64 }
		M map[string]int64
	}
	whole := fromJSON(t, mem, schemaOf(field("l", arrow.ListOf(i64)), field("s", arrow.StructOf(field("a", i64))), field("m", arrow.MapOf(arrow.BinaryTypes.String, i64))),
		`[{"l":[9],"s":{"a":9},"m":[{"key":"x","value":9}]},{"l":[1,2],"s":{"a":3},"m":[{"key":"k","value":4}]}]`)
	defer whole.Release()
	part := whole.NewSlice(1, 2)
	defer part.Release()
	parts, err := collect(records.StructsOf[nested](seqOf(part), records.StructOptions{}))
	require.NoError(t, err)
	require.Equal(t, []nested{{[]int64{1, 2}, struct{ A int64 }{3}, map[string]int64{"k": 4}}}, parts)
}

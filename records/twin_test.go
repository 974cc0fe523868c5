package records_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/records"
)

// one reads a single value of a column, "-" for NULL, or says why it is refused.
func one(t require.TestingT, typ arrow.DataType, text string, f records.Format) (string, error) {
	quoted := `"` + strings.ReplaceAll(text, `"`, `""`) + "\"\n"
	rows, err := records.CSVFrom(schemaOf(field("x", typ)), strings.NewReader(quoted), records.CSVOptions{NoHeader: true, Format: f})
	require.NoError(t, err)
	defer rows.Release()
	got, err := tryLines(rows)
	if err != nil {
		require.ErrorIs(t, err, idem.ErrInput)
		return "", err
	}
	require.Len(t, got, 1)
	return got[0], nil
}

// TestDecimalTwin holds decimals against math/big.
func TestDecimalTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{0,25}`)
		s := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + digits.Draw(t, "whole") +
			rapid.SampledFrom([]string{"", "."}).Draw(t, "point") + digits.Draw(t, "fraction") +
			rapid.SampledFrom([]string{"", "", "e3", "E-3", "e+30", "e-30", "e", "0", "00000"}).Draw(t, "exponent")
		typ := decimalOf(rapid.Int32Range(1, 38).Draw(t, "precision"), 0).(*arrow.Decimal128Type)
		typ.Scale = rapid.Int32Range(0, typ.Precision).Draw(t, "scale")

		got, err := one(t, typ, s, records.Format{})
		want, ok := new(big.Rat).SetString(s)
		if ok {
			unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil)
			most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
			n := new(big.Rat).Mul(want, new(big.Rat).SetInt(unit))
			ok = n.IsInt() && n.Num().CmpAbs(most) < 0
		}
		require.Equal(t, ok, err == nil, "%s as %s: %v", s, typ, err)
		if ok {
			back, _ := new(big.Rat).SetString(got)
			require.Zero(t, want.Cmp(back), "%s as %s is %s", s, typ, got)
		}
	})
}

// TestIntegerTwin holds integers against strconv.
func TestIntegerTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[+-]?[0-9]{1,21}`), rapid.StringMatching(`[+-]?0*92233720368547758[0-9]{2}`), rapid.StringMatching(`[-+0-9 ._x]{0,4}`)).Draw(t, "text")
		got, err := one(t, i64, s, records.Format{})
		want, wantErr := strconv.ParseInt(s, 10, 64)
		require.Equal(t, wantErr == nil, err == nil, "%q: %v", s, err)
		if err == nil {
			require.Equal(t, fmt.Sprint(want), got)
		}
	})
}

// TestFloatTwin holds floats against strconv, but for what only Go spells so.
func TestFloatTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,3})?`), rapid.StringMatching(`[-+]?(?i:nan|inf|infinity|infinit)`)).Draw(t, "text")
		got, err := one(t, f64, s, records.Format{})
		want, wantErr := strconv.ParseFloat(s, 64)
		require.Equal(t, wantErr == nil, err == nil, "%q: %v", s, err)
		if err == nil {
			back, _ := strconv.ParseFloat(got, 64)
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(back))
		}
	})
}

// TestTimeTwin holds dates and timestamps against package time.
func TestTimeTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.StringMatching(`(0001|1582|1900|1970|2000|2012|9999|201)-(0[0-9]|1[0-3]|2)-([0-3][0-9]|5)`).Draw(t, "day")
		_, err := one(t, date, day, records.Format{})
		want, wantErr := time.Parse(time.DateOnly, day)
		require.Equal(t, wantErr == nil, err == nil, "%q: %v", day, err)
		if err == nil {
			got, _ := one(t, date, day, records.Format{})
			require.Equal(t, want.Format(time.DateOnly), got)
		}
		at := day + rapid.StringMatching(`[T ]([01][0-9]|2[0-4]):[0-6][0-9]:[0-6][0-9](\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-9]):[0-5][0-9])`).Draw(t, "time")
		got, err := one(t, ts, at, records.Format{})
		want, wantErr = time.Parse("2006-01-02T15:04:05Z07:00", strings.Replace(at, " ", "T", 1))
		inside := want.UTC().Year() >= 1 && want.UTC().Year() <= 9999 && !strings.Contains(at, "+19") && !strings.Contains(at[11:], "-19")
		require.Equal(t, wantErr == nil && inside, err == nil, "%q: %v, %v", at, err, wantErr)
		if err == nil {
			require.Equal(t, want.UTC().Format("2006-01-02T15:04:05.999999Z"), got)
		}
	})
}

// TestLocationTwin holds times of a place against a search through all offsets: a time that its
// clocks show once is that instant, any other is refused.
func TestLocationTwin(t *testing.T) {
	var places []*time.Location
	for _, name := range []string{"Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca"} {
		loc, err := time.LoadLocation(name)
		require.NoError(t, err)
		places = append(places, loc)
	}
	rapid.Check(t, func(t *rapid.T) {
		loc := rapid.SampledFrom(places).Draw(t, "place")
		near := rapid.SampledFrom([]string{"2013-03-31T01:00:00Z", "2013-10-27T01:00:00Z", "2013-03-10T07:00:00Z", "2013-11-03T06:00:00Z", "2013-10-05T15:30:00Z",
			"2013-04-06T15:00:00Z", "2011-12-30T10:00:00Z", "1986-01-01T00:00:00Z", "2019-05-05T02:00:00Z", "2000-01-01T00:00:00Z"}).Draw(t, "near")
		at, err := time.Parse(time.RFC3339, near)
		require.NoError(t, err)
		wall := at.In(loc).Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "quarters")) * 15 * time.Minute).Format(time.DateTime)

		var want []time.Time
		asUTC, err := time.Parse(time.DateTime, wall)
		require.NoError(t, err)
		for offset := -14 * time.Hour; offset <= 15*time.Hour; offset += 15 * time.Minute {
			if t := asUTC.Add(-offset); t.In(loc).Format(time.DateTime) == wall {
				want = append(want, t)
			}
		}
		got, err := one(t, ts, wall, records.Format{Location: loc})
		require.Equal(t, len(want) == 1, err == nil, "%s in %s: %v, %v", wall, loc, want, err)
		if err == nil {
			require.Equal(t, want[0].Format("2006-01-02T15:04:05Z"), got)
		}
	})
}

// csvTwin reads text as strings by encoding/csv, and by this package, and compares.
func csvTwin(t require.TestingT, input string, columns int) {
	var fields []arrow.Field
	for i := range columns {
		fields = append(fields, field(fmt.Sprint("c", i), text))
	}
	rows, err := records.CSVFrom(schemaOf(fields...), strings.NewReader(input), records.CSVOptions{NoHeader: true, NullText: []string{}})
	var got [][]string
	if err == nil {
		for rows.Next() {
			for i := range int(rows.RecordBatch().NumRows()) {
				var row []string
				for _, c := range rows.RecordBatch().Columns() {
					row = append(row, c.(*array.String).Value(i))
				}
				got = append(got, row)
			}
		}
		err = rows.Err()
		rows.Release()
	}
	naive := csv.NewReader(strings.NewReader(input))
	naive.FieldsPerRecord = columns
	want, wantErr := naive.ReadAll()
	require.Equal(t, wantErr == nil, err == nil, "%q: %v, %v", input, wantErr, err)
	if err == nil {
		require.Equal(t, want, got, "%q", input)
	}
}

func TestCSVTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "bc", `"`, `"`, `""`, ",", ",", "\n", "\n", " ", "é", `","`, "\"\n", "x,y\n"})
		csvTwin(t, strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "text"), ""), rapid.IntRange(2, 3).Draw(t, "columns"))
	})
}

var fuzzSchema = schemaOf(field("a", text), field("b", i64), field("d", decimalOf(10, 2)), field("at", ts), field("f", f64), field("bin", bin), field("day", date), field("ok", flag))

// FuzzCSV: no bytes make the reader panic or leak; what it reads it writes, and reads again as the
// same; and where the forms are the same it agrees with encoding/csv.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"a,b\nx,1\n", "a;b\r\n\"x\";\r\n", "\ufeffa,d\n\"a\"\"b\nc\",1.50\n", packed("a\nx\n"), "at,f,bin,day,ok\n2013-01-31T10:00:00Z,1e5,aGk=,2013-01-31,true\n", "a\n\n\"\"\nx", "\"", "a,b\n\"x\"y,1\n",
	} {
		f.Add([]byte(seed), byte(0))
		f.Add([]byte(seed), byte(15))
	}
	f.Fuzz(func(t *testing.T, data []byte, bits byte) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		o := records.CSVOptions{Allocator: mem, BatchRows: 3, MaxLineBytes: 1 << 12, TrimSpace: bits&1 != 0, QuotedNulls: bits&2 != 0, NoHeader: bits&8 != 0}
		if bits&4 != 0 {
			o.Comma = ';'
		}
		fuzzing.Bounded(t, len(data), func() { reread(t, mem, data, o) })
		if utf8.Valid(data) && !bytes.ContainsAny(data, "\r\ufeff") && !bytes.HasPrefix(data, []byte("PK")) {
			csvTwin(t, string(data), 2)
		}
	})
}

func reread(t *testing.T, mem memory.Allocator, data []byte, o records.CSVOptions) {
	rows, err := records.CSVFrom(fuzzSchema, bytes.NewReader(data), o)
	if err != nil {
		require.ErrorIs(t, err, idem.ErrInput)
		return
	}
	defer rows.Release()
	var out bytes.Buffer
	var want []string
	o.QuotedNulls = false
	_, err = records.WriteCSV(&out, rows.Schema(), func(yield func(arrow.RecordBatch, error) bool) {
		for rows.Next() {
			want = append(want, batchLines(rows.RecordBatch())...)
			if !yield(rows.RecordBatch(), nil) {
				return
			}
		}
		if rows.Err() != nil {
			yield(nil, rows.Err())
		}
	}, o)
	if err != nil {
		require.ErrorIs(t, err, idem.ErrInput)
		return
	}
	o.MaxLineBytes = 0
	again, err := records.CSVFrom(rows.Schema(), &out, o)
	require.NoError(t, err)
	defer again.Release()
	require.Equal(t, want, lines(t, again))
}

// FuzzJSONLines: no bytes make the reader panic or leak, and what it accepts encoding/json reads as
// the same.
func FuzzJSONLines(f *testing.F) {
	for _, seed := range []string{
		`{"a":"x","b":1,"d":1.5}`, "{\"l\":[\"a\",null],\"s\":{\"n\":1},\"m\":{\"k\":1.5}}\n\n{}", packed(`{"a":"\u00e9\ud83d\ude00"}`), `{"x":[[[]]]}`, `[{}]`, `{"a":"`, `{"b":-0}`, "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	schema := schemaOf(field("a", text), field("b", i64), field("d", decimalOf(10, 2)), field("l", arrow.ListOf(text)),
		field("s", arrow.StructOf(field("n", i32))), field("m", arrow.MapOf(text, f64)), field("at", ts))
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		rows, err := records.JSONLinesFrom(schema, bytes.NewReader(data), records.JSONOptions{Allocator: mem, BatchRows: 3, MaxLineBytes: 1 << 12, Skip: []string{"x", "s.x"}})
		if err != nil {
			require.ErrorIs(t, err, idem.ErrInput)
			return
		}
		defer rows.Release()
		fuzzing.Bounded(t, len(data), func() { readLines(t, schema, data) })
		dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
		dec.UseNumber()
		for rows.Next() {
			for i := range int(rows.RecordBatch().NumRows()) {
				if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
					sameAsDecoded(t, dec, rows.RecordBatch(), i)
				}
			}
		}
		if rows.Err() != nil {
			require.ErrorIs(t, rows.Err(), idem.ErrInput)
		}
	})
}

// readLines reads lines of JSON to their end.
func readLines(t *testing.T, schema *arrow.Schema, data []byte) {
	rows, err := records.JSONLinesFrom(schema, bytes.NewReader(data), records.JSONOptions{})
	require.NoError(t, err)
	defer rows.Release()
	for rows.Next() {
		require.Positive(t, rows.RecordBatch().NumRows())
	}
}

// sameAsDecoded compares the plain columns of a row with the next value of encoding/json.
func sameAsDecoded(t *testing.T, dec *json.Decoder, batch arrow.RecordBatch, row int) {
	var want map[string]any
	require.NoError(t, dec.Decode(&want))
	for key, v := range want {
		column := batch.Schema().FieldIndices(strings.ToLower(key))
		if len(column) == 0 {
			require.Equal(t, "x", strings.ToLower(key))
			continue
		}
		c := batch.Column(column[0])
		switch v := v.(type) {
		case nil:
			require.True(t, c.IsNull(row))
		case string:
			if strings.EqualFold(key, "a") {
				require.Equal(t, v, c.(*array.String).Value(row))
			}
		case json.Number:
			if strings.EqualFold(key, "b") {
				n, err := v.Int64()
				require.NoError(t, err)
				require.Equal(t, n, c.(*array.Int64).Value(row))
			}
		case []any:
			from, to := c.(*array.List).ValueOffsets(row)
			require.Equal(t, len(v), int(to-from))
		}
	}
}

// TestStreamsThatFail: an error at any byte of a stream is that error, and never a row too few.
func TestStreamsThatFail(t *testing.T) {
	gone := errors.New("gone")
	all := "id\n1\n2\n3\n"
	for n := range len(all) + 1 {
		for _, whole := range []string{all, packed(all)} {
			if n > len(whole) {
				continue
			}
			r := io.MultiReader(strings.NewReader(whole[:n]), brokenStream{gone})
			rows, err := records.CSVFrom(idSchema, r, records.CSVOptions{Allocator: checked(t)})
			if err == nil {
				_, err = tryLines(rows)
				rows.Release()
			}
			require.ErrorIs(t, err, gone)
		}
	}
}

type brokenStream struct{ err error }

func (f brokenStream) Read([]byte) (int, error) { return 0, f.err }

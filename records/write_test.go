package records_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

func TestWriteCSV(t *testing.T) {
	mem := checked(t)
	s := schemaOf(field("id", i64), field("s", text), field("d", decimalOf(9, 3)), field("f", f64), field("at", ts), field("wall", ntz), field("day", date), field("bin", bin), field("b", flag))
	b := fromJSON(t, mem, s, `[
		{"id":1,"s":"a \"b\"","d":"-0.005","f":1e21,"at":"2013-01-31T10:00:00.5Z","wall":"2013-01-31T10:00:00","day":"2013-01-31","bin":"aGk=","b":true},
		{"id":null,"s":"","d":"123456","f":-0.25},
		{"id":-1,"s":"NA","d":"0"}]`)
	defer b.Release()
	write := func(schema *arrow.Schema, o records.CSVOptions) string {
		var out strings.Builder
		n, err := records.WriteCSV(&out, schema, seqOf(b), o)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		return out.String()
	}
	require.Equal(t, `id,s,d,f,at,wall,day,bin,b
1,"a ""b""",-0.005,1e+21,2013-01-31T10:00:00.5Z,2013-01-31T10:00:00,2013-01-31,aGk=,true
,"",123456.000,-0.25,,,,,
-1,NA,0.000,,,,,,
`, write(s, records.CSVOptions{}))
	require.Equal(t, "1;\"a \"\"b\"\"\"\nNA;\"\"\n-1;\"NA\"\n",
		write(s, records.CSVOptions{Comma: ';', NoHeader: true, Columns: []string{"ID", "s"}, NullText: []string{"NA"}}))
	require.Equal(t, "AT,day,bin\n31.01.2013 11:00:00.5 +01:00,31/1/2013,6869\n,,\n,,\n", write(schemaOf(field("AT", ts), field("day", date), field("bin", bin)), records.CSVOptions{
		Format: records.Format{TimestampLayout: "02.01.2006 15:04:05.999999 -07:00", DateLayout: "2/1/2006", Location: time.FixedZone("", 3600), Binary: records.Hex},
	}))
}

// TestWriteMarks: what begins a text and looks like a byte order mark is none.
func TestWriteMarks(t *testing.T) {
	s := schemaOf(field("\ufeffx", text))
	b := fromJSON(t, checked(t), s, `[{"\ufeffx":"\ufeffa"}]`)
	defer b.Release()
	for _, o := range []records.CSVOptions{{}, {NoHeader: true}} {
		var out strings.Builder
		_, err := records.WriteCSV(&out, s, seqOf(b), o)
		require.NoError(t, err)
		require.Equal(t, []string{"\ufeffa"}, csvLines(t, s, out.String(), o))
	}
}

func TestWriteJSONLines(t *testing.T) {
	mem := checked(t)
	b := fromJSON(t, mem, nestedSchema(), `[
		{"id":9007199254740993,"customer":{"name":"\"\\\u0001\n<é>","note":null},"lines":[{"sku":"x","price":"1.50","tags":[]},null],"counts":[{"key":"a","value":1},{"key":"","value":null}]},
		{"id":null,"customer":null,"lines":null,"counts":[]}]`)
	defer b.Release()
	var out strings.Builder
	n, err := records.WriteJSONLines(&out, nestedSchema(), seqOf(b), records.JSONOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.Equal(t, `{"id":9007199254740993,"customer":{"name":"\"\\\u0001\n<é>","note":null},"lines":[{"sku":"x","price":1.50,"tags":[]},null],"counts":{"a":1,"":null}}
{"id":null,"customer":null,"lines":null,"counts":{}}
`, out.String())
}

// badBatch has one value that the forms of text cannot spell.
func badBatch(build func(b *array.RecordBuilder), s *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer b.Release()
	build(b)
	return b.NewRecordBatch()
}

// TestWriteErrors: what cannot be spelled is refused with row and column.
func TestWriteErrors(t *testing.T) {
	late := arrow.Timestamp(1<<62 + 1)
	invalid := badBatch(func(b *array.RecordBuilder) {
		b.Field(0).(*array.StringBuilder).AppendValues([]string{"a", "\xe9"}, nil)
	}, schemaOf(field("x", text)))
	beyond := badBatch(func(b *array.RecordBuilder) { b.Field(0).(*array.TimestampBuilder).Append(late) }, schemaOf(field("x", ts)))
	early := badBatch(func(b *array.RecordBuilder) { b.Field(0).(*array.Date32Builder).Append(-1 << 30) }, schemaOf(field("x", date)))
	null := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", text)), `[{"x":null}]`)
	na := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", text)), `[{"x":"NA"}]`)
	empty := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", text)), `[{"x":""}]`)
	at := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", ts)), `[{"x":"2013-01-31T10:00:00.000001Z"}]`)
	old := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", ts)), `[{"x":"1800-01-01T00:00:00Z"}]`)
	day := fromJSON(t, memory.NewGoAllocator(), schemaOf(field("x", date)), `[{"x":"2013-01-31"}]`)
	vienna, err := time.LoadLocation("Europe/Vienna")
	require.NoError(t, err)
	for _, c := range []struct {
		why   string
		batch arrow.RecordBatch
		o     records.CSVOptions
		want  string
	}{
		{"a string that is none", invalid, records.CSVOptions{}, `row 2, column "x": the value "\xe9" is not valid UTF-8, which text must be`},
		{"a time beyond all years", beyond, records.CSVOptions{}, `row 1, column "x": the value of microsecond 4611686018427387905 is outside the years 0001 to 9999`},
		{"a date before all years", early, records.CSVOptions{}, `the value of day -1073741824 is outside the years`},
		{"NULL without a spelling", null, records.CSVOptions{NullText: []string{}}, `row 1, column "x": it is NULL, and CSVOptions.NullText has no spelling for it`},
		{"a string that reads as NULL", na, records.CSVOptions{NullText: []string{"NA"}, QuotedNulls: true}, `row 1, column "x": the value "NA" would be read as NULL; leave QuotedNulls off`},
		{"an empty string that reads as NULL", empty, records.CSVOptions{NullText: []string{"", "NA"}, QuotedNulls: true}, `row 1, column "x": the value "" would be read as NULL; leave QuotedNulls off`},
		{"a layout without microseconds", at, records.CSVOptions{Format: records.Format{TimestampLayout: time.RFC3339}}, `is lost when it is written as "2013-01-31T10:00:00Z"`},
		{"a unit without microseconds", at, records.CSVOptions{Format: records.Format{TimestampLayout: records.UnixMillis}}, `is no whole number of unix milliseconds`},
		{"an offset with seconds", old, records.CSVOptions{Format: records.Format{Location: vienna}}, `is lost when it is written as "1800-01-01T01:05:21+01:05"`},
		{"a layout without year", day, records.CSVOptions{Format: records.Format{DateLayout: "02.01."}}, `the value 2013-01-31 is lost in the layout "02.01." (Format.DateLayout)`},
	} {
		_, err := records.WriteCSV(io.Discard, c.batch.Schema(), seqOf(c.batch), c.o)
		require.ErrorIs(t, err, idem.ErrInput, c.why)
		require.ErrorContains(t, err, c.want, c.why)
		if c.o.NullText == nil {
			_, err = records.WriteJSONLines(io.Discard, c.batch.Schema(), seqOf(c.batch), records.JSONOptions{Format: c.o.Format})
			require.ErrorContains(t, err, c.want, c.why)
		}
	}
	maps := schemaOf(field("m", arrow.MapOf(i64, text)))
	twice := fromJSON(t, memory.NewGoAllocator(), maps, `[{"m":[{"key":1,"value":"a"},{"key":1,"value":"b"}]}]`)
	_, err = records.WriteJSONLines(io.Discard, maps, seqOf(twice), records.JSONOptions{})
	require.ErrorContains(t, err, `row 1, column "m": the value "1" is two keys of the map, and a JSON object has each once`)

	nested := schemaOf(field("l", arrow.ListOf(arrow.StructOf(field("x", text)))))
	deep := badBatch(func(b *array.RecordBuilder) {
		l := b.Field(0).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.StructBuilder).Append(true)
		l.ValueBuilder().(*array.StructBuilder).FieldBuilder(0).(*array.StringBuilder).Append("\xff")
	}, nested)
	_, err = records.WriteJSONLines(io.Discard, nested, seqOf(deep), records.JSONOptions{})
	require.ErrorContains(t, err, `row 1, column "l[0].x": the value "\xff" is not valid UTF-8`)
}

// fullDisk takes a number of bytes.
type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWritersReportWhatFails: the sequence's error and the writer's are handed on as they are, for
// every form.
func TestWritersReportWhatFails(t *testing.T) {
	mem := checked(t)
	lost := errors.New("connection lost")
	for name, write := range map[string]func(io.Writer, *arrow.Schema, iter.Seq2[arrow.RecordBatch, error]) (int64, error){
		"CSV": func(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (int64, error) {
			return records.WriteCSV(w, s, rows, records.CSVOptions{Allocator: mem})
		},
		"JSON lines": func(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (int64, error) {
			return records.WriteJSONLines(w, s, rows, records.JSONOptions{Allocator: mem})
		},
		"Parquet": func(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (int64, error) {
			return records.WriteParquet(w, s, rows, records.ParquetOptions{Allocator: mem})
		},
	} {
		n, err := write(io.Discard, idSchema, fresh(t, mem, lost))
		require.ErrorIs(t, err, lost, name)
		require.EqualValues(t, 3, n, name)
		_, err = write(io.Discard, idSchema, fresh(t, mem, io.EOF))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		_, err = write(&fullDisk{}, idSchema, fresh(t, mem, nil))
		require.ErrorIs(t, err, errFull, name)
		require.NotErrorIs(t, err, idem.ErrInput, name)
		_, err = write(nil, idSchema, fresh(t, mem, nil))
		require.ErrorIs(t, err, idem.ErrInput, name)
		_, err = write(io.Discard, idSchema, nil)
		require.ErrorIs(t, err, idem.ErrInput, name)
		_, err = write(io.Discard, nil, fresh(t, mem, nil))
		require.ErrorIs(t, err, idem.ErrInput, name)
		_, err = write(io.Discard, schemaOf(field("x", i64)), fresh(t, mem, nil))
		require.ErrorContains(t, err, `the rows have no column "x"`, name)
	}
	wide := fromJSON(t, mem, idSchema, "["+strings.TrimSuffix(strings.Repeat(`{"id":123456789},`, 20_000), ",")+"]")
	defer wide.Release()
	_, err := records.WriteCSV(&fullDisk{left: 100 << 10}, idSchema, seqOf(wide), records.CSVOptions{})
	require.ErrorIs(t, err, errFull, "in the middle")
}

// TestWriteNothing: without rows there is still a header, and what is written reads as no rows.
func TestWriteNothing(t *testing.T) {
	var csv, lines, pq bytes.Buffer
	_, err := records.WriteCSV(&csv, idSchema, seqOf(), records.CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, "id\n", csv.String())
	_, err = records.WriteJSONLines(&lines, idSchema, seqOf(), records.JSONOptions{})
	require.NoError(t, err)
	require.Empty(t, lines.String())
	_, err = records.WriteParquet(&pq, idSchema, seqOf(), records.ParquetOptions{})
	require.NoError(t, err)
	rows, err := records.Parquet(in(map[string]string{"f": pq.String()}, "f"), records.ParquetOptions{Allocator: checked(t)})
	require.NoError(t, err)
	defer rows.Release()
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
	require.True(t, idSchema.Equal(rows.Schema()))
}

package records_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

var _ idem.Rewinder = (*records.Rereader)(nil)

// csvLines reads a text.
func csvLines(t testing.TB, schema *arrow.Schema, text string, o records.CSVOptions) []string {
	t.Helper()
	o.Allocator = checked(t)
	rows, err := records.CSVFrom(schema, strings.NewReader(text), o)
	require.NoError(t, err)
	defer rows.Release()
	return lines(t, rows)
}

func csvFailure(t testing.TB, schema *arrow.Schema, text string, o records.CSVOptions) string {
	t.Helper()
	o.Allocator = checked(t)
	rows, err := records.CSVFrom(schema, strings.NewReader(text), o)
	return failure(t, rows, err)
}

func TestCSVTypes(t *testing.T) {
	head := "b,i8,i16,i32,i64,f32,f64,d,d38,s,bin,day,at,wall\n"
	got := csvLines(t, flatSchema(), head+
		"true,-128,32767,-2147483648,9223372036854775807,0.1,1e300,1.5,0.0000000001,x,aGk=,2013-01-31,2013-01-31T10:00:00Z,2013-01-31 10:00:00\n"+
		"FALSE,127,-32768,+7,-9223372036854775808,NaN,-Infinity,-9999999999.99,1E-10,\"a,\"\"b\"\"\",\"\",0001-01-01,9999-12-31 23:59:59.999999+00,9999-12-31\n"+
		",,,,,,,,,,,,,\n", records.CSVOptions{})
	require.Equal(t, []string{
		"true|-128|32767|-2147483648|9223372036854775807|0.1|1e+300|1.50|0.0000000001|x|aGk=|2013-01-31|2013-01-31T10:00:00Z|2013-01-31T10:00:00",
		`false|127|-32768|7|-9223372036854775808|NaN|-Inf|-9999999999.99|0.0000000001|a,"b"||0001-01-01|9999-12-31T23:59:59.999999Z|9999-12-31T00:00:00`,
		"-|-|-|-|-|-|-|-|-|-|-|-|-|-",
	}, got)
}

// TestCSVForms: what is read under which options, and why.
func TestCSVForms(t *testing.T) {
	two := schemaOf(field("id", i64), field("s", text))
	for _, c := range []struct {
		why, text string
		o         records.CSVOptions
		want      []string
	}{
		{"columns go by name, in any order and case", "S,ID\nx,1\n", records.CSVOptions{}, []string{"1|x"}},
		{"the last line may lack its end", "id,s\n1,x", records.CSVOptions{}, []string{"1|x"}},
		{"lines may end as on Windows", "id,s\r\n1,x\r\n2,y\r\n", records.CSVOptions{}, []string{"1|x", "2|y"}},
		{"and the last of them without \\n", "id,s\r\n1,x\r", records.CSVOptions{}, []string{"1|x"}},
		{"a byte order mark is no part of the first name", "\ufeffid,s\n1,x\n", records.CSVOptions{}, []string{"1|x"}},
		{"empty lines are none", "\nid,s\n\n1,x\n\r\n", records.CSVOptions{}, []string{"1|x"}},
		{"an unquoted empty field is NULL, a quoted one is not", "id,s\n1,\n2,\"\"\n", records.CSVOptions{}, []string{"1|-", "2|"}},
		{"other spellings of NULL take the place of the empty one", "id,s\nNA,NA\n2,\n3,\"NA\"\n", records.CSVOptions{NullText: []string{"NA"}}, []string{"-|-", "2|", "3|NA"}},
		{"or stand beside it", "id,s\nNA,\n", records.CSVOptions{NullText: []string{"NA", ""}}, []string{"-|-"}},
		{"no spelling of NULL at all", "id,s\n1,\n", records.CSVOptions{NullText: []string{}}, []string{"1|"}},
		{"files that quote everything", "\"id\",\"s\"\n\"\",\"\"\n", records.CSVOptions{QuotedNulls: true}, []string{"-|-"}},
		{"quoted fields hold separators, quotes and line breaks as they are", "id,s\n1,\"a,\"\"b\"\"\r\nc\n\"\n", records.CSVOptions{}, []string{"1|a,\"b\"\r\nc\n"}},
		{"spaces are part of a field", "id,s\n1, x \n", records.CSVOptions{}, []string{"1| x "}},
		{"but where they are trimmed, outside of quotes", "id,s\n 1 ,\t x \n2 , \" y \" \n3,  \n", records.CSVOptions{TrimSpace: true}, []string{"1|x", "2| y ", "3|-"}},
		{"another separator", "id;s\n1;x,y\n", records.CSVOptions{Comma: ';'}, []string{"1|x,y"}},
		{"a tab, which is then no space", "id\ts\n1\t\n", records.CSVOptions{Comma: '\t', TrimSpace: true}, []string{"1|-"}},
		{"no header: the columns are the schema's", "1,x\n", records.CSVOptions{NoHeader: true}, []string{"1|x"}},
		{"no header, other columns", "x,1\n", records.CSVOptions{NoHeader: true, Columns: []string{"s", "id"}}, []string{"1|x"}},
		{"a header with other names", "Order ID,Name\n1,x\n", records.CSVOptions{Columns: []string{"id", "s"}}, []string{"1|x"}},
		{"lines before the header", "report of \"today\nid,s\n1,x\n", records.CSVOptions{SkipLines: 1}, []string{"1|x"}},
		{"columns that are left out, one without a name", ",id,Note,s\n0,1,n,x\n", records.CSVOptions{Skip: []string{"", "note"}}, []string{"1|x"}},
		{"a column that the file lacks is not in the rows", "id\n1\n", records.CSVOptions{}, []string{"1"}},
		{"in a file of one column an empty line is a row", "s\nx\n\n\"\"\n", records.CSVOptions{}, []string{"x", "-", ""}},
		{"a header alone has no rows", "id,s\n", records.CSVOptions{}, nil},
		{"nor has an empty file without header", "", records.CSVOptions{NoHeader: true}, nil},
	} {
		t.Run(c.why, func(t *testing.T) { require.Equal(t, c.want, csvLines(t, two, c.text, c.o)) })
	}
}

// TestCSVErrors: each names the line, the column, the value and what to do.
func TestCSVErrors(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	require.NoError(t, err)
	schema := schemaOf(field("id", i64), field("n", i32), field("d", decimalOf(5, 2)), field("f", f32), field("b", flag), field("s", text),
		field("bin", bin), field("day", date), field("at", ts), field("wall", ntz), field("void", arrow.Null), arrow.Field{Name: "must", Type: text})
	one := func(column, value string) string { return "id," + column + "\n1," + value + "\n" }
	for _, c := range []struct {
		why, text string
		o         records.CSVOptions
		want      string
	}{
		{"text for a number", one("n", "12a"), records.CSVOptions{}, `line 2, column "n": the value "12a" is not a whole number`},
		{"a float for an integer", one("n", "5.0"), records.CSVOptions{}, `"5.0" is not a whole number`},
		{"a sign alone", one("n", "-"), records.CSVOptions{}, `"-" is not a whole number`},
		{"spaces", one("n", " 5"), records.CSVOptions{}, `the value " 5" is not a whole number; there are spaces around it`},
		{"a quoted empty field is not NULL", one("n", `""`), records.CSVOptions{}, `the value "" is not a whole number`},
		{"beyond 32 bits", one("n", "2147483648"), records.CSVOptions{}, `"2147483648" is outside the column's range, -2147483648 to 2147483647`},
		{"beyond 64 bits", "id\n9223372036854775808\n", records.CSVOptions{}, `"9223372036854775808" is outside the column's range`},
		{"far beyond 64 bits", "id\n99999999999999999999999\n", records.CSVOptions{}, `is outside the column's range`},
		{"below 64 bits", "id\n-9223372036854775809\n", records.CSVOptions{}, `is outside the column's range`},
		{"too many decimals", one("d", "1.005"), records.CSVOptions{}, `line 2, column "d": the value "1.005" has more than 2 digits behind the point, and the column is a decimal(5,2); round it in the source`},
		{"too great a decimal", one("d", "1000"), records.CSVOptions{}, `"1000" has more than 3 digits before the point`},
		{"a decimal comma", "id;d\n1;1,5\n", records.CSVOptions{Comma: ';'}, `"1,5" is not a decimal number, as 12.50`},
		{"a decimal with a hidden exponent", one("d", "1e99999999999999999999"), records.CSVOptions{}, `has more than 3 digits before the point`},
		{"an exponent that is 2 in 64 bits", one("d", "1e18446744073709551618"), records.CSVOptions{}, `has more than 3 digits before the point`},
		{"no number", one("d", "NaN"), records.CSVOptions{}, `"NaN" is not a decimal number`},
		{"a float too great", one("f", "1e39"), records.CSVOptions{}, `"1e39" is outside the range of a float of 32 bits`},
		{"a hexadecimal float", one("f", "0x1p-2"), records.CSVOptions{}, `"0x1p-2" is not a number`},
		{"an underscore", one("f", "1_000"), records.CSVOptions{}, `"1_000" is not a number`},
		{"yes is not true", one("b", "yes"), records.CSVOptions{}, `"yes" is not true or false`},
		{"no base64", one("bin", "a"), records.CSVOptions{}, `"a" is not base64`},
		{"base64 over two lines", one("bin", "\"aG\nk=\""), records.CSVOptions{}, `is not base64`},
		{"no hexadecimal", one("bin", "abc"), records.CSVOptions{Format: records.Format{Binary: records.Hex}}, `"abc" is not hexadecimal digits in pairs`},
		{"no date", one("day", "2013-02-29"), records.CSVOptions{}, `"2013-02-29" is not a date as 2013-01-31`},
		{"a date with a time", one("day", "2013-01-31T00:00:00"), records.CSVOptions{}, `is not a date`},
		{"a year that is none", one("day", "0000-01-01"), records.CSVOptions{}, `is not a date`},
		{"no timestamp", one("at", "2013-01-31T24:00:00Z"), records.CSVOptions{}, `is not a timestamp as 2013-01-31T15:04:05.123456Z`},
		{"behind the zone", one("at", "2013-01-31T10:00:00Zabc"), records.CSVOptions{}, `is not a timestamp`},
		{"no zone", one("at", "2013-01-31T10:00:00"), records.CSVOptions{}, `"2013-01-31T10:00:00" has no zone, so it is no instant; add Z or an offset, or set Format.Location`},
		{"a zone where none belongs", one("wall", "2013-01-31T10:00:00Z"), records.CSVOptions{}, `has a zone, and the column is a timestamp without time zone`},
		{"nanoseconds", one("at", "2013-01-31T10:00:00.0000001Z"), records.CSVOptions{}, `has digits below a microsecond`},
		{"an offset out of the years", one("at", "0001-01-01T00:00:00+01:00"), records.CSVOptions{}, `is outside the years 0001 to 9999`},
		{"an hour that clocks skipped", one("at", "2013-03-31T02:30:00"), records.CSVOptions{Format: records.Format{Location: vienna}}, `is a time that clocks in Europe/Vienna skipped`},
		{"an hour that they showed twice", one("at", "2013-10-27T02:30:00"), records.CSVOptions{Format: records.Format{Location: vienna}}, `is a time that clocks in Europe/Vienna showed twice`},
		{"a layout that does not fit", one("day", "2013-01-31"), records.CSVOptions{Format: records.Format{DateLayout: "02.01.2006"}}, `is not a date in the layout "02.01.2006"`},
		{"a time of day in a layout of dates", one("day", "2013-01-31 10:00"), records.CSVOptions{Format: records.Format{DateLayout: "2006-01-02 15:04"}}, `"2013-01-31 10:00" has a time of day, which a date column cannot hold`},
		{"a number that is no time", one("at", "1.5"), records.CSVOptions{Format: records.Format{TimestampLayout: records.UnixMillis}}, `"1.5" is not a whole number of milliseconds`},
		{"a time beyond the years", one("at", "253402300800"), records.CSVOptions{Format: records.Format{TimestampLayout: records.UnixSeconds}}, `is outside the years`},
		{"not UTF-8", one("s", "caf\xe9"), records.CSVOptions{}, `line 2, column "s": the value "caf\xe9" is not UTF-8: byte 4 of it is 0xe9; convert the file to UTF-8`},
		{"void columns hold nothing", one("void", "x"), records.CSVOptions{}, `a void column holds nothing`},
		{"NULL where the schema has none", "id,must\n1,\n", records.CSVOptions{}, `line 2, column "must": it is NULL, and the column is NOT NULL`},
		{"a field too few", "id,s\n1\n", records.CSVOptions{}, `line 2: the record has 1 fields, and the file has 2 columns; is a separator or a quote missing?`},
		{"a field too many", "id,s\n1,x,y\n", records.CSVOptions{}, `line 2: the record has 3 fields`},
		{"physical lines are counted", "id,s\n1,\"a\nb\n\"\n\n2,\"\n\"\nx,y\n", records.CSVOptions{}, `line 8, column "id": the value "x"`},
		{"also within a record", "s,id\n\"a\nb\",x\n", records.CSVOptions{}, `line 3, column "id": the value "x"`},
		{"and before the header", "preamble\n\nid,s\nx,y\n", records.CSVOptions{SkipLines: 1}, `line 4, column "id": the value "x"`},
		{"the other bad rows of the batch are counted", "id\n1\nx\n2\ny\nz\n3\n", records.CSVOptions{}, `line 3, column "id": the value "x" is not a whole number (2 of the 4 rows behind it are wrong too)`},
		{"a bad row comes before what cannot be read behind it", "id\nx\n1\n\"", records.CSVOptions{}, `line 2, column "id": the value "x" is not a whole number`},
		{"long values are cut", "id\n" + strings.Repeat("ä", 100) + "\n", records.CSVOptions{}, `the value "` + strings.Repeat("ä", 30) + `"… is not`},
		{"a quote in the middle", "id,s\n1,a\"b\n", records.CSVOptions{}, `line 2: a quote stands in a field that does not begin with one`},
		{"a field that goes on behind its quote", "id,s\n1,\"a\"b\n", records.CSVOptions{}, `line 2: a quoted field goes on behind its closing quote; quotes in a field are written twice`},
		{"a quote that is never closed", "id,s\n1,x\n2,\"a\nb\n", records.CSVOptions{}, `line 3: a quote is opened here and never closed`},
		{"a carriage return alone", "id,s\n1,a\rb\n", records.CSVOptions{}, `line 2: a carriage return stands alone`},
		{"and beside quotes", "id,s\n\"1\",a\rb\n", records.CSVOptions{}, `line 2: a carriage return stands alone`},
		{"a line too long", "id\n" + strings.Repeat("1", 100) + "\n", records.CSVOptions{MaxLineBytes: 50}, `line 2: the record is longer than 50 bytes (MaxLineBytes); is a quote in it never closed?`},
		{"a line too long before the header", strings.Repeat("1", 100) + "\nid\n", records.CSVOptions{MaxLineBytes: 50, SkipLines: 1}, `line 1: the record is longer`},
		{"nothing at all", "", records.CSVOptions{}, `it is empty and has not even a header line; fetch it again, or set CSVOptions.NoHeader`},
		{"an unknown column", "id,x\n1,2\n", records.CSVOptions{}, `line 1: the schema has no column "x"; list it in Skip, or add it to the table first (columns: id, n, d, f,`},
		{"a column twice", "id,ID\n1,2\n", records.CSVOptions{}, `line 1: the columns "id" and "ID" are one name to Delta (it ignores case)`},
		{"no column of the schema", "x\n1\n", records.CSVOptions{Skip: []string{"x"}}, `none of the columns ["x"] is wanted`},
		{"a header that is not UTF-8", "caf\xe9\n1\n", records.CSVOptions{}, `line 1: the header is not UTF-8: byte 4 of it is 0xe9`},
		{"more fields than any table has", strings.Repeat(",", 70_000) + "\n", records.CSVOptions{}, `the header has more than 65536 fields`},
		{"names for another number of columns", "id,s\n", records.CSVOptions{Columns: []string{"id"}}, `the header has 2 fields, and CSVOptions.Columns names 1`},
		{"UTF-16", "\xff\xfei\x00d\x00", records.CSVOptions{}, `it is UTF-16 text; convert it to UTF-8`},
		{"zstd", "\x28\xb5\x2f\xfd....", records.CSVOptions{}, `it is packed with zstd; unpack it`},
		{"zip", "PK\x03\x04....", records.CSVOptions{}, `it is a zip archive`},
		{"gzip within gzip", packed(packed("id\n1\n")), records.CSVOptions{}, `it is packed with gzip twice`},
	} {
		t.Run(c.why, func(t *testing.T) {
			err := csvFailure(t, schema, c.text, c.o)
			require.Contains(t, err, c.want)
			require.True(t, strings.HasPrefix(err, idem.ErrInput.Error()+": "), err)
		})
	}
}

// TestCSVOptionErrors: what cannot be read under any file.
func TestCSVOptionErrors(t *testing.T) {
	id := schemaOf(field("id", i64), field("at", ts), field("wall", ntz))
	for _, c := range []struct {
		why    string
		schema *arrow.Schema
		o      records.CSVOptions
		want   string
	}{
		{"no schema", nil, records.CSVOptions{}, "CSV needs the schema of the rows; it is nil"},
		{"no columns", schemaOf(), records.CSVOptions{}, "it has no columns"},
		{"nested columns", schemaOf(field("l", arrow.ListOf(i64))), records.CSVOptions{}, `column "l": CSV holds no nested values`},
		{"a type that no table has", schemaOf(field("u", arrow.PrimitiveTypes.Uint32)), records.CSVOptions{}, `column "u": uint32 is not a type of Delta tables`},
		{"timestamps of another unit", schemaOf(field("u", arrow.FixedWidthTypes.Timestamp_ns)), records.CSVOptions{}, `is not a type of Delta tables`},
		{"decimals of a negative scale", schemaOf(field("u", decimalOf(5, -2))), records.CSVOptions{}, `is not a type of Delta tables`},
		{"a quote as separator", id, records.CSVOptions{Comma: '"'}, "CSVOptions.Comma"},
		{"a separator beyond ASCII", id, records.CSVOptions{Comma: 0xe9}, "CSVOptions.Comma"},
		{"NULL that cannot stand unquoted", id, records.CSVOptions{NullText: []string{"a,b"}}, `CSVOptions.NullText "a,b" cannot stand in an unquoted field`},
		{"negative numbers", id, records.CSVOptions{BatchRows: -1}, "BatchRows is negative"},
		{"negative lines", id, records.CSVOptions{SkipLines: -1}, "SkipLines is negative"},
		{"lines without bound", id, records.CSVOptions{MaxLineBytes: 1 << 30}, "MaxLineBytes is 1073741824; it is at most 536870912"},
		{"abbreviated zones", id, records.CSVOptions{Format: records.Format{TimestampLayout: time.RFC1123}}, "spells zones by abbreviations"},
		{"a zone for times without", id, records.CSVOptions{Format: records.Format{TimestampLayout: time.RFC3339}}, "leave the zone out of the layout"},
		{"instants without zone", id, records.CSVOptions{Format: records.Format{TimestampLayout: time.DateTime}}, "set Format.Location (time.UTC if they are UTC)"},
		{"bytes in another way", id, records.CSVOptions{Format: records.Format{Binary: 7}}, "Format.Binary is 7"},
	} {
		t.Run(c.why, func(t *testing.T) {
			var names []string
			for i := 0; c.schema != nil && i < c.schema.NumFields(); i++ {
				names = append(names, c.schema.Field(i).Name)
			}
			_, err := records.CSVFrom(c.schema, strings.NewReader(strings.Join(names, ",")+"\n"), c.o)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.want)
			_, err = records.WriteCSV(io.Discard, c.schema, seqOf(), c.o)
			require.ErrorIs(t, err, idem.ErrInput, "writing checks the same options")
		})
	}
	_, err := records.CSVFrom(id, nil, records.CSVOptions{})
	require.ErrorIs(t, err, idem.ErrInput)
}

// TestCSVOfSomeColumns: what the files lack is not asked whether text can hold it.
func TestCSVOfSomeColumns(t *testing.T) {
	s := schemaOf(field("at", ts), field("wall", ntz), field("l", arrow.ListOf(i64)))
	o := records.CSVOptions{Format: records.Format{TimestampLayout: time.RFC3339}}
	require.Equal(t, []string{"2013-01-31T10:00:00Z"}, csvLines(t, s, "at\n2013-01-31T10:00:00Z\n", o))

	b := fromJSON(t, checked(t), s, `[{"at":"2013-01-31T10:00:00Z"}]`)
	defer b.Release()
	o.Columns = []string{"at"}
	_, err := records.WriteCSV(io.Discard, s, seqOf(b), o)
	require.NoError(t, err)
}

func TestCSVFormats(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	require.NoError(t, err)
	at, wall, day := schemaOf(field("x", ts)), schemaOf(field("x", ntz)), schemaOf(field("x", date))
	for _, c := range []struct {
		why    string
		schema *arrow.Schema
		f      records.Format
		text   string
		want   string
	}{
		{"a location for times without zone", at, records.Format{Location: vienna}, "2013-07-01 12:00", "2013-07-01T10:00:00Z"},
		{"in winter", at, records.Format{Location: vienna}, "2013-01-01 12:00", "2013-01-01T11:00:00Z"},
		{"which a zone outranks", at, records.Format{Location: vienna}, "2013-07-01T12:00:00Z", "2013-07-01T12:00:00Z"},
		{"the minute before a gap", at, records.Format{Location: vienna}, "2013-03-31T01:59", "2013-03-31T00:59:00Z"},
		{"and the one behind it", at, records.Format{Location: vienna}, "2013-03-31T03:00", "2013-03-31T01:00:00Z"},
		{"an offset without colon", at, records.Format{}, "2013-07-01 12:00:00-0130", "2013-07-01T13:30:00Z"},
		{"as BigQuery writes it", at, records.Format{}, "2013-07-01 12:00:00 UTC", "2013-07-01T12:00:00Z"},
		{"as Ruby writes it", at, records.Format{}, "2013-07-01 12:00:00 +0200", "2013-07-01T10:00:00Z"},
		{"zeros behind the microsecond", at, records.Format{}, "2013-07-01T12:00:00.123456000z", "2013-07-01T12:00:00.123456Z"},
		{"half a second", at, records.Format{}, "2013-07-01t12:00:00.5Z", "2013-07-01T12:00:00.5Z"},
		{"before 1970", at, records.Format{}, "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"},
		{"a layout with an offset", at, records.Format{TimestampLayout: "02/Jan/2006:15:04:05 -0700"}, "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"},
		{"a layout without", wall, records.Format{TimestampLayout: "02.01.2006 15:04"}, "31.01.2013 10:00", "2013-01-31T10:00:00"},
		{"a layout without, for instants", at, records.Format{TimestampLayout: "02.01.2006 15:04", Location: time.UTC}, "31.01.2013 10:00", "2013-01-31T10:00:00Z"},
		{"seconds", at, records.Format{TimestampLayout: records.UnixSeconds}, "-1", "1969-12-31T23:59:59Z"},
		{"milliseconds", at, records.Format{TimestampLayout: records.UnixMillis}, "1356998400123", "2013-01-01T00:00:00.123Z"},
		{"microseconds", wall, records.Format{TimestampLayout: records.UnixMicros}, "1", "1970-01-01T00:00:00.000001"},
		{"a layout of dates", day, records.Format{DateLayout: "2.1.2006"}, "31.1.2013", "2013-01-31"},
		{"a leap day", day, records.Format{}, "2000-02-29", "2000-02-29"},
	} {
		t.Run(c.why, func(t *testing.T) {
			require.Equal(t, []string{c.want}, csvLines(t, c.schema, "x\n"+c.text+"\n", records.CSVOptions{Format: c.f}))
		})
	}
	require.Equal(t, []string{"aGk="}, csvLines(t, schemaOf(field("x", bin)), "x\n6869\n", records.CSVOptions{Format: records.Format{Binary: records.Hex}}))
}

// TestCSVFiles: many files are one stream.
func TestCSVFiles(t *testing.T) {
	schema := schemaOf(field("id", i64), field("s", text))
	files := map[string]string{
		"in/b.csv.gz": packed("s,id\nb,2\n"), "in/a.csv": "id,s\n1,a\n", "in/c.csv": "id,s\n", "other.csv": "ID,S\n3,c", "in/a[1].csv": "id,s\n4,d\n",
	}
	for _, c := range []struct {
		why   string
		names []string
		want  []string
	}{
		{"a pattern's files in lexical order, packed or not, in any order of columns", []string{"in/*.csv*"}, []string{"1|a", "4|d", "2|b"}},
		{"the names in their order", []string{"other.csv", "in/a.csv"}, []string{"3|c", "1|a"}},
		{"a file that is named twice is read once", []string{"in/a.csv", "in/a*.csv", "in/a.csv"}, []string{"1|a", "4|d"}},
		{"a name that is there is no pattern", []string{"in/a[1].csv"}, []string{"4|d"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			rows, err := records.CSV(schema, in(files, c.names...), records.CSVOptions{Allocator: checked(t), BatchRows: 2})
			require.NoError(t, err)
			defer rows.Release()
			for range 3 {
				require.Equal(t, c.want, lines(t, rows))
				require.False(t, rows.Next())
				require.NoError(t, rows.Rewind(t.Context()))
			}
		})
	}
}

func TestCSVFileErrors(t *testing.T) {
	schema := schemaOf(field("id", i64), field("s", text), field("note", text))
	whole := packed("id,s\n" + strings.Repeat("1,abcdefgh\n", 100))
	files := map[string]string{
		"a.csv": "id,s\n1,a\n", "bad.csv": "id,s\n1,a\nx,b\n", "less.csv": "id\n1\n", "as many.csv": "id,note\n1,b\n", "empty.csv": "", "short.csv.gz": whole[:len(whole)-10],
		"damaged.csv.gz": whole[:len(whole)-6] + "xxxxxx", "header.csv.gz": "\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x00", "dir/x.csv": "", "open.csv": "id,s\n1,\"",
	}
	for _, c := range []struct {
		why   string
		names []string
		want  string
	}{
		{"no names", nil, "Files.Names is empty"},
		{"a directory", []string{"dir"}, "dir is a directory; name its files, as dir/*.csv"},
		{"a pattern without files", []string{"*.tsv"}, `no file matches "*.tsv"`},
		{"a pattern that is none", []string{"[a"}, `"[a": syntax error in pattern`},
		{"a bad value", []string{"a.csv", "bad.csv"}, `file bad.csv, line 3, column "id": the value "x" is not a whole number`},
		{"other columns", []string{"a.csv", "less.csv"}, "file less.csv: it has the columns id, and a.csv has id, s"},
		{"as many columns, and others", []string{"a.csv", "as many.csv"}, "file as many.csv: it has the columns id, note, and a.csv has id, s"},
		{"an empty file", []string{"a.csv", "empty.csv"}, "file empty.csv: it is empty and has not even a header line"},
		{"an empty file, first", []string{"empty.csv"}, "file empty.csv: it is empty"},
		{"a packed file cut short", []string{"short.csv.gz"}, "file short.csv.gz: it ends in the middle of its gzip stream: it was cut short"},
		{"a packed file that is damaged", []string{"damaged.csv.gz"}, "file damaged.csv.gz: its gzip stream is damaged (gzip: invalid checksum)"},
		{"no gzip stream", []string{"header.csv.gz"}, "file header.csv.gz: its gzip stream is damaged (gzip: invalid header)"},
		{"an open quote", []string{"a.csv", "open.csv"}, "file open.csv, line 2: a quote is opened here and never closed"},
	} {
		t.Run(c.why, func(t *testing.T) {
			rows, err := records.CSV(schema, in(files, c.names...), records.CSVOptions{Allocator: checked(t)})
			var reader interface{ Release() } = rows
			if err == nil {
				_, err = tryLines(rows)
				reader.Release()
			}
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := records.CSV(schema, in(files, "missing.csv"), records.CSVOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, idem.ErrInput, "it may yet come")
}

// TestCSVOnDisk: the operating system's files, by paths and patterns.
func TestCSVOnDisk(t *testing.T) {
	place := t.TempDir()
	for name, text := range map[string]string{"a.csv": "id\n1\n", "b.csv": "id\n2\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(place, name), []byte(text), 0o600))
	}
	schema := schemaOf(field("id", i64))
	rows, err := records.CSV(schema, records.Files{Names: []string{filepath.Join(place, "*.csv")}}, records.CSVOptions{Allocator: checked(t), BatchRows: 1})
	require.NoError(t, err)
	defer rows.Release()
	require.Equal(t, []string{"1", "2"}, lines(t, rows))

	require.NoError(t, rows.Rewind(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(place, "b.csv"), []byte("id\nx\n"), 0o600))
	require.True(t, rows.Next())
	require.Contains(t, failure(t, rows, rows.Err()), "file "+filepath.Join(place, "b.csv")+", line 2")

	_, err = records.CSV(schema, records.Files{Names: []string{filepath.Join(place, "none.csv")}}, records.CSVOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = records.CSV(schema, records.Files{Names: []string{os.DevNull}}, records.CSVOptions{})
	require.ErrorContains(t, err, "is no regular file, so it cannot be read again; read it as a stream", "what was read of a pipe is gone")
}

// TestCSVReadErrors: an error of the file system is no error of the input, and ends the rows.
func TestCSVReadErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"id\n1\n2", packed("id\n1\n2\n")[:20]} {
		rows, err := records.CSVFrom(schemaOf(field("id", i64)), io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), records.CSVOptions{Allocator: checked(t)})
		if err == nil {
			_, err = tryLines(rows)
			rows.Release()
		}
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, idem.ErrInput)
	}
	_, err := records.CSVFrom(schemaOf(field("id", i64)), iotest.ErrReader(broken), records.CSVOptions{})
	require.ErrorIs(t, err, broken)
}

// TestCSVSlowStream: a stream that gives a byte at a time gives the same rows.
func TestCSVSlowStream(t *testing.T) {
	text := "id,s\r\n1,\"a\"\"\r\nb\"\r\n2,c\r\n\r\n3,\"\""
	for name, r := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(strings.NewReader(text)), "data with the error": iotest.DataErrReader(strings.NewReader(text)),
		"half": iotest.HalfReader(strings.NewReader(text)),
	} {
		rows, err := records.CSVFrom(schemaOf(field("id", i64), field("s", arrow.BinaryTypes.String)), r, records.CSVOptions{Allocator: checked(t)})
		require.NoError(t, err, name)
		require.Equal(t, []string{"1|a\"\r\nb", "2|c", "3|"}, lines(t, rows), name)
		rows.Release()
	}
}

// TestCSVBatches: a batch has BatchRows rows, and fewer when they are long; none is given when a row
// of it is bad.
func TestCSVBatches(t *testing.T) {
	schema := schemaOf(field("id", i64), field("s", text))
	sizes := func(text string, o records.CSVOptions) (out []int64, err error) {
		o.Allocator = checked(t)
		rows, err := records.CSVFrom(schema, strings.NewReader(text), o)
		require.NoError(t, err)
		defer rows.Release()
		for rows.Next() {
			out = append(out, rows.RecordBatch().NumRows())
		}
		return out, rows.Err()
	}
	text := "id,s\n" + strings.Repeat("1,x\n", 10)
	got, err := sizes(text, records.CSVOptions{BatchRows: 4})
	require.NoError(t, err)
	require.Equal(t, []int64{4, 4, 2}, got)

	got, err = sizes(text+"x,y\n1,z\n", records.CSVOptions{BatchRows: 4})
	require.ErrorContains(t, err, `line 12, column "id"`)
	require.Equal(t, []int64{4, 4}, got)

	long := "id,s\n" + strings.Repeat("1,"+strings.Repeat("x", 6<<20)+"\n", 7)
	got, err = sizes(long, records.CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 3, 1}, got, "16 MiB of text close a batch")
}

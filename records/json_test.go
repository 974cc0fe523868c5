package records_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

// nestedSchema has lists, maps and structs in each other.
func nestedSchema() *arrow.Schema {
	item := arrow.StructOf(field("sku", text), field("price", decimalOf(9, 2)), field("tags", arrow.ListOf(text)))
	return schemaOf(field("id", i64), field("customer", arrow.StructOf(field("name", text), field("note", text))),
		field("lines", arrow.ListOf(item)), field("counts", arrow.MapOf(text, i32)))
}

func jsonLines(t testing.TB, schema *arrow.Schema, text string, o records.JSONOptions) []string {
	t.Helper()
	o.Allocator = checked(t)
	rows, err := records.JSONLinesFrom(schema, strings.NewReader(text), o)
	require.NoError(t, err)
	defer rows.Release()
	return lines(t, rows)
}

func TestJSONTypes(t *testing.T) {
	got := jsonLines(t, flatSchema(), `{"b":true,"i8":-128,"i16":32767,"i32":0,"i64":9007199254740993,"f32":0.1,"f64":1e300,"d":1.5,"d38":1e-10,"s":"x","bin":"aGk=","day":"2013-01-31","at":"2013-01-31T10:00:00Z","wall":"2013-01-31 10:00:00"}
		{"b":false,"i8":"127","i64":"-9223372036854775808","f32":"NaN","f64":"-Infinity","d":"-9999999999.99","d38":"1","s":"\"\\\/\b\f\n\r\té\ud83d\ude00"}

{}
{"b":null,"i8":null}`, records.JSONOptions{})
	require.Equal(t, []string{
		"true|-128|32767|0|9007199254740993|0.1|1e+300|1.50|0.0000000001|x|aGk=|2013-01-31|2013-01-31T10:00:00Z|2013-01-31T10:00:00",
		"false|127|-|-|-9223372036854775808|NaN|-Inf|-9999999999.99|1.0000000000|\"\\/\b\f\n\r\té😀|-|-|-|-",
		strings.Repeat("-|", 13) + "-", strings.Repeat("-|", 13) + "-",
	}, got)
}

func TestJSONNested(t *testing.T) {
	rows := `{"id":1,"customer":{"name":"A","note":null},"lines":[{"sku":"x","price":1.50,"tags":["a",null,"b"]},null,{"TAGS":[]}],"counts":{"a":1,"":null}}
{"ID":2,"lines":[],"counts":{},"customer":null}
{"id":3,"customer":{}}
`
	mem := checked(t)
	reader, err := records.JSONLinesFrom(nestedSchema(), strings.NewReader(rows), records.JSONOptions{Allocator: mem})
	require.NoError(t, err)
	defer reader.Release()
	require.True(t, reader.Next())
	want := fromJSON(t, mem, nestedSchema(), `[
		{"id":1,"customer":{"name":"A","note":null},"lines":[{"sku":"x","price":"1.50","tags":["a",null,"b"]},null,{"sku":null,"price":null,"tags":[]}],"counts":[{"key":"a","value":1},{"key":"","value":null}]},
		{"id":2,"customer":null,"lines":[],"counts":[]},
		{"id":3,"customer":{"name":null,"note":null},"lines":null,"counts":null}]`)
	defer want.Release()
	requireEqual(t, want, reader.RecordBatch())
}

func TestJSONForms(t *testing.T) {
	two := schemaOf(field("id", i64), field("s", text))
	for _, c := range []struct {
		why, text string
		o         records.JSONOptions
		want      []string
	}{
		{"keys in any order and case", `{"S":"x","Id":1}`, records.JSONOptions{}, []string{"1|x"}},
		{"white space and Windows line ends", " { \"id\" :\t1 , \"s\" : \"x\" } \r\n\r\n{}\r\n", records.JSONOptions{}, []string{"1|x", "-|-"}},
		{"a byte order mark", "\ufeff{\"id\":1}", records.JSONOptions{}, []string{"1|-"}},
		{"keys that are left out, whatever they hold", `{"x":{"y":[1,{"z":null}],"a":"\u0041"},"id":1,"b":[true,false,-0.5e+3]}`, records.JSONOptions{Skip: []string{"X", "b"}}, []string{"1|-"}},
		{"packed", packed(`{"id":1}`), records.JSONOptions{}, []string{"1|-"}},
		{"escaped keys", `{"\u0069d":1}`, records.JSONOptions{}, []string{"1|-"}},
		{"no lines", "", records.JSONOptions{}, nil},
		{"no lines but empty ones", "\n \n", records.JSONOptions{}, nil},
	} {
		t.Run(c.why, func(t *testing.T) { require.Equal(t, c.want, jsonLines(t, two, c.text, c.o)) })
	}
	require.Equal(t, []string{"2013-01-01T00:00:00.123Z"}, jsonLines(t, schemaOf(field("at", ts)), `{"at":1356998400123}`,
		records.JSONOptions{Format: records.Format{TimestampLayout: records.UnixMillis}}), "times that are numbers")
	require.Equal(t, []string{`{"id":1}`}, jsonLines(t, schemaOf(field("c", arrow.StructOf(field("id", i64)))), `{"c":{"id":1,"x":2}}`, records.JSONOptions{Skip: []string{"c.X"}}),
		"a key of a nested object is left out by its path")
}

// TestJSONErrors: each names the line, the path, the value and what to do.
func TestJSONErrors(t *testing.T) {
	item := arrow.StructOf(field("price", decimalOf(5, 2)), arrow.Field{Name: "must", Type: i64})
	schema := schemaOf(field("id", i64), field("s", text), field("b", flag), field("day", date), field("at", ts), field("bin", bin), field("f", f64),
		field("lines", arrow.ListOf(item)), field("m", arrow.MapOf(i32, text)), field("c", arrow.StructOf(field("n", i32))), field("void", arrow.Null))
	for _, c := range []struct {
		why, text string
		o         records.JSONOptions
		want      string
	}{
		{"a string for a number", `{"id":"x"}`, records.JSONOptions{}, `line 1, column "id": the value "x" is not a whole number`},
		{"a float for an integer", "\n" + `{"id":5.0}`, records.JSONOptions{}, `line 2, column "id": the value 5.0 is not a whole number`},
		{"a number for a string", `{"s":5}`, records.JSONOptions{}, `line 1, column "s": the value 5 is not a string, which the column wants`},
		{"an object for a string", `{"s":{"a":1}}`, records.JSONOptions{}, `the value {"a":1} is not a string`},
		{"a string for a boolean", `{"b":"true"}`, records.JSONOptions{}, `the value "true" is not true or false, which the column wants`},
		{"a number for a date", `{"day":5}`, records.JSONOptions{}, `column "day": the value 5 is not a string`},
		{"no date", `{"day":"5"}`, records.JSONOptions{}, `the value "5" is not a date`},
		{"a list for a struct", `{"c":[1]}`, records.JSONOptions{}, `the value [1] is not an object`},
		{"an object for a list", `{"lines":{}}`, records.JSONOptions{}, `the value {} is not an array`},
		{"a list for a map", `{"m":[]}`, records.JSONOptions{}, `the value [] is not an object`},
		{"too many decimals in a list", `{"lines":[{"price":1,"must":1},{"price":1.005}]}`, records.JSONOptions{}, `line 1, column "lines[1].price": the value 1.005 has more than 2 digits behind the point`},
		{"NULL below a list", `{"lines":[{"price":1}]}`, records.JSONOptions{}, `column "lines[0].must": it is NULL, and the column is NOT NULL`},
		{"a map's value", `{"m":{"1":"a","2":5}}`, records.JSONOptions{}, `column "m[\"2\"]": the value 5 is not a string`},
		{"a map's key", `{"m":{"a":"a"}}`, records.JSONOptions{}, `column "m": the value "a" is no key of the map: it is not a whole number`},
		{"a map's key twice", `{"m":{"1":"a","1":"b"}}`, records.JSONOptions{}, `column "m[\"1\"]": the key is there twice; drop one`},
		{"a key twice", `{"id":1,"ID":2}`, records.JSONOptions{}, `line 1, column "id": the key is there twice (case is ignored); drop one`},
		{"an unknown key", `{"x":1}`, records.JSONOptions{}, `line 1, column "x": the schema has no such column; list it in Skip, or add it to the table first`},
		{"an unknown key below", `{"c":{"x":1}}`, records.JSONOptions{Skip: []string{"x"}}, `line 1, column "c.x": the schema has no such column`},
		{"void columns hold nothing", `{"void":"x"}`, records.JSONOptions{}, `a void column holds nothing`},
		{"not UTF-8", "{\"s\":\"\xe9\"}", records.JSONOptions{}, `line 1: the line is not UTF-8: byte 7 of it is 0xe9`},
		{"half a surrogate pair", `{"s":"\ud83d"}`, records.JSONOptions{}, `line 1, column "s": the JSON is broken at byte 7: the escape \ud83d is half of a surrogate pair`},
		{"the other half alone", `{"s":"\ude00\ud83d"}`, records.JSONOptions{}, `is half of a surrogate pair`},
		{"an escape that is none", `{"s":"\x41"}`, records.JSONOptions{}, `the escape \x is none of JSON's`},
		{"too few digits", `{"s":"\u004"}`, records.JSONOptions{}, `\u wants four hexadecimal digits`},
		{"an escape at the end", `{"s":"\`, records.JSONOptions{}, `a string is not closed`},
		{"a control character", "{\"s\":\"a\tb\"}", records.JSONOptions{}, `a control character (0x09) in a string`},
		{"an open string", `{"s":"a`, records.JSONOptions{}, `byte 8: a string is not closed`},
		{"a number with a zero before it", `{"id":01}`, records.JSONOptions{}, `a number begins with 0`},
		{"a number without digits", `{"id":-}`, records.JSONOptions{}, `a digit is expected, not '}'`},
		{"a point without digits", `{"f":1.}`, records.JSONOptions{}, `a digit is expected behind the point`},
		{"an exponent without digits", `{"f":1e}`, records.JSONOptions{}, `a digit is expected in the exponent`},
		{"a float too great", `{"f":1e999}`, records.JSONOptions{}, `the value 1e999 is outside the range of a float of 64 bits`},
		{"NaN without quotes", `{"f":NaN}`, records.JSONOptions{}, `a value is expected, not 'N'`},
		{"a word that is none", `{"b":tru}`, records.JSONOptions{}, `a value is expected, not 't'`},
		{"no colon", `{"id" 1}`, records.JSONOptions{}, `line 1: the JSON is broken at byte 7: a colon is expected, not '1'`},
		{"no comma", `{"id":1 "s":2}`, records.JSONOptions{}, `a comma or } is expected, not '"'`},
		{"no comma in a list", `{"lines":[null null]}`, records.JSONOptions{}, `a comma or ] is expected, not 'n'`},
		{"a comma at the end", `{"id":1,}`, records.JSONOptions{}, `a key in quotes is expected, not '}'`},
		{"an object over several lines", "{\n\"id\":1}\n", records.JSONOptions{}, `line 1: the JSON is broken at byte 2: a key in quotes is expected, not the end of the line (1 of the 1 rows behind it are wrong too)`},
		{"behind the object", `{"id":1} {"id":2}`, records.JSONOptions{}, `line 1: the JSON is broken at byte 10: the line goes on behind its object with '{'`},
		{"an array", "[{\"id\":1}]", records.JSONOptions{}, `line 1: it begins a JSON array; JSON lines have one object on each line (jq -c '.[]' makes them)`},
		{"a value that is no object", "{}\n5\n", records.JSONOptions{}, `line 2: the value 5 is not a JSON object`},
		{"a line of what only Unicode takes for blank", "{}\n\v\u00a0\n", records.JSONOptions{}, `line 2: the value "\v\u00a0" is not a JSON object`},
		{"an open list", `{"lines":[`, records.JSONOptions{}, `a value is expected, not the end of the line`},
		{"depth", `{"x":` + strings.Repeat("[", 200), records.JSONOptions{Skip: []string{"x"}}, `values nest deeper than 100`},
		{"depth in a message", `{"s":` + strings.Repeat("[", 1000), records.JSONOptions{}, `the value ` + strings.Repeat("[", 60) + `… is not a string`},
		{"a line too long", `{"s":"` + strings.Repeat("x", 100) + `"}`, records.JSONOptions{MaxLineBytes: 50}, `line 1: the line is longer than 50 bytes (MaxLineBytes)`},
		{"the other bad rows are counted", "{}\n{\"id\":x}\n{\n{}\n", records.JSONOptions{}, `line 2, column "id": the JSON is broken at byte 7: a value is expected, not 'x' (1 of the 2 rows behind it are wrong too)`},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.o.Allocator = checked(t)
			rows, err := records.JSONLinesFrom(schema, strings.NewReader(c.text), c.o)
			text := failure(t, rows, err)
			require.Contains(t, text, c.want)
			require.True(t, strings.HasPrefix(text, idem.ErrInput.Error()+": "), text)
		})
	}
}

func TestJSONOptionErrors(t *testing.T) {
	for why, c := range map[string]struct {
		schema *arrow.Schema
		o      records.JSONOptions
		want   string
	}{
		"no schema":              {nil, records.JSONOptions{}, "JSON lines needs the schema of the rows"},
		"a type of no table":     {schemaOf(field("l", arrow.ListOf(arrow.PrimitiveTypes.Uint8))), records.JSONOptions{}, "uint8 is not a type of Delta tables"},
		"maps with nested keys":  {schemaOf(field("m", arrow.MapOf(arrow.ListOf(i64), i64))), records.JSONOptions{}, "JSON objects have text for keys"},
		"a zone below a list":    {schemaOf(field("l", arrow.ListOf(ntz))), records.JSONOptions{Format: records.Format{TimestampLayout: "2006-01-02T15:04:05Z07:00"}}, "leave the zone out"},
		"batches without rows":   {schemaOf(field("id", i64)), records.JSONOptions{BatchRows: -1}, "BatchRows is negative"},
		"lines of negative size": {schemaOf(field("id", i64)), records.JSONOptions{MaxLineBytes: -1}, "MaxLineBytes is -1"},
	} {
		_, err := records.JSONLinesFrom(c.schema, strings.NewReader("{}"), c.o)
		require.ErrorIs(t, err, idem.ErrInput, why)
		require.ErrorContains(t, err, c.want, why)
		_, err = records.WriteJSONLines(io.Discard, c.schema, seqOf(), c.o)
		require.ErrorIs(t, err, idem.ErrInput, why)
	}
}

func TestJSONFiles(t *testing.T) {
	schema := schemaOf(field("id", i64))
	files := map[string]string{"a.jsonl": "{\"id\":1}\n{\"id\":2}", "b.jsonl.gz": packed("{\"id\":3}\n"), "c.jsonl": "{\"id\":4}\n\n{\"id\":x}\n", "e.jsonl": ""}
	rows, err := records.JSONLines(schema, in(files, "a.jsonl", "e.jsonl", "b.*"), records.JSONOptions{Allocator: checked(t), BatchRows: 2})
	require.NoError(t, err)
	defer rows.Release()
	for range 2 {
		require.Equal(t, []string{"1", "2", "3"}, lines(t, rows))
		require.NoError(t, rows.Rewind(t.Context()))
	}
	bad, err := records.JSONLines(schema, in(files, "[ac].jsonl"), records.JSONOptions{Allocator: checked(t)})
	require.NoError(t, err)
	require.Contains(t, failure(t, bad, nil), `file c.jsonl, line 3, column "id"`)

	_, err = records.JSONLines(schema, in(files), records.JSONOptions{})
	require.ErrorIs(t, err, idem.ErrInput)

	slow, err := records.JSONLinesFrom(schema, iotest.OneByteReader(strings.NewReader(files["a.jsonl"])), records.JSONOptions{Allocator: checked(t)})
	require.NoError(t, err)
	defer slow.Release()
	require.Equal(t, []string{"1", "2"}, lines(t, slow))
}

// TestALineThatBreaksOffAnywhere: a row that ends in the middle of a value, at whatever depth, is told of, and
// the rows behind it are still looked at.
func TestALineThatBreaksOffAnywhere(t *testing.T) {
	schema := schemaOf(field("l", arrow.ListOf(text)), field("m", arrow.MapOf(text, arrow.MapOf(text, f64))),
		field("s", arrow.StructOf(field("n", i32), field("m", arrow.MapOf(text, arrow.ListOf(i64))))))
	line := `{"l":["a",null],"m":{"k":{"a":1.5,"b":null},"o":null},"s":{"n":1,"m":{"k":[1,2],"o":[null]}}}`
	for end := 1; end < len(line); end++ {
		rows, err := records.JSONLinesFrom(schema, strings.NewReader(line+"\n"+line[:end]+"\n"+line+"\n{}\n"+line[:end]), records.JSONOptions{Allocator: checked(t)})
		require.NoError(t, err)
		require.False(t, rows.Next())
		require.ErrorIs(t, rows.Err(), idem.ErrInput)
		require.ErrorContains(t, rows.Err(), "line 2", line[:end])
		require.ErrorContains(t, rows.Err(), "(1 of the 3 rows behind it are wrong too)", line[:end])
		rows.Release()
	}
}

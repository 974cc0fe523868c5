package interop_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/conformance"
	"github.com/idemtable/idem/internal/pred"
)

var expressionsRun = flag.Int("interop.expressions", 1000, "generated expressions that Spark and idem evaluate")

// sample is the rows that expressions are evaluated on: every primitive type, and nested ones. Its
// decimals have 34 digits at most, since Spark negates longer ones with a loss, and no integer is a
// double but for rounding, since Spark compares them as doubles and idem by value.
var sample = source{
	Schema: []column{
		{"id", "long"}, {"b", "boolean"}, {"i8", "byte"}, {"i16", "short"}, {"i32", "integer"}, {"i64", "long"}, {"f32", "float"}, {"f64", "double"},
		{"d5", "decimal(5,2)"}, {"d18", "decimal(18,4)"}, {"d38", "decimal(38,10)"}, {"s", "string"}, {"s2", "string"}, {"raw", "binary"},
		{"d", "date"}, {"ts", "timestamp"}, {"ntz", "timestamp_ntz"},
		{"st", "struct<a:integer,b:string,c:struct<d:date>>"}, {"l", "array<integer>"}, {"m", "map<string,integer>"},
	},
	Rows: []row{
		{1, true, 1, 2, 3, 4, 1.5, 2.5, "1.25", "100.0001", "12345.6789000000", "hello", "ell", "base64:YWI=", "2024-02-29", "2024-02-29T12:34:56.789012Z", "2024-02-29T12:34:56.789012",
			object("a", 1, "b", "x", "c", object("d", "2024-01-01")), list(1, 2, 3), list(list("k", 1), list("j", nil))},
		{2, false, -128, -32768, -1 << 31, "-9223372036854775808", "-Infinity", "-Infinity", "-999.99", "-99999999999999.9999", "-999999999999999999999999.9999999999",
			"", "", "base64:", "0001-01-01", "0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001", object("a", nil, "b", nil, "c", nil), list(), list()},
		{3, true, 127, 32767, 1<<31 - 1, "9223372036854775807", "NaN", "NaN", "999.99", "99999999999999.9999", "999999999999999999999999.9999999999",
			"  Ünï cödé 😀  ", "%_\\", "base64://///w==", "9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999",
			object("a", -5, "b", "", "c", object("d", nil)), list(nil, -1), list(list("", 7))},
		{4, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
		{5, false, 0, 0, 0, 0, "-0.0", 0.0, "0.00", "0.0000", "0.0000000000", "0", "false", "base64:AA==", "1970-01-01", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000",
			object("a", 0, "b", "0", "c", object("d", "1969-12-31")), list(0), list(list("k", 0))},
		{6, true, -1, -1, -1, -1, 0.1, 1e300, "-0.01", "-0.0001", "-0.0000000001", "2024-03-31", " 12 ", "base64:MTI=", "1969-12-31", "1969-12-31T23:59:59.999999Z", "1582-10-15T00:00:00.000000",
			object("a", 100, "b", "é", "c", nil), list(5, nil, 7, 9), list(list("k", -1), list("é", 2))},
		{7, false, 7, 12, 31, 1000, 3.4028235e38, -2.5, "0.50", "0.5000", "2.5000000000", "a,b,,c", ",", "base64:LA==", "2023-12-31", "2023-12-31T23:59:59.500000Z", "2023-03-26T02:30:00.000000",
			object("a", 7, "b", "a,b", "c", object("d", "0001-01-01")), list(3, 2, 1), list(list("j", 3))},
		{8, true, 100, 365, 86400, 9007199254740993, 16777216.0, 9.5, "99.50", "1234.5678", "0.3333333333", "ABCdef", "b", "base64:QUI=", "1600-02-29", "1600-02-29T06:00:00.000000Z", "1600-02-29T06:00:00.000000",
			nil, nil, nil},
	},
}

// templates give texts of a kind; {kind} stands for another text of that kind. Every kind's first
// ones end the recursion. Literals of booleans and NULL are left out: Spark's optimizer takes them
// apart, and what would have failed beside them no longer does.
var templates = map[string][]string{
	"int": {"i32", "i32", "i8", "i16", "st.a", "l[{small}]", "m['k']", "3", "-7", "2147483647",
		"({int} + {int})", "({int} - {int})", "({int} * {int})", "-{int}", "({int} % {int})", "abs({int})", "length({str})", "year({date})", "quarter({date})", "month({date})", "day({date})",
		"dayofweek({date})", "weekday({date})", "dayofyear({date})", "weekofyear({date})", "hour({ts})", "minute({ts})", "second({ts})", "datediff({date}, {date})", "CAST({long} AS INT)", "CAST({str} AS INT)", "CAST({dbl} AS INT)",
		"CAST({dec} AS INT)", "CAST({bool} AS INT)", "if({bool}, {int}, {int})", "CASE WHEN {bool} THEN {int} WHEN {bool} THEN {int} ELSE {int} END", "CASE {small} WHEN 1 THEN {int} WHEN 2 THEN {int} END",
		"coalesce({int}, {int})", "nullif({int}, {int})", "greatest({int}, {int}, {int})", "least({int}, {int})", "nvl2({str}, {int}, {int})", "instr({str}, {str})", "size(l)", "pmod({int}, {int})", "EXTRACT(DOY FROM {date})"},
	"small": {"0", "1", "2", "i8", "-1"},
	"long": {"i64", "i64", "5000000000", "({long} + {int})", "({long} - {long})", "({long} * {int})", "({long} DIV {int})", "({long} % {long})", "CAST({int} AS BIGINT)", "CAST({str} AS BIGINT)", "floor({dbl})", "ceil({dbl})",
		"unix_micros({ts})", "unix_seconds({ts})", "CAST({ts} AS BIGINT)", "abs({long})", "coalesce({long}, {int})", "greatest({long}, {int})"},
	"dbl": {"f64", "f64", "f32", "1.5e0", "({dbl} + {num})", "({dbl} - {dbl})", "({dbl} * {dbl})", "({int} / {int})", "({dbl} / {dbl})", "({dbl} % {dbl})", "-{dbl}", "abs({dbl})", "round({dbl}, 1)", "CAST({dec} AS DOUBLE)", "CAST({str} AS DOUBLE)",
		"CAST({long} AS FLOAT)", "CAST({dbl} AS FLOAT)", "if({bool}, {dbl}, {dbl})", "greatest({dbl}, {dbl})", "least({dbl}, {dbl})", "sqrt({dbl})", "nanvl({dbl}, {dbl})"},
	"dec": {"d5", "d18", "d38", "1.5", "0.001", "({dec} + {dec})", "({dec} - {dec})", "({dec} * {dec})", "({dec} / {dec})", "({dec} % {dec})", "({dec} + {int})", "({int} * {dec})", "-{dec}", "abs({dec})", "round({dec}, 1)", "round({dec})", "floor({dec})", "ceil({dec})",
		"CAST({int} AS DECIMAL(10,2))", "CAST({dbl} AS DECIMAL(20,5))", "CAST({str} AS DECIMAL(9,3))", "CAST({dec} AS DECIMAL(12,1))", "coalesce({dec}, {dec})", "least({dec}, {dec})", "if({bool}, {dec}, {int})"},
	"num": {"{int}", "{long}", "{dbl}", "{dec}"},
	"str": {"s", "s2", "st.b", "'l'", "''", "'a%b'", "lower({str})", "upper({str})", "trim({str})", "ltrim({str})", "rtrim({str})", "trim(BOTH 'h' FROM {str})", "substr({str}, {small}, {small})", "substring({str}, {small})", "left({str}, {small})", "right({str}, {small})",
		"concat({str}, {str})", "({str} || {str})", "concat_ws('-', {str}, {str})", "replace({str}, {str}, {str})", "split_part({str}, ',', 2)", "split_part(s, 'l', {small})", "reverse({str})", "lpad({str}, {small}, 'xy')", "rpad({str}, 7, {str})", "repeat({str}, 2)",
		"CAST({int} AS STRING)", "CAST({long} AS STRING)", "CAST({dbl} AS STRING)", "CAST({dec} AS STRING)", "CAST({date} AS STRING)", "CAST({ts} AS STRING)", "CAST({ntz} AS STRING)", "CAST({bool} AS STRING)", "coalesce({str}, {str})", "nullif({str}, {str})",
		"CASE WHEN {bool} THEN {str} ELSE {str} END", "greatest({str}, {str})", "translate({str}, 'abc', 'xy')", "date_format({ts}, 'yyyy-MM-dd HH:mm:ss')", "md5({str})", "sha2({str}, 256)"},
	"bool": {"b", "{num} < {num}", "{num} = {num}", "{num} <> {num}", "{num} >= {num}", "{num} <=> {num}", "{str} = {str}", "{str} < {str}", "{str} <=> {str}", "{date} < {date}", "{ts} >= {ts}", "{ntz} = {ntz}", "{date} = {ts}", "raw = X'6162'", "raw < X'FF'",
		"{num} BETWEEN {num} AND {num}", "{int} IN ({int}, {int}, 3)", "{str} IN ('hello', {str})", "{str} NOT IN ('a', {str})", "{int} IS NULL", "{str} IS NOT NULL", "({bool}) IS TRUE", "{dbl} IS NOT NULL", "NOT ({bool})", "({bool}) AND ({bool})", "({bool}) OR ({bool})",
		"{str} LIKE '%l%'", "{str} LIKE 'h_llo'", "{str} NOT LIKE {like}", "{str} LIKE {like} ESCAPE '!'", "{str} ILIKE '%L%'", "startswith({str}, {str})", "endswith({str}, {str})", "contains({str}, {str})", "isnan({dbl})", "array_contains(l, {int})",
		"CAST({str} AS BOOLEAN)", "CAST({int} AS BOOLEAN)", "coalesce({bool}, {bool})", "if({bool}, {bool}, {bool})"},
	"like": {"'%'", "'_%'", "'%l!%%'", "'h%o'", "'%é%'", "'!_%'"},
	"date": {"d", "st.c.d", "DATE '2024-02-29'", "date_add({date}, {int})", "date_sub({date}, {small})", "add_months({date}, {small})", "last_day({date})", "trunc({date}, 'MONTH')", "trunc({date}, 'YEAR')", "to_date({str})", "CAST({ts} AS DATE)", "CAST({str} AS DATE)", "CAST({ntz} AS DATE)",
		"make_date({int}, {small}, {small})", "({date} + INTERVAL 1 MONTH)", "({date} - INTERVAL '3' DAY)", "coalesce({date}, {date})", "greatest({date}, {date})", "if({bool}, {date}, {date})"},
	"ts": {"ts", "TIMESTAMP '2024-02-29 12:00:00.5'", "date_trunc('HOUR', {ts})", "date_trunc('MONTH', {ts})", "date_trunc('WEEK', {ts})", "({ts} + INTERVAL '1 02:03:04' DAY TO SECOND)", "({ts} - INTERVAL 5 MINUTES)", "({ts} + INTERVAL 2 MONTHS)", "CAST({date} AS TIMESTAMP)",
		"CAST({str} AS TIMESTAMP)", "CAST({ntz} AS TIMESTAMP)", "timestamp_seconds({int})", "coalesce({ts}, {ts})", "CAST({int} AS TIMESTAMP)"},
	"ntz": {"ntz", "TIMESTAMP_NTZ '1999-12-31 23:59:59.999999'", "CAST({ts} AS TIMESTAMP_NTZ)", "CAST({date} AS TIMESTAMP_NTZ)", "({ntz} + INTERVAL 1 HOUR)", "coalesce({ntz}, {ntz})"},
}

// generated draws an expression.
func generated(r *rand.Rand) string {
	kinds := []string{"int", "long", "dbl", "dec", "str", "bool", "bool", "date", "ts", "ntz"}
	return fill(r, "{"+pick(r, kinds...)+"}", 1+r.IntN(3))
}

// fill replaces kinds by texts of theirs, nested at most so deep.
func fill(r *rand.Rand, text string, depth int) string {
	for {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			return text
		}
		end := open + strings.IndexByte(text[open:], '}')
		list := templates[text[open+1:end]]
		var flat []string
		for _, t := range list {
			if !strings.Contains(t, "{") {
				flat = append(flat, t)
			}
		}
		if depth <= 0 && len(flat) > 0 {
			list = flat
		}
		text = text[:open] + fill(r, pick(r, list...), depth-1) + text[end+1:]
	}
}

// TestExpressionsMeanWhatTheyMeanInSpark evaluates generated expressions on every row of the sample:
// the same type, the same values, and an error in the same rows.
func TestExpressionsMeanWhatTheyMeanInSpark(t *testing.T) {
	needEngines(t)
	spark.do(t, "views", map[string]any{"name": "sample", "source": sample})
	r := rand.New(rand.NewPCG(*historiesSeed, 7))
	c := &comparison{t: t, batch: sample.batch(t)}
	var texts []string
	for range *expressionsRun {
		texts = append(texts, generated(r))
	}
	for part := range slices.Chunk(texts, 40) {
		c.evaluate(part)
	}
	t.Logf("expressions: %d, of which %d fail in some row in both engines, and %d are refused by both; %d times idem is stricter",
		*expressionsRun, c.failed, c.refused, c.stricter)
	require.Positive(t, c.failed)
	require.Less(t, c.refused, *expressionsRun/10)
}

// batch gives all rows in one.
func (s source) batch(t *testing.T) arrow.RecordBatch {
	b := array.NewRecordBuilder(checked(t), s.schema(t))
	defer b.Release()
	for _, r := range s.Rows {
		for c, cell := range r {
			require.NoError(t, appendCell(b.Field(c), cell))
		}
	}
	batch := b.NewRecordBatch()
	t.Cleanup(batch.Release)
	return batch
}

// stricter are the errors of idem where Spark, in ANSI mode too, gives another value than the right
// one: floor and ceil of what BIGINT cannot hold, NaN and the infinities as decimals, and days added
// beyond what a date holds.
var stricter = regexp.MustCompile(`(floor|ceil)\(.*does not fit into BIGINT|(NaN|Infinity) does not fit into DECIMAL|is beyond what a DATE holds`)

type comparison struct {
	t       *testing.T
	batch   arrow.RecordBatch
	failed  int // expressions that fail in some row
	refused int // expressions that both refuse

	stricter int // rows and expressions in which idem fails on purpose
}

// evaluate compares those that idem evaluates on all rows with one question to Spark, the others one by one.
func (c *comparison) evaluate(texts []string) {
	var whole []string
	for _, text := range texts {
		if _, err := c.ours(text, c.batch); err == nil {
			whole = append(whole, text)
		}
	}
	if len(whole) > 0 {
		c.compare(whole)
	}
	for _, text := range texts {
		if !slices.Contains(whole, text) {
			c.compare([]string{text})
		}
	}
}

// compare asks Spark for all texts at once; if one fails, for halves of them, and for that one row by
// row.
func (c *comparison) compare(texts []string) {
	theirs, err := c.spark(texts, "sample")
	if err != nil {
		if len(texts) > 1 {
			c.compare(texts[:len(texts)/2])
			c.compare(texts[len(texts)/2:])
			return
		}
		c.rowByRow(texts[0], err)
		return
	}
	for i, text := range texts {
		ours, err := c.ours(text, c.batch)
		switch {
		case err == nil:
			err = inOrder(ours, theirs[i])
		case stricter.MatchString(err.Error()):
			c.stricter++
			err = nil
		}
		tally(c.t, spark, err, "%s", text)
	}
}

// inOrder says how an answer is not ours, row by row.
func inOrder(ours, theirs answer) error {
	if ours.schema[0] != theirs.schema[0] {
		return fmt.Errorf("Spark gives %s, idem %s", theirs.schema[0][1], ours.schema[0][1])
	}
	for i := range theirs.rows {
		if ours.rows[i] != theirs.rows[i] {
			return fmt.Errorf("row %d: Spark gives %s, idem %s", i+1, theirs.rows[i], ours.rows[i])
		}
	}
	return nil
}

// rowByRow compares an expression that fails in some row, or that Spark refuses.
func (c *comparison) rowByRow(text string, refusal error) {
	if strings.Contains(refusal.Error(), "AnalysisException") || strings.Contains(refusal.Error(), "ParseException") {
		_, err := c.ours(text, c.batch)
		if err == nil {
			tally(c.t, spark, fmt.Errorf("Spark refuses it: %.300w", refusal), "%s", text)
		}
		c.refused++
		return
	}
	c.failed++
	var good []string
	bad := 0
	for i := range int(c.batch.NumRows()) {
		_, err := c.oursOf(text, i, i+1)
		if err == nil {
			good = append(good, fmt.Sprint(i+1))
			continue
		}
		if !errors.Is(err, delta.ErrInput) {
			tally(c.t, spark, err, "row %d: %s", i+1, text)
			return
		}
		if bad++; bad > 3 {
			continue
		}
		if stricter.MatchString(err.Error()) {
			c.stricter++
			continue
		}
		if theirs, err := c.spark([]string{text}, fmt.Sprint("sample_", i+1)); err == nil {
			tally(c.t, spark, fmt.Errorf("idem fails, Spark gives %s", theirs[0].rows), "row %d: %s", i+1, text)
		}
	}
	c.goodRows(text, good)
}

// goodRows compares the rows in which idem does not fail.
func (c *comparison) goodRows(text string, ids []string) {
	if len(ids) == 0 {
		return
	}
	theirs, err := c.spark([]string{text}, "(SELECT * FROM sample WHERE id IN ("+strings.Join(ids, ", ")+"))")
	for i := 0; err == nil && i < len(ids); i++ {
		row, _ := strconv.Atoi(ids[i])
		ours, failed := c.oursOf(text, row-1, row)
		if err = failed; err == nil {
			err = inOrder(ours, answer{theirs[0].schema, theirs[0].rows[i : i+1]})
		}
		if err != nil {
			err = fmt.Errorf("row %d: %w", row, err)
		}
	}
	tally(c.t, spark, err, "%s", text)
}

// oursOf evaluates an expression on some rows of the sample.
func (c *comparison) oursOf(text string, from, to int) (answer, error) {
	rows := c.batch.NewSlice(int64(from), int64(to))
	defer rows.Release()
	return c.ours(text, rows)
}

// spark gives one answer a text, over the rows of a view.
func (c *comparison) spark(texts []string, view string) ([]answer, error) {
	var list strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&list, ", %s AS c%d", text, i)
	}
	var reply struct {
		Schema []column
		Rows   [][]any
	}
	sql := "SELECT id" + list.String() + " FROM " + view
	if err := theRun.server.ask(spark, "sql", map[string]any{"sql": sql}, &reply); err != nil {
		return nil, err
	}
	out := make([]answer, len(texts))
	for i := range out {
		out[i].schema = []column{{"c", reply.Schema[i+1][1]}}
		for _, r := range reply.Rows {
			text, err := encode(respell(map[string]any{"c": r[i+1]}))
			if err != nil {
				return nil, err
			}
			out[i].rows = append(out[i].rows, string(text))
		}
	}
	return out, nil
}

// ours evaluates an expression; the answer has one column.
func (c *comparison) ours(text string, batch arrow.RecordBatch) (answer, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return answer{}, err
	}
	v, err := pred.BindValue(e, batch.Schema())
	if err != nil {
		return answer{}, err
	}
	values, err := v.Eval(checked(c.t), batch)
	if err != nil {
		return answer{}, err
	}
	defer values.Release()
	typ, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "c", Type: v.Type(), Nullable: true}}, nil))
	if err != nil {
		return answer{}, err
	}
	a := answer{schema: []column{{"c", typeName(fmt.Sprint(typ.Fields[0].Type))}}}
	one := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: values.DataType(), Nullable: true}}, nil), []arrow.Array{values}, batch.NumRows())
	defer one.Release()
	for i := range values.Len() {
		text, err := conformance.AppendRow(nil, one, i)
		if err != nil {
			return answer{}, err
		}
		line, err := canonical(text)
		if err != nil {
			return answer{}, err
		}
		a.rows = append(a.rows, line)
	}
	return a, nil
}

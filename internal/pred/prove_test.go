package pred_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

func prove(t *testing.T, schema *arrow.Schema, text string, f pred.Facts) pred.Verdict {
	t.Helper()
	e, err := expr.Parse(text)
	require.NoError(t, err, text)
	p, err := pred.Bind(e, schema)
	require.NoError(t, err, text)
	return p.Prove(f)
}

const (
	across  = pred.Across
	outside = pred.Outside
	inside  = pred.Inside
)

func TestProve(t *testing.T) {
	long := func(v int64) scalar.Scalar { return scalar.NewInt64Scalar(v) }
	double := func(v float64) scalar.Scalar { return scalar.NewFloat64Scalar(v) }
	text := scalar.NewStringScalar
	facts := pred.Facts{Rows: 10, Columns: map[string]pred.ColumnFacts{
		"i64":  {Min: long(5), Max: long(9)},
		"i32":  {Min: scalar.NewInt32Scalar(5), Max: scalar.NewInt32Scalar(9), Nulls: 2},
		"i16":  {Nulls: 10},
		"i8":   {Min: double(5), Max: double(5), Nulls: 99}, // of another type, more NULLs than rows
		"f64":  {Min: double(1), Max: double(2)},
		"f32":  {Min: scalar.NewFloat32Scalar(1), Max: scalar.NewFloat32Scalar(1), Exact: true},
		"s":    {Min: text("b"), Max: text("d\U0010ffff")},
		"bo":   {AllNull: true},
		"dec":  {Min: scalar.NewDecimal128Scalar(mustDecimal("1.10"), decSmall), Max: scalar.NewDecimal128Scalar(mustDecimal("1.20"), decSmall)},
		"d":    {Min: scalar.NewDate32Scalar(10), Max: scalar.NewDate32Scalar(10), Exact: true},
		"ts":   {Min: scalar.NewTimestampScalar(10*86400e6, tsType), Max: scalar.NewTimestampScalar(11*86400e6-1, tsType)},
		"st.x": {Min: scalar.NewInt32Scalar(1), Max: scalar.NewInt32Scalar(2)},
		"big":  {Min: scalar.NewDecimal128Scalar(mustDecimal("9"), decLarge), Max: scalar.NewDecimal128Scalar(mustDecimal("1"), decLarge)},
	}}
	for _, c := range []struct {
		text string
		want pred.Verdict
		why  string
	}{
		{"i64 = 4", outside, "below the bounds"},
		{"i64 = 5", across, "a bound need not be a value"},
		{"i64 >= 5", inside, "all, and none is NULL"},
		{"i64 > 9", outside, "above"},
		{"i64 > 8.5", across, "9 may be there"},
		{"i64 > 9.5D", outside, "a double above"},
		{"i64 BETWEEN 5 AND 9", inside, "both ends"},
		{"i64 NOT BETWEEN 5 AND 9", outside, "its negation"},
		{"NOT i64 >= 5", outside, "negation is pushed to the leaf"},
		{"NOT i64 = 5", across, "never by negating a proof"},
		{"i64 <> 4", inside, "all differ"},
		{"i64 IN (1, 2, 20)", outside, "no member is within"},
		{"i64 NOT IN (1, 2, 20)", inside, "and all rows differ"},
		{"i64 NOT IN (1, NULL)", outside, "NOT IN with NULL is never TRUE"},
		{"i64 IN (1, NULL)", outside, "never TRUE: FALSE or NULL"},
		{"i64 IS NULL", outside, "no NULL"},
		{"i64 IS NOT NULL", inside, "no NULL"},
		{"i64 <=> NULL", outside, "no NULL"},
		{"i64 = NULL", outside, "always NULL"},
		{"i32 >= 5", across, "the NULLs are not TRUE"},
		{"i32 >= 5 OR i32 IS NULL", across, "no fact joins the two parts"},
		{"i32 < 5", outside, "NULL is not TRUE either"},
		{"NOT i32 >= 5", outside, "NOT NULL is NULL"},
		{"(i32 >= 5) IS NOT FALSE", inside, "NULL is not FALSE"},
		{"i32 <=> 4", outside, "no NULL equals a value"},
		{"NOT i32 <=> 4", inside, "and the answer is never NULL"},
		{"i16 = 1", outside, "all NULL"},
		{"i16 IS NULL", inside, "all NULL"},
		{"i16 <> 1", outside, "NULL differs from nothing"},
		{"i16 <=> NULL", inside, "all NULL"},
		{"i8 = 7", across, "bounds of another type are none"},
		{"i8 IS NULL", across, "nor counts beyond the rows"},
		{"f64 > 2", across, "NaN may hide above"},
		{"f64 < 1", outside, "nothing is below the least"},
		{"f64 < 3", across, "NaN is not less"},
		{"f64 <= 3", across, "NaN is not less"},
		{"f64 >= 1", inside, "NaN is greater too"},
		{"f64 = 3", across, "nothing is proven above"},
		{"f64 = 0", outside, "but below"},
		{"f32 > 1", outside, "a partition value is exact"},
		{"f32 < 3", inside, "a partition value is exact"},
		{"s = 'd'", across, "within"},
		{"s > 'e'", outside, "above a max that was cut"},
		{"s < 'd'", across, "a max that was cut is no value"},
		{"s < 'e'", inside, "but bounds"},
		{"s = 'a'", outside, "below"},
		{"s >= ''", inside, "no NULL"},
		{"bo", outside, "all NULL"},
		{"NOT bo", outside, "all NULL"},
		{"bo IS NULL", inside, "all NULL"},
		{"bo IS NOT TRUE", inside, "all NULL"},
		{"dec = 1.3", outside, "above"},
		{"dec = 1.15D", across, "within"},
		{"dec BETWEEN 1.1 AND 1.200", inside, "other scales"},
		{"dec > 1.2D", outside, "as doubles"},
		{"d = DATE '1970-01-11'", inside, "a partition value"},
		{"d = '1970-01-12'", outside, "a partition value"},
		{"d > TIMESTAMP '1970-01-11 00:00:01'", outside, "its midnight"},
		{"CAST(ts AS DATE) = '1970-01-11'", inside, "all on that day"},
		{"CAST(ts AS DATE) <> d", outside, "the same day as the partition"},
		{"CAST(ts AS DATE) = d", inside, "the same day as the partition"},
		{"i64 > i32", across, "the bounds overlap, there are NULLs"},
		{"i64 = i64", across, "columns are not tracked by row"},
		{"st.x < 3", inside, "a field"},
		{"big = 5", across, "bounds in the wrong order are none"},
		{"ntz IS NULL", across, "nothing is known"},
		{"i64 = 4 AND ntz IS NULL", outside, "one part decides AND"},
		{"i64 > 4 OR ntz IS NULL", inside, "one part decides OR"},
		{"1 = 1", inside, "constants"},
		{"1 = 2", outside, "constants"},
		{"(i64 > 4) = (i64 > 9)", outside, "TRUE and FALSE"},
	} {
		require.Equal(t, c.want, prove(t, tableSchema, c.text, facts), "%s: %s", c.text, c.why)
	}
	require.Equal(t, outside, prove(t, tableSchema, "i64 > 4", pred.Facts{Rows: 0}), "a file without rows")
	require.Equal(t, across, prove(t, tableSchema, "i64 > 4", pred.Facts{Rows: -1}), "nothing is known")
}

func TestProveOfComputedOperands(t *testing.T) {
	text := scalar.NewStringScalar
	int32s := scalar.NewInt32Scalar
	facts := pred.Facts{Rows: 10, Columns: map[string]pred.ColumnFacts{
		"i64":  {Min: scalar.NewInt64Scalar(5), Max: scalar.NewInt64Scalar(9)},
		"i32":  {Min: int32s(7), Max: int32s(7)},
		"i16":  {Nulls: 10},
		"i8":   {Min: scalar.NewInt8Scalar(7), Max: scalar.NewInt8Scalar(7), Nulls: 1},
		"s":    {Min: text("b"), Max: text("d\U0010ffff")},
		"st.s": {Min: text("ab"), Max: text("ab"), Nulls: 1},
		"bo":   {AllNull: true},
		"d":    {Min: scalar.NewDate32Scalar(10), Max: scalar.NewDate32Scalar(10), Exact: true},
		"f64":  {Min: scalar.NewFloat64Scalar(1), Max: scalar.NewFloat64Scalar(1)},
		"ts":   {Min: scalar.NewTimestampScalar(5, tsType), Max: scalar.NewTimestampScalar(5, tsType)},
		"dec":  {Min: scalar.NewDecimal128Scalar(mustDecimal("1.10"), decSmall), Max: scalar.NewDecimal128Scalar(mustDecimal("1.10"), decSmall)},
		"big":  {Min: scalar.NewDecimal128Scalar(mustDecimal("9"), decLarge), Max: scalar.NewDecimal128Scalar(mustDecimal("9"), decLarge)},
	}}
	const unknown = "coalesce(ntz, ntz) IS NULL"
	for _, c := range []struct {
		text string
		want pred.Verdict
		why  string
	}{
		{"coalesce(d, d) = '1970-01-11'", inside, "of a partition value"},
		{"CASE WHEN d = '1970-01-11' THEN 'a' ELSE 'b' END = 'b'", outside, "of a partition value"},
		{"coalesce(bo, true)", inside, "of a partition value that is NULL"},
		{"coalesce(bo, bo) IS NULL", inside, "of a partition value that is NULL"},
		{"coalesce(i16, 1S) = 1", inside, "all NULL is one value"},
		{"coalesce(i32, 1) = 7", inside, "the least value is the greatest, and no NULL"},
		{"coalesce(i8, 7Y) = 7", across, "there are NULLs"},
		{"coalesce(i64, 1L) > 0", across, "many values"},
		{"coalesce(f64, 1D) = 1", across, "NaN may hide above"},
		{"coalesce(ts, ts) = ts", across, "statistics of timestamps are cut"},
		{"coalesce(s, 'b') = s", across, "statistics of strings are cut"},
		{"coalesce(dec, dec) = 1.1", inside, "a decimal that a double holds"},
		{"coalesce(big, big) = 9", across, "a decimal that a double does not hold"},
		{"coalesce(st.x, 1) = 1", across, "fields are not looked up"},
		{"i64 + 1 > 5", inside, "a sum rises with what is added to"},
		{"1 + i64 < 6", outside, "on either side"},
		{"i64 - 5 >= 0", inside, "a difference, too"},
		{"5 - i64 <= 0", across, "but not with what is taken away"},
		{"i64 + i64 > 0", across, "one column only"},
		{"i64 + 9223372036854775807 > 0", across, "which fails at a bound"},
		{"CAST(i64 AS TINYINT) < 10", inside, "a CAST rises"},
		{"CAST(i64 AS STRING) > '4'", across, "but not to a string"},
		{"year(ts) = 1970", inside, "years rise"},
		{"year(CAST(ts AS DATE)) > 1970", outside, "functions of functions"},
		{"date_trunc('DAY', ts) = TIMESTAMP '1970-01-01 00:00:00'", inside, "days rise"},
		{"i64 + CAST(NULL AS BIGINT) IS NOT NULL", across, "which is NULL at a bound"},
		{"month(ts) = 1", across, "months do not"},
		{"round(dec) = 1", inside, "roundings rise"},
		{"coalesce(i64, i64) + 1 > 5", across, "what is chosen is not followed"},
		{"i8 + 1 > 7", across, "there are NULLs"},
		{"i8 + 1 < 7", outside, "there are NULLs"},
		{unknown, across, "unknown"},
		{unknown + " AND i64 = 4", outside, "one part decides AND"},
		{"i64 = 4 AND " + unknown, outside, "one part decides AND"},
		{"(" + unknown + " OR i64 = 4) AND i64 = 3", outside, "one part decides AND"},
		{"(" + unknown + " AND i64 = 4) OR i64 = 3", outside, "no part of OR is left"},
		{"(" + unknown + " AND i64 = 4) OR i64 = 5", across, "a part of OR is left"},
		{"(" + unknown + " AND i64 = 4) IS FALSE", across, "the unknown part could fail"},
		{"(i64 = 4 AND " + unknown + ") IS FALSE", inside, "it is not reached"},
		{"i64 > 4 OR " + unknown, inside, "it is not reached"},
		{unknown + " OR i64 > 4", across, "it could fail"},
		{"NOT (" + unknown + " AND i64 = 4)", across, "it could fail"},
		{"NOT (i64 = 4 AND " + unknown + ")", inside, "it is not reached"},
		{"(i64 = 4) = (" + unknown + ")", across, "it could fail"},
		{"s LIKE 'a%'", outside, "a prefix is a range"},
		{"s LIKE 'c%'", across, "a prefix is a range"},
		{"s NOT LIKE 'a%'", inside, "negated"},
		{"s LIKE 'a%x_'", outside, "a pattern that begins with a text"},
		{"s NOT LIKE 'a%x_'", inside, "nothing begins so"},
		{"s LIKE 'a'", outside, "a text"},
		{"s LIKE '%'", inside, "any text, and no NULL"},
		{"s LIKE '%a'", across, "nothing is known"},
		{"st.s LIKE 'b%'", outside, "of a field"},
		{"s ILIKE 'A%'", across, "of no case"},
	} {
		if strings.Contains(c.text, "ILIKE") {
			continue
		}
		require.Equal(t, c.want, prove(t, tableSchema, c.text, facts), "%s: %s", c.text, c.why)
	}
}

func TestFileFacts(t *testing.T) {
	schema := &delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true},
		{Name: "p", Type: delta.Timestamp, Nullable: true},
		{Name: "a.b", Type: delta.Long, Nullable: true},
		{Name: "a", Nullable: true, Type: &delta.Struct{Fields: []delta.Field{{Name: "b", Type: delta.Long, Nullable: true}}}},
	}}
	arrowSchema, err := delta.ArrowSchema(schema)
	require.NoError(t, err)
	verdict := func(text, partition, stats string) pred.Verdict {
		add := &delta.Add{Path: "f", PartitionValues: map[string]*string{"p": &partition}, Size: 1}
		snap, err := snapshotOf(schema, "p", add, nil)
		require.NoError(t, err)
		f, err := pred.FileFacts(snap, add, stats)
		require.NoError(t, err)
		return prove(t, arrowSchema, text, f)
	}
	const zoned, bare = "2024-01-01T00:00:00.000000Z", "2024-01-01 00:00:00"
	stats := `{"numRecords":4,"minValues":{"id":1,"a":{"b":5},"a.b":50},"maxValues":{"id":3,"a":{"b":6},"a.b":60},"nullCount":{"id":0,"a":{"b":1},"a.b":0}}`
	for _, c := range []struct {
		text, partition, stats string
		want                   pred.Verdict
		why                    string
	}{
		{"p = '2024-01-01'", zoned, "", inside, "a partition needs no statistics"},
		{"p > '2024-01-01'", zoned, "", outside, "a partition needs no statistics"},
		{"p = '2024-01-01'", bare, "", across, "a partition value without a zone bounds nothing"},
		{"p < '2024-06-01'", bare, "", across, "a partition value without a zone bounds nothing"},
		{"p IS NULL", bare, "", outside, "but it is a value"},
		{"p IS NULL", "", "", inside, "an empty partition value is NULL"},
		{"id > 3", zoned, stats, outside, "statistics"},
		{"id > 0", zoned, stats, inside, "statistics"},
		{"a.b > 6", zoned, stats, outside, "of a field"},
		{"a.b > 4", zoned, stats, across, "of a field with NULLs"},
		{"`a.b` > 4", zoned, stats, inside, "of a column with a dot in its name"},
		{"id > 3", zoned, "", across, "no statistics"},
		{"id > 3", zoned, "{broken", across, "bad statistics are none"},
		{"id > 3", zoned, `{"maxValues":{"id":"3"}}`, across, "bounds of another type are none"},
		{"id > 0", zoned, `{"minValues":{"id":1}}`, across, "NULLs are unknown"},
		{"id IS NULL", zoned, `{"numRecords":4,"nullCount":{"id":4}}`, inside, "all NULL"},
		{"id IS NOT NULL", zoned, `{"numRecords":4,"tightBounds":false,"nullCount":{"id":3}}`, across, "loose counts say little"},
		{"id = 9", zoned, `{"numRecords":0}`, outside, "no rows"},
	} {
		require.Equal(t, c.want, verdict(c.text, c.partition, c.stats), "%s of %q %s: %s", c.text, c.partition, c.stats, c.why)
	}

	bad := "tomorrow"
	add := &delta.Add{Path: "f", PartitionValues: map[string]*string{"p": &bad}}
	snap, err := snapshotOf(schema, "p", add, nil)
	require.NoError(t, err)
	_, err = pred.FileFacts(snap, add, "")
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, `file f: column "p"`)
}

func TestFileFactsUsePhysicalNames(t *testing.T) {
	physical := func(name string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"delta.columnMapping.physicalName": json.RawMessage(`"` + name + `"`), "delta.columnMapping.id": json.RawMessage("1")}
	}
	schema := &delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true, Metadata: physical("c1")},
	}}
	arrowSchema, err := delta.ArrowSchema(schema)
	require.NoError(t, err)
	add := &delta.Add{Path: "f"}
	snap, err := snapshotOf(schema, "", add, map[string]string{"delta.columnMapping.mode": "name"})
	require.NoError(t, err)
	f, err := pred.FileFacts(snap, add, `{"numRecords":1,"minValues":{"c1":1,"id":9},"maxValues":{"c1":1,"id":9},"nullCount":{"c1":0,"id":0}}`)
	require.NoError(t, err)
	require.Equal(t, inside, prove(t, arrowSchema, "id = 1", f))
}

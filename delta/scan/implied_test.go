package scan

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// generatedBy is a table of a column x, and of a partition column g generated of it.
func generatedBy(t require.TestingT, base, made delta.Type, text string) *delta.Snapshot {
	raw, err := json.Marshal(text)
	require.NoError(t, err)
	schema := &delta.Struct{Fields: []delta.Field{
		{Name: "x", Type: base, Nullable: true}, {Name: "other", Type: delta.Long, Nullable: true},
		{Name: "g", Type: made, Nullable: true, Metadata: map[string]json.RawMessage{delta.GenerationKey: raw}},
	}}
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"timestampNtz"}, WriterFeatures: []string{"timestampNtz", "generatedColumns"}}},
		{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: schema.JSON(), PartitionColumns: []string{"g"}}},
	}))
	s, err := r.Snapshot(0)
	require.NoError(t, err)
	return s
}

func TestImplied(t *testing.T) {
	for _, c := range []struct {
		why        string
		base, made delta.Type
		text       string
		where      string
		want       string // "" is nothing
	}{
		{"a bound of a time", delta.TimestampNTZ, delta.Date, "cast(x as date)", "x >= TIMESTAMP_NTZ '2020-05-05 10:00:00'", "`g` >= DATE '2020-05-05' OR `g` IS NULL"},
		{"beyond it, too", delta.TimestampNTZ, delta.Date, "cast(x as date)", "x > TIMESTAMP_NTZ '2020-05-05 10:00:00'", "`g` >= DATE '2020-05-05' OR `g` IS NULL"},
		{"the constant first", delta.Date, delta.Integer, "year(x)", "DATE '2020-05-05' > x", "`g` <= 2020 OR `g` IS NULL"},
		{"a text of a date", delta.Date, delta.Integer, "year(x)", "x <= '2020-05-05'", "`g` <= 2020 OR `g` IS NULL"},
		{"a time is of a day in some zone", delta.Timestamp, delta.Date, "cast(x as date)", "x <= TIMESTAMP '2020-05-05 10:00:00Z'", "`g` <= DATE '2020-05-06' OR `g` IS NULL"},
		{"equality of a time is a range", delta.Timestamp, delta.Date, "cast(x as date)", "x = TIMESTAMP '2020-05-05 10:00:00Z'", "(`g` >= DATE '2020-05-04' OR `g` IS NULL) AND (`g` <= DATE '2020-05-06' OR `g` IS NULL)"},
		{"equality of a value, by any function", delta.Long, delta.Long, "x % 10", "x = 47", "`g` <=> 7L"},
		{"of several", delta.Long, delta.Long, "x % 10", "x IN (47, 8)", "`g` <=> 7L OR `g` <=> 8L"},
		{"of a text", delta.String, delta.String, "substring(x, 1, 2)", "x = 'abc'", "`g` <=> 'ab'"},
		{"NULL", delta.String, delta.String, "coalesce(x, 'none')", "x IS NULL", "`g` <=> 'none'"},
		{"a text that rises", delta.Date, delta.String, "date_format(x, 'yyyy-MM')", "x < DATE '2020-05-05'", "`g` <= '2020-05' OR `g` IS NULL"},
		{"as long as years have four digits", delta.Date, delta.String, "date_format(x, 'yyyy-MM')", "x > DATE '2020-05-05'", "`g` >= '2020-05' OR `g` IS NULL OR `g` < '0'"},
		{"one of several conditions", delta.Long, delta.Long, "x % 10", "other > 3 AND x = 47", "`g` <=> 7L"},
		{"any of several", delta.Long, delta.Long, "x % 10", "x = 1 OR x = 2", "`g` <=> 1L OR `g` <=> 2L"},
		{"one of which says nothing", delta.Long, delta.Long, "x % 10", "x = 1 OR other = 2", ""},
		{"a bound, of a function that does not rise", delta.Long, delta.Long, "x % 10", "x < 47", ""},
		{"a number that another engine may have wrapped", delta.Long, delta.Integer, "cast(x as int)", "x < 47", ""},
		{"a denial", delta.Long, delta.Long, "x % 10", "NOT (x = 47)", ""},
		{"another column", delta.Long, delta.Long, "x % 10", "other = 47", ""},
		{"a layout that does not rise", delta.Date, delta.String, "date_format(x, 'MM-yyyy')", "x < DATE '2020-05-05'", ""},
		{"but is equal where days are", delta.Date, delta.String, "date_format(x, 'MM-yyyy')", "x = DATE '2020-05-05'", "`g` <=> '05-2020'"},
		{"doubles have two zeros", delta.Double, delta.String, "cast(x as string)", "x = 0.0", ""},
		{"of two columns", delta.Long, delta.Long, "x + other", "x = 1", ""},
		{"of none", delta.Long, delta.Long, "1L", "x = 1", ""},
		{"a function that idem lacks", delta.Long, delta.Long, "st_point(x)", "x = 1", ""},
		{"a value that has none", delta.Long, delta.Long, "1L div x", "x = 0", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			where, err := expr.Parse(c.where)
			require.NoError(t, err)
			p := implied(generatedBy(t, c.base, c.made, c.text), where)
			if c.want == "" {
				require.Nil(t, p)
				return
			}
			require.NotNil(t, p)
			want, err := expr.Parse(c.want)
			require.NoError(t, err)
			require.Equal(t, want.String(), p.String())
		})
	}
}

// TestImpliedHoldsForEveryRow: a file is left out only if none of its rows satisfies the condition, in
// whatever time zone its writer was.
func TestImpliedHoldsForEveryRow(t *testing.T) {
	kinds := []struct {
		base  delta.Type
		made  delta.Type
		texts []string
		cast  string
	}{
		{delta.Timestamp, delta.Date, []string{"cast(x as date)", "to_date(x)", "last_day(x)", "trunc(x, 'MM')"}, "TIMESTAMP '%sZ'"},
		{delta.Timestamp, delta.Integer, []string{"year(x)"}, "TIMESTAMP '%sZ'"},
		{delta.Timestamp, delta.Timestamp, []string{"date_trunc('HOUR', x)", "date_trunc('month', x)"}, "TIMESTAMP '%sZ'"},
		{delta.Timestamp, delta.String, []string{"date_format(x, 'yyyy-MM-dd-HH')", "date_format(x, 'yyyy-MM')"}, "'%s'"},
		{delta.TimestampNTZ, delta.Date, []string{"cast(x as date)", "trunc(x, 'YEAR')", "date_add(cast(x as date), 3)"}, "TIMESTAMP_NTZ '%s'"},
		{delta.TimestampNTZ, delta.Integer, []string{"month(x)", "hour(x)"}, "TIMESTAMP_NTZ '%s'"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(rt, "kind")
		snap := generatedBy(rt, k.base, k.made, rapid.SampledFrom(k.texts).Draw(rt, "text"))
		where := drawWhere(rt, k.cast, 2)
		tree, err := expr.Parse(where)
		require.NoError(rt, err, where)
		said := implied(snap, tree)
		if said == nil {
			return
		}
		bound, err := pred.Bind(tree, snap.ArrowSchema())
		require.NoError(rt, err, where)
		for range 20 {
			x := arrow.Timestamp(drawTime(rt).UnixMicro())
			if !holds(rt, snap, bound, &x) {
				continue
			}
			local := x
			if k.base == delta.Timestamp {
				local += arrow.Timestamp(rapid.Int64Range(-14*60, 14*60).Draw(rt, "zone") * 60_000_000)
			}
			facts := pred.Facts{Rows: 1, Columns: map[string]pred.ColumnFacts{"g": exactly(made(rt, snap, local))}}
			require.NotEqual(rt, pred.Outside, said.Prove(facts), "%s: %s is lost by %s", where, time.UnixMicro(int64(x)).UTC(), said)
		}
	})
}

// drawTime is near the edges of days, months and years, or of the range of years with four digits.
func drawTime(rt *rapid.T) time.Time {
	year := rapid.SampledFrom([]int{2020, 2021, 2020, 2021, 9999, 10001, -1, 1}).Draw(rt, "year")
	at := time.Date(year, time.Month(rapid.SampledFrom([]int{1, 2, 3, 12}).Draw(rt, "month")), rapid.SampledFrom([]int{1, 2, 28, 31}).Draw(rt, "day"), 0, 0, 0, 0, time.UTC)
	return at.Add(time.Duration(rapid.Int64Range(-90, 90).Draw(rt, "minutes")) * time.Minute)
}

func drawWhere(rt *rapid.T, cast string, depth int) string {
	constant := func() string {
		at := drawTime(rt)
		if at.Year() < 1 || at.Year() > 9999 {
			at = time.Date(2020, 12, 31, 23, 30, 0, 0, time.UTC)
		}
		return fmt.Sprintf(cast, at.Format("2006-01-02 15:04:05"))
	}
	op := func() string { return rapid.SampledFrom([]string{"<", "<=", ">", ">=", "=", "<=>"}).Draw(rt, "op") }
	switch rapid.IntRange(0, 5+depth).Draw(rt, "form") {
	case 0, 1:
		return "x " + op() + " " + constant()
	case 2:
		return constant() + " " + op() + " x"
	case 3:
		return "x BETWEEN " + constant() + " AND " + constant()
	case 4:
		return "x IN (" + constant() + ", " + constant() + ")"
	case 5:
		return "x IS NULL"
	}
	word := rapid.SampledFrom([]string{" AND ", " OR "}).Draw(rt, "word")
	return "(" + drawWhere(rt, cast, depth-1) + word + drawWhere(rt, cast, depth-1) + ")"
}

// row is one row of a table in which x has a value.
func row(rt *rapid.T, snap *delta.Snapshot, x arrow.Timestamp) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, snap.ArrowSchema())
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).Append(x)
	b.Field(1).AppendNull()
	b.Field(2).AppendNull()
	return b.NewRecordBatch()
}

func holds(rt *rapid.T, snap *delta.Snapshot, where *pred.Predicate, x *arrow.Timestamp) bool {
	batch := row(rt, snap, *x)
	defer batch.Release()
	mask, err := where.Eval(memory.DefaultAllocator, batch)
	require.NoError(rt, err)
	defer mask.Release()
	return mask.IsValid(0) && mask.Value(0)
}

func made(rt *rapid.T, snap *delta.Snapshot, x arrow.Timestamp) scalar.Scalar {
	text, _, err := snap.Generation(2)
	require.NoError(rt, err)
	tree, err := expr.Parse(text)
	require.NoError(rt, err)
	v, err := pred.BindValueAs(tree, snap.ArrowSchema(), snap.ArrowSchema().Field(2).Type)
	require.NoError(rt, err)
	batch := row(rt, snap, x)
	defer batch.Release()
	s, ok := only(v, batch)
	require.True(rt, ok)
	return s
}

func exactly(s scalar.Scalar) pred.ColumnFacts {
	if !s.IsValid() {
		return pred.ColumnFacts{Nulls: 1, AllNull: true}
	}
	return pred.ColumnFacts{Min: s, Max: s, Exact: true}
}

// TestPruneByGeneratedColumns: files are left out by the partition that the condition implies.
func TestPruneByGeneratedColumns(t *testing.T) {
	r := delta.NewReplay("mem:///")
	schema := generatedBy(t, delta.Timestamp, delta.Date, "cast(x as date)")
	actions := []delta.Action{{Protocol: schema.Protocol()}, {Metadata: schema.Metadata()}}
	for _, day := range []string{"2020-05-03", "2020-05-04", "2020-05-05", "2020-05-06", "2020-05-07", ""} {
		add := &delta.Add{Path: "g=" + day, Key: "g=" + day, PartitionValues: map[string]*string{"g": nil}, DataChange: true}
		if day != "" {
			add.PartitionValues["g"] = &day
		}
		actions = append(actions, delta.Action{Add: add})
	}
	require.NoError(t, r.Commit(0, actions))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	for where, want := range map[string]int{
		"x >= TIMESTAMP '2020-05-06 00:00:00Z'": 2, // the day before may be that day in another zone
		"x = TIMESTAMP '2020-05-05 12:00:00Z'":  2, // and the next one
		"x IS NOT NULL":                         0,
	} {
		tree, err := expr.Parse(where)
		require.NoError(t, err)
		pruned, err := Prune(t.Context(), Table{Snapshot: snap}, tree)
		require.NoError(t, err)
		require.Equal(t, want, pruned.Outside, where)
		require.Len(t, pruned.Across, 6-want, "the file without a day is always looked at")
	}
}

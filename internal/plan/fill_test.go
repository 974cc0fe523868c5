package plan_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

// makes supports what gives columns values, and nothing else.
var makes = &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"generatedColumns", "identityColumns", "allowColumnDefaults"}}

func ruled(f delta.Field, key, text string) delta.Field {
	raw, _ := json.Marshal(text)
	f.Metadata = map[string]json.RawMessage{key: raw}
	return f
}

func numbered(name string, id delta.Identity) delta.Field {
	return delta.Field{Name: name, Type: delta.Long, Nullable: true, Metadata: id.Metadata()}
}

// fill conforms rows, which have the schema given, and fills them.
func fill(t testing.TB, mem memory.Allocator, snap *delta.Snapshot, given *arrow.Schema, text string) ([]string, plan.Fill, error) {
	t.Helper()
	input := fromRows(t, mem, given, text)
	defer input.Release()
	typed, _, err := plan.Conform(mem, snap, input)
	require.NoError(t, err)
	defer typed.Release()
	var names []string
	for _, f := range given.Fields() {
		names = append(names, f.Name)
	}
	f, err := plan.NewFill(newEnv(nil, mem), snap, names)
	if err != nil {
		return nil, f, err
	}
	out, err := f.Batch(mem, typed, 100)
	if err != nil {
		return nil, f, err
	}
	defer out.Release()
	return textRows(t, out), f, nil
}

func int32s(names ...string) *arrow.Schema {
	var fields []arrow.Field
	for _, n := range names {
		fields = append(fields, arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

func TestFillDefaults(t *testing.T) {
	for _, c := range []struct {
		why, text string
		t         delta.Type
		want      string
		volatile  bool
	}{
		{"a number", "42", delta.Integer, `42`, false},
		{"a number of another width", "42", delta.Short, `42`, false},
		{"an expression of constants", "concat('de', 'fault')", delta.String, `"default"`, false},
		{"a date", "date'2020-02-02'", delta.Date, `"2020-02-02"`, false},
		{"a decimal, in the scale of the column", "1.5", delta.Decimal{Precision: 6, Scale: 2}, `"1.5"`, false},
		{"a text of a number, as Spark takes it", "'12'", delta.Integer, `12`, false},
		{"a number for a text", "5", delta.String, `"5"`, false},
		{"a text of a date", "'2020-01-01'", delta.Date, `"2020-01-01"`, false},
		{"NULL", "NULL", delta.String, `null`, false},
		{"an array", "array(1, 2)", &delta.Array{Element: delta.Integer, ContainsNull: true}, "", false},
		{"the time of the call", "current_timestamp()", delta.Timestamp, `"2023-11-14T22:13:20.123Z"`, true},
		{"its day", "current_date()", delta.Date, `"2023-11-14"`, true},
		{"a word for it", "CURRENT_TIMESTAMP", delta.Timestamp, `"2023-11-14T22:13:20.123Z"`, true},
		{"the same without a zone", "localtimestamp()", delta.TimestampNTZ, `"2023-11-14T22:13:20.123"`, true},
		{"computed of it", "year(now())", delta.Integer, `2023`, true},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := snapshotWith(t, makes, []delta.Field{nullable("i", delta.Integer), ruled(nullable("d", c.t), delta.DefaultKey, c.text)}, nil, nil)
			rows, f, err := fill(t, checked(t), snap, int32s("i"), `[{"i": 1}, {"i": 2}]`)
			if c.want == "" {
				require.ErrorIs(t, err, delta.ErrUnsupported, "a function that idem lacks")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{`{"d":` + c.want + `,"i":1}`, `{"d":` + c.want + `,"i":2}`}, rows)
			require.Equal(t, c.volatile, len(f.Volatile()) > 0)
			require.Empty(t, f.Mark())
		})
	}
}

func TestFillDefaultsOnlyWhatIsLacking(t *testing.T) {
	mem := checked(t)
	snap := snapshotWith(t, makes, []delta.Field{
		ruled(required("n", delta.Integer), delta.DefaultKey, "3"), ruled(nullable("d", delta.Integer), delta.DefaultKey, "7"),
	}, nil, nil)
	rows, _, err := fill(t, mem, snap, int32s("d"), `[{"d": null}, {"d": 1}]`)
	require.NoError(t, err)
	require.Equal(t, []string{`{"d":null,"n":3}`, `{"d":1,"n":3}`}, rows, "a NULL that is given stays; a NOT NULL column with a default may lack")

	inert := snapshotWith(t, &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, snap.Schema().Fields[1:], nil, nil)
	input := fromRows(t, mem, int32s(), `[]`)
	defer input.Release()
	typed, missing, err := plan.Conform(mem, inert, input)
	require.NoError(t, err)
	typed.Release()
	require.Equal(t, []string{"d"}, missing)
	f, err := plan.NewFill(newEnv(nil, mem), inert, nil)
	require.NoError(t, err)
	one := fromRows(t, mem, inert.ArrowSchema(), `[{"d": null}]`)
	defer one.Release()
	out, err := f.Batch(mem, one, 0)
	require.NoError(t, err)
	defer out.Release()
	require.Equal(t, []string{`{"d":null}`}, textRows(t, out), "without the feature a default is a note")
}

func TestFillRefusesDefaults(t *testing.T) {
	for _, c := range []struct{ why, text string }{
		{"it changes from row to row", "uuid()"},
		{"it names a column", "i + 1"},
		{"nobody can read it", "1 +"},
		{"it has another kind of value", "'abc'"},
		{"it has no value", "1 / 0"},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := snapshotWith(t, makes, []delta.Field{nullable("i", delta.Integer), ruled(nullable("d", delta.Integer), delta.DefaultKey, c.text)}, nil, nil)
			_, _, err := fill(t, checked(t), snap, int32s("i"), `[{"i": 1}]`)
			require.ErrorIs(t, err, delta.ErrUnsupported)
			require.ErrorContains(t, err, `"d"`)
			require.ErrorContains(t, err, c.text)
			rows, _, err := fill(t, checked(t), snap, int32s("i", "d"), `[{"i": 1, "d": 5}]`)
			require.NoError(t, err, "rows that have the column need no default")
			require.Equal(t, []string{`{"d":5,"i":1}`}, rows)
		})
	}
}

func generatedTable(t testing.TB) *delta.Snapshot {
	return snapshotWith(t, makes, []delta.Field{
		ruled(nullable("d", delta.Date), delta.GenerationKey, "cast(ts as date)"),
		nullable("ts", delta.Timestamp),
		ruled(nullable("y", delta.Integer), delta.GenerationKey, "year(TS)"),
	}, []string{"d"}, nil)
}

func TestFillGenerated(t *testing.T) {
	ts := arrow.Field{Name: "ts", Type: utc, Nullable: true}
	d := arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true}
	y := arrow.Field{Name: "Y", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	for _, c := range []struct {
		why   string
		given []arrow.Field
		rows  string
		want  []string
		says  []string
	}{
		{"what the rows lack is computed", []arrow.Field{ts}, `[{"ts": "2020-01-02 03:04:05Z"}, {"ts": null}]`,
			[]string{`{"d":"2020-01-02","ts":"2020-01-02T03:04:05Z","y":2020}`, `{"d":null,"ts":null,"y":null}`}, nil},
		{"what they have and is right stays", []arrow.Field{ts, d, y}, `[{"ts": "2020-01-02 03:04:05Z", "d": "2020-01-02", "Y": 2020}, {"ts": null, "d": null, "Y": null}]`,
			[]string{`{"d":"2020-01-02","ts":"2020-01-02T03:04:05Z","y":2020}`, `{"d":null,"ts":null,"y":null}`}, nil},
		{"of a column that they lack: NULL", []arrow.Field{y}, `[{"Y": null}]`, []string{`{"d":null,"ts":null,"y":null}`}, nil},
		{"a wrong value", []arrow.Field{ts, y}, `[{"ts": "2020-01-02 03:04:05Z", "Y": 2020}, {"ts": "2020-01-02 03:04:05Z", "Y": 2021}, {"ts": null, "Y": 1}]`,
			nil, []string{`"y"`, "year(TS)", "2 of 3 rows", "row 102", "2021", "2020", "ts=2020-01-02"}},
		{"NULL for a value is wrong", []arrow.Field{ts, y}, `[{"ts": "2020-01-02 03:04:05Z", "Y": null}]`, nil, []string{"1 of 1 rows", "row 101"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			rows, f, err := fill(t, checked(t), generatedTable(t), arrow.NewSchema(c.given, nil), c.rows)
			if c.says != nil {
				require.ErrorIs(t, err, delta.ErrInput)
				for _, s := range c.says {
					require.ErrorContains(t, err, s)
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, rows)
			require.Empty(t, f.Volatile())
		})
	}
}

func TestFillRefusesExpressions(t *testing.T) {
	for _, c := range []struct {
		why, text string
		given     *arrow.Schema
	}{
		{"a function that idem lacks", "st_point(i)", int32s("i")},
		{"a function that differs from run to run", "CAST(rand() AS INT)", int32s("i")},
		{"no expression", "i +", int32s("i")},
		{"a value of another kind", "'x'", int32s("i")},
		{"it names itself", "i + g", int32s("i")},
		{"the rows have the column, which cannot be proven", "st_point(i)", int32s("i", "g")},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := snapshotWith(t, makes, []delta.Field{nullable("i", delta.Integer), ruled(nullable("g", delta.Integer), delta.GenerationKey, c.text)}, nil, nil)
			_, _, err := fill(t, checked(t), snap, c.given, `[{"i": 1}]`)
			require.ErrorIs(t, err, delta.ErrUnsupported)
			require.ErrorContains(t, err, `"g"`)
			require.ErrorContains(t, err, c.text)
		})
	}
	circle := snapshotWith(t, makes, []delta.Field{
		ruled(nullable("a", delta.Integer), delta.GenerationKey, "b"), ruled(nullable("b", delta.Integer), delta.GenerationKey, "a"),
	}, nil, nil)
	_, err := plan.NewFill(newEnv(nil, checked(t)), circle, nil)
	require.ErrorIs(t, err, delta.ErrUnsupported)
}

func TestFillFailsWithTheRow(t *testing.T) {
	snap := snapshotWith(t, makes, []delta.Field{nullable("i", delta.Integer), ruled(nullable("g", delta.Integer), delta.GenerationKey, "10 div i")}, nil, nil)
	_, _, err := fill(t, checked(t), snap, int32s("i"), `[{"i": 1}, {"i": 0}]`)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "row 102")
	require.ErrorContains(t, err, `"g"`)
}

func TestFillNumbers(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		why  string
		id   delta.Identity
		want []int64 // nil: there are not two numbers left
	}{
		{"from the start", delta.Identity{Start: 5, Step: 1}, []int64{5, 6}},
		{"down", delta.Identity{Start: 5, Step: -2}, []int64{5, 3}},
		{"beyond the mark", delta.Identity{Start: 100, Step: 10, Mark: at(140)}, []int64{150, 160}},
		{"beyond it, down", delta.Identity{Start: 5, Step: -2, Mark: at(1)}, []int64{-1, -3}},
		{"a mark that is no number of the rule", delta.Identity{Start: 1, Step: 10, Mark: at(15)}, []int64{21, 31}},
		{"a mark before the start says nothing", delta.Identity{Start: 10, Step: 1, Mark: at(-3)}, []int64{10, 11}},
		{"the last two", delta.Identity{Start: math.MaxInt64 - 1, Step: 1}, []int64{math.MaxInt64 - 1, math.MaxInt64}},
		{"one too many", delta.Identity{Start: math.MaxInt64, Step: 1}, nil},
		{"none left", delta.Identity{Start: 0, Step: 1, Mark: at(math.MaxInt64)}, nil},
		{"none left, down", delta.Identity{Start: 0, Step: math.MinInt64, Mark: at(math.MinInt64)}, nil},
		{"from end to end", delta.Identity{Start: math.MinInt64, Step: math.MaxInt64, Mark: at(math.MinInt64)}, []int64{-1, math.MaxInt64 - 1}},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := snapshotWith(t, makes, []delta.Field{numbered("k", c.id), nullable("i", delta.Integer)}, nil, nil)
			rows, f, err := fill(t, checked(t), snap, int32s("i"), `[{"i": 1}, {"i": 2}]`)
			if c.want == nil {
				require.ErrorIs(t, err, delta.ErrInput)
				require.ErrorContains(t, err, `"k" has no numbers left`)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{fmt.Sprintf(`{"i":1,"k":%d}`, c.want[0]), fmt.Sprintf(`{"i":2,"k":%d}`, c.want[1])}, rows)
			require.Equal(t, map[string]int64{"k": c.want[1]}, f.Mark())
			require.Equal(t, []int{0}, f.Volatile())
		})
	}
}

func TestFillNumbersGiven(t *testing.T) {
	given := arrow.NewSchema([]arrow.Field{{Name: "K", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	always := snapshotWith(t, makes, []delta.Field{numbered("k", delta.Identity{Start: 1, Step: 1})}, nil, nil)
	_, _, err := fill(t, checked(t), always, given, `[{"K": 5}]`)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, `"k" is numbered by the table`)
	allowed := snapshotWith(t, makes, []delta.Field{numbered("k", delta.Identity{Start: 1, Step: 1, AllowExplicit: true})}, nil, nil)
	rows, f, err := fill(t, checked(t), allowed, given, `[{"K": 5}, {"K": null}]`)
	require.NoError(t, err)
	require.Equal(t, []string{`{"k":5}`, `{"k":null}`}, rows, "as given, NULL too, as Spark stores it")
	require.Empty(t, f.Mark(), "numbers that are given move no mark")
}

// TestFillNumbersOfOneCall: rows of several kinds, as the clauses of a merge make them, share numbers.
func TestFillNumbersOfOneCall(t *testing.T) {
	mem := checked(t)
	snap := snapshotWith(t, makes, []delta.Field{numbered("k", delta.Identity{Start: 1, Step: 1, AllowExplicit: true}), nullable("i", delta.Integer)}, nil, nil)
	one, err := plan.NewFill(newEnv(nil, mem), snap, []string{"i"})
	require.NoError(t, err)
	two, err := one.Also(nil)
	require.NoError(t, err)
	three, err := one.Also([]string{"k"})
	require.NoError(t, err)
	rows := fromRows(t, mem, snap.ArrowSchema(), `[{"k": null, "i": 7}, {"k": null, "i": 7}]`)
	defer rows.Release()
	for i, f := range []plan.Fill{one, two, three, one} {
		out, err := f.Batch(mem, rows, 0)
		require.NoError(t, err)
		want := [][2]string{{"1", "2"}, {"3", "4"}, {"null", "null"}, {"5", "6"}}[i]
		require.Equal(t, []string{`{"i":7,"k":` + want[0] + `}`, `{"i":7,"k":` + want[1] + `}`}, textRows(t, out))
		out.Release()
	}
	require.Equal(t, map[string]int64{"k": 6}, two.Mark())
}

func TestFillOfVolatileIsVolatile(t *testing.T) {
	snap := snapshotWith(t, makes, []delta.Field{
		ruled(nullable("g", delta.Long), delta.GenerationKey, "k + 1"), numbered("k", delta.Identity{Start: 1, Step: 1}),
		ruled(nullable("h", delta.Date), delta.GenerationKey, "cast(at as date)"), ruled(nullable("at", delta.Timestamp), delta.DefaultKey, "now()"),
		ruled(nullable("s", delta.Integer), delta.GenerationKey, "i + 1"), nullable("i", delta.Integer),
	}, nil, nil)
	_, f, err := fill(t, checked(t), snap, int32s("i"), `[{"i": 1}]`)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3}, f.Volatile())
}

func TestRefill(t *testing.T) {
	mem := checked(t)
	snap := snapshotWith(t, makes, []delta.Field{
		numbered("k", delta.Identity{Start: 1, Step: 1}), ruled(nullable("d", delta.Integer), delta.DefaultKey, "9"),
		nullable("i", delta.Integer), ruled(nullable("g", delta.Integer), delta.GenerationKey, "i + 1"),
	}, nil, nil)
	rows := fromRows(t, mem, snap.ArrowSchema(), `[{"k": 4, "d": null, "i": 7, "g": 3}]`)
	defer rows.Release()
	f, err := plan.NewRefill(newEnv(nil, mem), snap, []string{"I"})
	require.NoError(t, err)
	out, err := f.Batch(mem, rows, 0)
	require.NoError(t, err)
	defer out.Release()
	require.Equal(t, []string{`{"d":null,"g":8,"i":7,"k":4}`}, textRows(t, out), "what is generated follows; a number and a missing value stay")
	f, err = plan.NewRefill(newEnv(nil, mem), snap, []string{"g"})
	require.NoError(t, err)
	_, err = f.Batch(mem, rows, 0)
	require.ErrorIs(t, err, delta.ErrInput, "a generated column is not set to anything else")
	_, err = plan.NewRefill(newEnv(nil, mem), snap, []string{"K"})
	require.ErrorIs(t, err, delta.ErrInput, "an identity column is not set")
}

// TestConformTellsWhatTheTableLacks: what a table always makes is not missing in rows.
func TestConformTellsWhatTheTableLacks(t *testing.T) {
	mem := checked(t)
	snap := snapshotWith(t, makes, []delta.Field{
		nullable("i", delta.Integer), ruled(required("g", delta.Integer), delta.GenerationKey, "i + 1"), numbered("k", delta.Identity{Start: 1, Step: 1}),
		ruled(required("d", delta.Integer), delta.DefaultKey, "9"), nullable("plain", delta.Integer),
	}, nil, nil)
	rows := fromRows(t, mem, int32s("i"), `[{"i": 1}]`)
	defer rows.Release()
	out, missing, err := plan.Conform(mem, snap, rows)
	require.NoError(t, err)
	out.Release()
	require.Equal(t, []string{"d", "plain"}, missing)
}

// TestFillEqualsRowByRow: batches filled column by column are the rows filled one by one.
func TestFillEqualsRowByRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		step := rapid.SampledFrom([]int64{1, -1, 3, -7}).Draw(rt, "step")
		start := rapid.Int64Range(-50, 50).Draw(rt, "start")
		id := delta.Identity{Start: start, Step: step}
		if rapid.Bool().Draw(rt, "marked") {
			mark := rapid.Int64Range(-100, 100).Draw(rt, "mark")
			id.Mark = &mark
		}
		snap := snapshotWith(t, makes, []delta.Field{
			ruled(nullable("sum", delta.Integer), delta.GenerationKey, "a + b"), ruled(nullable("b", delta.Integer), delta.DefaultKey, "10"),
			numbered("k", id), nullable("a", delta.Integer), ruled(nullable("text", delta.String), delta.GenerationKey, "CASE WHEN a > 3 THEN 'big' ELSE CAST(sum AS STRING) END"),
		}, nil, nil)
		twin := rowByRow{id: id, hasB: rapid.Bool().Draw(rt, "has b")}
		given := []string{"a"}
		if twin.hasB {
			given = append(given, "b")
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		f, err := plan.NewFill(newEnv(nil, mem), snap, given)
		require.NoError(rt, err)
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			rows, want := twin.draw(rt, mem, snap)
			out, err := f.Batch(mem, rows, 0)
			require.NoError(rt, err)
			require.Equal(rt, want, textRows(t, out))
			out.Release()
			rows.Release()
		}
	})
}

// rowByRow fills one row at a time.
type rowByRow struct {
	id   delta.Identity
	hasB bool
}

func (n *rowByRow) draw(rt *rapid.T, mem memory.Allocator, snap *delta.Snapshot) (arrow.RecordBatch, []string) {
	b := array.NewRecordBuilder(mem, snap.ArrowSchema())
	defer b.Release()
	value := func(name string) *int32 {
		if rapid.Bool().Draw(rt, name+" is NULL") {
			return nil
		}
		v := rapid.Int32Range(-9, 9).Draw(rt, name)
		return &v
	}
	want := []string{}
	for range rapid.IntRange(0, 4).Draw(rt, "rows") {
		a, bb, k := value("a"), (*int32)(nil), n.next()
		if n.hasB {
			bb = value("b")
		}
		for c, v := range []*int32{nil, bb, nil, a} {
			if v == nil {
				b.Field(c).AppendNull()
			} else {
				b.Field(c).(*array.Int32Builder).Append(*v)
			}
		}
		b.Field(4).AppendNull()
		if !n.hasB {
			ten := int32(10)
			bb = &ten
		}
		want = append(want, n.row(a, bb, k))
	}
	return b.NewRecordBatch(), want
}

// next walks from the start, one step after the other.
func (n *rowByRow) next() int64 {
	k := n.id.Start
	for n.id.Mark != nil && (k-*n.id.Mark)*n.id.Step <= 0 {
		k += n.id.Step
	}
	n.id.Mark = &k
	return k
}

func (n *rowByRow) row(a, b *int32, k int64) string {
	show := func(v *int32) string {
		if v == nil {
			return "null"
		}
		return strconv.Itoa(int(*v))
	}
	sum := "null"
	if a != nil && b != nil {
		sum = strconv.Itoa(int(*a + *b))
	}
	text := "null"
	switch {
	case a != nil && *a > 3:
		text = `"big"`
	case sum != "null":
		text = `"` + sum + `"`
	}
	return fmt.Sprintf(`{"a":%s,"b":%s,"k":%d,"sum":%s,"text":%s}`, show(a), show(b), k, sum, text)
}

// TestFillIsOfOneTime: every batch of a call has its time.
func TestFillIsOfOneTime(t *testing.T) {
	mem := checked(t)
	env := newEnv(nil, mem)
	now := time.UnixMilli(1_700_000_000_123)
	env.Now = func() time.Time { now = now.Add(time.Hour); return now }
	snap := snapshotWith(t, makes, []delta.Field{ruled(nullable("at", delta.Timestamp), delta.DefaultKey, "now()")}, nil, nil)
	f, err := plan.NewFill(env, snap, nil)
	require.NoError(t, err)
	rows := fromRows(t, mem, snap.ArrowSchema(), `[{"at": null}]`)
	defer rows.Release()
	for range 2 {
		out, err := f.Batch(mem, rows, 0)
		require.NoError(t, err)
		require.Equal(t, []string{`{"at":"2023-11-14T23:13:20.123Z"}`}, textRows(t, out))
		out.Release()
	}
}

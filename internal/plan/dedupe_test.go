package plan_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/spill"
)

// change is a row of the table that is deduplicated: key (k, s), order (at, lsn), and a note.
type change struct {
	k    int64
	s    string
	at   int64
	lsn  int64
	note string
}

var changeSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "at", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "lsn", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func changes(mem memory.Allocator, list []change) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, changeSchema)
	defer b.Release()
	for _, c := range list {
		b.Field(0).(*array.Int64Builder).Append(c.k)
		b.Field(1).(*array.StringBuilder).Append(c.s)
		b.Field(2).(*array.Int64Builder).Append(c.at)
		b.Field(3).(*array.Int64Builder).Append(c.lsn)
		b.Field(4).(*array.StringBuilder).Append(c.note)
	}
	return b.NewRecordBatch()
}

func readChanges(t require.TestingT, b *spill.Buffer) []change {
	var out []change
	for batch, err := range b.Batches() {
		require.NoError(t, err)
		for i := range int(batch.NumRows()) {
			out = append(out, change{
				batch.Column(0).(*array.Int64).Value(i), strings.Clone(batch.Column(1).(*array.String).Value(i)),
				batch.Column(2).(*array.Int64).Value(i), batch.Column(3).(*array.Int64).Value(i),
				strings.Clone(batch.Column(4).(*array.String).Value(i)),
			})
		}
	}
	return out
}

func sorted(list []change) []change {
	sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	return list
}

// naive is what Dedupe must equal. With order 0 every row of a key must be the same.
func naive(list []change, order int) (kept []change, identical, older int64, ties int) {
	byKey := map[string][]change{}
	for _, c := range list {
		id := fmt.Sprintf("%d|%s", c.k, c.s)
		byKey[id] = append(byKey[id], c)
	}
	rank := func(c change) [2]int64 { return [3][2]int64{{}, {c.at}, {c.at, c.lsn}}[order] }
	for _, rows := range byKey {
		best := rows[0]
		for _, c := range rows {
			if a, b := rank(c), rank(best); a[0] > b[0] || a[0] == b[0] && a[1] > b[1] {
				best = c
			}
		}
		tie := false
		for _, c := range rows {
			switch {
			case rank(c) != rank(best):
				older++
			case c == best:
				identical++
			default:
				tie = true
			}
		}
		if tie {
			ties++
		}
		identical--
		kept = append(kept, best)
	}
	return kept, identical, older, ties
}

// dedupe runs Dedupe over list in batches of the given sizes, cycled, with a budget.
func dedupe(t require.TestingT, mem memory.Allocator, dir string, list []change, sizes []int, budget int64, order []int) ([]change, *plan.Deduped, error) {
	area := spill.NewArea(dir, max(1, budget/2))
	area.Mem = mem
	defer func() { require.NoError(t, area.Close()) }()
	src := area.NewBuffer(changeSchema)
	for i := 0; len(list) > 0; i++ {
		n := min(len(list), sizes[i%len(sizes)])
		batch := changes(mem, list[:n])
		require.NoError(t, src.Append(batch))
		batch.Release()
		list = list[n:]
	}
	env := &plan.Env{Allocator: mem, MemoryBytes: budget, Parallelism: 1}
	d, err := plan.Dedupe(context.Background(), env, area, src, []int{0, 1}, order, []int{0, 1, 2, 3, 4})
	if err != nil {
		return nil, nil, err
	}
	return readChanges(t, d.Buffer), d, nil
}

// For any rows, order, batching and budget, Dedupe keeps and counts what ten lines of Go do.
func TestDedupeEqualsNaive(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		keys := rapid.Int64Range(1, 40).Draw(t, "keys")
		notes := rapid.IntRange(1, 3).Draw(t, "notes")
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) change {
			return change{
				k: rapid.Int64Range(1, keys).Draw(t, "k"), s: rapid.SampledFrom([]string{"", "a"}).Draw(t, "s"),
				at: rapid.Int64Range(-2, 2).Draw(t, "at"), lsn: rapid.Int64Range(0, 2).Draw(t, "lsn"),
				note: strings.Repeat("n", rapid.IntRange(1, notes).Draw(t, "note")),
			}
		}), 0, 300).Draw(t, "rows")
		order := rapid.SampledFrom([][]int{nil, {2}, {2, 3}}).Draw(t, "order")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 90), 1, 4).Draw(t, "batches")
		budget := rapid.SampledFrom([]int64{1, 256, 4 << 10, 1 << 20}).Draw(t, "budget")

		want, identical, older, ties := naive(list, len(order))
		got, d, err := dedupe(t, mem, dir, list, sizes, budget, order)
		if ties > 0 {
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, fmt.Sprintf(": %d keys have", ties))
			return
		}
		require.NoError(t, err)
		require.Equal(t, sorted(want), sorted(got))
		require.Equal(t, identical, d.Identical)
		require.Equal(t, older, d.Older)
		require.Equal(t, int64(len(want)), d.Kept)
		require.Equal(t, int64(len(list)), d.Read)

		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		again, e, err := dedupe(t, mem, dir, shuffled, []int{7}, 512, order)
		require.NoError(t, err)
		require.Equal(t, sorted(want), sorted(again))
		require.Equal(t, [2]int64{identical, older}, [2]int64{e.Identical, e.Older})
	})
}

// TestDedupeOfFewKeysWithManyRows: rows are divided between keys, so that a part ends that has one key only,
// wherever the sample of keys falls.
func TestDedupeOfFewKeysWithManyRows(t *testing.T) {
	mem := checked(t)
	for _, often := range [][]int64{{200, 200}, {400, 2}, {2, 400}, {200, 2, 200}, {2, 400, 2}, {1, 1, 400}} {
		var list []change
		for k, n := range often {
			for at := range n {
				list = append(list, change{k: int64(k), at: at})
			}
		}
		want, identical, older, ties := naive(list, 1)
		require.Zero(t, ties)
		got, d, err := dedupe(t, mem, t.TempDir(), list, []int{50}, 1, []int{2})
		require.NoError(t, err)
		require.Equal(t, sorted(want), sorted(got), "%v", often)
		require.Equal(t, [2]int64{identical, older}, [2]int64{d.Identical, d.Older})
	}
}

func TestDedupeOutputIsDeterministic(t *testing.T) {
	mem := checked(t)
	var list []change
	for i := range int64(2000) {
		list = append(list, change{k: i * 7919 % 701, at: i})
	}
	first, _, err := dedupe(t, mem, t.TempDir(), list, []int{100}, 8<<10, []int{2})
	require.NoError(t, err)
	second, _, err := dedupe(t, mem, t.TempDir(), list, []int{100}, 8<<10, []int{2})
	require.NoError(t, err)
	require.Len(t, first, 701)
	require.Equal(t, first, second)
}

// peak is an allocator that remembers the most that was held.
type peak struct {
	memory.Allocator
	held, most int
}

func (p *peak) count(n int) {
	p.held += n
	p.most = max(p.most, p.held)
}

func (p *peak) Allocate(n int) []byte { p.count(n); return p.Allocator.Allocate(n) }
func (p *peak) Free(b []byte)         { p.count(-len(b)); p.Allocator.Free(b) }
func (p *peak) Reallocate(n int, b []byte) []byte {
	p.count(n - len(b))
	return p.Allocator.Reallocate(n, b)
}

// Many keys are divided again and again until a part fits.
func TestDedupeWithinItsBudget(t *testing.T) {
	const budget = 64 << 10
	mem := &peak{Allocator: memory.NewGoAllocator()}
	var list []change
	for i := range int64(20_000) {
		list = append(list, change{k: i % 15_000, at: i})
	}
	got, d, err := dedupe(t, mem, t.TempDir(), list, []int{100}, budget, []int{2})
	require.NoError(t, err)
	require.Len(t, got, 15_000)
	require.Equal(t, int64(5_000), d.Older)
	require.Zero(t, mem.held)
	require.Less(t, mem.most, budget)
}

// A tie that a newer row makes void is no error, though it is seen first and apart from it.
func TestDedupeForgivesOldTies(t *testing.T) {
	mem := checked(t)
	list := []change{{k: 1, at: 1, note: "a"}, {k: 1, at: 1, note: "b"}, {k: 1, at: 1, note: "b"}}
	for range 200 {
		list = append(list, change{k: 1, at: 2, note: "newest"})
	}
	for _, budget := range []int64{1, 1 << 20} {
		got, d, err := dedupe(t, mem, t.TempDir(), list, []int{1, 3}, budget, []int{2})
		require.NoError(t, err)
		require.Equal(t, []change{{k: 1, at: 2, note: "newest"}}, got)
		require.Equal(t, [2]int64{199, 3}, [2]int64{d.Identical, d.Older})
	}
}

func TestDedupeSaysWhichKeysTie(t *testing.T) {
	mem := checked(t)
	var list []change
	for k := range int64(5) {
		list = append(list, change{k: k, s: "x", at: 1, note: "a"}, change{k: k, s: "x", at: 1, note: "b"})
	}
	for _, budget := range []int64{1, 1 << 20} {
		_, _, err := dedupe(t, mem, t.TempDir(), list, []int{3}, budget, []int{2})
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, "5 keys")
		require.Equal(t, 3, strings.Count(err.Error(), "k="), "%s", err)
		require.ErrorContains(t, err, "at=1")
		require.ErrorContains(t, err, "add a column to Newer")

		_, _, err = dedupe(t, mem, t.TempDir(), list, []int{3}, budget, nil)
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, "nothing says which is newer")
	}
}

// TestDedupeOfManyRowsThatTie: of one key there are more rows than are looked at together, and the newest of
// them differ.
func TestDedupeOfManyRowsThatTie(t *testing.T) {
	mem := checked(t)
	for _, c := range []struct {
		why   string
		order []int
		at    func(row int64) int64
	}{
		{"all are the newest", []int{2}, func(int64) int64 { return 1 }},
		{"the first and the last are the newest", []int{2}, func(row int64) int64 { return (row - 200) * (row - 200) }},
		{"nothing orders them", nil, func(int64) int64 { return 1 }},
	} {
		var list []change
		for row := range int64(401) {
			list = append(list, change{k: 1, at: c.at(row), note: fmt.Sprint(row / 200)}, change{k: 2, at: row, note: "x"})
		}
		if c.order == nil {
			list = slices.DeleteFunc(list, func(c change) bool { return c.k == 2 })
		}
		_, _, _, ties := naive(list, len(c.order))
		require.Equal(t, 1, ties)
		for _, budget := range []int64{1, 1 << 20} {
			_, _, err := dedupe(t, mem, t.TempDir(), list, []int{50}, budget, c.order)
			require.ErrorIs(t, err, delta.ErrInput, c.why)
			require.ErrorContains(t, err, ": 1 keys have", c.why)
			require.ErrorContains(t, err, "k=1", c.why)
		}
	}
}

func TestDedupeRefusesNullInOrder(t *testing.T) {
	mem := checked(t)
	area := spill.NewArea(t.TempDir(), 0)
	defer area.Close()
	src := area.NewBuffer(changeSchema)
	for range 3 {
		batch, _, err := array.RecordFromJSON(mem, changeSchema, strings.NewReader(
			`[{"k": 1, "s": "", "at": 5, "lsn": 1, "note": ""}, {"k": 2, "s": "", "at": null, "lsn": 1, "note": ""}, {"k": 3, "s": "", "at": 5, "lsn": null, "note": ""}]`))
		require.NoError(t, err)
		require.NoError(t, src.Append(batch))
		batch.Release()
	}
	_, err := plan.Dedupe(t.Context(), &plan.Env{Allocator: mem}, area, src, []int{0}, []int{2, 3}, []int{0})
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "6 of 9 rows")
	require.ErrorContains(t, err, "row 2 (at=NULL, lsn=1), row 3 (at=5, lsn=NULL), row 5 (at=NULL, lsn=1), …")
}

func TestDedupeOfNothing(t *testing.T) {
	got, d, err := dedupe(t, checked(t), t.TempDir(), nil, []int{1}, 1<<20, []int{2})
	require.NoError(t, err)
	require.Empty(t, got)
	require.Zero(t, d.Read+d.Kept+d.Identical+d.Older)
}

func TestDedupeStopsWithItsContext(t *testing.T) {
	mem := checked(t)
	area := spill.NewArea(t.TempDir(), 0)
	defer area.Close()
	src := area.NewBuffer(changeSchema)
	batch := changes(mem, []change{{k: 1}})
	require.NoError(t, src.Append(batch))
	batch.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := plan.Dedupe(ctx, &plan.Env{Allocator: mem}, area, src, []int{0}, nil, []int{0})
	require.ErrorIs(t, err, context.Canceled)
}

func TestCheckKeys(t *testing.T) {
	mem := checked(t)
	batch, _, err := array.RecordFromJSON(mem, changeSchema, strings.NewReader(
		`[{"k": 1, "s": "a"}, {"k": null, "s": "b"}, {"k": 2, "s": null}, {"k": null, "s": null}, {"k": null, "s": "c"}]`))
	require.NoError(t, err)
	defer batch.Release()
	err = plan.CheckKeys(batch, []int{0, 1}, 100)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "4 of 5 rows")
	require.ErrorContains(t, err, `row 102 (k=NULL, s=`)
	require.ErrorContains(t, err, "MatchNulls")
	require.NotContains(t, err.Error(), "row 105")

	good := changes(mem, []change{{k: 1}})
	defer good.Release()
	require.NoError(t, plan.CheckKeys(good, []int{0, 1}, 0))
}

// Of rows that are equal the first is kept with its own bytes, also of a key that has more of them
// than are looked at together.
func TestDedupeKeepsTheFirstOfEqualRows(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "f", Type: arrow.PrimitiveTypes.Float64}}, nil)
	for _, budget := range []int64{1, 0} {
		mem := checked(t)
		area := spill.NewArea(t.TempDir(), max(1, budget/2))
		area.Mem = mem
		src := area.NewBuffer(schema)
		for i := range 400 {
			b := array.NewRecordBuilder(mem, schema)
			b.Field(0).(*array.Int64Builder).Append(1)
			zero := 0.0
			if i > 0 {
				zero = math.Copysign(0, -1)
			}
			b.Field(1).(*array.Float64Builder).Append(zero)
			batch := b.NewRecordBatch()
			require.NoError(t, src.Append(batch))
			batch.Release()
			b.Release()
		}
		d, err := plan.Dedupe(t.Context(), &plan.Env{Allocator: mem, MemoryBytes: budget}, area, src, []int{0}, []int{1}, []int{0, 1})
		require.NoError(t, err)
		require.Equal(t, []int64{400, 1, 399, 0}, []int64{d.Read, d.Kept, d.Identical, d.Older})
		for batch, err := range d.Buffer.Batches() {
			require.NoError(t, err)
			require.False(t, math.Signbit(batch.Column(1).(*array.Float64).Value(0)))
		}
		require.NoError(t, area.Close())
	}
}

// What has no row to drop is not copied.
func TestDedupeOfRowsThatAllStay(t *testing.T) {
	mem := checked(t)
	area := spill.NewArea(t.TempDir(), 0)
	area.Mem = mem
	defer area.Close()
	src := area.NewBuffer(changeSchema)
	batch := changes(mem, []change{{k: 1}, {k: 2}, {k: 3}})
	require.NoError(t, src.Append(batch))
	batch.Release()
	d, err := plan.Dedupe(t.Context(), &plan.Env{Allocator: mem}, area, src, []int{0, 1}, []int{2}, []int{0, 1, 2, 3, 4})
	require.NoError(t, err)
	require.Same(t, src, d.Buffer)
	require.EqualValues(t, 3, d.Kept)
}

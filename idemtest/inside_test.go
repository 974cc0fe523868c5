package idemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/trial"
)

var days = arrow.NewSchema([]arrow.Field{{Name: "day", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// loadToday is the job that loads the wrong day after midnight.
func loadToday(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		day := time.Now().UTC().Format(time.DateOnly)
		_, err := table.ReplaceWhere(ctx, Rows(t, days, []any{day, 1}), idem.ReplaceWhere{Where: "day = ?", Args: []any{day}})
		return err
	}
}

func TestFakeTimeMovesTimeNow(t *testing.T) {
	p, err := newProof(t.Context(), NewTable(t, idem.Definition{Schema: days}), loadToday(t), Options{})
	require.NoError(t, err)
	require.NoError(t, p.first(t.Context()))

	require.NoError(t, p.anotherDay(t), "the clock of the table is not the job's")
	require.Len(t, p.notes, 1)
	require.Contains(t, p.notes[0], "column day holds today's date")

	p.o.FakeTime = true
	err = p.anotherDay(t)
	require.ErrorContains(t, err, "after run 2, a day later")
	require.ErrorContains(t, err, "a clock value in column day: the second run wrote its rows under another value")

	err = p.anotherDay(struct{ testing.TB }{t})
	require.ErrorContains(t, err, "Options.FakeTime wants a *testing.T")
}

func TestPoints(t *testing.T) {
	require.Equal(t, []int{1, 2, 3}, points(3, 200))
	require.Equal(t, []int{1, 5, 9}, points(9, 3))
	require.Equal(t, []int{1}, points(9, 1))
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 500).Draw(t, "n"), rapid.IntRange(1, 300).Draw(t, "limit")
		got := points(n, limit)
		require.Len(t, got, min(n, limit))
		for i := range got {
			require.True(t, got[i] >= 1 && got[i] <= n)
			require.True(t, i == 0 || got[i] > got[i-1], "no operation twice: %v", got)
		}
		if len(got) > 1 {
			require.Equal(t, n, got[len(got)-1])
		}
	})
}

func TestFewerPointsOfMoreOperations(t *testing.T) {
	for n, want := range map[int]int{1: 200, 200: 200, 500: 80, 2000: 20, 1_000_000: 10} {
		require.Equal(t, want, Options{}.maxPoints(n))
	}
	require.Equal(t, 7, Options{MaxPoints: 7}.maxPoints(500))
}

// TestACopyIsLikeTheTable: in its objects, their times, by which commits are dated, and its name.
func TestACopyIsLikeTheTable(t *testing.T) {
	place := t.TempDir()
	table, _, err := idem.Create(t.Context(), place, idem.Definition{Schema: days}, idem.Options{})
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(place, delta.CommitKey(0)), time.Time{}, time.Unix(1_000_000_000, 0)))
	require.NoError(t, loadToday(t)(t.Context(), table))
	p, err := newProof(t.Context(), table, loadToday(t), Options{})
	require.NoError(t, err)
	w := p.world(p.start)
	require.Equal(t, table.URL(), w.st.URL())
	require.Equal(t, p.base, p.clock.Now(), "copying leaves the clock as it was")
	n := 0
	for info, err := range table.Store().List(t.Context(), "", "") {
		require.NoError(t, err)
		n++
		copied, err := w.st.Head(t.Context(), info.Key)
		require.NoError(t, err)
		require.Equal(t, info.Size, copied.Size)
		require.True(t, info.ModTime.Equal(copied.ModTime), info.Key)
	}
	require.Equal(t, 5, n)
	_, err = w.run(t.Context(), loadToday(t), circumstances{})
	require.NoError(t, err)
	again, err := p.world(p.start).log.Load(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, again.Version(), "a world is a copy of its own")
}

// TestClaims: calls are held to what they said.
func TestClaims(t *testing.T) {
	table := NewTable(t, idem.Definition{Schema: days})
	p, err := newProof(t.Context(), table, loadToday(t), Options{})
	require.NoError(t, err)
	require.NoError(t, p.first(t.Context()))
	committed := trial.Call{Op: "Merge", Outcome: "committed"}
	unknown := trial.Call{Op: "Merge", Err: fmt.Errorf("so: %w", idem.ErrUnknownOutcome)}
	failed := trial.Call{Op: "Merge", Err: idem.ErrConflict}
	for _, c := range []struct {
		why   string
		calls []trial.Call
		left  *state
		says  string
	}{
		{"committed, and it is there", []trial.Call{committed}, p.done, ""},
		{"committed, and it is not", []trial.Call{committed}, p.begun, "1 calls said that they committed, and there are 0 new versions"},
		{"failed, and it is not there", []trial.Call{failed}, p.begun, ""},
		{"failed, and it is", []trial.Call{failed}, p.done, "the calls said that nothing was committed, and the rows are rows=1"},
		{"unknown, and it is", []trial.Call{unknown}, p.done, ""},
		{"unknown, and it is not", []trial.Call{unknown}, p.begun, ""},
	} {
		err := p.claims(&run{calls: c.calls}, c.left)
		if c.says == "" {
			require.NoError(t, err, c.why)
			continue
		}
		require.ErrorContains(t, err, c.says, c.why)
	}
	p.allTold = false
	require.NoError(t, p.claims(&run{calls: []trial.Call{failed}}, p.done), "what changes rows may be told of by nobody")
}

// dated is a job that appends numbers.
func dated(t *testing.T, ns ...int) idem.Job {
	var rows [][]any
	for _, n := range ns {
		rows = append(rows, []any{"2013-01-02", n})
	}
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.Append(ctx, Rows(t, days, rows...), idem.Append{Reason: "test"})
		return err
	}
}

func TestRowsGivenToVerbsComeInAnotherOrder(t *testing.T) {
	p, err := newProof(t.Context(), NewTable(t, idem.Definition{Schema: days}), dated(t), Options{})
	require.NoError(t, err)
	w := p.world(p.start)
	r, err := w.run(t.Context(), dated(t, 1, 2, 3), circumstances{order: newOrder(0)})
	require.NoError(t, err)
	require.NoError(t, r.err)
	table, err := idem.OpenStore(t.Context(), w.st, idem.Options{})
	require.NoError(t, err)
	for b, err := range table.Scan(t.Context(), idem.Scan{}) {
		require.NoError(t, err)
		require.Equal(t, []int64{3, 2, 1}, b.Column(1).(*array.Int64).Int64Values())
	}
}

// TestFilesOfOneNameInTwoCopies: a file that a run wrote is another in every copy, also if chance
// gave it the same name.
func TestFilesOfOneNameInTwoCopies(t *testing.T) {
	table := NewTable(t, idem.Definition{Schema: days})
	require.NoError(t, dated(t, 1)(t.Context(), table))
	p, err := newProof(t.Context(), table, dated(t, 2), Options{})
	require.NoError(t, err)
	left := func(n int) *state {
		p.opts.Random = &chance{src: rand.NewPCG(7, 7)}
		w := p.world(p.start)
		r, err := w.run(t.Context(), dated(t, n), circumstances{})
		require.NoError(t, err)
		require.NoError(t, r.err)
		s, err := w.state(t.Context(), r)
		require.NoError(t, err)
		return s
	}
	a, b := left(2), left(3)
	var names []string
	for f := range a.side.Snapshot.Files() {
		names = append(names, f.Key)
	}
	for f := range b.side.Snapshot.Files() {
		require.Contains(t, names, f.Key)
	}
	require.NoError(t, p.compare(t.Context(), notAsOnce, a, a))
	err = p.compare(t.Context(), notAsOnce.by(plan.Afresh), a, b)
	require.ErrorContains(t, err, "+1 rows, -1 rows")
	require.ErrorContains(t, err, "n=2 → 3")
}

// numbers makes batches of the numbers from 0 on, beside their text in a dictionary.
func numbers(mem memory.Allocator, sizes []int) (*arrow.Schema, []arrow.RecordBatch) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "parity", Type: dict}}, nil)
	var out []arrow.RecordBatch
	next := int64(0)
	for _, n := range sizes {
		b := array.NewRecordBuilder(mem, schema)
		for range n {
			b.Field(0).(*array.Int64Builder).Append(next)
			if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString([]string{"even", "odd"}[next%2]); err != nil {
				panic(err)
			}
			next++
		}
		out = append(out, b.NewRecordBatch())
		b.Release()
	}
	return schema, out
}

// read reads the numbers, and makes sure that the text stays beside its number.
func read(t require.TestingT, r array.RecordReader) []int64 {
	out := []int64{}
	for r.Next() {
		col := r.RecordBatch().Column(0).(*array.Int64)
		parity := r.RecordBatch().Column(1).(*array.Dictionary)
		for i := range col.Len() {
			require.Equal(t, []string{"even", "odd"}[col.Value(i)%2], parity.ValueStr(i))
			out = append(out, col.Value(i))
		}
	}
	return out
}

func inOrder(ctx context.Context, seed uint64) context.Context {
	return trial.With(ctx, &trial.Trial{Order: newOrder(seed).arrange})
}

// TestSourceIsAPermutation: rows come in another order and other batches, each once, the same for
// one seed, and nothing of them is kept.
func TestSourceIsAPermutation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 7), 0, 5).Draw(rt, "sizes")
		seed := rapid.Uint64Range(0, 9).Draw(rt, "seed")
		whole := rapid.Bool().Draw(rt, "read to the end")
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(rt, 0)
		var given, first []int64
		for range 2 {
			schema, batches := numbers(mem, sizes)
			rows, err := array.NewRecordReader(schema, batches)
			require.NoError(rt, err)
			release(batches)
			given = given[:0]
			for range sum(sizes) {
				given = append(given, int64(len(given)))
			}
			r := Source(inOrder(t.Context(), seed), rows)
			if !whole {
				r.Next()
				r.Release()
				return
			}
			got := read(rt, r)
			require.NoError(rt, r.Err())
			require.False(rt, r.Next())
			r.Retain()
			r.Release()
			r.Release()
			require.ElementsMatch(rt, given, got)
			if seed == 0 && len(given) > 1 {
				require.Equal(rt, given[0], got[len(got)-1], "the last comes first")
			}
			if first == nil {
				first = got
			}
			require.Equal(rt, first, got)
		}
	})
}

func sum(sizes []int) int {
	n := 0
	for _, s := range sizes {
		n += s
	}
	return n
}

func TestSourceIsReadAgainInAnotherOrder(t *testing.T) {
	var rows [][]any
	for i := range 50 {
		rows = append(rows, []any{"d", i})
	}
	given := Rows(t, days, rows...)
	r := Source(inOrder(t.Context(), 3), given)
	values := func() (out []int64) {
		for r.Next() {
			out = append(out, r.RecordBatch().Column(1).(*array.Int64).Int64Values()...)
		}
		return out
	}
	first := values()
	require.NoError(t, r.(rewinder).Rewind(t.Context()))
	second := values()
	require.ElementsMatch(t, first, second)
	require.NotEqual(t, first, second)

	require.Same(t, given, Source(t.Context(), given), "in the other runs rows are handed through")
	_, again := Source(inOrder(t.Context(), 3), struct{ array.RecordReader }{given}).(rewinder)
	require.False(t, again, "what can be read once is not read again")
}

func TestLargeSourcesAreMovedInRuns(t *testing.T) {
	schema, batches := numbers(memory.DefaultAllocator, []int{3 * manyRows / 2, manyRows})
	rows, err := array.NewRecordReader(schema, batches)
	require.NoError(t, err)
	got := read(t, Source(inOrder(t.Context(), 1), rows))
	require.Len(t, got, 5*manyRows/2)
	seen := map[int64]bool{}
	for _, n := range got {
		seen[n] = true
	}
	require.Len(t, seen, len(got))
}

// broken fails after its first batch.
type broken struct {
	array.RecordReader
	err error
}

func (b *broken) Next() bool {
	if b.RecordReader.Next() {
		return true
	}
	b.err = errors.New("the connection broke")
	return false
}

func (b *broken) Err() error { return b.err }

func TestSourceTellsTheErrorOfItsRows(t *testing.T) {
	schema, batches := numbers(memory.DefaultAllocator, []int{3})
	rows, err := array.NewRecordReader(schema, batches)
	require.NoError(t, err)
	r := Source(inOrder(t.Context(), 1), &broken{RecordReader: rows})
	require.Len(t, read(t, r), 3)
	require.EqualError(t, r.Err(), "the connection broke")
}

// TestSourceThatWasReleased has no rows, and says why.
func TestSourceThatWasReleased(t *testing.T) {
	for _, read := range []bool{false, true} {
		schema, batches := numbers(memory.DefaultAllocator, []int{3})
		rows, err := array.NewRecordReader(schema, batches)
		require.NoError(t, err)
		r := Source(inOrder(t.Context(), 1), rows)
		if read {
			require.True(t, r.Next())
		}
		r.Release()
		require.NoError(t, r.Err())
		require.False(t, r.Next())
		require.ErrorContains(t, r.Err(), "released before they were read")
	}
}

// batchless says that it has a batch and gives none.
type batchless struct{ array.RecordReader }

func (batchless) Next() bool                     { return true }
func (batchless) RecordBatch() arrow.RecordBatch { return nil }

func TestSourceWithoutABatch(t *testing.T) {
	r := Source(inOrder(t.Context(), 1), batchless{Rows(t, days)})
	require.False(t, r.Next())
	require.ErrorIs(t, r.Err(), idem.ErrInput)
	require.ErrorContains(t, r.Err(), "its RecordBatch is nil")
}

// TestSourceThatWasBegun: rows are not lost because the job looked at the first.
func TestSourceThatWasBegun(t *testing.T) {
	for _, once := range []bool{false, true} {
		table := NewTable(t, idem.Definition{Schema: days})
		rows := Rows(t, days, []any{"d", 1}, []any{"d", 2})
		if once {
			rows = struct{ array.RecordReader }{rows}
		}
		r := Source(inOrder(t.Context(), 0), rows)
		for r.Next() { // to the end
		}
		res, err := table.Append(t.Context(), r, idem.Append{Reason: "test"})
		if once {
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "begun to be read before the call")
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 2, res.Inserted)
	}
}

func TestScanErrorsArePassedOn(t *testing.T) {
	failed := errors.New("no")
	var got error
	for _, err := range newOrder(1).arrange(func(yield func(arrow.RecordBatch, error) bool) { yield(nil, failed) }) {
		got = err
	}
	require.Equal(t, failed, got)
}

func TestList(t *testing.T) {
	given := []string{"a", "b", "c", "d"}
	require.Equal(t, given, List(t.Context(), given))
	require.Equal(t, []string{"d", "c", "b", "a"}, List(inOrder(t.Context(), 0), given))
	require.Equal(t, []string{"a", "b", "c", "d"}, given)
	require.Empty(t, List[int](inOrder(t.Context(), 2), nil))
	for seed := range uint64(5) {
		require.ElementsMatch(t, given, List(inOrder(t.Context(), seed), given))
	}
}

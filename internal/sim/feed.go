package sim

import (
	"fmt"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/internal/tabletest"
)

// feed applies the changes of a range of versions to the rows before it, which must give the rows after
// it. A range is read by tables that kept a feed from the start, and of which nothing was deleted.
func (w *world) feed(wr *writer, l *ledger) {
	if !w.plan.has("delta.enableChangeDataFeed") || len(w.truth.deleted) > 0 || l.newest() < 1 {
		return
	}
	for _, s := range l.states {
		if len(s.columns) > 0 {
			return // columns are those of one version of the range
		}
	}
	ctx := w.context()
	t, err := idem.OpenStore(ctx, wr.view(), wr.options())
	if err != nil {
		w.fail("open the table for its changes: %v", err)
		return
	}
	from := 1 + w.dice.plan.Int64N(l.newest())
	to := from + w.dice.plan.Int64N(l.newest()-from+1)
	rows := maps.Clone(l.states[from-1].Rows)
	numbers := map[[2]int64]int{} // how often a row of a key has a number
	for key, number := range l.numbers[from-1] {
		numbers[[2]int64{key, number}]++
	}
	for b, err := range changes.Rows(ctx, t, changes.Request{From: changes.Version(from), To: changes.Version(to)}) {
		if err == nil {
			err = applyChanges(rows, numbers, b)
		}
		if err != nil {
			w.fail("the changes of versions %d to %d: %v", from, to, err)
			return
		}
	}
	maps.DeleteFunc(rows, func(_ tabletest.Row, n int) bool { return n == 0 })
	if want := l.states[to].Rows; !maps.Equal(rows, want) {
		w.fail("the changes of versions %d to %d: they do not lead from the rows before to the rows after\n%s", from, to, want.Diff(rows))
	}
	if !w.plan.makes || w.moved(l) { // then rows of one key may be there twice
		return
	}
	for key, number := range l.numbers[to] {
		numbers[[2]int64{key, number}]--
	}
	for at, n := range numbers {
		if n != 0 {
			w.fail("the changes of versions %d to %d: they give the row %d the number %d %d times too often", from, to, at[0], at[1], n)
		}
	}
}

func applyChanges(rows tabletest.Rows, numbers map[[2]int64]int, b arrow.RecordBatch) error {
	kinds := b.Column(b.Schema().FieldIndices(changes.TypeColumn)[0]).(*array.String)
	number := func(int) int64 { return 0 }
	if at := b.Schema().FieldIndices(numberColumn); len(at) == 1 {
		number = b.Column(at[0]).(*array.Int64).Value
	}
	for i := range b.NumRows() {
		one := tabletest.Rows{}
		piece := b.NewSlice(i, i+1)
		err := one.AddBatch(piece)
		piece.Release()
		if err != nil {
			return err
		}
		for r := range one {
			what := [2]int64{r.ID, number(int(i))}
			switch k := kinds.Value(int(i)); k {
			case changes.Insert, changes.UpdatePostimage:
				rows[r]++
				numbers[what]++
			case changes.Delete, changes.UpdatePreimage:
				rows[r]--
				numbers[what]--
			default:
				return fmt.Errorf("a change of kind %q", k)
			}
		}
	}
	return nil
}

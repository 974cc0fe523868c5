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
	for b, err := range changes.Rows(ctx, t, changes.Request{From: changes.Version(from), To: changes.Version(to)}) {
		if err == nil {
			err = applyChanges(rows, b)
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
}

func applyChanges(rows tabletest.Rows, b arrow.RecordBatch) error {
	kinds := b.Column(b.Schema().FieldIndices(changes.TypeColumn)[0]).(*array.String)
	for i := range b.NumRows() {
		one := tabletest.Rows{}
		piece := b.NewSlice(i, i+1)
		err := one.AddBatch(piece)
		piece.Release()
		if err != nil {
			return err
		}
		for r := range one {
			switch k := kinds.Value(int(i)); k {
			case changes.Insert, changes.UpdatePostimage:
				rows[r]++
			case changes.Delete, changes.UpdatePreimage:
				rows[r]--
			default:
				return fmt.Errorf("a change of kind %q", k)
			}
		}
	}
	return nil
}

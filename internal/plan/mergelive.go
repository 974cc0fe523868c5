package plan

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
)

// identity names what was looked at: the rows of a file that are live under its vector. With another
// vector a file is another one.
func identity(add *delta.Add) string { return delta.LogicalFile(add.Key, add.DeletionVector) }

// located is live rows of a file and their numbers in it, ascending.
type located struct {
	batch arrow.RecordBatch
	row   []int64
}

// slice gives some of the rows. The caller releases it.
func (l located) slice(from, to int) located {
	return located{l.batch.NewSlice(int64(from), int64(to)), l.row[from:to]}
}

func (l located) release() { l.batch.Release() }

// table gives the columns of the table without what stands behind them. The caller releases it.
func (l located) table(schema *arrow.Schema) arrow.RecordBatch {
	return array.NewRecordBatch(schema, l.batch.Columns()[:schema.NumFields()], l.batch.NumRows())
}

// live reads the live rows of a file: the columns of the table that are named, nil for all of them,
// and what else is asked for.
func (p *Merge) live(ctx context.Context, snap *delta.Snapshot, add *delta.Add, columns []string, o scan.LiveOptions) iter.Seq2[located, error] {
	return func(yield func(located, error) bool) {
		for piece, err := range scan.Live(ctx, p.Env.Table(snap), add, columns, o) {
			if err != nil {
				yield(located{}, err)
				return
			}
			l := located{batch: piece.Batch, row: make([]int64, piece.Batch.NumRows())}
			for i := range l.row {
				l.row[i] = piece.Row(i)
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// places gives where in a list of rows some of them are; both ascend.
func places(rows, some []int64) ([]int32, error) {
	out := make([]int32, 0, len(some))
	at := 0
	for _, row := range some {
		for at < len(rows) && rows[at] < row {
			at++
		}
		if at == len(rows) || rows[at] != row {
			return nil, fmt.Errorf("%w: row %d, which was live, is not any more", delta.ErrCorrupt, row)
		}
		out = append(out, int32(at))
	}
	return out, nil
}

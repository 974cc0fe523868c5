package plan_test

import (
	"context"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// forgetful is a codec whose files give their rows, but for the last one of a batch, when whole rows are
// asked for.
type forgetful struct {
	parquetio.Parquet
	columns int
}

func (c forgetful) Open(ctx context.Context, src parquetio.Source, o parquetio.ReadOptions) (parquetio.Reader, error) {
	r, err := c.Parquet.Open(ctx, src, o)
	return forgetfulReader{r, c.columns}, err
}

type forgetfulReader struct {
	parquetio.Reader
	columns int
}

func (r forgetfulReader) Batches(ctx context.Context, want *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range r.Reader.Batches(ctx, want) {
			if err != nil || want.NumFields() < r.columns {
				if !yield(batch, err) {
					return
				}
				continue
			}
			most := batch.NewSlice(0, batch.NumRows()-1)
			more := yield(most, nil)
			most.Release()
			if !more {
				return
			}
		}
	}
}

// TestAMergeWhoseRowsDoNotAddUpIsRefused loses a row between the read that finds keys and the one that
// copies: a merge counts what the files hold before it proposes them, not what it believes it did.
func TestAMergeWhoseRowsDoNotAddUpIsRefused(t *testing.T) {
	mem := checked(t)
	l := newLake(t.Context(), t, mem, traits{})
	merge := func(rows ...changeOf) error {
		m := l.upsert(rows, false)
		defer m.Close()
		p, err := m.Plan(l.ctx, l.snap)
		if err == nil {
			l.land(p)
		}
		return err
	}
	row := func(k, seq int64, v string) changeOf { return changeOf{item{k: k, p: "x", seq: seq, v: v}, "u"} }
	require.NoError(t, merge(row(1, 1, "a"), row(2, 1, "b"), row(3, 1, "c")))
	objects := l.objects.Clone()

	l.ctx = parquetio.WithCodec(t.Context(), forgetful{columns: l.snap.ArrowSchema().NumFields()})
	err := merge(row(1, 2, "z"))
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "merge: 3 rows before + 0 inserted - 0 deleted is not the 2 rows after; nothing was committed")
	require.Equal(t, keysOf(t, objects), keysOf(t, l.objects), "and nothing is left")

	l.ctx = t.Context()
	require.NoError(t, merge(row(1, 2, "z")))
	require.Len(t, l.rows(), 3)
}

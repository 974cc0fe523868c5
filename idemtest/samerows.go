package idemtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/rows"
)

// shownRows is how many rows of each table are shown that the other lacks.
const shownRows = 5

// SameRows fails the test unless two tables hold the same rows, each as often, in whatever order
// and files. It prints some of the rows that only one of them has. Tables are compared by
// fingerprint; only if those differ the rows are read, into 32 bytes each.
func SameRows(t testing.TB, a, b *idem.Table) {
	t.Helper()
	if a == nil || b == nil {
		t.Fatalf("one of the tables is nil")
	}
	ctx := t.Context()
	x, y := identity(t, a), identity(t, b)
	if x.Rows == y.Rows && x.Digest == y.Digest {
		return
	}
	rowsOfA, err := count(ctx, a)
	if err != nil {
		t.Fatalf("%v", err)
	}
	rowsOfB, err := count(ctx, b)
	if err != nil {
		t.Fatalf("%v", err)
	}
	onlyA, err := missing(ctx, a, rowsOfB)
	if err != nil {
		t.Fatalf("%v", err)
	}
	onlyB, err := missing(ctx, b, rowsOfA)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Errorf("the tables differ: %d rows are only in the first, %d only in the second\n  first:  %s\n  second: %s%s%s",
		onlyA.n, onlyB.n, x, y, onlyA.list("- "), onlyB.list("+ "))
}

func identity(t testing.TB, table *idem.Table) *idem.Print {
	t.Helper()
	p, err := table.Fingerprint(t.Context(), idem.Fingerprint{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

// bag says how often each row occurs, by its digest.
type bag map[rows.Digest]int64

// each gives the rows of a table with their digests.
func each(ctx context.Context, table *idem.Table, f func(arrow.RecordBatch, []rows.Digest)) error {
	for batch, err := range table.Scan(ctx, idem.Scan{}) {
		if err != nil {
			return err
		}
		digests := make([]rows.Digest, batch.NumRows())
		if err := rows.RowDigests(batch, digests); err != nil {
			return err
		}
		f(batch, digests)
	}
	return nil
}

func count(ctx context.Context, table *idem.Table) (bag, error) {
	out := bag{}
	err := each(ctx, table, func(_ arrow.RecordBatch, digests []rows.Digest) {
		for _, d := range digests {
			out[d]++
		}
	})
	return out, err
}

// surplus is the rows that one table has and the other lacks.
type surplus struct {
	n     int64
	shown []string
}

func (s surplus) list(prefix string) string {
	var b strings.Builder
	for _, row := range s.shown {
		b.WriteString("\n  " + prefix + row)
	}
	return b.String()
}

// missing finds the rows of a table that the other has not, or not as often.
func missing(ctx context.Context, table *idem.Table, other bag) (surplus, error) {
	left, out := bag{}, surplus{}
	for d, n := range other {
		left[d] = n
	}
	err := each(ctx, table, func(batch arrow.RecordBatch, digests []rows.Digest) {
		for i, d := range digests {
			if left[d] > 0 {
				left[d]--
				continue
			}
			out.n++
			if len(out.shown) < shownRows {
				out.shown = append(out.shown, describe(batch, i))
			}
		}
	})
	slices.Sort(out.shown)
	return out, err
}

// describe is a row as "id=7, day=2013-01-02".
func describe(batch arrow.RecordBatch, i int) string {
	var cells []string
	for c, f := range batch.Schema().Fields() {
		cells = append(cells, fmt.Sprintf("%s=%s", f.Name, rows.Text(batch.Column(c), i)))
	}
	return strings.Join(cells, ", ")
}

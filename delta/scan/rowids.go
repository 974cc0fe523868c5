package scan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// rowIDColumns are the columns that row tracking adds, in their order.
var rowIDColumns = []string{delta.RowIDColumn, delta.RowCommitVersionColumn}

// withRowIDs appends the columns of row tracking.
func withRowIDs(snap *delta.Snapshot, columns *arrow.Schema) (*arrow.Schema, error) {
	if !snap.TracksRows() {
		return nil, fmt.Errorf("%w: the table does not track rows, so they have no ids: enable row tracking (delta.enableRowTracking)", delta.ErrInput)
	}
	fields := slices.Clone(columns.Fields())
	for _, name := range rowIDColumns {
		if snap.Schema().Index(name) >= 0 {
			return nil, fmt.Errorf("%w: the table has a column %q, which is also what row ids are called: rename it", delta.ErrInput, name)
		}
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	}
	return arrow.NewSchema(fields, nil), nil
}

// isRowID says whether a wanted column is one of row tracking, and not the table's own.
func isRowID(snap *delta.Snapshot, name string) bool {
	return slices.Contains(rowIDColumns, name) && snap.Schema().Index(name) < 0
}

// derived is a column of row tracking in one file: what the file holds for a row, and where it holds
// nothing, what follows from the log.
type derived struct {
	stored  bool  // files may hold it
	base    int64 // the value of a row of which the file holds none
	counted bool  // the row's index is added to base
}

func deriveRowID(snap *delta.Snapshot, f *delta.Add, name string) (*derived, error) {
	column, versions := snap.MaterialisedRowIDs()
	d, base, what := &derived{counted: true}, f.BaseRowID, "baseRowId"
	if name == delta.RowCommitVersionColumn {
		d.counted, column, base, what = false, versions, f.CommitVersion, "defaultRowCommitVersion"
	}
	if base == nil {
		return nil, fmt.Errorf("%w: the table tracks rows, but the file has no %s", delta.ErrCorrupt, what)
	}
	d.stored, d.base = column != "", *base
	return d, nil
}

// array makes the column for the n rows of a piece. held is what the file holds, nil for nothing.
func (d *derived) array(mem memory.Allocator, held arrow.Array, p Piece, n int) (arrow.Array, error) {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(n)
	values, _ := held.(*array.Int64)
	for i := range n {
		switch {
		case values != nil && values.IsValid(i):
			b.UnsafeAppend(values.Value(i))
		case d.counted:
			b.UnsafeAppend(d.base + p.Row(i))
		default:
			b.UnsafeAppend(d.base)
		}
	}
	return b.NewArray(), nil
}

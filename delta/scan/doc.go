// Package scan reads the rows of a snapshot as Arrow record batches.
//
// It prunes files by partition values first, by statistics second, and evaluates the condition on
// the rows of what is left: pruning decides which files are looked at, never which rows are
// returned. It never changes a table.
//
// Batches have the snapshot's Arrow schema ([delta.ArrowSchema]) or the requested columns of it:
// partition columns come from the log, columns that a file lacks are NULL. Names are the table's at
// every level, whatever column mapping calls them in files. Rows that a deletion vector deletes are
// not given out; a file whose vector cannot be had is an error, never more rows.
package scan

import (
	"context"
	"iter"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/store"
)

// StatsSource finds the statistics of files whose snapshot did not keep them: element i is the
// JSON text of files[i], "" if it has none.
type StatsSource interface {
	Stats(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]string, error)
}

// Table is what is read.
type Table struct {
	_ struct{}

	Store    store.Store
	Snapshot *delta.Snapshot

	// Stats finds deferred statistics. nil means that files without statistics at hand are read.
	Stats StatsSource

	// Allocator makes the batches. nil means the Go allocator.
	Allocator memory.Allocator

	// Parallelism is the number of files read at once. 0 means the number of processors; 1 means
	// that everything runs on the caller's goroutine.
	Parallelism int
}

// Request is what to read. The zero Request reads every row and column.
type Request struct {
	_ struct{}

	// Columns are the top-level columns wanted, ignoring case, in this order. nil means all.
	Columns []string

	// Where keeps the rows for which it is TRUE. nil keeps all.
	Where expr.Expr

	// RowIDs appends the columns delta.RowIDColumn, the row's stable id, and
	// delta.RowCommitVersionColumn, the version that last changed it. A table that does not track
	// rows, or that has a column of such a name, is an error that wraps delta.ErrInput.
	RowIDs bool

	// Files restricts the read to these files of the snapshot. nil means all.
	Files []*delta.Add
}

func (t Table) allocator() memory.Allocator {
	if t.Allocator == nil {
		return memory.DefaultAllocator
	}
	return t.Allocator
}

func (t Table) parallelism() int {
	if t.Parallelism > 0 {
		return t.Parallelism
	}
	return runtime.GOMAXPROCS(0)
}

// Batches is a sequence of batches. A batch is valid until the next one is asked for; retain it to
// keep it. An error ends the sequence. The consumer may stop early.
type Batches = iter.Seq2[arrow.RecordBatch, error]

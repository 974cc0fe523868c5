package idem

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemtable/idem/internal/plan"
)

// Outcome is how a call ended without an error.
type Outcome int

const (
	// Committed: the call made one version.
	Committed Outcome = iota + 1

	// AlreadyApplied: the table has this run's work, nothing was done.
	AlreadyApplied

	// Superseded: a later version of the same tag is recorded, so this one was skipped, as Delta
	// does. Its own rows may never have been written.
	Superseded

	// Unchanged: there was nothing to do.
	Unchanged
)

func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case AlreadyApplied:
		return "already applied"
	case Superseded:
		return "superseded"
	case Unchanged:
		return "unchanged"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// Result is what a call did. It prints as one line.
type Result struct {
	_ struct{}

	Outcome Outcome

	// Version is the version committed, or the newest version looked at.
	Version int64

	// Recorded is the version recorded for the call's tag, -1 if it has none.
	Recorded int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	// RowsRead is the number of rows given. A skipped call reads none.
	RowsRead int64

	// Inserted, Updated and Deleted are rows of the table.
	Inserted, Updated, Deleted int64

	// UpdatedBySource and DeletedBySource are those of Updated and Deleted that a clause of
	// Merge.NotMatchedBySource changed.
	UpdatedBySource, DeletedBySource int64

	// Identical and Older are source rows of a merge dropped before it: an equal row, or a newer
	// row of the same key, was kept.
	Identical, Older int64

	// Matched is the number of rows of the table whose key is in a merge's source. Of those
	// SkippedOlder were left alone because the source row is older, Ties because it is not newer;
	// TiesDiffering of the ties differ in another column (counted with Merge.CompareTies).
	Matched, SkippedOlder, Ties, TiesDiffering int64

	// UnmatchedDeletes are rows of a merge's source that delete and match nothing.
	UnmatchedDeletes int64

	FilesAdded, FilesRemoved int64

	// FilesRewritten are removed files whose other rows were copied.
	FilesRewritten int64

	// BytesAdded is the size of the files added.
	BytesAdded int64

	// MissingColumns are the table's columns that the rows lacked: they became NULL or their default,
	// or kept their value in an update. Columns that the table generates or numbers are not among
	// them. Fields below a column that the rows had are dotted paths:
	// "address.street", "lines.element.price", "labels.value.text".
	MissingColumns []string

	// AddedColumns are the columns that this call added to the table (Evolve), as dotted paths.
	AddedColumns []string

	// PayloadUnknown says that Txn.VerifyPayload had nothing to compare with: the tag was recorded without a
	// digest, a RESTORE or RewindTxn made it the last one again, or the table has another definition since, by
	// which the rows are others.
	PayloadUnknown bool

	// TxnRetention is the time after which the table forgets tags
	// (delta.setTransactionRetentionDuration): there the guard of a tag ends. 0 means never.
	TxnRetention time.Duration

	// TxnHorizon is the oldest version whose commit the check looked at that gives ErrRestored: it goes back
	// to the commit that settles the answer or, where that was cleaned away, as far as the log does, and then a
	// RESTORE before it is not seen. Of a call that committed it is its own version; -1 if there was no tag.
	TxnHorizon int64
}

func (r *Result) take(c plan.Counts) {
	r.RowsRead, r.Inserted, r.Updated, r.Deleted = c.Read, c.Inserted, c.Updated, c.Deleted
	r.UpdatedBySource, r.DeletedBySource = c.UpdatedBySource, c.DeletedBySource
	r.Identical, r.Older, r.Matched, r.SkippedOlder = c.Identical, c.Older, c.Matched, c.SkippedOlder
	r.Ties, r.TiesDiffering, r.UnmatchedDeletes = c.Ties, c.TiesDiffering, c.Unmatched
	r.FilesAdded, r.FilesRemoved, r.FilesRewritten, r.BytesAdded = c.FilesAdded, c.FilesRemoved, c.FilesRewritten, c.BytesAdded
}

// String is the result as one line: what is zero is left out.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, version %d", r.Outcome, r.Version)
	for _, n := range []struct {
		name string
		n    int64
	}{
		{"read", r.RowsRead}, {"inserted", r.Inserted}, {"updated", r.Updated}, {"deleted", r.Deleted},
		{"updated without a source row", r.UpdatedBySource}, {"deleted without a source row", r.DeletedBySource},
		{"identical", r.Identical}, {"older in the source", r.Older}, {"skipped as older", r.SkippedOlder}, {"ties", r.Ties},
		{"ties differing", r.TiesDiffering}, {"deletes without a match", r.UnmatchedDeletes},
		{"files added", r.FilesAdded}, {"files removed", r.FilesRemoved}, {"files rewritten", r.FilesRewritten},
	} {
		if n.n != 0 {
			fmt.Fprintf(&b, ", %d %s", n.n, n.name)
		}
	}
	if len(r.AddedColumns) > 0 {
		fmt.Fprintf(&b, ", columns added: %s", strings.Join(r.AddedColumns, ", "))
	}
	if r.Recorded >= 0 {
		fmt.Fprintf(&b, ", tag at %d", r.Recorded)
	}
	return b.String()
}

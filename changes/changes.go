// Package changes reads what changed in a table from version to version: Delta's change data feed.
//
// A table keeps a feed while its property delta.enableChangeDataFeed is true. A version whose
// changes its writer wrote down (cdc files) gives those; the others are derived from the files that
// the version added and removed, and from the deletion vectors that grew or shrank. What does not
// change a row, such as a compaction, is no change. A writer that replaces files may tell of rows
// that went and came back equal.
//
// Reading changes nothing. The same range of a table always gives the same changes, so that a job
// which copies them can be run again: see the example of [Rows].
package changes

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/inside"
)

// The columns that stand behind the table's own: what happened to the row, in which version, and
// when that was committed.
const (
	TypeColumn      = "_change_type"
	VersionColumn   = "_commit_version"
	TimestampColumn = "_commit_timestamp"
)

// What TypeColumn says. An update is two rows, before and after.
const (
	Insert          = "insert"
	Delete          = "delete"
	UpdatePreimage  = "update_preimage"
	UpdatePostimage = "update_postimage"
)

// Bound is one end of a range of versions. The zero Bound is the natural end: version 0, or the
// newest version.
type Bound struct {
	kind    boundKind
	version int64
	at      time.Time
}

type boundKind int

const (
	boundNatural boundKind = iota
	boundVersion
	boundTime
)

// Version is the bound at a version, which is in the range.
func Version(v int64) Bound { return Bound{kind: boundVersion, version: v} }

// Time is the bound at an instant: as From the first version that was committed then or later, as To
// the last that was committed then or before.
func Time(at time.Time) Bound { return Bound{kind: boundTime, at: at} }

// Request is which changes to read.
type Request struct {
	_ struct{}

	// From and To bound the versions, both included.
	From, To Bound

	// Columns are the table's columns wanted, ignoring case, in this order. nil means all. The three
	// columns of the feed always follow.
	Columns []string
}

// Rows reads the changes of a range of versions, in the order of versions. Within a version the
// order means nothing. A batch is valid until the next one is asked for; retain it to keep it.
//
// Columns are those of the newest version or, if not every version of the range can be read in them
// (and always under column mapping), those of the range's last version. A column that a version did
// not have yet is NULL. Where the table has column mapping in the whole range, a column that was renamed has its
// last name in all of it.
//
// Errors, all but those of files before the first row: [idem.ErrInput] for a range that is empty, lies
// in the future or before the log's oldest commit, in which the feed was off for a version, or over
// which a column was dropped, made another or NOT NULL, or renamed without column mapping (a restore that the
// range begins with may take columns away from the rows that it removes), and for a column that the table has
// not; [idem.ErrCorrupt] for a file that is missing (a vacuum takes the files of changes, too) or
// damaged; [idem.ErrUnsupported] for a version that needs a feature which idem does not read.
func Rows(ctx context.Context, t *idem.Table, r Request) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		in := inside.Of(t)
		if in == nil {
			yield(nil, inside.Fail(op, "", inputf("the table is nil, or none that Open or Create gave")))
			return
		}
		if ctx == nil {
			yield(nil, in.Fail(op, inputf("the context is nil")))
			return
		}
		f := &feed{in: in, env: in.Env, request: r, kept: map[int64]kept{}, room: keptBytes}
		if err := f.open(ctx); err != nil {
			yield(nil, in.Fail(op, err))
			return
		}
		for batch, err := range f.rows(ctx) {
			if err != nil {
				err = in.Fail(op, err)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

const op = "Changes"

// inputf makes an error of the request.
func inputf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", idem.ErrInput, fmt.Sprintf(format, args...))
}

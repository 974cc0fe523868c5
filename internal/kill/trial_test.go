package kill_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
)

// trials is what trials of one call have in common: what is there before it, and what must be there
// before and after.
type trials struct {
	call
	b       *base
	from    *store.Mem
	disk    *storetest.MemFS // the same on a disk; nil until it is asked for
	began   time.Time
	version int64 // of from
	before  tabletest.Rows
	want    tabletest.Rows
	commits int64           // of one run
	gone    map[string]bool // what one run deletes
}

// newTrials makes one run without faults, which says what a run does.
func newTrials(t *testing.T, b *base, c call) *trials {
	tr := &trials{call: c, b: b, from: b.mem, before: b.model.Rows}
	if c.start != nil {
		b.clock.set(b.lastCommit())
		tr.from = c.start(t, b)
	}
	tr.began = b.lastCommit().Add(time.Hour + c.age)
	tr.version = versionOf(t, tr.from)
	after := b.model.Clone()
	if c.after != nil {
		c.after(after)
	}
	tr.want = after.Rows

	st := tr.fresh()
	require.Equal(t, c.none || c.steps, c.whole != nil)
	outcome, err := tr.do(tr.b.ctx, st)
	require.NoError(t, err)
	require.Equal(t, idem.Committed, outcome)
	tr.commits = versionOf(t, st) - tr.version
	switch {
	case c.none:
		require.Zero(t, tr.commits)
	case c.steps:
		require.Positive(t, tr.commits)
	default:
		require.EqualValues(t, 1, tr.commits, "a verb makes one version")
	}
	tr.gone = keysOf(t, tr.from)
	for key := range keysOf(t, st) {
		delete(tr.gone, key)
	}
	if c.whole != nil {
		require.False(t, c.whole(t, tr, tr.fresh()), "there is work to do")
		require.True(t, c.whole(t, tr, st))
	}
	tr.settled(t, st)
	return tr
}

// lastCommit is when the base was last written to.
func (b *base) lastCommit() time.Time { return born.Add(baseVersion * time.Minute) }

// fresh is a copy of what is there before the call, at the time of the call.
func (tr *trials) fresh() *store.Mem {
	tr.b.clock.set(tr.began)
	return tr.from.Clone()
}

func (tr *trials) do(ctx context.Context, st store.Store) (idem.Outcome, error) {
	return tr.run(ctx, tr.b, st, tr.b.options())
}

// claim holds what a call said against what is there, before anything is run again. It tells
// whether the work of the call is there as a whole.
func (tr *trials) claim(t *testing.T, st store.Store, outcome idem.Outcome, err error) bool {
	version := versionOf(t, st)
	made := version - tr.version
	require.GreaterOrEqual(t, made, int64(0), "no version is lost")
	require.LessOrEqual(t, made, tr.commits, "one run makes no more versions than a run without faults")
	landed := made == tr.commits && (tr.whole == nil || tr.whole(t, tr, st))
	switch {
	case err == nil:
		require.Equal(t, idem.Committed, outcome)
		require.True(t, landed, "what was acknowledged is there")
	case errors.Is(err, idem.ErrUnknownOutcome), errors.Is(err, storetest.ErrCrashed), errors.Is(err, errUnanswered):
	case errors.Is(err, storetest.ErrInjected), errors.Is(err, store.ErrNotExist), errors.Is(err, store.ErrExist),
		errors.Is(err, syscall.ENOSPC), classified(err):
		require.False(t, landed, "a call that failed for certain did not do its work: %v", err)
	default:
		t.Fatalf("an error of no kind: %v", err)
	}
	if version < 0 {
		return landed
	}
	want := tr.before
	if landed {
		want = tr.want
	}
	tr.holds(t, st, want)
	return landed
}

// errUnanswered is with the error of a call that makes no version and whose store did what it gave no answer to.
// Nobody looks for what became of advice: such a call may have done its work.
var errUnanswered = errors.New("the answer was lost")

// classified tells whether an error is one that a caller can decide by.
func classified(err error) bool {
	for _, s := range []error{idem.ErrConflict, idem.ErrInput, idem.ErrUnsupported, idem.ErrCorrupt, idem.ErrNotTable} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// holds compares the rows of the newest version, whose files must all be there.
func (tr *trials) holds(t *testing.T, st store.Store, want tabletest.Rows) *idem.Table {
	table, err := idem.OpenStore(tr.b.ctx, st, tr.b.options())
	require.NoError(t, err)
	got, err := scanned(tr.b.ctx, table)
	require.NoError(t, err)
	require.Empty(t, want.Diff(got))
	return table
}

func scanned(ctx context.Context, table *idem.Table) (tabletest.Rows, error) {
	rows := tabletest.Rows{}
	for b, err := range table.Scan(ctx, idem.Scan{Columns: []string{"day", "id", "seq", "v"}}) {
		if err != nil {
			return nil, err
		}
		if err := rows.AddBatch(b); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// settled holds a table against one run of the call, and its log and files against every rule.
func (tr *trials) settled(t *testing.T, st store.Store) {
	table := tr.holds(t, st, tr.want)
	if !tr.steps {
		require.Equal(t, tr.version+tr.commits, table.Version(), "two runs are one")
	}
	if tr.check != nil {
		tr.check(t, tr.b.ctx, table)
	}
	found, err := logcheck.Check(tr.b.ctx, st)
	require.NoError(t, err)
	require.Empty(t, found.Findings)
}

// again runs the call once more, as a process that knows nothing of the first, and holds the table
// against one run.
func (tr *trials) again(t *testing.T, st store.Store, landed bool) {
	if !tr.twice || !landed {
		_, err := tr.do(tr.b.ctx, st)
		require.NoError(t, err, "the second run")
	}
	tr.settled(t, st)
}

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
)

// Clock tells the time and waits.
type Clock = logio.Clock

const (
	defaultBudget   = 2 * time.Minute
	defaultReadBack = 10 * time.Second
	firstPause      = 50 * time.Millisecond
	longestPause    = 2 * time.Second
)

// Planner makes the plan of one call.
type Planner interface {
	// Plan gives what is to be committed on top of snap, nil if there is nothing to do. snap is nil
	// while there is no table. It is called again, with a newer snapshot, each time that the last
	// plan was overtaken: nothing of the last plan was committed then, nor ever will be. TxnID must
	// be the same each time. An error ends the call.
	Plan(ctx context.Context, snap *delta.Snapshot) (*commit.Intent, error)
}

// Tagged is a Planner that tells its tag ahead, so that a call whose work is in the table reads no
// row. ok is false without a tag.
type Tagged interface {
	Planner
	Tag() (tag commit.Tag, reapply, ok bool)
}

// Engine commits to one table. Log and Store must be set.
type Engine struct {
	Log   *logio.Log
	Store store.Store

	// Clock and Rand (bytes for the jitter of pauses) may be nil: the machine's. A Clock with a
	// method WithTimeout(ctx, d) (ctx, cancel) also makes the deadlines of single store calls.
	Clock Clock
	Rand  io.Reader

	// CommitBudget ends the attempts of one commit. The time that planners take does not count, but
	// no new plan is asked for after it. 0 means 2 minutes.
	CommitBudget time.Duration

	// ReadBackTimeout bounds looking for the outcome of one proposal. 0 means 10 seconds.
	ReadBackTimeout time.Duration

	// SkipAfterCommit leaves checksum files, checkpoints and the clean-up of the log to others.
	SkipAfterCommit bool

	// Logger takes what was decided. nil discards.
	Logger *slog.Logger
}

// Kind is how a call ended without an error.
type Kind int

const (
	Committed Kind = iota + 1
	AlreadyApplied
	Superseded
	Unchanged

	// NotCommitted is an answer of Resolve only: the commit is not in the table and never will be.
	NotCommitted
)

func (k Kind) String() string {
	switch k {
	case Committed:
		return "committed"
	case AlreadyApplied:
		return "already applied"
	case Superseded:
		return "superseded"
	case Unchanged:
		return "unchanged"
	case NotCommitted:
		return "not committed"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Outcome is how a call ended. With an error only Attempts, Version and Snapshot say something.
type Outcome struct {
	Kind     Kind
	Version  int64            // the version committed, or the newest one looked at; -1 if there is none
	Snapshot *delta.Snapshot  // the table at Version; nil if there is none
	Attempts int              // proposals sent
	Plans    int              // how often the planner was asked
	Recorded int64            // the version recorded for the tag, -1 without a tag or record
	Tag      commit.TagAnswer // what the table said of the tag, when that ended the call
}

// UnknownError says that a commit may or may not have landed. It wraps commit.ErrUnknownOutcome and
// holds what Resolve needs. The files named must stay.
type UnknownError struct {
	Version  int64 // where the commit was proposed
	TxnID    string
	TableID  string      // "" if the table was being created
	Tag      *commit.Tag // whose record proves that the commit landed; nil if there is none
	Files    []string    // keys of the files that the commit adds
	Attempts int
	Cause    error // the last answer of the store
}

func (e *UnknownError) Error() string {
	last := strings.ReplaceAll(fmt.Sprint(e.Cause), "\n", "; ")
	return fmt.Sprintf("commit %d was sent (attempts: %d) and no answer could be had (last: %s): it may have landed or land later, so its data files stay; look for transaction %s, or call again where that is safe",
		e.Version, e.Attempts, last, e.TxnID)
}

// Unwrap gives the sentinel and the cause.
func (e *UnknownError) Unwrap() []error {
	if e.Cause == nil {
		return []error{commit.ErrUnknownOutcome}
	}
	return []error{commit.ErrUnknownOutcome, e.Cause}
}

// Commit carries out one call. snap is the snapshot to begin with, the newest that the caller has
// seen; nil if there is no table yet. A cached snapshot will do.
//
// Errors: commit.ErrConflict, commit.ErrUnknownOutcome (as *UnknownError), commit.ErrRestored,
// delta.ErrUnsupported, the planner's, the context's, or the store's. But for
// commit.ErrUnknownOutcome, an error means that nothing was committed and never will be.
func (e *Engine) Commit(ctx context.Context, snap *delta.Snapshot, planner Planner) (Outcome, error) {
	r := &run{e: e.filled(), planner: planner, snap: snap}
	m, step := commit.Start()
	for step.Kind != commit.StepDone {
		event, version := r.take(ctx, m, step)
		m, step = m.Next(event, version)
	}
	return r.finish(ctx, step)
}

// filled is a copy with every default in place.
func (e *Engine) filled() *Engine {
	f := *e
	if f.Clock == nil {
		f.Clock = logio.SystemClock{}
	}
	if f.Rand == nil {
		f.Rand = rand.Reader
	}
	if f.CommitBudget == 0 {
		f.CommitBudget = defaultBudget
	}
	if f.ReadBackTimeout == 0 {
		f.ReadBackTimeout = defaultReadBack
	}
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	return &f
}

// timeout bounds one store call. The loop measures time by the Clock; this only keeps a call that
// hangs from holding it up.
func (e *Engine) timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c, ok := e.Clock.(interface {
		WithTimeout(context.Context, time.Duration) (context.Context, context.CancelFunc)
	}); ok {
		return c.WithTimeout(ctx, d)
	}
	return context.WithTimeout(ctx, d)
}

// CheckTag says whether the work of a tag is in a snapshot's table, reading back as many commits as
// that takes: none if nothing at or above the version is recorded.
func (e *Engine) CheckTag(ctx context.Context, snap *delta.Snapshot, tag commit.Tag) (commit.TagAnswer, error) {
	return checkTag(snap, tag, func(v int64) ([]delta.Action, error) {
		actions, _, err := e.Log.ReadCommit(ctx, v)
		return actions, err
	})
}

// CheckTags is [Engine.CheckTag] for some tags, which reads no commit twice. A table that was dropped meanwhile is
// commit.ErrConflict: what was read may be another's.
func (e *Engine) CheckTags(ctx context.Context, snap *delta.Snapshot, tags ...commit.Tag) ([]commit.TagAnswer, error) {
	known := map[int64][]delta.Action{}
	read := func(v int64) ([]delta.Action, error) {
		if actions, ok := known[v]; ok {
			return actions, nil
		}
		actions, _, err := e.Log.ReadCommit(ctx, v)
		if err == nil {
			known[v] = commit.Essence(actions)
		}
		return actions, err
	}
	out := make([]commit.TagAnswer, len(tags))
	for i, tag := range tags {
		var err error
		if out[i], err = checkTag(snap, tag, read); err != nil {
			return nil, err
		}
	}
	if len(known) == 0 {
		return out, nil
	}
	switch same, err := e.Log.Same(ctx, snap); {
	case err != nil:
		return nil, err
	case !same:
		return nil, fmt.Errorf("the table changed its log while its tags were looked for: open it again: %w", commit.ErrConflict)
	}
	return out, nil
}

func checkTag(snap *delta.Snapshot, tag commit.Tag, read func(v int64) ([]delta.Action, error)) (commit.TagAnswer, error) {
	walk := commit.NewTagWalk(tag, commit.RecordsOf(snap, tag.AppID))
	for v, more := walk.Next(); more; v, more = walk.Next() {
		actions, err := read(v)
		switch {
		case errors.Is(err, store.ErrNotExist):
			walk.Missing()
		case err != nil:
			return commit.TagAnswer{}, fmt.Errorf("look for the tag %s: %w", tag, err)
		default:
			walk.Give(actions)
		}
	}
	return walk.Answer(), nil
}

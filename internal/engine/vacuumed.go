package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
)

// vacuumed says whether a vacuum may have taken files that a commit is about to name. A vacuum leaves
// files alone that are younger than the table's retention; those of a call that has been under way for
// about as long (the process slept, or its input came that slowly) have lost that protection. Then the
// commits since are asked for a vacuum, which may still be deleting, and the store for the files:
// vacuums of others leave no trace.
func (r *run) vacuumed(ctx context.Context) error {
	if r.snap == nil || r.wrote.IsZero() {
		return nil
	}
	files := r.in.Files()
	age, retention := r.e.Clock.Now().Sub(r.wrote), r.snap.TombstoneRetention()
	if len(files) == 0 || age < retention-retention/8 || age < firstVacuum {
		return nil
	}
	why, err := r.vacuumSince(ctx)
	for i := 0; i < len(files) && err == nil && why == ""; i++ {
		_, err = r.e.Store.Head(ctx, files[i])
		if errors.Is(err, store.ErrNotExist) {
			why, err = files[i]+" is gone", nil
		}
	}
	if err != nil || why == "" {
		return err
	}
	return fmt.Errorf("the call has been under way for %s, the table's files may be deleted after %s, and %s: what was written may be lost, and the commit was not made; call again: %w",
		age, retention, why, commit.ErrConflict)
}

// firstVacuum is the age up to which nobody is asked, on tables whose retention is next to nothing.
const firstVacuum = 10 * time.Minute

// vacuumSince tells of a vacuum that began after the call did, "" if there was none.
func (r *run) vacuumSince(ctx context.Context) (string, error) {
	found := ""
	err := r.e.Log.ReadCommits(ctx, r.first+1, r.snap.Version(), func(v int64, actions []delta.Action) error {
		if info := delta.InfoOf(actions); info != nil && strings.HasPrefix(info.Operation, "VACUUM") {
			found = fmt.Sprintf("version %d is a vacuum", v)
		}
		return nil
	})
	if errors.Is(err, store.ErrNotExist) {
		return "the log does not reach back to when it began", nil
	}
	return found, err
}

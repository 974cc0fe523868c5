package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
)

// discardTimeout bounds the removal of files that nothing refers to.
const discardTimeout = 30 * time.Second

// discard removes files that no commit ever named, as well as it can: what stays is unreferenced.
func (e *Env) discard(files []*delta.Add) {
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.Key
	}
	e.discardKeys(keys)
}

// discardVectors removes the files of vectors that adds have and no commit ever named.
func (e *Env) discardVectors(files []*delta.Add) { e.discardKeys(e.vectorFiles(files)) }

func (e *Env) discardKeys(keys []string) {
	if len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), discardTimeout)
	defer cancel()
	if err := e.Store.Delete(ctx, keys...); err != nil && e.Logger != nil {
		e.Logger.Warn("unreferenced files stay behind", "files", len(keys), "error", err)
	}
}

// conservation says that rows went missing or were made up: a broken invariant of a planner, or a
// file whose statistics are wrong.
func conservation(f *delta.Add, before, inserted, deleted, after int64) error {
	return fmt.Errorf("%w: %s: %d rows before + %d inserted - %d deleted is not the %d rows after; "+
		"nothing was committed", delta.ErrCorrupt, f.Path, before, inserted, deleted, after)
}

package sim

import (
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
)

// check holds the log against the model, every deletion against the retentions, and every claim
// against the log.
func (w *world) check(l *ledger, when string) {
	if err := l.extend(); err != nil {
		w.fail("%s: the log: %v", when, err)
		return
	}
	if err := l.deletions(); err != nil {
		w.fail("%s: %v", when, err)
		return
	}
	if err := l.filesExist(); err != nil {
		w.fail("%s: %v", when, err)
	}
	for _, c := range w.calls {
		if err := l.claim(c); err != nil {
			w.fail("%s: call %d of %s (%s) claims %q: %v", when, c.n, c.writer, c.job.kind, c.outcome(), err)
		}
	}
}

// keysOf are the keys of the files that a version refers to.
func (l *ledger) keysOf(v int64) map[string]bool {
	keys := map[string]bool{}
	for f := range l.snaps[v].Files() {
		keys[f.Key] = true
		if dv := f.DeletionVector; dv != nil && dv.StorageType != "i" {
			if key, _, err := dv.Locate(l.w.truth.URL()); err == nil {
				keys[key] = true
			}
		}
	}
	return keys
}

// deletions holds what was deleted since the last time against the retentions: no file goes that
// a version refers to which was the newest within the retention, and no commit that is young or that no
// checkpoint stands in for.
func (l *ledger) deletions() error {
	all := l.w.truth.deleted
	keys := map[int64]map[string]bool{}
	for _, d := range all[l.since:] {
		if f := logFile(d.key); f.Kind != delta.Other {
			if err := l.expired(d, f); err != nil {
				return err
			}
			continue
		}
		for v := range l.bytes {
			if l.at[v].After(d.at) {
				break
			}
			if v+1 < len(l.at) && d.at.Sub(l.replaced(int64(v+1))) > l.w.plan.fileAge-3*most {
				continue
			}
			if keys[int64(v)] == nil {
				keys[int64(v)] = l.keysOf(int64(v))
			}
			if keys[int64(v)][d.key] {
				return fmt.Errorf("a file was deleted that a version within the retention needs\n%s, which version %d needs", d.key, v)
			}
		}
	}
	l.since = len(all)
	return nil
}

// replaced is when the files of the version before count as removed: when the commit was made. One that
// slept on its way to the store lands with the time that stands in it.
func (l *ledger) replaced(v int64) time.Time {
	if at, ok := l.by[v].madeAt[v]; ok && at.Before(l.at[v]) {
		return at
	}
	return l.at[v]
}

// expired holds a deletion from the log against the retention.
func (l *ledger) expired(d deletion, f delta.LogFile) error {
	if f.Kind != delta.Commit || f.Version >= int64(len(l.at)) {
		return nil
	}
	if age := d.at.Sub(l.at[f.Version]); age < l.w.plan.logAge-3*most {
		return fmt.Errorf("a commit was deleted before its time\nversion %d was %s old", f.Version, age)
	}
	return nil
}

// filesExist says whether every file that the newest version refers to is there.
func (l *ledger) filesExist() error {
	if l.newest() < 0 {
		return nil
	}
	for f := range l.snaps[l.newest()].Files() {
		if info, err := l.w.truth.Head(l.ctx, f.Key); err != nil || info.Size != f.Size {
			return fmt.Errorf("a live file is gone or has another size\nversion %d needs %s: %v", l.newest(), f.Key, err)
		}
	}
	for key := range l.keysOf(l.newest()) {
		if _, err := l.w.truth.Head(l.ctx, key); err != nil {
			return fmt.Errorf("a live file is gone or has another size\nversion %d needs %s: %v", l.newest(), key, err)
		}
	}
	return nil
}

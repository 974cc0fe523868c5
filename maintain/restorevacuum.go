package maintain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/logio"
)

// What vacuum says in the log. The version of the start, in its end, is ours: of two vacuums at once
// either may end first.
const (
	vacuumStart     = "VACUUM START"
	vacuumEnd       = "VACUUM END"
	vacuumCompleted = "COMPLETED"
	startVersion    = "startVersion"
)

// vacuumLasts is how long after its start a vacuum that has not ended may still be deleting files.
const vacuumLasts = 24 * time.Hour

// vacuumed is a start or an end.
type vacuumed struct {
	version int64
	at      time.Time
	info    *delta.CommitInfo
}

// vacuums are the starts and ends in the log, the oldest first.
type vacuums struct {
	list []vacuumed
	upTo int64 // the version up to which the log was looked at
}

// longGone are the files that a vacuum may delete: those whose removal is older than the retention, or
// forgotten.
func (p *restore) longGone(now *delta.Snapshot, files []*delta.Add) []*delta.Add {
	removed, young := removals(now), p.in.Env.Now().Add(vacuumLasts-now.TombstoneRetention())
	return slices.DeleteFunc(slices.Clone(files), func(f *delta.Add) bool {
		at, known := removed[delta.LogicalFile(f.Key, f.DeletionVector)]
		return known && at.After(young)
	})
}

// vacuumed learns which vacuums were at work since it was called last; what was found before they were
// may be gone.
func (p *restore) vacuumed(ctx context.Context, now *delta.Snapshot, old []*delta.Add) error {
	if len(old) == 0 {
		return nil
	}
	fresh, err := p.cuts.read(ctx, p.in.Log, now, p.in.Env.Now().Add(-vacuumLasts))
	if fresh {
		clear(p.found)
	}
	return err
}

// wary refuses to bring files back that a vacuum may be deleting. It deletes what the table did not have,
// nor had removed within the retention, when it last looked, which was after its start was committed:
// whoever brings such a file back must come before the start, where the vacuum sees it, or
// after the end, where it is seen whether the file is still there.
func (p *restore) wary(now *delta.Snapshot, old []*delta.Add) error {
	removed := removals(now)
	for _, start := range p.cuts.open() {
		retention, known := start.retention()
		before := start.at.Add(-retention)
		for _, f := range old {
			if at, ok := removed[delta.LogicalFile(f.Key, f.DeletionVector)]; known && ok && !at.Before(before) {
				continue
			}
			return fmt.Errorf("%w: a vacuum began at version %d (%s), has not said that it ended, and may be deleting files that version %d needs, such as %s; nothing was changed: "+
				"call again when it has ended; if it died, run VacuumTable again or wait until a day has passed", idem.ErrConflict, start.version, start.at.UTC().Format(time.RFC3339), p.then.Version(), f.Path)
		}
	}
	return nil
}

// removals are the times of the removals that a snapshot knows.
func removals(snap *delta.Snapshot) map[string]time.Time {
	out := map[string]time.Time{}
	for r := range snap.Tombstones() {
		if r.DeletionTimestamp != nil {
			out[delta.LogicalFile(r.Key, r.DeletionVector)] = time.UnixMilli(*r.DeletionTimestamp)
		}
	}
	return out
}

// read takes in what came since it was called last, or since a time. It tells whether a vacuum was at
// work there.
func (v *vacuums) read(ctx context.Context, log *logio.Log, now *delta.Snapshot, since time.Time) (fresh bool, err error) {
	var list []vacuumed
	for c, err := range log.History(ctx, now) {
		if err != nil {
			return false, err
		}
		if c.Version <= v.upTo || c.Timestamp.Before(since) {
			break
		}
		if c.Info != nil && (c.Info.Operation == vacuumStart || c.Info.Operation == vacuumEnd) {
			list = append(list, vacuumed{c.Version, time.UnixMilli(c.Info.Timestamp), c.Info})
		}
	}
	slices.Reverse(list)
	v.list, v.upTo = append(v.list, list...), now.Version()
	return len(list) > 0, nil
}

// open are the starts whose vacuum may not have ended.
func (v *vacuums) open() []vacuumed {
	var open []vacuumed
	for _, c := range v.list {
		if c.info.Operation == vacuumStart {
			open = append(open, c)
			continue
		}
		open = c.ends(open)
	}
	return open
}

// ends takes out what an end ends: its own start, the newest unless it says which, and, if it carried out all
// it meant to, those before that would have deleted no more.
func (c vacuumed) ends(open []vacuumed) []vacuumed {
	text, ours := c.info.OperationParameters[startVersion].(string)
	own := len(open) - 1
	if ours {
		own = slices.IndexFunc(open, func(s vacuumed) bool { return strconv.FormatInt(s.version, 10) == text })
	}
	if own < 0 {
		return open
	}
	most, known := open[own].retention()
	completed := ours && known && c.info.OperationParameters["status"] == vacuumCompleted
	var left []vacuumed
	for i, s := range open {
		least, told := s.retention()
		if i == own || completed && i < own && told && least >= most {
			continue
		}
		left = append(left, s)
	}
	return left
}

// retention is the age from which a vacuum deletes files.
func (c vacuumed) retention() (time.Duration, bool) {
	for _, name := range []string{"specifiedRetentionMillis", "defaultRetentionMillis"} {
		switch v := c.info.OperationParameters[name].(type) {
		case json.Number:
			ms, err := v.Int64()
			return time.Duration(ms) * time.Millisecond, err == nil
		case string:
			ms, err := strconv.ParseInt(v, 10, 64)
			return time.Duration(ms) * time.Millisecond, err == nil
		}
	}
	return 0, false
}

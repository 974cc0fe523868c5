package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// kept says what is wrong with what was told of the log's upkeep: what was made, or was there already, is there, or
// went with a clean-up since, and what was deleted is gone.
func (l *ledger) kept(c *call) error {
	switch c.job.kind {
	case checkpoint:
		if err := l.looked(c); err != nil {
			return err
		}
		if v := c.res.Version; !l.hasCheckpoint(v) {
			return fmt.Errorf("there is no checkpoint\nof version %d", v)
		}
	case compactLog:
		first := c.job.to
		if _, err := l.store.Head(l.ctx, delta.CompactionKey(first, first+int64(c.job.back))); err != nil {
			return fmt.Errorf("there is no compaction\nof versions %d to %d: %v", first, first+int64(c.job.back), err)
		}
	case cleanUpLog:
		return l.cleanedUp(c)
	}
	return nil
}

// hasCheckpoint says whether a version has, or had, a checkpoint.
func (l *ledger) hasCheckpoint(v int64) bool {
	begin := fmt.Sprintf("%s%020d.", delta.LogDir, v)
	for _, s := range []store.Store{l.store.Mem, l.store.gone} {
		for info := range s.List(l.ctx, delta.LogDir, begin) {
			if !strings.HasPrefix(info.Key, begin) {
				break
			}
			if isCheckpoint(logFile(info.Key)) {
				return true
			}
		}
	}
	return false
}

func isCheckpoint(f delta.LogFile) bool {
	return f.Kind == delta.Checkpoint || f.Kind == delta.CheckpointUUID
}

// cleanedUp holds a clean-up against what is gone, and one that found nothing against what was there to be found:
// commits before a checkpoint, both of them expired by any clock.
func (l *ledger) cleanedUp(c *call) error {
	if c.res.Outcome == idem.Committed {
		inLog := func(d deletion) bool { return strings.HasPrefix(d.key, delta.LogDir) }
		if !slices.ContainsFunc(l.w.truth.deleted[c.before:c.gone], inLog) {
			return errors.New("nothing of the log was deleted")
		}
		return nil
	}
	if c.stale || c.wrong { // a checkpoint whose bytes come wrong stands in for nothing
		return nil
	}
	limit := c.began.Add(-l.w.plan.logAge - most).Truncate(24 * time.Hour).Add(-most) // of versions that landed at once the later are a little younger
	if latest := c.began.Add(-time.Hour - most); latest.Before(limit) {
		limit = latest
	}
	first, standIn := int64(-1), int64(-1)
	for info := range l.store.Mem.List(l.ctx, delta.LogDir, "") {
		switch f := logFile(info.Key); {
		case f.Kind == delta.Commit && first < 0:
			first = f.Version
		case isCheckpoint(f) && f.Version <= c.newest && !l.at[f.Version].After(limit) && info.ModTime.Before(c.began):
			standIn = max(standIn, f.Version)
		}
	}
	if first >= 0 && first < standIn {
		return fmt.Errorf("there was something to delete\nversion %d, which the checkpoint of version %d stands in for", first, standIn)
	}
	return nil
}

// untidy says what an optimize would have had to do, whatever else: files with deletion vectors, and two files of a
// partition that none made. All of them are small.
func (l *ledger) untidy(snap *delta.Snapshot) error {
	loose := map[string]*delta.Add{}
	for f := range snap.Files() {
		day := ""
		if l.w.plan.partitioned {
			v, err := snap.PartitionValue(f, "day")
			if err != nil {
				return err
			}
			day = *v
		}
		switch other := loose[day]; {
		case f.DeletionVector != nil:
			return fmt.Errorf("a file has a deletion vector\nversion %d has %s", snap.Version(), f.Path)
		case f.Tags["OPTIMIZE_TARGET_SIZE"] != "":
		case other != nil:
			return fmt.Errorf("two files of a partition are one file's worth\nversion %d has %s and %s", snap.Version(), f.Path, other.Path)
		default:
			loose[day] = f
		}
	}
	return nil
}

// unneeded says what a vacuum that looked at everything would have had to delete: an object that was old by any clock,
// and that no version needs which was the newest since.
func (l *ledger) unneeded(c *call) error {
	if c.job.lite || c.stale {
		return nil
	}
	before := c.began.Add(-l.w.plan.fileAge - 2*most)
	var needed map[string]bool
	for info := range l.store.Mem.List(l.ctx, "", "") {
		if !info.ModTime.Before(before) || hidden(info.Key) {
			continue
		}
		if needed == nil {
			needed = l.neededSince(c.res.Version, before)
		}
		if !needed[info.Key] {
			return fmt.Errorf("there was something to delete\n%s, which version %d does not need, nor one before it from %s on", info.Key, c.res.Version, before)
		}
	}
	return nil
}

// hidden says whether a vacuum leaves an object alone for its name.
func hidden(key string) bool {
	for i, element := range strings.Split(key, "/") {
		if (strings.HasPrefix(element, "_") || strings.HasPrefix(element, ".")) && !(i == 0 && element == "_change_data") {
			return true
		}
	}
	return false
}

// neededSince are the keys of the files of a version, and of those before it that were the newest after a time.
func (l *ledger) neededSince(v int64, at time.Time) map[string]bool {
	keys := map[string]bool{}
	for ; v >= 0; v-- {
		maps.Copy(keys, l.keysOf(v))
		if l.at[v].Before(at) {
			break
		}
	}
	return keys
}

// switches are the properties by which features act.
var switches = map[string]string{
	"deletionVectors": "delta.enableDeletionVectors", "changeDataFeed": "delta.enableChangeDataFeed", "inCommitTimestamp": "delta.enableInCommitTimestamps",
	"rowTracking": "delta.enableRowTracking", "v2Checkpoint": "delta.checkpointPolicy", "columnMapping": "delta.columnMapping.mode",
}

// enabled says whether a feature is on in the version that a call names.
func (l *ledger) enabled(c *call) error {
	snap, name := l.snaps[c.res.Version], c.job.what
	want := map[string]string{"v2Checkpoint": "v2", "columnMapping": "name"}[name]
	if want == "" {
		want = "true"
	}
	if value, _ := snap.Property(switches[name]); value != want || !snap.Protocol().Supports(name) {
		return fmt.Errorf("the feature is not on\nversion %d has %s = %q", c.res.Version, switches[name], value)
	}
	return nil
}

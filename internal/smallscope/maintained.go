package smallscope

import (
	"fmt"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
)

// maintained says what is wrong with the answer of an Optimize or a Vacuum that ended at a version, whether it
// found something to do or not.
func (c *checks) maintained(d *disk, e *ending, j *job, v *version) error {
	switch {
	case j.op == Optimize && e.outcome == idem.Committed && !v.before.mergeable():
		return fmt.Errorf("it was told %q, and there was nothing to do", e)
	case j.op == Optimize && e.outcome == idem.Unchanged && v.mergeable():
		return fmt.Errorf("it was told %q, and had work to do there", e)
	case j.op == Vacuum:
		for _, key := range c.unneeded(v) {
			if d.get(key) != nil {
				return fmt.Errorf("it was told %q, and file %s is still there", e, key)
			}
		}
	}
	return nil
}

// mergeable says whether Optimize has something to do at a version, whose files are all small: a file with a
// deletion vector, or two files of one partition that no Optimize made.
func (v *version) mergeable() bool {
	fresh := map[string]bool{}
	for f := range v.snap.Files() {
		day := *f.PartitionValues["day"]
		made := f.Tags["OPTIMIZE_TARGET_SIZE"] != ""
		if f.DeletionVector != nil || !made && fresh[day] {
			return true
		}
		fresh[day] = fresh[day] || !made
	}
	return false
}

// unneeded are the files from before the pair began, all older than the retention, that no version from then up to
// the one given refers to.
func (c *checks) unneeded(v *version) []string {
	if v.unneeded != nil {
		return *v.unneeded
	}
	needed := map[string]bool{}
	for at := v; at != nil && at.number >= c.base.number; at = at.before {
		for f := range at.snap.Files() {
			needed[f.Key] = true
			if dv := f.DeletionVector; dv != nil && dv.StorageType != "i" {
				if key, _, err := dv.FileKey("mem:///"); err == nil {
					needed[key] = true
				}
			}
		}
	}
	var keys []string
	for _, o := range c.x.base.whole.objects {
		if !strings.HasPrefix(o.key, delta.LogDir) && !needed[o.key] {
			keys = append(keys, o.key)
		}
	}
	v.unneeded = &keys
	return keys
}

// kept says what is wrong with what a checkpoint and a clean-up of the log said. The commits of the table as the pair
// began have expired, those of the pair have not: so what a clean-up deletes is all that is before the last of the
// former, if that one has a checkpoint.
func (c *checks) kept(d *disk, by author, e *ending, tip *version) error {
	if e.version < c.base.number || e.version > tip.number {
		return fmt.Errorf("it was told %q; when it began the newest version was %d, now it is %d", e, c.base.number, tip.number)
	}
	made := d.ever(delta.CheckpointKey(e.version))
	switch {
	case made == nil:
		return fmt.Errorf("it was told %q, and nobody wrote that checkpoint", e)
	case e.outcome == idem.Unchanged && made.by == by, e.outcome == idem.Committed && made.by != by && made.by.writer == by.writer:
		return fmt.Errorf("it was told %q, and the checkpoint is by writer %d, started again %d times", e, made.by.writer+1, made.by.life)
	case e.outcome == idem.Committed && d.get(delta.LastCheckpointKey) == nil:
		return fmt.Errorf("it was told %q, and no hint names a checkpoint", e)
	}
	return c.cleaned(d, by, e)
}

// cleaned is the part about the clean-up.
func (c *checks) cleaned(d *disk, by author, e *ending) error {
	var expired, left int64
	for _, o := range c.x.base.whole.objects {
		name, inLog := strings.CutPrefix(o.key, delta.LogDir)
		if f := delta.ParseLogFile(name); inLog && f.Kind != delta.Other && f.Version < c.base.number {
			expired++
			left += int64(b2u(d.get(o.key) != nil))
		}
	}
	said := e.cleaned
	committed := said.Outcome == idem.Committed
	alone := by.life == 0 && c.x.pair.First != c.x.pair.Second // nobody else can have deleted them
	stands := d.ever(delta.CheckpointKey(c.base.number)) != nil
	switch {
	case said.Skipped != "", !committed && said.Outcome != idem.Unchanged, committed != (said.Files > 0), committed != (said.Oldest == c.base.number),
		!committed && said.Oldest != -1, said.Files > expired:
		return fmt.Errorf("it was told %q", e)
	case stands && left > 0, !stands && left < expired:
		return fmt.Errorf("it was told %q, and of %d files that have expired %d are left (a checkpoint stands in for them: %t)", e, expired, left, stands)
	case committed && !stands, alone && stands && said.Files != expired:
		return fmt.Errorf("it was told %q, and %d files have expired (a checkpoint stands in for them: %t)", e, expired, stands)
	}
	return nil
}

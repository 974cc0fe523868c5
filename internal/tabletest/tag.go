package tabletest

import "slices"

// Gap is the versions above From, up to To.
type Gap struct{ From, To int64 }

func (g Gap) has(v int64) bool { return g.From < v && v <= g.To }

// Tag is what a table knows of an app id. -1 is none.
type Tag struct {
	Recorded int64 // the last version that is recorded
	InEffect int64 // the last version whose rows are in the table, in order
	Gaps     []Gap // what restores took back, below a later version that was written since
	Again    int64 // the version that was written last below a later one
}

// NoTag is what a table knows of an app id that it never met.
var NoTag = Tag{Recorded: -1, InEffect: -1, Again: -1}

// Missing says whether a restore took a recorded version back.
func (t Tag) Missing(v int64) bool {
	return v > t.InEffect || slices.ContainsFunc(t.Gaps, func(g Gap) bool { return g.has(v) })
}

// Written is the tag after the rows of a version were written. What a restore took back stays missing: a
// later version that is in effect keeps the record, and below what was recorded the versions above it are
// missing still. Those below it that went with it are superseded.
func (t Tag) Written(v int64) Tag {
	beside := v <= t.InEffect
	var gaps []Gap
	for _, g := range t.Gaps {
		if g.has(v) {
			g.From = v
		}
		if g.From < g.To && (beside || v > t.Recorded || g.From < v) {
			gaps = append(gaps, g)
		}
	}
	if beside {
		t.Gaps, t.Again = gaps, v
		return t
	}
	switch {
	case v > t.Recorded && t.InEffect < t.Recorded:
		gaps = append(gaps, Gap{t.InEffect, t.Recorded})
	case v < t.Recorded:
		gaps = append(gaps, Gap{v, t.Recorded})
	}
	return Tag{Recorded: v, InEffect: v, Gaps: gaps, Again: -1}
}

// Moved is the tag after it was moved on purpose: whatever is below is settled.
func Moved(to int64) Tag { return Tag{Recorded: to, InEffect: to, Again: -1} }

// Restored is the tag when the table becomes what it was when the tag was then. The record stays, but for
// one that was moved back since, whose rows come again.
func (t Tag) Restored(then Tag) Tag {
	then.Recorded = max(t.Recorded, then.InEffect)
	return then
}

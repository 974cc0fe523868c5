package commit

import (
	"strings"

	"github.com/idemtable/idem/delta"
)

// A TagWalk finds out whether a tag is in effect. It follows the history that is in effect from the
// newest commit back, jumping from each RESTORE to the version that it restored, to the commit that
// settles it. It asks for one commit at a time, and for none when the records
// settle the answer:
//
//	for v, more := walk.Next(); more; v, more = walk.Next() { walk.Give(commit v) or walk.Missing() }
//
// A record below the tag's version is "not applied" whatever happened to it, as for every engine. A
// version below the record is superseded, unless a RESTORE took it away: one that took back versions up to
// T took all of them that are not in the history in effect, until one of them is written again. That one
// supersedes those of the same RESTORE that are below it.
type TagWalk struct {
	tag     Tag
	records Records
	phase   walkPhase
	next    int64
	jump    int64 // the newest RESTORE met, -1 if none
	scan    int64 // where the scan of the raw log starts, below that RESTORE
	target  int64 // where the history in effect goes on while the top of a RESTORE is looked for
	restore *restoreDiff
	answer  TagAnswer

	first   bool  // no record in effect was met yet
	later   int64 // the least version above the tag's that was met in effect; Cleared if none
	stretch bool  // one was met since the last RESTORE
	own     bool  // the newest RESTORE met is of this engine: the records tell what it did
	gone    bool  // a RESTORE took the version away, unless it is found further back
	passed  bool  // one of the versions that went with it was written again, and is above it
}

type walkPhase int

const (
	walkDone    walkPhase = iota
	walkEffect            // follow the history in effect
	walkResolve           // find the version that a RESTORE without a usable number restored
	walkTop               // find the record that stood before a RESTORE
	walkScan              // the history in effect leaves the log: look for the record in what was restored away
)

// NewTagWalk starts a walk over the log that ends in the version of the records.
func NewTagWalk(tag Tag, r Records) *TagWalk {
	w := &TagWalk{tag: tag, records: r, next: r.Tip, jump: -1, first: true, later: Cleared}
	w.answer = TagAnswer{Tag: tag, Recorded: r.Recorded, Effective: -1, At: -1, RestoredBy: -1, Horizon: r.Tip + 1}
	if r.Recorded >= tag.Version && r.Recorded >= 0 {
		w.phase = walkEffect
	}
	return w
}

// Next is the version that the walk wants to see; false when it is done.
func (w *TagWalk) Next() (int64, bool) { return w.next, w.phase != walkDone }

// Answer is the result of a walk that is done.
func (w *TagWalk) Answer() TagAnswer { return w.answer }

// Give hands over the commit that Next named.
func (w *TagWalk) Give(actions []delta.Action) {
	w.answer.Horizon = min(w.answer.Horizon, w.next)
	switch w.phase {
	case walkEffect:
		w.follow(actions)
	case walkResolve:
		w.resolve(actions)
	case walkTop:
		w.top(actions)
	case walkScan:
		w.look(actions)
	}
}

// Missing says that the commit that Next named is not in the log any more.
func (w *TagWalk) Missing() {
	switch {
	case w.phase == walkScan || w.phase == walkTop || w.jump < 0:
		w.believe(w.records)
	default:
		w.phase, w.next = walkScan, w.scan
	}
}

// Engine is what commits of this engine give as engineInfo.
const Engine = "idem"

// rewound is the operation that moves a tag on purpose.
const rewound = "REWIND TXN"

func (w *TagWalk) follow(actions []delta.Action) {
	info := delta.InfoOf(actions)
	if info == nil {
		info = &delta.CommitInfo{}
	}
	restore := strings.EqualFold(info.Operation, "RESTORE")
	if strings.EqualFold(info.Operation, "CLONE") {
		if r := recordsIn(w.next, w.tag.AppID, txnsOf(actions)); r.Recorded >= 0 { // the history before is that of another table
			w.believe(r)
			return
		}
	}
	if v, ok := recorded(actions, AgainAppID(w.tag.AppID)); ok && v != Cleared && !restore && w.meet(v, false) {
		return
	}
	if v, ok := recorded(actions, w.tag.AppID); ok {
		if (v <= w.tag.Version || !restore) && w.meetRecord(v, info.Operation == rewound) {
			return
		}
	}
	if !restore {
		w.down()
		return
	}
	w.back(info, actions)
}

// meetRecord takes a record in effect, and says whether it settles the answer.
func (w *TagWalk) meetRecord(v int64, moved bool) bool {
	if w.first {
		w.first, w.answer.Effective, w.answer.At = false, v, w.next
	}
	switch {
	case v < w.tag.Version:
		w.absent()
		return true
	case moved && v > w.tag.Version:
		w.end(Superseded)
		return true
	}
	return w.meet(v, true)
}

// meet takes a version that a commit in effect wrote.
func (w *TagWalk) meet(v int64, record bool) bool {
	switch {
	case v == w.tag.Version && w.later == Cleared:
		w.end(Applied)
	case v == w.tag.Version:
		w.end(Superseded)
	case v > w.tag.Version:
		w.later, w.stretch = min(w.later, v), w.stretch || record
		return false
	default:
		return false
	}
	return true
}

// absent is the end of a history in effect that never wrote the version. The records know of one that went
// with another that was written again.
func (w *TagWalk) absent() {
	_, inGap := w.records.gap(w.tag.Version)
	switch {
	case inGap && !w.passed:
		w.answer.Beside = true
		w.end(Restored)
	case w.stretch, w.passed, !w.gone && w.later != Cleared:
		w.end(Superseded) // it was passed over
	default:
		w.end(Restored)
	}
}

// back follows a RESTORE.
func (w *TagWalk) back(info *delta.CommitInfo, actions []delta.Action) {
	if w.jump < 0 {
		w.jump, w.scan, w.own = w.next, w.next-1, info.EngineInfo == Engine
		w.answer.RestoredBy = w.next
	}
	w.target = w.next // for the top, which is looked for from below it on
	if target, ok := restoredVersion(info, w.next); ok {
		w.found(target)
		return
	}
	w.restore = newRestoreDiff(actions)
	w.phase = walkResolve
	w.next--
	w.settle()
}

// resolve undoes one commit below a RESTORE and sees whether the table before it is what the
// RESTORE made.
func (w *TagWalk) resolve(actions []delta.Action) {
	w.restore.undo(actions)
	w.next--
	w.settle()
}

func (w *TagWalk) settle() {
	switch {
	case w.next < 0:
		w.phase, w.next, w.gone = walkScan, w.scan, true
		w.stopBelowZero()
	case w.restore.matches():
		w.found(w.next)
	}
}

// found takes the version that a RESTORE went back to. Up to where it took versions away is known without
// looking if nothing above the tag's was written since: the record stands there still.
func (w *TagWalk) found(target int64) {
	at := w.target
	if w.later == Cleared {
		w.gone = true
		w.phase, w.next = walkEffect, target
		return
	}
	w.target, w.phase, w.next = target, walkTop, at-1
	w.topBelowZero()
}

// top looks for the record that stood before a RESTORE.
func (w *TagWalk) top(actions []delta.Action) {
	if v, ok := recorded(actions, w.tag.AppID); ok {
		w.cross(v)
		return
	}
	w.next--
	w.topBelowZero()
}

func (w *TagWalk) topBelowZero() {
	if w.next < 0 {
		w.cross(-1)
	}
}

// cross jumps over a RESTORE that took versions up to a record away: what was met above the version since
// the last one means that the RESTORE there did not. Neither did it if this one, which is older, did.
func (w *TagWalk) cross(top int64) {
	if w.stretch {
		w.stretch, w.gone, w.passed = false, false, false
	}
	if w.tag.Version <= top {
		w.gone, w.passed = true, w.later <= top
	}
	w.phase, w.next = walkEffect, w.target
}

// look searches what was restored away for the record, when the history in effect cannot be
// followed to its end. A record that was moved to the version wrote no rows: whether they were taken away
// is for the records to say, which another engine's RESTORE does not write.
func (w *TagWalk) look(actions []delta.Action) {
	info := delta.InfoOf(actions)
	moved := info != nil && info.Operation == rewound
	if v, ok := recorded(actions, w.tag.AppID); ok && v == w.tag.Version && w.gone && !w.passed && !(w.own && moved) {
		if w.first {
			w.answer.Effective = v - 1 // at most
		}
		w.end(Restored)
		return
	}
	w.next--
	w.stopBelowZero()
}

func (w *TagWalk) stopBelowZero() {
	if w.next < 0 {
		w.believe(w.records)
	}
}

func (w *TagWalk) down() {
	w.next--
	if w.next < 0 {
		w.absent() // no record in the whole history in effect
	}
}

// believe answers from records alone, because the log does not reach back far enough.
func (w *TagWalk) believe(r Records) {
	if w.first {
		w.answer.Effective = r.Effective()
	}
	gap, inGap := r.gap(w.tag.Version)
	switch {
	case w.tag.Version > r.Recorded: // in what a copy was made of
		w.absent()
	case w.tag.Version > r.Undone && w.later > r.Recorded && !w.passed:
		w.end(Restored)
	case inGap && w.later > gap.To:
		w.answer.Beside = true
		w.end(Restored)
	case w.later == Cleared && (w.tag.Version == r.Recorded || w.tag.Version == r.Again):
		w.end(Applied)
	default:
		w.end(Superseded)
	}
}

func (w *TagWalk) end(s TagStatus) {
	w.answer.Status = s
	w.answer.Beside = s == Restored && (w.answer.Beside || w.later != Cleared)
	w.phase = walkDone
}

func txnsOf(actions []delta.Action) func(string) (int64, bool) {
	return func(appID string) (int64, bool) { return recorded(actions, appID) }
}

// Essence is what a walk looks at of a commit.
func Essence(actions []delta.Action) []delta.Action {
	var out []delta.Action
	for _, a := range actions {
		switch {
		case a.CommitInfo != nil, a.Txn != nil:
			out = append(out, a)
		case a.Add != nil:
			out = append(out, delta.Action{Add: &delta.Add{Path: a.Add.Path, DeletionVector: a.Add.DeletionVector}})
		case a.Remove != nil:
			out = append(out, delta.Action{Remove: &delta.Remove{Path: a.Remove.Path, DeletionVector: a.Remove.DeletionVector}})
		}
	}
	return out
}

package commit

import (
	"fmt"
	"strings"

	"github.com/idemtable/idem/delta"
)

// TagStatus says whether the work of a tag is in a table.
type TagStatus int

const (
	// NotApplied: nothing at or above the tag's version is recorded.
	NotApplied TagStatus = iota

	// Applied: exactly this version is what the table has.
	Applied

	// Superseded: a later version is what the table has.
	Superseded

	// Restored: the tag is recorded, but a RESTORE took the commit that recorded it out of effect.
	Restored
)

func (s TagStatus) String() string {
	return [...]string{"not applied", "applied", "superseded", "restored"}[s]
}

// TagAnswer is what a TagWalk found.
type TagAnswer struct {
	Status     TagStatus
	Tag        Tag
	Recorded   int64 // last record in the log; -1 if there is none
	At         int64 // version of the commit in effect that recorded it; -1 if unknown or none
	RestoredBy int64 // version of the newest RESTORE that was followed; -1 if none was met

	// Horizon is the oldest version that was looked at. Where the log does not reach back to the
	// answer, the record alone was believed.
	Horizon int64
}

// Skips says whether the answer makes the call superfluous, or stops it.
func (a TagAnswer) Skips(reapply bool) bool {
	return a.Status == Applied || a.Status == Superseded || a.Status == Restored && !reapply
}

func (a TagAnswer) String() string {
	return fmt.Sprintf("tag %s: %s, recorded version %d", a.Tag, a.Status, a.Recorded)
}

// Records is what a snapshot says of a tag's app id.
type Records struct {
	Tip      int64 // version of the snapshot
	Recorded int64 // -1 if there is no record
	Undone   int64 // version of the undone record; Cleared if there is none
}

// RecordsOf reads the records of a tag's app id.
func RecordsOf(snap *delta.Snapshot, appID string) Records {
	r := Records{Tip: snap.Version(), Recorded: -1, Undone: Cleared}
	if t, ok := snap.Txn(appID); ok {
		r.Recorded = t.Version
	}
	if t, ok := snap.Txn(UndoneAppID(appID)); ok {
		r.Undone = t.Version
	}
	return r
}

// A TagWalk finds out whether a tag is in effect. It follows the history that is in effect from the
// newest commit back, jumping from each RESTORE to the version that it restored, to the first
// commit that recorded the app id. It asks for one commit at a time, and for none when the records
// settle the answer:
//
//	for v, more := walk.Next(); more; v, more = walk.Next() { walk.Give(commit v) or walk.Missing() }
//
// A record below the tag's version is "not applied" whatever happened to it, as for every engine.
type TagWalk struct {
	tag     Tag
	records Records
	phase   walkPhase
	next    int64
	jump    int64 // the newest RESTORE met, -1 if none
	scan    int64 // where the scan of the raw log starts, below that RESTORE
	restore *restoreDiff
	answer  TagAnswer
}

type walkPhase int

const (
	walkDone    walkPhase = iota
	walkEffect            // follow the history in effect
	walkResolve           // find the version that a RESTORE without a usable number restored
	walkScan              // the history in effect leaves the log: look for the record in what was restored away
)

// NewTagWalk starts a walk over the log that ends in the version of the records.
func NewTagWalk(tag Tag, r Records) *TagWalk {
	w := &TagWalk{tag: tag, records: r, next: r.Tip, jump: -1}
	w.answer = TagAnswer{Tag: tag, Recorded: r.Recorded, At: -1, RestoredBy: -1, Horizon: r.Tip + 1}
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
	case walkScan:
		w.look(actions)
	}
}

// Missing says that the commit that Next named is not in the log any more.
func (w *TagWalk) Missing() {
	switch {
	case w.phase == walkScan || w.jump < 0:
		w.believe()
	default:
		w.phase, w.next = walkScan, w.scan
	}
}

func (w *TagWalk) follow(actions []delta.Action) {
	if v, ok := recorded(actions, w.tag.AppID); ok {
		w.finish(v, w.next)
		return
	}
	info := delta.InfoOf(actions)
	if info == nil || !strings.EqualFold(info.Operation, "RESTORE") {
		w.down()
		return
	}
	if w.jump < 0 {
		w.jump, w.scan = w.next, w.next-1
		w.answer.RestoredBy = w.next
	}
	if target, ok := restoredVersion(info, w.next); ok {
		w.next = target
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
		w.phase, w.next = walkScan, w.scan
		w.stopBelowZero()
	case w.restore.matches():
		w.phase = walkEffect
	}
}

// look searches what was restored away for the record, when the history in effect cannot be
// followed to its end.
func (w *TagWalk) look(actions []delta.Action) {
	if v, ok := recorded(actions, w.tag.AppID); ok && v == w.tag.Version {
		w.end(Restored)
		return
	}
	w.next--
	w.stopBelowZero()
}

func (w *TagWalk) stopBelowZero() {
	if w.next < 0 {
		w.believe()
	}
}

func (w *TagWalk) down() {
	w.next--
	if w.next < 0 {
		w.finish(-1, -1) // no record in the whole history in effect
	}
}

// finish compares with the version that is in effect.
func (w *TagWalk) finish(effective, at int64) {
	w.answer.At = at
	switch {
	case effective < w.tag.Version:
		w.end(Restored)
	case effective == w.tag.Version:
		w.end(Applied)
	default:
		w.end(Superseded)
	}
}

// believe answers from the records alone, because the log does not reach back far enough.
func (w *TagWalk) believe() {
	switch {
	case w.tag.Version > w.records.Undone:
		w.end(Restored)
	case w.tag.Version == w.records.Recorded:
		w.end(Applied)
	default:
		w.end(Superseded)
	}
}

func (w *TagWalk) end(s TagStatus) {
	w.answer.Status = s
	w.phase = walkDone
}

func recorded(actions []delta.Action, appID string) (version int64, ok bool) {
	for _, a := range actions {
		if a.Txn != nil && a.Txn.AppID == appID {
			version, ok = a.Txn.Version, true
		}
	}
	return version, ok
}

package commit

import (
	"fmt"

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
	Effective  int64 // newest record in effect; -1 if there is none
	At         int64 // version of the commit in effect that recorded it; -1 if unknown or none
	RestoredBy int64 // version of the newest RESTORE that was followed; -1 if none was met

	// Beside says of a Restored tag that a later version was written since. Its rows can be written again
	// beside that one, whose record stays.
	Beside bool

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

func recorded(actions []delta.Action, appID string) (version int64, ok bool) {
	for _, a := range actions {
		if a.Txn != nil && a.Txn.AppID == appID {
			version, ok = a.Txn.Version, true
		}
	}
	return version, ok
}

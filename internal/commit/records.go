package commit

import (
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
)

// Gap is a range of versions of an app id whose rows a RESTORE took away: those above From, up to To.
type Gap struct{ From, To int64 }

func (g Gap) has(version int64) bool { return g.From < version && version <= g.To }

// Records is what a snapshot says of a tag's app id.
type Records struct {
	Tip      int64 // version of the snapshot
	Recorded int64 // -1 if there is no record

	// Undone is from where on, up to Recorded, versions were taken back and nothing above them was
	// written since; Cleared if there is none.
	Undone int64

	// Gaps are the ranges that were taken back and above which a later version was written since, in
	// order.
	Gaps []Gap

	// Again is the version below Recorded that was written again last; Cleared if there is none.
	Again int64

	slots int // how many gaps ever had records
}

// UndoneAppID is the app id under which a restore records how far it took a tag back.
func UndoneAppID(appID string) string { return namespace + "undone/" + appID }

// GapAppIDs are the app ids under which the i-th gap of an app id is recorded: both are Cleared if there
// is none any more.
func GapAppIDs(i int, appID string) (from, to string) {
	return fmt.Sprintf("%sundoneFrom.%d/%s", namespace, i, appID), fmt.Sprintf("%sundoneTo.%d/%s", namespace, i, appID)
}

// AgainAppID is the app id under which a version is recorded that was written again, while the record of
// the app id is above it and stays.
func AgainAppID(appID string) string { return namespace + "again/" + appID }

// RecordsOf reads the records of a tag's app id.
func RecordsOf(snap *delta.Snapshot, appID string) Records {
	return recordsIn(snap.Version(), appID, func(id string) (int64, bool) {
		t, ok := snap.Txn(id)
		return t.Version, ok
	})
}

func recordsIn(tip int64, appID string, txn func(appID string) (int64, bool)) Records {
	or := func(id string, none int64) int64 {
		if v, ok := txn(id); ok {
			return v
		}
		return none
	}
	r := Records{Tip: tip, Recorded: or(appID, -1), Undone: or(UndoneAppID(appID), Cleared), Again: or(AgainAppID(appID), Cleared)}
	for ; ; r.slots++ {
		from, to := GapAppIDs(r.slots, appID)
		a, ok := txn(from)
		b, both := txn(to)
		if !ok || !both {
			return r
		}
		if a < b && b != Cleared {
			r.Gaps = append(r.Gaps, Gap{a, b})
		}
	}
}

// Effective is the last version whose rows the table has, by its records; -1 if there is none.
func (r Records) Effective() int64 { return max(-1, min(r.Recorded, r.Undone)) }

// gap finds the gap that a version is in.
func (r Records) gap(version int64) (Gap, bool) {
	i := slices.IndexFunc(r.Gaps, func(g Gap) bool { return g.has(version) })
	if i < 0 {
		return Gap{}, false
	}
	return r.Gaps[i], true
}

// Write is what the records are after a version was written and is the record. Above the old record it
// closes a range that was taken back, which becomes a gap. Below it, it was taken back: versions above it are
// not written yet, and are a gap once a later one is. Those below it that went with it are superseded by it.
func (r Records) Write(version int64) Records {
	was := r.Recorded
	open := r.Undone != Cleared && version > was && r.Undone < was
	gaps := r.without(version)
	if open {
		gaps = append(gaps, Gap{max(r.Undone, -1), was})
	}
	if version < was {
		gaps = slices.DeleteFunc(gaps, func(g Gap) bool { return g.From >= version && g.To <= was })
		gaps = append(gaps, Gap{version, was})
	}
	r.Gaps, r.Recorded, r.Undone = gaps, version, Cleared
	return r
}

// without are the gaps when a version and those below it that went with it are in none.
func (r Records) without(version int64) []Gap {
	var out []Gap
	for _, g := range r.Gaps {
		if g.has(version) {
			g.From = version
		}
		if g.From < g.To {
			out = append(out, g)
		}
	}
	return out
}

// WriteBeside is what the records are after a version was written again that is below one that is in the
// table: the record stays, for else the later one would be written twice.
func (r Records) WriteBeside(version int64) Records {
	r.Gaps, r.Again = r.without(version), version
	return r
}

// Rewind is what the records are after the tag was moved on purpose: whatever is below is settled.
func (r Records) Rewind(to int64) Records {
	r.Recorded, r.Undone, r.Gaps = to, Cleared, nil
	return r
}

// Restore is what the records are when the table becomes what it was when it had the records then.
func (r Records) Restore(then Records) Records {
	effective := then.Effective()
	r.Undone, r.Gaps = Cleared, then.Gaps
	switch {
	case r.Recorded > effective:
		r.Undone = effective
	case r.Recorded < effective:
		r.Recorded = effective
	}
	return r
}

// Changes are the txn actions that lead from one state of an app id's records to another, without that
// of the app id itself. All gaps are written if one changes: a reader stops at the first that is
// missing, and records may expire by age.
func (r Records) Changes(to Records, appID string, now int64) []delta.Action {
	var out []delta.Action
	if r.Undone != to.Undone {
		out = append(out, txn(UndoneAppID(appID), to.Undone, now))
	}
	if r.Again != to.Again {
		out = append(out, txn(AgainAppID(appID), to.Again, now))
	}
	if slices.Equal(r.Gaps, to.Gaps) {
		return out
	}
	for i := range max(r.slots, len(to.Gaps)) {
		g := Gap{Cleared, Cleared}
		if i < len(to.Gaps) {
			g = to.Gaps[i]
		}
		from, upTo := GapAppIDs(i, appID)
		out = append(out, txn(from, g.From, now), txn(upTo, g.To, now))
	}
	return out
}

package logcheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
)

// ids are what row tracking gave a file.
type ids struct{ base, version int64 }

const trackingDomain = "delta.rowTracking"

// tracks says whether files get row ids.
func tracks(snap *delta.Snapshot) bool {
	return snap != nil && supported(snap.Protocol())["rowTracking"] && !enabled(snap, "delta.rowTrackingSuspended")
}

// mark is the high-water mark of row ids, -1 if none was given.
func mark(snap *delta.Snapshot) int64 {
	if snap == nil {
		return -1
	}
	d, ok := snap.Domain(trackingDomain)
	var at struct {
		Mark *int64 `json:"rowIdHighWaterMark"`
	}
	if !ok || json.Unmarshal([]byte(d.Configuration), &at) != nil || at.Mark == nil {
		return -1
	}
	return *at.Mark
}

// rowIDs looks at the ids that a commit gives to files.
func (c *checker) rowIDs(s *step) {
	if !tracks(s.after) {
		c.untracked(s)
		return
	}
	was, is := mark(s.before), mark(s.after)
	if is < was {
		c.find(RowIDMark, s.v, s.key, "it was %d and is %d", was, is)
	}
	for _, f := range s.adds {
		if f.BaseRowID == nil || f.CommitVersion == nil {
			c.find(RowIDMissing, s.v, f.Path, "baseRowId or defaultRowCommitVersion is missing")
			continue
		}
		st, ok := delta.ParseStats(f.Stats)
		if ok && st.NumRecords != nil && *f.BaseRowID+*st.NumRecords-1 > is {
			c.find(RowIDRange, s.v, f.Path, "%d ids from %d on, the mark is %d", *st.NumRecords, *f.BaseRowID, is)
		}
		has := ids{*f.BaseRowID, *f.CommitVersion}
		had, again := c.rowIDsOf[f.Key]
		switch {
		case again && had != has:
			c.find(RowIDVersion, s.v, f.Path, "the file has %d and %d, and had %d and %d", has.base, has.version, had.base, had.version)
		case again || s.before == nil || s.returns():
		case s.was(f.Key) != nil: // it gets ids only now
			if has.version > s.v {
				c.find(RowIDVersion, s.v, f.Path, "defaultRowCommitVersion is %d", has.version)
			}
		case has.version != s.v:
			c.find(RowIDVersion, s.v, f.Path, "defaultRowCommitVersion is %d", has.version)
		case has.base <= was:
			c.find(RowIDRange, s.v, f.Path, "its ids begin at %d, and the mark was %d", has.base, was)
		}
		c.rowIDsOf[f.Key] = has
	}
}

// untracked forgets the ids of files that are committed without, and all when the feature is gone.
func (c *checker) untracked(s *step) {
	if !supported(s.after.Protocol())["rowTracking"] {
		clear(c.rowIDsOf)
	}
	for _, f := range s.adds {
		if f.BaseRowID == nil {
			delete(c.rowIDsOf, f.Key)
		}
	}
}

// ranges looks at the ids of all live files.
func (c *checker) ranges() {
	if !c.snap.TracksRows() {
		return
	}
	type span struct {
		first, last int64
		file        *delta.Add
	}
	var all []span
	for f := range c.snap.Files() {
		st, ok := delta.ParseStats(f.Stats)
		switch {
		case f.BaseRowID == nil || f.CommitVersion == nil:
			if c.origins[f.Key].version < c.trackedSince { // an add of its own is told of where it was made
				c.find(RowIDMissing, c.origins[f.Key].version, f.Path, "row tracking is enabled, and the file has no ids")
			}
		case ok && st.NumRecords != nil && *st.NumRecords > 0:
			all = append(all, span{*f.BaseRowID, *f.BaseRowID + *st.NumRecords - 1, f})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(all); i++ {
		if all[i].first <= all[i-1].last {
			c.find(RowIDRange, c.origins[all[i].file.Key].version, all[i].file.Path, "its ids from %d on are those of %s too", all[i].first, all[i-1].file.Path)
			c.doubled = true // row by row it is the same again
		}
	}
}

// person is a row as its id and its commit version make it out.
type person struct {
	version int64
	content string
}

// stable holds rows that a commit says to preserve against what they were. Ids above the mark are
// those of new rows.
func (c *checker) stable(s *step, before, after map[int64]person) {
	limit := mark(s.before)
	for id, is := range after {
		was, ok := before[id]
		switch {
		case id > limit && is.version != s.v:
			c.find(RowIDStable, s.v, s.key, "the new row %d has the commit version %d", id, is.version)
		case id > limit:
		case !ok:
			c.find(RowIDStable, s.v, s.key, "the row %d was in none of the files that it came from", id)
		case was.content == is.content && was.version != is.version && is.version != s.v:
			c.find(RowIDStable, s.v, s.key, "the row %d stayed as it was, and its commit version is %d after %d", id, is.version, was.version)
		case was.content != is.content && is.version != s.v:
			c.find(RowIDStable, s.v, s.key, "the row %d changed, and its commit version is %d", id, is.version)
		default:
			continue
		}
		return // one row for all
	}
}

// unique notes the ids of rows; it says so once if one is that of two.
func (c *checker) unique(f *delta.Add, v int64, id int64, row int64) {
	where := fmt.Sprintf("row %d of %s", row, f.Path)
	if other, twice := c.people[id]; twice && !c.doubled {
		c.doubled = true
		c.find(RowIDUnique, v, f.Path, "%s has the id %d, as %s", where, id, other)
	}
	c.people[id] = where
}

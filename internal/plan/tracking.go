package plan

import (
	"fmt"

	"github.com/idemtable/idem/delta"
)

// preservedTag is the key in commitInfo.tags that says whether every row that a commit copied kept
// its id.
const preservedTag = "delta.rowTracking.preserved"

// preserved are the tags of a commit whose copied rows all keep their ids; nil if rows have none.
func preserved(snap *delta.Snapshot) map[string]string {
	if !snap.TracksRows() {
		return nil
	}
	return map[string]string{preservedTag: "true"}
}

// keepsIDs refuses to copy rows of a table that tracks rows and names no columns to keep their ids in.
func keepsIDs(snap *delta.Snapshot) error {
	if !snap.TracksRows() {
		return nil
	}
	for _, key := range []string{"delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"} {
		if name, _ := snap.Property(key); name == "" {
			return fmt.Errorf("%w: the table tracks rows (delta.enableRowTracking) and lacks the property %s: copied rows would lose their ids; "+
				"enable row tracking anew with the engine that did", delta.ErrCorrupt, key)
		}
	}
	return nil
}

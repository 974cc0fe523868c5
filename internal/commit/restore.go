package commit

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// restoredVersion reads the version that the RESTORE at version at went back to. Engines write it
// as a number, as text or as text that holds JSON; a RESTORE by timestamp has none.
func restoredVersion(info *delta.CommitInfo, at int64) (int64, bool) {
	var text string
	switch v := info.OperationParameters["version"].(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.Trim(v, `" `)
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && n < at
}

// restoreDiff finds the version that a RESTORE went back to from what it added and removed. It
// holds how the table at some version differs from the table just before the RESTORE; where that
// is what the RESTORE did, the version is found. The newest such version is taken: those between
// it and another one with the same files changed no file.
//
// The text of a timestamp would be in the zone of a session that nobody knows.
type restoreDiff struct {
	wantLive, wantGone map[string]struct{}
	live, gone         map[string]struct{}
}

func newRestoreDiff(actions []delta.Action) *restoreDiff {
	d := &restoreDiff{
		wantLive: make(map[string]struct{}), wantGone: make(map[string]struct{}),
		live: make(map[string]struct{}), gone: make(map[string]struct{}),
	}
	for _, a := range actions {
		switch {
		case a.Add != nil:
			d.wantLive[delta.LogicalFile(a.Add.Path, a.Add.DeletionVector)] = struct{}{}
		case a.Remove != nil:
			d.wantGone[delta.LogicalFile(a.Remove.Path, a.Remove.DeletionVector)] = struct{}{}
		}
	}
	return d
}

// undo steps from the table after a commit to the table before it.
func (d *restoreDiff) undo(actions []delta.Action) {
	for _, a := range actions {
		switch {
		case a.Add != nil:
			move(delta.LogicalFile(a.Add.Path, a.Add.DeletionVector), d.live, d.gone)
		case a.Remove != nil:
			move(delta.LogicalFile(a.Remove.Path, a.Remove.DeletionVector), d.gone, d.live)
		}
	}
}

func move(file string, from, to map[string]struct{}) {
	if _, there := from[file]; there {
		delete(from, file)
		return
	}
	to[file] = struct{}{}
}

func (d *restoreDiff) matches() bool {
	return sameKeys(d.live, d.wantLive) && sameKeys(d.gone, d.wantGone)
}

func sameKeys(a, b map[string]struct{}) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			return false
		}
	}
	return true
}

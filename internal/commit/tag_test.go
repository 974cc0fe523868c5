package commit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// history makes commits 0, 1, … from words: "t5" records version 5 of the app, "u2" its undone
// record, "+f" and "-f" add and remove a file, "r3" is a RESTORE to version 3, "R" one by timestamp,
// "" says nothing.
func history(texts ...string) [][]delta.Action {
	out := make([][]delta.Action, len(texts))
	for v, text := range texts {
		info := &delta.CommitInfo{Operation: "WRITE"}
		out[v] = []delta.Action{{CommitInfo: info}}
		for _, word := range strings.Fields(text) {
			var n int64
			fmt.Sscan(word[1:], &n)
			var a delta.Action
			switch word[0] {
			case 't':
				a.Txn = &delta.Txn{AppID: "app", Version: n}
			case 'u':
				a.Txn = &delta.Txn{AppID: commit.UndoneAppID("app"), Version: n}
			case '+':
				a.Add = &delta.Add{Path: word[1:]}
			case '-':
				a.Remove = &delta.Remove{Path: word[1:]}
			case 'r':
				info.Operation = "RESTORE"
				info.OperationParameters = map[string]any{"version": json.Number(word[1:]), "timestamp": nil}
				continue
			case 'R':
				info.Operation = "RESTORE"
				info.OperationParameters = map[string]any{"version": nil, "timestamp": "2024-03-31 02:30:00.0"}
				continue
			}
			out[v] = append(out[v], a)
		}
	}
	return out
}

func recordsOf(commits [][]delta.Action) commit.Records {
	r := commit.Records{Tip: int64(len(commits)) - 1, Recorded: -1, Undone: commit.Cleared}
	for _, actions := range commits {
		for _, a := range actions {
			switch {
			case a.Txn == nil:
			case a.Txn.AppID == "app":
				r.Recorded = a.Txn.Version
			case a.Txn.AppID == commit.UndoneAppID("app"):
				r.Undone = a.Txn.Version
			}
		}
	}
	return r
}

// ask runs the walk for a version over a log whose commits below horizon are gone, and counts those
// that it reads.
func ask(commits [][]delta.Action, version, horizon int64) (answer commit.TagAnswer, reads int) {
	w := commit.NewTagWalk(commit.Tag{AppID: "app", Version: version}, recordsOf(commits))
	for v, more := w.Next(); more; v, more = w.Next() {
		if v < horizon {
			w.Missing()
			continue
		}
		reads++
		w.Give(commits[v])
	}
	return w.Answer(), reads
}

func TestAppliedTag(t *testing.T) {
	const not, applied, superseded, restored = commit.NotApplied, commit.Applied, commit.Superseded, commit.Restored
	for name, c := range map[string]struct {
		log     []string
		version int64
		horizon int64
		want    commit.TagStatus
	}{
		"never recorded":                             {[]string{"", "+a"}, 1, 0, not},
		"recorded":                                   {[]string{"", "t1 +a"}, 1, 0, applied},
		"a lower one is recorded":                    {[]string{"", "t1 +a"}, 2, 0, not},
		"a higher one is recorded: >=, never =":      {[]string{"", "t3 +a"}, 2, 0, superseded},
		"the last record counts, not the greatest":   {[]string{"", "t5", "t2"}, 4, 0, not},
		"moved back, asked for what it moved to":     {[]string{"", "t5", "t2"}, 2, 0, applied},
		"moved back to never":                        {[]string{"", "t5", "t-1"}, 0, 0, not},
		"restored to before it":                      {[]string{"", "t1 +a", "r0 -a"}, 1, 0, restored},
		"restored to it":                             {[]string{"", "t1 +a", "+b", "r1 -b"}, 1, 0, applied},
		"restored to before a later one":             {[]string{"", "t1 +a", "t2 +b", "r1 -b"}, 1, 0, applied},
		"the later one itself":                       {[]string{"", "t1 +a", "t2 +b", "r1 -b"}, 2, 0, restored},
		"restored away and forward again":            {[]string{"", "t1 +a", "r0 -a", "r1 +a"}, 1, 0, applied},
		"restored away, and that restored":           {[]string{"", "t1 +a", "r0 -a", "+b", "r2 -b"}, 1, 0, restored},
		"restored away and written again":            {[]string{"", "t1 +a", "r0 -a", "t1 +c"}, 1, 0, applied},
		"a restore that records a tag of its own":    {[]string{"", "t1 +a", "r0 -a t2"}, 2, 0, applied},
		"by timestamp, to before it":                 {[]string{"+z", "t1 +a", "+b", "R -a -b"}, 1, 0, restored},
		"by timestamp, to after it":                  {[]string{"+z", "t1 +a", "+b", "R -b"}, 1, 0, applied},
		"by timestamp, after a rewrite":              {[]string{"+z", "t1 +a", "-z -a +c", "R -c +z +a"}, 1, 0, applied},
		"by timestamp, after a rewrite, before it":   {[]string{"+z", "t1 +a", "-z -a +c", "R -c +z"}, 1, 0, restored},
		"by timestamp, nothing changed":              {[]string{"+z", "t1 +a", "R"}, 1, 0, applied},
		"by timestamp, a tag without files stays":    {[]string{"+z", "t1", "+b", "R -b"}, 1, 0, applied},
		"by timestamp, unlike any version, below 0":  {[]string{"+z", "t1 +a", "R -q"}, 1, 0, restored},
		"a restore to a later version is no version": {[]string{"+z", "t1 +a", "r7"}, 1, 0, applied},

		"older than the log, no restore seen":         {[]string{"", "t1 +a", "+b", "+c"}, 1, 2, applied},
		"older than the log, a higher record":         {[]string{"", "t3 +a", "+b", "+c"}, 1, 2, superseded},
		"a restore within what is left of the log":    {[]string{"", "t1 +a", "+b", "+c", "r2 -c"}, 1, 2, applied},
		"a restore beyond the log, the tag in it":     {[]string{"", "+z", "t1 +a", "+b", "r0 -z -a -b"}, 1, 2, restored},
		"a restore beyond the log, the tag not in it": {[]string{"", "t1 +z", "+a", "+b", "r0 -z -a -b"}, 1, 2, applied},
		"our restore's record outlives the log":       {[]string{"", "t1 +z", "r0 -z u-1", "+b"}, 1, 3, restored},
		"our restore's record, below it":              {[]string{"t1", "t2 +z", "r0 -z u1", "+b"}, 1, 3, superseded},
		"our restore's record, cleared again":         {[]string{"", "t1 +z", "r0 -z u-1", "t1 u9223372036854775807", "+b"}, 1, 4, applied},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := ask(history(c.log...), c.version, c.horizon)
			require.Equal(t, c.want, got.Status, "%+v", got)
			require.Equal(t, c.want == applied || c.want == superseded, got.Skips(true))
			require.Equal(t, c.want != not, got.Skips(false))
		})
	}
}

// The forms in which engines write the version of a RESTORE.
func TestRestoreVersionForms(t *testing.T) {
	for _, form := range []any{json.Number("0"), "0", `"0"`, float64(0), int64(0)} {
		log := history("", "t1 +a", "r0 -a", "+b")
		log[2][0].CommitInfo.OperationParameters["version"] = form
		log[2][1].Remove.Path = "so that the files do not tell"
		got, _ := ask(log, 1, 0)
		require.Equal(t, commit.Restored, got.Status, "%T %v", form, form)
		require.EqualValues(t, 2, got.RestoredBy)
	}
}

func TestTagWalkReadsNoMoreThanItMust(t *testing.T) {
	log := history("", "t1", "", "t2", "")
	_, reads := ask(log, 3, 0)
	require.Zero(t, reads, "a lower record answers without reading")
	got, reads := ask(log, 2, 0)
	require.Equal(t, 2, reads, "back to the record and no further")
	require.EqualValues(t, 3, got.At)
	require.EqualValues(t, 3, got.Horizon)
}

// A naive twin: keep for each version the record that is in effect, folding forward.
func TestTagWalkAgainstForwardFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		texts, effect := make([]string, n), make([]int64, n)
		last := int64(-1)
		for v := range n {
			current := int64(-1)
			if v > 0 {
				current = effect[v-1]
			}
			switch k := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case k == 0 && v > 0:
				target := rapid.IntRange(0, v-1).Draw(t, "target")
				texts[v] = fmt.Sprintf("r%d", target)
				current = effect[target]
			case k == 1:
				current = rapid.Int64Range(0, 4).Draw(t, "version")
				texts[v] = fmt.Sprintf("t%d", current)
				last = current
			}
			effect[v] = current
		}
		version := rapid.Int64Range(0, 4).Draw(t, "asked")
		want := commit.Restored
		switch e := effect[n-1]; {
		case last < version:
			want = commit.NotApplied
		case e == version:
			want = commit.Applied
		case e > version:
			want = commit.Superseded
		}
		got, _ := ask(history(texts...), version, 0)
		if got.Status != want {
			t.Fatalf("%q: asked for %d: %v, want %v", texts, version, got.Status, want)
		}
	})
}

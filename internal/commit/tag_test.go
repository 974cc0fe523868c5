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
// record, "a2" that version 2 was written again, "g1:3" that those above 1 up to 3 are a gap, "g" that there
// is none, "C" makes the commit a CLONE, "wt3" moves the tag to 3, "+f" and "-f" add and remove a file, "r3" is a RESTORE to version 3, "R" one by timestamp,
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
			case 'a':
				a.Txn = &delta.Txn{AppID: commit.AgainAppID("app"), Version: n}
			case 'g':
				from, to := commit.GapAppIDs(0, "app")
				gap := commit.Gap{From: commit.Cleared, To: commit.Cleared}
				fmt.Sscanf(word, "g%d:%d", &gap.From, &gap.To)
				out[v] = append(out[v], delta.Action{Txn: &delta.Txn{AppID: from, Version: gap.From}})
				a.Txn = &delta.Txn{AppID: to, Version: gap.To}
			case 'w':
				info.Operation = "REWIND TXN"
				fmt.Sscan(word[2:], &n)
				a.Txn = &delta.Txn{AppID: "app", Version: n}
			case 'C':
				info.Operation = "CLONE"
				continue
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

func recordsOf(t interface{ Fatal(...any) }, commits [][]delta.Action) commit.Records {
	r := delta.NewReplay("")
	fresh := []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}, {Metadata: &delta.Metadata{
		ID: "x", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`,
	}}}
	for v, actions := range commits {
		for _, a := range actions {
			if a.Txn != nil {
				fresh = append(fresh, a)
			}
		}
		if err := r.Commit(int64(v), fresh); err != nil {
			t.Fatal(err)
		}
		fresh = nil
	}
	snap, err := r.Snapshot(int64(len(commits)) - 1)
	if err != nil {
		t.Fatal(err)
	}
	return commit.RecordsOf(snap, "app")
}

// ask runs the walk for a version over a log whose commits below horizon are gone, and counts those
// that it reads.
func ask(t interface{ Fatal(...any) }, commits [][]delta.Action, version, horizon int64) (answer commit.TagAnswer, reads int) {
	w := commit.NewTagWalk(commit.Tag{AppID: "app", Version: version}, recordsOf(t, commits))
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

		"older than the log, no restore seen":                   {[]string{"", "t1 +a", "+b", "+c"}, 1, 2, applied},
		"older than the log, a higher record":                   {[]string{"", "t3 +a", "+b", "+c"}, 1, 2, superseded},
		"a restore within what is left of the log":              {[]string{"", "t1 +a", "+b", "+c", "r2 -c"}, 1, 2, applied},
		"a restore beyond the log, the tag in it":               {[]string{"", "+z", "t1 +a", "+b", "r0 -z -a -b"}, 1, 2, restored},
		"a restore beyond the log, the tag not in it":           {[]string{"", "t1 +z", "+a", "+b", "r0 -z -a -b"}, 1, 2, applied},
		"restored away, and a later one was written":            {[]string{"", "t1 +a", "t2 +b", "t3 +c", "r1 -b -c", "t4 +d"}, 2, 0, restored},
		"the last one of them":                                  {[]string{"", "t1 +a", "t2 +b", "t3 +c", "r1 -b -c", "t4 +d"}, 3, 0, restored},
		"one that stayed":                                       {[]string{"", "t1 +a", "t2 +b", "t3 +c", "r1 -b -c", "t4 +d"}, 1, 0, superseded},
		"never written, below one that was":                     {[]string{"", "t1 +a", "t4 +d"}, 2, 0, superseded},
		"never written, above all that was restored away":       {[]string{"", "t1 +a", "t2 +b", "r1 -b", "t5"}, 3, 0, superseded},
		"written again beside a later one":                      {[]string{"", "t1", "t2", "t3", "r1", "t4", "a2 +b"}, 2, 0, applied},
		"written again beside a later one, and that one":        {[]string{"", "t1", "t2", "t3", "r1", "t4", "a2 +b"}, 4, 0, applied},
		"written again beside a later one, the one after it":    {[]string{"", "t1", "t2", "t3", "r1", "t4", "a2 +b"}, 3, 0, restored},
		"written again beside a later one, the one before":      {[]string{"", "t1", "t2", "t3", "r1", "t4", "a3 +b"}, 2, 0, superseded},
		"an older restore's, of which a later took nothing":     {[]string{"", "t1", "t2", "r1", "t3", "t4", "r4", "t5"}, 2, 0, restored},
		"what a later restore left":                             {[]string{"", "t1", "t2", "r1", "t3", "t4", "r4", "t5"}, 3, 0, superseded},
		"what an older one took, and a later the one above it":  {[]string{"", "t0", "r0", "t1", "r2", "t1"}, 0, 0, restored},
		"what a later restore took":                             {[]string{"", "t1", "t2", "r1", "t3", "t4", "r4", "t5"}, 4, 0, restored},
		"a tag that was moved on purpose settles what is below": {[]string{"", "t1", "t2", "t3", "r1", "t4", "wt3"}, 2, 0, superseded},
		"a tag that was moved above what was taken back":        {[]string{"", "t1", "t2", "r1", "t4", "wt3"}, 2, 0, superseded},
		"of what a copy was made of, taken back":                {[]string{"C t3 u1 +a", "+b"}, 3, 0, restored},
		"of what a copy was made of, below it":                  {[]string{"C t3 u1 +a", "+b"}, 1, 0, superseded},
		"of what a copy was made of, in a gap":                  {[]string{"C t4 g1:3 +a", "+b"}, 2, 0, restored},
		"of what a copy was made of, above the gap":             {[]string{"C t4 g1:3 +a", "+b"}, 4, 0, applied},
		"of a copy that wrote again":                            {[]string{"C t3 u1 +a", "t3 u9223372036854775807"}, 2, 0, superseded},
		"of a copy that wrote a later one":                      {[]string{"C t3 u1 +a", "t4 g1:3 u9223372036854775807"}, 2, 0, restored},
		"a gap's record outlives the log":                       {[]string{"", "t4 g1:3", "+b"}, 2, 2, restored},
		"a gap's record, at its lower end":                      {[]string{"", "t4 g1:3", "+b"}, 1, 2, superseded},
		"a gap's record, at its upper end":                      {[]string{"", "t4 g1:3", "+b"}, 3, 2, restored},
		"a gap's record, above it":                              {[]string{"", "t4 g1:3", "+b"}, 4, 2, applied},
		"our restore's record outlives the log":                 {[]string{"", "t1 +z", "r0 -z u-1", "+b"}, 1, 3, restored},
		"our restore's record, below it":                        {[]string{"t1", "t2 +z", "r0 -z u1", "+b"}, 1, 3, superseded},
		"our restore's record, cleared again":                   {[]string{"", "t1 +z", "r0 -z u-1", "t1 u9223372036854775807", "+b"}, 1, 4, applied},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := ask(t, history(c.log...), c.version, c.horizon)
			require.Equal(t, c.want, got.Status, "%+v", got)
			require.Equal(t, c.want == applied || c.want == superseded, got.Skips(true))
			require.Equal(t, c.want != not, got.Skips(false))
		})
	}
}

// The forms in which engines write the version of a RESTORE.
func TestRestoreVersionForms(t *testing.T) {
	for _, form := range []any{json.Number("1"), "1", `"1"`, float64(1), int64(1)} {
		log := history("", "t1 +a", "t2 +b", "r1 -b", "+c")
		log[3][0].CommitInfo.OperationParameters["version"] = form
		log[3][1].Remove.Path = "so that the files do not tell"
		for version, want := range map[int64]commit.TagStatus{1: commit.Applied, 2: commit.Restored} {
			got, _ := ask(t, log, version, 0)
			require.Equal(t, want, got.Status, "%T %v", form, form)
			require.EqualValues(t, 3, got.RestoredBy)
		}
	}
}

func TestTagWalkReadsNoMoreThanItMust(t *testing.T) {
	log := history("", "t1", "", "t2", "")
	_, reads := ask(t, log, 3, 0)
	require.Zero(t, reads, "a lower record answers without reading")
	got, reads := ask(t, log, 2, 0)
	require.Equal(t, 2, reads, "back to the record and no further")
	require.EqualValues(t, 3, got.At)
	require.EqualValues(t, 3, got.Horizon)
}

// effect is what a naive twin knows of a version of the table: the record in effect, and for each version
// of the app what became of it.
type effect struct {
	record int64
	of     [6]struct {
		is  int   // none, have, passed or gone
		top int64 // of the RESTORE that took it away
	}
}

const none, have, passed, gone = 0, 1, 2, 3

// settle makes w part of the table.
func (e effect) settle(w int64) effect {
	for v := range e.of {
		switch x := &e.of[v]; {
		case int64(v) == w:
			x.is = have
		case int64(v) < w && (x.is == none || x.is == gone && w <= x.top):
			x.is = passed
		}
	}
	return e
}

// A naive twin folds the log forward.
func TestTagWalkAgainstForwardFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "n")
		texts, at := make([]string, n), make([]effect, n)
		last := int64(-1)
		for v := range n {
			is := effect{record: -1}
			if v > 0 {
				is = at[v-1]
			}
			switch k := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case k == 0 && v > 0:
				target := rapid.IntRange(0, v-1).Draw(t, "target")
				texts[v] = fmt.Sprintf("r%d", target)
				is = at[target]
				for i := range is.of {
					if x := &is.of[i]; x.is == none && int64(i) <= last {
						x.is, x.top = gone, last
					}
				}
			case k == 1 || k == 2 && last < 5: // mostly a later one, as a loader writes
				w := last + 1
				if k == 1 {
					w = rapid.Int64Range(0, 5).Draw(t, "version")
				}
				if w <= last && is.of[w].is != gone {
					break // only a RESTORE makes a loader write an older one
				}
				texts[v] = fmt.Sprintf("t%d", w)
				if w < last && is.record > w { // beside a later one
					texts[v] = fmt.Sprintf("a%d", w)
					is = is.settle(w)
					break
				}
				is, last = written(is, w), w
			}
			at[v] = is
		}
		version := rapid.Int64Range(0, 5).Draw(t, "asked")
		want := map[int]commit.TagStatus{none: commit.Restored, have: commit.Superseded, passed: commit.Superseded, gone: commit.Restored}[at[n-1].of[version].is]
		switch {
		case last < version:
			want = commit.NotApplied
		case at[n-1].record == version:
			want = commit.Applied
		}
		got, _ := ask(t, history(texts...), version, 0)
		if got.Status != want && !(got.Status == commit.Applied && at[n-1].of[version].is == have) {
			t.Fatalf("%q: asked for %d: %v, want %v", texts, version, got.Status, want)
		}
	})
}

// written makes w the record: what is above was not written yet.
func written(e effect, w int64) effect {
	e.record = w
	for v := range e.of {
		if int64(v) > w {
			e.of[v].is = none
		}
	}
	return e.settle(w)
}

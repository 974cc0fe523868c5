package metamorphic_test

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
)

// bench is a test that is expected to fail.
type bench struct {
	testing.TB
	failed bool
	log    strings.Builder
}

func (b *bench) Context() context.Context   { return context.Background() }
func (b *bench) Logf(f string, args ...any) { fmt.Fprintf(&b.log, f+"\n", args...) }
func (b *bench) Log(args ...any)            { fmt.Fprintln(&b.log, args...) }
func (b *bench) Fail()                      { b.failed = true }
func (b *bench) FailNow()                   { b.failed = true }
func (b *bench) Failed() bool               { return b.failed }

func (b *bench) Errorf(f string, args ...any) { b.failed = true; b.Logf(f, args...) }
func (b *bench) Error(args ...any)            { b.failed = true; b.Log(args...) }
func (b *bench) Fatalf(f string, args ...any) { b.Errorf(f, args...) }
func (b *bench) Fatal(args ...any)            { b.Error(args...) }

// mistake is one that the tests of this package have to find, in the model or in the calls of one kind of
// operation.
type mistake struct {
	why, kind string
	spoil     func(o *op)
	shown     string // of the story
}

var mistakes = []mistake{
	{"an append that writes its rows twice and says once", "append", func(o *op) {
		do := o.do
		o.do = func(w *world) (answer, error) {
			if _, err := do(w); err != nil {
				return answer{}, err
			}
			return do(w)
		}
	}, "Append("},
	{"a delete that is lost", "delete", func(o *op) {
		model := o.model
		o.do = func(w *world) (answer, error) { // what the model says, and nothing done
			return model(w.known.clone()), nil
		}
	}, "Delete("},
	{"a tag that is not looked at", "append with txn", func(o *op) { o.model = func(s *state) answer { clear(s.tags); return answer{outcome: idem.Committed} } }, "AppendWithTxn("},
	{"a merge whose model takes ties for newer", "merge", func(o *op) {
		model := o.model
		o.model = func(s *state) answer {
			a := model(s)
			a.tally.updated += a.tally.ties
			a.tally.ties = 0
			return a
		}
	}, "Merge("},
	{"an update that says that it inserts and deletes", "update", func(o *op) {
		do := o.do
		o.do = func(w *world) (answer, error) {
			a, err := do(w)
			a.tally.inserted, a.tally.deleted, a.tally.updated = a.tally.updated, a.tally.updated, 0
			return a, err
		}
	}, "UpdateTable("},
	{"a restore of another version", "restore", func(o *op) {
		model := o.model
		o.model = func(s *state) answer {
			a := model(s)
			s.rows = nil
			return a
		}
	}, "RestoreTable("},
}

// TestMistakesAreFound spoils one kind of operation at a time: the run has to fail, and to show the
// calls that lead there.
func TestMistakesAreFound(t *testing.T) {
	was := flag.Lookup("rapid.shrinktime").Value.String()
	require.NoError(t, flag.Set("rapid.shrinktime", "500ms"))
	t.Cleanup(func() { require.NoError(t, flag.Set("rapid.shrinktime", was)) })
	given := flag.Lookup("rapid.seed").Value.String()
	first, err := strconv.ParseUint(given, 0, 64)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, flag.Set("rapid.seed", given)) })
	for _, s := range mistakes {
		t.Run(s.why, func(t *testing.T) {
			b := &bench{TB: t}
			dir := t.TempDir()
			for try := 0; try < 20 && !b.failed; try++ {
				b.log.Reset()
				if first != 0 { // a seed that is given draws the same each time
					require.NoError(t, flag.Set("rapid.seed", strconv.FormatUint(first+uint64(try), 10)))
				}
				rapid.Check(b, inOneWorld(dir, &s))
			}
			require.True(t, b.failed, "found by no history")
			require.Contains(t, b.log.String(), "0. Create\n")
			require.Contains(t, b.log.String(), s.shown, "the story names the call")
		})
	}
}

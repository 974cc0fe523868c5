package idem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// patient is a clock on which waiting costs nothing.
type patient struct{ now time.Time }

func (c *patient) Now() time.Time { return c.now }

func (c *patient) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// verbs are the writes that are swept: each on a table that holds d1 and d2.
var verbs = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table) (*idem.Result, error)
	want []string
}{
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rowsOf(order{"d3", 7, 1, "g"}, order{"d1", 8, 1, "h"}), idem.Txn{AppID: "sweep", Version: 1})
	}, []string{"d1/1/1/a", "d1/2/1/b", "d2/3/1/c", "d3/7/1/g", "d1/8/1/h"}},
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rowsOf(order{"d1", 2, 2, "B"}, order{"d2", 4, 2, "D"}), idem.ReplaceWhere{Where: "id >= 2"})
	}, []string{"d1/1/1/a", "d1/2/2/B", "d2/4/2/D"}},
	{"ReplaceAll", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceAll(ctx, again(order{"d1", 5, 2, "E"}), idem.ReplaceAll{})
	}, []string{"d1/5/2/E"}},
	{"Merge", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Merge(ctx, rowsOf(order{"d1", 2, 2, "B"}, order{"d2", 4, 2, "D"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	}, []string{"d1/1/1/a", "d1/2/2/B", "d2/3/1/c", "d2/4/2/D"}},
	{"Delete", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Delete(ctx, idem.Delete{Where: "id = 2"})
	}, []string{"d1/1/1/a", "d2/3/1/c"}},
}

// swept is a table with two days, behind a store that can be made to fail.
func swept(t *testing.T) (*store.Mem, *storetest.Faulty, *idem.Table) { return sweptWith(t, nil) }

func sweptWith(t *testing.T, properties map[string]string) (*store.Mem, *storetest.Faulty, *idem.Table) {
	mem := store.NewMem()
	st := storetest.NewFaulty(mem)
	clock := &patient{now: time.Unix(1_700_000_000, 0)}
	table, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: orders, PartitionBy: []string{"day"}, Properties: properties}, idem.Options{Parallelism: 1, Clock: clock})
	require.NoError(t, err)
	_, err = table.ReplaceAll(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d2", 3, 1, "c"}), idem.ReplaceAll{})
	require.NoError(t, err)
	st.Reset()
	return mem, st, table
}

// operations is the number of store operations of a verb that succeeds.
func operations(t *testing.T, run func(context.Context, *idem.Table) (*idem.Result, error)) int {
	_, st, table := swept(t)
	_, err := run(t.Context(), table)
	require.NoError(t, err)
	require.Positive(t, st.Calls())
	return st.Calls()
}

func opened(t *testing.T, st store.Store) *idem.Table {
	table, err := idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1, Clock: &patient{now: time.Unix(1_700_000_000, 0)}})
	require.NoError(t, err)
	return table
}

// claim checks what a call said against the log, before anything is run again.
func claim(t *testing.T, mem *store.Mem, res *idem.Result, err error, done []string) {
	version := opened(t, mem).Version()
	landed := version == 2
	require.LessOrEqual(t, version, int64(2), "one call makes one version at most")
	if err != nil {
		classified(t, err)
	}
	switch {
	case err == nil:
		require.Equal(t, idem.Committed, res.Outcome)
		require.EqualValues(t, 2, res.Version)
		require.True(t, landed, "a commit that was claimed is in the log")
	case errors.Is(err, idem.ErrUnknownOutcome):
	case errors.Is(err, storetest.ErrCrashed): // the process is dead: it claims nothing
	default:
		require.False(t, landed, "a call that failed definitely is not in the log: %v", err)
	}
	if landed {
		require.ElementsMatch(t, done, scanned(t, opened(t, mem)), "the one commit holds the whole work")
	}
}

func TestFaultSweepAtEveryStoreOperation(t *testing.T) {
	oneGoroutine(t)
	kinds := []storetest.Kind{
		storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.LateEffect, storetest.Duplicate,
		storetest.Conflict, storetest.Throttle, storetest.Denied, storetest.TornRead, storetest.StaleMissing, storetest.DiskFull,
		storetest.TornUpload, storetest.CrashBefore, storetest.CrashAfter,
	}
	hits := map[storetest.Kind]int{}
	for _, v := range verbs {
		n := operations(t, v.run)
		for i := 1; i <= n; i++ {
			for _, kind := range kinds {
				t.Run(fmt.Sprintf("%s/%d/%s", v.name, i, kind), func(t *testing.T) {
					mem, st, table := swept(t)
					first := st.Calls()
					st.Before = func(c storetest.Call) storetest.Fault {
						if c.Index == first+i {
							return storetest.Fault{Kind: kind}
						}
						return storetest.Fault{}
					}
					res, err := v.run(t.Context(), table)
					st.Land(t.Context()) // what was delayed lands now, if it has not yet
					for k, n := range st.Hits() {
						hits[k] += n
					}
					claim(t, mem, res, err, v.want)
					_, err = v.run(t.Context(), opened(t, mem))
					require.NoError(t, err)
					require.ElementsMatch(t, v.want, scanned(t, opened(t, mem)), "two runs are one")
					checkLog(t, mem)
				})
			}
		}
	}
	for _, k := range kinds {
		require.Positive(t, hits[k], "no operation was hit by %s", k)
	}
}

func TestOutageOfEachKindOfOperation(t *testing.T) {
	for _, v := range verbs {
		for _, op := range []storetest.Op{storetest.OpPutIfAbsent, storetest.OpCreate, storetest.OpClose, storetest.OpGet, storetest.OpGetRange} {
			t.Run(v.name+"/"+string(op), func(t *testing.T) {
				mem, st, table := swept(t)
				st.Reset(storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.FailBefore}})
				res, err := v.run(t.Context(), table)
				claim(t, mem, res, err, v.want)
				_, err = v.run(t.Context(), opened(t, mem))
				require.NoError(t, err)
				require.ElementsMatch(t, v.want, scanned(t, opened(t, mem)))
				checkLog(t, mem)
			})
		}
	}
}

func TestContextCancelledAtEveryStoreOperation(t *testing.T) {
	for _, v := range verbs {
		n := operations(t, v.run)
		for i := 1; i <= n; i++ {
			t.Run(fmt.Sprintf("%s/%d", v.name, i), func(t *testing.T) {
				mem, st, table := swept(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := st.Calls()
				st.Before = func(c storetest.Call) storetest.Fault {
					if c.Index == first+i {
						cancel()
					}
					return storetest.Fault{}
				}
				res, err := v.run(ctx, table)
				if err != nil && !errors.Is(err, idem.ErrUnknownOutcome) {
					require.ErrorIs(t, err, context.Canceled)
				}
				claim(t, mem, res, err, v.want)
				_, err = v.run(t.Context(), opened(t, mem))
				require.NoError(t, err)
				require.ElementsMatch(t, v.want, scanned(t, opened(t, mem)))
				checkLog(t, mem)
			})
		}
	}
}

func TestLostAnswerOfACommitIsCommitted(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.LostAnswer, storetest.FailAfter, storetest.Duplicate} {
		for _, v := range verbs {
			t.Run(v.name+"/"+string(kind), func(t *testing.T) {
				mem, st, table := swept(t)
				st.Reset(storetest.Rule{Op: storetest.OpPutIfAbsent, Nth: 1, Fault: storetest.Fault{Kind: kind}})
				res, err := v.run(t.Context(), table)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.EqualValues(t, 2, opened(t, mem).Version(), "the same work is never committed twice")
				require.ElementsMatch(t, v.want, scanned(t, opened(t, mem)))
			})
		}
	}
}

func TestADataFileThatWasSentTwiceIsOurs(t *testing.T) {
	for _, v := range verbs {
		if v.name == "Delete" {
			continue
		}
		mem, st, table := swept(t)
		st.Reset(storetest.Rule{Op: storetest.OpClose, Fault: storetest.Fault{Kind: storetest.Duplicate}})
		res, err := v.run(t.Context(), table)
		require.NoError(t, err, v.name)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Positive(t, st.Hits()[storetest.Duplicate])
		require.ElementsMatch(t, v.want, scanned(t, opened(t, mem)))
		checkLog(t, mem)
	}
}

func TestUnknownOutcomeIsResolved(t *testing.T) {
	plain := func(t *testing.T, table *idem.Table) error {
		_, err := table.Append(t.Context(), rowsOf(order{"d9", 9, 9, "i"}), idem.Append{Reason: "test"})
		require.ErrorIs(t, err, idem.ErrUnknownOutcome)
		require.False(t, idem.SafeToRunAgain(err), "a plain append must not be called again")
		require.Less(t, len(err.Error()), 1000, "the text does not grow with every look")
		return err
	}
	blind := func(kind storetest.Kind) []storetest.Rule {
		return []storetest.Rule{
			{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: kind}},
			{Op: storetest.OpGet, Key: "*.json", Fault: storetest.Fault{Kind: storetest.FailBefore}},
		}
	}
	t.Run("it landed", func(t *testing.T) {
		_, st, table := swept(t)
		st.Reset(blind(storetest.LostAnswer)...)
		err := plain(t, table)
		st.Reset()
		r, err := table.Resolve(t.Context(), err)
		require.NoError(t, err)
		require.True(t, r.Committed)
		require.EqualValues(t, 2, r.Version)
	})
	t.Run("another commit has its place", func(t *testing.T) {
		mem, st, table := swept(t)
		st.Reset(blind(storetest.Timeout)...)
		err := plain(t, table)
		st.Reset()
		_, deleted := opened(t, mem).Delete(t.Context(), idem.Delete{Where: "id = 1"})
		require.NoError(t, deleted)
		r, err := table.Resolve(t.Context(), err)
		require.NoError(t, err)
		require.False(t, r.Committed, "and it never will be")
	})
	t.Run("nothing is there yet", func(t *testing.T) {
		_, st, table := swept(t)
		st.Reset(blind(storetest.Timeout)...)
		err := plain(t, table)
		st.Reset()
		_, err = table.Resolve(t.Context(), err)
		require.ErrorIs(t, err, idem.ErrUnknownOutcome, "absence proves nothing")
	})
	t.Run("data files stay while the outcome is unknown", func(t *testing.T) {
		_, st, table := swept(t)
		st.Reset(blind(storetest.LostAnswer)...)
		plain(t, table)
		require.Zero(t, st.Count(storetest.OpDelete))
	})
	t.Run("an error that is none of ours", func(t *testing.T) {
		_, _, table := swept(t)
		_, err := table.Resolve(t.Context(), errors.New("no"))
		require.ErrorIs(t, err, idem.ErrInput)
	})
}

func TestWarmCommitIsOnePutAndNoList(t *testing.T) {
	_, st, table := swept(t)
	first := slices.Clone(st.Transcript())
	_, err := table.AppendWithTxn(t.Context(), rowsOf(order{"d3", 7, 1, "g"}), idem.Txn{AppID: "warm", Version: 1})
	require.NoError(t, err)
	require.Equal(t, 2, st.Count(storetest.OpPutIfAbsent))
	require.Zero(t, st.Count(storetest.OpList))
	require.Zero(t, st.Count(storetest.OpGet), "no commit is read")
	require.Zero(t, st.Count(storetest.OpHead))
	require.Len(t, st.Transcript()[len(first):], 5, "one data file is opened and closed, one look whether the log is the same, one commit put, and its checksum")
}

// dataReads is how often a store was asked for bytes of files that are not the log's.
func dataReads(st *storetest.Faulty) int {
	n := 0
	for _, line := range st.Transcript() {
		if strings.HasPrefix(line, string(storetest.OpGet)) && !strings.Contains(line, delta.LogDir) {
			n++
		}
	}
	return n
}

func TestASkippedCallIsOneGet(t *testing.T) {
	_, st, table := swept(t)
	txn := idem.Txn{AppID: "warm", Version: 1}
	_, err := table.AppendWithTxn(t.Context(), rowsOf(order{"d3", 7, 1, "g"}), txn)
	require.NoError(t, err)
	st.Reset()
	res, err := table.AppendWithTxn(t.Context(), rowsOf(order{"d3", 7, 1, "g"}), txn)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, res.Outcome)
	require.Zero(t, st.Count(storetest.OpPutIfAbsent))
	require.Zero(t, st.Count(storetest.OpList))
	t.Log(st.Transcript())
	require.LessOrEqual(t, st.Count(storetest.OpGet), 2, "the commit of the tag, and proof that there is none after the snapshot")
}

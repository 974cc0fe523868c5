package idem_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// sleeper is a table in a process that falls asleep once before an operation, while others do
// something eight days later.
func sleeper(t *testing.T, f *tabletest.Fixture, asleep func(storetest.Call) bool, meanwhile func()) *idem.Table {
	faulty := storetest.NewFaulty(f.Store)
	table, err := idem.OpenStore(f.Context, faulty, f.Options)
	require.NoError(t, err)
	slept := false
	faulty.Before = func(c storetest.Call) storetest.Fault {
		if !slept && asleep(c) {
			slept = true
			f.Clock.Advance(8 * 24 * time.Hour)
			meanwhile()
		}
		return storetest.Fault{}
	}
	t.Cleanup(func() { require.True(t, slept) })
	return table
}

func putsCommit(c storetest.Call) bool {
	return c.Op == storetest.OpPutIfAbsent && strings.HasSuffix(c.Key, ".json")
}

func uploadsData(c storetest.Call) bool { return c.Op == storetest.OpClose }

// A writer that sleeps for longer than the table keeps files may wake up to find what it wrote deleted.
func TestAWriterThatSleepsAcrossTheRetention(t *testing.T) {
	first, second := tabletest.Row{Day: "d", ID: 1, Seq: 1, V: 1}, tabletest.Row{Day: "d", ID: 2, Seq: 1, V: 2}
	fixture := func(t *testing.T) *tabletest.Fixture {
		f := tabletest.New(t, 1, tabletest.Definition(nil, nil))
		_, err := f.Table.Append(f.Context, tabletest.Once(memory.DefaultAllocator, 0, first), idem.Append{Reason: "test"})
		require.NoError(t, err)
		return f
	}
	for _, c := range []struct {
		name   string
		asleep func(storetest.Call) bool
		vacuum func(t *testing.T, f *tabletest.Fixture)
		says   string
	}{
		{"its commit meets a vacuum", putsCommit, func(t *testing.T, f *tabletest.Fixture) {
			v, err := maintain.VacuumTable(f.Context, f.Table, maintain.Vacuum{})
			require.NoError(t, err)
			require.EqualValues(t, 2, v.Files, "what the sleeper wrote")
		}, "version 3 is a vacuum"},
		{"its commit meets a vacuum that has not deleted yet", putsCommit, func(t *testing.T, f *tabletest.Fixture) {
			info := delta.Action{CommitInfo: &delta.CommitInfo{Operation: "VACUUM START", TxnID: strings.Repeat("a", 32), Timestamp: f.Clock.Now().UnixMilli()}}
			data, err := delta.EncodeCommit([]delta.Action{info})
			require.NoError(t, err)
			require.NoError(t, f.Store.PutIfAbsent(f.Context, delta.CommitKey(2), data))
		}, "version 2 is a vacuum"},
		{"its upload meets a log that was cleaned up, perhaps of a vacuum", uploadsData, func(t *testing.T, f *tabletest.Fixture) {
			for range 2 {
				_, err := f.Table.AppendWithTxn(f.Context, tabletest.Once(memory.DefaultAllocator, 0), idem.Txn{AppID: "b", Version: f.Table.Version() + 1})
				require.NoError(t, err)
			}
			_, err := maintain.Checkpoint(f.Context, f.Table)
			require.NoError(t, err)
			require.NoError(t, f.Store.Delete(f.Context, delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2)))
		}, "the log does not reach back"},
		{"a vacuum that leaves no trace took its first file while it wrote the second", func(c storetest.Call) bool {
			return c.Op == storetest.OpCreate && strings.HasPrefix(c.Key, "part-00001")
		}, func(t *testing.T, f *tabletest.Fixture) {
			for info, err := range f.Store.List(f.Context, "", "") {
				require.NoError(t, err)
				if _, live := f.Table.Snapshot().Live(info.Key); !live && strings.HasPrefix(info.Key, "part-") {
					require.NoError(t, f.Store.Delete(f.Context, info.Key))
				}
			}
		}, "is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fixture(t)
			f.Options.TargetFileBytes, f.Options.CommitBudget = 1, 30*24*time.Hour
			table := sleeper(t, f, c.asleep, func() { c.vacuum(t, f) })
			txn := idem.Txn{AppID: "a", Version: 1}
			third := tabletest.Row{Day: "d", ID: 3, Seq: 1}
			_, err := table.AppendWithTxn(f.Context, tabletest.Once(memory.DefaultAllocator, 1, second, third), txn)
			require.ErrorIs(t, err, idem.ErrConflict)
			require.ErrorContains(t, err, c.says)
			f.Check(t, tabletest.Of(first))
			res, err := table.AppendWithTxn(f.Context, tabletest.Once(memory.DefaultAllocator, 1, second, third), txn)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			f.Check(t, tabletest.Of(first, second, third))
		})
	}
	t.Run("nothing happened meanwhile", func(t *testing.T) {
		f := fixture(t)
		table := sleeper(t, f, uploadsData, func() {})
		_, err := table.AppendWithTxn(f.Context, tabletest.Once(memory.DefaultAllocator, 0, second), idem.Txn{AppID: "a", Version: 1})
		require.NoError(t, err)
		f.Check(t, tabletest.Of(first, second))
	})
	t.Run("what it removes counts from its commit", func(t *testing.T) {
		f := fixture(t)
		table := sleeper(t, f, uploadsData, func() {})
		_, err := table.ReplaceAll(f.Context, tabletest.Once(memory.DefaultAllocator, 0, second), idem.ReplaceAll{})
		require.NoError(t, err)
		v, err := maintain.VacuumTable(f.Context, f.Table, maintain.Vacuum{})
		require.NoError(t, err)
		require.Zero(t, v.Files, "a reader of the version before may be at work still")
	})
}

package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// A store that is busy for a moment fails neither a scan nor a verb that reads data files.
func TestADataFileThatCannotBeReadForAMomentIsReadAgain(t *testing.T) {
	f := tabletest.New(t, 1, tabletest.Definition(nil, nil))
	rows := []tabletest.Row{{Day: "d1", ID: 1, Seq: 1}, {Day: "d1", ID: 2, Seq: 1}}
	_, err := f.Table.ReplaceAll(f.Context, tabletest.Once(memory.DefaultAllocator, 0, rows...), idem.ReplaceAll{})
	require.NoError(t, err)
	busy := func() *storetest.Faulty {
		return storetest.NewFaulty(f.Store, storetest.Rule{Op: storetest.OpGet, Key: "*.stub", Times: 2, Fault: storetest.Fault{Kind: storetest.Throttle}})
	}

	faulty := busy()
	table, err := idem.OpenStore(f.Context, faulty, f.Options)
	require.NoError(t, err)
	got, err := tabletest.Scan(f.Context, table)
	require.NoError(t, err)
	require.Empty(t, tabletest.Of(rows...).Diff(got))
	require.Equal(t, 2, faulty.Hits()[storetest.Throttle])

	faulty = busy()
	table, err = idem.OpenStore(f.Context, faulty, f.Options)
	require.NoError(t, err)
	_, err = table.Delete(f.Context, idem.Delete{Where: "id = 1"})
	require.NoError(t, err)
	require.Equal(t, 2, faulty.Hits()[storetest.Throttle])
	f.Check(t, tabletest.Of(rows[1]))
}

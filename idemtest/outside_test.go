package idemtest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/idemtest"
)

// A job on a shallow clone is proven with the source's files where they are: the table's own options say
// where it may read.
func TestProveOnAShallowClone(t *testing.T) {
	base := t.TempDir()
	source, _, err := idem.Create(t.Context(), filepath.Join(base, "source"), idem.Definition{Schema: sales}, idem.Options{})
	require.NoError(t, err)
	require.NoError(t, appendSales(t.Context(), source, salesOf(t, fourSales...)))
	m := *source.Snapshot().Metadata()
	m.ID = "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f"
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "CLONE"}}, {Protocol: source.Snapshot().Protocol()}, {Metadata: &m}}
	for f := range source.Snapshot().Files() {
		a := *f
		a.Path = source.URL() + f.Path
		actions = append(actions, delta.Action{Add: &a})
	}
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	dir, err := store.OpenDir(filepath.Join(base, "clone"))
	require.NoError(t, err)
	require.NoError(t, dir.PutIfAbsent(t.Context(), delta.CommitKey(0), data))

	clone, err := idem.OpenStore(t.Context(), dir, idem.Options{Outside: idem.OutsideBelow(source.URL())})
	require.NoError(t, err)
	job := func(ctx context.Context, table *idem.Table) error {
		_, err := table.Merge(ctx, salesOf(t, sale{id: "new", n: 5, seq: 9}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		return err
	}
	idemtest.RunTwice(t, clone, job)
	idemtest.Prove(t, clone, job, idemtest.Options{})
}

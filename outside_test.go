package idem_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// shallow makes a shallow clone, as Spark writes it, of a table with two days and a deletion vector: the
// directory of the source, and that of the clone.
func shallow(t *testing.T) (source, clone string) {
	base := t.TempDir()
	source, clone = filepath.Join(base, "the source%41"), filepath.Join(base, "clone")
	src, _, err := idem.Create(t.Context(), source, idem.Definition{
		Schema: orders, PartitionBy: []string{"day"}, Properties: map[string]string{"delta.enableDeletionVectors": "true"},
	}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = src.Append(t.Context(), rowsOf(order{"a b", 1, 1, "x"}, order{"a b", 2, 1, "y"}, order{"a b", 3, 1, "z"}, order{"c", 4, 1, "w"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = src.Delete(t.Context(), idem.Delete{Where: "id = 2"})
	require.NoError(t, err)
	snap := src.Snapshot()
	require.EqualValues(t, 1, snap.NumDeletionVectors())
	m := *snap.Metadata()
	m.ID = "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f"
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "CLONE"}}, {Protocol: snap.Protocol()}, {Metadata: &m}}
	for f := range snap.Files() {
		a := *f
		a.Path = src.URL() + f.Path
		if dv := f.DeletionVector; dv != nil {
			key, offset, err := dv.FileKey(src.URL())
			require.NoError(t, err)
			moved, at := *dv, int32(offset)
			moved.StorageType, moved.PathOrInlineDV, moved.Offset = "p", src.URL()+delta.EncodePath(key), &at
			a.DeletionVector = &moved
		}
		actions = append(actions, delta.Action{Add: &a})
	}
	commitAt(t, clone, 0, actions)
	return source, clone
}

func commitAt(t *testing.T, dir string, version int64, actions []delta.Action) {
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	st, err := store.OpenDir(dir)
	require.NoError(t, err)
	require.NoError(t, st.PutIfAbsent(t.Context(), delta.CommitKey(version), data))
}

// filesIn gives what is in a directory, with sizes and times.
func filesIn(t *testing.T, dir string) (out []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, _ := d.Info()
			out = append(out, fmt.Sprint(name, info.Size(), info.ModTime()))
		}
		return err
	}))
	return out
}

func TestShallowCloneIsReadWhereItIsAllowed(t *testing.T) {
	source, clone := shallow(t)
	for _, c := range []struct {
		why     string
		outside func(context.Context, string) (store.Store, error)
	}{
		{"nobody said where files may be", nil},
		{"they may be elsewhere", idem.OutsideBelow(t.TempDir())},
		{"a name that the source's begins with", idem.OutsideBelow(filepath.Dir(source) + "/the source")},
		{"one directory of several", idem.OutsideBelow(source + "/day=c")},
		{"no store for an answer", func(context.Context, string) (store.Store, error) { return nil, nil }},
		{"a store that is elsewhere", func(context.Context, string) (store.Store, error) { return store.OpenDir(clone) }},
	} {
		t.Run(c.why, func(t *testing.T) {
			table, err := idem.Open(t.Context(), clone, idem.Options{Parallelism: 1, Outside: c.outside})
			if err == nil {
				_, err = table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
			}
			require.ErrorIs(t, err, idem.ErrUnsupported)
			require.ErrorContains(t, err, "outside")
		})
	}
	for _, dir := range []string{source, filepath.Dir(source)} {
		table, err := idem.Open(t.Context(), clone, idem.Options{Parallelism: 1, Outside: idem.OutsideBelow("/nowhere", dir)})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a b/1/1/x", "a b/3/1/z", "c/4/1/w"}, scanned(t, table))
		is, err := table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
		require.NoError(t, err)
		src, err := idem.Open(t.Context(), source, idem.Options{})
		require.NoError(t, err)
		want, err := src.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
		require.NoError(t, err)
		require.Equal(t, want.String(), is.String())
	}
}

func TestVerbsOnAShallowCloneLeaveTheSourceAlone(t *testing.T) {
	source, clone := shallow(t)
	before := filesIn(t, source)
	open := func() *idem.Table {
		table, err := idem.Open(t.Context(), clone, idem.Options{Parallelism: 1, Outside: idem.OutsideBelow(source)})
		require.NoError(t, err)
		return table
	}
	for _, c := range []struct {
		why  string
		call func(*idem.Table) (*idem.Result, error)
		want []string
	}{
		{"a vector beside a file elsewhere grows", func(table *idem.Table) (*idem.Result, error) {
			return table.Delete(t.Context(), idem.Delete{Where: "id = 1"})
		}, []string{"a b/3/1/z", "c/4/1/w"}},
		{"a row of a file elsewhere is updated", func(table *idem.Table) (*idem.Result, error) {
			return table.Merge(t.Context(), rowsOf(order{"c", 4, 2, "new"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		}, []string{"a b/3/1/z", "c/4/2/new"}},
		{"a slice with a file elsewhere is replaced", func(table *idem.Table) (*idem.Result, error) {
			return table.ReplaceWhere(t.Context(), rowsOf(order{"a b", 9, 1, "n"}), idem.ReplaceWhere{Where: "day = 'a b'"})
		}, []string{"a b/9/1/n", "c/4/2/new"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			res, err := c.call(open())
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.ElementsMatch(t, c.want, scanned(t, open()))
			res, err = c.call(open())
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
		})
	}
	require.Equal(t, before, filesIn(t, source))
}

func TestLogsReachNothingOutsideWithoutBeingAllowed(t *testing.T) {
	base := t.TempDir()
	source, _ := shallow(t)
	src, err := idem.Open(t.Context(), source, idem.Options{})
	require.NoError(t, err)
	snap := src.Snapshot()
	var file delta.Add
	for f := range snap.Files() {
		file = *f
	}
	require.Nil(t, file.DeletionVector)
	secret := source + "/" + file.Key
	hop := make([]byte, 0)
	for range 12 {
		hop = append(hop, "../"...)
	}
	for i, path := range []string{
		secret, "file:" + secret, "file://" + secret, "file://localhost" + secret, "FILE:" + secret, "file:////" + secret, "//" + secret,
		string(hop) + secret[1:], "%2e%2e/%2e%2e/" + secret[1:], "file:" + base + "/t/../../" + secret, "%2F" + secret[1:], "./" + secret, "%00" + secret,
	} {
		dir := filepath.Join(base, fmt.Sprint(i), "t")
		a := file
		a.Path = path
		m := *snap.Metadata()
		commitAt(t, dir, 0, []delta.Action{{Protocol: snap.Protocol()}, {Metadata: &m}, {Add: &a}})
		for _, o := range []idem.Options{{Parallelism: 1}, {Parallelism: 1, Outside: idem.OutsideBelow(base)}} {
			table, err := idem.Open(t.Context(), dir, o)
			if err == nil {
				for _, err = range table.Scan(t.Context(), idem.Scan{}) {
					if err != nil {
						break
					}
				}
			}
			require.Error(t, err, path)
		}
	}
}

package maintain

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

func corpus(t *testing.T) string {
	dir := os.Getenv("IDEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "expected.jsonl")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the corpus is missing: %v", err)
		}
		t.Skipf("the corpus is missing (set IDEM_CORPUS): %v", err)
	}
	return dir
}

// mostCorpusBytes bounds the tables of the corpus that are looked at.
const mostCorpusBytes = 128 << 10

// inMemory copies a directory; nil if it is too large.
func inMemory(t *testing.T, dir string) *store.Mem {
	mem, size := store.NewMem(), int64(0)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || size > mostCorpusBytes {
			return err
		}
		data, err := os.ReadFile(path)
		if size += int64(len(data)); err != nil || size > mostCorpusBytes {
			return err
		}
		key, err := filepath.Rel(dir, path)
		if err == nil {
			err = mem.PutIfAbsent(context.Background(), filepath.ToSlash(key), data)
		}
		return err
	}))
	if size > mostCorpusBytes {
		return nil
	}
	return mem
}

// walkCorpus calls f for the tables of the corpus that can be read and are not large.
func walkCorpus(t *testing.T, f func(name string, in *inside.Table, newest *delta.Snapshot)) {
	root := corpus(t)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "_delta_log" {
			return err
		}
		mem := inMemory(t, filepath.Dir(path))
		if mem == nil {
			return fs.SkipDir
		}
		table, err := idem.OpenStore(t.Context(), mem, idem.Options{Parallelism: 1})
		if err != nil || !table.Snapshot().HasSchema() {
			return fs.SkipDir // it cannot be read
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		f(name, inside.Of(table), table.Snapshot())
		return fs.SkipDir
	}))
}

// TestOptimizeKeepsTheRowsOfTablesOfOthers lays out tables that other engines made, whether idem commits to
// them or not: with deletion vectors, under column mapping, tracking rows, clustered.
func TestOptimizeKeepsTheRowsOfTablesOfOthers(t *testing.T) {
	seen := map[string]int{}
	walkCorpus(t, func(name string, in *inside.Table, newest *delta.Snapshot) {
		for _, snap := range versions(t, in, newest) {
			for _, by := range orders(snap) {
				t.Run(fmt.Sprintf("%s/%d/%v", name, snap.Version(), by), func(t *testing.T) { relaid(t, in, snap, by, seen) })
			}
		}
	})
	t.Log(seen)
	for _, feature := range []string{"deletionVectors", "columnMapping", "rowTracking", "partitions", "ordered", "clustered"} {
		require.Positive(t, seen[feature], "no table with %s was laid out anew", feature)
	}
}

// versions are those to be laid out: the newest of a table that has more than plain files, and all of one
// that was clustered.
func versions(t *testing.T, in *inside.Table, newest *delta.Snapshot) []*delta.Snapshot {
	plain := newest.Mapping() == delta.MappingNone && !newest.TracksRows() && len(newest.PartitionColumns()) == 0
	for a := range newest.Files() {
		plain = plain && a.DeletionVector == nil
	}
	if _, clustered := newest.Domain(delta.ClusteringDomain); !clustered {
		if plain {
			return nil
		}
		return []*delta.Snapshot{newest}
	}
	var out []*delta.Snapshot
	for v := range newest.Version() + 1 {
		if snap, err := in.Log.LoadAt(t.Context(), v); err == nil { // the log reaches back to it
			out = append(out, snap)
		}
	}
	return out
}

// orders are the columns to order by: none, and one of the table's.
func orders(snap *delta.Snapshot) [][]string {
	out := [][]string{nil}
	if len(snap.Clustering()) > 0 {
		return out
	}
	for _, f := range snap.Schema().Fields {
		if hasOrder(f.Type) && !slices.Contains(snap.PartitionColumns(), f.Name) {
			return append(out, []string{f.Name})
		}
	}
	return out
}

func relaid(t *testing.T, in *inside.Table, snap *delta.Snapshot, by []string, seen map[string]int) {
	before, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), snap)
	if err != nil {
		return // it cannot be read whole
	}
	p := &optimize{env: in.Env, request: Optimize{ZOrderBy: by}}
	proposal, err := p.Plan(t.Context(), snap)
	require.NoError(t, err)
	if proposal == nil {
		return
	}
	ids := rowIDs(t, in, snap)
	after := landed(t, snap, proposal)
	print, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, before, print)
	require.Equal(t, ids, rowIDs(t, in, after), "rows keep their ids and versions")
	for a := range after.Files() {
		require.Nil(t, a.DeletionVector)
	}
	again, err := (&optimize{env: in.Env, request: Optimize{ZOrderBy: by}}).Plan(t.Context(), after)
	require.NoError(t, err)
	require.Nil(t, again, "the second call finds nothing to do")
	account(seen, snap, proposal, by)
}

func account(seen map[string]int, snap *delta.Snapshot, proposal *plan.Proposal, by []string) {
	seen["tables"]++
	for _, a := range proposal.Actions {
		if a.Remove != nil && a.Remove.DeletionVector != nil {
			seen["deletionVectors"]++
			break
		}
	}
	for what, is := range map[string]bool{
		"columnMapping": snap.Mapping() != delta.MappingNone, "rowTracking": snap.TracksRows(),
		"partitions": len(snap.PartitionColumns()) > 0, "ordered": by != nil, "clustered": len(snap.Clustering()) > 0,
	} {
		if is {
			seen[what]++
		}
	}
}

// landed is the table after a commit of the proposal that changes no row.
func landed(t *testing.T, snap *delta.Snapshot, proposal *plan.Proposal) *delta.Snapshot {
	for _, a := range proposal.Actions {
		require.False(t, a.Add != nil && a.Add.DataChange || a.Remove != nil && a.Remove.DataChange)
	}
	return advanced(t, snap, proposal)
}

// advanced is the table after a commit of the proposal.
func advanced(t *testing.T, snap *delta.Snapshot, proposal *plan.Proposal) *delta.Snapshot {
	in := &commit.Intent{
		TxnID: "00", TableID: snap.Metadata().ID, ReadVersion: snap.Version(), Actions: proposal.Actions, Reads: proposal.Reads,
		Info: delta.CommitInfo{Operation: proposal.Operation, OperationParameters: proposal.Parameters},
	}
	require.NoError(t, in.Validate())
	body, err := in.Body(commit.Landing{Version: snap.Version() + 1, Now: 1, Table: snap})
	require.NoError(t, err)
	_, err = delta.EncodeCommit(body)
	require.NoError(t, err)
	after, err := snap.Advance(snap.Version()+1, body)
	require.NoError(t, err)
	return after
}

// rowIDs are the ids and commit versions of the rows, each with a text of its row, sorted.
func rowIDs(t *testing.T, in *inside.Table, snap *delta.Snapshot) []string {
	if !snap.TracksRows() {
		return nil
	}
	var out []string
	for a := range snap.Files() {
		for piece, err := range scan.Live(t.Context(), in.Env.Table(snap), a, nil, scan.LiveOptions{RowIDs: true}) {
			require.NoError(t, err)
			b := piece.Batch
			for i := range int(b.NumRows()) {
				var row strings.Builder
				for c := range int(b.NumCols()) {
					row.WriteString(b.Column(c).ValueStr(i) + "|")
				}
				require.False(t, b.Column(int(b.NumCols())-2).(*array.Int64).IsNull(i))
				out = append(out, row.String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestRestoreOfTablesOfOthers goes back to every version of tables that other engines made, whether idem
// commits to them or not.
func TestRestoreOfTablesOfOthers(t *testing.T) {
	seen := map[string]int{}
	walkCorpus(t, func(name string, in *inside.Table, newest *delta.Snapshot) {
		first := int64(0)
		if newest.Version() > 12 || versions(t, in, newest) == nil {
			first = max(0, newest.Version()-1) // the last version tells as much of a plain table
		}
		for v := first; v < newest.Version(); v++ {
			then, err := in.Log.LoadAt(t.Context(), v)
			if err != nil || !then.HasSchema() {
				continue // the log no longer reaches back to it, or it cannot be read
			}
			t.Run(fmt.Sprintf("%s/%d", name, v), func(t *testing.T) { restored(t, in, newest, then, seen) })
		}
	})
	t.Log(seen)
	for _, what := range []string{"vectors", "columnMapping", "rowTracking", "clustering", "schema", "protocol"} {
		require.Positive(t, seen[what], "no restore met %s", what)
	}
}

func restored(t *testing.T, in *inside.Table, now, then *delta.Snapshot, seen map[string]int) {
	want, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), then)
	if err != nil || now.AppendOnly() {
		return
	}
	ids := rowIDs(t, in, then)
	proposal, err := (&restore{in: in, to: Version(then.Version()), found: map[string]bool{}}).Plan(t.Context(), now)
	require.NoError(t, err)
	if proposal == nil {
		return
	}
	after := advanced(t, now, proposal)
	got, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, ids, rowIDs(t, in, after))
	require.Equal(t, then.Clustering(), after.Clustering())
	require.True(t, then.ArrowSchema().Equal(after.ArrowSchema()))
	for _, f := range now.Protocol().WriterFeatures {
		require.True(t, after.Protocol().Supports(f), "the feature %s is kept", f)
	}
	again, err := (&restore{in: in, to: Version(then.Version()), found: map[string]bool{}}).Plan(t.Context(), after)
	require.NoError(t, err)
	require.Nil(t, again, "the second call")
	for what, is := range map[string]bool{
		"columnMapping": now.Mapping() != delta.MappingNone, "rowTracking": now.TracksRows(), "clustering": !slices.EqualFunc(now.Clustering(), then.Clustering(), slices.Equal),
		"schema": now.Metadata().SchemaString != then.Metadata().SchemaString, "protocol": now.Protocol().MinWriterVersion != then.Protocol().MinWriterVersion,
		"vectors": slices.ContainsFunc(proposal.Actions, func(a delta.Action) bool { return a.Add != nil && a.Add.DeletionVector != nil }),
	} {
		if is {
			seen[what]++
		}
	}
}

// TestVacuumOfTablesOfOthers deletes every file that nothing needs, whatever its age, from tables that
// other engines made, and reads them again.
func TestVacuumOfTablesOfOthers(t *testing.T) {
	vectors, gone := 0, 0
	walkCorpus(t, func(name string, in *inside.Table, newest *delta.Snapshot) {
		before, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), newest)
		if err != nil {
			return // it cannot be read whole
		}
		v := &vacuum{in: in, out: Vacuumed{Before: time.Now().Add(24 * time.Hour)}}
		require.NoError(t, v.protect(t.Context(), newest), name)
		files, err := v.listed(t.Context())
		require.NoError(t, err, name)
		for _, f := range files {
			_, live := newest.Live(f.key)
			require.False(t, live, "%s: %s", name, f.key)
			require.NoError(t, in.Store.Delete(t.Context(), f.key))
		}
		logged, err := v.logged(t.Context())
		require.NoError(t, err, name)
		require.Empty(t, logged, "%s: what the log tells of was found in the store", name)
		after, err := (&plan.Fingerprint{Env: in.Env, Verify: true}).Of(t.Context(), newest)
		require.NoError(t, err, name)
		require.Equal(t, before, after, name)
		gone += len(files)
		for a := range newest.Files() {
			if a.DeletionVector != nil && a.DeletionVector.StorageType != "i" {
				vectors++
			}
		}
	})
	require.Positive(t, gone)
	require.Positive(t, vectors)
}

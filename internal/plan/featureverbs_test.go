package plan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/vectors"
)

// week is three days of rows, enough for files across most borders.
var week = []entry{
	{"mon", 1, "x", 1}, {"mon", 2, "y", 2}, {"mon", 3, "-", 3}, {"mon", 4, "x", 4},
	{"tue", 5, "x", 5}, {"tue", 6, "y", -1}, {"wed", 7, "-", 7}, {"-", 8, "x", 8},
}

// planner is a verb as the tests drive it.
type planner struct {
	name  string
	plan  func(f *featured) (*plan.Proposal, error)
	close func()
}

// cuts are the verbs that cut files: each on a table that holds week.
func cuts() []func(f *featured) planner {
	replace := func(name string, p *plan.Replace) func(*featured) planner {
		return func(f *featured) planner {
			p := &plan.Replace{Env: f.env, Where: p.Where, AllowEmpty: true}
			if name != "delete" {
				p.Input.Reader = f.reader([]entry{{"mon", 9, "new", 9}, {"tue", 9, "new", 9}})
			}
			return planner{name, func(f *featured) (*plan.Proposal, error) { return p.Plan(f.t.Context(), f.snap) }, p.Close}
		}
	}
	return []func(*featured) planner{
		replace("delete", &plan.Replace{Where: mustParse("id = 2 OR id = 6")}),
		replace("replace", &plan.Replace{Where: mustParse("id = 2 OR id >= 6")}),
		func(f *featured) planner {
			p := &plan.Update{Env: f.env, Where: mustParse("id = 2 OR id = 6"), Set: []plan.MergeAssignment{{Column: "v", Value: mustParse("'z'")}}}
			return planner{"update", func(f *featured) (*plan.Proposal, error) { return p.Plan(f.t.Context(), f.snap) }, func() { p.Close() }}
		},
	}
}

func mustParse(text string) expr.Expr {
	e, err := expr.Parse(text)
	if err != nil {
		panic(err)
	}
	return e
}

// everyTable are tables with features that change how files are cut.
func everyTable() []features {
	return []features{
		{mapping: "name", tracking: true, feed: true, partitioned: true}, {vectors: true}, {mapping: "id", tracking: true, vectors: true, feed: true},
	}
}

// TestNothingIsLeftOfAPlanThatFails lets every store operation of every verb fail. While nothing was
// proposed the store must hold what it held, but for what a delete that failed left, and the rows are
// those that they were; then the same call succeeds.
func TestNothingIsLeftOfAPlanThatFails(t *testing.T) {
	mem := checked(t)
	kinds := []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.Duplicate}
	if testing.Short() {
		kinds = kinds[1:2] // a plan is one goroutine here, however an operation fails
	}
	for _, what := range everyTable() {
		for _, verb := range cuts() {
			f := newFeatured(t, mem, what)
			f.append(week...)
			f.append(entry{"mon", 2, "x", 2}, entry{"mon", 6, "x", 6}, entry{"mon", 40, "x", 6}) // of which less than half stays
			f.replace(&plan.Replace{Where: where(t, "id = 4")})                                  // so that some file has a vector
			rows, objects := f.rows(), f.objects()
			for _, kind := range kinds {
				for at := 1; ; at++ {
					if !failAt(f, verb, kind, at) {
						break
					}
					require.Equal(t, objects, f.objects(), "%s, %s at %d on %s", verb(f).name, kind, at, what)
				}
			}
			require.Equal(t, rows, f.rows())
			p := verb(f)
			proposal, err := p.plan(f)
			require.NoError(t, err)
			require.True(t, f.land(proposal))
			p.close()
			f.check()
		}
	}
}

// failAt plans while operation at goes wrong, and closes the planner. It is false if the plan makes
// fewer operations.
func failAt(f *featured, verb func(*featured) planner, kind storetest.Kind, at int) bool {
	p := verb(f)
	n, failed := 0, false
	f.st.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpDelete || c.Op == storetest.OpAbort {
			return storetest.Fault{}
		}
		if n++; n == at {
			failed = true
			return storetest.Fault{Kind: kind}
		}
		return storetest.Fault{}
	}
	_, err := p.plan(f)
	f.st.Before = nil
	require.True(f.t, err == nil || kind != storetest.Duplicate, "what was sent twice is there once: %v", err)
	if err == nil {
		// The fault did no harm. What was proposed is dropped by hand: no commit names it.
		require.True(f.t, kind != storetest.FailBefore || !failed, "a failure is told")
		known := map[string]bool{}
		for add := range f.snap.Files() {
			known[add.Key] = true
			if add.DeletionVector != nil {
				key, _, err := add.DeletionVector.FileKey(f.mem.URL())
				require.NoError(f.t, err)
				known[key] = true
			}
		}
		for _, a := range f.last {
			if a.CDC != nil {
				known[f.key(a.CDC.Path)] = true
			}
		}
		for _, key := range f.objects() {
			if !known[key] && !slices.Contains(f.kept(), key) {
				require.NoError(f.t, f.mem.Delete(f.t.Context(), key))
			}
		}
	}
	p.close()
	return failed
}

// kept are the files of earlier versions.
func (f *featured) kept() []string {
	var out []string
	for r := range f.snap.Tombstones() {
		out = append(out, r.Key)
	}
	return out
}

// TestADeleteReadsTheColumnsOfItsCondition counts the bytes that are read of a table of 100 columns.
func TestADeleteReadsTheColumnsOfItsCondition(t *testing.T) {
	mem := checked(t)
	fields := make([]delta.Field, 100)
	for i := range fields {
		fields[i] = nullable(fmt.Sprintf("c%d", i), delta.Long)
	}
	p := &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"}, WriterFeatures: []string{"deletionVectors"}}
	f := newFeatured(t, mem, features{})
	f.snap = snapshotWith(t, p, fields, nil, map[string]string{"delta.enableDeletionVectors": "true"})
	b := array.NewRecordBuilder(memory.DefaultAllocator, f.snap.ArrowSchema())
	defer b.Release()
	for row := range int64(5000) {
		for c := range fields {
			b.Field(c).(*array.Int64Builder).Append(row * int64(c+1) * 2654435761 % 1_000_003)
		}
	}
	set, err := plan.NewFileSet(t.Context(), f.env, f.snap, plan.NewRows)
	require.NoError(t, err)
	require.NoError(t, set.Write(b.NewRecordBatch()))
	adds, err := set.Finish()
	require.NoError(t, err)
	f.snap, err = f.snap.Advance(1, []delta.Action{{Add: adds[0]}})
	require.NoError(t, err)

	ranges := &rangeCounter{Store: f.mem}
	f.env.Store = ranges
	r := &plan.Replace{Env: f.env, Where: where(t, "c7 % 10 = 3")}
	proposal, err := r.Plan(t.Context(), f.snap)
	require.NoError(t, err)
	require.Len(t, proposal.Actions, 2, "a remove, and an add of the same file")
	require.Equal(t, adds[0].Key, proposal.Actions[1].Add.Key)
	require.Positive(t, r.Counts.Deleted)
	require.Less(t, ranges.bytes-footerBytes, adds[0].Size/50, "one column of a hundred is read")
}

// footerBytes is what finding the columns costs: the end of the file.
const footerBytes = 64 << 10

// rangeCounter counts the bytes that are read.
type rangeCounter struct {
	store.Store
	bytes int64
}

func (c *rangeCounter) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	c.bytes += int64(len(p))
	return c.Store.GetRange(ctx, key, off, p)
}

// TestVectorsGrow deletes row after row of one file: its bytes stay, its vector grows, its statistics
// stop being tight, until less than half is left; then it is copied.
func TestVectorsGrow(t *testing.T) {
	mem := checked(t)
	f := newFeatured(t, mem, features{vectors: true, tracking: true})
	var list []entry
	for id := range int64(10) {
		list = append(list, entry{"mon", id, "x", id})
	}
	f.append(list...)
	only := func() *delta.Add {
		files := slices.Collect(f.snap.Files())
		require.Len(t, files, 1)
		return files[0]
	}
	first, ids := only(), f.ids()
	require.Contains(t, first.Stats, `"tightBounds":true`)
	for id := range int64(5) {
		landed, p := f.replace(&plan.Replace{Where: where(t, "id = ?", id)})
		require.True(t, landed)
		require.Equal(t, int64(1), p.Counts.Deleted)
		require.Zero(t, p.Counts.FilesAdded)
		add := only()
		require.Equal(t, first.Key, add.Key)
		require.Equal(t, id+1, add.DeletionVector.Cardinality)
		require.Equal(t, first.BaseRowID, add.BaseRowID)
		require.Equal(t, first.CommitVersion, add.CommitVersion)
		require.Contains(t, add.Stats, `"numRecords":10,"tightBounds":false`)
		v, err := vectors.Read(t.Context(), f.st, f.mem.URL(), add.DeletionVector, 10)
		require.NoError(t, err)
		require.Equal(t, []int64{0, 1, 2, 3, 4}[:id+1], slices.Collect(v.Rows()))
		_, _, ok := plan.FileDigest(add)
		require.False(t, ok, "the digest of the rows that went is not known")
	}
	info := delta.InfoOf(f.last)
	require.Equal(t, "true", info.Tags["delta.rowTracking.preserved"])
	require.Equal(t, "1", info.OperationMetrics["numDeletionVectorsUpdated"])
	landed, p := f.replace(&plan.Replace{Where: where(t, "id = 5")})
	require.True(t, landed)
	require.Equal(t, int64(1), p.Counts.FilesRewritten, "of ten rows four would be left")
	require.Nil(t, only().DeletionVector)
	require.NotEqual(t, first.Key, only().Key)
	for id, e := range f.ids() {
		require.Equal(t, ids[id], e, "copied rows keep their ids")
	}
	landed, _ = f.replace(&plan.Replace{Where: where(t, "id >= 0")})
	require.True(t, landed)
	require.Zero(t, f.snap.NumFiles(), "a file without a row left is removed")
	f.check()
}

// TestVectorsNeedNoChangeFiles: where rows go by vectors the feed follows from them, and nothing is
// copied for it, however few rows are left.
func TestVectorsNeedNoChangeFiles(t *testing.T) {
	f := newFeatured(t, checked(t), features{vectors: true, feed: true})
	f.append(week...)
	landed, p := f.replace(&plan.Replace{Where: where(t, "id > 1"), Input: plan.Input{Reader: f.reader([]entry{{"mon", 9, "new", 9}})}})
	require.True(t, landed)
	require.Zero(t, p.Counts.FilesRewritten)
	for _, a := range f.last {
		require.Nil(t, a.CDC)
	}
	require.Equal(t, 2, f.snap.NumFiles())
	f.check()
}

// TestTheDigestFollowsAVector: where a comparison read the rows of the old slice, the digest of what is
// left is known.
func TestTheDigestFollowsAVector(t *testing.T) {
	f := newFeatured(t, checked(t), features{vectors: true})
	f.append(week...)
	landed, _ := f.replace(&plan.Replace{Where: where(t, "id = 2"), Input: plan.Input{Reader: f.reader([]entry{{"mon", 2, "other", 2}})}})
	require.True(t, landed)
	n := 0
	for add := range f.snap.Files() {
		if add.DeletionVector != nil {
			rows, _, ok := plan.FileDigest(add)
			require.True(t, ok)
			require.Equal(t, int64(7), rows)
			n++
		}
	}
	require.Equal(t, 1, n)
	f.check() // holds the digest against the rows
}

// TestAVectorThatAnotherWriterGrewIsAnotherFile plans, has another writer delete other rows of the same
// file, and plans again: both deletions stand.
func TestAVectorThatAnotherWriterGrewIsAnotherFile(t *testing.T) {
	for _, what := range []features{{vectors: true}, {vectors: true, feed: true, mapping: "name"}} {
		f := newFeatured(t, checked(t), what)
		f.append(week...)
		p := &plan.Replace{Env: f.env, Where: where(t, "id = 2"), AllowEmpty: true}
		_, err := p.Plan(t.Context(), f.snap)
		require.NoError(t, err)
		f.replace(&plan.Replace{Where: where(t, "id = 3")})
		proposal, err := p.Plan(t.Context(), f.snap)
		require.NoError(t, err)
		require.True(t, f.land(proposal))
		p.Close()
		left := f.rows()
		require.Len(t, left, len(week)-2)
		require.NotContains(t, left, week[1])
		require.NotContains(t, left, week[2])
		f.check()
	}
}

// TestAFileThatLiesAboutItsRowsIsNotCut: a vector on it could delete other rows than were meant.
func TestAFileThatLiesAboutItsRowsIsNotCut(t *testing.T) {
	f := newFeatured(t, checked(t), features{vectors: true})
	f.append(week...)
	lying := *slices.Collect(f.snap.Files())[0]
	lying.Stats, lying.Tags = strings.Replace(lying.Stats, `"numRecords":8`, `"numRecords":9`, 1), nil
	require.Contains(t, lying.Stats, `"numRecords":9`)
	f.write(2, []delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1}}, {Add: &lying}})
	objects := f.objects()
	p := &plan.Replace{Env: f.env, Where: where(t, "id = 2")}
	_, err := p.Plan(t.Context(), f.snap)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "8 rows and its statistics say 9")
	p.Close()
	require.Equal(t, objects, f.objects())
}

// TestReplacePartitions holds the rules of dynamic partition overwrite.
func TestReplacePartitions(t *testing.T) {
	mem := checked(t)
	partitions := func(f *featured, list ...entry) *plan.Replace {
		return &plan.Replace{Env: f.env, Dynamic: true, Input: plan.Input{Reader: f.reader(list)}}
	}
	f := newFeatured(t, mem, features{partitioned: true, feed: true})
	f.append(week...)
	landed, p := f.replace(partitions(f, entry{"-", 20, "a", 1}, entry{"mon", 21, "b", 2}))
	require.True(t, landed)
	require.Equal(t, int64(5), p.Counts.Deleted, "NULL is a partition like any other")
	want := bag{}
	want.add(week[4:7]...)
	want.add(entry{"-", 20, "a", 1}, entry{"mon", 21, "b", 2})
	require.Equal(t, want, f.rows())
	for _, a := range f.last {
		require.Nil(t, a.CDC, "whole files: the feed follows from them")
	}
	landed, _ = f.replace(partitions(f))
	require.False(t, landed, "rows that are none replace nothing")

	flat := newFeatured(t, mem, features{})
	_, err := partitions(flat, week[0]).Plan(t.Context(), flat.snap)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "no partition columns")

	both := partitions(f, week[0])
	both.Where = where(t, "id = 1")
	_, err = both.Plan(t.Context(), f.snap)
	require.ErrorIs(t, err, delta.ErrInput)
}

// TestReplacePartitionsGivesWay: a file that another writer added to one of the partitions is a
// conflict, one of another partition is none. Values are compared by type, however they are spelled.
func TestReplacePartitionsGivesWay(t *testing.T) {
	mem := checked(t)
	f := newFeatured(t, mem, features{})
	f.snap = snapshot(t, []delta.Field{nullable("p", delta.Decimal{Precision: 5, Scale: 2}), nullable("id", delta.Long)}, []string{"p"}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, f.snap.ArrowSchema())
	defer b.Release()
	require.NoError(t, b.Field(0).AppendValueFromString("1.50"))
	b.Field(1).(*array.Int64Builder).Append(1)
	batch := b.NewRecordBatch()
	file := func(name, p string) *delta.Add {
		return &delta.Add{Path: name, Key: name, PartitionValues: map[string]*string{"p": &p}, Size: 1, Stats: `{"numRecords":2}`}
	}
	snap, err := f.snap.Advance(1, []delta.Action{{Add: file("same", "1.5")}, {Add: file("other", "2.50")}, {Add: file("none", "x")}})
	require.NoError(t, err)
	p := &plan.Replace{Env: f.env, Dynamic: true, Input: plan.Input{Reader: reader(t, batch)}}
	proposal, err := p.Plan(t.Context(), snap)
	require.NoError(t, err)
	var removed []string
	for _, a := range proposal.Actions {
		if a.Remove != nil {
			removed = append(removed, a.Remove.Path)
		}
	}
	require.Equal(t, []string{"same"}, removed)
	require.False(t, proposal.Reads.WholeTable)
	require.Contains(t, proposal.Reads.Files, "same")
	require.True(t, proposal.Reads.Touches(file("new", "1.500")))
	require.False(t, proposal.Reads.Touches(file("new", "2.5")))
	require.False(t, proposal.Reads.Touches(file("new", "y")))
	p.Close()
}

// TestUpdates holds what an update takes and what it leaves alone.
func TestUpdates(t *testing.T) {
	mem := checked(t)
	f := newFeatured(t, mem, features{feed: true, tracking: true})
	f.append(week...)
	set := func(column, value string) []plan.MergeAssignment {
		return []plan.MergeAssignment{{Column: column, Value: where(t, value)}}
	}
	refused := func(snap *delta.Snapshot, text string, set []plan.MergeAssignment) {
		p := &plan.Update{Env: f.env, Set: set}
		_, err := p.Plan(t.Context(), snap)
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "Merge.")
		require.NoError(t, p.Close())
	}
	refused(f.snap, "a second call", set("id", "id + 1"))
	refused(f.snap, "sets no column", nil)
	refused(f.snap, "nope", set("nope", "1"))
	refused(snapshot(t, featuredFields, nil, map[string]string{"delta.appendOnly": "true"}), "append-only", set("v", "'x'"))

	ids := f.ids()
	landed, p := f.update(&plan.Update{Set: set("id", "id + 1"), Once: true})
	require.True(t, landed)
	require.Equal(t, int64(8), p.Counts.Updated)
	for id, e := range f.ids() {
		require.Equal(t, ids[id].id+1, e.id, "updated rows keep their ids")
	}
	landed, p = f.update(&plan.Update{Where: where(t, "v IS NOT NULL"), Set: set("v", "'x'")})
	require.True(t, landed)
	require.Equal(t, int64(2), p.Counts.Updated, "rows whose value is the same are left alone")
	require.Equal(t, "UPDATE", delta.InfoOf(f.last).Operation)
	require.Equal(t, "2", delta.InfoOf(f.last).OperationMetrics["numUpdatedRows"])
	landed, _ = f.update(&plan.Update{Where: where(t, "v IS NOT NULL"), Set: set("v", "'x'")})
	require.False(t, landed)

	every := slices.Concat(set("day", "v"), set("id", "0"), set("v", "NULL"), set("nest", "nest"))
	landed, p = f.update(&plan.Update{Where: where(t, "v IS NOT NULL"), Set: every})
	require.True(t, landed, "no column has to stay as it is")
	require.Equal(t, int64(6), p.Counts.Updated, "those that have a v")
	landed, _ = f.update(&plan.Update{Where: where(t, "v IS NOT NULL"), Set: every})
	require.False(t, landed)
	f.check()
}

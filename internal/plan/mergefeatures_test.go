package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
)

// traits are what a table asks of its writers.
type traits struct {
	vectors, feed, ids bool
	mapping            string // "" is none
	partitioned        bool
}

func (x traits) configuration() map[string]string {
	out := map[string]string{}
	for key, set := range map[string]bool{"delta.enableDeletionVectors": x.vectors, "delta.enableChangeDataFeed": x.feed, "delta.enableRowTracking": x.ids} {
		if set {
			out[key] = "true"
		}
	}
	if x.mapping != "" {
		out["delta.columnMapping.mode"] = x.mapping
	}
	if x.ids {
		out["delta.rowTracking.materializedRowIdColumnName"] = "_row-id-col-1"
		out["delta.rowTracking.materializedRowCommitVersionColumnName"] = "_row-commit-version-col-1"
	}
	return out
}

// mappedFields gives fields ids and physical names at every level.
func mappedFields(fields []delta.Field, next *int) []delta.Field {
	out := slices.Clone(fields)
	for i := range out {
		*next++
		out[i].Metadata = map[string]json.RawMessage{
			"delta.columnMapping.id":           json.RawMessage(fmt.Sprint(*next)),
			"delta.columnMapping.physicalName": json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("col-%d", *next))),
		}
		if s, ok := out[i].Type.(*delta.Struct); ok {
			out[i].Type = &delta.Struct{Fields: mappedFields(s.Fields, next)}
		}
	}
	return out
}

// lake is a table whose log is kept in memory.
type lake struct {
	t       require.TestingT
	ctx     context.Context
	traits  traits
	objects *store.Mem
	env     *plan.Env
	replay  *delta.Replay
	snap    *delta.Snapshot
	landed  []delta.Action // by the last commit
}

// item is a row of the table.
type item struct {
	k, seq int64
	p, v   string
}

func (i item) String() string { return fmt.Sprintf("%d/%s/%d/%s", i.k, i.p, i.seq, i.v) }

// json is the row, with the op of a source row if it has one.
func (i item) json(op string) string {
	more := ""
	if op != "" {
		more = fmt.Sprintf(`, "op": %q`, op)
	}
	return fmt.Sprintf(`{"k": %d, "p": %q, "seq": %d, "v": %q, "s": {"a": %q}%s}`, i.k, i.p, i.seq, i.v, i.v, more)
}

func newLake(ctx context.Context, t require.TestingT, mem memory.Allocator, x traits) *lake {
	l := &lake{t: t, ctx: ctx, traits: x, objects: store.NewMem()}
	l.env = newEnv(l.objects, mem)
	fields := []delta.Field{
		nullable("k", delta.Long), nullable("p", delta.String), nullable("seq", delta.Long), nullable("v", delta.String),
		nullable("s", &delta.Struct{Fields: []delta.Field{nullable("a", delta.String)}}),
	}
	if x.mapping != "" {
		next := 0
		fields = mappedFields(fields, &next)
	}
	features := []string{"deletionVectors", "columnMapping"}
	m := &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: (&delta.Struct{Fields: fields}).JSON(), Configuration: x.configuration()}
	if x.partitioned {
		m.PartitionColumns = []string{"p"}
	}
	l.replay = delta.NewReplay("mem:///")
	require.NoError(t, l.replay.Commit(0, []delta.Action{{Metadata: m}, {Protocol: &delta.Protocol{
		MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features,
		WriterFeatures: append(features, "changeDataFeed", "rowTracking", "domainMetadata"),
	}}}))
	l.look(0)
	return l
}

func (l *lake) look(version int64) {
	var err error
	l.snap, err = l.replay.Snapshot(version)
	require.NoError(l.t, err)
}

// land commits what a plan proposes.
func (l *lake) land(p *plan.Proposal) {
	in := &commit.Intent{
		TxnID: strings.Repeat("0", 32), TableID: l.snap.Metadata().ID, ReadVersion: l.snap.Version(),
		Info: delta.CommitInfo{Operation: p.Operation, Tags: p.Tags}, Actions: p.Actions, Reads: p.Reads, DataChange: true,
	}
	require.NoError(l.t, in.Validate())
	next := l.snap.Version() + 1
	body, err := in.Body(commit.Landing{Version: next, Now: 1, Table: l.snap})
	require.NoError(l.t, err)
	require.NoError(l.t, l.replay.Commit(next, body))
	l.landed = body
	l.look(next)
}

// change is a source row and its op.
type changeOf struct {
	item
	op string
}

// upsert merges rows: those with the op d delete, rows of the table that lack a source row and whose v
// is a go, and those with b get another v.
func (l *lake) upsert(source []changeOf, bySource bool) *plan.Merge {
	schema := arrow.NewSchema(append(slices.Clone(l.snap.ArrowSchema().Fields()), arrow.Field{Name: "op", Type: arrow.BinaryTypes.String}), nil)
	var list []string
	for _, c := range source {
		list = append(list, c.json(c.op))
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(list, ",")+"]"))
	require.NoError(l.t, err)
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(l.t, err)
	parsed := func(text string) expr.Expr {
		e, err := expr.Parse(text)
		require.NoError(l.t, err)
		return e
	}
	r := plan.MergeRequest{On: []string{"k"}, Newer: []string{"seq"}, DeleteWhen: parsed("op = 'd'"), AllowEmpty: true}
	if bySource {
		r.BySource = []plan.MergeClause{
			{When: parsed("target.v = 'a'"), Do: plan.MergeDelete},
			{When: parsed("target.v = 'b'"), Set: []plan.MergeAssignment{{Column: "v", Value: parsed("'d'")}, {Column: "s.a", Value: parsed("'d'")}}},
		}
	}
	return &plan.Merge{Env: l.env, Input: plan.Input{Reader: reader}, Request: r}
}

func (l *lake) plan(m *plan.Merge) *plan.Proposal {
	p, err := m.Plan(l.ctx, l.snap)
	require.NoError(l.t, err)
	return p
}

// known is a row of the model: what row tracking knows of it.
type known struct {
	item
	id, version int64
}

// expected is the model's table after a merge, and its feed.
func expected(table map[int64]known, source []changeOf, bySource bool, version int64) (map[int64]known, []string) {
	out, feed := map[int64]known{}, []string{}
	byKey := map[int64]changeOf{}
	for _, s := range source {
		byKey[s.k] = s
	}
	update := func(t known, to item) {
		feed = append(feed, "update_preimage "+t.String(), "update_postimage "+to.String())
		out[t.k] = known{to, t.id, version}
	}
	for k, t := range table {
		s, matched := byKey[k]
		switch {
		case !matched && bySource && t.v == "a", matched && s.seq > t.seq && s.op == "d":
			feed = append(feed, "delete "+t.String())
		case matched && s.seq > t.seq:
			update(t, s.item)
		case !matched && bySource && t.v == "b":
			to := t.item
			to.v = "d"
			update(t, to)
		default:
			out[k] = t
		}
	}
	for k, s := range byKey {
		if _, matched := table[k]; !matched && s.op != "d" {
			feed = append(feed, "insert "+s.String())
			out[k] = known{s.item, -1, version}
		}
	}
	return out, feed
}

// rows reads the table. The ids are -1 where it tracks none.
func (l *lake) rows() map[int64]known {
	out := map[int64]known{}
	ids := map[int64]bool{}
	for f := range l.snap.Files() {
		n, sum := int64(0), rows.Digest{}
		for piece, err := range scan.Live(l.ctx, l.table(), f, nil, scan.LiveOptions{RowIDs: l.traits.ids}) {
			require.NoError(l.t, err)
			for i, r := range l.items(piece.Batch) {
				row := known{r, -1, -1}
				if l.traits.ids {
					row.id, row.version = piece.Batch.Column(5).(*array.Int64).Value(i), piece.Batch.Column(6).(*array.Int64).Value(i)
					require.False(l.t, ids[row.id], "two rows have the id %d", row.id)
					ids[row.id] = true
				}
				require.NotContains(l.t, out, r.k)
				out[r.k] = row
			}
			n += piece.Batch.NumRows()
			own := array.NewRecordBatch(l.snap.ArrowSchema(), piece.Batch.Columns()[:5], piece.Batch.NumRows())
			d, err := rows.DigestRows(own, nil)
			own.Release()
			require.NoError(l.t, err)
			sum = sum.Add(d)
		}
		if tagged, d, ok := plan.FileDigest(f); ok {
			require.Equal(l.t, n, tagged)
			require.Equal(l.t, sum, d, "the tag of %s", f.Path)
		}
	}
	return out
}

func (l *lake) table() scan.Table {
	return scan.Table{Store: l.objects, Snapshot: l.snap, Allocator: l.env.Allocator, Parallelism: 1}
}

// items are the rows of a batch whose first columns are those of the table.
func (l *lake) items(b arrow.RecordBatch) []item {
	out := make([]item, b.NumRows())
	for i := range out {
		out[i] = item{k: b.Column(0).(*array.Int64).Value(i), p: b.Column(1).(*array.String).Value(i), seq: b.Column(2).(*array.Int64).Value(i), v: b.Column(3).(*array.String).Value(i)}
		s := b.Column(4).(*array.Struct)
		require.Equal(l.t, out[i].v, s.Field(0).(*array.String).Value(i))
	}
	return out
}

// feed is the change data feed of the last commit.
func (l *lake) feed() []string {
	out := []string{}
	explicit := slices.ContainsFunc(l.landed, func(a delta.Action) bool { return a.CDC != nil })
	for _, a := range l.landed {
		switch {
		case a.CDC != nil:
			out = append(out, l.changes(a.CDC)...)
		case explicit:
		case a.Remove != nil:
			require.Fail(l.t, "rows were removed and no change is told")
		case a.Add != nil:
			for batch, err := range scan.File(l.ctx, l.table(), a.Add, nil) {
				require.NoError(l.t, err)
				for _, r := range l.items(batch) {
					out = append(out, "insert "+r.String())
				}
			}
		}
	}
	return out
}

// changes reads a file of changes by the names that are in it.
func (l *lake) changes(c *delta.CDC) []string {
	fields := []arrow.Field{}
	for _, f := range l.snap.ArrowSchema().Fields() {
		if !l.traits.partitioned || f.Name != "p" {
			fields = append(fields, f)
		}
	}
	stored := l.snap.Stored(arrow.NewSchema(fields, nil))
	schema := arrow.NewSchema(append(slices.Clone(stored.Fields()), arrow.Field{Name: "_change_type", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
	key, err := delta.ResolvePath("mem:///", c.Path)
	require.NoError(l.t, err)
	require.True(l.t, strings.HasPrefix(key, "_change_data/"))
	file, err := parquetio.Parquet{}.Open(l.ctx, parquetio.Object(l.ctx, l.objects, key, c.Size), parquetio.ReadOptions{ByID: l.traits.mapping == "id"})
	require.NoError(l.t, err)
	defer file.Close()
	var out []string
	for b, err := range file.Batches(l.ctx, schema) {
		require.NoError(l.t, err)
		text := func(c, i int) string { return b.Column(c).(*array.String).Value(i) }
		number := func(c, i int) int64 { return b.Column(c).(*array.Int64).Value(i) }
		for i := range int(b.NumRows()) {
			r := item{k: number(0, i)}
			if l.traits.partitioned {
				r.p, r.seq, r.v = *c.PartitionValues[l.snap.PartitionKey("p")], number(1, i), text(2, i)
			} else {
				r.p, r.seq, r.v = text(1, i), number(2, i), text(3, i)
			}
			out = append(out, text(int(b.NumCols())-1, i)+" "+r.String())
		}
	}
	return out
}

// agrees holds the table against the model, and lets the model learn the ids of new rows.
func (l *lake) agrees(want map[int64]known) {
	have := l.rows()
	for k, w := range want {
		h := have[k]
		if !l.traits.ids {
			w.id, w.version = -1, -1
		} else if w.id < 0 {
			w.id = h.id
		}
		want[k] = w
	}
	require.Equal(l.t, want, have)
}

func drawChanges(t *rapid.T, name string) []changeOf {
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) changeOf {
		return changeOf{item{
			k: rapid.Int64Range(1, 34).Draw(t, "k"), seq: rapid.Int64Range(1, 9).Draw(t, "seq"),
			p: rapid.SampledFrom([]string{"p1", "p 2"}).Draw(t, "p"), v: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "v"),
		}, rapid.SampledFrom([]string{"u", "u", "d"}).Draw(t, "op")}
	}), 0, 20).Draw(t, name)
	seen := map[int64]bool{}
	return slices.DeleteFunc(list, func(c changeOf) bool {
		was := seen[c.k]
		seen[c.k] = true
		return was
	})
}

// TestMergesOfTablesThatAskForMore merges drawn rows into tables with vectors, a change data feed, row
// tracking and column mapping, each call twice and some overtaken by another, against a model that is
// a map.
func TestMergesOfTablesThatAskForMore(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		flag := func(name string) bool { return rapid.Bool().Draw(rt, name) }
		l := newLake(t.Context(), rt, mem, traits{
			vectors: flag("vectors"), feed: flag("feed"), ids: flag("ids"), partitioned: flag("partitioned"),
			mapping: rapid.SampledFrom([]string{"", "name", "id"}).Draw(rt, "mapping"),
		})
		l.env.TempDir, l.env.Parallelism = dir, rapid.IntRange(1, 3).Draw(rt, "Parallelism")
		if l.env.Parallelism > 1 {
			l.env.NewID = newIDs()
		}
		model := map[int64]known{}
		if begun := series(rapid.Int64Range(0, 30).Draw(rt, "begun with"), 1, "c"); len(begun) > 0 {
			l.appended(begun)
			model, _ = expected(model, begun, false, l.snap.Version())
			l.agrees(model)
		}
		for range rapid.IntRange(1, 5).Draw(rt, "merges") {
			source, bySource := drawChanges(rt, "source"), flag("by source")
			l.env.MemoryBytes = rapid.SampledFrom([]int64{0, 1}).Draw(rt, "MemoryBytes")
			m := l.upsert(source, bySource)
			if flag("overtaken") {
				l.plan(m)
				theirs := drawChanges(rt, "theirs")
				o := l.upsert(theirs, false)
				if p := l.plan(o); len(p.Actions) > 0 {
					l.land(p)
				}
				o.Close()
				model, _ = expected(model, theirs, false, l.snap.Version())
				l.agrees(model)
			}
			p := l.plan(m)
			want, feed := expected(model, source, bySource, l.snap.Version()+1)
			require.Equal(rt, len(feed) > 0, len(p.Actions) > 0, "a commit if and only if something changes")
			if len(feed) > 0 {
				l.land(p)
				if l.traits.feed {
					require.ElementsMatch(rt, feed, l.feed())
				}
				require.Equal(rt, l.traits.ids, p.Tags["delta.rowTracking.preserved"] == "true")
			}
			require.NoError(rt, m.Close())
			l.agrees(want)
			model = want

			written := objects(l.objects)
			again := l.upsert(source, bySource)
			require.Empty(rt, l.plan(again).Actions, "the second call")
			require.NoError(rt, again.Close())
			require.Equal(rt, written, objects(l.objects), "the second call writes nothing")
		}
		mem.AssertSize(rt, 0)
	})
}

func objects(s *store.Mem) []string {
	var out []string
	for o := range s.List(context.Background(), "", "") {
		out = append(out, o.Key)
	}
	return out
}

// newIDs gives ids to several goroutines.
func newIDs() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n.Add(1)) }
}

// series are rows k = 1 to n, each with v.
func series(n int64, seq int64, v string) []changeOf {
	out := make([]changeOf, n)
	for i := range out {
		out[i] = changeOf{item{k: int64(i + 1), p: "p1", seq: seq, v: v}, "u"}
	}
	return out
}

// appended lands rows in one file, in an order that is not that of their keys.
func (l *lake) appended(list []changeOf) {
	var lines []string
	for i := range list {
		lines = append(lines, list[(i*17+5)%len(list)].json(""))
	}
	if len(list)%17 == 0 {
		lines = nil
		for _, c := range slices.Backward(list) {
			lines = append(lines, c.json(""))
		}
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, l.snap.ArrowSchema(), strings.NewReader("["+strings.Join(lines, ",")+"]"))
	require.NoError(l.t, err)
	reader, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	require.NoError(l.t, err)
	p, err := (&plan.Append{Env: l.env, Input: plan.Input{Reader: reader}}).Plan(l.ctx, l.snap)
	require.NoError(l.t, err)
	l.land(p)
}

// merged lands a merge and gives it, closed.
func (l *lake) merged(source []changeOf, bySource bool) *plan.Merge {
	m := l.upsert(source, bySource)
	l.land(l.plan(m))
	require.NoError(l.t, m.Close())
	return m
}

// told is what the last commit did to files: "-" and "+" with the number of deleted rows under the file's
// vector, and of rows in a new file.
func (l *lake) told() []string {
	vector := func(v *delta.DeletionVector) int64 {
		if v == nil {
			return 0
		}
		return v.Cardinality
	}
	var out []string
	for _, a := range l.landed {
		switch {
		case a.Remove != nil:
			out = append(out, fmt.Sprintf("-%d", vector(a.Remove.DeletionVector)))
		case a.Add != nil && a.Add.DeletionVector != nil:
			out = append(out, fmt.Sprintf("+%d dead", a.Add.DeletionVector.Cardinality))
		case a.Add != nil:
			st, _ := delta.ParseStats(a.Add.Stats)
			out = append(out, fmt.Sprintf("+%d rows", *st.NumRecords))
		case a.CDC != nil:
			out = append(out, "cdc")
		}
	}
	return out
}

// TestWhatAMergeDoesToAFileWithVectors follows one file of ten rows through merges.
func TestWhatAMergeDoesToAFileWithVectors(t *testing.T) {
	for _, ids := range []bool{false, true} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		l := newLake(t.Context(), t, mem, traits{vectors: true, ids: ids})
		l.merged(series(10, 1, "c"), false)
		first := onlyFile(t, l.snap)

		m := l.merged([]changeOf{{item{1, 2, "p1", "d"}, "u"}, {item{2, 2, "p1", "d"}, "u"}, {item{3, 2, "p1", ""}, "d"}, {item{11, 1, "p1", "c"}, "u"}}, false)
		require.Equal(t, []string{"-0", "+3 dead", "+3 rows"}, l.told(), "the file stays, changed and new rows are in one file")
		require.Equal(t, []int64{1, 2, 1, 0, 1}, []int64{m.Counts.Inserted, m.Counts.Updated, m.Counts.Deleted, m.Counts.FilesRemoved, m.Counts.FilesAdded})
		stays, _ := l.snap.Live(first.Key)
		require.Equal(t, first.Size, stays.Size)
		require.Equal(t, first.BaseRowID, stays.BaseRowID)
		st, _ := delta.ParseStats(stays.Stats)
		require.Equal(t, []any{int64(10), false}, []any{*st.NumRecords, *st.TightBounds})
		vectors := l.vectorFiles()
		require.Len(t, vectors, 1)

		l.merged([]changeOf{{item{4, 2, "p1", ""}, "d"}}, false)
		require.Equal(t, []string{"-3", "+4 dead"}, l.told(), "the vector takes the place of the smaller one")
		require.Len(t, l.vectorFiles(), 2)
		_, _, tagged := plan.FileDigest(must(l.snap.Live(first.Key)))
		require.False(t, tagged, "rows that went unread leave the digest unknown")

		l.merged([]changeOf{{item{5, 2, "p1", "x"}, "u"}, {item{6, 2, "p1", "x"}, "u"}}, false)
		require.Equal(t, []string{"-4", "+6 rows"}, l.told(), "of a file of which less than half would be left the rest is copied; changed rows stay with it")

		l.merged([]changeOf{{item{7, 3, "p1", ""}, "d"}, {item{8, 3, "p1", ""}, "d"}, {item{9, 3, "p1", ""}, "d"}, {item{10, 3, "p1", ""}, "d"}, {item{5, 3, "p1", ""}, "d"}, {item{6, 3, "p1", ""}, "d"}}, false)
		require.NotContains(t, strings.Join(l.told(), " "), "dead", "a file whose rows all go is removed")
		require.Len(t, l.rows(), 3)
		mem.AssertSize(t, 0)
	}
}

// TestARedoneMergeInsertsWhatIsNewByThen: another writer inserts a row, newer than ours, while the merge is
// under way: it is in one part of a source that has many, and changes nothing else.
func TestARedoneMergeInsertsWhatIsNewByThen(t *testing.T) {
	const n = 200
	for _, theirs := range []int64{1, n / 2, n} {
		mem := checked(t)
		l := newLake(t.Context(), t, mem, traits{})
		l.env.MemoryBytes = 4 << 10
		m := l.upsert(series(n, 2, "ours"), false)
		l.plan(m)
		require.EqualValues(t, n, m.Counts.Inserted)
		l.appended([]changeOf{{item{theirs, 3, "p1", "theirs"}, ""}})
		l.land(l.plan(m))
		require.NoError(t, m.Close())
		require.Equal(t, []int64{n - 1, 0, 1}, []int64{m.Counts.Inserted, m.Counts.Updated, m.Counts.SkippedOlder})
		found := l.rows()
		require.Len(t, found, n)
		for k, r := range found {
			require.Equal(t, k == theirs, r.v == "theirs", "%s", r)
		}
	}
}

func must(f *delta.Add, ok bool) *delta.Add {
	if !ok {
		panic("the file is not live")
	}
	return f
}

func onlyFile(t *testing.T, snap *delta.Snapshot) *delta.Add {
	t.Helper()
	all := slices.Collect(snap.Files())
	require.Len(t, all, 1)
	return all[0]
}

func (l *lake) vectorFiles() []string {
	return slices.DeleteFunc(objects(l.objects), func(key string) bool { return !strings.HasSuffix(key, ".bin") })
}

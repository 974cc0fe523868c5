package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/vectors"
)

// features is what a table of these tests has.
type features struct {
	mapping                                string // "", "name" or "id"
	vectors, feed, tracking, keepPartition bool
	partitioned, prefixes                  bool
}

func (f features) String() string {
	var on []string
	for name, is := range map[string]bool{"vectors": f.vectors, "feed": f.feed, "tracking": f.tracking, "partitioned": f.partitioned,
		"prefixes": f.prefixes, "keepPartition": f.keepPartition, "mapping " + f.mapping: f.mapping != ""} {
		if is {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return strings.Join(on, " ")
}

// tester is a test, or one draw of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

// featured is a table that planners work on: their proposals land on it as the engine has them land.
type featured struct {
	t    tester
	what features
	mem  *store.Mem
	st   *storetest.Faulty
	env  *plan.Env
	snap *delta.Snapshot
	last []delta.Action // of the newest commit
}

var featuredFields = []delta.Field{
	nullable("day", delta.String), nullable("id", delta.Long), nullable("v", delta.String),
	nullable("nest", &delta.Struct{Fields: []delta.Field{nullable("a", delta.Long), nullable("b", delta.String)}}),
}

// mapped gives fields ids and physical names, from next on.
func mapped(fields []delta.Field, next *int) []delta.Field {
	out := slices.Clone(fields)
	for i := range out {
		*next++
		out[i].Metadata = map[string]json.RawMessage{
			"delta.columnMapping.id":           json.RawMessage(fmt.Sprint(*next)),
			"delta.columnMapping.physicalName": json.RawMessage(fmt.Sprintf(`"col-%d"`, *next)),
		}
		if s, ok := out[i].Type.(*delta.Struct); ok {
			out[i].Type = &delta.Struct{Fields: mapped(s.Fields, next)}
		}
	}
	return out
}

func newFeatured(t tester, mem memory.Allocator, what features) *featured {
	m := store.NewMem()
	f := &featured{t: t, what: what, mem: m, st: storetest.NewFaulty(m)}
	f.env = newEnv(f.st, mem)
	next, mu := f.env.NewID, sync.Mutex{}
	f.env.NewID = func() string {
		mu.Lock()
		defer mu.Unlock()
		return next()
	}
	conf := map[string]string{}
	p := &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{}, WriterFeatures: []string{"appendOnly", "invariants"}}
	writes := func(names ...string) { p.WriterFeatures = append(p.WriterFeatures, names...) }
	reads := func(name string) { writes(name); p.ReaderFeatures = append(p.ReaderFeatures, name) }
	fields := featuredFields
	if what.mapping != "" {
		n := 0
		fields = mapped(fields, &n)
		conf["delta.columnMapping.mode"], conf["delta.columnMapping.maxColumnId"] = what.mapping, fmt.Sprint(n)
		reads("columnMapping")
	}
	if what.vectors {
		conf["delta.enableDeletionVectors"] = "true"
		reads("deletionVectors")
	}
	if what.feed {
		conf["delta.enableChangeDataFeed"] = "true"
		writes("changeDataFeed")
	}
	if what.tracking {
		conf["delta.enableRowTracking"] = "true"
		conf["delta.rowTracking.materializedRowIdColumnName"] = "_row-id-col-1"
		conf["delta.rowTracking.materializedRowCommitVersionColumnName"] = "_row-commit-version-col-1"
		writes("rowTracking", "domainMetadata")
	}
	if what.prefixes {
		conf["delta.randomizeFilePrefixes"], conf["delta.randomPrefixLength"] = "true", "4"
	}
	if what.keepPartition {
		conf["delta.writePartitionColumnsToParquet"] = "true"
	}
	var partitionBy []string
	if what.partitioned {
		partitionBy = []string{"day"}
	}
	f.write(0, []delta.Action{
		{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "CREATE TABLE", EngineInfo: "idem", TxnID: strings.Repeat("0", 32)}},
		{Protocol: p},
		{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: (&delta.Struct{Fields: fields}).JSON(), PartitionColumns: partitionBy, Configuration: conf}},
	})
	return f
}

// write puts a commit into the log, and reads it as another process would.
func (f *featured) write(version int64, actions []delta.Action) {
	data, err := delta.EncodeCommit(actions)
	require.NoError(f.t, err)
	require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), delta.CommitKey(version), data))
	f.last, err = delta.DecodeCommit("commit", data)
	require.NoError(f.t, err)
	if f.snap == nil {
		r := delta.NewReplay(f.mem.URL())
		require.NoError(f.t, r.Commit(0, f.last))
		f.snap, err = r.Snapshot(0)
	} else {
		f.snap, err = f.snap.Advance(version, f.last)
	}
	require.NoError(f.t, err)
}

// land commits a proposal; it says whether there was anything to commit.
func (f *featured) land(p *plan.Proposal) bool {
	if p == nil || len(p.Actions) == 0 {
		return false
	}
	version := f.snap.Version() + 1
	in := &commit.Intent{
		TxnID: fmt.Sprintf("%032x", version), TableID: "t", ReadVersion: f.snap.Version(), Actions: p.Actions, Reads: p.Reads, BlindAppend: p.BlindAppend,
		DataChange: !p.Rearranges, Info: delta.CommitInfo{Timestamp: version, Operation: p.Operation, OperationParameters: p.Parameters,
			OperationMetrics: p.Metrics, EngineInfo: "idem", Tags: p.Tags},
	}
	require.NoError(f.t, in.Validate())
	body, err := in.Body(commit.Landing{Version: version, Now: version, Table: f.snap})
	require.NoError(f.t, err)
	f.write(version, body)
	return true
}

// check holds the whole log and every file against the rules.
func (f *featured) check() {
	found, err := logcheck.Check(f.t.Context(), f.mem)
	require.NoError(f.t, err)
	require.Empty(f.t, found.Findings)
}

// entry is one row; negative numbers and "-" are NULL.
type entry struct {
	day string
	id  int64
	v   string
	a   int64
}

func (e entry) String() string { return fmt.Sprintf("%s/%d/%s/%d", e.day, e.id, e.v, e.a) }

// bag is a multiset of rows.
type bag map[entry]int

func (b bag) add(list ...entry) {
	for _, e := range list {
		b[e]++
	}
}

// where gives the rows that in accepts, and takes them out of the bag.
func (b bag) where(in func(entry) bool) bag {
	out := bag{}
	for e, n := range b {
		if in(e) {
			out[e] = n
			delete(b, e)
		}
	}
	return out
}

func (f *featured) reader(list []entry) array.RecordReader {
	return reader(f.t, f.batch(f.snap.ArrowSchema(), list))
}

func (f *featured) batch(schema *arrow.Schema, list []entry) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	nest := b.Field(3).(*array.StructBuilder)
	for _, e := range list {
		text(b.Field(0).(*array.StringBuilder), e.day)
		number(b.Field(1).(*array.Int64Builder), e.id)
		text(b.Field(2).(*array.StringBuilder), e.v)
		nest.Append(true)
		number(nest.FieldBuilder(0).(*array.Int64Builder), e.a)
		nest.FieldBuilder(1).AppendNull()
	}
	return b.NewRecordBatch()
}

func reader(t tester, batch arrow.RecordBatch) array.RecordReader {
	r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	require.NoError(t, err)
	return r
}

func text(b *array.StringBuilder, v string) {
	if v == "-" {
		b.AppendNull()
	} else {
		b.Append(v)
	}
}

func number(b *array.Int64Builder, v int64) {
	if v < 0 {
		b.AppendNull()
	} else {
		b.Append(v)
	}
}

// entryAt reads a row of a batch whose first columns are the table's.
func entryAt(batch arrow.RecordBatch, i int) entry {
	e := entry{day: "-", id: -1, v: "-", a: -1}
	if c := batch.Column(0).(*array.String); c.IsValid(i) {
		e.day = strings.Clone(c.Value(i))
	}
	if c := batch.Column(1).(*array.Int64); c.IsValid(i) {
		e.id = c.Value(i)
	}
	if c := batch.Column(2).(*array.String); c.IsValid(i) {
		e.v = strings.Clone(c.Value(i))
	}
	nest := batch.Column(3).(*array.Struct)
	if c := nest.Field(0).(*array.Int64); nest.IsValid(i) && c.IsValid(i) {
		e.a = c.Value(i)
	}
	return e
}

func (f *featured) table(snap *delta.Snapshot) scan.Table {
	return scan.Table{Store: f.st, Snapshot: snap, Allocator: f.env.Allocator, Parallelism: 1}
}

// rows are the table's.
func (f *featured) rows() bag {
	out := bag{}
	for batch, err := range scan.Rows(f.t.Context(), f.table(f.snap), scan.Request{}) {
		require.NoError(f.t, err)
		for i := range int(batch.NumRows()) {
			out.add(entryAt(batch, i))
		}
	}
	return out
}

// ids are the rows by their ids; two rows with one id fail the test.
func (f *featured) ids() map[int64]entry {
	out := map[int64]entry{}
	for batch, err := range scan.Rows(f.t.Context(), f.table(f.snap), scan.Request{RowIDs: true}) {
		require.NoError(f.t, err)
		for i := range int(batch.NumRows()) {
			id := batch.Column(4).(*array.Int64).Value(i)
			require.NotContains(f.t, out, id, "a row id stands once")
			out[id] = entryAt(batch, i)
		}
	}
	return out
}

// changes is what a reader of the change data feed finds in the newest commit: the change type of each
// row, "delete day/id/v/a". was is the table before.
func (f *featured) changes(was *delta.Snapshot) map[string]int {
	t, out := f.t, map[string]int{}
	told := false
	for _, a := range f.last {
		if a.CDC == nil {
			continue
		}
		told = true
		key := f.key(a.CDC.Path)
		require.True(t, strings.HasPrefix(key, "_change_data/"), key)
		f.cdcRows(key, a.CDC, out)
	}
	if told {
		return out
	}
	live := func(snap *delta.Snapshot, add *delta.Add, sign string, but func(int64) bool) {
		for piece, err := range scan.Live(t.Context(), f.table(snap), add, nil, scan.LiveOptions{}) {
			require.NoError(t, err)
			for i := range int(piece.Batch.NumRows()) {
				if !but(piece.Row(i)) {
					out[sign+" "+entryAt(piece.Batch, i).String()]++
				}
			}
		}
	}
	vector := func(add *delta.Add) *delta.Vector {
		if add.DeletionVector == nil {
			return delta.NewVector()
		}
		v, err := vectors.Read(t.Context(), f.st, f.mem.URL(), add.DeletionVector, -1)
		require.NoError(t, err)
		return v
	}
	none := func(int64) bool { return false }
	for _, a := range f.last {
		switch {
		case a.Remove != nil:
			old, ok := was.Live(f.key(a.Remove.Path))
			require.True(t, ok)
			if now, stays := f.snap.Live(old.Key); stays {
				after := vector(now)
				live(was, old, "delete", func(row int64) bool { return !after.Contains(row) })
				continue
			}
			live(was, old, "delete", none)
		case a.Add != nil:
			now, ok := f.snap.Live(f.key(a.Add.Path))
			require.True(t, ok)
			if _, before := was.Live(now.Key); !before {
				live(f.snap, now, "insert", none)
			}
		}
	}
	return out
}

func (f *featured) key(path string) string {
	key, err := delta.ResolvePath(f.mem.URL(), path)
	require.NoError(f.t, err)
	return key
}

// cdcRows reads a file of changes as one of a table that has the change type as a column.
func (f *featured) cdcRows(key string, c *delta.CDC, out map[string]int) {
	meta := *f.snap.Metadata()
	fields := append(slices.Clone(f.snap.Schema().Fields), nullable("_change_type", delta.String))
	fields[len(fields)-1].Metadata = map[string]json.RawMessage{"delta.columnMapping.id": json.RawMessage("99"), "delta.columnMapping.physicalName": json.RawMessage(`"_change_type"`)}
	meta.SchemaString = (&delta.Struct{Fields: fields}).JSON()
	meta.Configuration = maps.Clone(meta.Configuration)
	if f.what.mapping == "id" { // the change type has no field id
		meta.Configuration["delta.columnMapping.mode"] = "name"
	}
	r := delta.NewReplay(f.mem.URL())
	require.NoError(f.t, r.Commit(0, []delta.Action{{Protocol: f.snap.Protocol()}, {Metadata: &meta}}))
	snap, err := r.Snapshot(0)
	require.NoError(f.t, err)
	add := &delta.Add{Path: c.Path, Key: key, Size: c.Size, PartitionValues: c.PartitionValues}
	for batch, err := range scan.File(f.t.Context(), f.table(snap), add, nil) {
		require.NoError(f.t, err)
		for i := range int(batch.NumRows()) {
			kind := batch.Column(4).(*array.String)
			require.True(f.t, kind.IsValid(i))
			out[kind.Value(i)+" "+entryAt(batch, i).String()]++
		}
	}
}

// objects are the keys outside the log.
func (f *featured) objects() []string {
	var out []string
	for info, err := range f.mem.List(f.t.Context(), "", "") {
		require.NoError(f.t, err)
		if !strings.HasPrefix(info.Key, delta.LogDir) {
			out = append(out, info.Key)
		}
	}
	return out
}

func (f *featured) append(list ...entry) {
	p := &plan.Append{Env: f.env, Input: plan.Input{Reader: f.reader(list)}}
	proposal, err := p.Plan(f.t.Context(), f.snap)
	require.NoError(f.t, err)
	f.land(proposal)
}

// replace plans and commits, and closes the planner.
func (f *featured) replace(p *plan.Replace) (bool, *plan.Replace) {
	p.Env, p.AllowEmpty = f.env, true
	proposal, err := p.Plan(f.t.Context(), f.snap)
	require.NoError(f.t, err)
	landed := f.land(proposal)
	p.Close()
	return landed, p
}

// update plans and commits, and closes the planner.
func (f *featured) update(p *plan.Update) (bool, *plan.Update) {
	p.Env = f.env
	proposal, err := p.Plan(f.t.Context(), f.snap)
	require.NoError(f.t, err)
	landed := f.land(proposal)
	require.NoError(f.t, p.Close())
	return landed, p
}

func where(t tester, text string, args ...any) expr.Expr {
	e, err := expr.Parse(text, args...)
	require.NoError(t, err)
	return e
}

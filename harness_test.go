package idem_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logcheck"
)

// orders is the table of most tests: partitioned by day, keyed by id, ordered by seq.
var orders = arrow.NewSchema([]arrow.Field{
	{Name: "day", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// order is one row; a seq below 0 is NULL.
type order struct {
	day     string
	id, seq int64
	v       string
}

// rowsOf gives a one-pass reader.
func rowsOf(list ...order) array.RecordReader {
	r, err := array.NewRecordReader(orders, []arrow.RecordBatch{batchOf(list)})
	if err != nil {
		panic(err)
	}
	return r
}

func batchOf(list []order) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, orders)
	defer b.Release()
	for _, o := range list {
		b.Field(0).(*array.StringBuilder).Append(o.day)
		b.Field(1).(*array.Int64Builder).Append(o.id)
		if o.seq < 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Int64Builder).Append(o.seq)
		}
		b.Field(3).(*array.StringBuilder).Append(o.v)
	}
	return b.NewRecordBatch()
}

// counted notices whether it is read.
type counted struct {
	array.RecordReader
	reads int
}

func (c *counted) Next() bool { c.reads++; return c.RecordReader.Next() }

// rewound can be read again.
type rewound struct {
	array.RecordReader
	list    []order
	rewinds int
}

func again(list ...order) *rewound { return &rewound{RecordReader: rowsOf(list...), list: list} }

func (r *rewound) Rewind(context.Context) error {
	r.rewinds++
	r.RecordReader = rowsOf(r.list...)
	return nil
}

// fixture is a table in memory, whose operations are recorded and can be made to fail.
type fixture struct {
	t     *testing.T
	mem   *store.Mem
	store *storetest.Faulty
	table *idem.Table

	foreign bool // the test leaves a log that idem would not write: it is not checked
}

// newFixture makes the table of orders. When the test ends the log checker runs over it.
func newFixture(t *testing.T, properties ...string) *fixture {
	f := &fixture{t: t, mem: store.NewMem()}
	f.store = storetest.NewFaulty(f.mem)
	d := idem.Definition{Schema: orders, PartitionBy: []string{"day"}, Properties: map[string]string{}}
	for i := 0; i+1 < len(properties); i += 2 {
		d.Properties[properties[i]] = properties[i+1]
	}
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, d, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	f.store.Reset()
	t.Cleanup(func() {
		if !f.foreign {
			checkLog(t, f.mem)
		}
	})
	return f
}

func checkLog(t *testing.T, st store.Store) {
	if t.Failed() {
		return
	}
	found, err := logcheck.Check(context.WithoutCancel(t.Context()), st)
	require.NoError(t, err)
	require.Empty(t, found.Findings, "the log checker finds no broken rule")
}

// other opens the table as another process would, without faults.
func (f *fixture) other() *idem.Table {
	t, err := idem.OpenStore(f.t.Context(), f.mem, idem.Options{Parallelism: 1})
	require.NoError(f.t, err)
	return t
}

// just before our next commit, another writer does its work.
func (f *fixture) raced(by func(*idem.Table)) {
	other := f.other()
	done := false
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && !done {
			done = true
			by(other)
		}
		return storetest.Fault{}
	}
}

// rows gives the rows of the newest version, "day/id/seq/v", sorted by id.
func (f *fixture) rows() []string { return scanned(f.t, f.other()) }

func scanned(t *testing.T, table *idem.Table) []string {
	out := []string{}
	for b, err := range table.Scan(t.Context(), idem.Scan{}) {
		require.NoError(t, err)
		for i := range int(b.NumRows()) {
			cell := func(c int) string {
				if b.Column(c).IsNull(i) {
					return "NULL"
				}
				return b.Column(c).ValueStr(i)
			}
			out = append(out, fmt.Sprintf("%s/%s/%s/%s", cell(0), cell(1), cell(2), cell(3)))
		}
	}
	return out
}

func (f *fixture) fingerprint() string {
	p, err := f.other().Fingerprint(f.t.Context(), idem.Fingerprint{Verify: true})
	require.NoError(f.t, err)
	return p.String()
}

// dataFiles is the number of objects outside the log.
func (f *fixture) dataFiles() int {
	n := 0
	for info, err := range f.mem.List(f.t.Context(), "", "") {
		require.NoError(f.t, err)
		if len(info.Key) < len(delta.LogDir) || info.Key[:len(delta.LogDir)] != delta.LogDir {
			n++
		}
	}
	return n
}

// restore commits a RESTORE to a version, as Spark writes it.
func (f *fixture) restore(to int64) {
	t := f.t
	now := f.other()
	was, err := now.At(t.Context(), to)
	require.NoError(t, err)
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{
		Timestamp: 1, Operation: "RESTORE", OperationParameters: map[string]any{"version": fmt.Sprint(to), "timestamp": nil},
		EngineInfo: "Apache-Spark/4.1.0 Delta-Lake/4.2.0", TxnID: fmt.Sprintf("restore-%d", now.Version()),
	}}}
	for a := range now.Snapshot().Files() {
		if _, live := was.Snapshot().Live(a.Key); !live {
			at, size := int64(1), a.Size
			actions = append(actions, delta.Action{Remove: &delta.Remove{
				Path: a.Path, DeletionTimestamp: &at, DataChange: true, ExtendedMetadata: true, PartitionValues: a.PartitionValues, Size: &size,
			}})
		}
	}
	for a := range was.Snapshot().Files() {
		if _, live := now.Snapshot().Live(a.Key); !live {
			back := *a
			actions = append(actions, delta.Action{Add: &back})
		}
	}
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.NoError(t, f.mem.PutIfAbsent(t.Context(), delta.CommitKey(now.Version()+1), data))
}

// creators is what a creator got whose version 0 was taken just before it.
type creators struct {
	table *idem.Table
	res   *idem.Result
	err   error
}

func newCreators(t *testing.T, theirs, ours idem.Definition) creators {
	mem := store.NewMem()
	st := storetest.NewFaulty(mem)
	done := false
	st.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && c.Key == delta.CommitKey(0) && !done {
			done = true
			_, _, err := idem.CreateStore(t.Context(), mem, theirs, idem.Options{Parallelism: 1})
			require.NoError(t, err)
		}
		return storetest.Fault{}
	}
	var c creators
	c.table, c.res, c.err = idem.CreateStore(t.Context(), st, ours, idem.Options{Parallelism: 1})
	checkLog(t, mem)
	return c
}

// oneGoroutine leaves a test out under -short, with which the race detector runs: there is nothing in it for
// the detector, and it takes minutes there.
func oneGoroutine(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
}

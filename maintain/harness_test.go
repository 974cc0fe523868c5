package maintain_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

const (
	hour = time.Hour
	day  = 24 * hour
)

var columns = arrow.NewSchema([]arrow.Field{
	{Name: "p", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

type row struct {
	p  string
	id int64
	v  string
}

func rowsOf(list ...row) array.RecordReader { return named(columns, list...) }

// columnsNamed is the schema of row under other names.
func columnsNamed(names ...string) *arrow.Schema {
	fields := columns.Fields()
	for i := range fields {
		fields[i].Name = names[i]
	}
	return arrow.NewSchema(fields, nil)
}

func named(columns *arrow.Schema, list ...row) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns)
	defer b.Release()
	for _, r := range list {
		b.Field(0).(*array.StringBuilder).Append(r.p)
		b.Field(1).(*array.Int64Builder).Append(r.id)
		b.Field(2).(*array.StringBuilder).Append(r.v)
	}
	out, err := array.NewRecordReader(columns, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return out
}

// clock is one that tests move. Waiting costs nothing.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// fixture is a table in memory behind a store that can be made to fail, on a clock that tests move.
type fixture struct {
	t     *testing.T
	clock *clock
	mem   *store.Mem
	store *storetest.Faulty
	table *idem.Table

	unchecked bool // the log has what the log checker does not know
}

func newFixture(t *testing.T, definition idem.Definition) *fixture {
	f := &fixture{t: t, clock: &clock{now: time.Unix(1_700_000_000, 0)}}
	f.mem = store.NewMemClock(func() time.Time { return f.clock.now })
	f.store = storetest.NewFaulty(f.mem)
	if definition.Schema == nil {
		definition.Schema = columns
	}
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, definition, f.options())
	require.NoError(t, err)
	t.Cleanup(func() { f.check() })
	return f
}

func (f *fixture) options() idem.Options { return idem.Options{Parallelism: 1, Clock: f.clock} }

// check runs the log checker over the table.
func (f *fixture) check() {
	if f.t.Failed() || f.unchecked {
		return
	}
	found, err := logcheck.Check(context.WithoutCancel(f.t.Context()), f.mem)
	require.NoError(f.t, err)
	require.Empty(f.t, found.Findings)
}

// other is the table as another process has it, without faults.
func (f *fixture) other() *idem.Table {
	t, err := idem.OpenStore(f.t.Context(), f.mem, f.options())
	require.NoError(f.t, err)
	return t
}

// copies gives what makes copies of the table as it is now: each in a store of its own, on the one clock, which is set back.
func (f *fixture) copies() func(t *testing.T) *fixture {
	mem, now := f.mem.Clone(), f.clock.now
	return func(t *testing.T) *fixture {
		f.clock.now = now
		c := &fixture{t: t, clock: f.clock, mem: mem.Clone(), unchecked: f.unchecked}
		c.store = storetest.NewFaulty(c.mem)
		var err error
		c.table, err = idem.OpenStore(t.Context(), c.store, c.options())
		require.NoError(t, err)
		c.store.Reset()
		t.Cleanup(c.check)
		return c
	}
}

func (f *fixture) append(list ...row) *idem.Result {
	res, err := f.table.Append(f.t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
	require.NoError(f.t, err)
	f.clock.now = f.clock.now.Add(time.Minute)
	return res
}

func (f *fixture) delete(where string) {
	_, err := f.table.Delete(f.t.Context(), idem.Delete{Where: where})
	require.NoError(f.t, err)
	f.clock.now = f.clock.now.Add(time.Minute)
}

// rows are those of the newest version, "p/id/v", sorted.
func (f *fixture) rows() []string { return scanned(f.t, f.other()) }

func scanned(t *testing.T, table *idem.Table) []string {
	out := []string{}
	for b, err := range table.Scan(t.Context(), idem.Scan{Columns: []string{"p", "id", "v"}}) {
		require.NoError(t, err)
		for i := range int(b.NumRows()) {
			out = append(out, fmt.Sprintf("%s/%s/%s", b.Column(0).ValueStr(i), b.Column(1).ValueStr(i), b.Column(2).ValueStr(i)))
		}
	}
	slices.Sort(out)
	return out
}

// dataFiles are the keys outside the log.
func (f *fixture) dataFiles() []string {
	out := []string{}
	for info, err := range f.mem.List(f.t.Context(), "", "") {
		require.NoError(f.t, err)
		if !strings.HasPrefix(info.Key, delta.LogDir) {
			out = append(out, info.Key)
		}
	}
	return out
}

// last is the commitInfo of the newest version.
func (f *fixture) last() *delta.CommitInfo {
	for c, err := range f.other().History(f.t.Context()) {
		require.NoError(f.t, err)
		return c.Info
	}
	return nil
}

// raced lets another writer do its work just before our next commit is put.
func (f *fixture) raced(by func(*idem.Table)) {
	done := false
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && !done {
			done = true
			by(f.other())
		}
		return storetest.Fault{}
	}
}

package tabletest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/tabletest"
)

type source struct{ *bytes.Reader }

func (source) Name() string { return "file.stub" }

func sourceOf(b []byte) parquetio.Source { return source{bytes.NewReader(b)} }

// everyType has a column of each type that the stub stores, with and without NULL.
func everyType(mem memory.Allocator, n int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "bool", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "byte", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		{Name: "long", Type: arrow.PrimitiveTypes.Int64},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "money", Type: &arrow.Decimal128Type{Precision: 20, Scale: 2}, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := range n {
		b.Field(2).(*array.Int64Builder).Append(int64(i) - 3)
		if i%3 == 1 {
			for _, c := range []int{0, 1, 3, 4, 5, 6} {
				b.Field(c).AppendNull()
			}
			continue
		}
		b.Field(0).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(1).(*array.Int8Builder).Append(int8(-i))
		b.Field(3).(*array.StringBuilder).Append(fmt.Sprint("text ", i))
		b.Field(4).(*array.BinaryBuilder).Append(make([]byte, i))
		b.Field(5).(*array.Date32Builder).Append(arrow.Date32(i))
		b.Field(6).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i)))
	}
	return b.NewRecordBatch()
}

func encode(t testing.TB, batches ...arrow.RecordBatch) []byte {
	var buf bytes.Buffer
	w, err := tabletest.Stub{}.NewWriter(&buf, batches[0].Schema(), parquetio.WriteOptions{})
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestTheStubReadsWhatItWrote(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	whole := everyType(mem, 20)
	defer whole.Release()
	for _, c := range []struct {
		why      string
		from, to int64
		batch    int
	}{
		{"whole", 0, 20, 0},
		{"a slice that begins within a byte of the bitmaps", 3, 14, 0},
		{"in pieces", 1, 20, 4},
		{"no rows", 5, 5, 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			part := whole.NewSlice(c.from, c.to)
			defer part.Release()
			r, err := tabletest.Stub{}.Open(t.Context(), sourceOf(encode(t, part)), parquetio.ReadOptions{BatchRows: c.batch, Allocator: mem})
			require.NoError(t, err)
			require.Equal(t, c.to-c.from, r.NumRows())
			at := int64(0)
			for b, err := range r.Batches(t.Context(), whole.Schema()) {
				require.NoError(t, err)
				want := part.NewSlice(at, at+b.NumRows())
				require.True(t, array.RecordEqual(want, b), "%v\n%v", want, b)
				want.Release()
				at += b.NumRows()
			}
			require.Equal(t, c.to-c.from, at)
		})
	}
}

func TestTheStubGivesColumnsThatAreMissingAsNull(t *testing.T) {
	b := everyType(memory.DefaultAllocator, 5)
	want := arrow.NewSchema([]arrow.Field{{Name: "later", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, b.Schema().Field(2)}, nil)
	r, err := tabletest.Stub{}.Open(t.Context(), sourceOf(encode(t, b)), parquetio.ReadOptions{})
	require.NoError(t, err)
	for got, err := range r.Batches(t.Context(), want) {
		require.NoError(t, err)
		require.Equal(t, 5, got.Column(0).NullN())
		require.True(t, array.Equal(b.Column(2), got.Column(1)))
	}
}

func TestTheStubRefusesDamage(t *testing.T) {
	good := encode(t, everyType(memory.DefaultAllocator, 9))
	schema := everyType(memory.DefaultAllocator, 1).Schema()
	read := func(b []byte) error {
		r, err := tabletest.Stub{}.Open(t.Context(), sourceOf(b), parquetio.ReadOptions{})
		if err != nil {
			return err
		}
		for _, err := range r.Batches(t.Context(), schema) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, read(good))
	for i := range good {
		require.ErrorIs(t, read(good[:i]), delta.ErrCorrupt, "cut to %d bytes", i)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(good)
		for range rapid.IntRange(1, 4).Draw(t, "flips") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		}
		_ = read(b) // any answer will do, but a panic
	})
}

func TestTheStubKeepsCheckpoints(t *testing.T) {
	actions := []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		{Txn: &delta.Txn{AppID: "a", Version: 3}},
		{Add: &delta.Add{Path: "f.stub", Size: 7, Stats: `{"numRecords":1}`, PartitionValues: map[string]*string{}}},
	}
	var buf bytes.Buffer
	rows, adds, err := tabletest.Stub{}.WriteCheckpoint(&buf, func(yield func(delta.Action) bool) {
		for _, a := range actions {
			if !yield(a) {
				return
			}
		}
	}, parquetio.CheckpointLayout{})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 1}, []int64{rows, adds})
	for _, stats := range []bool{true, false} {
		var got []delta.Action
		require.NoError(t, tabletest.Stub{}.ReadCheckpoint(t.Context(), sourceOf(buf.Bytes()), parquetio.CheckpointOptions{SkipStats: !stats}, func(a delta.Action) error {
			got = append(got, a)
			return nil
		}))
		require.Len(t, got, 3)
		require.Equal(t, int64(3), got[1].Txn.Version)
		require.Equal(t, !stats, got[2].Add.StatsDeferred)
		require.Equal(t, stats, got[2].Add.Stats != "")
	}
}

// story is one of each verb, on a table and on the model.
func story(t *testing.T, seed uint64, partitioned bool) (*tabletest.Fixture, *tabletest.Model) {
	by := []string(nil)
	if partitioned {
		by = []string{"day"}
	}
	f := tabletest.New(t, seed, tabletest.Definition(by, nil))
	m := tabletest.NewModel()
	row := func(day string, id, seq int64) tabletest.Row {
		return tabletest.Row{Day: day, ID: id, Seq: seq, V: id * seq}
	}
	a := []tabletest.Row{row("d1", 1, 1), row("d1", 2, 1), {Day: "d2", ID: 3, Seq: 1, NullV: true}}
	_, err := f.Table.AppendWithTxn(f.Context, tabletest.Once(memory.DefaultAllocator, 2, a...), idem.Txn{AppID: "app", Version: 1})
	require.NoError(t, err)
	m.Append(a...)
	f.Check(t, m.Rows)

	b := []tabletest.Row{row("d1", 2, 2), row("d3", 4, 1), row("d1", 1, 0), row("d2", 3, 0), {Day: "d9", ID: 5, Seq: 1, V: -1}}
	_, err = f.Table.Merge(f.Context, tabletest.Once(memory.DefaultAllocator, 0, b...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "v < 0"})
	require.NoError(t, err)
	m.Merge(func(r tabletest.Row) bool { return !r.NullV && r.V < 0 }, b...)
	f.Check(t, m.Rows)

	c := []tabletest.Row{row("d1", 9, 1)}
	_, err = f.Table.ReplaceWhere(f.Context, tabletest.Again(memory.DefaultAllocator, 0, c...), idem.ReplaceWhere{Where: "day = 'd1'"})
	require.NoError(t, err)
	m.Replace(func(r tabletest.Row) bool { return r.Day == "d1" }, c...)
	f.Check(t, m.Rows)

	_, err = f.Table.Delete(f.Context, idem.Delete{Where: "v < 5"})
	require.NoError(t, err)
	m.Delete(func(r tabletest.Row) bool { return !r.NullV && r.V < 5 })
	f.Check(t, m.Rows)
	require.Equal(t, tabletest.Of(row("d1", 9, 1), tabletest.Row{Day: "d2", ID: 3, Seq: 1, NullV: true}), m.Rows)
	return f, m
}

func TestTheModelSaysWhatTheTableDoes(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		t.Run(fmt.Sprintf("partitioned=%t", partitioned), func(t *testing.T) { story(t, 1, partitioned) })
	}
}

func TestOneSeedGivesTheSameBytes(t *testing.T) {
	contents := func(seed uint64) map[string]string {
		f, _ := story(t, seed, true)
		out := map[string]string{}
		for info, err := range f.Store.List(t.Context(), "", "") {
			require.NoError(t, err)
			data, err := f.Store.Get(t.Context(), info.Key, 0)
			require.NoError(t, err)
			out[info.Key] = string(data)
		}
		return out
	}
	require.Equal(t, contents(7), contents(7))
	require.NotEqual(t, contents(7), contents(8), "the seed makes the ids")
}

func TestADifferenceIsShown(t *testing.T) {
	a := tabletest.Row{Day: "d", ID: 1}
	b := tabletest.Row{Day: "d", ID: 2, NullV: true}
	require.Empty(t, tabletest.Of(a, b).Diff(tabletest.Of(b, a)))
	require.Equal(t, "+1 {d 1 seq=0 v=0}\n-1 {d 2 seq=0 v=NULL}", tabletest.Of(a, b).Diff(tabletest.Of(a, a)))
}

func TestARowWithoutAKeyIsNoRow(t *testing.T) {
	for _, c := range []string{"id", "seq"} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, tabletest.Schema)
		for i, f := range tabletest.Schema.Fields() {
			if f.Name == c {
				b.Field(i).AppendNull()
			} else {
				b.Field(i).AppendEmptyValue()
			}
		}
		require.ErrorContains(t, tabletest.Rows{}.AddBatch(b.NewRecordBatch()), "row 0", c)
	}
}

func TestReaders(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rows := []tabletest.Row{{Day: "a", ID: 1}, {Day: "a", ID: 2}, {Day: "a", ID: 3}}
	drain := func(r array.RecordReader) tabletest.Rows {
		got := tabletest.Rows{}
		for r.Next() {
			require.NoError(t, got.AddBatch(r.RecordBatch()))
		}
		return got
	}
	again := tabletest.Again(mem, 2, rows...)
	require.Equal(t, tabletest.Of(rows...), drain(again))
	require.Empty(t, drain(again), "the end stays the end")
	require.NoError(t, again.Rewind(t.Context()))
	require.Equal(t, tabletest.Of(rows...), drain(again))
	again.Release()

	broken := errors.New("the source broke")
	failing := tabletest.Failing(mem, broken, 0, rows[:1]...)
	require.Equal(t, tabletest.Of(rows[0]), drain(failing))
	require.ErrorIs(t, failing.Err(), broken)
	failing.Release()
}

func TestTheClockMovesBySleepingAndEndsContexts(t *testing.T) {
	c := tabletest.NewClock()
	ctx, cancel := c.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, c.Sleep(ctx, 400*time.Millisecond))
	require.ErrorIs(t, c.Sleep(ctx, time.Hour), context.DeadlineExceeded)
	require.Equal(t, time.Second, c.Now().Sub(tabletest.Epoch), "a sleep ends at the deadline")
	require.NoError(t, context.WithoutCancel(ctx).Err(), "a read-back outlives it")
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	require.Error(t, ctx.Err())
	_ = inner
}

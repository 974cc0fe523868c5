package records_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

var idSchema = schemaOf(field("id", i64))

// fresh makes two batches, valid as a scan's are: each until the next is asked for.
func fresh(t testing.TB, mem memory.Allocator, err error) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, rows := range []string{`[{"id":1},{"id":2}]`, `[{"id":3}]`} {
			b := fromJSON(t, mem, idSchema, rows)
			more := yield(b, nil)
			b.Release()
			if !more {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func TestSeq(t *testing.T) {
	mem := checked(t)
	rows, err := records.Seq(idSchema, fresh(t, mem, nil))
	require.NoError(t, err)
	require.Same(t, idSchema, rows.Schema())
	require.Nil(t, rows.RecordBatch())
	require.Equal(t, []string{"1", "2", "3"}, lines(t, rows))
	require.False(t, rows.Next())
	require.Nil(t, rows.RecordBatch())
	rows.Release()

	_, again := any(rows).(idem.Rewinder)
	require.False(t, again, "a sequence is read once")
}

// TestSeqIsLeftEarly: whatever is open is closed by the last Release.
func TestSeqIsLeftEarly(t *testing.T) {
	mem := checked(t)
	for _, read := range []int{0, 1, 2} {
		rows, err := records.Seq(idSchema, fresh(t, mem, nil))
		require.NoError(t, err)
		for range read {
			require.True(t, rows.Next())
		}
		rows.Retain()
		rows.Release()
		if read > 0 {
			require.NotNil(t, rows.RecordBatch(), "there is a reference left")
		}
		rows.Release()
		require.False(t, rows.Next())
		require.ErrorIs(t, rows.Err(), idem.ErrInput, "it is not at its end")
		require.ErrorContains(t, rows.Err(), "released before they were read")
	}
}

// TestSeqErrors: an error of the sequence is handed on as it is, also when it looks like the end.
func TestSeqErrors(t *testing.T) {
	mem := checked(t)
	lost := errors.New("connection lost")
	rows, err := records.Seq(idSchema, fresh(t, mem, lost))
	require.NoError(t, err)
	_, err = tryLines(rows)
	require.Equal(t, lost, err)
	require.False(t, rows.Next())
	require.Equal(t, lost, rows.Err())
	rows.Release()

	rows, err = records.Seq(idSchema, fresh(t, mem, io.EOF))
	require.NoError(t, err)
	_, err = tryLines(rows)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	rows.Release()

	for why, schema := range map[string]*arrow.Schema{
		`column 1 of batch 1 is "id" (int64), but the schema given says "id" (int32)`: schemaOf(field("id", i32)),
		`column 1 of batch 1 is "id" (int64), but the schema given says "x" (int64)`:  schemaOf(field("x", i64)),
		`batch 1 has 1 columns, but the schema given has 2`:                           schemaOf(field("id", i64), field("x", i64)),
	} {
		rows, err = records.Seq(schema, fresh(t, mem, nil))
		require.NoError(t, err)
		_, err = tryLines(rows)
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, why)
		rows.Release()
	}
	rows, err = records.Seq(idSchema, seqOf(nil))
	require.NoError(t, err)
	require.Contains(t, failure(t, rows, nil), "batch 1 is nil")

	_, err = records.Seq(nil, seqOf())
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = records.Seq(idSchema, nil)
	require.ErrorIs(t, err, idem.ErrInput)
}

func TestBatches(t *testing.T) {
	mem := checked(t)
	one, two := fromJSON(t, mem, idSchema, `[{"id":1}]`), fromJSON(t, mem, idSchema, `[{"id":2},{"id":3}]`)
	batches := []arrow.RecordBatch{one, two}
	rows, err := records.Batches(idSchema, batches)
	require.NoError(t, err)
	one.Release()
	two.Release()
	batches[0] = nil // the reader has its own list
	for range 3 {
		require.Equal(t, []string{"1", "2", "3"}, lines(t, rows))
		require.NoError(t, rows.Rewind(t.Context()))
	}
	require.True(t, rows.Next())
	require.NoError(t, rows.Rewind(t.Context()), "also from the middle")
	require.Equal(t, []string{"1", "2", "3"}, lines(t, rows))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, rows.Rewind(ended), context.Canceled)
	rows.Release()
	require.ErrorContains(t, rows.Rewind(t.Context()), "released before they were read")

	_, err = records.Batches(nil, nil)
	require.ErrorIs(t, err, idem.ErrInput)
	b := fromJSON(t, mem, idSchema, `[]`)
	defer b.Release()
	_, err = records.Batches(schemaOf(field("x", i64)), []arrow.RecordBatch{b})
	require.ErrorIs(t, err, idem.ErrInput)
	none, err := records.Batches(idSchema, nil)
	require.NoError(t, err)
	require.Empty(t, lines(t, none))
	none.Release()
}

// TestRewindAfterAnError: rows that failed can be read again from the first on, and fail again.
func TestRewindAfterAnError(t *testing.T) {
	rows, err := records.CSV(idSchema, in(map[string]string{"a.csv": "id\n1\n2\nx\n"}, "a.csv"), records.CSVOptions{BatchRows: 2, Allocator: checked(t)})
	require.NoError(t, err)
	defer rows.Release()
	for range 2 {
		got, err := tryLines(rows)
		require.Equal(t, []string{"1", "2"}, got)
		require.ErrorContains(t, err, "line 4")
		require.Nil(t, rows.RecordBatch())
		require.NoError(t, rows.Rewind(t.Context()))
		require.NoError(t, rows.Err())
	}
}

// TestReleaseWithoutReading: what was never read leaves nothing open, whatever it is.
func TestReleaseWithoutReading(t *testing.T) {
	files := map[string]string{"a.csv": "id\n1\n", "a.jsonl": "{}\n"}
	for _, open := range []func(memory.Allocator) (array.RecordReader, error){
		func(mem memory.Allocator) (array.RecordReader, error) {
			return records.CSV(idSchema, in(files, "a.csv"), records.CSVOptions{Allocator: mem})
		},
		func(mem memory.Allocator) (array.RecordReader, error) {
			return records.JSONLines(idSchema, in(files, "a.jsonl"), records.JSONOptions{Allocator: mem})
		},
		func(mem memory.Allocator) (array.RecordReader, error) {
			return records.Structs([]struct{ ID int }{{1}}, records.StructOptions{Allocator: mem})
		},
	} {
		for _, read := range []bool{false, true} {
			rows, err := open(checked(t))
			require.NoError(t, err)
			require.Equal(t, read, read && rows.Next())
			rows.Release()
		}
	}
}

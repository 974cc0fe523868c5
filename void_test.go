package idem_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// voidTable is a table with a column and a field of the type void, as Spark's CREATE TABLE … AS SELECT NULL makes them.
func voidTable(t *testing.T) (*idem.Table, store.Store) {
	void, long := delta.Field{Name: "n", Type: delta.Void, Nullable: true}, delta.Field{Name: "x", Type: delta.Long, Nullable: true}
	schema := &delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, void, {Name: "s", Type: &delta.Struct{Fields: []delta.Field{void, long}}, Nullable: true},
	}}
	text, err := json.Marshal(schema.JSON())
	require.NoError(t, err)
	st := store.NewMem()
	require.NoError(t, st.PutIfAbsent(t.Context(), "_delta_log/00000000000000000000.json", []byte(`{"commitInfo":{"timestamp":1,"operation":"CREATE TABLE","operationParameters":{}}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"v","format":{"provider":"parquet","options":{}},"schemaString":`+string(text)+`,"partitionColumns":[],"configuration":{},"createdTime":1}}
`)))
	table, err := idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	return table, st
}

// TestTablesWithVoidAreWritten: what has no type is in no file and reads as NULL; every verb goes around it, twice.
func TestTablesWithVoidAreWritten(t *testing.T) {
	table, st := voidTable(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true}}, nil)
	rows := func(text string) array.RecordReader {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
		require.NoError(t, err)
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
		require.NoError(t, err)
		return r
	}
	_, err := table.Append(t.Context(), rows(`[{"id":1,"s":{"x":1}},{"id":2,"s":null}]`), idem.Append{Reason: "a table with void"})
	require.NoError(t, err)
	for i, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
		res, err := table.Merge(t.Context(), rows(`[{"id":1,"s":{"x":7}},{"id":3,"s":{"x":3}}]`), idem.Merge{On: []string{"id"}, Unguarded: true})
		require.NoError(t, err)
		require.Equal(t, want, res.Outcome, i)
	}
	for i, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
		res, err := table.ReplaceWhere(t.Context(), rows(`[{"id":3,"s":{"x":4}}]`), idem.ReplaceWhere{Where: "id = 3"})
		require.NoError(t, err)
		require.Equal(t, want, res.Outcome, i)
	}
	for i, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
		res, err := table.Delete(t.Context(), idem.Delete{Where: "id = 2 AND n IS NULL AND s.n IS NULL"})
		require.NoError(t, err)
		require.Equal(t, want, res.Outcome, i)
	}
	sum := int64(0)
	for batch, err := range table.Scan(t.Context(), idem.Scan{}) {
		require.NoError(t, err)
		require.Equal(t, int(batch.NumRows()), batch.Column(1).NullN())
		for i := range int(batch.NumRows()) {
			sum += batch.Column(0).(*array.Int64).Value(i)*10 + batch.Column(2).(*array.Struct).Field(1).(*array.Int64).Value(i)
		}
	}
	require.Equal(t, int64(10+7+30+4), sum)
	checkLog(t, st)
}

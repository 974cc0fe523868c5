package records_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/records"
)

// keyed is the schema of the table of this file; v stays NULL.
var keyed = schemaOf(field("id", i64), field("s", text), field("v", arrow.ListOf(i64)))

func newTable(t *testing.T) *idem.Table {
	t.Helper()
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: keyed}, idem.Options{})
	require.NoError(t, err)
	return table
}

// sources give the same two rows.
func sources(t *testing.T) map[string]func() (array.RecordReader, error) {
	type row struct {
		ID int64
		S  *string
	}
	two := schemaOf(field("id", i64), field("s", text))
	files := map[string]string{"a.csv": "s,id\n\"\",1\n,2\n", "a.jsonl": "{\"id\":1,\"s\":\"\"}\n{\"id\":2}\n", "a.parquet": ours(t, two, `[{"id":1,"s":""},{"id":2,"s":null}]`)}
	batch := fromJSON(t, memory.NewGoAllocator(), two, `[{"id":1,"s":""},{"id":2,"s":null}]`)
	return map[string]func() (array.RecordReader, error){
		"CSV": func() (array.RecordReader, error) {
			return records.CSV(keyed, in(files, "*.csv"), records.CSVOptions{})
		},
		"Parquet": func() (array.RecordReader, error) {
			return records.Parquet(in(files, "*.parquet"), records.ParquetOptions{})
		},
		"JSON": func() (array.RecordReader, error) {
			return records.JSONLines(keyed, in(files, "*.jsonl"), records.JSONOptions{})
		},
		"structs": func() (array.RecordReader, error) {
			return records.Structs([]row{{1, ptr("")}, {2, nil}}, records.StructOptions{})
		},
		"batches": func() (array.RecordReader, error) { return records.Batches(two, []arrow.RecordBatch{batch}) },
		"a sequence": func() (array.RecordReader, error) {
			return records.Seq(two, seqOf(batch))
		},
		"a stream": func() (array.RecordReader, error) {
			return records.CSVFrom(keyed, strings.NewReader(files["a.csv"]), records.CSVOptions{})
		},
	}
}

// TestVerbsTakeThem: the same rows from every source are the same rows to a verb: the second of them
// changes nothing. Those that can be read again are hashed and write no file.
func TestVerbsTakeThem(t *testing.T) {
	sources := sources(t)
	for first := range sources {
		table := newTable(t)
		for second, open := range sources {
			for i, open := range []func() (array.RecordReader, error){sources[first], open} {
				rows, err := open()
				require.NoError(t, err)
				res, err := table.ReplaceWhere(t.Context(), rows, idem.ReplaceWhere{Where: "id > 0"})
				rows.Release()
				require.NoError(t, err)
				if i == 1 {
					require.Equal(t, idem.Unchanged, res.Outcome, "%s after %s", second, first)
				}
			}
		}
		require.EqualValues(t, 1, table.Version(), first)
	}
}

// TestVerbsRefuseThem: a bad row commits nothing and is for people to mend; a source that broke off
// may be tried again.
func TestVerbsRefuseThem(t *testing.T) {
	table := newTable(t)
	bad, err := records.CSV(keyed, in(map[string]string{"a.csv": "id,s\n1,a\nx,b\n"}, "a.csv"), records.CSVOptions{BatchRows: 1})
	require.NoError(t, err)
	defer bad.Release()
	_, err = table.ReplaceAll(t.Context(), bad, idem.ReplaceAll{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, `read the rows given: the rows or the request break a rule: file a.csv, line 3, column "id": the value "x"`)
	require.False(t, idem.SafeToRunAgain(err))

	lost := errors.New("connection lost")
	broken, err := records.CSVFrom(keyed, io.MultiReader(strings.NewReader("id,s\n1,a\n"), iotest.ErrReader(lost)), records.CSVOptions{})
	if err == nil {
		_, err = table.ReplaceAll(t.Context(), broken, idem.ReplaceAll{})
		broken.Release()
	}
	require.ErrorIs(t, err, lost)
	require.True(t, idem.SafeToRunAgain(err))
	require.EqualValues(t, 0, table.Version())
}

// TestReleasedRowsAreNoEmptyRows: a verb that is given a reader after its last Release writes nothing and records no tag,
// so that the retry with the rows still writes them.
func TestReleasedRowsAreNoEmptyRows(t *testing.T) {
	for name, open := range sources(t) {
		for _, read := range []bool{false, true} {
			table := newTable(t)
			rows, err := open()
			require.NoError(t, err)
			if read {
				for rows.Next() { // to the end
				}
				require.NoError(t, rows.Err())
			}
			rows.Release()
			require.NoError(t, rows.Err(), "releasing is no error")
			calls := map[string]func() (*idem.Result, error){
				"append": func() (*idem.Result, error) {
					return table.AppendWithTxn(t.Context(), rows, idem.Txn{AppID: "a", Version: 1})
				},
				"replace": func() (*idem.Result, error) {
					return table.ReplaceWhere(t.Context(), rows, idem.ReplaceWhere{Where: "id > 0", AllowEmpty: true})
				},
				"merge": func() (*idem.Result, error) {
					return table.Merge(t.Context(), rows, idem.Merge{On: []string{"id"}, Unguarded: true, AllowEmpty: true})
				},
			}
			for verb, call := range calls {
				_, err = call()
				require.ErrorIs(t, err, idem.ErrInput, "%s of %s", verb, name)
			}
			require.EqualValues(t, 0, table.Version(), name)
			again, err := open()
			require.NoError(t, err)
			res, err := table.AppendWithTxn(t.Context(), again, idem.Txn{AppID: "a", Version: 1})
			again.Release()
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.EqualValues(t, 2, res.Inserted)
		}
	}
}

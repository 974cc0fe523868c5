package maintain_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// widest is a schema of so many columns of a type.
func widest(columns int, t arrow.DataType) *arrow.Schema {
	fields := []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	for i := range columns - 1 {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: t, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// wideRows are rows with ids from first to last, NULL in all other columns.
func wideRows(s *arrow.Schema, first, last int64) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := range s.Fields() {
		for id := first; id <= last; id++ {
			if i == 0 {
				b.Field(0).(*array.Int64Builder).Append(id)
			} else {
				b.Field(i).AppendNull()
			}
		}
	}
	rows, err := array.NewRecordReader(s, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return rows
}

// Files have columns that the table has not: ids of rows, kinds of changes, two for a variant, three for the statistics of
// one in a checkpoint. A table of as many columns as there may be is read with all of them.
func TestTheWidestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing is done a thousand times over")
	}
	deep := arrow.DataType(arrow.PrimitiveTypes.Int64)
	for range 59 {
		deep = arrow.StructOf(arrow.Field{Name: "s", Type: deep, Nullable: true})
	}
	variant, err := delta.ArrowType(delta.Variant)
	require.NoError(t, err)
	for name, schema := range map[string]*arrow.Schema{
		"longs": widest(10_000, arrow.PrimitiveTypes.Int64), "variants": widest(5_100, variant), "deep structs": widest(700, deep),
	} {
		t.Run(name, func(t *testing.T) {
			mem := store.NewMem()
			table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema, Properties: map[string]string{
				"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true",
				"delta.dataSkippingNumIndexedCols": "-1", "delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false",
			}}, idem.Options{})
			require.NoError(t, err)
			for i := range int64(2) {
				_, err = table.AppendWithTxn(t.Context(), wideRows(schema, 3*i, 3*i+2), idem.Txn{AppID: "a", Version: i})
				require.NoError(t, err)
			}
			_, err = maintain.OptimizeTable(t.Context(), table, maintain.Optimize{})
			require.NoError(t, err)
			deleted, err := table.Delete(t.Context(), idem.Delete{Where: "id = 1"})
			require.NoError(t, err)
			_, err = maintain.Checkpoint(t.Context(), table)
			require.NoError(t, err)
			print, err := table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
			require.NoError(t, err)
			require.EqualValues(t, 5, print.Rows)
			rows := int64(0)
			at := changes.Version(deleted.Version)
			for batch, err := range changes.Rows(t.Context(), table, changes.Request{From: at, To: at}) {
				require.NoError(t, err)
				rows += batch.NumRows()
			}
			require.EqualValues(t, 1, rows)
			for v := range deleted.Version {
				require.NoError(t, mem.Delete(t.Context(), delta.CommitKey(v)))
			}
			table, err = idem.OpenStore(t.Context(), mem, idem.Options{})
			require.NoError(t, err, "by the checkpoint alone")
			again, err := table.Fingerprint(t.Context(), idem.Fingerprint{})
			require.NoError(t, err)
			require.Equal(t, print.Digest, again.Digest)
		})
	}
}

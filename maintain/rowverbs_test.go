package maintain_test

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/maintain"
)

func TestUpdateOnEveryKindOfTable(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := newFixture(t, k.definition)
			f.append(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"b", 3, "z"})
			f.append(row{"b", 4, "x"})
			ids := len(f.ids())
			request := maintain.Update{Where: "id <= ?", Args: []any{2}, Set: map[string]string{"v": "upper(v)"}, SetExpr: map[string]expr.Expr{"p": expr.Lit("c")}, Note: "why"}
			res, err := maintain.UpdateTable(t.Context(), f.table, request)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.EqualValues(t, 2, res.Updated)
			require.Equal(t, "UPDATE", f.last().Operation)
			require.Equal(t, "why", f.last().UserMetadata)
			want := []string{"b/3/z", "b/4/x", "c/1/X", "c/2/Y"}
			require.Equal(t, want, f.rows())
			require.Len(t, f.ids(), ids)
			f.check()
			for _, table := range []*idem.Table{f.table, f.other()} {
				res, err = maintain.UpdateTable(t.Context(), table, request)
				require.NoError(t, err)
				require.Equal(t, idem.Unchanged, res.Outcome)
			}
			f.restore(maintain.Version(2))
			res, err = maintain.UpdateTable(t.Context(), f.table, request)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome, "after a restore it updates again")
			require.Equal(t, want, f.rows())
		})
	}
}

func TestUpdateThatCannotBeRepeated(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"})
	request := maintain.Update{Where: "TRUE", Set: map[string]string{"id": "id + 1"}}
	_, err := maintain.UpdateTable(t.Context(), f.table, request)
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "a second call would change the table again: a row with p=\"a\", which this call updates, would be updated by Update (id: 2 to 3), one of 2 such rows; nothing was changed: give the call a Txn, so that the repeat is skipped; or a Where that is not TRUE once it was applied")
	require.Equal(t, []string{"a/1/x", "a/2/y"}, f.rows())
	request.Txn = idem.Txn{AppID: "raise", Version: 1}
	res, err := maintain.UpdateTable(t.Context(), f.table, request)
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	res, err = maintain.UpdateTable(t.Context(), f.other(), request)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, res.Outcome)
	require.Equal(t, []string{"a/2/x", "a/3/y"}, f.rows())
	f.restore(maintain.Version(1))
	_, err = maintain.UpdateTable(t.Context(), f.table, request)
	require.ErrorIs(t, err, idem.ErrRestored)
}

func TestUpdateRefuses(t *testing.T) {
	f := newFixture(t, idem.Definition{Constraints: map[string]string{"c": "id > 0"}})
	f.append(row{"a", 1, "x"})
	set := map[string]string{"v": "'y'"}
	for _, c := range []struct {
		name, text string
		request    maintain.Update
	}{
		{"no condition", "Update.Where is empty", maintain.Update{Set: set}},
		{"two conditions", "both as text and as a tree", maintain.Update{Where: "TRUE", Condition: expr.Lit(true), Set: set}},
		{"nothing set", "sets no column", maintain.Update{Where: "TRUE"}},
		{"no expression", "Update.Set of v", maintain.Update{Where: "TRUE", Set: map[string]string{"v": "("}}},
		{"nil", "expr.Lit(nil) is NULL", maintain.Update{Where: "TRUE", SetExpr: map[string]expr.Expr{"v": nil}}},
		{"no column", "nope", maintain.Update{Where: "TRUE", Set: map[string]string{"nope": "1"}}},
		{"a constraint", "\"c\"", maintain.Update{Where: "TRUE", Set: map[string]string{"id": "-1"}}},
		{"half a tag", "AppID is empty", maintain.Update{Where: "TRUE", Set: set, Txn: idem.Txn{Version: 3}}},
	} {
		_, err := maintain.UpdateTable(t.Context(), f.table, c.request)
		require.ErrorIs(t, err, idem.ErrInput, c.name)
		require.ErrorContains(t, err, c.text, c.name)
	}
	require.EqualValues(t, 1, f.other().Version())
}

func TestUpdateRaced(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	request := maintain.Update{Where: "p = 'a'", Set: map[string]string{"v": "'y'"}}
	f.raced(func(o *idem.Table) {
		_, err := o.Append(t.Context(), rowsOf(row{"a", 2, "x"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	})
	_, err := maintain.UpdateTable(t.Context(), f.table, request)
	require.NoError(t, err)
	require.Equal(t, []string{"a/1/y", "a/2/y"}, f.rows(), "it comes after what won")
	f.append(row{"a", 3, "x"})
	f.raced(func(o *idem.Table) {
		_, err := maintain.UpdateTable(t.Context(), o, request)
		require.NoError(t, err)
	})
	res, err := maintain.UpdateTable(t.Context(), f.table, request)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome, "the other did it")
}

func TestOverwritePartitionsWantsThePartitionColumns(t *testing.T) {
	for _, mode := range []string{"none", "name"} {
		f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": mode}})
		f.append(row{"", 1, "of the partition NULL"}, row{"a", 2, "x"})
		before := f.rows()
		_, err := maintain.OverwritePartitions(t.Context(), f.table, named(columnsNamed("other", "id", "v"), row{"a", 9, "n"}), maintain.Overwrite{Evolve: true})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, `lack the partition column "p"`)
		require.Equal(t, before, f.rows())
	}
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Columns: map[string]idem.Column{"p": {Default: "'a'"}}})
	f.append(row{"b", 1, "x"}, row{"a", 2, "x"})
	_, err := maintain.OverwritePartitions(t.Context(), f.table, named(columnsNamed("other", "id", "v"), row{"", 9, "n"}), maintain.Overwrite{Evolve: true})
	require.NoError(t, err)
	require.Len(t, f.rows(), 2, "the default says which partition")

	f = newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Columns: map[string]idem.Column{"p": {Default: "CAST(current_date() AS STRING)"}}})
	f.append(row{"b", 1, "x"})
	_, err = maintain.OverwritePartitions(t.Context(), f.table, named(columnsNamed("other", "id", "v"), row{"", 9, "n"}), maintain.Overwrite{Evolve: true})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, `the partition column "p" differs from run to run`)
}

func TestOverwritePartitions(t *testing.T) {
	for _, mode := range []string{"none", "name"} {
		f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": mode}})
		f.append(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"b", 3, "z"})
		input := []row{{"a", 9, "n"}, {"c", 7, "n"}}
		overwrite := func(table *idem.Table, r maintain.Overwrite, list ...row) (*idem.Result, error) {
			return maintain.OverwritePartitions(t.Context(), table, rowsOf(list...), r)
		}
		res, err := overwrite(f.table, maintain.Overwrite{Note: "why"}, input...)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		want := []string{"a/9/n", "b/3/z", "c/7/n"}
		require.Equal(t, want, f.rows())
		require.Equal(t, true, f.last().OperationParameters["isDynamicPartitionOverwrite"], "as Spark says it")
		for _, table := range []*idem.Table{f.table, f.other()} {
			res, err = overwrite(table, maintain.Overwrite{}, input...)
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
		}
		res, err = overwrite(f.table, maintain.Overwrite{})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome, "no rows replace nothing")
		_, err = overwrite(f.table, maintain.Overwrite{MaxShrink: 2}, input...)
		require.ErrorIs(t, err, idem.ErrInput)
		_, err = maintain.OverwritePartitions(t.Context(), f.table, nil, maintain.Overwrite{})
		require.ErrorIs(t, err, idem.ErrInput)
		used := rowsOf(row{"b", 4, "w"})
		f.raced(func(o *idem.Table) {
			_, err := o.Append(t.Context(), rowsOf(row{"a", 2, "x"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		})
		res, err = maintain.OverwritePartitions(t.Context(), f.table, used, maintain.Overwrite{Txn: idem.Txn{AppID: "b", Version: 1}})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Equal(t, []string{"a/2/x", "a/9/n", "b/4/w", "c/7/n"}, f.rows(), "other partitions are left alone")
		res, err = maintain.OverwritePartitions(t.Context(), f.table, used, maintain.Overwrite{Txn: idem.Txn{AppID: "b", Version: 1}})
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		_, err = maintain.OverwritePartitions(t.Context(), f.table, used, maintain.Overwrite{})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "used up")
		_, err = overwrite(f.table, maintain.Overwrite{MaxShrink: 0.5}, row{"a", 3, "z"})
		require.ErrorIs(t, err, idem.ErrInput, "one row for two")
		verified := maintain.Overwrite{Txn: idem.Txn{AppID: "b", Version: 2, VerifyPayload: true}}
		_, err = overwrite(f.table, verified, row{"b", 5, "w"})
		require.NoError(t, err)
		_, err = overwrite(f.table, verified, row{"b", 5, "other"})
		require.ErrorIs(t, err, idem.ErrPayload)
		require.Equal(t, []string{"a/2/x", "a/9/n", "b/5/w", "c/7/n"}, f.rows())
	}
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"})
	res, err := maintain.OverwritePartitions(t.Context(), f.table, named(columnsNamed("p", "id", "more"), row{"a", 1, "x"}), maintain.Overwrite{Evolve: true})
	require.NoError(t, err)
	require.Equal(t, []string{"more"}, res.AddedColumns)
	require.Equal(t, []string{"v"}, res.MissingColumns)
	f = newFixture(t, idem.Definition{})
	_, err = maintain.OverwritePartitions(t.Context(), f.table, rowsOf(row{"a", 1, "x"}), maintain.Overwrite{})
	require.ErrorIs(t, err, idem.ErrInput, "a table without partitions")
}

// TestHalfATagIsRefused by every verb of rows, whatever else the Txn says.
func TestHalfATagIsRefused(t *testing.T) {
	f := newFixture(t, idem.Definition{Schema: columns, PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"})
	for _, txn := range []idem.Txn{{Evolve: true}, {VerifyPayload: true}, {Reapply: true}, {Version: 3}} {
		for name, call := range map[string]func() (*idem.Result, error){
			"update": func() (*idem.Result, error) {
				return maintain.UpdateTable(t.Context(), f.table, maintain.Update{Where: "TRUE", Set: map[string]string{"id": "id + 1"}, Txn: txn})
			},
			"overwrite": func() (*idem.Result, error) {
				return maintain.OverwritePartitions(t.Context(), f.table, rowsOf(row{"a", 2, "y"}), maintain.Overwrite{Txn: txn})
			},
			"append": func() (*idem.Result, error) {
				return f.table.AppendWithTxn(t.Context(), rowsOf(row{"a", 2, "y"}), txn)
			},
			"replace": func() (*idem.Result, error) {
				return f.table.ReplaceWhere(t.Context(), rowsOf(row{"a", 2, "y"}), idem.ReplaceWhere{Where: "p = 'a'", Txn: txn})
			},
			"replace all": func() (*idem.Result, error) {
				return f.table.ReplaceAll(t.Context(), rowsOf(row{"a", 2, "y"}), idem.ReplaceAll{Txn: txn})
			},
			"merge": func() (*idem.Result, error) {
				return f.table.Merge(t.Context(), rowsOf(row{"a", 2, "y"}), idem.Merge{On: []string{"id"}, Unguarded: true, Txn: txn})
			},
			"delete": func() (*idem.Result, error) {
				return f.table.Delete(t.Context(), idem.Delete{Where: "id = 1", Txn: txn})
			},
		} {
			_, err := call()
			require.ErrorIs(t, err, idem.ErrInput, "%s with %+v", name, txn)
			require.ErrorContains(t, err, "Txn.AppID is empty", name)
		}
	}
	require.Equal(t, []string{"a/1/x"}, f.rows())
}

// TestTheZerosAreOnePartition: -0.0 is 0.0, however a writer spelled it.
func TestTheZerosAreOnePartition(t *testing.T) {
	for name, typ := range map[string]arrow.DataType{"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "p", Type: typ, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
		zero := func(sign float64, id int64) array.RecordReader {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			defer b.Release()
			switch p := b.Field(0).(type) {
			case *array.Float32Builder:
				p.Append(float32(math.Copysign(0, sign)))
			case *array.Float64Builder:
				p.Append(math.Copysign(0, sign))
			}
			b.Field(1).(*array.Int64Builder).Append(id)
			r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
			require.NoError(t, err)
			return r
		}
		f := newFixture(t, idem.Definition{Schema: schema})
		f.unchecked = true // only others partition by such columns
		m := *f.table.Snapshot().Metadata()
		m.PartitionColumns = []string{"p"}
		f.commit("CREATE TABLE", delta.Action{Metadata: &m})
		_, err := f.table.Refresh(t.Context())
		require.NoError(t, err)
		_, err = f.table.Append(t.Context(), zero(-1, 1), idem.Append{Reason: "test"})
		require.NoError(t, err)
		ours := f.files()[0]
		require.Equal(t, "0.0", *ours.PartitionValues["p"], name)
		theirs, spelled := *ours, "-0.0"
		theirs.PartitionValues, theirs.DataChange = map[string]*string{"p": &spelled}, false
		f.commit("WRITE", delta.Action{Add: &theirs})
		for i, sign := range []float64{1, -1} {
			_, err = maintain.OverwritePartitions(t.Context(), f.table, zero(sign, int64(i+2)), maintain.Overwrite{})
			require.NoError(t, err)
			require.Len(t, f.files(), 1, "%s: the partition is replaced", name)
			require.Equal(t, "0.0", *f.files()[0].PartitionValues["p"], name)
		}
	}
}

package idem_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// Each test is a row of the second-call table of the contract; each subtest is the cell of that
// name.

var tagged = idem.Txn{AppID: "orders_loader", Version: 7}

// renamed are rows with another name for a column.
func renamed(rows array.RecordReader, from, to string) array.RecordReader {
	defer rows.Release()
	fields := slices.Clone(rows.Schema().Fields())
	for i := range fields {
		if fields[i].Name == from {
			fields[i].Name = to
		}
	}
	var batches []arrow.RecordBatch
	for rows.Next() {
		b := rows.RecordBatch()
		batches = append(batches, array.NewRecordBatch(arrow.NewSchema(fields, nil), b.Columns(), b.NumRows()))
	}
	return readerOf(batches...)
}

func TestSecondCallOfAppendWithTxn(t *testing.T) {
	first := []order{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}}
	begin := func(t *testing.T, txn idem.Txn) *fixture {
		f := newFixture(t)
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first...), txn)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		return f
	}
	t.Run("same input again", func(t *testing.T) {
		f := begin(t, tagged)
		in := &counted{RecordReader: rowsOf(first...)}
		res, err := f.table.AppendWithTxn(t.Context(), in, tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.Zero(t, in.reads, "the input is not read")
		require.EqualValues(t, 1, res.Version, "no version is made")
		require.EqualValues(t, 7, res.Recorded)
		require.Len(t, f.rows(), 2)
	})
	t.Run("other input, same tag", func(t *testing.T) {
		f := begin(t, tagged)
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 9, 9, "x"}), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.Len(t, f.rows(), 2)
	})
	t.Run("other input, same tag, with VerifyPayload", func(t *testing.T) {
		verified := tagged
		verified.VerifyPayload = true
		f := begin(t, verified)
		_, err := f.table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 9, 9, "x"}), verified)
		require.ErrorIs(t, err, idem.ErrPayload)
		require.ErrorContains(t, err, "2 rows")
		require.ErrorContains(t, err, "1 rows")
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first[1], first[0]), verified)
		require.NoError(t, err, "the same rows in another order")
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.False(t, res.PayloadUnknown)
		require.Len(t, f.rows(), 2)
	})
	t.Run("the result says back to which version was looked", func(t *testing.T) {
		f := newFixture(t)
		res, err := f.table.Append(t.Context(), rowsOf(first...), idem.Append{Reason: "test"})
		require.NoError(t, err)
		require.EqualValues(t, -1, res.TxnHorizon, "without a tag nothing is looked for")
		res, err = f.table.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.EqualValues(t, 2, res.TxnHorizon)
		for range 3 {
			_, err := f.table.Append(t.Context(), rowsOf(first...), idem.Append{Reason: "test"})
			require.NoError(t, err)
		}
		res, err = f.table.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.EqualValues(t, 5, res.Version)
		require.EqualValues(t, 2, res.TxnHorizon)
	})
	t.Run("a record without a digest is PayloadUnknown", func(t *testing.T) {
		f := begin(t, tagged)
		verified := tagged
		verified.VerifyPayload = true
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first...), verified)
		require.NoError(t, err)
		require.True(t, res.PayloadUnknown)
	})
	for name, c := range map[string]struct {
		changes []maintain.Change
		column  string // of the rows that come again, instead of v
	}{
		"a constraint that the rows break":        {[]maintain.Change{maintain.AddConstraint{Name: "late", Check: "id > 1"}}, "v"},
		"a column with a default":                 {[]maintain.Change{maintain.AddColumn{Name: "z", Type: arrow.PrimitiveTypes.Int64}, maintain.SetDefault{Name: "z", Default: "5"}}, "v"},
		"a column by another name, in old rows":   {[]maintain.Change{maintain.RenameColumn{Name: "v", To: "w"}}, "v"},
		"a column by another name, in new rows":   {[]maintain.Change{maintain.RenameColumn{Name: "v", To: "w"}}, "w"},
		"a column that went, in rows that had it": {[]maintain.Change{maintain.DropColumn{Name: "v"}}, "v"},
	} {
		t.Run("same input, same tag, with VerifyPayload, after a change of the definition: "+name, func(t *testing.T) {
			verified := tagged
			verified.VerifyPayload = true
			f := begin(t, verified)
			_, err := f.table.Delete(t.Context(), idem.Delete{Where: "id < 5"})
			require.NoError(t, err)
			_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: append([]maintain.Change{
				maintain.SetProperties{Properties: map[string]string{"delta.columnMapping.mode": "name", "delta.feature.allowColumnDefaults": "supported"}},
			}, c.changes...)})
			require.NoError(t, err)
			same := renamed(rowsOf(first...), "v", c.column)
			res, err := f.other().AppendWithTxn(t.Context(), same, verified)
			require.NoError(t, err)
			require.Equal(t, idem.AlreadyApplied, res.Outcome)
			require.True(t, res.PayloadUnknown, "rows taken by one definition and rows taken by another cannot be compared")
			require.Empty(t, f.rows())
		})
	}
	for name, change := range map[string]maintain.Change{
		"a property of the log": maintain.SetProperties{Properties: map[string]string{"delta.checkpointInterval": "7"}},
		"deletion vectors":      maintain.SetProperties{Properties: map[string]string{"delta.enableDeletionVectors": "true"}},
		"a column of NULLs":     maintain.AddColumn{Name: "z", Type: arrow.PrimitiveTypes.Int64},
	} {
		t.Run("other input, same tag, with VerifyPayload, after a change that rows do not notice: "+name, func(t *testing.T) {
			verified := tagged
			verified.VerifyPayload = true
			f := begin(t, verified)
			_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{change}})
			require.NoError(t, err)
			_, err = f.other().AppendWithTxn(t.Context(), rowsOf(order{"d1", 9, 9, "x"}), verified)
			require.ErrorIs(t, err, idem.ErrPayload)
			res, err := f.other().AppendWithTxn(t.Context(), rowsOf(first...), verified)
			require.NoError(t, err)
			require.False(t, res.PayloadUnknown)
		})
	}
	t.Run("older input", func(t *testing.T) {
		f := begin(t, tagged)
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 9, 9, "x"}), idem.Txn{AppID: tagged.AppID, Version: 6})
		require.NoError(t, err)
		require.Equal(t, idem.Superseded, res.Outcome)
		require.EqualValues(t, 7, res.Recorded, "the result names the recorded version")
		require.Len(t, f.rows(), 2)
	})
	t.Run("empty input", func(t *testing.T) {
		f := newFixture(t)
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome, "the tag is committed")
		res, err = f.table.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome, "so that the retry is recognised")
		require.Empty(t, f.rows())
	})
	t.Run("two at once", func(t *testing.T) {
		f := newFixture(t)
		f.raced(func(o *idem.Table) {
			res, err := o.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
		})
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.Len(t, f.rows(), 2)
	})
	t.Run("two at once, the winner has a lower version", func(t *testing.T) {
		f := newFixture(t)
		f.raced(func(o *idem.Table) {
			_, err := o.AppendWithTxn(t.Context(), rowsOf(first[0]), idem.Txn{AppID: tagged.AppID, Version: 6})
			require.NoError(t, err)
		})
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first[1]), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Len(t, f.rows(), 2)
	})
	t.Run("two at once, the winner has a higher version", func(t *testing.T) {
		f := newFixture(t)
		f.raced(func(o *idem.Table) {
			_, err := o.AppendWithTxn(t.Context(), rowsOf(first[0]), idem.Txn{AppID: tagged.AppID, Version: 8})
			require.NoError(t, err)
		})
		res, err := f.table.AppendWithTxn(t.Context(), rowsOf(first[1]), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.Superseded, res.Outcome)
		require.EqualValues(t, 8, res.Recorded)
	})
	t.Run("after RESTORE", func(t *testing.T) {
		f := begin(t, tagged)
		f.restore(0)
		require.Empty(t, f.rows())
		_, err := f.other().AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.ErrorIs(t, err, idem.ErrRestored)
		require.False(t, idem.SafeToRunAgain(err))
		reapply := tagged
		reapply.Reapply = true
		res, err := f.other().AppendWithTxn(t.Context(), rowsOf(first...), reapply)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Len(t, f.rows(), 2)
		res, err = f.other().AppendWithTxn(t.Context(), rowsOf(first...), reapply)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome, "Reapply writes once")
	})
	t.Run("after RESTORE, the tag moved back by RewindTxn", func(t *testing.T) {
		f := begin(t, tagged)
		f.restore(0)
		table := f.other()
		res, err := table.RewindTxn(t.Context(), tagged.AppID, -1)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		res, err = table.RewindTxn(t.Context(), tagged.AppID, -1)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		res, err = table.AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Len(t, f.rows(), 2)
	})
	t.Run("after RESTORE forward again", func(t *testing.T) {
		f := begin(t, tagged)
		f.restore(0)
		f.restore(1)
		res, err := f.other().AppendWithTxn(t.Context(), rowsOf(first...), tagged)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.Len(t, f.rows(), 2)
	})
}

func TestSecondCallOfReplaceWhere(t *testing.T) {
	testReplace(t, func(table *idem.Table, in reader, r idem.ReplaceWhere) (*idem.Result, error) {
		r.Where, r.Args = "day = ?", []any{"d1"}
		return table.ReplaceWhere(t.Context(), in, r)
	})
}

func TestSecondCallOfReplaceWhereOnADataColumn(t *testing.T) {
	testReplace(t, func(table *idem.Table, in reader, r idem.ReplaceWhere) (*idem.Result, error) {
		r.Where = "id BETWEEN 1 AND 9"
		return table.ReplaceWhere(t.Context(), in, r)
	})
}

func TestSecondCallOfReplaceAll(t *testing.T) {
	testReplace(t, func(table *idem.Table, in reader, r idem.ReplaceWhere) (*idem.Result, error) {
		return table.ReplaceAll(t.Context(), in, idem.ReplaceAll{AllowEmpty: r.AllowEmpty, Txn: r.Txn})
	})
}

type reader interface {
	Retain()
	Release()
	Schema() *arrow.Schema
	Next() bool
	RecordBatch() arrow.RecordBatch
	Record() arrow.RecordBatch
	Err() error
}

func testReplace(t *testing.T, replace func(*idem.Table, reader, idem.ReplaceWhere) (*idem.Result, error)) {
	first := []order{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}}
	second := []order{{"d1", 1, 2, "c"}, {"d1", 3, 2, "d"}}
	none := idem.ReplaceWhere{}
	begin := func(t *testing.T) *fixture {
		f := newFixture(t)
		res, err := replace(f.table, rowsOf(first...), none)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		return f
	}
	t.Run("same input again", func(t *testing.T) {
		f := begin(t)
		before, files := f.fingerprint(), f.dataFiles()
		for _, in := range []reader{rowsOf(first...), again(first...), rowsOf(first[1], first[0])} {
			res, err := replace(f.table, in, none)
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
			require.EqualValues(t, 1, res.Version, "no new version")
			require.Equal(t, files, f.dataFiles(), "no file")
		}
		require.Equal(t, before, f.fingerprint())
	})
	t.Run("a re-readable input is hashed and not written", func(t *testing.T) {
		f := begin(t)
		f.store.Reset()
		in := again(first...)
		_, err := replace(f.table, in, none)
		require.NoError(t, err)
		require.Zero(t, f.store.Count("CREATE"), "nothing is written")
		require.Zero(t, in.rewinds)
	})
	t.Run("other input", func(t *testing.T) {
		f := begin(t)
		for _, in := range []reader{again(second...), rowsOf(second...)} {
			_, err := replace(f.table, in, none)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
		}
	})
	t.Run("older input", func(t *testing.T) {
		f := begin(t)
		_, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		_, err = replace(f.table, rowsOf(first...), none)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/1/a", "d1/2/1/b"}, f.rows(), "it replaces")
	})
	t.Run("older input with a Txn is fenced", func(t *testing.T) {
		f := begin(t)
		newer, older := idem.ReplaceWhere{Txn: idem.Txn{AppID: "job", Version: 2}}, idem.ReplaceWhere{Txn: idem.Txn{AppID: "job", Version: 1}}
		_, err := replace(f.table, rowsOf(second...), newer)
		require.NoError(t, err)
		res, err := replace(f.table, rowsOf(first...), older)
		require.NoError(t, err)
		require.Equal(t, idem.Superseded, res.Outcome)
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
	})
	t.Run("nothing to do with a Txn commits the tag without files", func(t *testing.T) {
		f := begin(t)
		txn := idem.ReplaceWhere{Txn: idem.Txn{AppID: "job", Version: 2}}
		res, err := replace(f.table, rowsOf(first...), txn)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Zero(t, res.FilesAdded)
		in := &counted{RecordReader: rowsOf(first...)}
		res, err = replace(f.table, in, txn)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.Zero(t, in.reads)
	})
	t.Run("empty input", func(t *testing.T) {
		f := begin(t)
		_, err := replace(f.table, rowsOf(), none)
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "AllowEmpty")
		require.Len(t, f.rows(), 2, "nothing is changed")
		res, err := replace(f.table, rowsOf(), idem.ReplaceWhere{AllowEmpty: true})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Empty(t, f.rows())
		res, err = replace(f.table, rowsOf(), idem.ReplaceWhere{AllowEmpty: true})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("two at once, the same rows", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := replace(o, rowsOf(second...), none)
			require.NoError(t, err)
		})
		res, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome, "the slice already holds these rows")
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
	})
	t.Run("two at once, other rows", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := replace(o, rowsOf(order{"d1", 4, 4, "theirs"}), none)
			require.NoError(t, err)
		})
		res, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome, "the work is redone against the new table")
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
	})
	t.Run("two at once, slice empty before", func(t *testing.T) {
		f := newFixture(t)
		f.raced(func(o *idem.Table) {
			_, err := replace(o, rowsOf(first...), none)
			require.NoError(t, err)
		})
		_, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
	})
	t.Run("an append into the slice lands first", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := o.Append(t.Context(), rowsOf(order{"d1", 5, 5, "appended"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		})
		_, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows())
	})
	t.Run("after RESTORE", func(t *testing.T) {
		f := begin(t)
		_, err := replace(f.table, rowsOf(second...), none)
		require.NoError(t, err)
		f.restore(1)
		_, err = replace(f.other(), rowsOf(second...), none)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/2/c", "d1/3/2/d"}, f.rows(), "it replaces")
	})
}

func TestSecondCallOfMerge(t *testing.T) {
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	first := []order{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}}
	begin := func(t *testing.T) *fixture {
		f := newFixture(t)
		res, err := f.table.Merge(t.Context(), rowsOf(first...), byID)
		require.NoError(t, err)
		require.EqualValues(t, 2, res.Inserted)
		return f
	}
	t.Run("same input again", func(t *testing.T) {
		f := begin(t)
		files := f.dataFiles()
		res, err := f.table.Merge(t.Context(), rowsOf(first[1], first[0]), byID)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome, "every row is matched and none is newer")
		require.EqualValues(t, 2, res.Ties)
		require.Equal(t, files, f.dataFiles(), "no file is touched")
	})
	t.Run("same input again, unguarded", func(t *testing.T) {
		f := begin(t)
		res, err := f.table.Merge(t.Context(), rowsOf(first...), idem.Merge{On: []string{"id"}, Unguarded: true})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("other input", func(t *testing.T) {
		f := begin(t)
		res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 2, 2, "B"}, order{"d2", 3, 2, "c"}), byID)
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Updated)
		require.EqualValues(t, 1, res.Inserted)
		require.ElementsMatch(t, []string{"d1/1/1/a", "d1/2/2/B", "d2/3/2/c"}, f.rows(), "newer rows win")
	})
	t.Run("older input", func(t *testing.T) {
		f := begin(t)
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 2, 5, "new"}), byID)
		require.NoError(t, err)
		res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 2, 3, "old"}), byID)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.EqualValues(t, 1, res.SkippedOlder, "older rows are counted and skipped")
		require.ElementsMatch(t, []string{"d1/1/1/a", "d1/2/5/new"}, f.rows())
	})
	t.Run("empty input", func(t *testing.T) {
		f := begin(t)
		res, err := f.table.Merge(t.Context(), rowsOf(), byID)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("nothing to do with a Txn commits the tag without files", func(t *testing.T) {
		f := begin(t)
		m := byID
		m.Txn = idem.Txn{AppID: "cdc", Version: 1}
		res, err := f.table.Merge(t.Context(), rowsOf(first...), m)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.Zero(t, res.FilesAdded)
		res, err = f.table.Merge(t.Context(), rowsOf(first...), m)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
	})
	for name, theirs := range map[string]order{
		"same key":                      {"d1", 2, 9, "theirs"},
		"other key in the same file":    {"d1", 1, 9, "theirs"},
		"same new key":                  {"d1", 3, 9, "theirs"},
		"other new key, another file":   {"d2", 30, 9, "theirs"},
		"a key that moves to elsewhere": {"d9", 2, 9, "theirs"},
	} {
		t.Run("two at once, "+name, func(t *testing.T) {
			f := begin(t)
			f.raced(func(o *idem.Table) {
				_, err := o.Merge(t.Context(), rowsOf(theirs), byID)
				require.NoError(t, err)
			})
			_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 2, 5, "ours"}, order{"d1", 3, 5, "ours"}), byID)
			require.NoError(t, err)
			alone := begin(t)
			for _, o := range [][]order{{theirs}, {{"d1", 2, 5, "ours"}, {"d1", 3, 5, "ours"}}} {
				_, err := alone.table.Merge(t.Context(), rowsOf(o...), byID)
				require.NoError(t, err)
			}
			require.ElementsMatch(t, alone.rows(), f.rows(), "as one after the other")
		})
	}
	t.Run("after RESTORE", func(t *testing.T) {
		f := begin(t)
		f.restore(0)
		_, err := f.other().Merge(t.Context(), rowsOf(first...), byID)
		require.NoError(t, err)
		require.Len(t, f.rows(), 2, "it merges again")
	})
}

func TestSecondCallOfAppend(t *testing.T) {
	plain := idem.Append{Reason: "audit trail, duplicates accepted"}
	t.Run("same input again", func(t *testing.T) {
		f := newFixture(t)
		for range 2 {
			res, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), plain)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
		}
		require.Len(t, f.rows(), 2, "it appends again")
		for c, err := range f.table.History(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, plain.Reason, c.Info.UserMetadata, "the reason is kept in the log")
			break
		}
	})
	t.Run("without a reason", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), idem.Append{})
		require.ErrorIs(t, err, idem.ErrInput)
	})
	t.Run("empty input", func(t *testing.T) {
		f := newFixture(t)
		res, err := f.table.Append(t.Context(), rowsOf(), plain)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("two at once", func(t *testing.T) {
		f := newFixture(t)
		f.raced(func(o *idem.Table) {
			_, err := o.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), plain)
			require.NoError(t, err)
		})
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), plain)
		require.NoError(t, err)
		require.Len(t, f.rows(), 2, "both commit")
	})
}

func TestSecondCallOfDelete(t *testing.T) {
	some := idem.Delete{Where: "id > 1"}
	begin := func(t *testing.T) *fixture {
		f := newFixture(t)
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
		return f
	}
	t.Run("same input again", func(t *testing.T) {
		f := begin(t)
		res, err := f.table.Delete(t.Context(), some)
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Deleted)
		res, err = f.table.Delete(t.Context(), some)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome, "nothing matches any more")
	})
	t.Run("two at once", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := o.Delete(t.Context(), some)
			require.NoError(t, err)
		})
		res, err := f.table.Delete(t.Context(), some)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.Equal(t, []string{"d1/1/1/a"}, f.rows())
	})
	t.Run("an append of matching rows lands first", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := o.Append(t.Context(), rowsOf(order{"d1", 5, 1, "e"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		})
		_, err := f.table.Delete(t.Context(), some)
		require.NoError(t, err)
		require.Equal(t, []string{"d1/1/1/a"}, f.rows())
	})
	t.Run("after RESTORE", func(t *testing.T) {
		f := begin(t)
		_, err := f.table.Delete(t.Context(), some)
		require.NoError(t, err)
		f.restore(1)
		_, err = f.other().Delete(t.Context(), some)
		require.NoError(t, err)
		require.Equal(t, []string{"d1/1/1/a"}, f.rows(), "it deletes again")
	})
}

func TestSecondCallOfCreate(t *testing.T) {
	d := idem.Definition{Schema: orders, PartitionBy: []string{"day"}}
	t.Run("same input again", func(t *testing.T) {
		st := store.NewMem()
		_, res, err := idem.CreateStore(t.Context(), st, d, idem.Options{})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		table, res, err := idem.CreateStore(t.Context(), st, d, idem.Options{})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.EqualValues(t, 0, table.Version())
		checkLog(t, st)
	})
	t.Run("other definition", func(t *testing.T) {
		st := store.NewMem()
		_, _, err := idem.CreateStore(t.Context(), st, d, idem.Options{})
		require.NoError(t, err)
		_, _, err = idem.CreateStore(t.Context(), st, idem.Definition{Schema: orders}, idem.Options{})
		require.ErrorIs(t, err, idem.ErrConflict)
		require.ErrorContains(t, err, "partitioning")
	})
	t.Run("two at once", func(t *testing.T) {
		f := newCreators(t, d, d)
		require.NoError(t, f.err)
		require.Equal(t, idem.Unchanged, f.res.Outcome, "one version 0, and both get the table")
		require.EqualValues(t, 0, f.table.Version())
	})
	t.Run("two at once, other definition", func(t *testing.T) {
		f := newCreators(t, d, idem.Definition{Schema: orders})
		require.ErrorIs(t, f.err, idem.ErrConflict)
	})
}

// A job begins with Create, whatever columns later runs of it, or others, have added.
func TestCreateGoesOnWithATableThatHasMore(t *testing.T) {
	place := arrow.StructOf(arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}, arrow.Field{Name: "zip", Type: arrow.BinaryTypes.String, Nullable: true})
	more := arrow.StructOf(append(place.Fields(), arrow.Field{Name: "street", Type: arrow.BinaryTypes.String, Nullable: true})...)
	rows := func(of arrow.DataType, extra ...arrow.Field) *arrow.Schema {
		return arrow.NewSchema(append([]arrow.Field{
			{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
			{Name: "place", Type: of, Nullable: true},
			{Name: "places", Type: arrow.ListOf(of), Nullable: true},
			{Name: "by", Type: arrow.MapOf(arrow.BinaryTypes.String, of), Nullable: true},
		}, extra...), nil)
	}
	narrow := rows(place)
	for mode, properties := range map[string]map[string]string{"": nil, "column mapping": {"delta.columnMapping.mode": "name"}} {
		t.Run("Evolve "+mode, func(t *testing.T) {
			st := store.NewMem()
			wide := rows(more, arrow.Field{Name: "new", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
			job := func() *idem.Result {
				table, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: narrow, Properties: properties}, idem.Options{})
				require.NoError(t, err)
				batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, wide, strings.NewReader(`[{"id":1,"new":2,"place":{"city":"a","street":"s"}}]`))
				require.NoError(t, err)
				res, err := table.ReplaceWhere(t.Context(), readerOf(batch), idem.ReplaceWhere{Where: "id = 1", Evolve: true})
				require.NoError(t, err)
				return res
			}
			require.Equal(t, idem.Committed, job().Outcome)
			require.Equal(t, idem.Unchanged, job().Outcome)
			checkLog(t, st)
		})
	}
	have := func(fields ...arrow.Field) idem.Definition { return idem.Definition{Schema: rows(more, fields...)} }
	number := func(nullable bool) arrow.Field {
		return arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: nullable}
	}
	with := func(d idem.Definition, c idem.Column) idem.Definition {
		d.Columns = map[string]idem.Column{"n": c}
		return d
	}
	strict := arrow.StructOf(append(place.Fields(), arrow.Field{Name: "street", Type: arrow.BinaryTypes.String})...)
	keyed := func(of arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.MapOf(of, arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	}
	for _, c := range []struct {
		why        string
		have, want idem.Definition
		says       string // "" if the job goes on
	}{
		{"columns and fields that may be NULL", have(number(true)), idem.Definition{Schema: narrow}, ""},
		{"one with a comment", with(have(number(true)), idem.Column{Comment: "x"}), idem.Definition{Schema: narrow}, ""},
		{"one that is NOT NULL", have(number(false)), idem.Definition{Schema: narrow}, "column n is long NOT NULL there, and absent"},
		{"one with a default", with(have(number(true)), idem.Column{Default: "7"}), idem.Definition{Schema: narrow}, "column n is long with CURRENT_DEFAULT"},
		{"one that is generated", with(have(number(true)), idem.Column{Generated: "id + 1"}), idem.Definition{Schema: narrow}, "column n is long with delta.generationExpression"},
		{"one that numbers rows", with(have(number(true)), idem.Column{Identity: &idem.Identity{}}), idem.Definition{Schema: narrow}, "column n is long with delta.identity.start"},
		{"a field that is NOT NULL", idem.Definition{Schema: rows(strict)}, idem.Definition{Schema: narrow}, "column place.street is string NOT NULL"},
		{"a column is missing", idem.Definition{Schema: narrow}, have(number(true)), "column place.street is absent"},
		{"a field of another type", idem.Definition{Schema: rows(arrow.StructOf(place.Field(0), arrow.Field{Name: "zip", Type: arrow.PrimitiveTypes.Int64, Nullable: true}))}, idem.Definition{Schema: narrow}, "column place.zip is long there, and string"},
		{"a field under another spelling", idem.Definition{Schema: rows(arrow.StructOf(place.Field(0), arrow.Field{Name: "ZIP", Type: arrow.BinaryTypes.String, Nullable: true}))}, idem.Definition{Schema: narrow}, "column place.zip is spelled ZIP"},
		{"fields in another order", idem.Definition{Schema: rows(arrow.StructOf(place.Field(1), place.Field(0)))}, idem.Definition{Schema: narrow}, "the place of column place.zip is before city"},
		{"a field of a key", idem.Definition{Schema: keyed(more)}, idem.Definition{Schema: keyed(place)}, "column m is map<"},
		{"a struct that is none", idem.Definition{Schema: rows(arrow.BinaryTypes.String)}, idem.Definition{Schema: narrow}, "column place is string there, and struct<"},
	} {
		t.Run(c.why, func(t *testing.T) {
			st := store.NewMem()
			_, _, err := idem.CreateStore(t.Context(), st, c.have, idem.Options{})
			require.NoError(t, err)
			_, res, err := idem.CreateStore(t.Context(), st, c.want, idem.Options{})
			if c.says != "" {
				require.ErrorIs(t, err, idem.ErrConflict)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
		})
	}
}

func TestCreateComparesTheProperties(t *testing.T) {
	for _, c := range []struct{ have, want, says string }{
		{"", "delta.enableDeletionVectors=false", ""},
		{"", "delta.logRetentionDuration=interval 720 hours", ""},
		{"", "delta.isolationLevel=serializable", ""},
		{"", "delta.dataSkippingNumIndexedCols=32", ""},
		{"", "delta.setTransactionRetentionDuration=interval 1 week", "is not set there, and interval 1 week"},
		{"", "delta.enableDeletionVectors=true", "property delta.enableDeletionVectors is not set there, and true"},
		{"delta.enableDeletionVectors=true", "delta.enableDeletionVectors=false", "is true there, and false"},
		{"", "own=false", "property own is not set there, and false"},
		{"own=1", "", ""},
		{"", "delta.minWriterVersion=4", "the version delta.minWriterVersion is 2 there, and 4"},
		{"delta.minWriterVersion=4", "delta.minWriterVersion=4", ""},
		{"delta.minWriterVersion=4", "delta.minWriterVersion=3", ""},
		{"", "delta.feature.deletionVectors=supported", "the feature deletionVectors is not supported"},
	} {
		t.Run(c.have+" and "+c.want, func(t *testing.T) {
			st := store.NewMem()
			definition := func(pair string) idem.Definition {
				d := idem.Definition{Schema: orders}
				if key, value, ok := strings.Cut(pair, "="); ok {
					d.Properties = map[string]string{key: value}
				}
				return d
			}
			_, _, err := idem.CreateStore(t.Context(), st, definition(c.have), idem.Options{})
			require.NoError(t, err)
			_, _, err = idem.CreateStore(t.Context(), st, definition(c.want), idem.Options{})
			if c.says != "" {
				require.ErrorIs(t, err, idem.ErrConflict)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestThePayloadIsThatOfTheRowsLastWritten(t *testing.T) {
	a, b := []order{{"d1", 1, 1, "a"}}, []order{{"d1", 2, 2, "b"}}
	verified := tagged
	verified.VerifyPayload = true
	for name, undo := range map[string]func(f *fixture) idem.Txn{
		"RewindTxn": func(f *fixture) idem.Txn {
			_, err := f.other().RewindTxn(t.Context(), tagged.AppID, -1)
			require.NoError(t, err)
			return tagged
		},
		"RESTORE and Reapply": func(f *fixture) idem.Txn {
			f.restore(0)
			again := tagged
			again.Reapply = true
			return again
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			_, err := f.table.AppendWithTxn(t.Context(), rowsOf(a...), verified)
			require.NoError(t, err)
			_, err = f.other().AppendWithTxn(t.Context(), rowsOf(b...), undo(f)) // without VerifyPayload
			require.NoError(t, err)
			_, err = f.other().AppendWithTxn(t.Context(), rowsOf(a...), verified)
			require.ErrorIs(t, err, idem.ErrPayload, "the tag is that of the other rows now")
			res, err := f.other().AppendWithTxn(t.Context(), rowsOf(b...), verified)
			require.NoError(t, err)
			require.Equal(t, idem.AlreadyApplied, res.Outcome)
			require.False(t, res.PayloadUnknown)
		})
	}
	t.Run("another engine wrote the tag again", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.table.AppendWithTxn(t.Context(), rowsOf(a...), verified)
		require.NoError(t, err)
		at := int64(7)
		f.commit("WRITE", delta.Action{Txn: &delta.Txn{AppID: tagged.AppID, Version: tagged.Version, LastUpdated: &at}})
		res, err := f.other().AppendWithTxn(t.Context(), rowsOf(a...), verified)
		require.NoError(t, err)
		require.True(t, res.PayloadUnknown)
	})
	t.Run("beside a later batch", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.table.AppendWithTxn(t.Context(), rowsOf(a...), verified)
		require.NoError(t, err)
		f.restore(0)
		later, again := verified, verified
		later.Version, again.Reapply = verified.Version+1, true
		for _, c := range []struct {
			txn  idem.Txn
			rows []order
		}{{later, b}, {again, a}} {
			res, err := f.other().AppendWithTxn(t.Context(), rowsOf(c.rows...), c.txn)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
		}
		res, err := f.other().AppendWithTxn(t.Context(), rowsOf(a...), verified)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.True(t, res.PayloadUnknown, "no digest of these rows is kept")
		res, err = f.other().AppendWithTxn(t.Context(), rowsOf(b...), later)
		require.NoError(t, err)
		require.Equal(t, idem.AlreadyApplied, res.Outcome)
		require.False(t, res.PayloadUnknown)
		_, err = f.other().AppendWithTxn(t.Context(), rowsOf(a...), later)
		require.ErrorIs(t, err, idem.ErrPayload)
	})
}

package idem_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/idemtest"
)

var givenColumns = arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "p", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

// tries are the calls of a table that can fail.
func tries(t *testing.T, ctx context.Context, table *idem.Table, txn idem.Txn, note string) map[string]func() error {
	rows := func() array.RecordReader { return idemtest.Rows(t, givenColumns, []any{1, "x"}) }
	one := func(_ *idem.Result, err error) error { return err }
	return map[string]func() error{
		"AppendWithTxn": func() error { return one(table.AppendWithTxn(ctx, rows(), txn)) },
		"ReplaceWhere": func() error {
			return one(table.ReplaceWhere(ctx, rows(), idem.ReplaceWhere{Where: "k = 1", Txn: txn, Note: note}))
		},
		"ReplaceAll": func() error { return one(table.ReplaceAll(ctx, rows(), idem.ReplaceAll{Txn: txn, Note: note})) },
		"Merge": func() error {
			return one(table.Merge(ctx, rows(), idem.Merge{On: []string{"k"}, Unguarded: true, Txn: txn, Note: note}))
		},
		"Delete": func() error { return one(table.Delete(ctx, idem.Delete{Where: "k = 1", Txn: txn, Note: note})) },
	}
}

// A text that is not UTF-8 would be another in the log: a tag would never be found again, and its retry would
// double the rows.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	const bad = "bestellungen-m\xfcnchen"
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: givenColumns}, idem.Options{})
	require.NoError(t, err)
	for name, verb := range tries(t, t.Context(), table, idem.Txn{AppID: bad, Version: 1}, "") {
		require.ErrorIs(t, verb(), idem.ErrInput, name)
	}
	for name, verb := range tries(t, t.Context(), table, idem.Txn{AppID: "ok", Version: 1}, bad) {
		if name != "AppendWithTxn" {
			require.ErrorIs(t, verb(), idem.ErrInput, "the note of %s", name)
		}
	}
	_, err = table.Append(t.Context(), idemtest.Rows(t, givenColumns, []any{1, "x"}), idem.Append{Reason: bad})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = table.RewindTxn(t.Context(), bad, -1)
	require.ErrorIs(t, err, idem.ErrInput)
	require.Zero(t, table.Version())

	named := arrow.NewSchema([]arrow.Field{{Name: bad, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for why, d := range map[string]idem.Definition{
		"a name": {Schema: givenColumns, Name: bad}, "a description": {Schema: givenColumns, Description: bad},
		"a value": {Schema: givenColumns, Properties: map[string]string{"owner": bad}}, "a key": {Schema: givenColumns, Properties: map[string]string{bad: "x"}},
		"a constraint's name": {Schema: givenColumns, Constraints: map[string]string{bad: "k > 0"}},
		"a constraint":        {Schema: givenColumns, Constraints: map[string]string{"c": "p <> '" + bad + "'"}},
		"a comment":           {Schema: givenColumns, Columns: map[string]idem.Column{"k": {Comment: bad}}},
		"a default":           {Schema: givenColumns, Columns: map[string]idem.Column{"p": {Default: "'" + bad + "'"}}},
		"a column":            {Schema: named}, "a partition column": {Schema: givenColumns, PartitionBy: []string{bad}},
	} {
		_, _, err := idem.CreateStore(t.Context(), store.NewMem(), d, idem.Options{})
		require.ErrorIs(t, err, idem.ErrInput, why)
	}
}

func TestVerbsOnAnAppendOnlyTable(t *testing.T) {
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: givenColumns, Properties: map[string]string{"delta.appendOnly": "true"}}, idem.Options{})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), idemtest.Rows(t, givenColumns, []any{1, "y"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	for name, verb := range tries(t, t.Context(), table, idem.Txn{AppID: "a", Version: 1}, "") {
		if name == "AppendWithTxn" {
			continue
		}
		err := verb()
		require.ErrorIs(t, err, idem.ErrInput, name)
		require.ErrorContains(t, err, "delta.appendOnly", name)
	}
	require.EqualValues(t, 1, table.Version())
	require.NoError(t, tries(t, t.Context(), table, idem.Txn{AppID: "a", Version: 1}, "")["AppendWithTxn"]())
}

func TestNotesAreKept(t *testing.T) {
	for name := range tries(t, t.Context(), nil, idem.Txn{}, "") {
		t.Run(name, func(t *testing.T) {
			table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: givenColumns}, idem.Options{})
			require.NoError(t, err)
			_, err = table.Append(t.Context(), idemtest.Rows(t, givenColumns, []any{1, "y"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
			require.NoError(t, tries(t, t.Context(), table, idem.Txn{AppID: "a", Version: 1}, "why")[name]())
			want := "why"
			if name == "AppendWithTxn" { // it has no note
				want = ""
			}
			for c, err := range table.History(t.Context()) {
				require.NoError(t, err)
				require.EqualValues(t, 2, c.Version)
				require.Equal(t, want, c.Info.UserMetadata)
				break
			}
		})
	}
}

func TestVerbsRefuseWhatIsNil(t *testing.T) {
	var none context.Context
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: givenColumns}, idem.Options{})
	require.NoError(t, err)
	for _, c := range []struct {
		why   string
		ctx   context.Context
		table *idem.Table
	}{{"the zero table", t.Context(), &idem.Table{}}, {"no context", none, table}} {
		all := tries(t, c.ctx, c.table, idem.Txn{AppID: "a", Version: 1}, "")
		all["RewindTxn"] = func() error { _, err := c.table.RewindTxn(c.ctx, "a", -1); return err }
		all["Refresh"] = func() error { _, err := c.table.Refresh(c.ctx); return err }
		all["At"] = func() error { _, err := c.table.At(c.ctx, 0); return err }
		all["Fingerprint"] = func() error { _, err := c.table.Fingerprint(c.ctx, idem.Fingerprint{}); return err }
		all["Duplicates"] = func() error { _, err := c.table.Duplicates(c.ctx, idem.Duplicates{On: []string{"k"}}); return err }
		all["RunTwice"] = func() error {
			_, err := idem.RunTwice(c.ctx, c.table, func(context.Context, *idem.Table) error { return nil })
			return err
		}
		all["Scan"] = func() error {
			for _, err := range c.table.Scan(c.ctx, idem.Scan{}) {
				return err
			}
			return nil
		}
		all["History"] = func() error {
			for _, err := range c.table.History(c.ctx) {
				return err
			}
			return nil
		}
		for name, verb := range all {
			require.ErrorIs(t, verb(), idem.ErrInput, "%s, %s", name, c.why)
		}
	}
	_, err = idem.OpenStore(t.Context(), nil, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = idem.OpenStore(none, store.NewMem(), idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, _, err = idem.CreateStore(t.Context(), nil, idem.Definition{Schema: givenColumns}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
}

// Spark takes a NUL in the name of a column, and so does idem.
func TestNULInTheNameOfAColumn(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a\x00b", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: s}, idem.Options{})
	require.NoError(t, err)
	_, err = table.AppendWithTxn(t.Context(), idemtest.Rows(t, s, []any{1}), idem.Txn{AppID: "a", Version: 1})
	require.NoError(t, err)
	again, err := idem.OpenStore(t.Context(), mem, idem.Options{})
	require.NoError(t, err)
	require.Equal(t, "a\x00b", again.Schema().Field(0).Name)
	p, err := again.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Rows)
}

package idem_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// TestAMergeLooksIntoFilesThatOthersDescribe: their statistics prove less than ours, and
// a row that a merge does not find is inserted a second time, or left behind.
func TestAMergeLooksIntoFilesThatOthersDescribe(t *testing.T) {
	floats := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	for _, c := range []struct {
		why    string
		schema *arrow.Schema
		have   string
		stats  string
		source string
		on     string
		want   []string
	}{
		{
			"bounds leave NaN out", floats, `[{"k":1.5,"v":"a"},{"k":"NaN","v":"b"}]`,
			`{"numRecords":2,"minValues":{"k":1.5},"maxValues":{"k":1.5},"nullCount":{"k":0}}`,
			`[{"k":"NaN","v":"B"}]`, "k", []string{`{"k":1.5,"v":"a"}`, `{"k":"NaN","v":"B"}`},
		},
		{
			"NULLs of a field are counted where its struct is none", nestedKeys, `[{"k":{"id":1},"v":"a"},{"k":null,"v":"b"}]`,
			`{"numRecords":2,"minValues":{"k":{"id":1}},"maxValues":{"k":{"id":1}},"nullCount":{"k":{"id":0}}}`,
			`[{"k":null,"v":"B"}]`, "k.id", []string{`{"k":{"id":1,"x":null},"meta":null,"v":"a"}`, `{"k":null,"meta":null,"v":"B"}`},
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := store.NewMem()
			table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: c.schema}, idem.Options{Parallelism: 1})
			require.NoError(t, err)
			_, err = table.Append(t.Context(), fromJSON(c.schema, c.have), idem.Append{Reason: "test"})
			require.NoError(t, err)
			f := &fixture{t: t, mem: mem}
			for a := range table.Snapshot().Files() {
				theirs := *a
				theirs.Stats, theirs.StatsDeferred, theirs.DataChange = c.stats, false, false
				f.commit("COMPUTE STATS", delta.Action{Add: &theirs})
			}
			_, err = table.Refresh(t.Context())
			require.NoError(t, err)
			res, err := table.Merge(t.Context(), fromJSON(c.schema, c.source), idem.Merge{On: []string{c.on}, Unguarded: true, NullKeys: idem.MatchNulls})
			require.NoError(t, err)
			require.Equal(t, []int64{1, 0}, []int64{res.Updated, res.Inserted})
			require.ElementsMatch(t, c.want, tableJSON(t, table))
			checkLog(t, mem)
		})
	}
}

// TestWhoCannotReadAPartitionFails: a file of which nobody can say whether its rows are meant is not left out.
func TestWhoCannotReadAPartitionFails(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema, PartitionBy: []string{"day"}}, idem.Options{})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), fromJSON(schema, `[{"day":"2026-01-01","id":1}]`), idem.Append{Reason: "test"})
	require.NoError(t, err)
	f, text := &fixture{t: t, mem: mem}, "yesterday"
	for a := range table.Snapshot().Files() {
		theirs := *a
		theirs.PartitionValues = map[string]*string{"day": &text}
		f.commit("WRITE", delta.Action{Add: &theirs})
	}
	_, err = table.Refresh(t.Context())
	require.NoError(t, err)
	const early = "day < DATE '2026-06-01'"
	merge := func(when string) error {
		_, err := table.Merge(t.Context(), fromJSON(schema, `[{"day":"2026-01-02","id":7}]`), idem.Merge{
			On: []string{"id"}, Unguarded: true, NotMatchedBySource: []idem.Clause{{When: when, Do: idem.DoDelete}},
		})
		return err
	}
	for why, call := range map[string]func() error{
		"a merge that deletes early rows": func() error { return merge("target." + early) },
		"a merge that deletes any row":    func() error { return merge("") },
		"a delete":                        func() error { _, err := table.Delete(t.Context(), idem.Delete{Where: early}); return err },
		"a replacement": func() error {
			_, err := table.ReplaceWhere(t.Context(), fromJSON(schema, `[{"day":"2026-01-02","id":7}]`), idem.ReplaceWhere{Where: early})
			return err
		},
		"a scan": func() error {
			for _, err := range table.Scan(t.Context(), idem.Scan{Where: early}) {
				return err
			}
			return nil
		},
	} {
		t.Run(why, func(t *testing.T) {
			err := call()
			require.ErrorIs(t, err, idem.ErrCorrupt)
			require.Equal(t, 1, strings.Count(err.Error(), "yesterday"), "%v", err)
			require.Equal(t, 1, strings.Count(err.Error(), ".parquet"), "%v", err)
			classified(t, err)
			require.EqualValues(t, 2, f.other().Version())
		})
	}
}

package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// mergedTwice merges, and again, which must change nothing.
func mergedTwice(t *testing.T, table *idem.Table, source func() array.RecordReader, m idem.Merge) *idem.Result {
	t.Helper()
	res, err := table.Merge(t.Context(), source(), m)
	require.NoError(t, err)
	again, err := table.Merge(t.Context(), source(), m)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, again.Outcome)
	require.Zero(t, again.FilesAdded)
	return res
}

func TestClausesSetFieldsOfStructs(t *testing.T) {
	deep := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			arrow.Field{Name: "b", Nullable: true, Type: arrow.StructOf(
				arrow.Field{Name: "c", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
				arrow.Field{Name: "d", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			)},
		)},
	}, nil)
	source := func() array.RecordReader {
		return fromJSON(deep, `[{"id":1,"s":{"a":9,"b":{"c":9}}},{"id":2,"s":{"a":9,"b":{"c":9}}},{"id":3,"s":null},{"id":7,"s":{"a":9,"b":null}}]`)
	}
	for _, c := range []struct {
		why    string
		clause idem.Clause
		want   []string // of rows 1, 2, 3
	}{
		{"a field of a NULL struct makes a struct of NULLs, as Spark does", idem.Clause{Set: map[string]string{"s.b.c": "5"}},
			[]string{`{"a":null,"b":{"c":5,"d":null}}`, `{"a":1,"b":{"c":5,"d":null}}`, `{"a":1,"b":{"c":5,"d":2}}`}},
		{"two fields of one struct", idem.Clause{Set: map[string]string{"s.b.c": "5", "S.A": "6"}},
			[]string{`{"a":6,"b":{"c":5,"d":null}}`, `{"a":6,"b":{"c":5,"d":null}}`, `{"a":6,"b":{"c":5,"d":2}}`}},
		{"a field from the source's field of that name", idem.Clause{Columns: []string{"s.b.c"}},
			[]string{`{"a":null,"b":{"c":9,"d":null}}`, `{"a":1,"b":{"c":9,"d":null}}`, `{"a":1,"b":{"c":null,"d":2}}`}},
		{"a whole struct below", idem.Clause{Columns: []string{"s.b"}, Set: map[string]string{"s.a": "coalesce(target.s.a, 0)"}},
			[]string{`{"a":0,"b":{"c":9,"d":null}}`, `{"a":1,"b":{"c":9,"d":null}}`, `{"a":1,"b":null}`}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := store.NewMem()
			table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: deep}, idem.Options{})
			require.NoError(t, err)
			_, err = table.Append(t.Context(), fromJSON(deep, `[{"id":1,"s":null},{"id":2,"s":{"a":1,"b":null}},{"id":3,"s":{"a":1,"b":{"c":1,"d":2}}},{"id":4,"s":null}]`), idem.Append{Reason: "test"})
			require.NoError(t, err)
			c.clause.When = "source.id < 5"
			res := mergedTwice(t, table, source, idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{c.clause},
				NotMatched: []idem.Clause{{Columns: []string{"id", "s.a"}}}})
			require.Equal(t, []int64{3, 1}, []int64{res.Updated, res.Inserted})
			require.ElementsMatch(t, []string{
				`{"id":1,"s":` + c.want[0] + `}`, `{"id":2,"s":` + c.want[1] + `}`, `{"id":3,"s":` + c.want[2] + `}`,
				`{"id":4,"s":null}`, `{"id":7,"s":{"a":9,"b":null}}`,
			}, tableJSON(t, table))
			checkLog(t, mem)
		})
	}
}

func TestImmutableColumns(t *testing.T) {
	immutable := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Immutable: []string{"V"}}
	t.Run("a newer row that would change one", func(t *testing.T) {
		f := clausesBegun(t)
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 6, "a"}, order{"d1", 2, 6, "x"}, order{"d1", 3, 6, "y"}, order{"d1", 4, 1, "n"}), immutable)
		require.ErrorIs(t, err, idem.ErrInput)
		for _, s := range []string{"2 rows", "id=2", `v is "b" and would be "x"`, "Immutable"} {
			require.ErrorContains(t, err, s)
		}
		require.Equal(t, 1, f.dataFiles(), "what was written is removed again")
	})
	t.Run("an older one is skipped, an equal one updates", func(t *testing.T) {
		f := clausesBegun(t)
		res := mergedTwice(t, f.table, func() array.RecordReader {
			return rowsOf(order{"d2", 1, 6, "a"}, order{"d1", 2, 4, "x"}, order{"d1", 4, 1, "n"})
		}, immutable)
		require.Equal(t, []int64{1, 1, 1}, []int64{res.Updated, res.Inserted, res.SkippedOlder})
	})
	t.Run("a row that the source lacks", func(t *testing.T) {
		f := clausesBegun(t)
		m := immutable
		m.NotMatchedBySource = []idem.Clause{{Set: map[string]string{"v": "'gone'"}}}
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 6, "a"}), m)
		require.ErrorContains(t, err, `id=2, whose v is "b" and would be "gone"`)
	})
}

func TestClausesOnAnAppendOnlyTable(t *testing.T) {
	f := newFixture(t, "delta.appendOnly", "true")
	insert := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 5, "a"}, order{"d1", 2, 5, "b"}), insert)
	require.NoError(t, err, "an insert takes nothing away")
	for why, m := range map[string]idem.Merge{
		"update":                   insert,
		"delete":                   {On: []string{"id"}, Newer: []string{"seq"}, Matched: []idem.Clause{{Do: idem.DoDelete}}, NotMatched: []idem.Clause{}},
		"update by source":         {On: []string{"id"}, Matched: []idem.Clause{}, NotMatchedBySource: []idem.Clause{{Set: map[string]string{"v": "'gone'"}}}},
		"delete of a whole file":   {On: []string{"id"}, Matched: []idem.Clause{}, AllowEmpty: true, NotMatchedBySource: []idem.Clause{{Do: idem.DoDelete}}},
		"an update, and an insert": {On: []string{"id"}, Newer: []string{"seq"}, NotMatched: []idem.Clause{{When: "source.v = 'x'"}}},
	} {
		in := rowsOf(order{"d1", 1, 6, "x"}, order{"d1", 3, 6, "x"})
		if m.AllowEmpty {
			in = rowsOf()
		}
		_, err := f.table.Merge(t.Context(), in, m)
		require.ErrorIs(t, err, idem.ErrInput, why)
		require.ErrorContains(t, err, "append-only", why)
	}
	only := idem.Merge{On: []string{"id"}, Matched: []idem.Clause{}}
	res := mergedTwice(t, f.table, func() array.RecordReader { return rowsOf(order{"d1", 1, 6, "x"}, order{"d1", 3, 6, "x"}) }, only)
	require.EqualValues(t, 1, res.Inserted)
	require.ElementsMatch(t, []string{"d1/1/5/a", "d1/2/5/b", "d1/3/6/x"}, f.rows())
}

// TestRulesHoldForTheRowThatIsWritten: constraints and NOT NULL see the row after its clause, not the
// source row nor what lies between.
func TestRulesHoldForTheRowThatIsWritten(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int32}, {Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	given := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "big", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	begin := func(t *testing.T) *idem.Table {
		mem := store.NewMem()
		table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema, Constraints: map[string]string{"positive": "n > 0"}}, idem.Options{})
		require.NoError(t, err)
		_, err = table.Append(t.Context(), fromJSON(schema, `[{"id":1,"n":1},{"id":2,"n":2}]`), idem.Append{Reason: "test"})
		require.NoError(t, err)
		t.Cleanup(func() { checkLog(t, mem) })
		return table
	}
	keep := idem.Merge{On: []string{"id"}, Unguarded: true}
	for _, c := range []struct {
		why                 string
		matched, notMatched []idem.Clause
		rows                string
		want                []string
		says                string
	}{
		{"NULL in a column that the clause does not set", []idem.Clause{{Columns: []string{"note"}}}, []idem.Clause{{Columns: []string{"id", "note"}, Set: map[string]string{"n": "coalesce(source.n, 7)"}}},
			`[{"id":1,"n":null,"note":"x","big":1},{"id":3,"n":null,"note":"new","big":1}]`,
			[]string{`{"id":1,"n":1,"note":"x"}`, `{"id":2,"n":2,"note":null}`, `{"id":3,"n":7,"note":"new"}`}, ""},
		{"NULL in the row that is written", []idem.Clause{{Columns: []string{"n"}}}, nil, `[{"id":1,"n":null,"big":1}]`, nil, `column "n" is NOT NULL`},
		{"a column that an insert leaves out", nil, []idem.Clause{{Columns: []string{"id"}}}, `[{"id":3,"n":3,"big":1}]`, nil, `column "n" is NOT NULL`},
		{"a constraint of an update", []idem.Clause{{Set: map[string]string{"n": "-1"}}}, nil, `[{"id":1,"n":3,"big":1}]`, nil, "positive"},
		{"a constraint of an insert", nil, []idem.Clause{{Columns: []string{"id"}, Set: map[string]string{"n": "0"}}}, `[{"id":3,"n":3,"big":1}]`, nil, "positive"},
		{"a value that does not fit is an error, not NULL", []idem.Clause{{Set: map[string]string{"n": "source.big"}}}, []idem.Clause{}, `[{"id":1,"n":3,"big":1},{"id":2,"n":3,"big":4294967297}]`, nil, "id=2"},
		{"a text that is no number", []idem.Clause{{Set: map[string]string{"n": "CAST(source.note AS INT)"}}}, []idem.Clause{}, `[{"id":1,"n":3,"note":"12","big":1},{"id":2,"n":3,"note":"abc","big":1}]`, nil, "id=2"},
		{"a division by zero", []idem.Clause{{When: "source.big / (source.n - 3) > 0", Do: idem.DoDelete}}, []idem.Clause{}, `[{"id":1,"n":4,"big":0},{"id":2,"n":3,"big":1}]`, nil, "id=2"},
		{"of a row that an earlier clause took", []idem.Clause{{When: "source.n = 3", Set: map[string]string{"note": "'three'"}}, {When: "source.big / (source.n - 3) > 0", Do: idem.DoDelete}}, []idem.Clause{},
			`[{"id":1,"n":4,"big":0},{"id":2,"n":3,"big":1}]`, []string{`{"id":1,"n":1,"note":null}`, `{"id":2,"n":2,"note":"three"}`}, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			table := begin(t)
			m := keep
			m.Matched, m.NotMatched = c.matched, c.notMatched
			if c.matched == nil {
				m.Matched = []idem.Clause{}
			}
			if c.notMatched == nil {
				m.NotMatched = []idem.Clause{}
			}
			for _, l := range [][]idem.Clause{m.Matched, m.NotMatched} {
				if len(l) > 0 && l[0].When == "" {
					l[0].When = "source.big IS NOT NULL"
				}
			}
			if c.says == "" {
				mergedTwice(t, table, func() array.RecordReader { return fromJSON(given, c.rows) }, m)
				require.ElementsMatch(t, c.want, tableJSON(t, table))
				return
			}
			_, err := table.Merge(t.Context(), fromJSON(given, c.rows), m)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.says)
			require.ElementsMatch(t, []string{`{"id":1,"n":1,"note":null}`, `{"id":2,"n":2,"note":null}`}, tableJSON(t, table))
		})
	}
}

// TestASourceColumnThatIsOnlyUsedKeepsItsType: what no clause copies is not converted to the type of
// the table's column of its name.
func TestASourceColumnThatIsOnlyUsedKeepsItsType(t *testing.T) {
	f := clausesBegun(t)
	fields := []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "seq", Type: arrow.BinaryTypes.String}, {Name: "V", Type: arrow.PrimitiveTypes.Int64}}
	source := func() array.RecordReader {
		return fromJSON(arrow.NewSchema(fields, nil), `[{"id":1,"seq":"007","V":3}]`)
	}
	m := idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{{
		When: "source.v > 2", Set: map[string]string{"seq": "CAST(source.seq AS BIGINT)", "v": "CAST(source.V AS STRING)"},
	}}, NotMatched: []idem.Clause{}}
	mergedTwice(t, f.table, source, m)
	require.ElementsMatch(t, []string{"d1/1/7/3", "d1/2/5/b", "d1/3/5/c"}, f.rows())

	m.Matched = []idem.Clause{{Columns: []string{"seq"}}}
	_, err := f.table.Merge(t.Context(), source(), m)
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "seq", "what is copied is")
}

func TestAPartitionValueThatAClauseEmpties(t *testing.T) {
	f := clausesBegun(t)
	res := mergedTwice(t, f.table, func() array.RecordReader { return rowsOf(order{"d1", 1, 6, "A"}, order{"d1", 9, 6, "n"}) }, idem.Merge{
		On: []string{"id"}, Unguarded: true,
		Matched:            []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"day": "''"}}},
		NotMatched:         []idem.Clause{{Columns: []string{"id", "seq"}, SetExpr: map[string]expr.Expr{"day": expr.Lit("")}}},
		NotMatchedBySource: []idem.Clause{{When: "v = 'b'", Set: map[string]string{"day": "''"}}},
	})
	require.Equal(t, []int64{2, 1}, []int64{res.Updated, res.Inserted})
	require.ElementsMatch(t, []string{"NULL/1/6/a", "NULL/2/5/b", "d1/3/5/c", "NULL/9/6/NULL"}, f.rows(), "'' is NULL in a partition column, before clauses see the row again")
}

func TestWhatAMergeWithClausesSaysInTheLog(t *testing.T) {
	f := clausesBegun(t)
	_, err := f.table.Merge(t.Context(), changes("ud", order{"d1", 1, 6, "A"}, order{"d1", 9, 6, "n"}), idem.Merge{
		On: []string{"id"}, Newer: []string{"seq"},
		Matched:    []idem.Clause{{When: "op = 'd'", Do: idem.DoDelete}, {Columns: []string{"seq", "v"}}},
		NotMatched: []idem.Clause{{When: "op = 'd'", Do: idem.DoNothing}, {}},
		NotMatchedBySource: []idem.Clause{
			{When: "id = 2", Do: idem.DoDelete}, {When: "target.v = ?", Args: []any{"c"}, Set: map[string]string{"v": "'gone'"}},
		},
	})
	require.NoError(t, err)
	for c, err := range f.table.History(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "MERGE", c.Info.Operation)
		require.Equal(t, map[string]any{
			"predicate":                    `["target.id = source.id"]`,
			"matchedPredicates":            `[{"actionType":"delete","predicate":"source.op = 'd'"},{"actionType":"update"}]`,
			"notMatchedPredicates":         `[{"actionType":"nothing","predicate":"source.op = 'd'"},{"actionType":"insert"}]`,
			"notMatchedBySourcePredicates": `[{"actionType":"delete","predicate":"target.id = 2"},{"actionType":"update","predicate":"target.v = 'c'"}]`,
		}, c.Info.OperationParameters)
		m := c.Info.OperationMetrics
		require.NotEmpty(t, m["numTargetBytesAdded"])
		delete(m, "numTargetBytesAdded")
		require.Equal(t, map[string]string{
			"numSourceRows": "2", "numOutputRows": "2", "numTargetRowsCopied": "0", "numTargetRowsInserted": "0", "numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1",
			"numTargetRowsMatchedUpdated": "1", "numTargetRowsMatchedDeleted": "0",
			"numTargetRowsNotMatchedBySourceUpdated": "1", "numTargetRowsNotMatchedBySourceDeleted": "1",
			"numTargetFilesAdded": "1", "numTargetFilesRemoved": "1", "numTargetChangeFilesAdded": "0",
			"numTargetDeletionVectorsAdded": "0", "numTargetDeletionVectorsUpdated": "0", "numTargetDeletionVectorsRemoved": "0",
		}, m)
		break
	}
}

func TestAnEmptySourceIsNoReasonToEmptyATable(t *testing.T) {
	f := clausesBegun(t)
	m := idem.Merge{On: []string{"id"}, Unguarded: true, NotMatchedBySource: []idem.Clause{{When: "id < 3", Do: idem.DoDelete}}}
	_, err := f.table.Merge(t.Context(), rowsOf(), m)
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "AllowEmpty")
	m.AllowEmpty = true
	res := mergedTwice(t, f.table, func() array.RecordReader { return rowsOf() }, m)
	require.EqualValues(t, 2, res.Deleted)
	require.Equal(t, []string{"d1/3/5/c"}, f.rows())
	m = idem.Merge{On: []string{"id"}, Unguarded: true, NotMatchedBySource: []idem.Clause{{When: "id < 3", Do: idem.DoNothing}}}
	_, err = f.table.Merge(t.Context(), rowsOf(), m)
	require.NoError(t, err, "clauses that change nothing are harmless")
}

// TestNotMatchedBySourceTouchesOnlyWhatItsConditionMayMatch counts the reads of files.
func TestNotMatchedBySourceTouchesOnlyWhatItsConditionMayMatch(t *testing.T) {
	f := newFixture(t)
	for i := range int64(4) {
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 10 * i, i, "a"}, order{"d1", 10*i + 5, i, "b"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	f.store.Reset()
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 10, 9, "A"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"},
		NotMatchedBySource: []idem.Clause{{When: "seq >= 3", Do: idem.DoDelete}}})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 2}, []int64{res.Updated, res.Deleted, res.FilesRemoved})
	require.Equal(t, 2, dataReads(f.store),
		"the file of key 10 is probed and rewritten; that of seq 3 goes as a whole, and no other is read")
	require.Equal(t, 6, len(f.rows()))
}

// TestAFileThatGoesUnreadHasNoRowThatStays: each case has a file in which some row may stay.
func TestAFileThatGoesUnreadHasNoRowThatStays(t *testing.T) {
	for _, c := range []struct {
		why     string
		clauses []idem.Clause
		want    []string
	}{
		{"a row that another clause keeps", []idem.Clause{{When: "v = 'b'", Do: idem.DoNothing}, {When: "seq = 1", Do: idem.DoDelete}}, []string{"d1/5/1/b"}},
		{"a row that another clause updates", []idem.Clause{{When: "v = 'b'", Set: map[string]string{"seq": "2"}}, {When: "seq = 1", Do: idem.DoDelete}}, []string{"d1/5/2/b"}},
		{"a row for which the condition is not TRUE", []idem.Clause{{When: "id < 5", Do: idem.DoDelete}}, []string{"d1/5/1/b"}},
		{"a clause that cannot apply comes first", []idem.Clause{{When: "seq = 7", Do: idem.DoNothing}, {When: "seq = 1", Do: idem.DoDelete}}, []string{}},
		{"a file that is left alone as a whole", []idem.Clause{{When: "seq = 1", Do: idem.DoNothing}, {Do: idem.DoDelete}}, []string{"d1/1/1/a", "d1/5/1/b"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFixture(t)
			_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 5, 1, "b"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
			res := mergedTwice(t, f.table, func() array.RecordReader { return rowsOf(order{"d2", 9, 1, "n"}) }, idem.Merge{On: []string{"id"}, Unguarded: true, NotMatchedBySource: c.clauses})
			require.EqualValues(t, 2-len(c.want), res.DeletedBySource)
			require.ElementsMatch(t, append(c.want, "d2/9/1/n"), f.rows())
		})
	}
	t.Run("a row that a source row matches", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 5, 1, "b"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
		mergedTwice(t, f.table, func() array.RecordReader { return rowsOf(order{"d1", 5, 1, "b"}) },
			idem.Merge{On: []string{"id"}, Unguarded: true, NotMatchedBySource: []idem.Clause{{Do: idem.DoDelete}}})
		require.Equal(t, []string{"d1/5/1/b"}, f.rows())
	})
}

// TestASourceOfManyPartsReadsEachFileOnce: what decides is read once, however many parts the source
// has, and a row is unmatched only if no part has its key.
func TestASourceOfManyPartsReadsEachFileOnce(t *testing.T) {
	mem := storetest.NewFaulty(store.NewMem())
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{MemoryBytes: 64 << 10, TempDir: t.TempDir(), Parallelism: 1})
	require.NoError(t, err)
	var all, half []order
	for i := range int64(4000) {
		all = append(all, order{"d1", i * 7919 % 4001, 1, "a"})
		if i%2 == 0 {
			half = append(half, order{"d1", i * 7919 % 4001, 1, "b"})
		}
	}
	_, err = table.ReplaceAll(t.Context(), rowsOf(all...), idem.ReplaceAll{})
	require.NoError(t, err)
	files := table.Snapshot().NumFiles()
	mem.Reset()
	m := idem.Merge{On: []string{"id"}, Matched: []idem.Clause{}, NotMatchedBySource: []idem.Clause{{When: "seq > 5", Do: idem.DoDelete}, {When: "v = 'x'", Do: idem.DoDelete}}}
	res, err := table.Merge(t.Context(), rowsOf(half...), m)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.EqualValues(t, 2000, res.Matched)
	require.LessOrEqual(t, dataReads(mem), files, "no file is read twice")

	m.NotMatchedBySource = []idem.Clause{{Do: idem.DoDelete}}
	res, err = table.Merge(t.Context(), rowsOf(half...), m)
	require.NoError(t, err)
	require.EqualValues(t, 2000, res.Deleted)
	require.Len(t, scanned(t, table), 2000)
	checkLog(t, mem)
}

package interop_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// mergeCases is how many drawn merges are run by idem and by Spark.
const mergeCases = 24

var (
	merged = []column{{"id", "long"}, {"n", "long"}, {"v", "string"}, {"s", "struct<a:long,b:string>"}, {"day", "string"}}

	mergeTarget = source{Schema: merged, Rows: []row{
		{1, 1, "a", map[string]any{"a": 1, "b": "x"}, "d1"}, {2, 2, "b", nil, "d1"}, {3, nil, nil, map[string]any{"a": nil, "b": "y"}, "d1"},
		{4, 4, "d", map[string]any{"a": 4, "b": nil}, "d2"}, {5, 5, "a", nil, "d2"}, {6, 6, nil, map[string]any{"a": 6, "b": "z"}, nil}, {nil, 7, "a", nil, "d2"},
	}}
	mergeSource = source{Schema: merged, Rows: []row{
		{1, 9, "A", map[string]any{"a": 9, "b": "s"}, "d1"}, {2, nil, "b", map[string]any{"a": 2, "b": "s"}, "d2"}, {3, 3, nil, nil, nil},
		{4, 4, "d", map[string]any{"a": 4, "b": nil}, "d2"}, {10, 1, "new", nil, "d3"}, {11, nil, nil, map[string]any{"a": 1, "b": "n"}, "d1"},
	}}

	sourceConditions = []string{"source.n > 3", "source.v IS NULL", "source.s.a = 9 OR source.v = 'new'", "source.n IN (1, 4)"}
	targetConditions = []string{"target.v = 'a'", "target.n >= 4", "target.day <> 'd1'", "target.s.b IS NOT NULL"}
	bothConditions   = []string{"source.n > target.n", "source.v <=> target.v", "NOT source.day = target.day", "source.s.a + 1 > target.n"}

	// What a column is set to, from the source and from the table.
	fromSource = map[string][]string{
		"n": {"source.n", "source.n * 2", "7"}, "v": {"source.v", "coalesce(source.v, 'none')", "NULL"}, "s": {"source.s"}, "day": {"source.day", "'d9'"},
	}
	fromTarget = map[string][]string{
		"n": {"target.n + 1", "NULL"}, "v": {"'gone'", "concat(target.v, '!')"}, "s.a": {"target.n", "0"}, "s.b": {"upper(target.v)"}, "day": {"'d8'"},
	}
)

// drawnClause is a clause as idem takes it and as SQL says it.
type drawnClause struct {
	clause idem.Clause
	sql    string
}

func oneOf(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// drawClauses draws clauses of one kind. WHEN MATCHED and its like stand in when.
func drawClauses(r *rand.Rand, when string, conditions []string, values map[string][]string, set func(map[string]string) string) []drawnClause {
	var out []drawnClause
	skip := "" // SQL has no clause that does nothing: those behind it say that it was not met
	for i := range r.IntN(4) {
		c := idem.Clause{When: oneOf(r, conditions)}
		if r.IntN(5) == 0 {
			c.Do = idem.DoNothing
			skip += fmt.Sprintf(" AND NOT coalesce(%s, false)", c.When)
			out = append(out, drawnClause{clause: c})
			continue
		}
		if i == 2 {
			c.When = ""
		}
		action := "DELETE"
		if when != "WHEN NOT MATCHED" && r.IntN(3) == 0 {
			c.Do = idem.DoDelete
		} else {
			c.Set = map[string]string{}
			for _, column := range []string{"n", "v", "s", "s.a", "s.b", "day"} {
				if _, whole := c.Set["s"]; len(values[column]) > 0 && r.IntN(2) == 0 && !(whole && strings.HasPrefix(column, "s.")) {
					c.Set[column] = oneOf(r, values[column])
				}
			}
			if len(c.Set) == 0 {
				c.Set["n"] = oneOf(r, values["n"])
			}
			if when == "WHEN NOT MATCHED" {
				c.Set["id"] = "source.id"
			}
			action = set(c.Set)
		}
		condition := ""
		if c.When != "" {
			condition = " AND (" + c.When + ")"
		}
		out = append(out, drawnClause{c, when + condition + skip + " THEN " + action})
	}
	return out
}

func updateSQL(set map[string]string) string {
	var parts []string
	for _, column := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, "target."+column+" = "+set[column])
	}
	return "UPDATE SET " + strings.Join(parts, ", ")
}

func insertSQL(set map[string]string) string {
	var columns, values []string
	for _, column := range slices.Sorted(maps.Keys(set)) {
		columns, values = append(columns, column), append(values, set[column])
	}
	return "INSERT (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

func apart(list []drawnClause) (clauses []idem.Clause, sql string) {
	clauses = []idem.Clause{}
	for _, c := range list {
		clauses = append(clauses, c.clause)
		if c.sql != "" {
			sql += "\n" + c.sql
		}
	}
	return clauses, sql
}

// TestClausesMeanWhatTheyMeanInSpark runs drawn merges by idem and as SQL by Spark, on tables of the
// same rows, and compares the tables.
func TestClausesMeanWhatTheyMeanInSpark(t *testing.T) {
	needEngines(t)
	spark.do(t, "views", map[string]any{"name": "changes", "source": mergeSource})
	r := rand.New(rand.NewPCG(1, 2))
	both := append(append(append([]string{}, sourceConditions...), targetConditions...), bothConditions...)
	values := map[string][]string{}
	for _, from := range []map[string][]string{fromSource, fromTarget} {
		for column, list := range from {
			values[column] = append(values[column], list...)
		}
	}
	for i := range mergeCases {
		m := idem.Merge{On: []string{"id"}, Unguarded: true, Txn: idem.Txn{AppID: "clauses", Version: 1}}
		var sql, part string
		m.Matched, sql = apart(drawClauses(r, "WHEN MATCHED", both, values, updateSQL))
		m.NotMatched, part = apart(drawClauses(r, "WHEN NOT MATCHED", sourceConditions, fromSource, insertSQL))
		sql += part
		m.NotMatchedBySource, part = apart(drawClauses(r, "WHEN NOT MATCHED BY SOURCE", targetConditions, fromTarget, updateSQL))
		if sql += part; sql == "" {
			continue // which SQL does not allow
		}
		ours, theirs := create(t, merged, "day"), create(t, merged, "day")
		for _, w := range []*world{ours, theirs} {
			w.appendWide(t, mergeTarget)
		}
		_, err := ours.table.Merge(t.Context(), mergeSource.reader(t, ours.mem), m)
		require.NoError(t, err, "%s", sql)
		err = theRun.server.ask(spark, "sql", map[string]any{"sql": "MERGE INTO delta.`" + theirs.path + "` target USING changes source ON target.id = source.id" + sql}, nil)
		if err == nil {
			var a, b *idem.Print
			a, err = ours.table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
			require.NoError(t, err)
			b, err = at(t, theirs.path).table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
			require.NoError(t, err)
			if !a.Equal(b) {
				err = fmt.Errorf("idem makes %s of it, Spark %s:%s", a, b, sql)
			}
		}
		tally(t, spark, err, "merge %d", i)
	}
}

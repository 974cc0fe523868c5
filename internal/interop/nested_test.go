package interop_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// leaves are the primitive types with the cells of shapes, by column of wide.
func leaves() map[string][]any {
	out := map[string][]any{}
	for c, column := range wide[2:] {
		for _, s := range shapes {
			out[column[1]] = append(out[column[1]], s[c])
		}
	}
	return out
}

// nestings are the shapes of a column around a type, and the cells that hold what they can: NULL at
// every level, nothing, one and several.
var nestings = []struct {
	name, typ string
	cells     func(a, b any) []any
}{
	{"s", "struct<v:%[1]s,w:%[1]s>", func(a, b any) []any {
		return []any{nil, object("v", a, "w", b), object("v", nil, "w", nil), object("v", b, "w", nil)}
	}},
	{"l", "array<%[1]s>", func(a, b any) []any { return []any{nil, list(), list(a), list(nil), list(b, nil, a)} }},
	{"m", "map<string,%[1]s>", func(a, b any) []any {
		return []any{nil, list(), list(list("k", a)), list(list("", nil)), list(list("a", b), list("b", a))}
	}},
	{"ls", "array<struct<v:%[1]s,n:long>>", func(a, b any) []any {
		return []any{nil, list(), list(nil), list(object("v", a, "n", 1), nil, object("v", nil, "n", nil))}
	}},
	{"sl", "struct<in:struct<v:array<%[1]s>>,m:map<long,array<%[1]s>>>", func(a, b any) []any {
		return []any{
			nil, object("in", nil, "m", nil), object("in", object("v", nil), "m", list()), object("in", object("v", list()), "m", list(list(1, nil))),
			object("in", object("v", list(a, nil)), "m", list(list(-1, list(b)), list(2, list()))),
		}
	}},
	{"ll", "array<array<map<string,%[1]s>>>", func(a, b any) []any {
		return []any{nil, list(list()), list(nil, list(nil, list())), list(list(list(list("k", a)), list(list("j", nil), list("k", b))))}
	}},
}

func list(cells ...any) []any {
	if cells == nil {
		return []any{}
	}
	return cells
}

func object(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// nestedRows are rows with the ids from … to, of one day, of a type in every nesting.
func nestedRows(leaf string, cells []any, day any, from, to int) source {
	s := source{Schema: []column{{"id", "long"}, {"day", "string"}}}
	for _, n := range nestings {
		s.Schema = append(s.Schema, column{n.name, fmt.Sprintf(n.typ, leaf)})
	}
	for id := from; id <= to; id++ {
		r := row{id, day}
		for _, n := range nestings {
			drawn := n.cells(cells[id%len(cells)], cells[(id/len(cells))%len(cells)])
			r = append(r, drawn[id%len(drawn)])
		}
		s.Rows = append(s.Rows, r)
	}
	return s
}

// TestEveryVerbWritesNestedColumns: every type in every nesting, written by every verb, is read alike
// by all engines; then the engines that write do, and idem reads it.
func TestEveryVerbWritesNestedColumns(t *testing.T) {
	needEngines(t)
	for leaf, cells := range leaves() {
		t.Run(leaf, func(t *testing.T) {
			some := func(day any, from, to int) source { return nestedRows(leaf, cells, day, from, to) }
			w := create(t, some("a", 1, 1).Schema, "day")
			reader := func(s source) func() (*idem.Result, error) {
				return func() (*idem.Result, error) {
					return w.table.ReplaceWhere(t.Context(), s.reader(t, w.mem), idem.ReplaceWhere{Where: "day = 'b'"})
				}
			}
			for _, v := range []struct {
				name string
				call func() (*idem.Result, error)
			}{
				{"append with txn", func() (*idem.Result, error) {
					return w.table.AppendWithTxn(t.Context(), some("a", 1, 60).reader(t, w.mem), idem.Txn{AppID: "nested", Version: 1, VerifyPayload: true})
				}},
				{"replace", reader(some("b", 61, 90))},
				{"merge", func() (*idem.Result, error) {
					s := some("b", 55, 65)
					for i := range s.Rows {
						s.Rows[i][len(s.Rows[i])-1] = list(list(nil, list()))
					}
					return w.table.Merge(t.Context(), s.reader(t, w.mem), idem.Merge{On: []string{"id"}, Unguarded: true})
				}},
				{"delete", func() (*idem.Result, error) {
					return w.table.Delete(t.Context(), idem.Delete{Where: "id IN (3, 17, 62) OR s IS NULL AND id < 10"})
				}},
			} {
				for run := range 2 {
					res, err := v.call()
					require.NoError(t, err, v.name)
					if run == 0 {
						require.Equal(t, idem.Committed, res.Outcome, v.name)
						continue
					}
					require.Contains(t, []idem.Outcome{idem.Unchanged, idem.AlreadyApplied}, res.Outcome, "%s again", v.name)
				}
				w.agree(t, name("nested", leaf, v.name), "", everyEngine...)
			}
			for _, e := range slices.Backward(writers) { // delta-rs misreads some timestamps that Spark wrote
				e.do(t, "write", map[string]any{"path": w.path, "mode": "append", "source": some("c", 100, 125)})
				e.do(t, "delete", map[string]any{"path": w.path, "where": "id IN (5, 101)"})
				w.agree(t, name("nested", leaf, "with rows of", e), "", e, duckDB)
			}
		})
	}
}

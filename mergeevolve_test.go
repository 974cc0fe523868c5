package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// TestEvolveInClauses: what a clause copies becomes a column of the table, what clauses only name does
// not.
func TestEvolveInClauses(t *testing.T) {
	source := func() array.RecordReader {
		schema := arrow.NewSchema(append(orders.Fields(),
			arrow.Field{Name: "op", Type: arrow.BinaryTypes.String, Nullable: true}, arrow.Field{Name: "lsn", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
		return fromJSON(schema, `[{"day":"d1","id":1,"seq":6,"v":"A","op":"u","lsn":7},{"day":"d1","id":8,"seq":6,"v":"n","op":"u","lsn":8}]`)
	}
	base := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true}
	for _, c := range []struct {
		why                 string
		matched, notMatched []idem.Clause
		added               []string
		says                string
	}{
		{"all that the source has, but what conditions name", []idem.Clause{{When: "op = 'u'"}}, nil, []string{"lsn"}, ""},
		{"a column that is listed, though a condition names it", []idem.Clause{{When: "source.op = 'u'", Columns: []string{"seq", "lsn", "OP"}}}, []idem.Clause{}, []string{"op", "lsn"}, ""},
		{"a column that a value names", []idem.Clause{{When: "op = 'u'", Columns: []string{"seq"}, Set: map[string]string{"v": "CASE WHEN source.lsn > 1 THEN source.v END"}}}, nil, nil, ""},
		{"a column that nothing sets", []idem.Clause{{When: "op = 'u'", Columns: []string{"seq"}}}, []idem.Clause{}, nil, `column "lsn" and neither`},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := clausesBegun(t)
			m := base
			m.Matched, m.NotMatched = c.matched, c.notMatched
			if c.says != "" {
				_, err := f.table.Merge(t.Context(), source(), m)
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, c.says)
				return
			}
			res := mergedTwice(t, f.table, source, m)
			require.Equal(t, c.added, res.AddedColumns)
			require.EqualValues(t, 1, res.Updated)
		})
	}
}

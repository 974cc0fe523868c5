package pred_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

func show(b *bool) string {
	if b == nil {
		return "NULL"
	}
	return map[bool]string{true: "TRUE", false: "FALSE"}[*b]
}

func at(a *array.Boolean, row int) *bool {
	if a.IsNull(row) {
		return nil
	}
	b := a.Value(row)
	return &b
}

// firstFailure is the first row that has no value, and why.
func firstFailure(batch arrow.RecordBatch, e expr.Expr) (row int, why string) {
	for row := range int(batch.NumRows()) {
		if _, why := safely(batch, row, e); why != "" {
			return row, why
		}
	}
	return 0, ""
}

func TestEvalEqualsTheTwin(t *testing.T) {
	failed := 0
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		batch := drawBatch(t, memory.DefaultAllocator, tableSchema, "")
		defer batch.Release()
		for i := range 5 {
			e := drawCondition(t, 3)
			if i == 0 {
				e = &expr.Binary{Op: expr.Gt, L: drawArithmetic(t, "i32", 2), R: expr.Col("i64"), At: -1}
			}
			p, err := pred.Bind(e, tableSchema)
			require.NoError(t, err, "%s", e)
			got, err := p.Eval(mem, batch)
			if row, why := firstFailure(batch, e); why != "" {
				failed++
				var e *pred.RowError
				require.ErrorAs(t, err, &e, "%s: row %d: %s", p, row, why)
				require.Equal(t, row, e.Row, "%s: %s", p, why)
				require.ErrorIs(t, err, delta.ErrInput)
				continue
			}
			require.NoError(t, err, "%s", e)
			defer got.Release()
			require.Equal(t, int(batch.NumRows()), got.Len())
			nulls := 0
			for row := range got.Len() {
				want := evalRow(batch, row, e)
				require.Equal(t, show(want), show(at(got, row)), "%s, row %d of %v", e, row, batch.NewSlice(int64(row), int64(row+1)))
				if want == nil {
					nulls++
				}
			}
			require.Equal(t, nulls, got.NullN())
		}
	})
	require.NotZero(t, failed, "no row failed")
}

// snapshotOf is a table with one file.
func snapshotOf(schema *delta.Struct, partition string, add *delta.Add, config map[string]string) (*delta.Snapshot, error) {
	m := &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: schema.JSON(), PartitionColumns: []string{partition}, Configuration: config}
	if partition == "" {
		m.PartitionColumns = nil
	}
	protocol := delta.ProtocolFor(m, schema)
	r := delta.NewReplay("file:///t")
	if err := r.Commit(0, []delta.Action{{Protocol: &protocol}, {Metadata: m}, {Add: add}}); err != nil {
		return nil, err
	}
	return r.Snapshot(0)
}

func TestProveNeverContradictsEval(t *testing.T) {
	partitions := []string{"bo", "i8", "i64", "f64", "dec", "s", "d", "ts", "ntz", ""}
	schema, err := delta.FromArrow(tableSchema)
	require.NoError(t, err)
	proven := map[pred.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		partition := rapid.SampledFrom(partitions).Draw(t, "partition")
		batch := drawBatch(t, memory.DefaultAllocator, tableSchema, partition)
		defer batch.Release()
		if partition == "s" && batch.NumRows() > 0 {
			if v := columnCell(batch, []string{"s"}, 0); v == "" {
				t.Skip("an empty string is no partition value")
			}
		}
		add, stats := describe(t, schema, batch, partition)
		snap, err := snapshotOf(schema, partition, add, nil)
		require.NoError(t, err)
		verdict := func(e expr.Expr) pred.Verdict {
			p, err := pred.Bind(e, tableSchema)
			require.NoError(t, err, "%s", e)
			facts, err := pred.FileFacts(snap, add, stats)
			require.NoError(t, err)
			return p.Prove(facts)
		}
		for range 5 {
			e := drawCondition(t, 2)
			v := verdict(e)
			proven[v]++
			if v == pred.Across {
				continue
			}
			for row := range int(batch.NumRows()) {
				require.Equal(t, v == pred.Inside, isTrue(batch, row, e), "%s by %s, partition %v: row %d of %v: %s", v, stats, add.PartitionValues, row, batch, e)
			}
		}
		if partition != "" && batch.NumRows() > 0 {
			e := &expr.Binary{Op: expr.Ge, L: drawOver(t, partition, 2), R: drawOver(t, partition, 2), At: -1}
			want := map[bool]pred.Verdict{true: pred.Inside, false: pred.Outside}[isTrue(batch, 0, e)]
			if _, why := safely(batch, 0, e); why != "" {
				want = pred.Across
			}
			require.Equal(t, want, verdict(e), "of partition %v: %s", add.PartitionValues, e)
		}
	})
	require.NotZero(t, proven[pred.Inside], "nothing was Inside")
	require.NotZero(t, proven[pred.Outside], "nothing was Outside")
}

func isTrue(batch arrow.RecordBatch, row int, e expr.Expr) bool {
	truth, failed := safely(batch, row, e)
	return failed == "" && truth != nil && *truth
}

// drawOver draws a computed value of one column.
func drawOver(t *rapid.T, name string, depth int) expr.Expr {
	one := func() expr.Expr {
		if depth > 0 && rapid.Bool().Draw(t, "deeper") {
			return drawOver(t, name, depth-1)
		}
		return expr.Lit(drawValue(t, typeNamed(name), true))
	}
	if ops := arithmetic[name]; ops != nil && rapid.Bool().Draw(t, "arithmetic") {
		return &expr.Binary{Op: rapid.SampledFrom(ops).Draw(t, "operator"), L: expr.Col(name), R: one(), At: -1}
	}
	f := rapid.SampledFrom([]string{"coalesce", "nullif"}).Draw(t, "function")
	return expr.Function(f, expr.Col(name), one())
}

// describe makes the add of a file that holds the batch, and its statistics.
func describe(t *rapid.T, schema *delta.Struct, batch arrow.RecordBatch, partition string) (*delta.Add, string) {
	add := &delta.Add{Path: "a.parquet", PartitionValues: map[string]*string{}, Size: 1, DataChange: true}
	var data []arrow.Array
	var fields []arrow.Field
	for i, f := range batch.Schema().Fields() {
		if f.Name != partition {
			data, fields = append(data, batch.Column(i)), append(fields, f)
			continue
		}
		v := scalar.MakeNullScalar(f.Type)
		if batch.NumRows() > 0 {
			var err error
			v, err = scalar.GetScalar(batch.Column(i), 0)
			require.NoError(t, err)
		}
		text, err := delta.FormatPartitionValue(schema.Fields[schema.Index(f.Name)].Type, v)
		require.NoError(t, err)
		add.PartitionValues[f.Name] = text
	}
	var by []string
	if partition != "" {
		by = []string{partition}
	}
	b := delta.NewStatsBuilder(schema, by, nil)
	rows := array.NewRecordBatch(arrow.NewSchema(fields, nil), data, batch.NumRows())
	defer rows.Release()
	require.NoError(t, b.Add(rows))
	stats := b.JSON()
	if rapid.Bool().Draw(t, "loose") {
		stats = strings.Replace(stats, "{", `{"tightBounds":false,`, 1)
		require.False(t, strings.Count(stats, "tightBounds") == 0)
	}
	add.Stats = stats
	return add, stats
}

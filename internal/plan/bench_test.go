package plan_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/spill"
)

func report(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkConform(b *testing.B) {
	mem := memory.NewGoAllocator()
	snap := snapshot(b, numberFields, nil, nil)
	batch := numbers(mem, snap.ArrowSchema(), 0, 65_536, 1)
	narrow := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}, {Name: "ID", Type: arrow.PrimitiveTypes.Int64}, {Name: "P", Type: arrow.PrimitiveTypes.Int32}}, nil)
	for _, c := range []struct {
		name  string
		table *arrow.Schema
	}{
		{"types=same", snap.ArrowSchema()},
		{"types=narrowed", arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, narrow.Field(2), narrow.Field(0)}, nil)},
	} {
		b.Run(c.name, func(b *testing.B) {
			conform, err := plan.NewConformer(batch.Schema(), c.table, plan.ConformOptions{})
			require.NoError(b, err)
			for b.Loop() {
				out, err := conform.Batch(mem, batch, 0)
				require.NoError(b, err)
				out.Release()
			}
			report(b, 65_536)
		})
	}
}

func BenchmarkFileSet(b *testing.B) {
	for _, c := range []struct {
		name  string
		by    []string
		parts int
	}{{"partitions=0", nil, 1}, {"partitions=100", []string{"p"}, 100}} {
		b.Run(c.name, func(b *testing.B) {
			mem := memory.NewGoAllocator()
			snap := snapshot(b, numberFields, c.by, nil)
			batch := numbers(mem, snap.ArrowSchema(), 0, 65_536, c.parts)
			for b.Loop() {
				set, err := plan.NewFileSet(b.Context(), newEnv(store.NewMem(), mem), snap, plan.NewRows)
				require.NoError(b, err)
				for range 16 {
					require.NoError(b, set.Write(batch))
				}
				_, err = set.Finish()
				require.NoError(b, err)
			}
			report(b, 16*65_536)
		})
	}
}

func BenchmarkDedupe(b *testing.B) {
	const total = 200_000
	var list []change
	for i := range int64(total) {
		list = append(list, change{k: i * 7919 % 150_001, at: i})
	}
	mem := memory.NewGoAllocator()
	batch := changes(mem, list)
	for _, c := range []struct {
		name   string
		budget int64
	}{{"spill=no", 0}, {"spill=yes", 8 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				area := spill.NewArea(dir, c.budget/2)
				src := area.NewBuffer(changeSchema)
				for from := int64(0); from < total; from += 20_000 {
					part := batch.NewSlice(from, from+20_000)
					require.NoError(b, src.Append(part))
					part.Release()
				}
				_, err := plan.Dedupe(b.Context(), &plan.Env{Allocator: mem, MemoryBytes: c.budget}, area, src, []int{0, 1}, []int{2, 3}, []int{0, 1, 2, 3, 4})
				require.NoError(b, err)
				require.NoError(b, area.Close())
			}
			report(b, total)
		})
	}
}

package plan

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// guard demands that a condition is TRUE for every row, and notes the partitions of the rows. A nil
// guard demands nothing. It reads on after the first offender, so that the error can say how many
// there are.
type guard struct {
	where *pred.Predicate // nil demands nothing
	parts *tuples         // nil notes nothing
	bad   int64
	seen  int64
	first string // row number and values of the first offender
}

func (g *guard) broken() bool { return g != nil && g.bad > 0 }

// look counts the rows of a batch for which the condition is FALSE or NULL.
func (g *guard) look(mem memory.Allocator, batch arrow.RecordBatch, first int64) error {
	if g == nil {
		return nil
	}
	if g.parts != nil {
		if err := g.parts.note(batch); err != nil {
			return err
		}
	}
	if g.where == nil {
		return nil
	}
	mask, err := g.where.Eval(mem, batch)
	if err != nil {
		return pred.After(first, err)
	}
	defer mask.Release()
	g.seen += batch.NumRows()
	for i := range mask.Len() {
		if isTrue(mask, i) {
			continue
		}
		if g.bad == 0 {
			g.first = fmt.Sprintf("row %d (%s)", first+int64(i)+1, describe(batch, g.where.ColumnNames(), i))
		}
		g.bad++
	}
	return nil
}

func (g *guard) verdict() error {
	if !g.broken() {
		return nil
	}
	return fmt.Errorf("%w: %d of %d rows are outside the slice %s; the first is %s; nothing was written: "+
		"read the input through the same condition, or widen the slice", delta.ErrInput, g.bad, g.seen, g.where, g.first)
}

func isTrue(mask *array.Boolean, i int) bool { return mask.IsValid(i) && mask.Value(i) }

// countTrue is the number of rows for which a condition is TRUE.
func countTrue(mask *array.Boolean) int64 {
	n := int64(0)
	for i := range mask.Len() {
		if isTrue(mask, i) {
			n++
		}
	}
	return n
}

// describe shows columns of a row, "day=2013-01-02, id=7".
func describe(batch arrow.RecordBatch, columns []string, row int) string {
	var parts []string
	for _, name := range columns {
		for c := range int(batch.NumCols()) {
			if batch.ColumnName(c) == name {
				parts = append(parts, name+"="+rows.Text(batch.Column(c), row))
			}
		}
	}
	return strings.Join(parts, ", ")
}

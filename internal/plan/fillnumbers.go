package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
)

// numbers are those that a call gives to the rows of identity columns. For one goroutine.
type numbers struct {
	columns map[string]*numbering
}

func newNumbers() *numbers { return &numbers{columns: map[string]*numbering{}} }

// numbering numbers one column, in the order in which it is asked.
type numbering struct {
	name  string
	rule  *delta.Identity
	last  int64 // the last one
	given int64 // how many
}

// of is the numbering of a column, one for all rows of a call.
func (n *numbers) of(name string, rule *delta.Identity) *numbering {
	if n.columns[name] == nil {
		n.columns[name] = &numbering{name: name, rule: rule}
	}
	return n.columns[name]
}

// marks are the last numbers, of the columns that gave any.
func (n *numbers) marks() map[string]int64 {
	out := map[string]int64{}
	for name, c := range n.columns {
		if c.given > 0 {
			out[name] = c.last
		}
	}
	return out
}

// take numbers the next count rows.
func (n *numbering) take(mem memory.Allocator, count int) (arrow.Array, error) {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	if count == 0 {
		return b.NewArray(), nil
	}
	first, ok := n.rule.Next()
	if n.given > 0 {
		first, ok = n.rule.Ahead(n.last, 2)
	}
	last, fits := int64(0), false
	if ok {
		last, fits = n.rule.Ahead(first, int64(count))
	}
	if !fits {
		return nil, n.overflow(count)
	}
	b.Reserve(count)
	for i := range int64(count) {
		b.UnsafeAppend(first + i*n.rule.Step)
	}
	n.last, n.given = last, n.given+int64(count)
	return b.NewArray(), nil
}

func (n *numbering) overflow(count int) error {
	at := "none given yet"
	if n.given > 0 {
		at = fmt.Sprintf("the last is %d", n.last)
	} else if n.rule.Mark != nil {
		at = fmt.Sprintf("the last is %d", *n.rule.Mark)
	}
	return fmt.Errorf("%w: column %q has no numbers left for %d more rows (%s, the step is %d, and BIGINT ends); give the table another identity column",
		delta.ErrInput, n.name, count, at, n.rule.Step)
}

// shift says by how much the numbers given must move to follow those of a table; 0 if they may stay.
func (n *numbering) shift(now *delta.Identity) (int64, error) {
	next, ok := now.Next()
	if !ok {
		return 0, n.overflow(int(n.given))
	}
	last, ok := now.Ahead(next, n.given)
	if !ok {
		return 0, n.overflow(int(n.given))
	}
	return last - n.last, nil
}

// shifts are those of all columns that must move, by name.
func (n *numbers) shifts(now *delta.Snapshot) (map[string]int64, error) {
	out := map[string]int64{}
	if n == nil {
		return out, nil
	}
	for name, c := range n.columns {
		i := now.Schema().Index(name)
		if c.given == 0 || i < 0 {
			continue
		}
		rule, err := now.Identity(i)
		if err != nil {
			return nil, err
		}
		if rule == nil {
			continue
		}
		by, err := c.shift(rule)
		if err != nil {
			return nil, err
		}
		if by != 0 {
			out[name] = by
		}
	}
	return out, nil
}

// renumber gives the rows of files other numbers if those that they have were given by a commit since.
// The files are written anew; the old ones stay, since a commit that names them was proposed. base is
// the table that they were written for. It says whether there are new files.
func (w *written) renumber(ctx context.Context, env *Env, base, now *delta.Snapshot) (bool, error) {
	if len(w.files) == 0 {
		return false, nil
	}
	by, err := w.numbers.shifts(now)
	if err != nil || len(by) == 0 {
		return false, err
	}
	set, err := NewFileSet(ctx, env, base, NewRows)
	if err != nil {
		return false, err
	}
	for _, f := range w.files {
		if err := copyShifted(ctx, env, base, f, by, set); err != nil {
			set.Abort()
			return false, err
		}
	}
	files, err := set.Finish()
	if err == nil && set.Rows() != w.rows {
		err = fmt.Errorf("%w: files of %d rows gave %d when they were read again", delta.ErrCorrupt, w.rows, set.Rows())
	}
	if err != nil {
		set.Abort()
		return false, err
	}
	w.files, w.numbers = files, w.numbers.shifted(by)
	return true, nil
}

// shifted are the numbers after a move.
func (n *numbers) shifted(by map[string]int64) *numbers {
	out := newNumbers()
	for name, c := range n.columns {
		moved := *c
		moved.last += by[name]
		out.columns[name] = &moved
	}
	return out
}

// copyShifted copies the rows of a file.
func copyShifted(ctx context.Context, env *Env, base *delta.Snapshot, f *delta.Add, by map[string]int64, to *FileSet) error {
	for batch, err := range scan.File(ctx, env.Table(base), f, nil) {
		if err != nil {
			return err
		}
		moved := shiftColumns(env.Allocator, batch, by)
		err = to.Write(moved)
		moved.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// shiftColumns adds to the numbers of columns. The caller releases the result.
func shiftColumns(mem memory.Allocator, batch arrow.RecordBatch, by map[string]int64) arrow.RecordBatch {
	columns := slices.Clone(batch.Columns())
	for c := range columns {
		n, ok := by[batch.ColumnName(c)]
		if !ok {
			continue
		}
		b := array.NewInt64Builder(mem)
		defer b.Release()
		b.Reserve(columns[c].Len())
		for _, v := range columns[c].(*array.Int64).Int64Values() {
			b.UnsafeAppend(v + n)
		}
		a := b.NewArray()
		defer a.Release()
		columns[c] = a
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows())
}

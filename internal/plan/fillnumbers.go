package plan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
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
	first int64 // the first number given
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
	if n.given == 0 {
		n.first = first
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

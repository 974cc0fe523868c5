package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// Fill is what a filler does, for tests outside.
type Fill struct{ *filler }

func NewFill(env *Env, snap *delta.Snapshot, given []string) (Fill, error) {
	f, err := newFiller(env, snap, given)
	return Fill{f}, err
}

func NewRefill(env *Env, snap *delta.Snapshot, set []string) (Fill, error) {
	f, err := newRefiller(env, snap, set)
	return Fill{f}, err
}

func (f Fill) Also(given []string) (Fill, error) {
	g, err := f.also(given)
	return Fill{g}, err
}

// Conform is the rows in the columns of a table, and those columns of it that they lack.
func Conform(mem memory.Allocator, snap *delta.Snapshot, rows arrow.RecordBatch) (arrow.RecordBatch, []string, error) {
	c, err := conformer(rows.Schema(), snap, false)
	if err != nil {
		return nil, nil, err
	}
	out, err := c.Batch(mem, rows, 0)
	return out, c.Missing(), err
}

// ColumnsText is the tag of a new file of a table with column mapping.
var ColumnsText = columnsText

package maintain

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
)

// copier copies the rows of a bin into new files.
type copier struct {
	ctx   context.Context
	env   *plan.Env
	snap  *delta.Snapshot
	bin   *bin
	order *ordering // nil: rows stay in the order of the files
	set   *plan.FileSet

	digests *plan.Digests // of the files that are read
}

// tally is the number and the digest of rows.
type tally struct {
	rows   int64
	digest rows.Digest
}

// run copies the rows of the bin.
func (c *copier) run() (*rewritten, error) { return c.into(c.snap) }

// into copies them into files for a definition whose columns are those of the table, by name and type.
func (c *copier) into(to *delta.Snapshot) (*rewritten, error) {
	c.digests = plan.DigestsOf(c.snap)
	slices.SortStableFunc(c.bin.files, func(a, b *delta.Add) int { // as the rows came in
		return cmp.Or(cmp.Compare(a.ModificationTime, b.ModificationTime), strings.Compare(a.Key, b.Key))
	})
	var err error
	if c.set, err = plan.NewFileSet(c.ctx, c.env, to, plan.CopiedRows); err != nil {
		return nil, err
	}
	var read tally
	if c.order == nil {
		read, err = c.copy()
	} else {
		read, err = c.sort()
	}
	if err != nil {
		c.set.Abort()
		return nil, err
	}
	adds, err := c.set.Finish()
	if err != nil {
		return nil, err
	}
	if err := conserved(c.bin, read, tally{c.set.Rows(), c.set.Digest()}); err != nil {
		c.set.Abort()
		return nil, err
	}
	return &rewritten{bin: c.bin, adds: adds, rows: read.rows}, nil
}

func (c *copier) copy() (tally, error) {
	return c.each(c.set.Write)
}

// each hands over every live row of the bin, and tells what they were.
func (c *copier) each(take func(arrow.RecordBatch) error) (tally, error) {
	var sum tally
	for _, f := range c.bin.files {
		own, err := c.file(f, take)
		if err != nil {
			return sum, err
		}
		if err := c.verify(f, own); err != nil {
			return sum, err
		}
		sum.rows, sum.digest = sum.rows+own.rows, sum.digest.Add(own.digest)
	}
	return sum, nil
}

func (c *copier) file(f *delta.Add, take func(arrow.RecordBatch) error) (tally, error) {
	var sum tally
	for piece, err := range c.live(f, nil) {
		if err != nil {
			return sum, err
		}
		d, err := c.digest(piece.Batch)
		if err != nil {
			return sum, fmt.Errorf("file %s: %w", f.Path, err)
		}
		sum.rows, sum.digest = sum.rows+piece.Batch.NumRows(), sum.digest.Add(d)
		if err := take(piece.Batch); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (c *copier) live(f *delta.Add, columns []string) iter.Seq2[scan.Piece, error] {
	return scan.Live(c.ctx, c.env.Table(c.snap), f, columns, scan.LiveOptions{RowIDs: columns == nil && c.snap.TracksRows()})
}

// digest is that of the table's columns, which come first.
func (c *copier) digest(batch arrow.RecordBatch) (rows.Digest, error) {
	table := c.snap.ArrowSchema()
	own := array.NewRecordBatch(table, batch.Columns()[:table.NumFields()], batch.NumRows())
	defer own.Release()
	return rows.DigestRows(own, nil)
}

// verify holds what was read against what the log says of a file: a damaged file is not to be copied
// into a sound one.
func (c *copier) verify(f *delta.Add, read tally) error {
	if n, d, ok := c.digests.Of(f); ok && (tally{n, d}) != read {
		return fmt.Errorf("%w: %s holds other rows than its tag %s says (%d rows against %d): the commit was not made", delta.ErrCorrupt, f.Path, plan.TagName, read.rows, n)
	}
	live, ok := delta.NumRecords(f.Stats)
	if !ok {
		return nil
	}
	if f.DeletionVector != nil {
		live -= f.DeletionVector.Cardinality
	}
	if live != read.rows {
		return fmt.Errorf("%w: %s holds %d rows, by the log it has %d: the commit was not made", delta.ErrCorrupt, f.Path, read.rows, live)
	}
	return nil
}

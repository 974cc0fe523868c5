package parquetio

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// defaultBatchRows is the number of rows of a batch.
const defaultBatchRows = 64 << 10

// The window through which a column chunk is read: 4 MiB, less if many columns are read side by side.
const (
	maxWindow  = 4 << 20
	minWindow  = 64 << 10
	windowsSum = 64 << 20
)

// Open reads a file's footer and checks it against the limits of this package.
func (Parquet) Open(ctx context.Context, src Source, o ReadOptions) (Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &reader{src: src, rows: o.BatchRows, exact: o.Exact, byID: o.ByID, skip: o.Skip, mem: o.Allocator}
	if r.rows <= 0 {
		r.rows = defaultBatchRows
	}
	if r.mem == nil {
		r.mem = memory.DefaultAllocator
	}
	err := guard(src.Name(), func() (err error) {
		r.footer, err = readFooter(src)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// guard runs f and turns a panic into an error about a damaged file: whatever a library trips over, it is the bytes.
func guard(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s cannot be decoded: %v", delta.ErrCorrupt, name, p)
		}
	}()
	return f()
}

type reader struct {
	src    Source
	footer *footer
	rows   int
	exact  bool
	byID   bool
	skip   func(first, n int64) bool
	mem    memory.Allocator
	closed bool
}

func (r *reader) NumRows() int64 { return r.footer.rows }

func (r *reader) Close() error {
	r.closed = true
	return nil
}

func (r *reader) Batches(ctx context.Context, want *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if r.closed {
			yield(nil, fmt.Errorf("read %s: the reader is closed", r.src.Name()))
			return
		}
		pl := planner{name: r.src.Name(), exact: r.exact, byID: r.byID, days: &r.footer.days, used: map[int]bool{}}
		plans, err := pl.columns(r.footer.root, want)
		if err != nil {
			yield(nil, err)
			return
		}
		for i, first := 0, int64(0); i < len(r.footer.groups); i++ {
			n := r.footer.groups[i].rows
			first += n
			if r.skip != nil && r.skip(first-n, n) {
				continue
			}
			g := groupReader{reader: r, want: want, plans: plans, index: i, group: r.footer.groups[i]}
			if !g.run(ctx, pl.used, yield) {
				return
			}
		}
	}
}

// groupReader reads a row group.
type groupReader struct {
	*reader
	want  *arrow.Schema
	plans []*plan
	index int
	group rowGroup
	asm   assembler
	order []*leafReader
	done  int64
}

// run yields the batches of the row group. It is false if the sequence is to end.
func (g *groupReader) run(ctx context.Context, used map[int]bool, yield func(arrow.RecordBatch, error) bool) bool {
	if g.group.rows == 0 {
		return true
	}
	for started := false; g.done < g.group.rows; started = true {
		var batch arrow.RecordBatch
		err := ctx.Err()
		if err == nil {
			err = guard(g.src.Name(), func() (err error) {
				if !started {
					if err = g.open(used); err != nil {
						return err
					}
				}
				batch, err = g.next()
				return err
			})
			err = g.explain(err)
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		more := yield(batch, nil)
		batch.Release()
		if !more {
			return false
		}
	}
	return true
}

// explain says where a file is damaged. Errors of the store and of features stay what they are.
func (g *groupReader) explain(err error) error {
	var read *readError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &read):
		return read.err
	case errors.Is(err, delta.ErrCorrupt), errors.Is(err, delta.ErrUnsupported), errors.Is(err, delta.ErrInput):
		return fmt.Errorf("read %s, row group %d: %w", g.src.Name(), g.index, err)
	}
	return fmt.Errorf("%w: %s, row group %d: %w", delta.ErrCorrupt, g.src.Name(), g.index, err)
}

func (g *groupReader) open(used map[int]bool) error {
	g.asm = assembler{mem: g.mem, leaves: make(map[int]*leafReader, len(used))}
	n := max(1, len(used))
	budget := max(1<<20, batchBytes/n)
	window := min(maxWindow, max(minWindow, windowsSum/n))
	for i, col := range g.footer.leaves {
		if !used[i] {
			continue
		}
		l, err := newLeafReader(g.src, col, g.group.chunks[i], budget, window)
		if err != nil {
			return fmt.Errorf("column %s: %w", col.path(), err)
		}
		g.asm.leaves[i] = l
		g.order = append(g.order, l)
	}
	return nil
}

// next makes the next batch, of as many rows as every column can give.
func (g *groupReader) next() (arrow.RecordBatch, error) {
	n := int(min(int64(g.rows), g.group.rows-g.done))
	for _, l := range g.order {
		if err := l.fill(n); err != nil {
			return nil, fmt.Errorf("column %s: %w", l.col.path(), err)
		}
		if n = min(n, l.rows()); n == 0 {
			return nil, fmt.Errorf("column %s has fewer rows than its row group", l.col.path())
		}
	}
	for _, l := range g.order {
		l.take(n)
	}
	batch, err := g.asm.batch(g.want, g.plans, n)
	if err != nil {
		return nil, err
	}
	if g.done += int64(n); g.done == g.group.rows {
		for _, l := range g.order {
			if err := l.drained(); err != nil {
				batch.Release()
				return nil, fmt.Errorf("column %s: %w", l.col.path(), err)
			}
		}
	}
	return batch, nil
}

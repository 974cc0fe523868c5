package parquetio

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/idemtable/idem/delta"
)

const (
	// batchBytes bounds what the columns of a batch hold together; a batch has fewer rows rather than more bytes.
	batchBytes = 32 << 20
	// leafStep is how many levels of a nested column are decoded at once.
	leafStep = 32 << 10
	// rowLevels is the number of values that one row of a nested column may have, beyond the number of the file's bytes
	// and within what Arrow's offsets can count.
	rowLevels = 2 << 20
)

// leafReader decodes a column chunk into levels and values, as many whole rows as are asked for.
type leafReader struct {
	col    *node
	pages  *pageReader
	in     file.ColumnChunkReader
	vals   leafValues
	budget int // bytes to hold at most, but for the first row

	// Decoded and not yet taken. A column without levels has counts only.
	defs, reps []int16
	levels     int // decoded levels, from the start of the slices
	at         int // levels taken before
	valAt      int // values taken before
	starts     int // rows that start at or after at
	absent     int // levels at or after at without a value
	ended      bool
	begun      bool

	// What take gave.
	from, to int // levels
	k        int // values, from vals at valAt-k
}

// leafValues holds a column's decoded values that are not NULL.
type leafValues interface {
	// read decodes up to n levels within a page.
	read(in file.ColumnChunkReader, n int, defs, reps []int16) (levels, values int, err error)
	drop(n int) // forgets the first n values
	bytes() int
}

func newLeafReader(src Source, col *node, c chunk, budget, window int) (*leafReader, error) {
	if err := checkCodec(c.codec); err != nil {
		return nil, err
	}
	descr, err := col.column()
	if err != nil {
		return nil, err
	}
	p := &pageReader{
		in:    &chunkInput{src: src, pos: c.off, end: c.off + c.size, window: window},
		col:   col,
		codec: c.codec,
		left:  c.values,
	}
	l := &leafReader{col: col, pages: p, budget: budget, vals: newLeafValues(col)}
	// The constructor is marked as not for use outside of the library, because its caller must keep the pages' bytes
	// alive while values alias them. leafValues copies them before it asks for the next page. The library has no other
	// one that takes pages from its caller: that of a row group reads them by itself, unchecked.
	//lint:ignore SA1019 see above
	l.in = file.NewColumnReader(descr, p, memory.DefaultAllocator, nil)
	return l, nil
}

// rows is the number of whole rows that can be taken.
func (l *leafReader) rows() int {
	if l.col.rev == 0 || l.ended {
		return l.starts
	}
	return max(0, l.starts-1)
}

// fill decodes until need rows are there, the budget is used, or the chunk ends.
func (l *leafReader) fill(need int) error {
	l.compact()
	for l.rows() < need && !l.ended {
		if l.rows() > 0 && l.held() >= l.budget {
			return nil
		}
		if int64(l.levels) > min(rowLevels+l.pages.in.src.Size(), math.MaxInt32) && l.rows() == 0 {
			return fmt.Errorf("%w: a row with more than %d values of one column", delta.ErrUnsupported, l.levels)
		}
		if !l.in.HasNext() {
			l.ended = true
			return l.in.Err()
		}
		step := need - l.rows()
		if l.col.rev > 0 {
			step = leafStep
		}
		step = min(step, int(l.pages.page.NumValues())) // no more is read at once
		if l.pages.longest > 0 {
			step = min(step, max(1, l.budget/l.pages.longest))
		}
		if err := l.decode(step); err != nil {
			return err
		}
	}
	return nil
}

func (l *leafReader) held() int { return l.vals.bytes() + 2*(len(l.defs)+len(l.reps)) }

// decode decodes up to n levels and checks them.
func (l *leafReader) decode(n int) error {
	var defs, reps []int16
	if l.col.def > 0 {
		l.defs = slices.Grow(l.defs, n)
		defs = l.defs[l.levels : l.levels+n]
	}
	if l.col.rev > 0 {
		l.reps = slices.Grow(l.reps, n)
		reps = l.reps[l.levels : l.levels+n]
	}
	levels, values, err := l.vals.read(l.in, n, defs, reps)
	if err != nil {
		return err
	}
	if levels <= 0 || levels > n {
		return fmt.Errorf("a page ends before its values")
	}
	present := levels
	if defs != nil {
		if present, err = countLevels(defs[:levels], l.col.def); err != nil {
			return err
		}
		l.defs = l.defs[:l.levels+levels]
	}
	if values != present {
		return fmt.Errorf("a page with %d values where its levels say %d", values, present)
	}
	starts := levels
	if reps != nil {
		if starts, err = l.countStarts(reps[:levels]); err != nil {
			return err
		}
		l.reps = l.reps[:l.levels+levels]
	}
	l.levels += levels
	l.starts += starts
	l.absent += levels - present
	l.begun = true
	return nil
}

// countLevels counts the levels that are top and refuses greater ones.
func countLevels(levels []int16, top int16) (n int, err error) {
	for _, v := range levels {
		if v >= top {
			if v > top {
				return 0, fmt.Errorf("a definition level of %d where %d is the greatest", v, top)
			}
			n++
		}
	}
	return n, nil
}

func (l *leafReader) countStarts(reps []int16) (n int, err error) {
	if !l.begun && reps[0] != 0 {
		return 0, fmt.Errorf("the first value does not start a row")
	}
	for _, v := range reps {
		if v == 0 {
			n++
		} else if v > l.col.rev || v < 0 {
			return 0, fmt.Errorf("a repetition level of %d where %d is the greatest", v, l.col.rev)
		}
	}
	return n, nil
}

// take hands out the next n rows, which fill has decoded, as l.from, l.to and l.k.
func (l *leafReader) take(n int) {
	l.from, l.to = l.at, l.at+n
	if l.col.rev > 0 {
		l.to = l.levels
		for i, left := l.at, n; i < l.levels; i++ {
			if l.reps[i] == 0 {
				if left == 0 {
					l.to = i
					break
				}
				left--
			}
		}
	}
	l.k = l.to - l.from
	if l.absent > 0 {
		l.k, _ = countLevels(l.defs[l.from:l.to], l.col.def)
		l.absent -= l.to - l.from - l.k
	}
	l.at, l.valAt, l.starts = l.to, l.valAt+l.k, l.starts-n
}

// compact forgets what was taken.
func (l *leafReader) compact() {
	if l.at == 0 {
		return
	}
	if l.col.def > 0 {
		l.defs = l.defs[:copy(l.defs, l.defs[l.at:])]
	}
	if l.col.rev > 0 {
		l.reps = l.reps[:copy(l.reps, l.reps[l.at:])]
	}
	l.vals.drop(l.valAt)
	l.levels -= l.at
	l.at, l.valAt, l.from, l.to, l.k = 0, 0, 0, 0, 0
}

// drained is nil if all rows of the chunk have been taken.
func (l *leafReader) drained() error {
	if err := l.fill(1); err != nil {
		return err
	}
	if l.starts > 0 || l.pages.left > 0 {
		return fmt.Errorf("more rows than its row group")
	}
	return nil
}

// checkTotal refuses values beyond what Arrow's offsets can address.
func checkTotal(n int) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("values of more than 2 GiB in one batch")
	}
	return nil
}

package parquetio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/idemtable/idem/delta"
)

// sampleRows is how many rows decide whether a column gets a dictionary.
const sampleRows = 8192

// into says where a step of the way to a leaf leads.
type into int

const (
	intoLeaf into = iota
	intoField
	intoElement
	intoKey
	intoValue
)

// step is a level of nesting on the way from a column to a leaf.
type step struct {
	nullable bool
	into     into
	field    int // of a struct
}

// leafWriter writes a column of the file.
type leafWriter struct {
	column     int // of the batch
	way        []step
	put        putFunc
	dictionary bool // may have one

	// noBounds leaves the column's statistics out of the footer: the library skips NaN and overlooks
	// empty strings there, and readers that prune row groups by such bounds miss those rows. The
	// bounds of the file are in the log.
	noBounds bool

	longest int // the most values that a row had so far
	levels  int // since their number was last looked at
	values  int // of them
}

// putFunc writes the values of arr at the places idx, or all of them if idx is nil.
type putFunc func(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error

// levels are a column's values as the Dremel encoding has them. An entry whose place is negative ends above the leaf.
type levels struct {
	defs, reps []int16
	idx        []int
}

func (l *leafWriter) write(cw file.ColumnChunkWriter, arr arrow.Array) error {
	if len(l.way) == 1 && arr.NullN() == 0 {
		var defs []int16
		if l.way[0].nullable {
			defs = ones(arr.Len())
		}
		return l.put(cw, arr, nil, defs, nil)
	}
	lv, leaf, err := l.shred(arr)
	if err != nil {
		return err
	}
	l.longest = max(l.longest, lv.longestRow())
	if lv.reps == nil {
		return l.put(cw, leaf, present(lv.idx), lv.defs, nil)
	}
	for len(lv.defs) > 0 {
		part, rest := lv.cut(endWithRows(cw))
		if err := l.writeLevels(cw, leaf, part); err != nil {
			return err
		}
		lv = rest
	}
	return nil
}

// endWithRows says whether pages end with rows, as those of version 2 do.
func endWithRows(cw file.ColumnChunkWriter) bool {
	return cw.Properties().DataPageVersion() != parquet.DataPageV1
}

// partLevels are handed to the library at once. It ends a page by the size of its values alone, of which there may be
// none.
const partLevels = 1 << 19

// cut takes the first levels off, up to the next row if pages end with rows.
func (lv levels) cut(rows bool) (part, rest levels) {
	n := min(partLevels, len(lv.defs))
	for rows && n < len(lv.reps) && lv.reps[n] != 0 {
		n++
	}
	return levels{lv.defs[:n], lv.reps[:n], lv.idx[:n]}, levels{lv.defs[n:], lv.reps[n:], lv.idx[n:]}
}

// writeLevels writes a part, and ends the page where it has many levels and few values.
func (l *leafWriter) writeLevels(cw file.ColumnChunkWriter, leaf arrow.Array, lv levels) error {
	values := present(lv.idx)
	if err := l.put(cw, leaf, values, lv.defs, lv.reps); err != nil {
		return err
	}
	l.levels, l.values = l.levels+len(lv.defs), l.values+len(values)
	if l.levels < 2*partLevels {
		return nil
	}
	few := l.values < l.levels/4 || !l.dictionary
	if l.levels, l.values = 0, 0; few {
		return endPage(cw)
	}
	return nil
}

// endPage ends the page at work, if there is one. The pages of a dictionary are written with it.
func endPage(cw file.ColumnChunkWriter) error {
	cw.FallbackToPlain()
	return cw.(interface{ FlushBufferedDataPages() error }).FlushBufferedDataPages()
}

// longestRow is the number of entries of the row that has most.
func (lv *levels) longestRow() int {
	n, most := 0, min(len(lv.defs), 1)
	for _, r := range lv.reps {
		if n++; r == 0 {
			n = 1
		}
		most = max(most, n)
	}
	return most
}

// ones gives n levels of 1.
func ones(n int) []int16 {
	s := make([]int16, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// present drops the entries that end above the leaf.
func present(idx []int) []int {
	out := make([]int, 0, len(idx))
	for _, i := range idx {
		if i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// shred gives the levels of the leaf below arr and the array that its places are in.
func (l *leafWriter) shred(arr arrow.Array) (levels, arrow.Array, error) {
	lv := levels{defs: make([]int16, arr.Len()), idx: make([]int, arr.Len())}
	for i := range lv.idx {
		lv.idx[i] = i
	}
	depth := int16(0)
	for _, s := range l.way {
		if err := lv.enter(arr, s.nullable); err != nil {
			return lv, nil, err
		}
		switch s.into {
		case intoField:
			arr = arr.(*array.Struct).Field(s.field)
		case intoElement:
			list := arr.(*array.List)
			depth++
			lv = lv.unnest(list, depth)
			arr = list.ListValues()
		case intoKey, intoValue:
			m := arr.(*array.Map)
			depth++
			lv = lv.unnest(m, depth)
			arr = m.ListValues().(*array.Struct).Field(int(s.into - intoKey))
		}
	}
	if depth == 0 {
		lv.reps = nil
	}
	return lv, arr, nil
}

// enter ends the entries that are NULL and raises the level of the others. A NULL where none may be is an error.
func (lv *levels) enter(arr arrow.Array, nullable bool) error {
	anyNull := arr.NullN() > 0
	for k, i := range lv.idx {
		switch {
		case i < 0:
		case anyNull && arr.IsNull(i):
			if !nullable {
				return fmt.Errorf("%w: NULL in a column that is NOT NULL", delta.ErrInput)
			}
			lv.idx[k] = -1
		case nullable:
			lv.defs[k]++
		}
	}
	return nil
}

// unnest replaces each list by its elements; the first keeps the list's repetition level.
func (lv levels) unnest(list interface {
	ValueOffsets(int) (int64, int64)
}, depth int16) levels {
	var out levels
	for k, i := range lv.idx {
		rep := int16(0)
		if lv.reps != nil {
			rep = lv.reps[k]
		}
		from, to := int64(0), int64(0)
		if i >= 0 {
			from, to = list.ValueOffsets(i)
		}
		if from == to {
			out.add(lv.defs[k], rep, -1)
			continue
		}
		for v := from; v < to; v++ {
			out.add(lv.defs[k]+1, rep, int(v))
			rep = depth
		}
	}
	if out.reps == nil {
		out.reps = []int16{}
	}
	return out
}

func (lv *levels) add(def, rep int16, i int) {
	lv.defs, lv.reps, lv.idx = append(lv.defs, def), append(lv.reps, rep), append(lv.idx, i)
}

// repeats says whether the first rows have so few distinct values that a dictionary pays: at most a tenth.
func (l *leafWriter) repeats(batches []arrow.RecordBatch) bool {
	if !l.dictionary {
		return false
	}
	seen := map[string]struct{}{}
	values, rows := 0, int64(0)
	for _, b := range batches {
		n := min(b.NumRows(), sampleRows-rows)
		if n <= 0 {
			break
		}
		rows += n
		part := array.NewSlice(b.Column(l.column), 0, n)
		lv, leaf, err := l.shred(part)
		if err == nil {
			values += countDistinct(leaf, present(lv.idx), seen)
		}
		part.Release()
		if err != nil || len(seen) > sampleRows/10 {
			return false
		}
	}
	return len(seen) > 0 && 10*len(seen) <= values
}

// countDistinct adds the values at idx to seen until it is large, and counts them.
func countDistinct(arr arrow.Array, idx []int, seen map[string]struct{}) int {
	for k, i := range idx {
		b := valueBytes(arr, i)
		if _, ok := seen[string(b)]; ok {
			continue
		}
		if len(seen) > sampleRows/10 {
			return k
		}
		seen[string(b)] = struct{}{}
	}
	return len(idx)
}

// valueBytes gives a value's bytes as they lie in the array.
func valueBytes(arr arrow.Array, i int) []byte {
	switch a := arr.(type) {
	case *array.String:
		n := a.ValueLen(i)
		if n == 0 { // of strings without a byte there may be no buffer
			return nil
		}
		from := a.ValueOffset(i)
		return a.Data().Buffers()[2].Bytes()[from : from+n]
	case *array.Binary:
		return a.Value(i)
	}
	width := arr.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
	from := (arr.Data().Offset() + i) * width
	return arr.Data().Buffers()[1].Bytes()[from : from+width]
}

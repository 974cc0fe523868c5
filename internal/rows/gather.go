package rows

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// source is which array row n comes from.
func (g *gatherer) source(n int) int {
	if g.which == nil {
		return 0
	}
	return int(g.which[n])
}

// validity appends the validity bits, or nil if no row is NULL, and counts the NULLs.
func (g *gatherer) validity(src []arrow.Array, out *gathered) int {
	some := false
	for _, s := range src {
		some = some || s.NullN() > 0
	}
	for n := 0; n < len(g.index) && !some; n++ {
		some = g.index[n] < 0
	}
	if !some {
		out.buffers = append(out.buffers, nil)
		return 0
	}
	bits := out.buffer(int(bitBytes(int64(len(g.index)))))
	nulls := 0
	for n, i := range g.index {
		if i < 0 || src[g.source(n)].IsNull(int(i)) {
			nulls++
			continue
		}
		setBit(bits, n)
	}
	return nulls
}

func (g *gatherer) bools(src []arrow.Array, out *gathered) {
	bits := out.buffer(int(bitBytes(int64(len(g.index)))))
	for n, i := range g.index {
		if i >= 0 && src[g.source(n)].(*array.Boolean).Value(int(i)) {
			setBit(bits, n)
		}
	}
}

func (g *gatherer) fixed(t arrow.FixedWidthDataType, src []arrow.Array, out *gathered) error {
	width := t.BitWidth() / 8
	dst := out.buffer(len(g.index) * width)
	switch t.BitWidth() {
	case 8:
		gatherFixed[int8](g, src, dst)
	case 16:
		gatherFixed[int16](g, src, dst)
	case 32:
		gatherFixed[int32](g, src, dst)
	case 64:
		gatherFixed[int64](g, src, dst)
	case 128:
		gatherFixed[decimal128.Num](g, src, dst)
	default:
		return unsupported(t)
	}
	return nil
}

func gatherFixed[T int8 | int16 | int32 | int64 | decimal128.Num](g *gatherer, src []arrow.Array, dst []byte) {
	values := make([][]T, len(src))
	for k, s := range src {
		if s.Len() > 0 {
			values[k] = arrow.GetData[T](s.Data().Buffers()[1].Bytes())[s.Data().Offset():]
		}
	}
	out := arrow.GetData[T](dst)
	if g.which == nil {
		from := values[0]
		for n, i := range g.index {
			if i >= 0 {
				out[n] = from[i]
			}
		}
		return
	}
	for n, i := range g.index {
		if i >= 0 {
			out[n] = values[g.which[n]][i]
		}
	}
}

// spans are the offsets of one source of strings, lists or maps.
type spans struct {
	offs []int32
	data []byte
	arr  arrow.Array // nil if no row is NULL
}

func (s *spans) of(i int32) (lo, hi int32) {
	if i < 0 || s.arr != nil && s.arr.IsNull(int(i)) {
		return 0, 0
	}
	return s.offs[i], s.offs[i+1]
}

// offsets appends the offsets of the taken rows, and gives the sources and the end.
func (g *gatherer) offsets(src []arrow.Array, out *gathered) ([]spans, int, error) {
	from := make([]spans, len(src))
	for k, s := range src {
		if s.NullN() > 0 {
			from[k].arr = s
		}
		if s.Len() > 0 {
			from[k].offs = arrow.Int32Traits.CastFromBytes(s.Data().Buffers()[1].Bytes())[s.Data().Offset():]
		}
	}
	offs := arrow.Int32Traits.CastFromBytes(out.buffer((len(g.index) + 1) * 4))
	total := int64(0)
	for n, i := range g.index {
		lo, hi := from[g.source(n)].of(i)
		total += int64(hi - lo)
		if err := offsetOverflow(total); err != nil {
			return nil, 0, err
		}
		offs[n+1] = int32(total)
	}
	return from, int(total), nil
}

func (g *gatherer) bytes(src []arrow.Array, out *gathered) error {
	from, total, err := g.offsets(src, out)
	if err != nil {
		return err
	}
	for k, s := range src {
		if b := s.Data().Buffers()[2]; b != nil {
			from[k].data = b.Bytes()
		}
	}
	dst := out.buffer(total)
	at := 0
	for n, i := range g.index {
		s := &from[g.source(n)]
		lo, hi := s.of(i)
		at += copy(dst[at:], s.data[lo:hi])
	}
	return nil
}

func (g *gatherer) structs(src []arrow.Array, out *gathered) error {
	for f := range src[0].(*array.Struct).NumField() {
		fields := make([]arrow.Array, len(src))
		for k, s := range src {
			fields[k] = s.(*array.Struct).Field(f)
		}
		child, err := g.data(fields)
		if err != nil {
			return err
		}
		out.children = append(out.children, child)
	}
	return nil
}

// lists takes lists, and maps, which are lists of entries.
func (g *gatherer) lists(src []arrow.Array, out *gathered) error {
	from, total, err := g.offsets(src, out)
	if err != nil {
		return err
	}
	child := gatherer{mem: g.mem, index: make([]int32, 0, total)}
	if g.which != nil {
		child.which = make([]int32, 0, total)
	}
	for n, i := range g.index {
		k := g.source(n)
		lo, hi := from[k].of(i)
		for ; lo < hi; lo++ {
			child.index = append(child.index, lo)
			if g.which != nil {
				child.which = append(child.which, int32(k))
			}
		}
	}
	values := make([]arrow.Array, len(src))
	for k, s := range src {
		values[k] = s.(array.ListLike).ListValues()
	}
	data, err := child.data(values)
	if err != nil {
		return err
	}
	out.children = append(out.children, data)
	return nil
}

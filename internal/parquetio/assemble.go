package parquetio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// assembler makes the arrays of a batch from what the column readers decoded.
type assembler struct {
	mem     memory.Allocator
	leaves  map[int]*leafReader
	buffers []*memory.Buffer
	data    []arrow.ArrayData
}

// release gives up what the assembler holds; arrays made from it keep their own references.
func (a *assembler) release() {
	for _, d := range a.data {
		d.Release()
	}
	for _, b := range a.buffers {
		b.Release()
	}
	a.data, a.buffers = a.data[:0], a.buffers[:0]
}

// batch makes a record batch of n rows.
func (a *assembler) batch(want *arrow.Schema, plans []*plan, n int) (arrow.RecordBatch, error) {
	defer a.release()
	cols := make([]arrow.Array, 0, len(plans))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, p := range plans {
		d, err := a.build(p, n)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", want.Field(i).Name, err)
		}
		cols = append(cols, array.MakeFromData(d))
	}
	return array.NewRecordBatch(want, cols, int64(n)), nil
}

// buffer gives a buffer of n bytes, not cleared.
func (a *assembler) buffer(n int) *memory.Buffer {
	b := memory.NewResizableBuffer(a.mem)
	a.buffers = append(a.buffers, b)
	b.Resize(n)
	return b
}

func (a *assembler) keep(d arrow.ArrayData) arrow.ArrayData {
	a.data = append(a.data, d)
	return d
}

// build makes the n slots of a plan.
func (a *assembler) build(p *plan, n int) (arrow.ArrayData, error) {
	switch {
	case p.file == nil:
		return a.nulls(p.want, n)
	case p.shredded != nil:
		return a.variant(p, n)
	}
	valid, nulls, err := a.validity(p, n)
	if err != nil {
		return nil, err
	}
	switch {
	case p.convert != nil:
		return a.leaf(p, n, valid, nulls)
	case p.item != nil:
		return a.list(p, n, valid, nulls)
	}
	children := make([]arrow.ArrayData, len(p.children))
	for i, c := range p.children {
		if children[i], err = a.build(c, n); err != nil {
			return nil, fmt.Errorf("field %s: %w", p.want.(*arrow.StructType).Field(i).Name, err)
		}
	}
	return a.keep(array.NewData(p.want, n, []*memory.Buffer{valid}, children, nulls, 0)), nil
}

func (a *assembler) nulls(t arrow.DataType, n int) (arrow.ArrayData, error) {
	arr := array.MakeArrayOfNull(a.mem, t, n)
	defer arr.Release()
	arr.Data().Retain()
	return a.keep(arr.Data()), nil
}

// validity says which slots are not NULL. The buffer is nil if all are.
func (a *assembler) validity(p *plan, n int) (*memory.Buffer, int, error) {
	l := a.leaves[p.level.leaf]
	if p.level.def == 0 { // without levels nothing is NULL and nothing repeats
		return nil, 0, checkSlots(l.to-l.from, n)
	}
	defs := l.defs[l.from:l.to]
	if p.slotDef == 0 && p.level.rev == 0 && p.convert != nil && l.k == len(defs) {
		return nil, 0, checkSlots(len(defs), n)
	}
	buf := a.buffer((n + 7) / 8)
	bits := buf.Bytes()
	clear(bits)
	i, set := 0, 0
	for k, d := range defs {
		if d < p.slotDef || p.level.rev > p.slotRev && l.reps[l.from+k] > p.slotRev {
			continue
		}
		if i >= n {
			return nil, 0, checkSlots(i+1, n)
		}
		if d >= p.validDef {
			bits[i>>3] |= 1 << (i & 7)
			set++
		}
		i++
	}
	if set == n {
		buf = nil
	}
	return buf, n - set, checkSlots(i, n)
}

func checkSlots(got, want int) error {
	if got != want {
		return fmt.Errorf("%d values where the columns beside it have %d", got, want)
	}
	return nil
}

func (a *assembler) leaf(p *plan, n int, valid *memory.Buffer, nulls int) (arrow.ArrayData, error) {
	l := a.leaves[p.file.leaf]
	if l.k != n-nulls {
		return nil, checkSlots(l.k, n-nulls)
	}
	var bits []byte
	if valid != nil {
		bits = valid.Bytes()
	}
	bufs, err := p.convert(a, l, n, bits)
	if err != nil {
		return nil, err
	}
	return a.keep(array.NewData(p.want, n, append([]*memory.Buffer{valid}, bufs...), nil, nulls, 0)), nil
}

// list makes a list or a map.
func (a *assembler) list(p *plan, n int, valid *memory.Buffer, nulls int) (arrow.ArrayData, error) {
	offsets, count, err := a.offsets(p, n)
	if err != nil {
		return nil, err
	}
	children := make([]arrow.ArrayData, len(p.children))
	for i, c := range p.children {
		if children[i], err = a.build(c, count); err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
	}
	child := children[0]
	if m, ok := p.want.(*arrow.MapType); ok {
		if children[0].NullN() > 0 {
			return nil, fmt.Errorf("a map with a NULL key")
		}
		child = a.keep(array.NewData(m.Elem(), count, []*memory.Buffer{nil}, children, 0, 0))
	}
	return a.keep(array.NewData(p.want, n, []*memory.Buffer{valid, offsets}, []arrow.ArrayData{child}, nulls, 0)), nil
}

// offsets counts the elements of each slot of a list.
func (a *assembler) offsets(p *plan, n int) (*memory.Buffer, int, error) {
	l := a.leaves[p.level.leaf]
	buf := a.buffer(4 * (n + 1))
	out := arrow.Int32Traits.CastFromBytes(buf.Bytes())
	slot, count := -1, 0
	for k := l.from; k < l.to; k++ {
		rep, def := l.reps[k], l.defs[k]
		switch {
		case rep > p.item.rev || def < p.slotDef:
			continue
		case rep < p.item.rev:
			if slot++; slot >= n {
				return nil, 0, checkSlots(slot+1, n)
			}
			out[slot] = int32(count)
			if def >= p.item.def {
				count++
			}
		case slot < 0 || def < p.item.def:
			return nil, 0, fmt.Errorf("a list that goes on before it starts")
		default:
			count++
		}
	}
	if err := checkSlots(slot+1, n); err != nil {
		return nil, 0, err
	}
	out[n] = int32(count)
	return buf, count, nil
}

package pred

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// Eval gives TRUE, FALSE or NULL a row. The batch holds the predicate's columns under the names of
// the bound schema, in any order, perhaps beside others. The caller releases the result.
func (p *Predicate) Eval(mem memory.Allocator, batch arrow.RecordBatch) (*array.Boolean, error) {
	m := &machine{mem: mem, rows: int(batch.NumRows()), columns: map[int]arrow.Array{}}
	m.size = (m.rows + 7) / 8
	for _, c := range p.columns {
		name, t := p.schema.Field(c).Name, p.schema.Field(c).Type
		found := batch.Schema().FieldIndices(name)
		if len(found) != 1 {
			return nil, fmt.Errorf("evaluate %s: the rows have %d columns named %q: %w", p, len(found), name, delta.ErrInput)
		}
		arr := batch.Column(found[0])
		if !arrow.TypeEqual(arr.DataType(), t) {
			return nil, fmt.Errorf("evaluate %s: column %q of the rows is %s, not %s: %w", p, name, arr.DataType(), t, delta.ErrInput)
		}
		m.columns[c] = arr
	}
	defer m.close()
	return m.result(p.root.eval(m)), nil
}

// mask holds a bit a row for TRUE and one for FALSE; a row with neither is NULL. Bits behind the
// last row mean nothing.
type mask struct{ t, f []byte }

// machine is one evaluation: the columns and the bitmaps in use.
type machine struct {
	mem     memory.Allocator
	columns map[int]arrow.Array
	rows    int
	size    int // bytes of a bitmap that are used
	all     [][]byte
	idle    [][]byte
}

// bitmap takes a bitmap of any content.
func (m *machine) bitmap() []byte {
	if n := len(m.idle); n > 0 {
		b := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return b[:m.size]
	}
	b := m.mem.Allocate(max(64, int(bitutil.CeilByte64(int64(m.rows))/8)))
	m.all = append(m.all, b)
	return b[:m.size]
}

func (m *machine) mask() mask { return mask{m.bitmap(), m.bitmap()} }

func (m *machine) give(bitmaps ...[]byte) { m.idle = append(m.idle, bitmaps...) }

func (m *machine) close() {
	for _, b := range m.all {
		m.mem.Free(b)
	}
}

// keep takes a bitmap out of the machine: it is the result's.
func (m *machine) keep(b []byte) *memory.Buffer {
	for i, own := range m.all {
		if &own[0] == &b[:1][0] {
			m.all = append(m.all[:i], m.all[i+1:]...)
			clear(own[m.size:])
			return memory.NewBufferWithAllocator(own, m.mem)
		}
	}
	return nil
}

func (m *machine) result(r mask) *array.Boolean {
	for i := range r.f {
		r.f[i] |= r.t[i] // what is known
	}
	if rest := m.rows % 8; rest != 0 {
		r.t[m.size-1] &= 1<<rest - 1
		r.f[m.size-1] &= 1<<rest - 1
	}
	nulls := m.rows - bitutil.CountSetBits(r.f, 0, m.rows)
	values := m.keep(r.t)
	defer values.Release()
	var known *memory.Buffer
	if nulls > 0 {
		known = m.keep(r.f)
		defer known.Release()
	}
	return array.NewBoolean(m.rows, values, known, nulls)
}

// load finds an operand's values. valid has a bit for each row that is not NULL, nil if none is;
// the caller gives it back.
func (m *machine) load(op *operand) (arr arrow.Array, valid []byte) {
	arr = m.columns[op.column]
	valid = m.valid(arr, nil)
	for _, f := range op.fields {
		arr = arr.(*array.Struct).Field(f)
		valid = m.valid(arr, valid)
	}
	return arr, valid
}

// valid joins the validity of an array with that of the structs around it.
func (m *machine) valid(arr arrow.Array, outer []byte) []byte {
	if arr.NullN() == 0 {
		return outer
	}
	own := m.bitmap()
	if bits := arr.NullBitmapBytes(); len(bits) > 0 {
		bitutil.CopyBitmap(bits, arr.Data().Offset(), m.rows, own, 0)
	} else {
		clear(own) // a column of the type null has no bitmap
	}
	if outer != nil {
		for i := range own {
			own[i] &= outer[i]
		}
		m.give(outer)
	}
	return own
}

func (n constant) eval(m *machine) mask {
	r := m.mask()
	fill(r.t, n.is == yes)
	fill(r.f, n.is == no)
	return r
}

func (n *leaf) eval(m *machine) mask {
	arr, valid := m.load(n.op)
	r := m.mask()
	in := r.t
	if n.in == n.out {
		clear(in)
	} else {
		n.match.bits(in, arr)
	}
	inT, outT, nullT := spread(n.in, yes), spread(n.out, yes), spread(n.null, yes)
	inF, outF, nullF := spread(n.in, no), spread(n.out, no), spread(n.null, no)
	for i, x := range in {
		v := byte(0xff)
		if valid != nil {
			v = valid[i]
		}
		r.t[i] = v&(x&inT|^x&outT) | ^v&nullT
		r.f[i] = v&(x&inF|^x&outF) | ^v&nullF
	}
	if valid != nil {
		m.give(valid)
	}
	return r
}

// spread is all ones if t is the value.
func spread(t, value truth) byte { return -bit(t == value) }

func (n *junction) eval(m *machine) mask {
	r := n.list[0].eval(m)
	for _, x := range n.list[1:] {
		s := x.eval(m)
		both, either, andBits, orBits := r.t, r.f, s.t, s.f
		if !n.and {
			both, either, andBits, orBits = r.f, r.t, s.f, s.t
		}
		for i := range both {
			both[i] &= andBits[i]
			either[i] |= orBits[i]
		}
		m.give(s.t, s.f)
	}
	return r
}

func (n *mapped) eval(m *machine) mask {
	r := n.x.eval(m)
	var toT, toF [3]byte
	for i, t := range n.to {
		toT[i], toF[i] = spread(t, yes), spread(t, no)
	}
	for i := range r.t {
		t, f := r.t[i], r.f[i]
		u := ^(t | f)
		r.t[i] = t&toT[0] | f&toT[1] | u&toT[2]
		r.f[i] = t&toF[0] | f&toF[1] | u&toF[2]
	}
	return r
}

func (n *pair) eval(m *machine) mask {
	l, r := n.l.eval(m), n.r.eval(m)
	for i := range l.t {
		a := [3]byte{l.t[i], l.f[i], ^(l.t[i] | l.f[i])}
		b := [3]byte{r.t[i], r.f[i], ^(r.t[i] | r.f[i])}
		var t, f byte
		for x := range a {
			for y := range b {
				t |= a[x] & b[y] & spread(n.table[x][y], yes)
				f |= a[x] & b[y] & spread(n.table[x][y], no)
			}
		}
		l.t[i], l.f[i] = t, f
	}
	m.give(r.t, r.f)
	return l
}

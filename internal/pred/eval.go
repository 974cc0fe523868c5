package pred

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// Eval gives TRUE, FALSE or NULL a row. The batch holds the predicate's columns under the names of
// the bound schema, in any order, perhaps beside others. A row in which the condition fails is a
// *RowError, the first one if there are several. The caller releases the result.
func (p *Predicate) Eval(mem memory.Allocator, batch arrow.RecordBatch) (*array.Boolean, error) {
	m, err := p.machine(mem, batch)
	if err != nil {
		return nil, err
	}
	defer m.close()
	r := p.root.eval(m)
	if err := m.failed(p.tree, r.errs); err != nil {
		return nil, err
	}
	return m.result(r), nil
}

// machine finds the columns in a batch.
func (b *binding) machine(mem memory.Allocator, batch arrow.RecordBatch) (*machine, error) {
	m := newMachine(mem, int(batch.NumRows()))
	for _, c := range b.columns {
		name, t := b.schema.Field(c).Name, b.schema.Field(c).Type
		found := batch.Schema().FieldIndices(name)
		if len(found) != 1 {
			return nil, fmt.Errorf("evaluate %s: the rows have %d columns named %q: %w", b.tree, len(found), name, delta.ErrInput)
		}
		arr := batch.Column(found[0])
		if !arrow.TypeEqual(arr.DataType(), t) {
			return nil, fmt.Errorf("evaluate %s: column %q of the rows is %s, not %s: %w", b.tree, name, arr.DataType(), t, delta.ErrInput)
		}
		m.columns[c] = arr
	}
	return m, nil
}

// mask holds a bit a row for TRUE and one for FALSE; a row with neither is NULL. Bits behind the last
// row, and those of rows that failed, mean nothing.
type mask struct {
	t, f []byte
	errs failures
}

// machine is one evaluation: the columns and the bitmaps in use.
type machine struct {
	mem     memory.Allocator
	columns map[int]arrow.Array
	rows    int
	size    int // bytes of a bitmap that are used
	all     [][]byte
	idle    [][]byte
	live    []byte // the rows whose values are asked for; nil is all
	memo    map[*operand]computed
	err     error // why the whole batch has no values
}

func newMachine(mem memory.Allocator, rows int) *machine {
	return &machine{mem: mem, rows: rows, size: (rows + 7) / 8, columns: map[int]arrow.Array{}}
}

// failed is the error of an evaluation.
func (m *machine) failed(e expr.Expr, errs failures) error {
	switch {
	case m.err != nil:
		return fmt.Errorf("evaluate %s: %w: %w", e, m.err, delta.ErrInput)
	case len(errs) > 0:
		return errs[0].public()
	}
	return nil
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

func (m *machine) mask() mask { return mask{t: m.bitmap(), f: m.bitmap()} }

func (m *machine) give(bitmaps ...[]byte) { m.idle = append(m.idle, bitmaps...) }

func (m *machine) close() {
	for _, b := range m.all {
		m.mem.Free(b)
	}
	for _, c := range m.memo {
		c.arr.Release()
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
	} else {
		m.give(r.f)
	}
	return array.NewBoolean(m.rows, values, known, nulls)
}

// loaded is an operand's values.
type loaded struct {
	arr   arrow.Array
	valid []byte // a bit for each row that is not NULL; nil if none is
	errs  failures
	own   bool // the array was computed
}

// load finds or computes an operand's values; the caller unloads them.
func (m *machine) load(op *operand) loaded {
	if op.calc == nil {
		arr, valid := m.stored(op)
		return loaded{arr: arr, valid: valid}
	}
	arr, errs := m.compute(op)
	return loaded{arr: arr, valid: m.valid(arr, nil), errs: errs, own: true}
}

func (m *machine) unload(l loaded) {
	if l.valid != nil {
		m.give(l.valid)
	}
	if l.own {
		l.arr.Release()
	}
}

// stored finds a column's values, and which rows are not NULL; the caller gives that back.
func (m *machine) stored(op *operand) (arr arrow.Array, valid []byte) {
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

// join leaves of valid, nil being all, the rows that are in with. It takes valid over.
func (m *machine) join(valid, with []byte) []byte {
	if valid == nil {
		valid = m.bitmap()
		copy(valid, with)
		return valid
	}
	for i := range valid {
		valid[i] &= with[i]
	}
	return valid
}

func (n constant) eval(m *machine) mask {
	r := m.mask()
	fill(r.t, n.is == yes)
	fill(r.f, n.is == no)
	return r
}

func (n *leaf) eval(m *machine) mask {
	l := m.load(n.op)
	r := m.mask()
	in := r.t
	if n.in == n.out {
		clear(in)
	} else {
		n.match.bits(in, l.arr)
	}
	inT, outT, nullT := spread(n.in, yes), spread(n.out, yes), spread(n.null, yes)
	inF, outF, nullF := spread(n.in, no), spread(n.out, no), spread(n.null, no)
	for i, x := range in {
		v := byte(0xff)
		if l.valid != nil {
			v = l.valid[i]
		}
		r.t[i] = v&(x&inT|^x&outT) | ^v&nullT
		r.f[i] = v&(x&inF|^x&outF) | ^v&nullF
	}
	m.unload(l)
	r.errs = l.errs
	return r
}

// spread is all ones if t is the value.
func spread(t, value truth) byte { return -bit(t == value) }

func (n *junction) eval(m *machine) mask {
	r := n.list[0].eval(m)
	for i, x := range n.list[1:] {
		if n.costly[i+1] {
			r = n.evalCostly(m, r, x)
			continue
		}
		n.join(m, r, x.eval(m))
	}
	return r
}

// join makes of two operands' masks the first that of both.
func (n *junction) join(m *machine, r, s mask) {
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

// evalCostly adds an operand that computes, for the rows alone that are not decided before: where
// an earlier operand is FALSE (of OR: TRUE) a later one may fail.
func (n *junction) evalCostly(m *machine, r mask, x node) mask {
	outer := m.live
	open := m.open(outer)
	defer func() {
		m.live = outer
		m.give(open)
	}()
	decided := r.f
	if !n.and {
		decided = r.t
	}
	for i := range open {
		open[i] &^= decided[i]
	}
	if none(open) {
		return r
	}
	m.live = open
	s := x.eval(m)
	n.join(m, r, s)
	r.errs = r.errs.and(s.errs.within(open))
	return r
}

// open is a bitmap of the rows that are asked for.
func (m *machine) open(live []byte) []byte {
	open := m.bitmap()
	if live != nil {
		copy(open, live)
		return open
	}
	fill(open, true)
	if rest := m.rows % 8; rest != 0 {
		open[m.size-1] = 1<<rest - 1
	}
	return open
}

func none(bitmap []byte) bool {
	for _, b := range bitmap {
		if b != 0 {
			return false
		}
	}
	return true
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
	if len(r.errs) > 0 {
		l.errs = l.errs.and(n.second(m, l, r.errs))
	}
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

// second are the failures of the right side that matter: where NULL on the left decides, it is not
// looked at.
func (n *pair) second(m *machine, l mask, errs failures) failures {
	if n.table[2] != tableEq[2] {
		return errs // <=> looks at both sides
	}
	known := m.bitmap()
	defer m.give(known)
	for i := range known {
		known[i] = l.t[i] | l.f[i]
	}
	return errs.within(known)
}

package pred

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Verdict is what facts about a file prove.
type Verdict int

// The verdicts.
const (
	Across  Verdict = iota // nothing is proven
	Outside                // for no row the predicate is TRUE
	Inside                 // for every row the predicate is TRUE
)

func (v Verdict) String() string {
	switch v {
	case Across:
		return "across"
	case Outside:
		return "outside"
	case Inside:
		return "inside"
	}
	return "unknown verdict"
}

// Prove never says more than the facts hold: it follows which of TRUE, FALSE, NULL and an error each
// part of the predicate can give for a row of the file. Of a file without rows both Outside and
// Inside are true; it is Outside where f.Rows says so. A row that fails is neither, but for this: a
// file that one of several conditions joined by AND excludes is Outside, whatever the others come to.
func (p *Predicate) Prove(f Facts) Verdict {
	switch possible := p.root.prove(&f); {
	case f.Rows == 0, possible&(yes|lost) == 0:
		return Outside
	case possible == yes:
		return Inside
	case possible&lost != 0 && excluded(p.root, &f), f.rows() == 0:
		return Outside
	}
	return Across
}

// excluded tells whether a part of a conjunction is TRUE for no row, nor fails.
func excluded(n node, f *Facts) bool {
	j, ok := n.(*junction)
	if !ok {
		return n.prove(f)&(yes|lost) == 0
	}
	if !j.and {
		return !slices.ContainsFunc(j.list, func(x node) bool { return !excluded(x, f) })
	}
	return slices.ContainsFunc(j.list, func(x node) bool { return excluded(x, f) })
}

func (n constant) prove(*Facts) truth { return n.is }

// prove goes from left to right, as the evaluation does: what is decided before an error stays so.
func (n *junction) prove(f *Facts) truth {
	t, decided := tableOr, yes
	if n.and {
		t, decided = tableAnd, no
	}
	possible := n.list[0].prove(f)
	for _, x := range n.list[1:] {
		if possible == decided {
			return possible
		}
		next := x.prove(f)
		possible = t.of(possible, next) | (possible|next)&lost
	}
	return possible
}

func (n *mapped) prove(f *Facts) truth {
	of := n.x.prove(f)
	possible := of & lost
	for i, t := range values3 {
		if of&t != 0 {
			possible |= n.to[i]
		}
	}
	return possible
}

func (n *pair) prove(f *Facts) truth {
	l, r := n.l.prove(f), n.r.prove(f)
	return n.table.of(l, r) | (l|r)&lost
}

// decide evaluates a condition that computes, if each of its columns has one value in the file.
func (f *Facts) decide(n node) truth {
	m := newMachine(memory.DefaultAllocator, 1)
	known := true
	n.operands(func(op *operand) {
		if _, ok := m.columns[op.column]; ok || !known {
			return
		}
		s, ok := f.only(op)
		if known = ok; !ok {
			return
		}
		if arr, err := scalar.MakeArrayFromScalar(s, 1, m.mem); err == nil {
			m.columns[op.column] = arr
			return
		}
		known = false
	})
	defer func() {
		m.close()
		for _, arr := range m.columns {
			arr.Release()
		}
	}()
	if !known {
		return anything
	}
	r := n.eval(m)
	switch {
	case m.err != nil:
		return anything
	case len(r.errs) > 0:
		return lost
	}
	return r.at(0)
}

// only is the one value that a column has in each row of the file, if that is known.
func (f *Facts) only(op *operand) (scalar.Scalar, bool) {
	if len(op.fields) > 0 {
		return nil, false
	}
	c, ok := f.column(op.path)
	switch {
	case !ok:
		return nil, false
	case c.AllNull, c.Nulls > 0 && c.Nulls == f.rows():
		return scalar.MakeNullScalar(op.base), true
	case c.Min == nil || !c.Min.IsValid() || !arrow.TypeEqual(c.Min.DataType(), op.base):
		return nil, false
	case c.Exact:
		return c.Min, true
	}
	return c.Min, c.Nulls == 0 && kept(op.stored) && c.Max != nil && scalar.Equals(c.Min, c.Max)
}

// kept says whether statistics hold the bounds of a type as they are: those of strings and
// timestamps are cut, floats have NaN beyond them, and decimals may have gone through a double.
func kept(t sqlType) bool {
	return t.kind == kindInt || t.kind == kindDate || t.kind == kindDecimal && t.precision <= 15
}

func (n *leaf) prove(f *Facts) truth {
	if n.op.calc == nil {
		return n.among(f.reach(n.op))
	}
	if t := f.decide(n); t != anything {
		return t
	}
	if r, ok := f.risen(n.op); ok {
		return n.among(r)
	}
	return anything
}

// among is what the test gives for what a reach leaves open.
func (n *leaf) among(r reach) truth {
	var possible truth
	if r.nulls {
		possible |= n.null
	}
	if r.values {
		inside, outside := n.set.probe(r.lo, r.end)
		if inside {
			possible |= n.in
		}
		if outside {
			possible |= n.out
		}
	}
	return possible
}

func (n *versus) prove(f *Facts) truth {
	if n.l.calc != nil || n.r.calc != nil {
		return f.decide(n)
	}
	l, r := f.reach(n.l), f.reach(n.r)
	var possible truth
	if l.nulls && r.nulls {
		possible |= n.both
	}
	if l.nulls && r.values || l.values && r.nulls {
		possible |= n.one
	}
	if !l.values || !r.values {
		return possible
	}
	if n.l.asDay {
		l = l.days()
	}
	if n.r.asDay {
		r = r.days()
	}
	if n.l.measure() != n.r.measure() {
		return possible | n.lt | n.eq | n.gt // their keys have no common measure
	}
	if r.end.beyond || l.lo.compare(r.end.before()) < 0 {
		possible |= n.lt
	}
	if l.end.beyond || l.end.before().compare(r.lo) > 0 {
		possible |= n.gt
	}
	if (r.end.beyond || l.lo.compare(r.end.key) < 0) && (l.end.beyond || r.lo.compare(l.end.key) < 0) {
		possible |= n.eq
	}
	return possible
}

// measure is what the keys of an operand count: two operands of one measure compare by key.
func (op *operand) measure() sqlType {
	switch {
	case op.asDay || op.stored.kind == kindDate:
		return sqlType{kind: kindDate}
	case op.stored.micros():
		return sqlType{kind: kindTimestamp}
	}
	return sqlType{kind: op.stored.kind, scale: op.stored.scale}
}

// reach is what the facts leave open for an operand's rows: NULLs, values from lo up to end, end
// excluded.
type reach struct {
	nulls, values bool
	lo            key
	end           bound
}

func (f *Facts) reach(op *operand) reach {
	open := reach{nulls: true, values: true, lo: least(op.stored), end: beyond}
	c, ok := f.column(op.path)
	if !ok {
		return open
	}
	if c.AllNull {
		return reach{nulls: true}
	}
	if c.Nulls == 0 {
		open.nulls = false
	}
	if c.Nulls > 0 && c.Nulls == f.rows() {
		return reach{nulls: true}
	}
	return open.within(op.stored, c)
}

// within narrows the values to the bounds that are known. Bounds of another type, or in the wrong
// order, are none.
func (r reach) within(t sqlType, c ColumnFacts) reach {
	lo, errLo := datumOf(c.Min)
	hi, errHi := datumOf(c.Max)
	narrow := r
	if errLo == nil && usable(t, lo, c.Exact) {
		if ge, _ := cut(t, lo); !ge.beyond {
			narrow.lo = ge.key
		}
	}
	if errHi == nil && usable(t, hi, c.Exact) && (t.kind != kindFloat || c.Exact) {
		_, narrow.end = cut(t, hi)
	}
	if !narrow.end.beyond && narrow.lo.compare(narrow.end.key) >= 0 {
		return r
	}
	return narrow
}

// usable tells whether a bound says something about a column: NaN as a statistic does not, since
// writers disagree on it.
func usable(t sqlType, v datum, exact bool) bool {
	return v.kind == t.kind && v.kind != kindNull && v.kind != kindOther && (exact || v.f == v.f)
}

// days gives what a reach of microseconds leaves open for the days of its values.
func (r reach) days() reach {
	r.lo = intKey(floorDiv(int64(r.lo.n.LowBits()), microsADay))
	if !r.end.beyond {
		r.end = after(floorDiv(int64(r.end.before().n.LowBits()), microsADay))
	}
	return r
}

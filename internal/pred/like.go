package pred

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
)

// like binds LIKE and ILIKE. What begins with a text is in a range of strings: a constant pattern
// that is a text, or a text and %, is tested by that alone, and one that begins with a text is
// tested by it too, so that files are pruned.
func (b *binder) like(e *expr.Like) (term, error) {
	list, err := b.terms(e.X, e.Pattern)
	if err != nil {
		return term{}, err
	}
	name, args := "like", list
	if e.Fold {
		name = "ilike"
	}
	escape := e.Escape
	if escape == 0 {
		escape = '\\'
	} else {
		args = append(args, textTerm(e, string(escape)))
	}
	t, err := b.apply(e, name, args)
	if err != nil {
		return term{}, err
	}
	n, err := t.condition()
	if err != nil {
		return term{}, err
	}
	if !e.Fold {
		n = inRange(n, list[0], list[1], escape)
	}
	if e.Negated {
		n = n.negate()
	}
	return term{expr: e, node: n}, nil
}

// textTerm is a constant string.
func textTerm(e expr.Expr, s string) term {
	return term{expr: e, constant: &datum{sqlType: sqlType{kind: kindString}, s: s}, of: arrow.BinaryTypes.String}
}

// inRange makes of a LIKE the test of a range of strings, or adds one to it.
func inRange(n node, x, pattern term, escape rune) node {
	if x.op == nil || x.op.typ.kind != kindString || pattern.constant == nil || pattern.isNull() {
		return n
	}
	prefix, rest := prefixOf(pattern.constant.s, escape)
	within := newLeaf(x.op, beginning(prefix), yes, no, null)
	switch {
	case rest == "":
		return newLeaf(x.op, from(cut(x.op.typ, datum{sqlType: x.op.typ, s: prefix})), yes, no, null)
	case strings.Trim(rest, "%") == "":
		return within
	case prefix != "" && x.op.calc == nil:
		return newJunction(true, within, n)
	}
	return n
}

// rangeTest makes a test of a range of startswith with a constant text, and of isnan; nil if it is
// none of them.
func rangeTest(name string, args []term) node {
	switch {
	case name == "isnan" && len(args) == 1 && args[0].op != nil && args[0].op.stored.kind == kindFloat:
		return newLeaf(args[0].op, from(at(floatKey(math.NaN())), beyond), yes, no, no)
	case name == "startswith" && len(args) == 2 && args[0].op != nil && args[0].op.typ.kind == kindString &&
		args[1].constant != nil && args[1].constant.kind == kindString:
		return newLeaf(args[0].op, beginning(args[1].constant.s), yes, no, null)
	}
	return nil
}

// prefixOf is the text that a pattern begins with, and what follows it.
func prefixOf(pattern string, escape rune) (prefix, rest string) {
	for pattern != "" {
		r, n := utf8.DecodeRuneInString(pattern)
		if r != escape && (r == '%' || r == '_') {
			break
		}
		if r == escape {
			pattern = pattern[n:]
			_, n = utf8.DecodeRuneInString(pattern)
		}
		prefix, pattern = prefix+pattern[:n], pattern[n:]
	}
	return prefix, pattern
}

// beginning is the set of the strings that begin with a prefix.
func beginning(prefix string) keySet {
	first := bound{key: key{s: prefix}}
	for last := len(prefix) - 1; last >= 0; last-- {
		if c := prefix[last]; c < 0xff {
			return from(first, bound{key: key{s: prefix[:last] + string([]byte{c + 1})}})
		}
	}
	return from(first, beyond)
}

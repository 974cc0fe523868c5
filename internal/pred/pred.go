// Package pred binds expressions to a schema, evaluates them over Arrow columns, and proves from
// partition values and statistics that a file is outside, inside or across a slice.
//
// Expressions mean what they mean in Spark: three truth values, NaN equal to NaN and greater than
// every number, -0.0 equal to 0.0, strings ordered by their bytes, a timestamp without a zone read
// as UTC. Numbers of different types are compared by value and without loss, but that a decimal
// and a double are compared as doubles, as Spark does. Functions, operators and casts are those of
// package function, by ANSI rules. What Spark would convert in each row, a string against a number
// above all, is refused; a constant string alone takes the type of the date, timestamp or binary
// that it meets. Functions whose value changes from run to run are refused by name.
//
// A condition becomes a tree of tests of an operand against sets of its values, joined by AND and
// OR; NOT is pushed into the tests. One set serves both the evaluation, as ranges over an array,
// and the proof, as ranges against the bounds of a file. An operand is a column, a field of a
// struct, or a computed value. A computed value is evaluated a batch at a time; constant parts are
// evaluated once, when the expression is bound.
//
// # Errors of rows
//
// An expression may have no value in a row: a division by zero, an overflow, a text that is no
// number. Such errors are kept beside the values, and count only where the value is needed. AND, OR,
// IN, BETWEEN, CASE, coalesce and their kin look from left to right, as in Spark: FALSE AND error is
// FALSE, error AND FALSE is the error; behind a NULL operators and comparisons look no further. A
// constant part that fails is such an error too. The first one that is left is a *RowError.
//
// # Proofs
//
// A proof follows which of TRUE, FALSE, NULL and an error each part of a condition can give, so that
// what it says holds under three-valued logic. Columns are bounded by partition values and
// statistics. What computes is evaluated, on one row, if each of its columns has one known value in
// the file, as partition columns have; otherwise nothing is known of it.
package pred

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
)

// Predicate is a boolean expression bound to a schema. It is immutable and safe for many
// goroutines.
type Predicate struct {
	binding
	root node
}

// Value is an expression of any type bound to a schema. It is immutable and safe for many
// goroutines.
type Value struct {
	binding
	root calc
	typ  arrow.DataType
}

// Type is the Arrow type of the values; that of NULL alone is arrow.Null.
func (v *Value) Type() arrow.DataType { return v.typ }

// binding is an expression and the schema that its columns are of.
type binding struct {
	tree    expr.Expr
	schema  *arrow.Schema
	columns []int
}

// Columns are the indexes of the top-level columns that the expression names, ascending, in the
// schema it was bound to. There are none for one such as 1 = 1.
func (b *binding) Columns() []int { return append([]int(nil), b.columns...) }

// ColumnNames are their names as the schema spells them.
func (b *binding) ColumnNames() []string {
	var names []string
	for _, c := range b.columns {
		names = append(names, b.schema.Field(c).Name)
	}
	return names
}

// String is the expression as SQL text.
func (b *binding) String() string { return b.tree.String() }

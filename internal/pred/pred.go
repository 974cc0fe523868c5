// Package pred binds expressions to a schema, evaluates them over Arrow columns, and proves from
// partition values and statistics that a file is outside, inside or across a slice.
//
// Conditions mean what they mean in Spark: three truth values, NaN equal to NaN and greater than
// every number, -0.0 equal to 0.0, strings ordered by their bytes, a timestamp without a zone read
// as UTC. Numbers of different types are compared by value and without loss, but that a decimal
// and a double are compared as doubles, as Spark does. What Spark would convert in each row, a
// string against a number above all, is refused.
//
// A condition becomes a tree of tests of a column against sets of its values, joined by AND and
// OR; NOT is pushed into the tests. One set serves both the evaluation, as ranges over an array,
// and the proof, as ranges against the bounds of a file. A proof follows which of TRUE, FALSE and
// NULL each node can give, so that what it says holds under three-valued logic.
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

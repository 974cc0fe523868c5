// Package expr is conditions and scalar expressions as a tree, with a parser of Spark SQL text and
// a typed builder that make the same tree.
//
// It is pure: a tree is data. Names and types are looked up later, when a tree is bound to a
// schema. Text and builder are equivalent: Parse("day = ?", d) and Col("day").Eq(d) are equal
// trees, and String gives text that parses to the same tree.
//
// Conditions are made of columns (a, `odd name`, a.b for a field of a struct), literals (1, 1.5BD,
// 1e3, 'text', TRUE, NULL, DATE '2026-10-20', TIMESTAMP '…', TIMESTAMP_NTZ '…', X'00ff'), arguments
// (?), = <> < <= > >= <=>, AND, OR, NOT, [NOT] IN, [NOT] BETWEEN, IS [NOT] NULL, IS [NOT] TRUE or
// FALSE, and CAST between date, timestamp, timestamp_ntz and to wider numbers. Logic is three-valued;
// NaN equals NaN and is greater than every number, as in Spark. A string literal is taken for a date,
// a timestamp or binary where it is compared with one; a string never compares with a number.
//
// Expressions have + - * / % DIV, ||, [NOT] LIKE and ILIKE, CASE, elements (x[i], m['k']), fields of
// anything (f(x).y) and calls of functions besides. What Spark has and this package lacks is refused by
// name and position: bit operators, RLIKE, subqueries, lambdas, aggregates over windows.
package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Expr is a node of a tree. Nodes are immutable.
type Expr interface {
	// String is the node as Spark SQL text that parses to an equal tree.
	String() string

	// Pos is the byte offset of the node in the text it was parsed from; -1 if it was built.
	Pos() int

	isExpr()
}

// Column names a column; more than one element names a field of a struct.
type Column struct {
	Path []string
	At   int
}

// Literal is a constant. A nil Value is NULL without a type.
type Literal struct {
	Value scalar.Scalar
	At    int
}

// Op is an operator with two operands.
type Op int

// The operators.
const (
	Eq         Op = iota // =
	Ne                   // <>
	Lt                   // <
	Le                   // <=
	Gt                   // >
	Ge                   // >=
	NullSafeEq           // <=>
	And
	Or
	Add    // +
	Sub    // -
	Mul    // *
	Div    // /
	IntDiv // DIV
	Mod    // %
)

// Binary applies Op to two operands.
type Binary struct {
	Op   Op
	L, R Expr
	At   int
}

// Not negates a condition.
type Not struct {
	X  Expr
	At int
}

// IsNull tests for NULL; Negated is IS NOT NULL.
type IsNull struct {
	X       Expr
	Negated bool
	At      int
}

// In tests for membership; Negated is NOT IN.
type In struct {
	X       Expr
	List    []Expr
	Negated bool
	At      int
}

// Between is X >= Lo AND X <= Hi; Negated is NOT BETWEEN.
type Between struct {
	X, Lo, Hi Expr
	Negated   bool
	At        int
}

// Cast converts X to a type.
type Cast struct {
	X  Expr
	To arrow.DataType
	At int
}

// Like matches X with a pattern in which % stands for any text and _ for one character. Escape is the
// character that takes the meaning from the one behind it; 0 means backslash, Spark's default. Fold
// is ILIKE, Negated is NOT LIKE.
type Like struct {
	X, Pattern    Expr
	Escape        rune
	Fold, Negated bool
	At            int
}

// When is one branch of a Case.
type When struct{ If, Then Expr }

// Case gives the value of the first branch whose condition is TRUE, or Else; a nil Else is NULL.
// With an Operand the branches hold values that it is compared with.
type Case struct {
	Operand Expr // nil in CASE WHEN
	Whens   []When
	Else    Expr
	At      int
}

// Element is X[Index]: an element of an array by its place from 0, or the value of a map by its key.
type Element struct {
	X, Index Expr
	At       int
}

// Member is (X).Name: a field of a struct that is not named by a column alone.
type Member struct {
	X    Expr
	Name string
	At   int
}

// Call applies a function by name. Which names exist is decided when the tree is bound.
type Call struct {
	Name string
	Args []Expr
	At   int
}

func (e *Column) isExpr()  {}
func (e *Literal) isExpr() {}
func (e *Binary) isExpr()  {}
func (e *Not) isExpr()     {}
func (e *IsNull) isExpr()  {}
func (e *In) isExpr()      {}
func (e *Between) isExpr() {}
func (e *Cast) isExpr()    {}
func (e *Call) isExpr()    {}
func (e *Like) isExpr()    {}
func (e *Case) isExpr()    {}
func (e *Element) isExpr() {}
func (e *Member) isExpr()  {}

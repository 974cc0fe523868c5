// Package expr is conditions and scalar expressions as a tree, with a parser of Spark SQL text and
// a typed builder that make the same tree.
//
// It is pure: a tree is data. Names, functions and types are looked up later, when a tree is bound to
// a schema. Text and builder are equivalent: Parse("price * ? > 5", n) and
// Col("price").Times(n).Gt(int32(5)) are equal trees, and String gives text that parses to the same
// tree.
//
// # Expressions
//
// The precedence is Spark's, from the tightest: x[i], x.f and x::type; signs; * / % DIV; + - ||;
// comparisons; tests (IS, IN, BETWEEN, LIKE), of which there is one at most; NOT; AND; OR.
//
//   - Columns: a, `odd name`, a.b for a field of a struct. Few words are reserved, and those of
//     operators name a column where an operator follows: like = 1.
//   - Literals: 1, 1.5BD, 1e3, -2Y, 'text', r'raw', TRUE, NULL, DATE '2026-10-20', TIMESTAMP '…',
//     TIMESTAMP_NTZ '…', X'00ff', INTERVAL '1' DAY; ? is an argument.
//   - Comparisons = <> < <= > >= <=>, logic AND, OR, NOT, tests [NOT] IN, [NOT] BETWEEN, [NOT] LIKE and
//     ILIKE with ESCAPE, IS [NOT] NULL, IS [NOT] TRUE or FALSE, IS [NOT] DISTINCT FROM. Logic is
//     three-valued; NaN equals NaN and is greater than every number, as in Spark. A string literal is
//     taken for a date, a timestamp or binary where it is compared with one; a string never compares
//     with a number.
//   - Arithmetic + - * / % DIV. A sign before a number belongs to it; -x of anything else is the
//     function negative, +x the function positive. a || b is the function concat, a RLIKE b and
//     a REGEXP b are rlike.
//   - CASE WHEN c THEN v … [ELSE v] END and CASE x WHEN v THEN r … END.
//   - CAST(x AS type) and x::type to boolean, tinyint, smallint, int, bigint, float, double,
//     decimal(p, s), string, binary, date, timestamp, timestamp_ntz, or a synonym of these.
//   - x[i], m['k'], and fields of anything: a[0].b, f(x).y, (s).y.
//   - Calls f(a, b). Which functions there are (docs/functions.md) is decided at binding.
//
// What Spark has and this package lacks is refused by name and position: the operators & | ^ ~ << >>,
// LIKE ANY, TRY_CAST, COLLATE, subqueries, lambdas, named arguments, DISTINCT and windows.
//
// # Functions with words between their arguments
//
//	EXTRACT(YEAR FROM x)              year(x); likewise quarter, month, weekofyear, day, dayofweek,
//	                                  dayofyear, hour and minute
//	EXTRACT(SECOND FROM x)            date_part('SECOND', x), which has a fraction; likewise YEAROFWEEK
//	                                  and DAYOFWEEK_ISO
//	SUBSTRING(x FROM a FOR n)         substring(x, a, n)
//	TRIM(BOTH c FROM x)               btrim(x, c)
//	TRIM(LEADING c FROM x)            ltrim(c, x): Spark's function takes the characters first
//	TRIM(TRAILING c FROM x)           rtrim(c, x)
//	TRIM(FROM x)                      trim(x); likewise ltrim(x) and rtrim(x)
//	POSITION(a IN b)                  position(a, b)
//	OVERLAY(x PLACING y FROM a FOR n) overlay(x, y, a, n)
//	DATEADD(DAY, n, x), TIMESTAMPADD  timestampadd('DAY', n, x)
//	DATEDIFF(DAY, a, b), TIMESTAMPDIFF timestampdiff('DAY', a, b); DATEDIFF(a, b) is itself
//	CURRENT_DATE, CURRENT_TIMESTAMP,  current_date() and so on, which binding refuses: they differ from
//	CURRENT_TIME, LOCALTIMESTAMP,     run to run. A column of such a name needs backticks, unlike in
//	CURRENT_USER                      Spark
//
// # Intervals
//
// An interval is an Arrow month_day_nano_interval: years and months in Months; weeks and days in Days;
// hours and below in Nanoseconds, which are whole microseconds. As in Spark it has months, or days and
// time, never both. INTERVAL 1 DAY, INTERVAL '1 day 2 hours', INTERVAL '1-2' YEAR TO MONTH and
// INTERVAL '1 02:03:04' DAY TO SECOND are read, with signs. The units that were named are not kept:
// INTERVAL '1 00:00:00' DAY TO SECOND is INTERVAL '1' DAY. Time is up to 292 years of hours.
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

// Mirrored is the operator that a comparison has when its sides are exchanged: a < b is b > a.
func (o Op) Mirrored() Op {
	switch o {
	case Lt:
		return Gt
	case Le:
		return Ge
	case Gt:
		return Lt
	case Ge:
		return Le
	}
	return o
}

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

// Call applies a function by name, whatever its case. Which names exist is decided when the tree is
// bound.
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

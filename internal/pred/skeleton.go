// Package pred binds expressions to a schema, evaluates them over Arrow columns, and proves from
// partition values and statistics that a file is outside, inside or across a slice.
package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// Predicate is a boolean expression bound to a schema. It is immutable and safe for many goroutines.
type Predicate struct{}

// Bind resolves columns (ignoring case), checks types and folds constants. Every failure wraps delta.ErrInput and carries the
// position in the text: not boolean, unknown column (with the nearest names), string against number, timestamp against
// timestamp_ntz, unknown or non-deterministic function by name. Literals take the column's type where that loses nothing.
func Bind(e expr.Expr, schema *arrow.Schema) (*Predicate, error) { panic("skeleton") }

// Columns are the indexes of the top-level columns that the predicate names, ascending, in the schema it was bound to.
func (p *Predicate) Columns() []int { panic("skeleton") }

// ColumnNames are their names as the schema spells them.
func (p *Predicate) ColumnNames() []string { panic("skeleton") }

func (p *Predicate) String() string { panic("skeleton") }

// Eval gives TRUE, FALSE or NULL a row. The batch holds the predicate's columns under the names of the bound schema, in any
// order, perhaps beside others. The caller releases the result.
func (p *Predicate) Eval(mem memory.Allocator, batch arrow.RecordBatch) (*array.Boolean, error) {
	panic("skeleton")
}

// Verdict is what facts about a file prove.
type Verdict int

const (
	Across  Verdict = iota // nothing is proven
	Outside                // for no row the predicate is TRUE
	Inside                 // for every row the predicate is TRUE
)

// Facts is what is known about the rows of a file.
type Facts struct {
	Rows    int64                  // -1: unknown
	Columns map[string]ColumnFacts // by top-level column name as the schema spells it; nested leaves by dotted path
}

// ColumnFacts bounds a column. A nil bound is unknown. A partition column has Min = Max = its value, or Nulls = Rows (AllNull).
type ColumnFacts struct {
	Min, Max scalar.Scalar
	Nulls    int64 // -1: unknown
	AllNull  bool
	Exact    bool // Min and Max are attained and, with Nulls = 0, Min = Max is the value of every row (partition columns); for
	// statistics Min and Max only bound, and a float column may hold NaN beyond Max
}

// FileFacts gathers the facts of a file from its partition values and statistics (stats "" = none).
func FileFacts(snap *delta.Snapshot, add *delta.Add, stats string) (Facts, error) { panic("skeleton") }

// Prove never says more than the facts hold.
func (p *Predicate) Prove(f Facts) Verdict { panic("skeleton") }

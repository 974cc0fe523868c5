package plan

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// The sides of a merge, as expressions qualify their columns.
const (
	sourceSide = "source"
	targetSide = "target"
)

// namer resolves the columns that the expressions of a merge name, and remembers which they are.
type namer struct {
	source, table *arrow.Schema
	usedSource    map[string]bool // by folded name
	usedTable     map[string]bool
}

func newNamer(source, table *arrow.Schema) *namer {
	return &namer{source: source, table: table, usedSource: map[string]bool{}, usedTable: map[string]bool{}}
}

// sides says which rows an expression is about.
type sides struct {
	source, target bool
	plain          bool // a bare name is a column of the source
}

// qualify gives an expression in which every column is source.x or target.x. what names it in
// messages.
func (n *namer) qualify(what string, e expr.Expr, in sides) (expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	var failed error
	out := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok || failed != nil || len(c.Path) == 0 {
			return e
		}
		path, err := n.resolve(c.Path, in)
		if err != nil {
			failed = fmt.Errorf("%w: %s: %w", delta.ErrInput, what, err)
			return e
		}
		return &expr.Column{Path: path, At: c.At}
	})
	return out, failed
}

// resolve gives the side of a column before its name.
func (n *namer) resolve(path []string, in sides) ([]string, error) {
	side, rest := "", path
	switch {
	case in.plain && fieldNamed(n.source.Fields(), path[0]) >= 0:
		side = sourceSide
	case len(path) > 1 && strings.EqualFold(path[0], sourceSide):
		side, rest = sourceSide, path[1:]
	case len(path) > 1 && strings.EqualFold(path[0], targetSide):
		side, rest = targetSide, path[1:]
	default:
		var err error
		if side, err = n.bare(path[0], in); err != nil {
			return nil, err
		}
	}
	if side == sourceSide {
		return n.of(sourceSide, n.source, n.usedSource, rest, in.source,
			"%q is of the source, and a row of the table that nothing matches has no source row")
	}
	return n.of(targetSide, n.table, n.usedTable, rest, in.target,
		"%q is of the table, and a source row that matches nothing has no row of the table")
}

func (n *namer) of(side string, s *arrow.Schema, used map[string]bool, path []string, visible bool, why string) ([]string, error) {
	name := strings.Join(path, ".")
	if !visible {
		return nil, fmt.Errorf(why, side+"."+name)
	}
	i := fieldNamed(s.Fields(), path[0])
	if i < 0 {
		return nil, fmt.Errorf("the %s has no column %q%s", side, path[0], pred.Suggest(s.Fields(), path[0]))
	}
	used[foldName(s.Field(i).Name)] = true
	return append([]string{side, s.Field(i).Name}, path[1:]...), nil
}

// bare finds the side of a name without one.
func (n *namer) bare(name string, in sides) (string, error) {
	ofSource := in.source && fieldNamed(n.source.Fields(), name) >= 0
	ofTarget := in.target && fieldNamed(n.table.Fields(), name) >= 0
	switch {
	case ofSource && ofTarget:
		return "", fmt.Errorf("%q is a column of the source and of the table: write source.%s or target.%s", name, name, name)
	case ofSource:
		return sourceSide, nil
	case ofTarget:
		return targetSide, nil
	case in.source && in.target:
		return "", fmt.Errorf("neither the source nor the table has a column %q%s", name, pred.Suggest(n.table.Fields(), name))
	case in.source:
		return sourceSide, nil // where it is looked for, and missed
	}
	return targetSide, nil
}

// unqualified takes the side away from the columns of an expression about the table.
func unqualified(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && len(c.Path) > 1 && c.Path[0] == targetSide {
			return &expr.Column{Path: c.Path[1:], At: c.At}
		}
		return e
	})
}

package plan

import "github.com/idemtable/idem/delta/expr"

// columnsOf are the top-level columns that an expression names.
func columnsOf(e expr.Expr) []string {
	var out []string
	for _, path := range expr.Columns(e) {
		out = append(out, path[0])
	}
	return out
}

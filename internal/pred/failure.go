package pred

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// RowError says that an expression has no value in a row: a division by zero, an overflow, a text
// that is no number. It wraps delta.ErrInput.
type RowError struct {
	Row    int    // in the batch, from 0
	Before int64  // rows that came before the batch, see After
	Expr   string // the part of the expression that failed
	Pos    int    // its byte offset in the text; -1 if it was not parsed
	Err    error  // what is wrong with which values
}

// Error counts rows from 1, as all messages about rows do.
func (e *RowError) Error() string {
	return fmt.Sprintf("at %s: row %d: %v", place(e.Expr, e.Pos), e.Before+int64(e.Row)+1, e.Err)
}

// Alone is the message without the row.
func (e *RowError) Alone() string { return fmt.Sprintf("at %s: %v", place(e.Expr, e.Pos), e.Err) }

// After gives a *RowError the number of rows that came before its batch. Other errors stay as they
// are.
func After(rows int64, err error) error {
	if e, ok := err.(*RowError); ok {
		located := *e
		located.Before = rows
		return &located
	}
	return err
}

// Unwrap gives the cause, and delta.ErrInput.
func (e *RowError) Unwrap() []error { return []error{e.Err, delta.ErrInput} }

// place names a part of an expression, and where in the text it is.
func place(text string, pos int) string {
	if pos < 0 {
		return clip(text)
	}
	return fmt.Sprintf("%s, byte %d", clip(text), pos)
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// failure is the error of a row.
type failure struct {
	row int
	at  expr.Expr
	err error
}

func (f failure) public() *RowError {
	return &RowError{Row: f.row, Expr: f.at.String(), Pos: f.at.Pos(), Err: f.err}
}

// failures are the rows that failed, ascending, each once. They are few or the evaluation is lost
// anyway, so they are kept beside the values and not in them. Those of a constant have row 0.
type failures []failure

// sorted brings what a kernel reported into order; of several errors of a row the first counts.
func (f failures) sorted() failures {
	byRow := func(a, b failure) int { return a.row - b.row }
	if !slices.IsSortedFunc(f, byRow) {
		slices.SortStableFunc(f, byRow)
	}
	return slices.CompactFunc(f, func(a, b failure) bool { return a.row == b.row })
}

// and joins the failures of what is evaluated later; the earlier error of a row counts.
func (f failures) and(later failures) failures {
	switch {
	case len(later) == 0:
		return f
	case len(f) == 0:
		return later
	}
	joined := make(failures, 0, len(f)+len(later))
	return append(append(joined, f...), later...).sorted()
}

// within are the failures in rows whose bit is set; nil is all rows.
func (f failures) within(rows []byte) failures {
	if len(f) == 0 || rows == nil {
		return f
	}
	var kept failures
	for _, x := range f {
		if has(rows, x.row) {
			kept = append(kept, x)
		}
	}
	return kept
}

// spread gives the failure of a constant to each row.
func (f failures) spread(rows int) failures {
	if len(f) == 0 {
		return nil
	}
	all := make(failures, rows)
	for row := range all {
		all[row] = failure{row, f[0].at, f[0].err}
	}
	return all
}

// clear unsets the bits of the rows that failed.
func (f failures) clear(bitmaps ...[]byte) {
	for _, x := range f {
		for _, b := range bitmaps {
			b[x.row/8] &^= 1 << (x.row % 8)
		}
	}
}

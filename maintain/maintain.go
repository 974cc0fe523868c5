package maintain

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/inside"
)

// open is the inside of a table that may be worked on.
func open(ctx context.Context, op string, t *idem.Table) (*inside.Table, error) {
	in, err := inner(ctx, op, t)
	if err != nil {
		return nil, err
	}
	if in.Frozen {
		return nil, in.Fail(op, fmt.Errorf("%w: this is a view of version %d; %s works on the table itself", idem.ErrInput, t.Version(), op))
	}
	return in, nil
}

// write carries out a call that may commit.
func write(ctx context.Context, in *inside.Table, c inside.Call) (*idem.Result, error) {
	res, err := in.Write(ctx, c)
	if err != nil {
		return nil, err
	}
	return res.(*idem.Result), nil
}

// steps is an operation of several commits. Its errors say which were made: they stay.
type steps struct {
	in       *inside.Table
	op, note string
	commits  int
	last     int64 // version
}

// write makes a commit, or finds that there is nothing to do.
func (s *steps) write(ctx context.Context, p inside.Planner) (*idem.Result, error) {
	res, err := write(ctx, s.in, inside.Call{Op: s.op, Note: s.note, Done: s.done(), Planner: p})
	if err == nil && res.Outcome == idem.Committed {
		s.commits, s.last = s.commits+1, res.Version
	}
	return res, err
}

// done says which commits were made, "" if none was.
func (s *steps) done() string {
	switch s.commits {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("version %d was committed", s.last)
	}
	return fmt.Sprintf("%d versions were committed, the last as %d", s.commits, s.last)
}

// fail wraps an error that came between commits. One of a commit is wrapped already.
func (s *steps) fail(err error) error {
	if e := (*idem.Error)(nil); errors.As(err, &e) {
		return err
	}
	return s.in.Fail(s.op, inside.After(s.done(), err))
}

// inner is the inside of a table, or of a view. One that no call of idem gave has none.
func inner(ctx context.Context, op string, t *idem.Table) (*inside.Table, error) {
	in := inside.Of(t)
	switch {
	case in != nil && ctx == nil:
		return nil, in.Fail(op, fmt.Errorf("%w: the context is nil", idem.ErrInput))
	case in != nil:
		return in, nil
	}
	return nil, inside.Fail(op, "", fmt.Errorf("%w: the table is nil, or none that Open or Create gave", idem.ErrInput))
}

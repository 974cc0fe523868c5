package maintain

import (
	"context"
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

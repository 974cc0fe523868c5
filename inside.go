package idem

import (
	"context"

	"github.com/idemtable/idem/internal/inside"
)

// The packages that take a table reach what they need of it through package inside.
func init() {
	inside.Bind(func(table any) *inside.Table {
		if t := table.(*Table); t != nil && t.store != nil {
			return t.inside()
		}
		return nil
	})
}

func (t *Table) inside() *inside.Table {
	return &inside.Table{
		Store: t.store, Log: t.log, Env: &t.env, Frozen: t.frozen, Newest: t.newest, Fail: t.failIf, Rows: taken, CheckTags: t.engine.CheckTags,
		Write: func(ctx context.Context, c inside.Call) (any, error) { return t.carry(ctx, c) },
	}
}

// carry is a call of an operation outside the root on the verbs' path.
func (t *Table) carry(ctx context.Context, c inside.Call) (*Result, error) {
	own := &call{op: c.Op, note: c.Note, done: c.Done, planner: c.Planner, report: func(res *Result) {
		if c.Counts != nil {
			res.take(c.Counts())
		}
		if c.Columns != nil {
			res.MissingColumns, res.AddedColumns = c.Columns()
		}
	}}
	if c.Tag != nil {
		own.txn = Txn{AppID: c.Tag.AppID, Version: c.Tag.Version, Reapply: c.Reapply, VerifyPayload: c.VerifyPayload}
		if err := own.txn.validate(); err != nil { // half a tag may look like none here
			return nil, t.fail(c.Op, err)
		}
	}
	return t.write(ctx, own)
}

package sim

import (
	"errors"
	"fmt"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/tabletest"
)

// files follows the rows of the table through the files that commits name.
type files struct {
	l     *ledger
	live  map[string]*contents
	known map[string]*contents // every one that ever was
}

// contents are the rows of a data file under one deletion vector.
type contents struct {
	rows tabletest.Rows
	ids  map[int64]int64 // row ids by key, where the table tracks rows
	base int64           // the first row id of the file, -1 if it has none
}

func (f *files) take(actions []delta.Action, snap *delta.Snapshot) error {
	for _, a := range actions {
		if a.Remove != nil {
			if err := f.remove(a.Remove); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		if a.Add != nil {
			if err := f.add(snap, a.Add); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *files) remove(r *delta.Remove) error {
	id := delta.LogicalFile(r.Path, r.DeletionVector)
	c, live := f.live[id]
	if !live {
		return fmt.Errorf("a file is removed that was not live\n%s", id)
	}
	f.count(c.rows, -1)
	delete(f.live, id)
	return nil
}

func (f *files) count(rows tabletest.Rows, sign int) {
	for r, n := range rows {
		if f.l.rows[r] += sign * n; f.l.rows[r] == 0 {
			delete(f.l.rows, r)
		}
	}
}

// add takes a file in. One that is live already is told again, with row ids say: its rows count once.
func (f *files) add(snap *delta.Snapshot, add *delta.Add) error {
	id := delta.LogicalFile(add.Path, add.DeletionVector)
	_, live := f.live[id]
	if live && add.DataChange {
		return fmt.Errorf("a file is added twice\n%s", id)
	}
	c, err := f.read(snap, add, id)
	if err != nil {
		return fmt.Errorf("file %s: %w", add.Path, err)
	}
	if !live {
		f.count(c.rows, 1)
	}
	f.live[id] = c
	return nil
}

// read reads the live rows of a data file.
func (f *files) read(snap *delta.Snapshot, add *delta.Add, id string) (*contents, error) {
	base := int64(-1)
	if snap.TracksRows() && add.BaseRowID != nil {
		base = *add.BaseRowID
	}
	if c := f.known[id]; c != nil && c.base == base {
		return c, nil
	}
	key, err := delta.ResolvePath(f.l.w.truth.URL(), add.Path)
	if err != nil {
		return nil, err
	}
	live, ok := snap.Live(key)
	if !ok {
		return nil, errors.New("it is added and not live")
	}
	c := &contents{rows: tabletest.Rows{}, ids: map[int64]int64{}, base: base}
	names := make([]string, 0, 4)
	for _, field := range tabletest.Schema.Fields() {
		names = append(names, field.Name)
	}
	t := scan.Table{Store: f.l.store, Snapshot: snap, Parallelism: 1}
	for piece, err := range scan.Live(f.l.ctx, t, live, names, scan.LiveOptions{RowIDs: base >= 0}) {
		if err != nil {
			return nil, err
		}
		if err := c.rows.AddBatch(piece.Batch); err != nil {
			return nil, err
		}
		if base >= 0 {
			c.number(piece.Batch)
		}
	}
	f.known[id] = c
	return c, nil
}

// number notes the row ids of a batch.
func (c *contents) number(b arrow.RecordBatch) {
	keys := b.Column(b.Schema().FieldIndices("id")[0]).(*array.Int64)
	ids := b.Column(b.Schema().FieldIndices(delta.RowIDColumn)[0]).(*array.Int64)
	for i := range int(b.NumRows()) {
		c.ids[keys.Value(i)] = ids.Value(i) // of rows with one key, which only a tag that was moved back makes, the last
	}
}

// rowIDs holds the row ids of a version against those of the version before: a row keeps its id for as
// long as it is the same row, and no two rows have one.
func (l *ledger) rowIDs(c *call, snap *delta.Snapshot) error {
	was := l.ids
	l.ids = nil
	if !snap.TracksRows() {
		return nil
	}
	ids, of, twice := map[int64]int64{}, map[int64]int64{}, map[int64]bool{}
	for _, f := range l.files.live {
		for key, id := range f.ids {
			if _, again := ids[key]; again {
				twice[key] = true // written again after its tag was moved back
			}
			if other, taken := of[id]; taken {
				return fmt.Errorf("after call %d (%s): two rows have one row id\nrows %d and %d have the row id %d", c.n, c.job.kind, key, other, id)
			}
			ids[key], of[id] = id, key
		}
	}
	maps.DeleteFunc(ids, func(key, _ int64) bool { return twice[key] })
	l.ids = ids
	for key, id := range ids {
		before, had := was[key]
		if had && before != id && l.keeps(c, key) {
			return fmt.Errorf("after call %d (%s): a row has another row id\nrow %d had %d and has %d", c.n, c.job.kind, key, before, id)
		}
	}
	return nil
}

// keeps says whether a call leaves a row the row that it was.
func (l *ledger) keeps(c *call, key int64) bool {
	switch c.job.kind {
	case restore, replaceTable, overwriteParts:
		return false
	case replaceSlice:
		for r := range l.states[len(l.states)-1].Rows {
			if r.ID == key && c.job.where.in(r) {
				return false
			}
		}
	}
	return true
}

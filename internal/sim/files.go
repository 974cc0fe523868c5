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
	rows    tabletest.Rows
	ids     map[int64]int64 // row ids by key, where the table tracks rows
	numbers map[int64]int64 // of the identity column by key, where the table has one
	base    int64           // the first row id of the file, -1 if it has none
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
	c := &contents{rows: tabletest.Rows{}, ids: map[int64]int64{}, numbers: map[int64]int64{}, base: base}
	names := make([]string, 0, 5)
	for _, field := range tabletest.Schema.Fields() {
		names = append(names, field.Name)
	}
	if f.l.w.plan.makes {
		names = append(names, numberColumn)
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
			note(c.ids, piece.Batch, delta.RowIDColumn)
		}
		if f.l.w.plan.makes {
			note(c.numbers, piece.Batch, numberColumn)
		}
	}
	f.known[id] = c
	return c, nil
}

// note notes what a column of a batch says of each row, by the key of the row; NULL is -1.
func note(by map[int64]int64, b arrow.RecordBatch, column string) {
	keys := b.Column(b.Schema().FieldIndices("id")[0]).(*array.Int64)
	numbers := b.Column(b.Schema().FieldIndices(column)[0]).(*array.Int64)
	for i := range int(b.NumRows()) {
		number := int64(-1)
		if numbers.IsValid(i) {
			number = numbers.Value(i)
		}
		by[keys.Value(i)] = number // of rows with one key, which only a tag that was moved back makes, the last
	}
}

// identified gives what tells the rows of a version apart, row ids or numbers, by the key of the row, once it was held
// against that of the version before: a row keeps its own for as long as it is the same row, every row has one, and no two
// rows have the same.
func (l *ledger) identified(c *call, what string, was map[int64]int64, has bool, of func(*contents) map[int64]int64) (map[int64]int64, error) {
	if !has {
		return nil, nil
	}
	ids, keyOf, twice := map[int64]int64{}, map[int64]int64{}, map[int64]bool{}
	for _, f := range l.files.live {
		for key, id := range of(f) {
			if _, again := ids[key]; again {
				twice[key] = true // written again after its tag was moved back
			}
			if id < 0 {
				return nil, fmt.Errorf("after call %d (%s): a row has no %s\nrow %d", c.n, c.job.kind, what, key)
			}
			if other, taken := keyOf[id]; taken {
				return nil, fmt.Errorf("after call %d (%s): two rows have one %s\nrows %d and %d have the %s %d", c.n, c.job.kind, what, key, other, what, id)
			}
			ids[key], keyOf[id] = id, key
		}
	}
	maps.DeleteFunc(ids, func(key, _ int64) bool { return twice[key] })
	for key, id := range ids {
		before, had := was[key]
		if had && before != id && l.keeps(c, key) {
			return nil, fmt.Errorf("after call %d (%s): a row has another %s\nrow %d had %d and has %d", c.n, c.job.kind, what, key, before, id)
		}
	}
	return ids, nil
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

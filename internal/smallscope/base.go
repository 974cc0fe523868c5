package smallscope

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

// The table is older than every retention when the writers begin, but for what they write.
var (
	staleSince = tabletest.Epoch.Add(time.Hour)
	now        = tabletest.Epoch.Add(60 * 24 * time.Hour)
)

// stray is a file that nothing refers to, for vacuum to find.
const stray = "stray.stub"

// base is the table that every pair begins with.
type base struct {
	young  *disk // when the second writer opened the table
	whole  *disk
	models []model // after each version
}

// builder makes the table with the verbs themselves, over a quiet store.
type builder struct {
	ctx   context.Context
	clock *tabletest.Clock
	mem   *store.Mem
	table *idem.Table
	out   base
}

// newBase makes the table: five files in three partitions, one of them removed again.
func newBase(vectors bool) (*base, error) {
	b := &builder{ctx: tabletest.Codec(context.Background()), clock: tabletest.NewClock()}
	b.mem = store.NewMemClock(b.clock.Now)
	properties := map[string]string{}
	if vectors {
		properties["delta.enableDeletionVectors"] = "true"
	}
	var err error
	b.table, _, err = idem.CreateStore(b.ctx, b.mem, tabletest.Definition([]string{"day"}, properties), tabletest.Options(1, b.clock))
	if err != nil {
		return nil, err
	}
	b.out.models = []model{{Model: tabletest.NewModel()}}
	first := []tabletest.Row{row(0, 1, 1, 1), row(0, 2, 1, 1), row(1, 1, 1, 1), row(2, 1, 1, 1)}
	if err := b.append(first); err != nil {
		return nil, err
	}
	if b.out.young, err = b.disk(); err != nil {
		return nil, err
	}
	if err := b.rest(); err != nil {
		return nil, err
	}
	return &b.out, nil
}

func (b *builder) append(rows []tabletest.Row) error {
	b.clock.Advance(24 * time.Hour)
	return b.step(rows, func(m *tabletest.Model) { m.Append(rows...) }, func(r array.RecordReader) error {
		_, err := b.table.Append(b.ctx, r, idem.Append{Reason: "the table to begin with"})
		return err
	})
}

func (b *builder) step(rows []tabletest.Row, on func(*tabletest.Model), call func(array.RecordReader) error) error {
	r := tabletest.Again(memory.DefaultAllocator, 0, rows...)
	defer r.Release()
	m := b.out.models[len(b.out.models)-1].Clone()
	on(m)
	b.out.models = append(b.out.models, model{Model: m})
	return call(r)
}

func (b *builder) rest() error {
	b.clock.Advance(time.Hour)
	if err := b.append([]tabletest.Row{row(0, 3, 1, 1), row(0, 4, 1, 1)}); err != nil {
		return err
	}
	b.clock.Advance(24 * time.Hour)
	err := b.step(nil, func(m *tabletest.Model) {
		m.Delete(func(r tabletest.Row) bool { return r.ID == 4 })
	}, func(array.RecordReader) error {
		_, err := b.table.Delete(b.ctx, idem.Delete{Where: "id = 4"})
		return err
	})
	if err == nil {
		err = b.mem.PutIfAbsent(b.ctx, stray, []byte("nobody's"))
	}
	if err == nil {
		b.out.whole, err = b.disk()
	}
	return err
}

// disk is what is in the store.
func (b *builder) disk() (*disk, error) {
	d := &disk{}
	for i, err := range b.mem.List(b.ctx, "", "") {
		if err != nil {
			return nil, err
		}
		data, err := b.mem.Get(b.ctx, i.Key, 0)
		if err != nil {
			return nil, err
		}
		d = d.put(newObject(i.Key, data, i.ModTime, author{writer: -1}))
	}
	if v := int64(len(b.out.models)); len(d.commits) != int(v) {
		return nil, fmt.Errorf("%d commits for %d models", len(d.commits), v)
	}
	return d, nil
}

// memOf is a store with some objects, and a clock for what comes later.
func memOf(objects []*object, clock func() time.Time) (*store.Mem, error) {
	at := time.Time{}
	m := store.NewMemClock(func() time.Time {
		if at.IsZero() {
			return clock()
		}
		return at
	})
	for _, o := range objects {
		at = o.at
		if err := m.Put(context.Background(), o.key, o.data); err != nil {
			return nil, err
		}
	}
	at = time.Time{}
	return m, nil
}

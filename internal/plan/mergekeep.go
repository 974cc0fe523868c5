package plan

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// breaches are updates that would change a column that none may.
type breaches struct {
	mu    sync.Mutex
	n     int64
	first string // the least of what is said about one of them, so that it depends on no order
}

func (b *breaches) add(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if b.first == "" || what < b.first {
		b.first = what
	}
}

func (b *breaches) verdict() error {
	if b.n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d rows would change a column that is Immutable, one of them %s; nothing was changed: find out which value is right, "+
		"then give the source that one, or leave the column out of what the update sets", delta.ErrInput, b.n, b.first)
}

// keeps looks for changes of immutable columns: row i of after was row to[i] of before.
func (p *Merge) keeps(before arrow.RecordBatch, to []int32, after arrow.RecordBatch) error {
	for _, at := range p.shape.immutable {
		if err := p.keepsAt(at, before, to, after); err != nil {
			return err
		}
	}
	return nil
}

func (p *Merge) keepsAt(at place, before arrow.RecordBatch, to []int32, after arrow.RecordBatch) error {
	was, err := at.of(p.Env.Allocator, before)
	if err != nil {
		return err
	}
	defer was.Release()
	is, err := at.of(p.Env.Allocator, after)
	if err != nil {
		return err
	}
	defer is.Release()
	same, err := rows.NewEquality([]arrow.Array{is}, []arrow.Array{was})
	if err != nil {
		return err
	}
	for i, t := range to {
		if !same.Equal(i, int(t)) {
			p.fixed.add(fmt.Sprintf("%s, whose %s is %s and would be %s",
				p.keyOfRow(before, int(t)), at.name(p.shape.table), rows.Text(was, int(t)), rows.Text(is, i)))
		}
	}
	return nil
}

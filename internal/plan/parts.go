package plan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// A part is not cut smaller than leastPart, and a buffer not into more parts than mostParts: each
// costs a pass over the table.
const (
	leastPart = 256 << 10
	mostParts = 256
)

// gather makes one batch of a buffer; nil if it is empty. The caller releases it.
func gather(mem memory.Allocator, b *spill.Buffer) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	defer func() {
		for _, x := range all {
			x.Release()
		}
	}()
	for batch, err := range b.Batches() {
		if err != nil {
			return nil, err
		}
		batch.Retain()
		all = append(all, batch)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return rows.Concat(mem, all)
}

// comparable refuses columns that have no order: they cannot be keys, nor order rows.
func comparable(what string, fields ...arrow.Field) error {
	for _, f := range fields {
		switch f.Type.ID() {
		case arrow.STRUCT, arrow.LIST, arrow.MAP, arrow.NULL:
			return fmt.Errorf("%w: %s names %s, which is %s: a column of that type has no order, so it can be neither key nor version", delta.ErrInput, what, f.Name, f.Type)
		}
	}
	return nil
}

// splitByKey cuts a buffer into parts of about limit bytes so that all rows of a key are in one
// part. key are columns; none means all. The buffer is the only part if it is small enough, and
// closed otherwise.
func splitByKey(area *spill.Area, b *spill.Buffer, limit int64, key ...int) ([]*spill.Buffer, error) {
	n := int(min(b.Bytes()/max(limit, leastPart), mostParts-1)) + 1
	if n == 1 {
		return []*spill.Buffer{b}, nil
	}
	defer b.Close()
	var parts *spill.Partitions
	for batch, err := range b.Batches() {
		if err != nil {
			return nil, err
		}
		if parts == nil {
			parts = area.NewPartitions(batch.Schema(), n)
		}
		columns := batch.Columns()
		if len(key) > 0 {
			columns = pick(batch, key)
		}
		hash := make([]uint64, batch.NumRows())
		rows.HashKeys(columns, hash)
		part := make([]uint32, len(hash))
		for i, h := range hash {
			part[i] = uint32(h % uint64(n))
		}
		if err := parts.Append(batch, part); err != nil {
			return nil, err
		}
	}
	out := make([]*spill.Buffer, n)
	for i := range out {
		out[i] = parts.Partition(i)
	}
	return out, nil
}

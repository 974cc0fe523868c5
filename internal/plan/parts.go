package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
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

// splitByKey cuts a buffer into parts of about limit bytes so that all rows of a key are in one
// part. key are columns; none means all. The buffer is the only part if it is small enough, and
// closed otherwise.
func splitByKey(area *spill.Area, b *spill.Buffer, limit int64, key ...int) ([]*spill.Buffer, error) {
	n := int(b.Bytes()/(limit+1)) + 1
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

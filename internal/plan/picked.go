package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/internal/rows"
)

// picked are rows that one of two tables has and the other lacks.
type picked struct {
	batches []arrow.RecordBatch
	n       int64
}

func (b *picked) release() {
	for _, x := range b.batches {
		x.Release()
	}
	b.batches = nil
}

// samples shows some of the rows.
func (b *picked) samples(prefix string) []string {
	var out []string
	for _, batch := range b.batches {
		for i := range int(batch.NumRows()) {
			if len(out) == diffSamples {
				return out
			}
			out = append(out, prefix+describe(batch, fieldNames(batch.Schema()), i))
		}
	}
	return out
}

// at is where row i of all is.
func (b *picked) at(i int) (arrow.RecordBatch, int) {
	for _, batch := range b.batches {
		if n := int(batch.NumRows()); i >= n {
			i -= n
			continue
		}
		return batch, i
	}
	return nil, 0
}

// digests are those of the rows, of some of their columns.
func (b *picked) digests(keep func(column string) bool) ([]rows.Digest, error) {
	var out []rows.Digest
	for _, batch := range b.batches {
		part := project(batch, keep)
		digests := make([]rows.Digest, part.NumRows())
		err := rows.RowDigests(part, digests)
		part.Release()
		if err != nil {
			return nil, err
		}
		out = append(out, digests...)
	}
	return out, nil
}

// digest is their sum.
func (b *picked) digest(keep func(column string) bool) (rows.Digest, error) {
	digests, err := b.digests(keep)
	var sum rows.Digest
	for _, d := range digests {
		sum = sum.Add(d)
	}
	return sum, err
}

// values are those of a column, one array for each batch that has it.
func (b *picked) values(column string) []arrow.Array {
	var out []arrow.Array
	for _, batch := range b.batches {
		for c := range int(batch.NumCols()) {
			if batch.ColumnName(c) == column {
				out = append(out, batch.Column(c))
			}
		}
	}
	return out
}

// project gives some of the columns. The caller releases the result.
func project(batch arrow.RecordBatch, keep func(column string) bool) arrow.RecordBatch {
	var fields []arrow.Field
	var arrays []arrow.Array
	for c, f := range batch.Schema().Fields() {
		if keep(f.Name) {
			fields, arrays = append(fields, f), append(arrays, batch.Column(c))
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, batch.NumRows())
}

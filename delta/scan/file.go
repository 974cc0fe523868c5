package scan

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// File reads the rows of one live file, in file order, every row: columns nil means all.
func File(ctx context.Context, t Table, f *delta.Add, columns []string) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		want, err := project(t.Snapshot, columns)
		if err != nil {
			yield(nil, err)
			return
		}
		readFile(ctx, t, f, want)(yield)
	}
}

// project gives the schema of the named columns.
func project(snap *delta.Snapshot, columns []string) (*arrow.Schema, error) {
	if !snap.HasSchema() {
		return nil, fmt.Errorf("%w: the table's metaData has no schemaString, so its rows cannot be read", delta.ErrCorrupt)
	}
	full := snap.ArrowSchema()
	if columns == nil {
		return full, nil
	}
	fields := make([]arrow.Field, 0, len(columns))
	for _, name := range columns {
		i := snap.Schema().Index(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the table has no column %q; its columns are %v", delta.ErrInput, name, names(full))
		}
		fields = append(fields, full.Field(i))
	}
	return arrow.NewSchema(fields, nil), nil
}

func names(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}

// layout says where each wanted column of a file comes from.
type layout struct {
	want      *arrow.Schema
	data      *arrow.Schema   // the columns read from the file
	from      []int           // column of data, or -1 for a partition column
	constants []scalar.Scalar // of partition columns
}

func newLayout(snap *delta.Snapshot, f *delta.Add, want *arrow.Schema) (*layout, error) {
	l := &layout{want: want, from: make([]int, want.NumFields()), constants: make([]scalar.Scalar, want.NumFields())}
	partition := map[string]bool{}
	for _, c := range snap.PartitionColumns() {
		partition[c] = true
	}
	var data []arrow.Field
	for i, field := range want.Fields() {
		if !partition[field.Name] {
			l.from[i] = len(data)
			data = append(data, field)
			continue
		}
		l.from[i] = -1
		text, err := snap.PartitionValue(f, field.Name)
		if err != nil {
			return nil, err
		}
		column := snap.Schema().Fields[snap.Schema().Index(field.Name)]
		if l.constants[i], err = delta.ParsePartitionValue(column.Type, text); err != nil {
			return nil, fmt.Errorf("partition column %s: %w", field.Name, err)
		}
	}
	l.data = arrow.NewSchema(data, nil)
	return l, nil
}

// assemble puts partition columns beside the columns read.
func (l *layout) assemble(mem memory.Allocator, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(l.from))
	made := make([]arrow.Array, 0, len(l.from))
	defer func() {
		for _, c := range made {
			c.Release()
		}
	}()
	for i, from := range l.from {
		if from >= 0 {
			columns[i] = batch.Column(from)
			continue
		}
		c, err := constant(l.constants[i], l.want.Field(i).Type, int(batch.NumRows()), mem)
		if err != nil {
			return nil, fmt.Errorf("partition column %s: %w", l.want.Field(i).Name, err)
		}
		made = append(made, c)
		columns[i] = c
	}
	return array.NewRecordBatch(l.want, columns, batch.NumRows()), nil
}

func constant(v scalar.Scalar, t arrow.DataType, n int, mem memory.Allocator) (arrow.Array, error) {
	if v == nil || !v.IsValid() {
		return array.MakeArrayOfNull(mem, t, n), nil
	}
	return scalar.MakeArrayFromScalar(v, n, mem)
}

func readFile(ctx context.Context, t Table, f *delta.Add, want *arrow.Schema) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		fail := func(err error) { yield(nil, fmt.Errorf("read %s: %w", f.Path, err)) }
		if f.DeletionVector != nil {
			fail(fmt.Errorf("%w: deletionVectors", delta.ErrUnsupported))
			return
		}
		l, err := newLayout(t.Snapshot, f, want)
		if err != nil {
			fail(err)
			return
		}
		src := parquetio.Object(ctx, t.Store, f.Key, f.Size)
		r, err := parquetio.From(ctx).Open(ctx, src, parquetio.ReadOptions{Allocator: t.allocator()})
		if err != nil {
			fail(err)
			return
		}
		defer r.Close()
		for batch, err := range r.Batches(ctx, l.data) {
			if err != nil {
				fail(err)
				return
			}
			out, err := l.assemble(t.allocator(), batch)
			if err != nil {
				fail(err)
				return
			}
			more := yield(out, nil)
			out.Release()
			if !more {
				return
			}
		}
	}
}

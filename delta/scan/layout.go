package scan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
)

// layout says where each wanted column of a file comes from.
type layout struct {
	want    *arrow.Schema
	data    *arrow.Schema // the columns read from the file
	stored  *arrow.Schema // the same as the file names them
	columns []column
}

// column is a wanted column.
type column struct {
	from     int           // column of data, -1 if the file does not have it
	constant scalar.Scalar // of a partition column
	derive   *derived      // of a column of row ids
}

func newLayout(snap *delta.Snapshot, f *delta.Add, want *arrow.Schema) (*layout, error) {
	l := &layout{want: want, columns: make([]column, want.NumFields())}
	partition := map[string]bool{}
	for _, c := range snap.PartitionColumns() {
		partition[c] = true
	}
	var data []arrow.Field
	for i, field := range want.Fields() {
		c := &l.columns[i]
		c.from = -1
		var err error
		switch {
		case partition[field.Name]:
			c.constant, err = partitionScalar(snap, f, field.Name)
		case isRowID(snap, field.Name):
			c.derive, err = deriveRowID(snap, f, field.Name)
		}
		if err != nil {
			return nil, err
		}
		if c.constant == nil && (c.derive == nil || c.derive.stored) {
			c.from = len(data)
			data = append(data, field)
		}
	}
	l.data = arrow.NewSchema(data, nil)
	l.stored = snap.Stored(l.data)
	return l, nil
}

// partitionScalar is a file's value of a partition column, an invalid scalar for NULL.
func partitionScalar(snap *delta.Snapshot, f *delta.Add, name string) (scalar.Scalar, error) {
	text, err := snap.PartitionValue(f, name)
	if err != nil {
		return nil, err
	}
	column := snap.Schema().Fields[snap.Schema().Index(name)]
	v, err := delta.ParsePartitionValue(column.Type, text)
	if err != nil {
		return nil, fmt.Errorf("partition column %s: %w", name, err)
	}
	return v, nil
}

// assemble makes the batch of a piece: the columns read, and beside them those that come from the log.
func (l *layout) assemble(mem memory.Allocator, read arrow.RecordBatch, p Piece) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(l.columns))
	made := make([]arrow.Array, 0, len(l.columns))
	defer func() {
		for _, c := range made {
			c.Release()
		}
	}()
	n := int(read.NumRows())
	for i, c := range l.columns {
		var out arrow.Array
		var err error
		switch {
		case c.derive != nil:
			out, err = c.derive.array(mem, c.of(read), p, n)
		case c.from >= 0:
			columns[i] = c.of(read)
			continue
		default:
			out, err = constant(c.constant, l.want.Field(i).Type, n, mem)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", l.want.Field(i).Name, err)
		}
		made = append(made, out)
		columns[i] = out
	}
	return array.NewRecordBatch(l.want, columns, read.NumRows()), nil
}

// of is the column as it was read, nil if the file does not have it.
func (c *column) of(read arrow.RecordBatch) arrow.Array {
	if c.from < 0 {
		return nil
	}
	return read.Column(c.from)
}

func constant(v scalar.Scalar, t arrow.DataType, n int, mem memory.Allocator) (arrow.Array, error) {
	if v == nil || !v.IsValid() {
		return array.MakeArrayOfNull(mem, t, n), nil
	}
	return scalar.MakeArrayFromScalar(v, n, mem)
}

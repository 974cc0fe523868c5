package records

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

const (
	// defaultBatchRows is the number of rows of a batch.
	defaultBatchRows = 64 << 10

	// batchBytes closes a batch early: the bytes of the text or values that went into it.
	batchBytes = 16 << 20

	// cellBytes is what a value counts beside its text: a NULL has none, and takes room.
	cellBytes = 8
)

// batcher gathers rows into batches.
type batcher struct {
	schema *arrow.Schema
	mem    memory.Allocator
	most   int // rows of a batch

	// bind makes what appends rows to a builder: row appends the next one and gives its size in
	// bytes, io.EOF at the end. A *badRow says that the row is wrong and that row may be called
	// again; any other error is final.
	bind func(*array.RecordBuilder) (row func() (int, error))

	build *array.RecordBuilder
	row   func() (int, error)
	held  int // rows of the batch before
}

// badRow is the error of one row, after which others can be looked at.
type badRow struct{ error }

func (e *badRow) Unwrap() error { return e.error }

func newBatcher(schema *arrow.Schema, mem memory.Allocator, rows int, bind func(*array.RecordBuilder) func() (int, error)) *batcher {
	if rows == 0 {
		rows = defaultBatchRows
	}
	return &batcher{schema: schema, mem: allocator(mem), most: rows, bind: bind}
}

func checkBatchRows(n int) error {
	if n < 0 {
		return inputErrorf("BatchRows is negative (%d)", n)
	}
	return nil
}

// next makes the next batch. When a row is bad the others that would have been in its batch are
// looked at and counted, and no batch is given.
func (b *batcher) next() (arrow.RecordBatch, error) {
	if b.build == nil {
		b.begin()
	}
	b.build.Reserve(min(b.held, b.most))
	rows, bytes := 0, 0
	var bad badRows
	for rows < b.most && bytes < batchBytes {
		n, err := b.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			if !bad.take(err, rows) {
				bad.final(err)
				break
			}
			b.close() // the row broke off, perhaps in the middle of a value
			b.begin()
		}
		rows++
		bytes += n
	}
	switch {
	case bad.first != nil:
		return nil, bad.error(rows)
	case rows == 0:
		return nil, io.EOF
	}
	b.held = rows
	return b.build.NewRecordBatch(), nil
}

// begin makes the builders of a batch.
func (b *batcher) begin() {
	b.build = array.NewRecordBuilder(b.mem, b.schema)
	b.row = b.bind(b.build)
}

// close drops the rows of a batch that was not finished.
func (b *batcher) close() {
	if b.build != nil {
		b.build.Release()
		b.build, b.row = nil, nil
	}
}

// badRows is what was wrong in a batch.
type badRows struct {
	first error
	at    int // its number in the batch
	more  int
}

// take notes an error; false if no further row can be read.
func (b *badRows) take(err error, row int) bool {
	var bad *badRow
	switch {
	case b.first == nil && !errors.As(err, &bad):
		return false
	case b.first == nil:
		b.first, b.at = bad.error, row
	case errors.As(err, &bad):
		b.more++
	default:
		return false
	}
	return true
}

// final notes an error behind which nothing can be read. A bad row before it comes first.
func (b *badRows) final(err error) {
	if b.first == nil {
		b.first = err
	}
}

// error tells of the first bad row, and how many others there are among the rows behind it.
func (b *badRows) error(rows int) error {
	behind := rows - b.at - 1
	if b.more == 0 {
		return b.first
	}
	return fmt.Errorf("%w (%d of the %d rows behind it are wrong too)", b.first, b.more, behind)
}

// checkTypes refuses columns that no table has, and, if flat, nested ones.
func checkTypes(schema *arrow.Schema, flat bool, form string) error {
	if schema == nil {
		return inputErrorf("%s needs the schema of the rows; it is nil (a table's is Table.Schema)", form)
	}
	if schema.NumFields() == 0 {
		return inputErrorf("%s needs the schema of the rows; it has no columns", form)
	}
	for _, f := range schema.Fields() {
		if err := checkType(f.Type, flat, form); err != nil {
			return fmt.Errorf("%w: column %q: %w", delta.ErrInput, f.Name, err)
		}
	}
	return nil
}

func checkType(t arrow.DataType, flat bool, form string) error {
	switch t := t.(type) {
	case *arrow.NullType, *arrow.BooleanType, *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Float32Type, *arrow.Float64Type, *arrow.StringType, *arrow.BinaryType, *arrow.Date32Type:
		return nil
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond {
			return nil
		}
	case *arrow.Decimal128Type:
		if t.Precision >= 1 && t.Precision <= 38 && t.Scale >= 0 && t.Scale <= t.Precision {
			return nil
		}
	case *arrow.StructType, *arrow.ListType, *arrow.MapType:
		if flat {
			return fmt.Errorf("%s holds no nested values as %s; use JSON lines or Parquet, or leave the column out", form, t)
		}
		for _, f := range t.(arrow.NestedType).Fields() {
			if err := checkType(f.Type, flat, form); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s is not a type of Delta tables; use the schema of a table (Table.Schema), with strings, decimals to 38 digits and microseconds", t)
}

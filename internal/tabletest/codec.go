package tabletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// Stub is a codec of data files and checkpoints that costs next to nothing: flat columns as they
// lie in memory, checkpoints as lines of JSON. Nobody else reads it.
type Stub struct{}

var _ parquetio.Codec = Stub{}

// Ext is the ending of a stub's data files.
func (Stub) Ext(parquetio.WriteOptions) string { return ".stub" }

// NewWriter writes flat columns only; a nested one wraps delta.ErrUnsupported.
func (Stub) NewWriter(w io.Writer, schema *arrow.Schema, _ parquetio.WriteOptions) (parquetio.Writer, error) {
	var e encoder
	e.bytes([]byte(stubMagic))
	e.number(schema.NumFields())
	for _, f := range schema.Fields() {
		if _, err := widthOf(f.Type); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		e.bytes([]byte(f.Name))
		e.bytes([]byte(f.Type.String()))
	}
	return &stubWriter{w: w, schema: schema, e: e}, nil
}

type stubWriter struct {
	w      io.Writer
	schema *arrow.Schema
	e      encoder
}

func (s *stubWriter) Write(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != s.schema.NumFields() {
		return fmt.Errorf("stub: %d columns given for %d", batch.NumCols(), s.schema.NumFields())
	}
	if batch.NumRows() == 0 {
		return nil
	}
	s.e.number(int(batch.NumRows()))
	for i, c := range batch.Columns() {
		if !arrow.TypeEqual(c.DataType(), s.schema.Field(i).Type) {
			return fmt.Errorf("stub: column %s is %s, not %s", s.schema.Field(i).Name, c.DataType(), s.schema.Field(i).Type)
		}
		if err := s.e.array(c.Data()); err != nil {
			return err
		}
	}
	return nil
}

func (s *stubWriter) Bytes() int64 { return int64(len(s.e.b)) }

func (s *stubWriter) Close() error {
	s.e.number(0) // no batch has no rows
	_, err := s.w.Write(s.e.b)
	return err
}

func (s *stubWriter) Abort() { s.e.b = nil }

// Open reads a whole file and checks it.
func (Stub) Open(_ context.Context, src parquetio.Source, o parquetio.ReadOptions) (parquetio.Reader, error) {
	data, err := readAll(src)
	if err != nil {
		return nil, err
	}
	r := &stubReader{name: src.Name(), mem: o.Allocator, batch: int64(o.BatchRows)}
	if r.mem == nil {
		r.mem = memory.DefaultAllocator
	}
	if err := r.parse(data); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", delta.ErrCorrupt, src.Name(), err)
	}
	return r, nil
}

func readAll(src parquetio.Source) ([]byte, error) {
	data := make([]byte, src.Size())
	n, err := src.ReadAt(data, 0)
	if n == len(data) && errors.Is(err, io.EOF) {
		err = nil
	}
	return data, err
}

type stubReader struct {
	name  string
	mem   memory.Allocator
	batch int64 // most rows of a batch, 0: no limit

	names, types []string
	batches      []stubBatch
	rows         int64
}

type stubBatch struct {
	rows    int
	columns []flat
}

func (r *stubReader) parse(data []byte) error {
	d := decoder{b: data}
	if string(d.bytes()) != stubMagic {
		return errors.New("no file of the stub codec")
	}
	n := d.number()
	for i := 0; i < n && d.err == nil; i++ {
		r.names = append(r.names, string(d.bytes()))
		r.types = append(r.types, string(d.bytes()))
	}
	for rows := d.number(); rows > 0 && d.err == nil; rows = d.number() {
		if rows > 8*len(data) {
			return fmt.Errorf("%d rows in %d bytes", rows, len(data))
		}
		b := stubBatch{rows: rows, columns: make([]flat, len(r.names))}
		for i := range b.columns {
			b.columns[i] = d.flat()
		}
		r.batches = append(r.batches, b)
		r.rows += int64(rows)
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.b))
	}
	return d.err
}

func (r *stubReader) NumRows() int64 { return r.rows }

func (r *stubReader) Close() error { return nil }

func (r *stubReader) Batches(ctx context.Context, want *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range r.batches {
			out, err := r.build(b, want)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", r.name, err))
				return
			}
			more := r.slices(out, yield)
			out.Release()
			if !more {
				return
			}
		}
	}
}

// slices yields a batch in pieces of the size asked for.
func (r *stubReader) slices(b arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) bool {
	if r.batch <= 0 || b.NumRows() <= r.batch {
		return yield(b, nil)
	}
	for from := int64(0); from < b.NumRows(); from += r.batch {
		piece := b.NewSlice(from, min(from+r.batch, b.NumRows()))
		more := yield(piece, nil)
		piece.Release()
		if !more {
			return false
		}
	}
	return true
}

func (r *stubReader) build(b stubBatch, want *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, want.NumFields())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, f := range want.Fields() {
		var err error
		if columns[i], err = r.column(b, f); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(want, columns, int64(b.rows)), nil
}

func (r *stubReader) column(b stubBatch, f arrow.Field) (arrow.Array, error) {
	for i, name := range r.names {
		if name != f.Name {
			continue
		}
		if r.types[i] != f.Type.String() {
			return nil, fmt.Errorf("%w: the stub codec converts nothing: column %s is %s, not %s", delta.ErrUnsupported, name, r.types[i], f.Type)
		}
		return b.columns[i].array(f.Type, b.rows)
	}
	return array.MakeArrayOfNull(r.mem, f.Type, b.rows), nil
}

// WriteCheckpoint writes the actions as lines of JSON, whatever the layout.
func (Stub) WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action], _ parquetio.CheckpointLayout) (rows, adds int64, err error) {
	var buf bytes.Buffer
	for a := range actions {
		line, err := checkpointLine(a)
		if err != nil {
			return 0, 0, err
		}
		buf.Write(line)
		rows++
		if a.Add != nil {
			adds++
		}
	}
	_, err = w.Write(buf.Bytes())
	return rows, adds, err
}

// checkpointLine is the line of an action, also of those that no commit has.
func checkpointLine(a delta.Action) ([]byte, error) {
	var own any
	switch {
	case a.CheckpointMetadata != nil:
		own = map[string]any{"checkpointMetadata": map[string]any{"version": a.CheckpointMetadata.Version}}
	case a.Sidecar != nil:
		own = map[string]any{"sidecar": map[string]any{"path": a.Sidecar.Path, "sizeInBytes": a.Sidecar.SizeInBytes, "modificationTime": a.Sidecar.ModificationTime}}
	default:
		return delta.EncodeCommit([]delta.Action{a})
	}
	line, err := json.Marshal(own)
	return append(line, '\n'), err
}

// ReadCheckpoint reads them back.
func (Stub) ReadCheckpoint(_ context.Context, src parquetio.Source, o parquetio.CheckpointOptions, f func(delta.Action) error) error {
	data, err := readAll(src)
	if err != nil {
		return err
	}
	actions, err := delta.DecodeActions(src.Name(), data)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if a.Add != nil && o.SkipStats {
			a.Add.Stats, a.Add.StatsDeferred = "", true
		}
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

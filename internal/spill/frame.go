package spill

import (
	"bufio"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/rows"
)

// frame is one batch in a spill file: an Arrow IPC stream of its own, so that it can be read without those before it.
type frame struct {
	at, size  int64 // in the file
	rows, end int64 // its number of rows, and the buffer's row at which it ends
}

// write appends a batch, in frames that are not too large to be read back one at a time.
func (b *Buffer) write(batch arrow.RecordBatch) error {
	most := b.area.frameBytes()
	pieces := max(1, (batch.NumRows()+frameRows-1)/frameRows, min(batch.NumRows(), (rows.Bytes(batch)+most-1)/most))
	step := (batch.NumRows() + pieces - 1) / pieces
	for lo := int64(0); lo < batch.NumRows(); lo += step {
		piece := batch.NewSlice(lo, min(lo+step, batch.NumRows()))
		err := b.writeFrame(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFrame appends one frame. Where it fails, the file's end is where it was, and the next frame overwrites what was begun.
func (b *Buffer) writeFrame(batch arrow.RecordBatch) error {
	file, done, err := b.open()
	if err != nil {
		return err
	}
	out := &counter{w: io.NewOffsetWriter(file, b.end)}
	err = b.area.writeStream(out, batch)
	if closed := done(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write spill file %s: %w", b.file, err)
	}
	f := frame{at: b.end, size: out.n, rows: batch.NumRows(), end: batch.NumRows()}
	if n := len(b.frames); n > 0 {
		f.end += b.frames[n-1].end
	}
	b.frames = append(b.frames, f)
	b.end += out.n
	b.area.spilled += out.n
	return nil
}

// mostOpen is how many files of an area stay open.
const mostOpen = 64

// open gives the buffer's file to write, a new one the first time, and what to call behind it.
func (b *Buffer) open() (f File, done func() error, err error) {
	switch {
	case b.kept != nil:
		return b.kept, func() error { return nil }, nil
	case b.file != "":
		f, err = b.area.disk().Open(b.file)
		if err != nil {
			return nil, nil, fmt.Errorf("write spill file: %w", err)
		}
		return f, f.Close, nil
	}
	if f, err = b.area.newFile(); err != nil {
		return nil, nil, err
	}
	b.file = f.Name()
	if b.area.open == mostOpen {
		return f, f.Close, nil
	}
	b.area.open++
	b.kept = f
	return f, func() error { return nil }, nil
}

// ioBytes is the most that is read or written at once.
const ioBytes = 64 << 10

// writeStream writes under the area's lock, so that one buffer serves all of its frames.
func (a *Area) writeStream(out io.Writer, batch arrow.RecordBatch) error {
	if a.out == nil {
		a.out = bufio.NewWriterSize(nil, ioBytes)
	}
	buf := a.out
	buf.Reset(out)
	w := ipc.NewWriter(buf, ipc.WithSchema(batch.Schema()), ipc.WithAllocator(a.allocator()), ipc.WithLZ4())
	err := w.Write(batch)
	if e := w.Close(); err == nil {
		err = e
	}
	if e := buf.Flush(); err == nil {
		err = e
	}
	return err
}

// readFrame reads a frame of a file, which is opened if it is not kept open.
func (a *Area) readFrame(name string, file File, f frame) (arrow.RecordBatch, error) {
	if file == nil {
		opened, err := a.disk().Open(name)
		if err != nil {
			return nil, fmt.Errorf("read spill file: %w", err)
		}
		defer opened.Close()
		file = opened
	}
	batch, err := readStream(bufio.NewReaderSize(io.NewSectionReader(file, f.at, f.size), int(min(f.size, ioBytes))), a.allocator())
	if err == nil && batch.NumRows() != f.rows {
		err = fmt.Errorf("%d rows where %d were written", batch.NumRows(), f.rows)
		batch.Release()
	}
	if err != nil {
		return nil, fmt.Errorf("read spill file %s at %d: %w", name, f.at, err)
	}
	return batch, nil
}

func readStream(in io.Reader, mem memory.Allocator) (arrow.RecordBatch, error) {
	r, err := ipc.NewReader(in, ipc.WithAllocator(mem))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	if !r.Next() {
		if err := r.Err(); err != nil {
			return nil, err
		}
		return nil, io.ErrUnexpectedEOF
	}
	batch := r.RecordBatch()
	batch.Retain()
	return batch, nil
}

// counter counts the bytes that reach a file.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

package spill

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// frame is one batch in a spill file: an Arrow IPC stream of its own, so that it can be read without those before it.
type frame struct {
	at, size  int64 // in the file
	rows, end int64 // its number of rows, and the buffer's row at which it ends
}

// write appends one frame. Where it fails, the file's end is where it was, and the next frame overwrites what was begun.
func (b *Buffer) write(batch arrow.RecordBatch) error {
	if b.file == nil {
		f, err := b.area.newFile()
		if err != nil {
			return err
		}
		b.file = f
	}
	out := &counter{w: io.NewOffsetWriter(b.file, b.end)}
	if err := writeStream(out, batch, b.area.allocator()); err != nil {
		return fmt.Errorf("write spill file %s: %w", b.file.Name(), err)
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

func writeStream(out io.Writer, batch arrow.RecordBatch, mem memory.Allocator) error {
	buf := bufio.NewWriterSize(out, 64<<10)
	w := ipc.NewWriter(buf, ipc.WithSchema(batch.Schema()), ipc.WithAllocator(mem), ipc.WithLZ4())
	err := w.Write(batch)
	if e := w.Close(); err == nil {
		err = e
	}
	if e := buf.Flush(); err == nil {
		err = e
	}
	return err
}

func readFrame(file *os.File, f frame, mem memory.Allocator) (arrow.RecordBatch, error) {
	batch, err := readStream(io.NewSectionReader(file, f.at, f.size), mem)
	if err == nil && batch.NumRows() != f.rows {
		err = fmt.Errorf("%d rows where %d were written", batch.NumRows(), f.rows)
		batch.Release()
	}
	if err != nil {
		return nil, fmt.Errorf("read spill file %s at %d: %w", file.Name(), f.at, err)
	}
	return batch, nil
}

func readStream(in io.Reader, mem memory.Allocator) (arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bufio.NewReaderSize(in, 64<<10), ipc.WithAllocator(mem))
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

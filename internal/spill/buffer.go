package spill

import (
	"fmt"
	"iter"
	"os"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/idemtable/idem/internal/rows"
)

// Batches that are spilled together are joined until they have this size, so that a buffer of many small batches makes few frames.
const (
	frameRows  = 16 << 10
	frameBytes = 1 << 20
)

// Buffer is a sequence of batches of one schema, in order, that can be read any number of times. Its fields are guarded by the area's lock.
type Buffer struct {
	area   *Area
	schema *arrow.Schema
	closed bool

	rows, bytes int64

	// The rows in the file come first, then those in memory.
	file   *os.File
	end    int64 // of the last whole frame
	frames []frame

	memory []arrow.RecordBatch
	ends   []int64 // the row number at which each batch in memory ends
	held   int64   // bytes of the batches in memory
}

// Append retains the batch until it is spilled or the buffer closed.
func (b *Buffer) Append(batch arrow.RecordBatch) error {
	b.area.mu.Lock()
	defer b.area.mu.Unlock()
	if b.closed {
		return fmt.Errorf("append to spill buffer: %w", ErrClosed)
	}
	if s := batch.Schema(); s != b.schema && !s.Equal(b.schema) {
		return fmt.Errorf("append to spill buffer: the batch has schema %s, the buffer %s", s, b.schema)
	}
	if batch.NumRows() == 0 {
		return nil
	}
	size := max(rows.Bytes(batch), 1)
	if err := b.area.makeRoom(size); err != nil {
		return err
	}
	if size > b.area.budget {
		if err := b.write(batch); err != nil {
			return err
		}
	} else {
		batch.Retain()
		b.memory = append(b.memory, batch)
		b.ends = append(b.ends, b.rows+batch.NumRows())
		b.held += size
		b.area.held += size
	}
	b.rows += batch.NumRows()
	b.bytes += size
	return nil
}

// Rows is the number of rows appended.
func (b *Buffer) Rows() int64 {
	b.area.mu.Lock()
	defer b.area.mu.Unlock()
	return b.rows
}

// Bytes is the size in memory of the batches appended, wherever they are now.
func (b *Buffer) Bytes() int64 {
	b.area.mu.Lock()
	defer b.area.mu.Unlock()
	return b.bytes
}

// Close releases the batches and removes the buffer's file. Closing again does nothing.
func (b *Buffer) Close() error {
	b.area.mu.Lock()
	defer b.area.mu.Unlock()
	return b.close()
}

func (b *Buffer) close() error {
	delete(b.area.buffers, b)
	b.closed = true
	b.dropMemory()
	if b.file == nil {
		return nil
	}
	f := b.file
	b.file, b.frames = nil, nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close spill file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove spill file: %w", err)
	}
	return nil
}

func (b *Buffer) dropMemory() {
	for _, batch := range b.memory {
		batch.Release()
	}
	b.area.held -= b.held
	b.memory, b.ends, b.held = nil, nil, 0
}

// spill moves the batches in memory to the file: all of them, or none.
func (b *Buffer) spill() error {
	frames, end := len(b.frames), b.end
	for lo := 0; lo < len(b.memory); {
		hi := frameEnd(b.memory, lo)
		if err := b.writeJoined(b.memory[lo:hi]); err != nil {
			b.frames, b.end = b.frames[:frames], end
			return err
		}
		lo = hi
	}
	b.dropMemory()
	return nil
}

// frameEnd is the end of the batches from lo on that make one frame.
func frameEnd(batches []arrow.RecordBatch, lo int) int {
	n, size := int64(0), int64(0)
	hi := lo
	for hi < len(batches) && (hi == lo || n+batches[hi].NumRows() <= frameRows && size+rows.Bytes(batches[hi]) <= frameBytes) {
		n += batches[hi].NumRows()
		size += rows.Bytes(batches[hi])
		hi++
	}
	return hi
}

func (b *Buffer) writeJoined(batches []arrow.RecordBatch) error {
	joined, err := rows.Concat(b.area.allocator(), batches)
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	defer joined.Release()
	return b.write(joined)
}

// Batches yields the rows that the buffer has now, in order; each batch is valid until the next is asked for. After an error nothing
// follows.
func (b *Buffer) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		end := b.Rows()
		for row := int64(0); row < end; {
			batch, err := b.from(row)
			if err != nil {
				yield(nil, err)
				return
			}
			batch = upTo(batch, end-row)
			row += batch.NumRows()
			more := yield(batch, nil)
			batch.Release()
			if !more {
				return
			}
		}
		if end == 0 {
			b.yieldClosed(yield)
		}
	}
}

func (b *Buffer) yieldClosed(yield func(arrow.RecordBatch, error) bool) {
	b.area.mu.Lock()
	closed := b.closed
	b.area.mu.Unlock()
	if closed {
		yield(nil, fmt.Errorf("read spill buffer: %w", ErrClosed))
	}
}

// upTo cuts a batch to at most n rows. It takes over the caller's reference.
func upTo(batch arrow.RecordBatch, n int64) arrow.RecordBatch {
	if batch.NumRows() <= n {
		return batch
	}
	defer batch.Release()
	return batch.NewSlice(0, n)
}

// from gives a batch that begins at a row of the buffer. The row may be in memory now and in the file a moment later, in the
// midst of a frame.
func (b *Buffer) from(row int64) (arrow.RecordBatch, error) {
	b.area.mu.Lock()
	if b.closed {
		b.area.mu.Unlock()
		return nil, fmt.Errorf("read spill buffer: %w", ErrClosed)
	}
	k := sort.Search(len(b.frames), func(k int) bool { return b.frames[k].end > row })
	if k < len(b.frames) {
		f, file := b.frames[k], b.file
		b.area.mu.Unlock()
		batch, err := readFrame(file, f, b.area.allocator())
		if err != nil {
			return nil, err
		}
		return after(batch, row-(f.end-f.rows)), nil
	}
	defer b.area.mu.Unlock()
	k = sort.Search(len(b.ends), func(k int) bool { return b.ends[k] > row })
	batch := b.memory[k]
	batch.Retain()
	return after(batch, row-(b.ends[k]-batch.NumRows())), nil
}

// after cuts the first n rows off a batch. It takes over the caller's reference.
func after(batch arrow.RecordBatch, n int64) arrow.RecordBatch {
	if n == 0 {
		return batch
	}
	defer batch.Release()
	return batch.NewSlice(n, batch.NumRows())
}

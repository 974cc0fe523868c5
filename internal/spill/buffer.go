package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/idemtable/idem/internal/rows"
)

// Batches that are spilled together are joined until they have this size, so that a buffer of many small batches makes few
// frames. A small budget makes smaller ones.
const (
	frameRows      = 16 << 10
	mostFrameBytes = 1 << 20
)

// frameBytes is the size of a frame: one is held while it is read, beside what the area holds.
func (a *Area) frameBytes() int64 { return min(mostFrameBytes, max(a.budget/8, 4<<10)) }

// Buffer is a sequence of batches of one schema, in order, that can be read any number of times. Its fields are guarded by the area's lock.
type Buffer struct {
	area   *Area
	schema *arrow.Schema
	closed bool

	rows, bytes int64

	// The rows in the file come first, then those in memory. A call may have more buffers than a
	// process may have open files, so that only the first of an area stay open.
	file   string
	kept   File  // file, while it stays open; nil opens it for each use
	end    int64 // of the last whole frame
	frames []frame

	memory []arrow.RecordBatch
	ends   []int64 // the row number at which each batch in memory ends
	held   int64   // what the batches in memory cost
}

// columnBytes is what a column of a batch costs beside its values: many small batches cost more than
// their rows.
const columnBytes = 512

// cost is the memory of a batch whose rows have so many bytes.
func cost(batch arrow.RecordBatch, size int64) int64 { return size + columnBytes*batch.NumCols() }

// Schema is that of the buffer's batches.
func (b *Buffer) Schema() *arrow.Schema { return b.schema }

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
	held := cost(batch, size)
	if err := b.area.makeRoom(held); err != nil {
		return err
	}
	if held > b.area.budget {
		if err := b.whole(func() error { return b.write(batch) }); err != nil {
			return err
		}
	} else {
		batch.Retain()
		b.memory = append(b.memory, batch)
		b.ends = append(b.ends, b.rows+batch.NumRows())
		b.held += held
		b.area.held += held
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
	if b.file == "" {
		return nil
	}
	name := b.file
	b.file, b.frames = "", nil
	var errs []error
	if b.kept != nil {
		if err := b.kept.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close spill file: %w", err))
		}
		b.kept = nil
		b.area.open--
	}
	if err := b.area.disk().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, fmt.Errorf("remove spill file: %w", err))
	}
	return errors.Join(errs...)
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
	err := b.whole(func() error {
		for lo := 0; lo < len(b.memory); {
			hi := frameEnd(b.memory, lo, b.area.frameBytes())
			if err := b.writeJoined(b.memory[lo:hi]); err != nil {
				return err
			}
			lo = hi
		}
		return nil
	})
	if err == nil {
		b.dropMemory()
	}
	return err
}

// whole forgets the frames that were written before a failure.
func (b *Buffer) whole(write func() error) error {
	frames, end := len(b.frames), b.end
	err := write()
	if err != nil {
		b.frames, b.end = b.frames[:frames], end
	}
	return err
}

// frameEnd is the end of the batches from lo on that make one frame.
func frameEnd(batches []arrow.RecordBatch, lo int, most int64) int {
	n, size := int64(0), int64(0)
	hi := lo
	for hi < len(batches) && (hi == lo || n+batches[hi].NumRows() <= frameRows && size+rows.Bytes(batches[hi]) <= most) {
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

// At gives a batch that begins at a row of the buffer, which it has. The caller releases it.
func (b *Buffer) At(row int64) (arrow.RecordBatch, error) {
	if row < 0 || row >= b.Rows() {
		return nil, fmt.Errorf("read spill buffer: row %d of %d", row, b.Rows())
	}
	return b.from(row)
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
		f, name, kept := b.frames[k], b.file, b.kept
		b.area.mu.Unlock()
		batch, err := b.area.readFrame(name, kept, f)
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

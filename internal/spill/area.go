// Package spill keeps Arrow record batches set aside on local disk under a memory budget and reads them back in order or by partition.
//
// Batches stay in memory until those of all buffers of an Area exceed its budget; then the largest buffer is written to its own
// temporary file, and so on until the rest fits. A program that dies leaves at most a directory idem-spill-* behind.
//
// Invariants:
//  1. The batches that an Area holds in memory never exceed its budget, whatever the number of buffers. What a batch costs
//     beside its rows counts.
//  2. A buffer gives back the rows it was given, in order, any number of times; batch boundaries may move, and empty batches vanish.
//  3. After a disk error nothing that was appended before is lost, and the batch that met the error is not part of the buffer.
//  4. Close leaves no file.
//
// Concurrency: an Area and its buffers may be used by several goroutines. One buffer appended to while it is read gives the rows it
// had when reading began.
package spill

import (
	"bufio"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ErrClosed is wrapped by every use of an area or a buffer after its Close.
var ErrClosed = errors.New("spill area is closed")

// defaultBudget is the budget of an area made with 0.
const defaultBudget = 512 << 20

// Area is a directory for one operation's spill files, and its budget. Close removes every file of it.
type Area struct {
	// Mem allocates what is read back, joined and split. Set before the first use; nil means the Go allocator.
	Mem memory.Allocator

	// Disk holds the files. Set before the first use; nil means the machine's.
	Disk Disk

	parent string
	budget int64

	mu      sync.Mutex
	dir     string // made when something must spill
	held    int64  // bytes of batches in memory
	spilled int64
	open    int // files that stay open
	out     *bufio.Writer
	buffers map[*Buffer]struct{}
	closed  bool
}

// NewArea makes no file until something must spill. budget is bytes of batches held in memory by all buffers of the area;
// 0 means 512 MiB. dir "" means the system's temporary directory.
func NewArea(dir string, budget int64) *Area {
	if budget <= 0 {
		budget = defaultBudget
	}
	return &Area{parent: dir, budget: budget, buffers: map[*Buffer]struct{}{}}
}

// NewBuffer makes an empty buffer. Its batches have the schema's fields.
func (a *Area) NewBuffer(schema *arrow.Schema) *Buffer {
	b := &Buffer{area: a, schema: schema}
	a.mu.Lock()
	defer a.mu.Unlock()
	b.closed = a.closed
	if !a.closed {
		a.buffers[b] = struct{}{}
	}
	return b
}

// SpilledBytes is how many bytes were written to files so far.
func (a *Area) SpilledBytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spilled
}

// HeldBytes is what the batches in memory cost: their rows, and a sum for each column of each batch.
func (a *Area) HeldBytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// Close closes every buffer and removes every file. Closing again does nothing.
func (a *Area) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	var errs []error
	for b := range a.buffers {
		errs = append(errs, b.close())
	}
	if a.dir != "" {
		if err := a.disk().RemoveAll(a.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove spill directory: %w", err))
		}
		a.dir = ""
	}
	return errors.Join(errs...)
}

func (a *Area) allocator() memory.Allocator {
	if a.Mem == nil {
		return memory.DefaultAllocator
	}
	return a.Mem
}

func (a *Area) disk() Disk {
	if a.Disk == nil {
		return machine{}
	}
	return a.Disk
}

// makeRoom spills until size more bytes fit in the budget or nothing is in memory.
func (a *Area) makeRoom(size int64) error {
	for a.held > 0 && a.held+size > a.budget {
		var largest *Buffer
		for b := range a.buffers {
			if largest == nil || b.held > largest.held {
				largest = b
			}
		}
		if err := largest.spill(); err != nil {
			return err
		}
	}
	return nil
}

// newFile makes a file in the area's directory, and that if need be.
func (a *Area) newFile() (File, error) {
	if a.dir == "" {
		dir, err := a.disk().MkdirTemp(a.parent, "idem-spill-")
		if err != nil {
			return nil, fmt.Errorf("make spill directory: %w", err)
		}
		a.dir = dir
	}
	f, err := a.disk().CreateTemp(a.dir, "buffer-*.arrows")
	if err != nil {
		return nil, fmt.Errorf("make spill file: %w", err)
	}
	return f, nil
}

// Package spill keeps Arrow record batches set aside on local disk under a memory budget and reads them back in order or by partition.
package spill

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Area is a directory for one operation's spill files, and its budget. Close removes every file of it.
type Area struct{}

// NewArea makes no file until something must spill. budget is bytes of batches held in memory by all buffers of the area;
// 0 means 512 MiB. dir "" means the system's temporary directory.
func NewArea(dir string, budget int64) *Area { panic("skeleton") }
func (a *Area) Close() error                 { panic("skeleton") }
func (a *Area) SpilledBytes() int64          { panic("skeleton") }

// Buffer is a sequence of batches of one schema, in order, that can be read any number of times.
type Buffer struct{}

func (a *Area) NewBuffer(schema *arrow.Schema) *Buffer { panic("skeleton") }

// Append retains the batch until it is spilled or the buffer closed.
func (b *Buffer) Append(batch arrow.RecordBatch) error { panic("skeleton") }
func (b *Buffer) Rows() int64                          { panic("skeleton") }
func (b *Buffer) Bytes() int64                         { panic("skeleton") }

// Batches yields the batches in order; each is valid until the next is asked for.
func (b *Buffer) Batches() iter.Seq2[arrow.RecordBatch, error] { panic("skeleton") }
func (b *Buffer) Close() error                                 { panic("skeleton") }

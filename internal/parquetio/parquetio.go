// Package parquetio holds Parquet files in a store: Arrow batches and checkpoint rows, to and from.
//
// It never lists, names, commits or deletes files, and it never starts a goroutine.
//
// Invariants:
//
//  1. No bytes make it panic. A damaged file is an error that wraps [delta.ErrCorrupt] and names the file; a file that
//     needs something idem lacks (encryption, LZO) is an error that wraps [delta.ErrUnsupported].
//  2. Footers, page headers and the sizes in them are parsed here and checked against the file before a library sees
//     the bytes, and before memory of a stated size is taken. The libraries only decode and encode values.
//  3. A batch that a reader yields has exactly the schema that was asked for.
//  4. The same rows in the same batches give the same bytes.
//  5. Embedded Arrow schemas, column indexes, statistics and Bloom filters of files are never read.
//
// A Codec may be used by several goroutines at once; a Writer, a Reader and a sequence of batches by one each.
package parquetio

import (
	"context"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// Codec turns rows into the bytes of a file and back. Parquet is the real one; a simulator brings a stub.
type Codec interface {
	// Ext is the file name's ending with its dot, e.g. ".snappy.parquet".
	Ext(o WriteOptions) string

	// NewWriter writes batches of schema to w. It writes nothing that it cannot take back: the caller aborts w on failure.
	NewWriter(w io.Writer, schema *arrow.Schema, o WriteOptions) (Writer, error)

	// Open reads a data file's footer and checks it against limits. A bad file is an error that wraps delta.ErrCorrupt
	// and names src.
	Open(ctx context.Context, src Source, o ReadOptions) (Reader, error)

	// WriteCheckpoint writes one file of a checkpoint and returns the counts of rows and of adds in it.
	WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action], l CheckpointLayout) (rows, adds int64, err error)

	// ReadCheckpoint calls f for each row. The actions may be kept; equal partition values share one map, which nobody
	// may change.
	ReadCheckpoint(ctx context.Context, src Source, o CheckpointOptions, f func(delta.Action) error) error
}

// Writer writes one data file. Exactly one of Close and Abort ends it.
type Writer interface {
	// Write takes a batch whose columns are those of the schema, in order. The batch stays the caller's.
	Write(batch arrow.RecordBatch) error

	// Bytes is an estimate of the file's size so far, before compression of what is buffered.
	Bytes() int64

	// Close writes what is buffered and the footer. Errors of earlier writes may surface only here.
	Close() error

	// Abort drops what is buffered. Abort after Close does nothing.
	Abort()
}

// Reader reads one data file.
type Reader interface {
	// NumRows is the number of rows in the file.
	NumRows() int64

	// Batches yields all rows, in file order, of the columns of want: a subset of a table's columns in the Arrow types
	// of delta.ArrowType. Columns are found by name, first as spelled, then ignoring case if that is unique, or as
	// ReadOptions.ByID says; missing columns and fields are NULL, physical types are converted, those of a file that is
	// older than a widening of its column's type, too. A variant is put together if the file has it shredded; what is not
	// shredded is not looked into. A batch is valid until the next. An error ends the sequence.
	Batches(ctx context.Context, want *arrow.Schema) iter.Seq2[arrow.RecordBatch, error]

	// Close ends the use of the file.
	Close() error
}

// WriteOptions are for one file.
type WriteOptions struct {
	// Codec is the compression: "snappy", "zstd", "gzip", "none", "uncompressed", "lz4" (written as LZ4_RAW) or
	// "lz4_raw", in any case. "" means snappy.
	Codec string

	// RowGroupRows is the number of rows at which a row group is closed. 0 means 1,048,576.
	RowGroupRows int64

	// PageV2 writes data pages of version 2, as the table property delta.parquet.format.version asks for from 2.0.0 on.
	PageV2 bool

	// Allocator is for buffers. nil means memory.DefaultAllocator.
	Allocator memory.Allocator
}

// ReadOptions are for one file.
type ReadOptions struct {
	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch may be smaller.
	BatchRows int

	// Exact refuses a timestamp with digits below the microsecond, with an error that wraps delta.ErrInput; otherwise
	// it is cut to the microsecond before it, as the tables' readers agree.
	Exact bool

	// ByID finds the wanted columns and fields that have an id (the key "PARQUET:field_id" of their Arrow metadata) by
	// the field_id of the file's columns, at every level, whatever their names; an id that the file lacks is NULL. Those
	// without an id are found by name. A file without any field_id is an error that wraps delta.ErrCorrupt: its columns
	// cannot be told, and reading them as NULL would lose them.
	ByID bool

	// Skip is asked before each row group, in file order: true leaves its rows, n from row first on, out. nil skips
	// none. A codec without row groups need not ask.
	Skip func(first, n int64) bool

	// Allocator is for the batches. nil means memory.DefaultAllocator.
	Allocator memory.Allocator
}

// CheckpointOptions are for one file of a checkpoint that is read.
type CheckpointOptions struct {
	// SkipStats leaves add.stats unread and sets StatsDeferred.
	SkipStats bool

	// Allocator is for buffers. nil means memory.DefaultAllocator.
	Allocator memory.Allocator
}

// Source is a file's bytes.
type Source interface {
	io.ReaderAt

	// Size is the file's length as its user knows it.
	Size() int64

	// Name is for messages.
	Name() string
}

// Parquet is the real Codec.
type Parquet struct{}

var _ Codec = Parquet{}

type codecKey struct{}

// WithCodec lets a simulator bring its codec.
func WithCodec(ctx context.Context, c Codec) context.Context {
	return context.WithValue(ctx, codecKey{}, c)
}

// From gives the codec of WithCodec, or Parquet.
func From(ctx context.Context) Codec {
	if c, ok := ctx.Value(codecKey{}).(Codec); ok && c != nil {
		return c
	}
	return Parquet{}
}

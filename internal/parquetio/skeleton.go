// Package parquetio holds Parquet files in a store: Arrow batches and checkpoint rows, to and from.
package parquetio

import (
	"context"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// Codec turns rows into the bytes of a file and back. Parquet is the real one; a simulator brings a stub.
type Codec interface {
	// Ext is the file name's ending with its dot, e.g. ".snappy.parquet".
	Ext(o WriteOptions) string

	// NewWriter writes batches of schema to w. It writes nothing that it cannot take back: the caller aborts w on failure.
	NewWriter(w io.Writer, schema *arrow.Schema, o WriteOptions) (Writer, error)

	// Open reads a data file's footer and checks it against limits. A bad file is an error that wraps delta.ErrCorrupt and names src.
	Open(ctx context.Context, src Source, o ReadOptions) (Reader, error)

	// WriteCheckpoint writes one classic checkpoint file and returns the counts of rows and of adds in it.
	WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action]) (rows, adds int64, err error)

	// ReadCheckpoint calls f for each row. With stats false add.stats is not read and StatsDeferred is set.
	ReadCheckpoint(ctx context.Context, src Source, stats bool, f func(delta.Action) error) error
}

// Writer writes one data file.
type Writer interface {
	Write(batch arrow.RecordBatch) error
	// Bytes is an estimate of the file's size so far, before compression of what is buffered.
	Bytes() int64
	Close() error
	Abort()
}

// Reader reads one data file.
type Reader interface {
	NumRows() int64
	// Batches yields the columns of want (a subset of a table's columns in Arrow types of delta.ArrowType) in file order: by
	// name, missing columns and fields as NULL, physical types converted. Batches are valid until the next. skip, if not nil, is
	// asked with the row range of a row group and may say that no row of it is wanted.
	Batches(ctx context.Context, want *arrow.Schema) iter.Seq2[arrow.RecordBatch, error]
	Close() error
}

// WriteOptions are for one file.
type WriteOptions struct {
	Codec        string // compression: "", "snappy", "zstd", "gzip", "none", "lz4_raw"; "" is snappy
	RowGroupRows int64  // 0 means 1,048,576
	Allocator    memory.Allocator
}

// ReadOptions are for one file.
type ReadOptions struct {
	BatchRows int // 0 means 65,536
	Allocator memory.Allocator
}

// Source is a file's bytes.
type Source interface {
	io.ReaderAt
	Size() int64
	Name() string
}

// Object is a Source over a store. Small objects are fetched whole at the first read. size is what the log says; another size is
// delta.ErrCorrupt naming the file.
func Object(ctx context.Context, st store.Store, key string, size int64) Source { panic("skeleton") }

// Parquet is the real Codec.
type Parquet struct{}

// WithCodec lets a simulator bring its codec; From gives it back, Parquet by default.
func WithCodec(ctx context.Context, c Codec) context.Context { panic("skeleton") }
func From(ctx context.Context) Codec                         { panic("skeleton") }

package parquetio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

const (
	defaultRowGroupRows = 1 << 20
	// createdBy has the form that readers parse: without it some distrust the statistics of strings.
	createdBy = "idem version 1 (build 0)"
)

var errClosed = errors.New("the writer is closed")

// compressions are the codecs that can be written, with what a file's name says of them.
var compressions = map[string]struct {
	codec compress.Compression
	ext   string
}{
	"":             {compress.Codecs.Snappy, ".snappy.parquet"},
	"snappy":       {compress.Codecs.Snappy, ".snappy.parquet"},
	"zstd":         {compress.Codecs.Zstd, ".zstd.parquet"},
	"gzip":         {compress.Codecs.Gzip, ".gz.parquet"},
	"none":         {compress.Codecs.Uncompressed, ".parquet"},
	"uncompressed": {compress.Codecs.Uncompressed, ".parquet"},
	"lz4":          {compress.Codecs.Lz4Raw, ".lz4raw.parquet"},
	"lz4_raw":      {compress.Codecs.Lz4Raw, ".lz4raw.parquet"},
}

// FormatVersion reads the table property delta.parquet.format.version: 1.0.0, or 2.x.y, from which on data pages have
// version 2. ok is false for what is neither.
func FormatVersion(text string) (pageV2, ok bool) {
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if _, err := strconv.ParseUint(p, 10, 16); err != nil {
			return false, false
		}
	}
	return parts[0] == "2", len(parts) == 3 && parts[0] == "2" || text == "1.0.0"
}

// Ext is the file name's ending. That of an unknown codec is ".parquet"; NewWriter refuses it.
func (Parquet) Ext(o WriteOptions) string {
	if c, ok := compressions[strings.ToLower(o.Codec)]; ok {
		return c.ext
	}
	return ".parquet"
}

// NewWriter starts a data file. Columns and fields of Arrow's null type are left out, as the protocol has it for void.
// Variants are written as they are, not shredded; one that is malformed is refused by Write with an error that wraps
// delta.ErrInput.
func (Parquet) NewWriter(w io.Writer, schema *arrow.Schema, o WriteOptions) (Writer, error) {
	c, ok := compressions[strings.ToLower(o.Codec)]
	if !ok {
		return nil, fmt.Errorf("%w: compression codec %q; use snappy, zstd, gzip, lz4_raw or none", delta.ErrUnsupported, o.Codec)
	}
	root, leaves, err := fileSchema(schema)
	if err != nil {
		return nil, err
	}
	wr := &writer{sink: &sink{w: w}, schema: schema, leaves: leaves, root: root, codec: c.codec, groupRows: o.RowGroupRows,
		pageV2: o.PageV2, variants: variantColumns(schema), mem: o.Allocator}
	if wr.groupRows <= 0 {
		wr.groupRows = defaultRowGroupRows
	}
	if wr.mem == nil {
		wr.mem = memory.DefaultAllocator
	}
	return wr, nil
}

// sink hides that the caller's writer can be closed, and keeps its first error: a library may lose it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

// writer writes a data file. The file is started when sampleRows rows are there, or at the end: their values decide
// which columns get a dictionary.
type writer struct {
	sink      *sink
	schema    *arrow.Schema
	root      fileRoot
	leaves    []leafWriter
	codec     compress.Compression
	groupRows int64
	pageV2    bool
	variants  []int // columns that hold variants at any depth
	mem       memory.Allocator

	pending     []arrow.RecordBatch
	pendingRows int64

	file  *file.Writer
	group file.BufferedRowGroupWriter
	rows  int64 // in the open row group

	broken file.BufferedRowGroupWriter // a row group whose Close failed
	err    error
	done   bool
}

func (w *writer) Write(batch arrow.RecordBatch) error {
	if w.done {
		return errClosed
	}
	if w.err != nil {
		return w.err
	}
	if err := w.checkBatch(batch); err != nil {
		return err
	}
	for _, c := range w.variants {
		if err := checkVariants(batch.Column(c), w.schema.Field(c)); err != nil {
			return err
		}
	}
	if batch.NumRows() == 0 {
		return nil
	}
	if len(w.leaves) == 0 {
		return fmt.Errorf("%w: %d rows of a file that has no column: no row of them would be in it", delta.ErrUnsupported, batch.NumRows())
	}
	w.err = w.guard(func() error {
		if w.file != nil {
			return w.write(batch)
		}
		batch.Retain()
		w.pending = append(w.pending, batch)
		if w.pendingRows += batch.NumRows(); w.pendingRows < sampleRows {
			return nil
		}
		return w.start()
	})
	return w.err
}

func (w *writer) checkBatch(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != w.schema.NumFields() {
		return fmt.Errorf("write Parquet: a batch of %d columns for a schema of %d", batch.NumCols(), w.schema.NumFields())
	}
	for i, f := range w.schema.Fields() {
		if got := batch.Column(i).DataType(); !arrow.TypeEqual(got, f.Type) {
			return fmt.Errorf("write Parquet: column %s is %s in a batch and %s in the schema", f.Name, got, f.Type)
		}
	}
	return nil
}

// guard turns a library's panic into an error and prefers what the sink said to what became of it.
func (w *writer) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if w.sink.err != nil {
			err = w.sink.err
		}
		if err != nil {
			err = fmt.Errorf("write Parquet: %w", err)
		}
	}()
	return f()
}

// start opens the file and writes the pending batches.
func (w *writer) start() error {
	defer w.dropPending()
	opts := []parquet.WriterProperty{
		parquet.WithAllocator(w.mem),
		parquet.WithCreatedBy(createdBy),
		parquet.WithCompression(w.codec),
		parquet.WithDictionaryDefault(false),
		parquet.WithMaxRowGroupLength(w.groupRows),
		parquet.WithRootName("schema"),
		parquet.WithRootRepetition(parquet.Repetitions.Required),
	}
	if w.pageV2 {
		opts = append(opts, parquet.WithDataPageVersion(parquet.DataPageV2))
	}
	for i, l := range w.leaves {
		if l.repeats(w.pending) {
			opts = append(opts, parquet.WithDictionaryFor(w.root.path(i), true))
		}
		if l.noBounds {
			opts = append(opts, parquet.WithStatsFor(w.root.path(i), false))
		}
	}
	f, err := file.NewParquetWriterWithError(w.sink, w.root.group, file.WithWriterProps(parquet.NewWriterProperties(opts...)))
	if err != nil {
		return err
	}
	w.file = f
	for _, b := range w.pending {
		if err := w.write(b); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) dropPending() {
	for _, b := range w.pending {
		b.Release()
	}
	w.pending, w.pendingRows = nil, 0
}

// write writes a batch, in parts if it spans row groups.
func (w *writer) write(batch arrow.RecordBatch) error {
	for off := int64(0); off < batch.NumRows(); {
		if w.group == nil {
			if n := w.file.NumRowGroups(); n >= min(maxRowGroups, maxChunks/len(w.leaves)) {
				return beyond(fmt.Sprintf("%d row groups of %d columns", n+1, len(w.leaves)), int64(n), fewerChunks)
			}
			g, err := w.file.AppendBufferedRowGroupChecked()
			if err != nil {
				return err
			}
			w.group, w.rows = g, 0
		}
		n := min(batch.NumRows()-off, w.groupRows-w.rows)
		part := batch.NewSlice(off, off+n)
		err := w.writePart(part)
		part.Release()
		if err != nil {
			return err
		}
		off += n
		if w.rows += n; w.rows == w.groupRows {
			if err := w.closeGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) writePart(part arrow.RecordBatch) error {
	for i := range w.leaves {
		l := &w.leaves[i]
		cw, err := w.group.Column(i)
		if err != nil {
			return err
		}
		if err := l.write(cw, part.Column(l.column)); err != nil {
			return fmt.Errorf("column %s: %w", w.root.path(i), err)
		}
	}
	return nil
}

func (w *writer) closeGroup() error {
	if w.group == nil {
		return nil
	}
	g := w.group
	w.group = nil
	err := g.Close()
	if err != nil {
		w.broken = g
	}
	return err
}

func (w *writer) Bytes() int64 {
	n := int64(0)
	for _, b := range w.pending {
		n += rows.Bytes(b)
	}
	if w.file == nil || w.done {
		return n
	}
	n += w.file.TotalBytesWritten()
	if w.group == nil {
		return n
	}
	for i := range w.leaves {
		cw, err := w.group.Column(i)
		if err != nil {
			return n
		}
		n += cw.TotalCompressedBytes()
		if b, ok := cw.(interface{ EstimatedBufferedValueBytes() int64 }); ok {
			n += b.EstimatedBufferedValueBytes()
		}
	}
	return n
}

func (w *writer) Close() error {
	if w.done {
		return errClosed
	}
	if w.err != nil {
		err := w.err
		w.Abort()
		return err
	}
	err := w.guard(func() error {
		if w.file == nil {
			if err := w.start(); err != nil {
				return err
			}
		}
		if err := w.closeGroup(); err != nil {
			return err
		}
		data := w.file.TotalBytesWritten()
		if err := w.file.Close(); err != nil {
			return err
		}
		return w.checkFile(w.file.TotalBytesWritten() - data)
	})
	if err != nil {
		w.Abort()
		return err
	}
	w.done = true
	return nil
}

// checkFile refuses a file that nobody could read again: one whose footer is too long, or whose longest row has too many
// values.
func (w *writer) checkFile(footer int64) error {
	if footer > maxFooterBytes {
		return beyond(fmt.Sprintf("a footer of %d bytes", footer), maxFooterBytes, fewerChunks)
	}
	for i := range w.leaves {
		if n := w.leaves[i].longest; int64(n) > min(rowLevels+w.file.TotalBytesWritten(), math.MaxInt32)-leafStep {
			return fmt.Errorf("column %s: %w: a row of %d values, of which idem reads about %d", w.root.path(i), delta.ErrInput, n, rowLevels)
		}
	}
	return nil
}

// Abort finishes the file into nowhere, which is how the library gives its buffers back.
func (w *writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.dropPending()
	if w.file == nil {
		return
	}
	w.sink.w, w.sink.err = io.Discard, nil
	_ = w.guard(func() error { return errors.Join(w.closeGroup(), w.file.Close()) })
	w.releaseBroken()
}

// releaseBroken closes the columns that the library left open when closing their row group failed, and gives back the
// encoder of the one that failed.
func (w *writer) releaseBroken() {
	if w.broken == nil {
		return
	}
	for i := range w.leaves {
		_ = w.guard(func() error {
			cw, err := w.broken.Column(i)
			if err != nil {
				return err
			}
			err = cw.Close()
			if e := cw.CurrentEncoder(); e != nil {
				e.Release()
			}
			return err
		})
	}
}

package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// ParquetOptions are how Parquet files are read and written. The zero ParquetOptions are safe.
type ParquetOptions struct {
	_ struct{}

	// Columns names the columns that are read or written, in this order. nil means all.
	Columns []string

	// Compression of what is written: "snappy", "zstd", "gzip", "lz4_raw" or "none". "" means snappy.
	Compression string

	// RowGroupRows is the number of rows at which a row group is closed in what is written. 0 means
	// 1,048,576.
	RowGroupRows int64

	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch has fewer once its
	// values are 32 MiB.
	BatchRows int

	// Allocator makes Arrow buffers. nil is the Go allocator.
	Allocator memory.Allocator
}

func (o *ParquetOptions) check() error {
	if o.RowGroupRows < 0 {
		return inputErrorf("ParquetOptions.RowGroupRows is negative (%d)", o.RowGroupRows)
	}
	return checkBatchRows(o.BatchRows)
}

// Parquet reads Parquet files; its schema is the first file's. All files must have the same columns
// with the same types, in any order.
//
// Unsigned integers are read in the next wider type, timestamps of every unit and INT96 as
// microseconds (digits below them must be 0), lists and maps of every layout. Columns of types that no
// table has (unsigned integers of 64 bits, times of day, intervals, half floats, UUIDs and others) are
// an error that names them, unless Columns leaves them out. The files must be such that can be read
// at any place (io.ReaderAt), as those of a disk and of embed are.
//
// Errors: [delta.ErrInput] for such columns, for files that differ, and for damaged files, with the
// file; a file that cannot be read is the error of its file system. The footer of the first file is
// read at once, all else by Next.
func Parquet(files Files, o ParquetOptions) (*Rereader, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &parquetSource{options: o}
	var err error
	if s.files, err = files.list(); err != nil {
		return nil, err
	}
	f, err := s.open(s.files.names[0])
	if err != nil {
		return nil, err
	}
	defer f.close()
	if s.schema, err = f.schema(o.Columns); err != nil {
		return nil, err
	}
	return newRereader(s.schema, s), nil
}

// parquetSource reads files one after the other.
type parquetSource struct {
	options ParquetOptions
	files   *fileList
	schema  *arrow.Schema

	opened int
	file   *parquetFile
}

// parquetFile is an open file.
type parquetFile struct {
	fs.File
	io.ReaderAt
	name   string
	size   int64
	reader parquetio.Reader

	pull func() (arrow.RecordBatch, error, bool)
	stop func()
}

// Name and Size are what parquetio wants to know of a file.
func (f *parquetFile) Name() string { return f.name }
func (f *parquetFile) Size() int64  { return f.size }

func (s *parquetSource) open(name string) (_ *parquetFile, err error) {
	file, err := s.files.open(name)
	if err != nil {
		return nil, err
	}
	f := &parquetFile{File: file, name: name}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f.size = info.Size()
	var ok bool
	if f.ReaderAt, ok = file.(io.ReaderAt); !ok {
		return nil, inputErrorf("file %s: its file system reads files from the start only (%T has no ReadAt); copy it to a disk", name, file)
	}
	if err := f.isParquet(); err != nil {
		return nil, err
	}
	f.reader, err = parquetio.Parquet{}.Open(context.Background(), f, parquetio.ReadOptions{BatchRows: s.options.BatchRows, Exact: true, Allocator: s.options.Allocator})
	return f, f.explain(err)
}

// isParquet looks at the end of a file, which says that it is whole.
func (f *parquetFile) isParquet() error {
	const magic = 4
	tail := make([]byte, magic)
	if f.size >= 3*magic {
		if n, err := f.ReadAt(tail, f.size-magic); n < magic {
			return fmt.Errorf("read %s: %w", f.name, cmp.Or(err, io.ErrUnexpectedEOF))
		}
	}
	if text := string(tail); text != "PAR1" && text != "PARE" {
		return inputErrorf("file %s: it does not end as a Parquet file; it was cut short, or is something else", f.name)
	}
	return nil
}

// explain makes an error of the input out of one that speaks of a table's file. Errors of reading the
// file stay what they are.
func (f *parquetFile) explain(err error) error {
	for sentinel, says := range map[error]string{
		delta.ErrInput:       "",
		delta.ErrCorrupt:     "it is damaged, or no Parquet file of a kind that is read: ",
		delta.ErrUnsupported: "it needs what idem lacks: ",
	} {
		if errors.Is(err, sentinel) {
			return inputErrorf("file %s: %s", f.name, strings.ReplaceAll(err.Error(), sentinel.Error()+": ", says))
		}
	}
	return err
}

func (f *parquetFile) close() {
	if f.stop != nil {
		f.stop()
	}
	f.Close()
}

// schema gives the columns of the file that are named, all of them nullable: whether they hold NULL
// is for the table to judge.
func (f *parquetFile) schema(names []string) (*arrow.Schema, error) {
	s, others, err := parquetio.Schema(f.reader)
	if err != nil {
		return nil, f.explain(err)
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if names == nil || slices.ContainsFunc(names, func(n string) bool { return foldName(n) == foldName(name) }) {
			return nil, inputErrorf("file %s, column %q: %s, which no table type holds; convert it, or leave it out by ParquetOptions.Columns", f.name, name, others[name])
		}
	}
	if s, err = selected(s, names, "ParquetOptions.Columns"); err != nil {
		return nil, fmt.Errorf("file %s: %w", f.name, err)
	}
	if s.NumFields() == 0 {
		return nil, inputErrorf("file %s: it has no columns", f.name)
	}
	return arrow.NewSchema(nullableFields(s.Fields()), nil), nil
}

// nullableFields allows NULL at every level.
func nullableFields(fields []arrow.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: nullableType(f.Type), Nullable: true}
	}
	return out
}

func nullableType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(nullableFields(t.Fields())...)
	case *arrow.ListType:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: nullableType(t.Elem()), Nullable: true})
	case *arrow.MapType:
		return arrow.MapOf(nullableType(t.KeyType()), nullableType(t.ItemType()))
	}
	return t
}

func (s *parquetSource) next() (arrow.RecordBatch, error) {
	for {
		if s.file == nil {
			if s.opened == len(s.files.names) {
				return nil, io.EOF
			}
			if err := s.begin(s.files.names[s.opened]); err != nil {
				return nil, err
			}
			s.opened++
		}
		batch, err, ok := s.file.pull()
		switch {
		case err != nil:
			return nil, s.file.explain(err)
		case ok:
			batch.Retain()
			return batch, nil
		}
		s.close()
	}
}

// begin opens a file and compares its columns with those of the rows.
func (s *parquetSource) begin(name string) error {
	f, err := s.open(name)
	if err != nil {
		return err
	}
	if err := s.sameAsFirst(f); err != nil {
		f.close()
		return err
	}
	f.pull, f.stop = iter.Pull2(f.reader.Batches(context.Background(), s.schema))
	s.file = f
	return nil
}

func (s *parquetSource) sameAsFirst(f *parquetFile) error {
	schema, err := f.schema(s.options.Columns)
	if err != nil {
		return err
	}
	first := s.files.names[0]
	if schema.NumFields() != s.schema.NumFields() {
		return inputErrorf("file %s: it has the columns %s, and %s has %s; files that are read together have the same columns", f.name, columnNames(schema), first, columnNames(s.schema))
	}
	for _, want := range s.schema.Fields() {
		at := findColumn(schema.Fields(), want.Name)
		if at < 0 {
			return inputErrorf("file %s: it has no column %q, and %s has; files that are read together have the same columns", f.name, want.Name, first)
		}
		if got := schema.Field(at).Type; !arrow.TypeEqual(got, want.Type) {
			return inputErrorf("file %s: column %q is %s, and in %s it is %s; read the files one by one, or convert one", f.name, want.Name, got, first, want.Type)
		}
	}
	return nil
}

func (s *parquetSource) close() {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
}

func (s *parquetSource) rewind() error {
	s.opened = 0
	return nil
}

// WriteParquet writes rows, as idem's Table.Scan makes them, as a Parquet file, and gives their
// number. The columns are those of the schema, in its order, but for void ones, which a file cannot
// hold; batches may have more. [Parquet] reads the same rows.
//
// Errors: [delta.ErrInput] for types that no table has, and for NULL where the schema has none. An error of the sequence or of the writer is
// handed on as it is; then the file is not whole.
func WriteParquet(w io.Writer, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], o ParquetOptions) (n int64, err error) {
	if err := cmp.Or(checkTypes(schema, false, "Parquet"), o.check()); err != nil {
		return 0, err
	}
	if w == nil || rows == nil {
		return 0, inputErrorf("writing rows needs a writer and a sequence of batches; one of them is nil")
	}
	if schema, err = selected(schema, o.Columns, "ParquetOptions.Columns"); err != nil {
		return 0, err
	}
	out, err := parquetio.Parquet{}.NewWriter(w, schema, parquetio.WriteOptions{Codec: o.Compression, RowGroupRows: o.RowGroupRows, Allocator: o.Allocator})
	if errors.Is(err, delta.ErrUnsupported) {
		return 0, inputErrorf("%s", strings.ReplaceAll(err.Error(), delta.ErrUnsupported.Error(), "Parquet files are not written with it"))
	} else if err != nil {
		return 0, err
	}
	defer out.Abort()
	for batch, err := range rows {
		if err != nil {
			return n, brokenOff(err)
		}
		if err := writeProjected(out, batch, schema); err != nil {
			return n, err
		}
		n += batch.NumRows()
	}
	return n, out.Close()
}

func writeProjected(out parquetio.Writer, batch arrow.RecordBatch, schema *arrow.Schema) error {
	columns, err := projected(batch, schema)
	if err != nil {
		return err
	}
	b := array.NewRecordBatch(schema, columns, batch.NumRows())
	defer b.Release()
	return out.Write(b)
}

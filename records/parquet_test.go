package records_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

// foreign writes a Parquet file as another writer might, of one row group with required columns.
func foreign(t testing.TB, nodes schema.FieldList, columns ...any) string {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := file.NewParquetWriterWithError(&out, root)
	require.NoError(t, err)
	g, err := w.AppendRowGroupChecked()
	require.NoError(t, err)
	for _, values := range columns {
		c, err := g.NextColumn()
		require.NoError(t, err)
		switch v := values.(type) {
		case []int32:
			_, err = c.(*file.Int32ColumnChunkWriter).WriteBatch(v, nil, nil)
		case []int64:
			_, err = c.(*file.Int64ColumnChunkWriter).WriteBatch(v, nil, nil)
		case []parquet.Int96:
			_, err = c.(*file.Int96ColumnChunkWriter).WriteBatch(v, nil, nil)
		case []parquet.ByteArray:
			_, err = c.(*file.ByteArrayColumnChunkWriter).WriteBatch(v, nil, nil)
		}
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	require.NoError(t, w.Close())
	return out.String()
}

func prim(name string, typ parquet.Type) schema.Node {
	return schema.MustPrimitive(schema.NewPrimitiveNode(name, parquet.Repetitions.Required, typ, -1, -1))
}

func logical(name string, l schema.LogicalType, typ parquet.Type) schema.Node {
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, l, typ, -1, -1))
}

func int96(julian uint32, nanos uint64) (v parquet.Int96) {
	for i := range 8 {
		v[i] = byte(nanos >> (8 * i))
	}
	for i := range 4 {
		v[8+i] = byte(julian >> (8 * i))
	}
	return v
}

// ours writes rows given as JSON as a Parquet file.
func ours(t testing.TB, s *arrow.Schema, rows string) string {
	t.Helper()
	b := fromJSON(t, memory.NewGoAllocator(), s, rows)
	var out bytes.Buffer
	n, err := records.WriteParquet(&out, s, seqOf(b), records.ParquetOptions{Allocator: checked(t)})
	require.NoError(t, err)
	require.Equal(t, b.NumRows(), n)
	return out.String()
}

// TestParquetTypes: what other writers have for a column, and as which type it is read.
func TestParquetTypes(t *testing.T) {
	i32s, i64s, i96s, bytes := parquet.Types.Int32, parquet.Types.Int64, parquet.Types.Int96, parquet.Types.ByteArray
	utc := func(unit schema.TimeUnitType, adjusted bool) schema.LogicalType {
		return schema.NewTimestampLogicalType(adjusted, unit)
	}
	for _, c := range []struct {
		why    string
		node   schema.Node
		values any
		want   arrow.DataType
		row    string
	}{
		{"a plain integer", prim("x", i32s), []int32{-1}, i32, "-1"},
		{"8 bits", logical("x", schema.NewIntLogicalType(8, true), i32s), []int32{-128}, arrow.PrimitiveTypes.Int8, "-128"},
		{"16 bits", logical("x", schema.NewIntLogicalType(16, true), i32s), []int32{-5}, arrow.PrimitiveTypes.Int16, "-5"},
		{"32 bits, said", logical("x", schema.NewIntLogicalType(32, true), i32s), []int32{-5}, i32, "-5"},
		{"64 bits, said", logical("x", schema.NewIntLogicalType(64, true), i64s), []int64{-5}, i64, "-5"},
		{"unsigned of 8 bits", logical("x", schema.NewIntLogicalType(8, false), i32s), []int32{255}, arrow.PrimitiveTypes.Int16, "255"},
		{"unsigned of 16 bits", logical("x", schema.NewIntLogicalType(16, false), i32s), []int32{65535}, i32, "65535"},
		{"unsigned of 32 bits", logical("x", schema.NewIntLogicalType(32, false), i32s), []int32{-1}, i64, "4294967295"},
		{"strings", logical("x", schema.StringLogicalType{}, bytes), []parquet.ByteArray{[]byte("a")}, text, "a"},
		{"JSON", logical("x", schema.JSONLogicalType{}, bytes), []parquet.ByteArray{[]byte("{}")}, text, "{}"},
		{"bytes", prim("x", bytes), []parquet.ByteArray{[]byte("hi")}, bin, "aGk="},
		{"dates", logical("x", schema.DateLogicalType{}, i32s), []int32{0}, date, "1970-01-01"},
		{"milliseconds", logical("x", utc(schema.TimeUnitMillis, true), i64s), []int64{-1}, ts, "1969-12-31T23:59:59.999Z"},
		{"microseconds without zone", logical("x", utc(schema.TimeUnitMicros, false), i64s), []int64{1}, ntz, "1970-01-01T00:00:00.000001"},
		{"nanoseconds that are whole microseconds", logical("x", utc(schema.TimeUnitNanos, true), i64s), []int64{-1000}, ts, "1969-12-31T23:59:59.999999Z"},
		{"INT96", prim("x", i96s), []parquet.Int96{int96(2440588, 1000)}, ts, "1970-01-01T00:00:00.000001Z"},
		{"decimals", logical("x", schema.NewDecimalLogicalType(9, 2), i32s), []int32{-150}, decimalOf(9, 2), "-1.50"},
	} {
		t.Run(c.why, func(t *testing.T) {
			rows, err := records.Parquet(in(map[string]string{"f": foreign(t, schema.FieldList{c.node}, c.values)}, "f"), records.ParquetOptions{Allocator: checked(t)})
			require.NoError(t, err)
			defer rows.Release()
			require.True(t, schemaOf(field("x", c.want)).Equal(rows.Schema()), rows.Schema().String())
			require.Equal(t, []string{c.row}, lines(t, rows))
		})
	}
}

// TestParquetTypeErrors: what no table holds is named, and may be left out.
func TestParquetTypeErrors(t *testing.T) {
	i32s, i64s := parquet.Types.Int32, parquet.Types.Int64
	for _, c := range []struct {
		why    string
		node   schema.Node
		values any
		want   string
	}{
		{"unsigned of 64 bits", logical("x", schema.NewIntLogicalType(64, false), i64s), []int64{1}, `file f, column "x": x is INT64 as unsigned integer, which no table type holds; convert it, or leave it out by ParquetOptions.Columns`},
		{"times of day", logical("x", schema.NewTimeLogicalType(true, schema.TimeUnitMillis), i32s), []int32{1}, `x is INT32 with an annotation that no table type has`},
		{"nested", schema.MustGroup(schema.NewGroupNode("x", parquet.Repetitions.Required, schema.FieldList{logical("t", schema.NewTimeLogicalType(true, schema.TimeUnitMillis), i32s)}, -1)), []int32{1}, `column "x": x.t is INT32 with an annotation`},
	} {
		t.Run(c.why, func(t *testing.T) {
			files := in(map[string]string{"f": foreign(t, schema.FieldList{c.node, prim("id", i64s)}, c.values, []int64{7})}, "f")
			for _, columns := range [][]string{nil, {"ID", "X"}} {
				_, err := records.Parquet(files, records.ParquetOptions{Columns: columns})
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, c.want)
			}
			rows, err := records.Parquet(files, records.ParquetOptions{Columns: []string{"ID"}, Allocator: checked(t)})
			require.NoError(t, err)
			defer rows.Release()
			require.Equal(t, []string{"7"}, lines(t, rows))
		})
	}
	for why, c := range map[string]struct {
		node   schema.Node
		values any
	}{
		"nanoseconds":             {logical("x", schema.NewTimestampLogicalType(true, schema.TimeUnitNanos), i64s), []int64{-1}},
		"nanoseconds of an INT96": {prim("x", parquet.Types.Int96), []parquet.Int96{int96(2440588, 999)}},
	} {
		rows, err := records.Parquet(in(map[string]string{"f": foreign(t, schema.FieldList{c.node}, c.values)}, "f"), records.ParquetOptions{Allocator: checked(t)})
		require.NoError(t, err, why)
		require.Contains(t, failure(t, rows, nil), `break a rule: file f: read f, row group 0: column x: a timestamp ends in 999 nanoseconds`, why)
	}
}

func TestParquetFiles(t *testing.T) {
	s := schemaOf(field("id", i64), field("s", text))
	other := schemaOf(field("S", text), field("ID", i64))
	files := map[string]string{
		"a.parquet": ours(t, s, `[{"id":1,"s":"a"},{"id":null,"s":"b"}]`), "b.parquet": ours(t, other, `[{"ID":3,"S":null}]`), "c.parquet": ours(t, s, `[]`),
	}
	rows, err := records.Parquet(in(files, "*.parquet"), records.ParquetOptions{Allocator: checked(t), BatchRows: 1})
	require.NoError(t, err)
	defer rows.Release()
	for range 2 {
		require.Equal(t, []string{"1|a", "-|b", "3|-"}, lines(t, rows))
		require.NoError(t, rows.Rewind(t.Context()))
	}
	require.True(t, rows.Next()) // and the file stays open until Release

	some, err := records.Parquet(in(files, "*.parquet"), records.ParquetOptions{Allocator: checked(t), Columns: []string{"S"}})
	require.NoError(t, err)
	defer some.Release()
	require.Equal(t, []string{"a", "b", "-"}, lines(t, some))
}

// streamed is a file system whose files are read from the start only.
type streamed struct{ fs.FS }

func (s streamed) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func TestParquetFileErrors(t *testing.T) {
	s := schemaOf(field("id", i64), field("s", text))
	good := ours(t, s, `[{"id":1,"s":"a"}]`)
	damaged := []byte(good)
	copy(damaged[20:], bytes.Repeat([]byte{0xff}, 20))
	files := map[string]string{
		"a": good, "type": ours(t, schemaOf(field("id", i32), field("s", text)), `[]`), "less": ours(t, schemaOf(field("id", i64)), `[]`),
		"other": ours(t, schemaOf(field("id", i64), field("t", text)), `[]`), "short": good[:len(good)-5], "text": "id,s\n1,a\n", "empty": "",
		"damaged": string(damaged), "footer": "PAR1" + strings.Repeat("x", 30) + "\x10\x00\x00\x00PAR1", "encrypted": strings.Repeat("x", 30) + "PARE",
		"twice": foreign(t, schema.FieldList{prim("id", parquet.Types.Int64), prim("id", parquet.Types.Int64)}, []int64{1}, []int64{2}),
	}
	for _, c := range []struct {
		why   string
		names []string
		want  string
	}{
		{"another type", []string{"a", "type"}, `file type: column "id" is int32, and in a it is int64; read the files one by one, or convert one`},
		{"a column less", []string{"a", "less"}, `file less: it has the columns id, and a has id, s`},
		{"another column", []string{"a", "other"}, `file other: it has no column "s", and a has`},
		{"cut short", []string{"short"}, `file short: it does not end as a Parquet file; it was cut short, or is something else`},
		{"text", []string{"text"}, `file text: it does not end as a Parquet file`},
		{"nothing", []string{"empty"}, `file empty: it does not end as a Parquet file`},
		{"damaged data", []string{"damaged"}, `file damaged: `},
		{"a damaged footer", []string{"footer"}, `file footer: `},
		{"encrypted", []string{"encrypted"}, `file encrypted: it needs what idem lacks`},
		{"a column twice", []string{"twice"}, `there are two columns "id"; columns are found by name`},
		{"no files", nil, "Files.Names is empty"},
	} {
		t.Run(c.why, func(t *testing.T) {
			rows, err := records.Parquet(in(files, c.names...), records.ParquetOptions{Allocator: checked(t)})
			if err == nil {
				_, err = tryLines(rows)
				rows.Release()
			}
			require.ErrorIs(t, err, idem.ErrInput)
			require.NotErrorIs(t, err, idem.ErrCorrupt, "the table is not what is damaged")
			require.NotErrorIs(t, err, idem.ErrUnsupported)
			require.NotContains(t, err.Error(), "Delta protocol")
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := records.Parquet(in(files, "none"), records.ParquetOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = records.Parquet(in(files, "a"), records.ParquetOptions{Columns: []string{"x"}})
	require.ErrorContains(t, err, `ParquetOptions.Columns names "x", and there is no such column; there are id, s`)
	_, err = records.Parquet(in(files, "a"), records.ParquetOptions{Columns: []string{"id", "ID"}})
	require.ErrorContains(t, err, `names "ID" twice`)
	_, err = records.Parquet(records.Files{Names: []string{"a"}, FS: streamed{dir(files)}}, records.ParquetOptions{})
	require.ErrorContains(t, err, "reads files from the start only")
	_, err = records.Parquet(in(files, "a"), records.ParquetOptions{BatchRows: -1})
	require.ErrorIs(t, err, idem.ErrInput)
}

// flaky is a file system whose files cannot be read after a number of reads.
type flaky struct {
	fs.FS
	left *int
}

var errDisk = errors.New("the disk is gone")

func (f flaky) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	return flakyFile{file, file.(io.ReaderAt), f.left}, err
}

type flakyFile struct {
	fs.File
	at   io.ReaderAt
	left *int
}

func (f flakyFile) ReadAt(p []byte, off int64) (int, error) {
	if *f.left--; *f.left < 0 {
		return 0, errDisk
	}
	return f.at.ReadAt(p, off)
}

// TestParquetReadErrors: an error of the file system is no error of the input, at whichever read.
func TestParquetReadErrors(t *testing.T) {
	files := dir(map[string]string{"a": ours(t, schemaOf(field("id", i64)), `[{"id":1}]`)})
	for reads := 0; ; reads++ {
		left := reads
		rows, err := records.Parquet(records.Files{Names: []string{"a"}, FS: flaky{files, &left}}, records.ParquetOptions{Allocator: checked(t)})
		if err == nil {
			_, err = tryLines(rows)
			rows.Release()
		}
		if err == nil {
			require.Greater(t, reads, 3)
			return
		}
		require.ErrorIs(t, err, errDisk)
		require.NotErrorIs(t, err, idem.ErrInput)
	}
}

func TestWriteParquetErrors(t *testing.T) {
	mem := checked(t)
	b := fromJSON(t, mem, idSchema, `[{"id":null}]`)
	defer b.Release()
	for _, c := range []struct {
		why  string
		s    *arrow.Schema
		o    records.ParquetOptions
		want string
	}{
		{"NULL where the schema has none", schemaOf(arrow.Field{Name: "id", Type: i64}), records.ParquetOptions{}, "NULL"},
		{"a column that the rows lack", schemaOf(field("x", i64)), records.ParquetOptions{}, `the rows have no column "x"; scan it, or leave it out of the schema`},
		{"another type", schemaOf(field("id", i32)), records.ParquetOptions{}, `column "id" of the rows is int64, and the schema says int32`},
		{"an unknown compression", idSchema, records.ParquetOptions{Compression: "rar"}, `compression codec "rar"`},
		{"a type of no table", schemaOf(field("id", arrow.PrimitiveTypes.Uint64)), records.ParquetOptions{}, `is not a type of Delta tables`},
		{"row groups of negative size", idSchema, records.ParquetOptions{RowGroupRows: -1}, `RowGroupRows is negative`},
		{"columns that are none", idSchema, records.ParquetOptions{Columns: []string{"x"}}, `ParquetOptions.Columns names "x"`},
		{"no columns", idSchema, records.ParquetOptions{Columns: []string{}}, `ParquetOptions.Columns is empty; nil means all columns`},
	} {
		c.o.Allocator = mem
		_, err := records.WriteParquet(io.Discard, c.s, seqOf(b), c.o)
		require.ErrorIs(t, err, idem.ErrInput, c.why)
		require.NotErrorIs(t, err, idem.ErrUnsupported, c.why)
		require.ErrorContains(t, err, c.want, c.why)
	}
	_, err := records.WriteParquet(nil, idSchema, seqOf(b), records.ParquetOptions{})
	require.ErrorIs(t, err, idem.ErrInput)
}

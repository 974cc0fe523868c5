package parquetio_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// walkCorpus calls f for the Parquet files of the corpus.
func walkCorpus(t testing.TB, f func(rel string, data []byte)) {
	root := corpus(t)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		f(filepath.ToSlash(rel), data)
		return err
	}))
}

func isCheckpoint(rel string) bool {
	return strings.Contains(rel, "_delta_log/") && (strings.Contains(rel, ".checkpoint.") || strings.Contains(rel, "/_sidecars/"))
}

// TestCorpusData reads every data file of the corpus and compares it with another reader.
func TestCorpusData(t *testing.T) {
	files, compared := 0, 0
	walkCorpus(t, func(rel string, data []byte) {
		if strings.Contains(rel, "_delta_log/") {
			return
		}
		files++
		if compareWithArrow(t, rel, data) {
			compared++
		}
	})
	t.Logf("%d files, %d compared with another reader", files, compared)
	require.Greater(t, files, 1000)
	require.Greater(t, compared, files*9/10)
}

// compareWithArrow reads a file with pqarrow, takes the types that it finds as the table's, reads it again and compares.
// It is false where the other reader cannot read the file.
func compareWithArrow(t *testing.T, rel string, data []byte) bool {
	theirs, want := readWithArrow(rel, data)
	if theirs == nil {
		t.Logf("%s: the other reader fails", rel)
		return false
	}
	defer theirs.Release()
	got, err := readAll(t.Context(), source(rel, data), want, parquetio.ReadOptions{BatchRows: 700})
	require.NoError(t, err, rel)
	defer got.Release()
	require.Equal(t, theirs.NumRows(), got.NumRows(), rel)
	for i := range int(got.NumCols()) {
		a, b := theirs.Column(i), got.Column(i)
		if got.NumRows() == 0 || !arrow.TypeEqual(a.DataType(), b.DataType()) {
			continue // timestamps of other units are compared in TestTimestamps
		}
		require.Truef(t, array.ChunkedEqual(a.Data(), b.Data()), "%s column %s\nwant %v\ngot  %v", rel, a.Name(), a.Data(), b.Data())
	}
	return true
}

func readWithArrow(rel string, data []byte) (tbl arrow.Table, want *arrow.Schema) {
	defer func() {
		if recover() != nil {
			tbl, want = nil, nil
		}
	}()
	src := source(rel, data).(file)
	f, err := pqfile.NewParquetReader(src.Reader)
	if err != nil {
		return nil, nil
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, nil
	}
	tbl, err = r.ReadTable(context.Background())
	if err != nil {
		return nil, nil
	}
	fields := make([]arrow.Field, 0, tbl.NumCols())
	for _, f := range tbl.Schema().Fields() {
		fields = append(fields, tableField(f))
	}
	return tbl, arrow.NewSchema(fields, nil)
}

// tableField gives the column as a table has it.
func tableField(f arrow.Field) arrow.Field {
	f.Metadata = arrow.Metadata{}
	switch t := f.Type.(type) {
	case *arrow.TimestampType:
		f.Type = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: t.TimeZone}
	case *arrow.FixedSizeBinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		f.Type = arrow.BinaryTypes.Binary
	case *arrow.LargeStringType, *arrow.StringViewType:
		f.Type = arrow.BinaryTypes.String
	case *arrow.DictionaryType:
		f.Type = t.ValueType
		return tableField(f)
	case arrow.ExtensionType:
		f.Type = t.StorageType()
		return tableField(f)
	case *arrow.LargeListType:
		f.Type = arrow.ListOfField(tableField(t.ElemField()))
	case *arrow.StructType:
		var fields []arrow.Field
		for _, c := range t.Fields() {
			fields = append(fields, tableField(c))
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(tableField(t.ElemField()))
	case *arrow.MapType:
		f.Type = arrow.MapOfFields(tableField(t.KeyField()), tableField(t.ItemField()))
	}
	return f
}

// TestCorpusCheckpoints reads every checkpoint and sidecar of the corpus.
func TestCorpusCheckpoints(t *testing.T) {
	files, kinds := 0, map[string]int{}
	walkCorpus(t, func(rel string, data []byte) {
		if !isCheckpoint(rel) {
			return
		}
		files++
		adds := [2]int{}
		for i, stats := range []bool{false, true} {
			err := parquetio.Parquet{}.ReadCheckpoint(t.Context(), source(rel, data), parquetio.CheckpointOptions{SkipStats: !stats}, func(a delta.Action) error {
				switch {
				case a.Add != nil:
					adds[i]++
					kinds["add"]++
					if a.Add.Stats != "" {
						kinds["stats"]++
					}
				case a.Sidecar != nil:
					kinds["sidecar"]++
				case a.CheckpointMetadata != nil:
					kinds["checkpointMetadata"]++
				}
				return nil
			})
			if strings.Contains(rel, "synthetic/") && err != nil {
				require.ErrorIs(t, err, delta.ErrCorrupt, rel)
				continue
			}
			require.NoError(t, err, rel)
		}
		require.Equal(t, adds[0], adds[1], rel)
	})
	t.Logf("%d files: %v", files, kinds)
	require.Greater(t, files, 100)
	for _, k := range []string{"add", "stats", "sidecar", "checkpointMetadata"} {
		require.Positive(t, kinds[k], k)
	}
}

// TestCorpusTables reads the data files of each table with the table's own schema.
func TestCorpusTables(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCorpusData reads the same files on one goroutine, too")
	}
	root := corpus(t)
	schemas := map[string]*arrow.Schema{}
	tables, files, rows := map[string]bool{}, 0, int64(0)
	walkCorpus(t, func(rel string, data []byte) {
		dir := tableDir(root, rel)
		if dir == "" || strings.Contains(rel, "_delta_log/") || strings.Contains(rel, "_change_data/") {
			return
		}
		s, ok := schemas[dir]
		if !ok {
			s = tableSchema(filepath.Join(root, dir))
			schemas[dir] = s
		}
		if s == nil {
			return
		}
		got, err := readAll(t.Context(), source(rel, data), s, parquetio.ReadOptions{})
		require.NoError(t, err, rel)
		tables[dir] = true
		files++
		rows += got.NumRows()
		got.Release()
	})
	t.Logf("%d tables, %d files, %d rows", len(tables), files, rows)
	require.Greater(t, len(tables), 100)
}

// tableDir gives the directory above a file that has a log, "" if there is none.
func tableDir(root, rel string) string {
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "_delta_log")); err == nil {
			return dir
		}
	}
	return ""
}

// tableSchema gives the newest schema in a table's commits, nil if there is none that Arrow can hold
// with the names that files have.
func tableSchema(dir string) *arrow.Schema {
	names, _ := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	var found *arrow.Schema
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		actions, err := delta.DecodeCommit(filepath.Base(name), data)
		if err != nil {
			continue
		}
		for _, a := range actions {
			if a.Metadata == nil {
				continue
			}
			if a.Metadata.Configuration["delta.columnMapping.mode"] != "" {
				return nil // files have other names
			}
			if s, err := delta.ParseSchema(a.Metadata.SchemaString); err == nil {
				if as, err := delta.ArrowSchema(s); err == nil {
					found = as
				}
			}
		}
	}
	return found
}

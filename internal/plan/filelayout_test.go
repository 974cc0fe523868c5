package plan_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

// stored is what a file holds: the paths of its columns with their field ids, "col-4.col-5#5".
func (f *featured) stored(key string) []string {
	data, err := f.mem.Get(f.t.Context(), key, 1<<20)
	require.NoError(f.t, err)
	r, err := file.NewParquetReader(bytes.NewReader(data))
	require.NoError(f.t, err)
	defer r.Close()
	var out []string
	s := r.MetaData().Schema
	for i := range s.NumColumns() {
		c := s.Column(i)
		text := c.Path()
		if id := c.SchemaNode().FieldID(); id >= 0 {
			text += "#" + string(rune('0'+id))
		}
		out = append(out, text)
	}
	return out
}

// TestFileLayout says for each feature what files hold, where they are, and what the log says of them.
func TestFileLayout(t *testing.T) {
	for _, c := range []struct {
		why        string
		what       features
		kind       plan.FileKind
		columns    []string
		dir        string // of the file; a ? is any character
		partitions []string
		stats      string // "" is none
	}{
		{"a plain table", features{partitioned: true}, plan.NewRows, []string{"id", "v", "nest.a", "nest.b"}, "day=mon", []string{"day"},
			`{"numRecords":1,"minValues":{"id":1,"v":"x","nest":{"a":7}},"maxValues":{"id":1,"v":"x","nest":{"a":7}},"nullCount":{"id":0,"v":0,"nest":{"a":0,"b":1}}}`},
		{"physical names everywhere, and no logical one in the path", features{mapping: "name", partitioned: true}, plan.NewRows,
			[]string{"col-2#2", "col-3#3", "col-4.col-5#5", "col-4.col-6#6"}, "??", []string{"col-1"},
			`{"numRecords":1,"minValues":{"col-2":1,"col-3":"x","col-4":{"col-5":7}},"maxValues":{"col-2":1,"col-3":"x","col-4":{"col-5":7}},"nullCount":{"col-2":0,"col-3":0,"col-4":{"col-5":0,"col-6":1}}}`},
		{"random directories of the length that the table wants", features{prefixes: true, partitioned: true}, plan.NewRows,
			[]string{"id", "v", "nest.a", "nest.b"}, "????", []string{"day"}, "*"},
		{"partition columns behind the others", features{partitioned: true, keepPartition: true, mapping: "id"}, plan.NewRows,
			[]string{"col-2#2", "col-3#3", "col-4.col-5#5", "col-4.col-6#6", "col-1#1"}, "??", []string{"col-1"}, "*"},
		{"new rows have no ids of their own", features{tracking: true}, plan.NewRows, []string{"day", "id", "v", "nest.a", "nest.b"}, ".", nil, "*"},
		{"copied rows keep theirs, in hidden columns", features{tracking: true, mapping: "name"}, plan.CopiedRows,
			[]string{"col-1#1", "col-2#2", "col-3#3", "col-4.col-5#5", "col-4.col-6#6", "_row-id-col-1", "_row-commit-version-col-1"}, "??", nil, "*"},
		{"copied rows of a table that tracks none", features{}, plan.CopiedRows, []string{"day", "id", "v", "nest.a", "nest.b"}, ".", nil, "*"},
		{"changes are beside the table", features{partitioned: true, feed: true}, plan.ChangeRows, []string{"id", "v", "nest.a", "nest.b", "_change_type"}, "_change_data/day=mon", []string{"day"}, ""},
		{"changes under mapping", features{partitioned: true, feed: true, mapping: "name"}, plan.ChangeRows,
			[]string{"col-2#2", "col-3#3", "col-4.col-5#5", "col-4.col-6#6", "_change_type"}, "_change_data/??", []string{"col-1"}, ""},
		{"bounds of a table with vectors say that they are tight", features{vectors: true, partitioned: true}, plan.NewRows, []string{"id", "v", "nest.a", "nest.b"}, "day=mon", []string{"day"},
			`{"numRecords":1,"tightBounds":true,"minValues":{"id":1,"v":"x","nest":{"a":7}},"maxValues":{"id":1,"v":"x","nest":{"a":7}},"nullCount":{"id":0,"v":0,"nest":{"a":0,"b":1}}}`},
	} {
		f := newFeatured(t, checked(t), c.what)
		set, err := plan.NewFileSet(t.Context(), f.env, f.snap, c.kind)
		require.NoError(t, err, c.why)
		require.NoError(t, set.Write(withKind(f.batch(f.snap.ArrowSchema(), []entry{{"mon", 1, "x", 7}}), set.Schema())), c.why)
		adds, err := set.Finish()
		require.NoError(t, err, c.why)
		require.Len(t, adds, 1)
		add := adds[0]
		require.Equal(t, c.columns, f.stored(add.Key), c.why)
		dir := path.Dir(add.Key)
		require.Len(t, dir, len(c.dir), c.why)
		for i := range dir {
			require.True(t, c.dir[i] == '?' || c.dir[i] == dir[i], "%s: %s", c.why, dir)
		}
		for _, key := range c.partitions {
			require.Equal(t, "mon", *add.PartitionValues[key], c.why)
		}
		require.Len(t, add.PartitionValues, len(c.partitions), c.why)
		if c.stats != "*" {
			require.Equal(t, c.stats, add.Stats, c.why)
		}
		require.Equal(t, c.kind != plan.ChangeRows, add.DataChange, c.why)
		require.Equal(t, c.kind == plan.ChangeRows, strings.HasPrefix(path.Base(add.Key), "cdc-"), c.why)
		_, _, tagged := plan.FileDigest(add)
		require.Equal(t, c.kind != plan.ChangeRows, tagged, c.why)
		if c.kind == plan.ChangeRows {
			require.Equal(t, add.Path, plan.Changes(adds)[0].CDC.Path)
		}
	}
}

// withKind gives a batch the columns that a kind of files has beside those of the table.
func withKind(batch arrow.RecordBatch, schema *arrow.Schema) arrow.RecordBatch {
	columns := batch.Columns()
	for _, f := range schema.Fields()[len(columns):] {
		b := array.NewBuilder(memory.DefaultAllocator, f.Type)
		for range batch.NumRows() {
			if s, ok := b.(*array.StringBuilder); ok {
				s.Append("insert")
			} else {
				b.AppendNull()
			}
		}
		columns = append(columns, b.NewArray())
	}
	return array.NewRecordBatch(schema, columns, batch.NumRows())
}

// TestCopiedRowsNeedAPlaceForTheirIDs: a table that tracks rows and does not say where copies keep
// their ids is refused, since the ids would be lost.
func TestCopiedRowsNeedAPlaceForTheirIDs(t *testing.T) {
	p := &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"rowTracking", "domainMetadata"}}
	snap := snapshotWith(t, p, featuredFields, nil, map[string]string{"delta.enableRowTracking": "true"})
	_, err := plan.NewFileSet(t.Context(), newEnv(nil, nil), snap, plan.CopiedRows)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "materializedRowIdColumnName")
	_, err = plan.NewFileSet(t.Context(), newEnv(nil, nil), snap, plan.NewRows)
	require.NoError(t, err)
}

package parquetio_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// withID gives a field an id in the file.
func withID(id int, f arrow.Field) arrow.Field {
	f.Metadata = arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{strconv.Itoa(id)})
	return f
}

// mappedSchema has an id at every level; prefix goes before every name.
func mappedSchema(prefix string) *arrow.Schema {
	name := func(s string, t arrow.DataType) arrow.Field { return field(prefix+s, t) }
	point := arrow.StructOf(withID(4, name("x", arrow.PrimitiveTypes.Int32)), withID(5, name("y", arrow.BinaryTypes.String)))
	element := withID(12, arrow.Field{Name: "element", Type: point, Nullable: true})
	entries := arrow.MapOfFields(
		withID(13, arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}),
		withID(14, arrow.Field{Name: "value", Type: point, Nullable: true}))
	return arrow.NewSchema([]arrow.Field{
		withID(1, name("id; of the, row=", arrow.PrimitiveTypes.Int64)),
		withID(2, name("p.q", point)),
		withID(3, name("l", arrow.ListOfField(element))),
		withID(9, name("m", entries)),
	}, nil)
}

// TestByID reads columns and fields at every level by their ids, whatever their names.
func TestByID(t *testing.T) {
	mem := checked(t)
	written := mappedSchema("col-")
	batch := randomBatch(mem, written, 300, 7)
	defer batch.Release()
	data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, written, batch)

	f, err := pqfile.NewParquetReader(bytes.NewReader(data))
	require.NoError(t, err)
	ids := map[string]int32{}
	gatherIDs(f.MetaData().Schema.Root(), "", ids)
	require.Equal(t, map[string]int32{
		"/col-id; of the, row=": 1, "/col-p.q": 2, "/col-p.q/col-x": 4, "/col-p.q/col-y": 5,
		"/col-l": 3, "/col-l/list": -1, "/col-l/list/element": 12, "/col-l/list/element/col-x": 4, "/col-l/list/element/col-y": 5,
		"/col-m": 9, "/col-m/key_value": -1, "/col-m/key_value/key": 13, "/col-m/key_value/value": 14,
		"/col-m/key_value/value/col-x": 4, "/col-m/key_value/value/col-y": 5,
	}, ids)

	want := mappedSchema("renamed ")
	got, err := readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{ByID: true, Allocator: mem})
	require.NoError(t, err)
	defer got.Release()
	for i := range 4 {
		require.Equal(t, columnText(t, batch.Column(i)), columnText(t, got.Column(i).Data().Chunk(0)), want.Field(i).Name)
	}

	byName, err := readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{Allocator: mem})
	require.NoError(t, err)
	defer byName.Release()
	require.Equal(t, 300, byName.Column(0).Data().NullN(), "without ByID ids find nothing")
}

// gatherIDs collects the field_id of each node below one, by its path.
func gatherIDs(group *schema.GroupNode, path string, into map[string]int32) {
	for i := range group.NumFields() {
		n := group.Field(i)
		into[path+"/"+n.Name()] = n.FieldID()
		if g, ok := n.(*schema.GroupNode); ok {
			gatherIDs(g, path+"/"+n.Name(), into)
		}
	}
}

func columnText(t *testing.T, arr arrow.Array) string {
	b, err := arr.MarshalJSON()
	require.NoError(t, err)
	out := string(b)
	for _, prefix := range []string{"col-", "renamed "} {
		out = strings.ReplaceAll(out, prefix, "")
	}
	return out
}

// TestByIDCases holds what ids mean where they are not simply there.
func TestByIDCases(t *testing.T) {
	long := arrow.PrimitiveTypes.Int64
	inner := func(fields ...arrow.Field) arrow.DataType { return arrow.StructOf(fields...) }
	tests := []struct {
		why     string
		written []arrow.Field
		want    []arrow.Field
		nulls   []int // of each wanted column, of 10 rows
		err     error
	}{
		{"an id that the file lacks is NULL, though the name is there", []arrow.Field{withID(1, mustField("a", long))}, []arrow.Field{withID(1, field("x", long)), withID(2, field("a", long))}, []int{0, 10}, nil},
		{"a column without an id is found by name", []arrow.Field{withID(1, mustField("a", long)), mustField("_change_type", long)}, []arrow.Field{withID(1, field("x", long)), field("_change_type", long)}, []int{0, 0}, nil},
		{"no ids in the file at all", []arrow.Field{mustField("a", long)}, []arrow.Field{withID(1, field("a", long))}, nil, delta.ErrCorrupt},
		{"no ids in the file, and none asked for", []arrow.Field{mustField("a", long)}, []arrow.Field{field("a", long)}, []int{0}, nil},
		{"two columns of one id", []arrow.Field{withID(1, mustField("a", long)), withID(1, mustField("b", long))}, []arrow.Field{withID(1, field("a", long))}, nil, delta.ErrCorrupt},
		{"two columns of one id that nobody asks for", []arrow.Field{withID(2, mustField("a", long)), withID(2, mustField("b", long)), withID(1, mustField("c", long))}, []arrow.Field{withID(1, field("c", long))}, []int{0}, nil},
		{"an id of another level is not that field", []arrow.Field{mustField("s", inner(withID(1, mustField("a", long)))), withID(2, mustField("b", long))}, []arrow.Field{withID(1, field("a", long)), withID(2, field("c", long))}, []int{10, 0}, nil},
		{"id 0 is an id", []arrow.Field{withID(0, mustField("a", long))}, []arrow.Field{withID(0, field("b", long))}, []int{0}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			mem := checked(t)
			written := arrow.NewSchema(tt.written, nil)
			batch := randomBatch(mem, written, 10, 1)
			defer batch.Release()
			data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, written, batch)
			got, err := readAll(t.Context(), source("f", data), arrow.NewSchema(tt.want, nil), parquetio.ReadOptions{ByID: true, Allocator: mem})
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			defer got.Release()
			for i, n := range tt.nulls {
				require.Equal(t, n, got.Column(i).Data().NullN(), tt.want[i].Name)
			}
		})
	}
}

func mustField(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }

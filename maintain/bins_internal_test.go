package maintain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// Whatever sizes files have and however small the new ones become, a second pack finds nothing to do,
// no file is in two bins, and no bin of several files is larger than the target.
func TestPackIsDoneAfterOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const target = 100
		all := &bin{partition: "p"}
		for i := range rapid.IntRange(0, 30).Draw(t, "files") {
			f := &delta.Add{Key: fmt.Sprint(i), Size: rapid.Int64Range(1, 150).Draw(t, "size")}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				f.DeletionVector = &delta.DeletionVector{StorageType: "i"}
			case 1:
				f.Tags = map[string]string{tagTarget: "100"}
			case 2:
				f.Tags = map[string]string{tagTarget: "50"}
			}
			all.add(f)
		}
		bins := pack(all, target)
		gone := map[*delta.Add]bool{}
		next := &bin{partition: "p"}
		for i, b := range bins {
			size := int64(0)
			for _, f := range b.files {
				require.False(t, gone[f], "a file is in two bins")
				gone[f], size = true, size+f.Size
			}
			require.Equal(t, size, b.size)
			require.True(t, len(b.files) == 1 && b.files[0].DeletionVector != nil || len(b.files) > 1 && size <= target)
			next.add(&delta.Add{Key: fmt.Sprint("new", i), Size: rapid.Int64Range(1, size).Draw(t, "packed"), Tags: map[string]string{tagTarget: "100"}})
		}
		small := 0
		for _, f := range all.files {
			require.False(t, f.DeletionVector != nil && !gone[f], "a deletion vector is left")
			if !gone[f] {
				next.add(f)
			}
			if !gone[f] && f.Size <= target/2 && f.Tags[tagTarget] != "100" {
				small++
			}
		}
		require.LessOrEqual(t, small, 1, "two small files that fit together are left apart")
		require.Empty(t, pack(next, target))
	})
}

// The largest files come first, so that bins are full: and a bin may be as large as the target.
func TestPackFillsBins(t *testing.T) {
	all := &bin{}
	for i, size := range []int64{30, 40, 60, 70} {
		all.add(&delta.Add{Key: fmt.Sprint(i), Size: size})
	}
	bins := pack(all, 100)
	require.Len(t, bins, 2)
	for _, b := range bins {
		require.EqualValues(t, 100, b.size)
		require.Len(t, b.files, 2)
	}
}

// What is ordered already is left alone, unless something came beside it that a cube has room for.
func TestUnordered(t *testing.T) {
	order := &ordering{name: `["id"]`}
	file := func(cube, by string, size int64) *delta.Add {
		return &delta.Add{Size: size, Tags: map[string]string{tagCube: cube, tagCubeBy: by}}
	}
	ordered := func(cube string, size int64) *delta.Add { return file(cube, order.name, size) }
	marked := ordered("one", 1)
	marked.DeletionVector = &delta.DeletionVector{StorageType: "i"}
	for _, c := range []struct {
		why   string
		files []*delta.Add
		full  bool
		want  int // files
	}{
		{"one cube", []*delta.Add{ordered("one", 1), ordered("one", 1)}, false, 0},
		{"one cube, in full", []*delta.Add{ordered("one", 1), ordered("one", 1)}, true, 0},
		{"a cube and what is in none", []*delta.Add{ordered("one", 1), {Size: 1}}, false, 2},
		{"a file in no cube alone", []*delta.Add{{Size: 1}}, false, 1},
		{"two cubes", []*delta.Add{ordered("one", 1), ordered("two", 1)}, false, 2},
		{"a cube of other columns", []*delta.Add{file("one", `["v"]`, 1)}, false, 1},
		{"a file of a cube of which rows are deleted", []*delta.Add{ordered("one", 1), marked}, false, 2},
		{"a large cube is left alone", []*delta.Add{ordered("one", stableCube/2), ordered("one", stableCube/2), {Size: 1}}, false, 1},
		{"but not in full", []*delta.Add{ordered("one", stableCube/2), ordered("one", stableCube/2), {Size: 1}}, true, 3},
		{"one that is not large yet", []*delta.Add{ordered("one", stableCube-1), {Size: 1}}, false, 2},
	} {
		all := &bin{partition: "p"}
		for _, f := range c.files {
			all.add(f)
		}
		got := order.unordered(all, c.full)
		if c.want == 0 {
			require.Nil(t, got, c.why)
			continue
		}
		require.NotNil(t, got, c.why)
		require.Len(t, got.files, c.want, c.why)
		require.Equal(t, "p", got.partition)
	}
}

// Values that run together in one text are two partitions all the same, and NULL is one.
func TestFilesOfOnePartitionGoTogether(t *testing.T) {
	r := delta.NewReplay("mem:///")
	schema := `{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},{"name":"q","type":"string","nullable":true,"metadata":{}}]}`
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: schema, PartitionColumns: []string{"p", "q"}}},
	}))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	text := func(s string) *string { return &s }
	var files []*delta.Add
	for i, v := range [][2]*string{
		{text("a,b"), text("c")}, {text("a"), text("b,c")}, {text("a"), nil}, {nil, text("a")}, {text("a"), text("")}, {text(`"a"`), nil}, {text("a,b"), text("c")},
	} {
		files = append(files, &delta.Add{Path: fmt.Sprint(i), Key: fmt.Sprint(i), PartitionValues: map[string]*string{"p": v[0], "q": v[1]}})
	}
	bins, err := byPartition(snap, files)
	require.NoError(t, err)
	var got []string
	for _, b := range bins {
		keys := ""
		for _, f := range b.files {
			keys += f.Key
		}
		got = append(got, keys)
	}
	require.ElementsMatch(t, []string{"06", "1", "24", "3", "5"}, got)
}

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

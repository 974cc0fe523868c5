package parquetio_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// Texts of a log may be long: what is written of them is read, whether they compress well or not.
func TestCheckpointsOfLongTexts(t *testing.T) {
	random := long(16 << 20)
	text := func(n int) string { return random[:n] }
	spaces := strings.Repeat(" ", 16<<20)
	for _, c := range []struct {
		why    string
		n      int
		action func(i int) delta.Action
	}{
		{"a schema", 1, func(int) delta.Action {
			return delta.Action{Metadata: &delta.Metadata{ID: "a", Provider: "parquet", SchemaString: text(15 << 20),
				FormatOptions: map[string]string{}, Configuration: map[string]string{}, PartitionColumns: []string{}}}
		}},
		{"a tag", 3, func(i int) delta.Action {
			return delta.Action{Txn: &delta.Txn{AppID: fmt.Sprint(i, text(15<<20)), Version: 1}}
		}},
		{"statistics", 600, func(i int) delta.Action {
			return delta.Action{Add: &delta.Add{Path: fmt.Sprint(i), Size: 1, PartitionValues: map[string]*string{}, Stats: text(1 << 20)}}
		}},
		{"statistics that compress", 600, func(i int) delta.Action {
			return delta.Action{Add: &delta.Add{Path: fmt.Sprint(i), Size: 1, PartitionValues: map[string]*string{}, Stats: spaces[:1<<20]}}
		}},
		{"paths", 3000, func(i int) delta.Action {
			return delta.Action{Add: &delta.Add{Path: fmt.Sprint(i, spaces[:4000]), Size: 1, PartitionValues: map[string]*string{}}}
		}},
		{"tags of files", 1200, func(i int) delta.Action {
			return delta.Action{Add: &delta.Add{Path: fmt.Sprint(i), Size: 1, PartitionValues: map[string]*string{}, Tags: map[string]string{"a": text(100 << 10), "b": spaces[:100<<10]}}}
		}},
	} {
		if testing.Short() && c.n > 1 {
			continue
		}
		t.Run(c.why, func(t *testing.T) {
			var out bytes.Buffer
			_, _, err := parquetio.Parquet{}.WriteCheckpoint(&out, func(yield func(delta.Action) bool) {
				for i := 0; i < c.n && yield(c.action(i)); i++ {
				}
			}, parquetio.CheckpointLayout{})
			require.NoError(t, err)
			n := 0
			require.NoError(t, parquetio.Parquet{}.ReadCheckpoint(t.Context(), source("c", out.Bytes()), parquetio.CheckpointOptions{}, func(got delta.Action) error {
				require.True(t, reflect.DeepEqual(c.action(n), got), "action %d", n) // not shown: it is long
				n++
				return nil
			}))
			require.Equal(t, c.n, n)
		})
	}
}

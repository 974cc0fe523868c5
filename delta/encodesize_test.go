package delta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// What could not be read again is not written: a commit that is too large would bar the table for good.
func TestCommitsThatAreTooLargeToBeRead(t *testing.T) {
	meta := func(n int) delta.Action {
		m := &delta.Metadata{ID: "a", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`, Configuration: map[string]string{}}
		for i := range n {
			m.Configuration[fmt.Sprint("p", i)] = ""
		}
		return delta.Action{Metadata: m}
	}
	txns := func(n, bytes int) (all []delta.Action) {
		text := strings.Repeat("x", bytes)
		for i := range n {
			all = append(all, delta.Action{Txn: &delta.Txn{AppID: fmt.Sprintf("%05d%s", i, text), Version: 1}})
		}
		return all
	}
	for _, c := range []struct {
		why     string
		actions []delta.Action
		says    string
	}{
		{"an action", txns(1, 16<<20-60), ""},
		{"an action that is too long", txns(1, 16<<20), "an action of 16777252 bytes"},
		{"properties", []delta.Action{meta(10_000)}, ""},
		{"too many properties", []delta.Action{meta(10_001)}, "a list or map of 10001 entries"},
		{"all of it", txns(16, 16<<20-60), ""},
		{"more than all of it", txns(17, 16<<20-60), "do the work in several commits"},
	} {
		if testing.Short() && len(c.actions) > 1 {
			continue // a commit is encoded and decoded on one goroutine
		}
		t.Run(c.why, func(t *testing.T) {
			data, err := delta.EncodeCommit(c.actions)
			lines, compacted := delta.EncodeActions(c.actions)
			require.Equal(t, err == nil, compacted == nil)
			if c.says != "" {
				require.ErrorIs(t, err, delta.ErrInput)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			for _, text := range [][]byte{data, lines} {
				back, err := delta.DecodeCommit("c", text)
				require.NoError(t, err)
				require.Len(t, back, len(c.actions))
			}
		})
	}
}

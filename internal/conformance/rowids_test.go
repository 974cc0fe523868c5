package conformance_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/conformance"
)

func TestEveryClaimAboutRowIDsIsHeldAgainstTheTable(t *testing.T) {
	root := t.TempDir()
	st, err := store.OpenDir(filepath.Join(root, "t"))
	require.NoError(t, err)
	tracked := func(a delta.Action, base, version int64) delta.Action {
		a.Add.BaseRowID, a.Add.CommitVersion = &base, &version
		return a
	}
	put(t, st, 0,
		delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"domainMetadata", "rowTracking"}}},
		delta.Action{Metadata: &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{"delta.enableRowTracking": "true"}}},
		tracked(addRows(t, st, "a.parquet", 1, 2), 0, 0))
	put(t, st, 1, tracked(addRows(t, st, "b.parquet", 3), 5, 1))
	first := `{"n":1,"_row_id":0,"_row_commit_version":0},{"n":2,"_row_id":1,"_row_commit_version":0}`
	third := `{"n":3,"_row_id":5,"_row_commit_version":1}`
	hash := conformance.Hash([][]byte{[]byte(first[:len(first)/2]), []byte(first[len(first)/2+1:])})
	for _, c := range []struct{ why, right, wrong string }{
		{"the hash", `{"version":0,"rows_sha256":"` + hash + `"}`, `{"version":1,"rows_sha256":"` + hash + `"}`},
		{"the rows", `{"version":1,"rows":[` + first + `,` + third + `]}`, `{"version":0,"rows":[` + first + `,` + third + `]}`},
		{"a version that is there", `{"version":1}`, `{"version":2}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			right := run(t, root, `{"table":"t","outcome":"read","row_tracking":[`+c.right+`]}`)
			require.Equal(t, conformance.Right, right.Verdict, "%v", right.Faults)
			require.Equal(t, conformance.Wrong, run(t, root, `{"table":"t","outcome":"read","row_tracking":[`+c.wrong+`]}`).Verdict)
		})
	}
	plain := smallCorpus(t, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	require.Equal(t, conformance.Wrong, run(t, plain, `{"table":"t","outcome":"read","row_tracking":[{"version":0}]}`).Verdict, "its rows have no ids")
}

package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

func TestSidecarKey(t *testing.T) {
	const root = "s3://bucket/table/"
	for _, c := range []struct {
		why, path, key string
		err            error
	}{
		{"a bare name, as all writers have it", "a.parquet", "_delta_log/_sidecars/a.parquet", nil},
		{"decoded once", "a%2520b.parquet", "_delta_log/_sidecars/a%20b.parquet", nil},
		{"a directory is taken as given", "d/a.parquet", "_delta_log/_sidecars/d/a.parquet", nil},
		{"absolute, below the table's own directory", "s3a://bucket/table/_delta_log/_sidecars/a.parquet", "_delta_log/_sidecars/a.parquet", nil},
		{"climbs to a data file", "../../a.parquet", "", delta.ErrCorrupt},
		{"climbs, encoded", "%2e%2e/a.parquet", "", delta.ErrCorrupt},
		{"climbs within a URI", "s3://bucket/table/_delta_log/_sidecars/../a.parquet", "", delta.ErrCorrupt},
		{"another bucket", "s3://other/table/_delta_log/_sidecars/a.parquet", "", delta.ErrUnsupported},
		{"a file of the machine", "/etc/passwd", "", delta.ErrUnsupported},
		{"another file of the log", "s3://bucket/table/_delta_log/a.parquet", "", delta.ErrUnsupported},
		{"nothing", "", "", delta.ErrCorrupt},
	} {
		got, err := delta.SidecarKey(root, c.path)
		require.ErrorIs(t, err, c.err, c.why)
		require.Equal(t, c.key, got, c.why)
	}
}

package logio_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/logio"
)

// A log whose metaData has no schema can be replayed; only the rows of its files cannot be read,
// and nothing may be written to it.
func TestALogWithoutASchemaLoads(t *testing.T) {
	tb := newHistory(t)
	bare := metadata()
	bare.Metadata.SchemaString = ""
	tb.commit(bare)
	snap, err := tb.load()
	require.NoError(t, err)
	require.False(t, snap.HasSchema())
	require.Equal(t, []string{"bb", "ccc", "dddd"}, files(snap))
	require.ErrorIs(t, delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema()), delta.ErrCorrupt)

	tb.commit(lacking()) // the protocol is gated all the same
	l, _ := tb.log(logio.Options{})
	_, err = l.Load(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorContains(t, err, "newFeature")
}

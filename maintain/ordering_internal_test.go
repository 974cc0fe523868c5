package maintain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

func TestWhatHasAnOrder(t *testing.T) {
	for _, c := range []struct {
		of   delta.Type
		want bool
	}{
		{delta.Long, true}, {delta.String, true}, {delta.Double, true}, {delta.Timestamp, true}, {delta.Binary, true}, {delta.Decimal{Precision: 20, Scale: 2}, true},
		{delta.Void, false}, {delta.Variant, false},
		{&delta.Struct{}, false}, {&delta.Array{Element: delta.Long}, false}, {&delta.Map{Key: delta.Long, Value: delta.Long}, false},
	} {
		require.Equal(t, c.want, hasOrder(c.of), "%s", c.of)
	}
}

// Rows that were written are held against those that were read: their number alone does not do.
func TestConserved(t *testing.T) {
	b := &bin{files: []*delta.Add{{Path: "a"}, {Path: "b"}}}
	read := tally{3, rows.Digest{Hi: 1, Lo: 2}}
	require.NoError(t, conserved(b, read, read))
	for _, written := range []tally{{2, read.digest}, {4, read.digest}, {3, rows.Digest{Hi: 1, Lo: 3}}, {3, rows.Digest{Hi: 2, Lo: 2}}, {}} {
		err := conserved(b, read, written)
		require.ErrorIs(t, err, delta.ErrCorrupt)
		require.ErrorContains(t, err, "3 rows were read from a and 1 files more")
	}
}

package maintain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// A file that was removed just now stays, also where its name is spelled otherwise in the log than in the
// store: who reads an older version needs it.
func TestVacuumKeepsYoungRemovalsWithEscapedNames(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a b/100%", 1, "x"}) // version 1
	file := f.files()[0]
	require.NotEqual(t, file.Path, file.Key)
	f.clock.now = f.clock.now.Add(8 * day)
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(hour)
	f.vacuum(maintain.Vacuum{})
	require.Contains(t, f.dataFiles(), file.Key)
	then, err := f.other().At(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []string{"a b/100%/1/x"}, scanned(t, then))
	f.clock.now = f.clock.now.Add(8 * day)
	f.vacuum(maintain.Vacuum{})
	require.NotContains(t, f.dataFiles(), file.Key)
}

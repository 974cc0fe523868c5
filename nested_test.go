package idem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// fixtureOf is newFixture for a table of any definition.
func fixtureOf(t *testing.T, d idem.Definition) *fixture {
	f := &fixture{t: t, mem: store.NewMem()}
	f.store = storetest.NewFaulty(f.mem)
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, d, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	f.store.Reset()
	t.Cleanup(func() {
		if !f.foreign {
			checkLog(t, f.mem)
		}
	})
	return f
}

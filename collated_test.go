package idem_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
)

// Strings that have rules of their own are read, and not compared: idem does not know the rules.
func TestColumnsWithACollation(t *testing.T) {
	f := begun(t)
	f.foreign = true
	f.metadata(func(m *delta.Metadata) {
		s, err := delta.ParseSchema(m.SchemaString)
		require.NoError(t, err)
		s.Fields[s.Index("v")].Metadata = map[string]json.RawMessage{"__COLLATIONS": json.RawMessage(`{"v":"spark.UTF8_LCASE"}`)}
		m.SchemaString = s.JSON()
	})
	f.commit("UPGRADE", delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"appendOnly", "collations", "domainMetadata", "invariants"}}})
	table := f.other()
	rows := func(where string) (n int64, err error) {
		for b, err := range table.Scan(t.Context(), idem.Scan{Where: where}) {
			if err != nil {
				return 0, err
			}
			n += b.NumRows()
		}
		return n, nil
	}
	for where, want := range map[string]int64{"": 3, "v IS NULL": 0, "NOT (v IS NOT NULL) OR id = 1": 1, "id < 3": 2} {
		n, err := rows(where)
		require.NoError(t, err)
		require.Equal(t, want, n, where)
	}
	for _, where := range []string{"v = 'A'", "V IN ('a')", "id = 1 OR v LIKE 'a%'", "upper(v) = 'A'", "lower(v) IS NULL", "v BETWEEN 'a' AND 'b' AND id = 1"} {
		_, err := rows(where)
		require.ErrorIs(t, err, idem.ErrUnsupported, where)
		require.ErrorContains(t, err, "collations")
		_, err = table.Fingerprint(t.Context(), idem.Fingerprint{Where: where})
		require.ErrorIs(t, err, idem.ErrUnsupported, where)
	}
	_, err := table.Duplicates(t.Context(), idem.Duplicates{On: []string{"id", "v"}})
	require.ErrorIs(t, err, idem.ErrUnsupported)
	_, err = table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"v"}})
	require.ErrorIs(t, err, idem.ErrUnsupported)
	_, err = table.Duplicates(t.Context(), idem.Duplicates{On: []string{"id"}})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), rowsOf(order{"d3", 9, 9, "i"}), idem.Append{Reason: "test"})
	require.ErrorIs(t, err, idem.ErrUnsupported)
}

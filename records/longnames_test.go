package records_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

// A name that is as long as the input is cut in the error, as values are.
func TestLongNamesAreCut(t *testing.T) {
	schema, long := schemaOf(field("id", i64)), strings.Repeat("é", 1<<20)
	_, err := records.CSVFrom(schema, strings.NewReader(long+"\n1\n"), records.CSVOptions{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "the schema has no column \"éé")
	require.Less(t, len(err.Error()), 1000)

	rows, err := records.JSONLinesFrom(schema, strings.NewReader(`{"`+long+`":1}`), records.JSONOptions{})
	require.NoError(t, err)
	defer rows.Release()
	require.False(t, rows.Next())
	require.ErrorIs(t, rows.Err(), idem.ErrInput)
	require.ErrorContains(t, rows.Err(), "the schema has no such column")
	require.Less(t, len(rows.Err().Error()), 1000)
}

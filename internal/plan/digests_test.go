package plan_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
)

// mappedTable is a table with column mapping and these columns.
func mappedTable(t *testing.T, fields string) *delta.Snapshot {
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 2, MinWriterVersion: 5}},
		{Metadata: &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: `{"type":"struct","fields":[` + fields + `]}`,
			Configuration: map[string]string{"delta.columnMapping.mode": "name"}}},
	}))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	return snap
}

func mappedColumn(name, id, physical, typ string) string {
	return `{"name":"` + name + `","type":` + typ + `,"nullable":true,"metadata":{"delta.columnMapping.id":` + id + `,"delta.columnMapping.physicalName":"` + physical + `"}}`
}

// A digest binds values to the names of columns: what was written under other names, or holds a
// column that is gone, is void; a column that came later is NULL and changes nothing.
func TestDigestsAreOfTheColumnsAsTheyAre(t *testing.T) {
	long := `"long"`
	inner := func(name string) string {
		return mappedColumn("s", "3", "s", `{"type":"struct","fields":[`+mappedColumn(name, "4", "x", long)+`]}`)
	}
	a, b, s := mappedColumn("a", "1", "a", long), mappedColumn("b", "2", "b", long), inner("x")
	was := mappedTable(t, a+","+b+","+s)
	digest := rows.Digest{Lo: 7}
	file := &delta.Add{Tags: map[string]string{plan.TagName: plan.FormatFingerprint(3, digest, nil), plan.ColumnsTag: plan.ColumnsText(was)}}
	for name, c := range map[string]struct {
		is   *delta.Snapshot
		void bool
	}{
		"nothing changed":               {is: was},
		"another order":                 {is: mappedTable(t, s+","+b+","+a)},
		"a column more":                 {is: mappedTable(t, a+","+b+","+s+","+mappedColumn("c", "5", "c", long))},
		"a renamed column":              {is: mappedTable(t, mappedColumn("z", "1", "a", long)+","+b+","+s), void: true},
		"two that changed names":        {is: mappedTable(t, mappedColumn("b", "1", "a", long)+","+mappedColumn("a", "2", "b", long)+","+s), void: true},
		"a dropped column":              {is: mappedTable(t, a+","+s), void: true},
		"one dropped and added again":   {is: mappedTable(t, a+","+s+","+mappedColumn("b", "5", "col-5", long)), void: true},
		"a renamed field of a struct":   {is: mappedTable(t, a+","+b+","+inner("y")), void: true},
		"a widened integer":             {is: mappedTable(t, widenedTo(t, a, "long")+","+b+","+s)},
		"an integer that became double": {is: mappedTable(t, widenedTo(t, a, "double")+","+b+","+s)},
	} {
		n, d, ok := plan.DigestsOf(c.is).Of(file)
		require.Equal(t, !c.void, ok, name)
		if ok {
			require.EqualValues(t, 3, n)
			require.Equal(t, digest, d)
		}
	}
	older := &delta.Add{Tags: maps.Clone(file.Tags)}
	delete(older.Tags, plan.ColumnsTag)
	_, _, ok := plan.DigestsOf(was).Of(older)
	require.False(t, ok, "a file from before the mapping may have had other names")
	older.Tags[plan.ColumnsTag] = "x:0"
	_, _, ok = plan.DigestsOf(was).Of(older)
	require.False(t, ok, "a tag that says nothing")
}

// widenedTo is a column with a change of type in its history.
func widenedTo(t *testing.T, column, to string) string {
	const before = `"metadata":{`
	require.Contains(t, column, before)
	return column[:len(column)-len(`}}`)] + `,"delta.typeChanges":[{"fromType":"integer","toType":"` + to + `"}]}}`
}

package delta_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// mappedField is a field of a schema's JSON with an id and a physical name.
func mappedField(id int, name, physical, typ, more string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":%q%s}}`,
		name, typ, id, physical, more)
}

func structOf(fields ...string) string {
	text := `{"type":"struct","fields":[`
	for i, f := range fields {
		if i > 0 {
			text += ","
		}
		text += f
	}
	return text + "]}"
}

// nestedSchema has structs in an array, in a map and in a struct.
var nestedSchema = structOf(
	mappedField(1, "id", "p-id", `"long"`, ""),
	mappedField(2, "list", "p-list", `{"type":"array","elementType":`+structOf(mappedField(3, "x", "p-x", `"long"`, ""))+`,"containsNull":false}`,
		`,"delta.columnMapping.nested.ids":{"p-list.element":90}`),
	mappedField(4, "pairs", "p-pairs", `{"type":"map","keyType":"string","valueType":`+structOf(mappedField(5, "y", "p-y", `"string"`, ""))+`,"valueContainsNull":true}`, ""),
	mappedField(6, "deep", "p-deep", structOf(mappedField(7, "z", "p-z", structOf(mappedField(8, "w", "p-w", `"date"`, "")), "")), ""),
	mappedField(9, "day", "p-day", `"date"`, ""))

func mappedSnapshot(t *testing.T, p delta.Protocol, schema string, properties map[string]string, actions ...delta.Action) *delta.Snapshot {
	t.Helper()
	r := delta.NewReplay("file:///t/")
	m := &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: schema, PartitionColumns: []string{"DAY"}, Configuration: properties}
	require.NoError(t, r.Commit(0, append([]delta.Action{{Protocol: &p}, {Metadata: m}}, actions...)))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	return snap
}

func mode(name string) map[string]string { return map[string]string{"delta.columnMapping.mode": name} }

func TestMappingIsHonouredWhereTheProtocolSupportsIt(t *testing.T) {
	for _, c := range []struct {
		why      string
		protocol delta.Protocol
		mode     string
		want     delta.MappingMode
	}{
		{"by version", versions(2, 5), "name", delta.MappingName},
		{"in another case", versions(2, 5), "Id", delta.MappingID},
		{"by lists", both([]string{"columnMapping"}), "id", delta.MappingID},
		{"in the writers' list alone, as some tables have it", both(nil, "columnMapping"), "name", delta.MappingName},
		{"at (2,7)", writerList(2, "columnMapping"), "name", delta.MappingName},
		{"off", versions(2, 5), "none", delta.MappingNone},
		{"inert", versions(1, 4), "name", delta.MappingNone},
		{"not listed", both(nil, "appendOnly"), "name", delta.MappingNone},
		{"unheard of", versions(2, 5), "odd", delta.MappingNone},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := mappedSnapshot(t, c.protocol, nestedSchema, mode(c.mode))
			require.Equal(t, c.want, snap.Mapping())
			mapped := c.want != delta.MappingNone
			require.Equal(t, mapped, snap.Stored(snap.ArrowSchema()) != snap.ArrowSchema(), "without mapping names are what they are, whatever the fields say")
			require.Equal(t, mapped, snap.PartitionKey("day") == "p-day")
			path, ok := snap.StoredPath([]string{"deep", "z", "w"})
			require.True(t, ok)
			require.Equal(t, mapped, path[2] == "p-w")
		})
	}
}

// names gives the names and field ids of a type at every level.
func names(f arrow.Field) string {
	out := f.Name
	if id, ok := f.Metadata.GetValue(delta.FieldIDKey); ok {
		out += "#" + id
	}
	if n, ok := f.Type.(arrow.NestedType); ok {
		out += "<"
		for i, child := range n.Fields() {
			if i > 0 {
				out += ","
			}
			out += names(child)
		}
		out += ">"
	}
	return out
}

func TestStoredColumns(t *testing.T) {
	snap := mappedSnapshot(t, versions(2, 5), nestedSchema, mode("name"))
	full := snap.ArrowSchema()
	stored := snap.Stored(full)
	for i, want := range []string{
		"p-id#1",
		"p-list#2<element#90<p-x#3>>",
		"p-pairs#4<entries<key,value<p-y#5>>>",
		"p-deep#6<p-z#7<p-w#8>>",
		"p-day#9",
	} {
		require.Equal(t, want, names(stored.Field(i)))
		require.Equal(t, full.Field(i).Nullable, stored.Field(i).Nullable)
	}
	require.False(t, stored.Field(1).Type.(*arrow.ListType).ElemField().Nullable, "nullability stays")

	some := snap.Stored(arrow.NewSchema([]arrow.Field{full.Field(4), full.Field(0)}, nil))
	require.Equal(t, []string{"p-day#9", "p-id#1"}, []string{names(some.Field(0)), names(some.Field(1))}, "any columns, in any order")

	_, ok := snap.StoredPath([]string{"deep", "nosuch"})
	require.False(t, ok)
	_, ok = snap.StoredPath([]string{"id", "x"})
	require.False(t, ok)
	path, ok := snap.StoredPath([]string{"DEEP", "Z"})
	require.True(t, ok)
	require.Equal(t, []string{"p-deep", "p-z"}, path)
}

func TestMaterialisedRowIDsAreStoredUnderTheirNames(t *testing.T) {
	ids := []arrow.Field{{Name: delta.RowIDColumn, Type: arrow.PrimitiveTypes.Int64}, {Name: delta.RowCommitVersionColumn, Type: arrow.PrimitiveTypes.Int64}}
	properties := map[string]string{"delta.enableRowTracking": "true",
		"delta.rowTracking.materializedRowIdColumnName": "_id-1", "delta.rowTracking.materializedRowCommitVersionColumnName": "_version-1"}
	snap := mappedSnapshot(t, writerList(1, "rowTracking", "domainMetadata"), nestedSchema, properties)
	require.True(t, snap.TracksRows())
	columns := arrow.NewSchema(append([]arrow.Field{snap.ArrowSchema().Field(0)}, ids...), nil)
	stored := snap.Stored(columns)
	require.Equal(t, []string{"id", "_id-1", "_version-1"}, []string{stored.Field(0).Name, stored.Field(1).Name, stored.Field(2).Name})

	for why, p := range map[string]delta.Protocol{"not supported": versions(1, 2), "not listed": writerList(1, "domainMetadata")} {
		inert := mappedSnapshot(t, p, nestedSchema, properties)
		require.False(t, inert.TracksRows(), why)
		require.Same(t, columns, inert.Stored(columns), why)
	}
	properties["delta.enableRowTracking"] = "false"
	require.False(t, mappedSnapshot(t, writerList(1, "rowTracking", "domainMetadata"), nestedSchema, properties).TracksRows(), "supported is not enabled")
}

func TestPartitionValuesHavePhysicalKeys(t *testing.T) {
	day, other := "2024-01-02", "2024-01-03"
	add := func(values map[string]*string) *delta.Add {
		return &delta.Add{Path: "a.parquet", PartitionValues: values}
	}
	mapped := mappedSnapshot(t, versions(2, 5), nestedSchema, mode("id"))
	v, err := mapped.PartitionValue(add(map[string]*string{"p-day": &day, "day": &other}), "day")
	require.NoError(t, err)
	require.Equal(t, day, *v)
	_, err = mapped.PartitionValue(add(map[string]*string{"day": &other}), "day")
	require.ErrorIs(t, err, delta.ErrCorrupt, "the logical name may be another column's")

	plain := mappedSnapshot(t, versions(2, 5), nestedSchema, nil)
	v, err = plain.PartitionValue(add(map[string]*string{"p-day": &day, "day": &other}), "day")
	require.NoError(t, err)
	require.Equal(t, other, *v)
	v, err = plain.PartitionValue(add(map[string]*string{"DAY": &day}), "day")
	require.NoError(t, err)
	require.Equal(t, day, *v, "as the metadata spells it")
}

func TestMappingFollowsTheMetadata(t *testing.T) {
	snap := mappedSnapshot(t, versions(2, 5), nestedSchema, nil)
	require.Equal(t, delta.MappingNone, snap.Mapping())
	m := *snap.Metadata()
	m.Configuration = mode("name")
	on, err := snap.Advance(1, []delta.Action{{Metadata: &m}})
	require.NoError(t, err)
	require.Equal(t, delta.MappingName, on.Mapping(), "the schema is the same, the mode is not")
	require.Equal(t, delta.MappingNone, snap.Mapping(), "snapshots do not change")
	m2 := m
	m2.Configuration = mode("id")
	other, err := on.Advance(2, []delta.Action{{Metadata: &m2}})
	require.NoError(t, err)
	require.Equal(t, delta.MappingID, other.Mapping(), "a reader believes the log, whatever its writer was allowed")
	same, err := on.Advance(2, nil)
	require.NoError(t, err)
	require.Equal(t, delta.MappingName, same.Mapping())
	down := versions(1, 4)
	off, err := same.Advance(3, []delta.Action{{Protocol: &down}})
	require.NoError(t, err)
	require.Equal(t, delta.MappingNone, off.Mapping(), "what the protocol no longer supports is inert")
}

func TestMappingsThatAreRefused(t *testing.T) {
	plain := func(name string) string { return `{"name":"` + name + `","type":"long","nullable":true,"metadata":{}}` }
	array := func(of string) string { return `{"type":"array","elementType":` + of + `,"containsNull":true}` }
	for _, c := range []struct{ why, schema, says string }{
		{"no id", structOf(`{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.physicalName":"p"}}`), "column a has no delta.columnMapping.id"},
		{"no physical name", structOf(`{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1}}`), "column a has no delta.columnMapping.physicalName"},
		{"an id that is text", structOf(`{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":"1","delta.columnMapping.physicalName":"p"}}`), "no delta.columnMapping.id that is an id"},
		{"an id beyond 31 bits", structOf(mappedField(1<<31, "a", "p", `"long"`, "")), "no delta.columnMapping.id that is an id"},
		{"a physical name that is a number", structOf(`{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":7}}`), "no delta.columnMapping.physicalName"},
		{"an empty physical name", structOf(mappedField(1, "a", "", `"long"`, "")), "no delta.columnMapping.physicalName"},
		{"an id twice", structOf(mappedField(1, "a", "p", `"long"`, ""), mappedField(1, "b", "q", `"long"`, "")), "the columns a and b share the delta.columnMapping.id 1"},
		{"an id twice at two levels", structOf(mappedField(1, "a", "p", structOf(mappedField(1, "b", "q", `"long"`, "")), "")), "the columns a and a.b share"},
		{"a physical name twice", structOf(mappedField(1, "a", "p", `"long"`, ""), mappedField(2, "b", "p", `"long"`, "")), `share the delta.columnMapping.physicalName "p"`},
		{"a field of an element", structOf(mappedField(1, "a", "p", array(structOf(plain("x"))), "")), "column a.element.x has no"},
		{"a field of a key", structOf(mappedField(1, "a", "p", `{"type":"map","keyType":`+structOf(plain("x"))+`,"valueType":"long","valueContainsNull":true}`, "")), "column a.key.x has no"},
		{"a field of a value", structOf(mappedField(1, "a", "p", `{"type":"map","keyType":"long","valueType":`+structOf(plain("x"))+`,"valueContainsNull":true}`, "")), "column a.value.x has no"},
	} {
		t.Run(c.why, func(t *testing.T) {
			s, err := delta.ParseSchema(c.schema)
			require.NoError(t, err)
			for _, m := range []string{"name", "id"} {
				meta := &delta.Metadata{Provider: "parquet", SchemaString: c.schema, Configuration: mode(m)}
				p := versions(2, 5)
				err = delta.GateRead(&p, meta, s)
				require.ErrorIs(t, err, delta.ErrCorrupt)
				require.ErrorContains(t, err, c.says)
				inert := versions(1, 4)
				require.NoError(t, delta.GateRead(&inert, meta, s), "mapping that is not in effect breaks nothing")
			}
		})
	}
	twice := structOf(mappedField(1, "a", "p", structOf(mappedField(2, "b", "p", `"long"`, "")), ""))
	s, err := delta.ParseSchema(twice)
	require.NoError(t, err)
	p := versions(2, 5)
	require.NoError(t, delta.GateRead(&p, &delta.Metadata{Provider: "parquet", SchemaString: twice, Configuration: mode("name")}, s),
		"a physical name is of its level")
}

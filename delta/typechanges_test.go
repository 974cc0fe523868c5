package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// What Spark 4.1 with Delta 4.2 writes: the changes oldest first at the nearest field of a struct, with
// fieldPath (element, key, value) where the change is in an array or a map; partition columns and keys
// of maps widen as well.
func TestWidenColumn(t *testing.T) {
	delta.WriteEverything(t)
	widening := map[string]string{"delta.enableTypeWidening": "true"}
	protocol := both([]string{"typeWidening"}, "checkConstraints", "identityColumns", "generatedColumns")
	g := table{protocol: protocol, conf: widening, columns: col("a", "integer") + "," +
		col("k", mapType("integer", "integer")) + "," + col("s", structType(col("l", arrayType(mapType("integer", "short"))))) + "," +
		col("b", "long", `"delta.typeChanges":[{"fromType":"integer","toType":"long","tableVersion":3}]`) + "," + col("d", "date") + "," + col("v", "void") + "," +
		col("i", "long", `"delta.identity.start":1,"delta.identity.step":1`) + "," + col("n", "decimal(10,2)") + "," + col("g", "integer", `"delta.generationExpression":"1"`), partition: []string{"a"}}
	withoutVoid := g
	withoutVoid.columns = col("a", "integer") + "," + col("k", mapType("integer", "integer")) + "," + col("s", structType(col("l", arrayType(mapType("integer", "short"))))) + "," +
		col("b", "long", `"delta.typeChanges":[{"fromType":"integer","toType":"long","tableVersion":3}]`) + "," + col("d", "date") + "," + col("n", "decimal(10,2)")
	widen := func(to delta.Type, path ...string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.WidenColumn(path, to) }
	}
	for _, c := range []editCase{
		{why: "a column, here of partitions", table: withoutVoid, edit: widen(delta.Long, "A"), field: `a delta.typeChanges=[{"fromType":"integer","toType":"long"}]`},
		{why: "the value of a map", table: withoutVoid, edit: widen(delta.Long, "k", "value"), field: `k delta.typeChanges=[{"fieldPath":"value","fromType":"integer","toType":"long"}]`},
		{why: "the key of a map", table: withoutVoid, edit: widen(delta.Double, "k", "KEY"), field: `k delta.typeChanges=[{"fieldPath":"key","fromType":"integer","toType":"double"}]`},
		{why: "a second time, what was there byte for byte", table: withoutVoid, edit: widen(delta.Decimal{Precision: 20, Scale: 0}, "b"),
			field: `b delta.typeChanges=[{"fromType":"integer","toType":"long","tableVersion":3},{"fromType":"long","toType":"decimal(20,0)"}]`},
		{why: "a decimal", table: withoutVoid, edit: widen(delta.Decimal{Precision: 12, Scale: 3}, "n"), field: `n delta.typeChanges=[{"fromType":"decimal(10,2)","toType":"decimal(12,3)"}]`},
		{why: "a date, with the feature of its new type", table: withoutVoid, edit: widen(delta.TimestampNTZ, "d"), field: `d delta.typeChanges=[{"fromType":"date","toType":"timestamp_ntz"}]`},
	} {
		t.Run(c.why, c.run)
	}
	t.Run("deep down, at the nearest field", func(t *testing.T) {
		s := edited(t, withoutVoid.snapshot(t), widen(delta.Integer, "s", "l", "element", "value"))
		s = edited(t, s, widen(delta.Long, "s", "l", "element", "key"))
		inner := s.Schema().Fields[s.Schema().Index("s")].Type.(*delta.Struct).Fields[0]
		require.Equal(t, `[{"fieldPath":"element.value","fromType":"short","toType":"integer"},{"fieldPath":"element.key","fromType":"integer","toType":"long"}]`,
			string(inner.Metadata["delta.typeChanges"]))
		require.Equal(t, "array<map<long,integer>>", inner.Type.String())
	})
	t.Run("void needs no feature and leaves no record", func(t *testing.T) {
		void := table{columns: col("a", "integer") + "," + col("v", "void")}
		s := edited(t, void.snapshot(t), widen(delta.Decimal{Precision: 5, Scale: 1}, "v"))
		require.Equal(t, "struct<a:integer,v:decimal(5,1)>", s.Schema().String())
		require.Empty(t, s.Schema().Fields[1].Metadata)
		require.Equal(t, plainProtocol, *s.Protocol())
	})

	ruled := withoutVoid
	ruled.conf = map[string]string{"delta.enableTypeWidening": "true", "delta.constraints.c": "a > 0"}
	off := withoutVoid
	off.conf = nil
	unsupported := withoutVoid
	unsupported.protocol = versions(1, 2)
	iceberg := withoutVoid
	iceberg.columns = col("a", "integer", mappedAs(1, "p"))
	iceberg.partition = nil
	iceberg.protocol = both([]string{"typeWidening", "columnMapping"}, "icebergCompatV2")
	iceberg.conf = map[string]string{"delta.enableTypeWidening": "true", "delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
	for _, c := range []struct {
		why   string
		table table
		to    delta.Type
		path  []string
		says  string
	}{
		{"narrower", withoutVoid, delta.Short, []string{"a"}, "only types that hold all old values"},
		{"another kind", withoutVoid, delta.String, []string{"a"}, "only types that hold all old values"},
		{"a struct", withoutVoid, delta.Long, []string{"s"}, "only types that hold all old values"},
		{"no element", withoutVoid, delta.Long, []string{"a", "element"}, `no column "element"`},
		{"no such part of a map", withoutVoid, delta.Long, []string{"k", "item"}, "a map has a key and a value"},
		{"no such column", withoutVoid, delta.Long, []string{"zz"}, "no column zz"},
		{"no path", withoutVoid, delta.Long, nil, "no column is named"},
		{"no type", withoutVoid, nil, []string{"a"}, "no type is given"},
		{"an identity column", g, delta.Decimal{Precision: 20}, []string{"i"}, "identity column"},
		{"a generated column", g, delta.Long, []string{"g"}, "generated column"},
		{"a void to nothing Delta has", g, delta.Primitive("odd"), []string{"v"}, `"odd"`},
		{"a column that a constraint names", ruled, delta.Long, []string{"a"}, "the constraint c"},
		{"without the property", off, delta.Long, []string{"a"}, "delta.enableTypeWidening"},
		{"without the feature", unsupported, delta.Long, []string{"a"}, "delta.enableTypeWidening"},
		{"what Iceberg cannot follow (UNSUPPORTED_TYPE_WIDENING)", iceberg, delta.Double, []string{"a"}, "enableIcebergCompatV2"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.table.snapshot(t).WidenColumn(c.path, c.to)
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.says)
		})
	}
}

package delta_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// tableOf is a table with a schema at version 3, whose metadata has every member set.
func tableOf(t require.TestingT, s *delta.Struct, protocol delta.Protocol) *delta.Snapshot {
	created := int64(5)
	r := delta.NewReplay("mem://t/")
	r.CheckpointAt(3)
	require.NoError(t, r.Checkpoint(delta.Action{Protocol: &protocol}))
	require.NoError(t, r.Checkpoint(delta.Action{Metadata: &delta.Metadata{
		ID: "id", Name: "n", Description: "d", Provider: "parquet", FormatOptions: map[string]string{"o": "1"},
		SchemaString: s.JSON(), PartitionColumns: []string{}, Configuration: map[string]string{"owner": "x"}, CreatedTime: &created,
	}}))
	snap, err := r.Snapshot(3)
	require.NoError(t, err)
	return snap
}

var plainProtocol = delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}

func arrowSchema(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

// required makes a NOT NULL Arrow field.
func required(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }

func TestEvolvedAddsColumns(t *testing.T) {
	i32, i64, str := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	ab := schemaOf(field("a", delta.Long), field("B", delta.String))
	nested := func(inner delta.Type) *delta.Struct { return schemaOf(field("id", delta.Long), field("c", inner)) }
	for _, c := range []struct {
		why   string
		table *delta.Struct
		rows  *arrow.Schema
		want  string // of the schema, "" if it stays
		added []string
	}{
		{"nothing is new", ab, arrowSchema(required("b", str)), "", nil},
		{"no rows", ab, arrowSchema(), "", nil},
		{"a new column goes to the end, wherever it stands in the rows", ab, arrowSchema(required("z", i32), required("b", str)),
			"struct<a:long,B:string,z:integer>", []string{"z"}},
		{"several go in the order of the rows", ab, arrowSchema(required("z", i32), required("y", str), required("A", i64)),
			"struct<a:long,B:string,z:integer,y:string>", []string{"z", "y"}},
		{"a column of another type stays as it is", ab, arrowSchema(required("a", str), required("z", i32)),
			"struct<a:long,B:string,z:integer>", []string{"z"}},
		{"NOT NULL becomes nullable, at every level", ab, arrowSchema(required("s", arrow.StructOf(
			required("l", arrow.ListOfField(required("element", arrow.StructOf(required("x", i32))))),
		))), "struct<a:long,B:string,s:struct<l:array<struct<x:integer>>>>", []string{"s"}},
		{"a field of a struct", nested(schemaOf(field("x", delta.Long))), arrowSchema(required("C", arrow.StructOf(required("y", str), required("X", i32)))),
			"struct<id:long,c:struct<x:long,y:string>>", []string{"c.y"}},
		{"a field of a struct in a list", nested(&delta.Array{Element: schemaOf(field("x", delta.Long)), ContainsNull: false}),
			arrowSchema(required("c", arrow.LargeListOf(arrow.StructOf(required("y", str))))),
			"struct<id:long,c:array<struct<x:long,y:string>>>", []string{"c.element.y"}},
		{"a field of a struct that is a map's value", nested(&delta.Map{Key: delta.String, Value: schemaOf(field("x", delta.Long))}),
			arrowSchema(required("c", arrow.MapOf(str, arrow.StructOf(required("y", str))))),
			"struct<id:long,c:map<string,struct<x:long,y:string>>>", []string{"c.value.y"}},
		{"three levels down, beside a new column", nested(schemaOf(field("l", &delta.Array{Element: schemaOf(field("m", schemaOf(field("x", delta.Long))))}))),
			arrowSchema(required("new", i64), required("c", arrow.StructOf(required("l", arrow.ListOf(arrow.StructOf(required("M", arrow.StructOf(required("y", i32))))))))),
			"struct<id:long,c:struct<l:array<struct<m:struct<x:long,y:integer>>>>,new:long>", []string{"new", "c.l.element.m.y"}},
		{"through a dictionary", nested(schemaOf(field("x", delta.Long))),
			arrowSchema(required("c", &arrow.DictionaryType{IndexType: i32, ValueType: arrow.StructOf(required("y", str))})),
			"struct<id:long,c:struct<x:long,y:string>>", []string{"c.y"}},
		{"a struct where the table has a number is not looked into", nested(delta.Long), arrowSchema(required("c", arrow.StructOf(required("y", str)))), "", nil},
		{"a list of structs where the table has a map is not looked into", nested(&delta.Map{Key: delta.String, Value: delta.Long}),
			arrowSchema(required("c", arrow.ListOf(arrow.StructOf(required("y", str))))), "", nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := tableOf(t, c.table, plainProtocol)
			evolved, added, err := snap.Evolved(c.rows)
			require.NoError(t, err)
			require.Equal(t, c.added, added)
			if c.want == "" {
				require.Same(t, snap, evolved)
				return
			}
			require.Equal(t, c.want, evolved.Schema().String())
			require.EqualValues(t, 3, evolved.Version())
			want := *snap.Metadata()
			want.SchemaString = evolved.Metadata().SchemaString
			require.Equal(t, want, *evolved.Metadata(), "all else is kept")
			require.Equal(t, c.table.String(), snap.Schema().String(), "the snapshot given is not changed")
			again, added, err := evolved.Evolved(c.rows)
			require.NoError(t, err)
			require.Same(t, evolved, again, "a second call finds the columns")
			require.Empty(t, added)
		})
	}
}

func TestEvolvedKeepsWhatColumnsSay(t *testing.T) {
	s := schemaOf(delta.Field{Name: "A", Type: schemaOf(delta.Field{Name: "b", Type: delta.Long, Metadata: map[string]json.RawMessage{"comment": json.RawMessage(`"x"`), "n": json.RawMessage(`12345678901234567890`)}})})
	evolved, _, err := tableOf(t, s, plainProtocol).Evolved(arrowSchema(required("a", arrow.StructOf(required("new", arrow.PrimitiveTypes.Int64)))))
	require.NoError(t, err)
	require.Equal(t, `{"type":"struct","fields":[{"name":"A","type":{"type":"struct","fields":[`+
		`{"name":"b","type":"long","nullable":false,"metadata":{"comment":"x","n":12345678901234567890}},`+
		`{"name":"new","type":"long","nullable":true,"metadata":{}}]},"nullable":false,"metadata":{}}]}`, evolved.Metadata().SchemaString)
}

// Under column mapping a new column gets an id above all that there were, and a physical name that is
// the same whenever it is worked out again for the same definition: files may have been written for it.
func TestEvolvedUnderColumnMapping(t *testing.T) {
	delta.WriteEverything(t)
	g := mappedTable()
	g.columns += "," + col("g", "integer", mappedAs(8, "p8", `"delta.generationExpression":"a"`))
	rows := arrowSchema(required("s", arrow.StructOf(required("new", arrow.PrimitiveTypes.Int64))), required("a b", arrow.ListOf(arrow.StructOf(required("i", arrow.PrimitiveTypes.Int32)))))
	evolved, added, err := g.snapshot(t).Evolved(rows)
	require.NoError(t, err)
	require.Equal(t, []string{"s.new", "a b"}, added)
	require.Equal(t, "12", evolved.Metadata().Configuration["delta.columnMapping.maxColumnId"])
	require.Regexp(t, `^\{a#1=p1:integer s#2=p2:\{x#3=p3:integer y#4=p4:string new#10=col-[0-9a-f-]{36}:long\} l#5=p5:.* g#8=p8:integer a b#11=col-[0-9a-f-]{36}:\[\{i#12=col-[0-9a-f-]{36}:integer\}\]\}$`, shape(evolved.Schema()))
	require.Equal(t, `"a"`, string(evolved.Schema().Fields[4].Metadata["delta.generationExpression"]))
	require.Equal(t, delta.MappingName, evolved.Mapping())
	again, _, err := g.snapshot(t).Evolved(rows)
	require.NoError(t, err)
	require.Equal(t, evolved.Metadata().SchemaString, again.Metadata().SchemaString)

	g.conf = map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "20"}
	later, _, err := g.snapshot(t).Evolved(rows)
	require.NoError(t, err)
	i := later.Schema().Index("a b")
	require.NotEqual(t, evolved.Schema().Fields[i].PhysicalName(), later.Schema().Fields[i].PhysicalName(), "another id, another name")
}

func TestEvolvedRefuses(t *testing.T) {
	i64, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	wide := make([]arrow.Field, 10_000)
	for i := range wide {
		wide[i] = required(fmt.Sprint("c", i), i64)
	}
	deep := func(n int) arrow.DataType {
		dt := arrow.DataType(i64)
		for range n {
			dt = arrow.ListOf(dt)
		}
		return dt
	}
	for _, c := range []struct {
		why  string
		rows *arrow.Schema
		want string
	}{
		{"two new columns that differ in case", arrowSchema(required("new", i64), required("NEW", i64)), `"new" and "NEW"`},
		{"two spellings of a column of the table", arrowSchema(required("id", i64), required("ID", i64)), `"id" and "ID"`},
		{"two new fields that differ in case", arrowSchema(required("s", arrow.StructOf(required("y", i64), required("Y", i64)))), `"s.y" and "s.Y"`},
		{"two fields of a new struct that differ in case", arrowSchema(required("n", arrow.StructOf(required("y", i64), required("Y", i64)))), `"n.y" and "n.Y"`},
		{"a space in a name", arrowSchema(required("a b", i64)), `"a b"`},
		{"an = in the name of a field", arrowSchema(required("s", arrow.StructOf(required("a=b", i64)))), `"s.a=b"`},
		{"a bracket deep in a new column", arrowSchema(required("n", arrow.ListOf(arrow.StructOf(required("a(", i64))))), `"n.element.a("`},
		{"no name", arrowSchema(required("", i64)), "without a name"},
		{"a name of the change data feed", arrowSchema(required("_Change_Type", str)), "reserved for the change data feed"},
		{"a type that Delta lacks", arrowSchema(required("u", arrow.PrimitiveTypes.Uint64)), "cast it to int64"},
		{"no type", arrowSchema(required("n", arrow.Null)), "give it the type that it shall have"},
		{"no type, below", arrowSchema(required("n", arrow.StructOf(required("a", i64), required("v", arrow.Null)))), `"n.v" is new, and has no type`},
		{"an empty struct", arrowSchema(required("n", arrow.StructOf())), `"n" has no column that can be stored`},
		{"a time without a zone, which the protocol lacks", arrowSchema(required("t", &arrow.TimestampType{Unit: arrow.Microsecond})), "timestampNtz"},
		{"a time without a zone, below", arrowSchema(required("t", arrow.ListOf(&arrow.TimestampType{Unit: arrow.Microsecond}))), "timestampNtz"},
		{"a field in the key of a map", arrowSchema(required("m", arrow.MapOf(arrow.StructOf(required("k", i64), required("new", i64)), i64))), `"m.key.new"`},
		{"too many columns", arrowSchema(wide...), "more than 10000 leaf columns"},
		{"too deep", arrowSchema(required("d", deep(100))), "nested deeper than 64 levels"},
	} {
		t.Run(c.why, func(t *testing.T) {
			table := schemaOf(field("id", delta.Long), field("s", schemaOf(field("x", delta.Long))), field("m", &delta.Map{Key: schemaOf(field("k", delta.Long)), Value: delta.Long}))
			_, _, err := tableOf(t, table, plainProtocol).Evolved(c.rows)
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("as deep as a schema may be", func(t *testing.T) {
		snap := tableOf(t, schemaOf(field("id", delta.Long)), plainProtocol)
		_, _, err := snap.Evolved(arrowSchema(required("d", deep(63))))
		require.NoError(t, err)
		_, _, err = snap.Evolved(arrowSchema(required("d", deep(64))))
		require.ErrorIs(t, err, delta.ErrInput)
	})
}

func TestEvolvedRefusesTablesThatItWouldHarm(t *testing.T) {
	udt := strings.Replace(typeJSON(`{"type":"udt","class":"X","sqlType":"long"}`), `"c"`, `"u"`, 1)
	for why, text := range map[string]string{
		"a user-defined type":                   udt,
		"a member of a field that is not known": `{"type":"struct","fields":[{"name":"u","type":"long","nullable":true,"metadata":{},"collation":"x"}]}`,
	} {
		t.Run(why, func(t *testing.T) {
			r := delta.NewReplay("mem://t/")
			require.NoError(t, r.Commit(0, []delta.Action{{Protocol: &plainProtocol}, {Metadata: &delta.Metadata{ID: "id", Provider: "parquet", SchemaString: text}}}))
			snap, err := r.Snapshot(0)
			require.NoError(t, err)
			_, _, err = snap.Evolved(arrowSchema(required("new", arrow.PrimitiveTypes.Int64)))
			require.ErrorIs(t, err, delta.ErrUnsupported)
			_, added, err := snap.Evolved(arrowSchema(required("U", arrow.PrimitiveTypes.Int64)))
			require.NoError(t, err, "nothing is to be written")
			require.Empty(t, added)
		})
	}
}

func TestEvolvedTimestampsWithoutZone(t *testing.T) {
	p := delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"timestampNtz"}, WriterFeatures: []string{"timestampNtz"}}
	_, added, err := tableOf(t, schemaOf(field("id", delta.Long)), p).Evolved(arrowSchema(required("t", &arrow.TimestampType{Unit: arrow.Second})))
	require.NoError(t, err, "the protocol lists the feature")
	require.Equal(t, []string{"t"}, added)
}

// Whatever is evolved into whatever: what the table had stays in place, and what rows have is there.
func TestEvolvedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &delta.Struct{Fields: drawFields(t, 3)}
		rows := &delta.Struct{Fields: drawFields(t, 3)}
		typed, err := delta.ArrowSchema(rows)
		require.NoError(t, err)
		snap := tableOf(t, table, plainProtocol)
		evolved, added, err := snap.Evolved(typed)
		require.NoError(t, err)
		require.Equal(t, len(added) == 0, evolved == snap)
		extends(t, table, evolved.Schema())
		require.Len(t, evolved.Schema().Fields, len(table.Fields)+countFunc(rows.Fields, func(f delta.Field) bool { return table.Index(f.Name) < 0 }))
		again, added, err := evolved.Evolved(typed)
		require.NoError(t, err)
		require.Same(t, evolved, again)
		require.Empty(t, added)
	})
}

// Who looks for many columns finds those that one look finds, twins as well.
func TestPositionsAreThoseOfIndex(t *testing.T) {
	name := rapid.SampledFrom([]string{"", "a", "A", "bc", "bC", "Bc", "É", "é", "K", "\u212a"})
	rapid.Check(t, func(t *rapid.T) {
		s := &delta.Struct{}
		for _, n := range rapid.SliceOfN(name, 0, 6).Draw(t, "columns") {
			s.Fields = append(s.Fields, field(n, delta.Long))
		}
		n := name.Draw(t, "looked for")
		require.Equal(t, s.Index(n), delta.Positions(s)(n))
	})
}

// drawFields makes columns of few names, so that two schemas meet.
func drawFields(t *rapid.T, depth int) []delta.Field {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "B", "c", "D"}), 1, 3, strings.ToLower).Draw(t, "names")
	out := make([]delta.Field, len(names))
	for i, n := range names {
		if rapid.Bool().Draw(t, "other case") {
			n = strings.ToUpper(n)
		}
		out[i] = delta.Field{Name: n, Type: drawNested(t, depth), Nullable: rapid.Bool().Draw(t, "nullable")}
	}
	return out
}

func drawNested(t *rapid.T, depth int) delta.Type {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		return &delta.Array{Element: drawNested(t, depth-1), ContainsNull: rapid.Bool().Draw(t, "nulls")}
	case 2:
		return &delta.Map{Key: delta.String, Value: drawNested(t, depth-1), ValueContainsNull: rapid.Bool().Draw(t, "nulls")}
	case 3, 4:
		return &delta.Struct{Fields: drawFields(t, depth-1)}
	}
	return rapid.SampledFrom([]delta.Type{delta.Long, delta.String, delta.Decimal{Precision: 9, Scale: 2}}).Draw(t, "leaf")
}

// extends fails unless b is a with nullable fields at the ends of its structs.
func extends(t *rapid.T, a, b delta.Type) {
	switch a := a.(type) {
	case *delta.Struct:
		b := b.(*delta.Struct)
		for i, f := range b.Fields {
			if i >= len(a.Fields) {
				require.True(t, f.Nullable)
				continue
			}
			require.Equal(t, a.Fields[i].Name, f.Name)
			require.Equal(t, a.Fields[i].Nullable, f.Nullable)
			extends(t, a.Fields[i].Type, f.Type)
		}
	case *delta.Array:
		require.Equal(t, a.ContainsNull, b.(*delta.Array).ContainsNull)
		extends(t, a.Element, b.(*delta.Array).Element)
	case *delta.Map:
		require.Equal(t, a.Key, b.(*delta.Map).Key)
		extends(t, a.Value, b.(*delta.Map).Value)
	default:
		require.Equal(t, a, b)
	}
}

func countFunc[T any](list []T, ok func(T) bool) int {
	n := 0
	for _, v := range list {
		if ok(v) {
			n++
		}
	}
	return n
}

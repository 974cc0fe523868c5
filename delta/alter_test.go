package delta_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// table is a table to edit.
type table struct {
	columns   string // JSON of the fields
	protocol  delta.Protocol
	conf      map[string]string
	partition []string
	domains   []delta.DomainMetadata
	files     []*delta.Add
}

func (g table) snapshot(t require.TestingT) *delta.Snapshot {
	if g.protocol.MinWriterVersion == 0 {
		g.protocol = plainProtocol
	}
	actions := []delta.Action{{Protocol: &g.protocol}, {Metadata: &delta.Metadata{
		ID: "an-id", Provider: "parquet", FormatOptions: map[string]string{}, PartitionColumns: g.partition,
		SchemaString: `{"type":"struct","fields":[` + g.columns + `]}`, Configuration: g.conf,
	}}}
	for i := range g.domains {
		actions = append(actions, delta.Action{Domain: &g.domains[i]})
	}
	for _, f := range g.files {
		actions = append(actions, delta.Action{Add: f})
	}
	r := delta.NewReplay("mem://t/")
	require.NoError(t, r.Commit(0, actions))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	return snap
}

// col is a nullable column as JSON; metadata is its members.
func col(name, typ string, metadata ...string) string {
	if !strings.HasPrefix(typ, "{") {
		typ = `"` + typ + `"`
	}
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{%s}}`, name, typ, strings.Join(metadata, ","))
}

func structType(fields ...string) string {
	return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`
}

func arrayType(element string) string {
	if !strings.HasPrefix(element, "{") {
		element = `"` + element + `"`
	}
	return `{"type":"array","elementType":` + element + `,"containsNull":true}`
}

func mapType(key, value string) string {
	if !strings.HasPrefix(value, "{") {
		value = `"` + value + `"`
	}
	return `{"type":"map","keyType":"` + key + `","valueType":` + value + `,"valueContainsNull":true}`
}

// mapped is the metadata of a column under column mapping.
func mappedAs(id int, physical string, more ...string) string {
	return strings.Join(append([]string{fmt.Sprintf(`"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":%q`, id, physical)}, more...), ",")
}

var (
	mappingConf     = map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
	mappingProtocol = versions(2, 5)
)

// mappedTable has columns a, s.x, s.y and l, under column mapping.
func mappedTable() table {
	return table{protocol: mappingProtocol, conf: maps.Clone(mappingConf), columns: strings.Join([]string{
		col("a", "integer", mappedAs(1, "p1")),
		col("s", structType(col("x", "integer", mappedAs(3, "p3")), col("y", "string", mappedAs(4, "p4"))), mappedAs(2, "p2")),
		col("l", arrayType(structType(col("e", "integer", mappedAs(6, "p6")))), mappedAs(5, "p5")),
		col("d", "date", mappedAs(7, "p7")),
	}, ",")}
}

// fresh gives ids 0, 1 and so on.
func fresh() delta.Fresh {
	n := -1
	return delta.Fresh{ID: func() string { n++; return fmt.Sprintf("id%d", n) }, Version: 1, Timestamp: 1000}
}

// carryOut applies an edit as the next commit.
func carryOut(t require.TestingT, s *delta.Snapshot, e *delta.Edit) *delta.Snapshot {
	if e == nil {
		return s
	}
	next, err := s.Advance(s.Version()+1, e.Actions())
	require.NoError(t, err)
	require.NoError(t, delta.GateWrite(next.Protocol(), next.Metadata(), next.Schema()), "a table that was edited can be written to")
	return next
}

// edited edits and then asks for the same again, which finds nothing to do.
func edited(t require.TestingT, s *delta.Snapshot, edit func(*delta.Snapshot) (*delta.Edit, error)) *delta.Snapshot {
	before := s.Metadata().SchemaString
	e, err := edit(s)
	require.NoError(t, err)
	require.NotNil(t, e, "there was something to do")
	require.Equal(t, before, s.Metadata().SchemaString, "the snapshot is as it was")
	next := carryOut(t, s, e)
	again, err := edit(next)
	require.NoError(t, err)
	require.Nil(t, again, "a second call finds nothing to do")
	return next
}

// shape is a schema with the ids and physical names of its columns.
func shape(s *delta.Struct) string {
	var show func(t delta.Type) string
	show = func(t delta.Type) string {
		switch t := t.(type) {
		case *delta.Struct:
			parts := make([]string, len(t.Fields))
			for i, f := range t.Fields {
				parts[i] = f.Name
				if id, ok := f.Metadata["delta.columnMapping.id"]; ok {
					parts[i] += fmt.Sprintf("#%s=%s", id, f.PhysicalName())
				}
				if parts[i] += ":" + show(f.Type); !f.Nullable {
					parts[i] += " not null"
				}
			}
			return "{" + strings.Join(parts, " ") + "}"
		case *delta.Array:
			return "[" + show(t.Element) + "]"
		case *delta.Map:
			return "<" + show(t.Key) + "," + show(t.Value) + ">"
		}
		return t.String()
	}
	return show(s)
}

type editCase struct {
	why   string
	table table
	edit  func(*delta.Snapshot) (*delta.Edit, error)
	want  string // shape of the schema
	field string // of metadata: "column key=value", "" if it does not matter
}

func (c editCase) run(t *testing.T) {
	next := edited(t, c.table.snapshot(t), c.edit)
	if c.want != "" {
		require.Equal(t, c.want, shape(next.Schema()))
	}
	if c.field != "" {
		column, rule, _ := strings.Cut(c.field, " ")
		key, value, _ := strings.Cut(rule, "=")
		f := next.Schema().Fields[next.Schema().Index(column)]
		require.Equal(t, value, string(f.Metadata[key]))
	}
}

func TestAddColumns(t *testing.T) {
	delta.WriteEverything(t)
	plain := table{columns: col("a", "integer") + "," + col("s", structType(col("x", "integer"))) + "," +
		col("l", arrayType(structType(col("p", "integer")))) + "," + col("m", mapType("string", structType(col("q", "integer"))))}
	add := func(columns ...delta.NewColumn) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.AddColumns(fresh(), columns...) }
	}
	for _, c := range []editCase{
		{why: "at the end", table: plain, edit: add(delta.NewColumn{Path: []string{"c"}, Type: delta.Long}),
			want: "{a:integer s:{x:integer} l:[{p:integer}] m:<string,{q:integer}> c:long}"},
		{why: "first and behind another, two at once", table: plain,
			edit: add(delta.NewColumn{Path: []string{"c"}, Type: delta.Long, Place: delta.Place{First: true}}, delta.NewColumn{Path: []string{"b"}, Type: delta.Date, Place: delta.Place{After: "A"}}),
			want: "{c:long a:integer b:date s:{x:integer} l:[{p:integer}] m:<string,{q:integer}>}"},
		{why: "within a struct, an array and the value of a map", table: plain,
			edit: add(delta.NewColumn{Path: []string{"S", "z"}, Type: delta.Long, Place: delta.Place{First: true}},
				delta.NewColumn{Path: []string{"l", "element", "r"}, Type: delta.String}, delta.NewColumn{Path: []string{"m", "value", "w"}, Type: delta.Boolean}),
			want: "{a:integer s:{z:long x:integer} l:[{p:integer r:string}] m:<string,{q:integer w:boolean}>}"},
		{why: "what is NOT NULL in a type becomes nullable", table: plain,
			edit: add(delta.NewColumn{Path: []string{"c"}, Type: &delta.Array{Element: schemaOf(delta.Field{Name: "n", Type: delta.Long})}}),
			want: "{a:integer s:{x:integer} l:[{p:integer}] m:<string,{q:integer}> c:[{n:long}]}"},
		{why: "a comment", table: plain, edit: add(delta.NewColumn{Path: []string{"c"}, Type: delta.Long, Comment: `say "hi"`}), field: `c comment="say \"hi\""`},
		{why: "lengths as Spark keeps them", table: plain, edit: add(delta.NewColumn{Path: []string{"c"}, Type: &delta.Array{Element: delta.String}, Declared: "array<char(3)>"}),
			field: `c __CHAR_VARCHAR_TYPE_STRING="array<char(3)>"`},
		{why: "[PROT-9] the feature of a type is supported with it", table: plain, edit: add(delta.NewColumn{Path: []string{"c"}, Type: delta.TimestampNTZ}),
			want: "{a:integer s:{x:integer} l:[{p:integer}] m:<string,{q:integer}> c:timestamp_ntz}"},
		{why: "void, which no file has", table: plain, edit: add(delta.NewColumn{Path: []string{"c"}, Type: delta.Void}),
			want: "{a:integer s:{x:integer} l:[{p:integer}] m:<string,{q:integer}> c:void}"},
		{why: "under column mapping: ids from the highest that there ever was, depth first, and fresh physical names", table: mappedTable(),
			edit: add(delta.NewColumn{Path: []string{"c"}, Type: schemaOf(field("i", delta.Long))}, delta.NewColumn{Path: []string{"l", "element", "n"}, Type: delta.Long}),
			want: "{a#1=p1:integer s#2=p2:{x#3=p3:integer y#4=p4:string} l#5=p5:[{e#6=p6:integer n#10=col-id0:long}] d#7=p7:date c#11=col-id1:{i#12=col-id2:long}}"},
		{why: "[SCH-3] names of any characters under column mapping", table: mappedTable(), edit: add(delta.NewColumn{Path: []string{"a b,c"}, Type: delta.Long}),
			want: "{a#1=p1:integer s#2=p2:{x#3=p3:integer y#4=p4:string} l#5=p5:[{e#6=p6:integer}] d#7=p7:date a b,c#10=col-id0:long}"},
	} {
		t.Run(c.why, c.run)
	}
	t.Run("a mapped table whose highest id nobody noted is left alone by an edit that is none", func(t *testing.T) {
		unnoted := mappedTable()
		delete(unnoted.conf, "delta.columnMapping.maxColumnId")
		e, err := add(delta.NewColumn{Path: []string{"a"}, Type: delta.Integer})(unnoted.snapshot(t))
		require.NoError(t, err)
		require.Nil(t, e)
		next := edited(t, unnoted.snapshot(t), add(delta.NewColumn{Path: []string{"c"}, Type: delta.Integer}))
		require.Equal(t, "8", next.Metadata().Configuration["delta.columnMapping.maxColumnId"])
	})
	t.Run("the highest id is in the same commit", func(t *testing.T) {
		e, err := add(delta.NewColumn{Path: []string{"c"}, Type: delta.Long})(mappedTable().snapshot(t))
		require.NoError(t, err)
		require.Equal(t, "10", e.Metadata.Configuration["delta.columnMapping.maxColumnId"])
	})
	t.Run("a struct that is the key of a map stays", func(t *testing.T) {
		keyed := table{columns: col("m", `{"type":"map","keyType":`+structType(col("k", "long"))+`,"valueType":"long","valueContainsNull":true}`)}
		_, err := add(delta.NewColumn{Path: []string{"m", "KEY", "new"}, Type: delta.Long})(keyed.snapshot(t))
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, "keys are not evolved")
		edited(t, keyed.snapshot(t), func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{"m", "key", "k"}, "x") })
	})
	for _, c := range []struct {
		why    string
		column delta.NewColumn
		want   error
		says   string
	}{
		{"another type than it has", delta.NewColumn{Path: []string{"A"}, Type: delta.Long}, delta.ErrConflict, "as integer and not as long"},
		{"the key of a map", delta.NewColumn{Path: []string{"m", "key", "w"}, Type: delta.Long}, delta.ErrInput, "m.key is of type string"},
		{"no such struct", delta.NewColumn{Path: []string{"z", "w"}, Type: delta.Long}, delta.ErrInput, "no column z"},
		{"a field of an integer", delta.NewColumn{Path: []string{"a", "w"}, Type: delta.Long}, delta.ErrInput, "a is of type integer"},
		{"an array without element", delta.NewColumn{Path: []string{"l", "p"}, Type: delta.Long}, delta.ErrInput, "l is of type"},
		{"behind what is not there", delta.NewColumn{Path: []string{"c"}, Type: delta.Long, Place: delta.Place{After: "zz"}}, delta.ErrInput, `"zz" to stand behind`},
		{"[SCH-3] a space without column mapping", delta.NewColumn{Path: []string{"a b"}, Type: delta.Long}, delta.ErrInput, "column mapping on"},
		{"a name of the change data feed", delta.NewColumn{Path: []string{"_change_type"}, Type: delta.Long}, delta.ErrInput, "reserved"},
		{"lengths of what is no string", delta.NewColumn{Path: []string{"c"}, Type: delta.Long, Declared: "char(3)"}, delta.ErrInput, `"char(3)" is not that of the column`},
		{"lengths that are none", delta.NewColumn{Path: []string{"c"}, Type: delta.String, Declared: "char(0)"}, delta.ErrInput, `"char(0)"`},
		{"a default in one step, which Spark refuses as well", delta.NewColumn{Path: []string{"c"}, Type: schemaOf(delta.Field{Name: "x", Type: delta.Long,
			Metadata: map[string]json.RawMessage{"CURRENT_DEFAULT": json.RawMessage(`"1"`)}})}, delta.ErrInput, "CURRENT_DEFAULT"},
		{"a comment that is not UTF-8", delta.NewColumn{Path: []string{"c"}, Type: delta.Long, Comment: "M\xfcnchen"}, delta.ErrInput, `comment of column "c" is not UTF-8`},
		{"no type", delta.NewColumn{Path: []string{"c"}}, delta.ErrInput, "a name and a type"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := add(c.column)(plain.snapshot(t))
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// What Spark 4.1 with Delta 4.2 does: RENAME follows partition and clustering columns, DROP refuses
// them; both refuse a column that a constraint or a generated column names (DELTA_GENERATED_COLUMNS_
// DEPENDENT_COLUMN_CHANGE), and both need mapping. An identity column may be dropped.
func TestRenameAndDropColumns(t *testing.T) {
	delta.WriteEverything(t)
	rename := func(to string, path ...string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.RenameColumn(path, to) }
	}
	drop := func(path ...string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropColumn(path) }
	}
	rest := " l#5=p5:[{e#6=p6:integer}] d#7=p7:date}"
	for _, c := range []editCase{
		{why: "a column", table: mappedTable(), edit: rename("b c", "A"), want: "{b c#1=p1:integer s#2=p2:{x#3=p3:integer y#4=p4:string}" + rest},
		{why: "a field", table: mappedTable(), edit: rename("z", "s", "x"), want: "{a#1=p1:integer s#2=p2:{z#3=p3:integer y#4=p4:string}" + rest},
		{why: "of a struct in an array", table: mappedTable(), edit: rename("z", "l", "element", "e"),
			want: "{a#1=p1:integer s#2=p2:{x#3=p3:integer y#4=p4:string} l#5=p5:[{z#6=p6:integer}] d#7=p7:date}"},
		{why: "its case alone", table: mappedTable(), edit: rename("A", "a"), want: "{A#1=p1:integer s#2=p2:{x#3=p3:integer y#4=p4:string}" + rest},
		{why: "drop a column", table: mappedTable(), edit: drop("a"), want: "{s#2=p2:{x#3=p3:integer y#4=p4:string}" + rest},
		{why: "drop a field", table: mappedTable(), edit: drop("S", "X"), want: "{a#1=p1:integer s#2=p2:{y#4=p4:string}" + rest},
	} {
		t.Run(c.why, c.run)
	}

	partitioned := mappedTable()
	partitioned.partition = []string{"a"}
	next := edited(t, partitioned.snapshot(t), rename("b", "a"))
	require.Equal(t, []string{"b"}, next.Metadata().PartitionColumns, "partition columns are named logically")
	require.Equal(t, "p1", next.PartitionKey("b"))

	clustered := mappedTable()
	clustered.protocol = writerList(2, "columnMapping", "clustering", "domainMetadata")
	clustered.domains = []delta.DomainMetadata{{Domain: "delta.clustering", Configuration: `{"clusteringColumns":[["p2","p3"]],"domainName":"delta.clustering"}`}}
	edited(t, clustered.snapshot(t), rename("b", "s", "x"))

	ruled := mappedTable()
	ruled.conf["delta.constraints.pos"] = "`A` > 0 AND s.y <> 'd'"
	ruled.columns += "," + col("g", "long", mappedAs(8, "p8"), `"delta.generationExpression":"CAST(l[0].e AS BIGINT)"`)

	unmapped := table{columns: col("a", "integer") + "," + col("b", "integer")}
	void := mappedTable()
	void.columns = col("a", "integer", mappedAs(1, "p1")) + "," + col("v", "void", mappedAs(2, "p2"))
	single := mappedTable()
	single.columns = col("s", structType(col("x", "integer", mappedAs(3, "p3"))), mappedAs(2, "p2"))
	for _, c := range []struct {
		why   string
		table table
		edit  func(*delta.Snapshot) (*delta.Edit, error)
		says  string
	}{
		{"no mapping", unmapped, rename("c", "a"), "delta.columnMapping.mode"},
		{"no mapping, dropping", unmapped, drop("a"), "delta.columnMapping.mode"},
		{"the name is taken, by another case", mappedTable(), rename("S", "a"), "taken"},
		{"neither is there", mappedTable(), rename("zz", "z"), "no column z"},
		{"of no name", mappedTable(), rename("", "a"), "without a name"},
		{"to a name of the change data feed", mappedTable(), rename("_commit_version", "a"), "reserved"},
		{"named by a constraint", ruled, rename("b", "a"), "the constraint pos"},
		{"a field named by a constraint", ruled, rename("b", "s", "y"), "the constraint pos"},
		{"a struct of which a constraint names a field", ruled, drop("s"), "the constraint pos"},
		{"named by a generated column", ruled, drop("l"), "the column g"},
		{"a partition column, dropping", partitioned, drop("a"), "partitioned by it"},
		{"a clustering column, dropping", clustered, drop("s", "x"), "clustered by it"},
		{"the struct of a clustering column, dropping", clustered, drop("s"), "clustered by it"},
		{"the only field", single, drop("s", "x"), "only column"},
		{"the only column", single, drop("s"), "only column"},
		{"the only column that is stored", void, drop("a"), "can be stored"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.edit(c.table.snapshot(t))
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.says)
		})
	}
	t.Run("what a constraint says in a text is no column", func(t *testing.T) {
		edited(t, ruled.snapshot(t), drop("d"))
	})
	t.Run("a constraint without effect binds nobody", func(t *testing.T) {
		inert := ruled
		inert.protocol = writerList(2, "columnMapping")
		edited(t, inert.snapshot(t), rename("b", "a"))
	})
	t.Run("what was never there is gone", func(t *testing.T) {
		e, err := drop("zz")(mappedTable().snapshot(t))
		require.NoError(t, err)
		require.Nil(t, e)
	})
	t.Run("a column that comes back is another", func(t *testing.T) {
		s := edited(t, mappedTable().snapshot(t), drop("a"))
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) {
			return s.AddColumns(fresh(), delta.NewColumn{Path: []string{"a"}, Type: delta.Integer})
		})
		require.Contains(t, shape(s.Schema()), "a#10=col-id0:integer")
	})
}

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		sql  string
		path []string
		want bool
	}{
		{"a > 0", []string{"a"}, true},
		{"A > 0", []string{"a"}, true},
		{"ab > 0", []string{"a"}, false},
		{"a_b > 0", []string{"b"}, false},
		{"`a``b` > 0", []string{"a`b"}, true},
		{"s.x > 0", []string{"s", "x"}, true},
		{"s.x > 0", []string{"s"}, true},
		{"s.x > 0", []string{"s", "y"}, false},
		{"s.`x` > 0", []string{"S", "X"}, true},
		{"s['x'] > 0", []string{"s", "x"}, true},
		{"l[0].x > 0", []string{"l", "element", "x"}, true},
		{"x > 'a' OR x < \"a\"", []string{"a"}, false},
		{`x > 'it\'s a' OR y`, []string{"a"}, false},
		{`x > r'\' OR a > 'b'`, []string{"a"}, true},
		{"x > 'unclosed a", []string{"a"}, false},
		{"upper(größe) = 'X'", []string{"größe"}, true},
		{"a", []string{"a"}, true},
		{"`unclosed", []string{"unclosed"}, true},
		{"1.5e3 > 2", []string{"a"}, false},
		{"", []string{"a"}, false},
	} {
		require.Equal(t, c.want, delta.Mentions(c.sql, c.path), "%s %v", c.sql, c.path)
	}
}

func TestMoveColumn(t *testing.T) {
	delta.WriteEverything(t)
	move := func(to delta.Place, path ...string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.MoveColumn(path, to) }
	}
	plain := table{columns: col("a", "integer") + "," + col("b", "integer") + "," + col("s", structType(col("x", "integer"), col("y", "integer")))}
	for _, c := range []editCase{
		{why: "first", table: plain, edit: move(delta.Place{First: true}, "b"), want: "{b:integer a:integer s:{x:integer y:integer}}"},
		{why: "behind another", table: plain, edit: move(delta.Place{After: "B"}, "a"), want: "{b:integer a:integer s:{x:integer y:integer}}"},
		{why: "to the end", table: plain, edit: move(delta.Place{}, "a"), want: "{b:integer s:{x:integer y:integer} a:integer}"},
		{why: "a field", table: plain, edit: move(delta.Place{After: "y"}, "s", "x"), want: "{a:integer b:integer s:{y:integer x:integer}}"},
	} {
		t.Run(c.why, c.run)
	}
	for _, to := range []delta.Place{{After: "zz"}, {After: "a"}, {First: true, After: "b"}} {
		_, err := move(to, "a")(plain.snapshot(t))
		require.ErrorIs(t, err, delta.ErrInput)
	}
	_, err := move(delta.Place{}, "zz")(plain.snapshot(t))
	require.ErrorIs(t, err, delta.ErrInput)
}

func TestFieldEdits(t *testing.T) {
	delta.WriteEverything(t)
	g := table{columns: `{"name":"a","type":"integer","nullable":false,"metadata":{"n":12345678901234567890}},` + col("v", "variant") + "," +
		col("g", "long", `"delta.generationExpression":"a"`) + "," + col("i", "long", `"delta.identity.start":1,"delta.identity.step":1`) + "," +
		col("t", "string", `"__CHAR_VARCHAR_TYPE_STRING":"varchar(5)"`) + "," + col("s", structType(col("x", "integer"))),
		protocol: both([]string{"variantType"}, "generatedColumns", "identityColumns")}
	for _, c := range []editCase{
		{why: "NULL is let in", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetNullable([]string{"A"}) }, field: "a n=12345678901234567890"},
		{why: "a comment", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{"a"}, "<x>") }, field: `a comment="<x>"`},
		{why: "a default supports its feature", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"a"}, "1 + 1") }, field: `a CURRENT_DEFAULT="1 + 1"`},
		{why: "the default of a variant", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"v"}, "null") }, field: `v CURRENT_DEFAULT="null"`},
		{why: "a longer varchar", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDeclared([]string{"t"}, "varchar(6)") },
			field: `t __CHAR_VARCHAR_TYPE_STRING="varchar(6)"`},
		{why: "no limit, as TYPE STRING in Spark", table: g, edit: func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDeclared([]string{"t"}, "") },
			field: `t __CHAR_VARCHAR_TYPE_STRING=`},
	} {
		t.Run(c.why, c.run)
	}
	t.Run("a default and none again", func(t *testing.T) {
		s := edited(t, g.snapshot(t), func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"a"}, "1") })
		require.True(t, s.Protocol().Supports("allowColumnDefaults"))
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropDefault([]string{"a"}) })
		require.Equal(t, g.snapshot(t).Metadata().SchemaString, s.Metadata().SchemaString)
		require.True(t, s.Protocol().Supports("allowColumnDefaults"), "[PROT-10] a feature stays")
	})
	for _, c := range []struct {
		why, says string
		edit      func(*delta.Snapshot) (*delta.Edit, error)
		want      error
	}{
		{"no such column", "no column z", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{"z"}, "x") }, delta.ErrInput},
		{"no column", "no column is named", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment(nil, "x") }, delta.ErrInput},
		{"a comment that is not UTF-8", `comment of column "a" is not UTF-8`, func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{"a"}, "M\xfcnchen") }, delta.ErrInput},
		{"a default that is not UTF-8", `CURRENT_DEFAULT of column "a" is not UTF-8`, func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"a"}, "'M\xfcnchen'") }, delta.ErrInput},
		{"no expression", "empty", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"a"}, " ") }, delta.ErrInput},
		{"a default of a variant", "only be NULL", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"v"}, "1") }, delta.ErrInput},
		{"a default of a generated column", "generated", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"g"}, "1") }, delta.ErrInput},
		{"a default of an identity column", "identity", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"i"}, "1") }, delta.ErrInput},
		{"a default that nobody would fill in", "fields of structs", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"s", "x"}, "1") }, delta.ErrUnsupported},
		{"a shorter varchar", "lifted or raised", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDeclared([]string{"t"}, "varchar(4)") }, delta.ErrInput},
		{"a char of a varchar", "lifted or raised", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDeclared([]string{"t"}, "char(9)") }, delta.ErrInput},
		{"a char of a number", "not that of the column", func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDeclared([]string{"a"}, "char(9)") }, delta.ErrInput},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.edit(g.snapshot(t))
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

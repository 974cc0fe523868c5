package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

func required(name string, t delta.Type) delta.Field { return delta.Field{Name: name, Type: t} }

func invariant(f delta.Field, sql string) delta.Field {
	rule, _ := json.Marshal(map[string]any{"expression": map[string]any{"expression": sql}})
	text, _ := json.Marshal(string(rule))
	f.Metadata = map[string]json.RawMessage{"delta.invariants": text}
	return f
}

func TestValidateNotNull(t *testing.T) {
	person := &delta.Struct{Fields: []delta.Field{required("name", delta.String), nullable("age", delta.Long)}}
	allNullable := &delta.Struct{Fields: []delta.Field{nullable("name", delta.String), nullable("age", delta.Long)}}
	fields := []delta.Field{
		required("id", delta.Long), nullable("who", person),
		nullable("list", &delta.Array{Element: person, ContainsNull: true}),
		nullable("full", &delta.Array{Element: delta.Long}),
		nullable("map", &delta.Map{Key: delta.String, Value: delta.Long}),
	}
	loose := snapshot(t, []delta.Field{
		nullable("id", delta.Long), nullable("who", allNullable),
		nullable("list", &delta.Array{Element: allNullable, ContainsNull: true}),
		nullable("full", &delta.Array{Element: delta.Long, ContainsNull: true}),
		nullable("map", &delta.Map{Key: delta.String, Value: delta.Long, ValueContainsNull: true}),
	}, nil, nil)
	snap := snapshot(t, fields, nil, nil)
	v, err := plan.NewValidator(snap)
	require.NoError(t, err)
	conform, err := plan.NewConformer(loose.ArrowSchema(), snap.ArrowSchema(), plan.ConformOptions{})
	require.NoError(t, err)
	for _, c := range []struct {
		why, rows string
		says      []string // nil: the rows are right
	}{
		{"nothing is NULL that must not be", `[{"id": 1, "who": {"name": "a"}, "list": [{"name": "b"}, null], "full": [1], "map": [{"key": "k", "value": 1}]}]`, nil},
		{"a field below a NULL struct is no value", `[{"id": 1, "who": null, "list": null, "full": null, "map": null}]`, nil},
		{"a column", `[{"id": 1}, {"id": null}, {"id": null}]`, []string{`"id"`, "2 of 3 rows", "row 102"}},
		{"a field of a struct", `[{"id": 1, "who": {"age": 7}}]`, []string{`"who.name"`, "row 101"}},
		{"a field of a struct in a list", `[{"id": 1}, {"id": 2, "list": [{"name": "a"}, {"age": 1}, {"age": 2}]}]`, []string{`"list.element.name"`, "1 of 2 rows", "row 102"}},
		{"an element", `[{"id": 1, "full": [1, null]}]`, []string{`"full.element"`, "row 101"}},
		{"a value of a map", `[{"id": 1, "map": [{"key": "k", "value": null}]}]`, []string{`"map.value"`, "row 101"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			input := fromRows(t, mem, loose.ArrowSchema(), c.rows)
			defer input.Release()
			batch, err := conform.Batch(mem, input, 0)
			require.NoError(t, err)
			defer batch.Release()
			err = v.Check(mem, batch, 100)
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, delta.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
}

func TestValidateConditions(t *testing.T) {
	fields := []delta.Field{
		nullable("id", delta.Long), invariant(nullable("amount", delta.Long), "amount >= 0"),
		nullable("who", &delta.Struct{Fields: []delta.Field{invariant(nullable("age", delta.Long), "who.age < 200")}}),
	}
	snap := snapshot(t, fields, nil, map[string]string{"delta.constraints.small": "amount < 100 OR id = 0", "delta.appendOnly": "false"})
	v, err := plan.NewValidator(snap)
	require.NoError(t, err)
	for _, c := range []struct {
		why, rows string
		says      []string
	}{
		{"all TRUE", `[{"id": 0, "amount": 1000, "who": {"age": 7}}, {"id": 5, "amount": 99, "who": {"age": 8}}]`, nil},
		{"a CHECK constraint is FALSE", `[{"id": 1, "amount": 5, "who": {"age": 1}}, {"id": 1, "amount": 100, "who": {"age": 1}}]`,
			[]string{`CHECK constraint "small"`, "amount < 100 OR id = 0", "1 of 2 rows", "row 12", "amount=100", "id=1"}},
		{"an invariant is FALSE", `[{"id": 0, "amount": -1, "who": {"age": 1}}]`, []string{`invariant of column "amount"`, "row 11"}},
		{"an invariant is NULL", `[{"id": 0, "amount": null, "who": {"age": 1}}]`, []string{`"amount"`, "amount=NULL", "NULL breaks it"}},
		{"an invariant of a field", `[{"id": 0, "amount": 1, "who": {"age": 200}}]`, []string{`"who.age"`}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			batch := fromRows(t, mem, snap.ArrowSchema(), c.rows)
			defer batch.Release()
			err := v.Check(mem, batch, 10)
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, delta.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
}

func TestValidatorRefusesWhatItCannotCheck(t *testing.T) {
	id := nullable("id", delta.Long)
	for _, c := range []struct {
		why    string
		fields []delta.Field
		checks map[string]string
		is     error
		says   string
	}{
		{"a function that idem lacks", []delta.Field{id}, map[string]string{"delta.constraints.odd": "my_function(id)"}, delta.ErrUnsupported, `CHECK constraint "odd" (my_function(id))`},
		{"text that is no condition", []delta.Field{id}, map[string]string{"delta.constraints.torn": "id >"}, delta.ErrUnsupported, `"torn"`},
		{"a column that is gone", []delta.Field{id}, map[string]string{"delta.constraints.gone": "other > 1"}, delta.ErrUnsupported, `"gone"`},
		{"an invariant that idem lacks", []delta.Field{invariant(id, "my_function(id)")}, nil, delta.ErrUnsupported, `invariant of column "id"`},
		{"an invariant that is no JSON", []delta.Field{{Name: "id", Type: delta.Long, Nullable: true, Metadata: map[string]json.RawMessage{"delta.invariants": json.RawMessage(`"id > 1"`)}}}, nil, delta.ErrCorrupt, `"id"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := plan.NewValidator(snapshot(t, c.fields, nil, c.checks))
			require.ErrorIs(t, err, c.is)
			require.NotErrorIs(t, err, delta.ErrInput, "the rows are not to blame")
			require.ErrorContains(t, err, c.says)
		})
	}
}

// A rule whose feature the protocol does not have is no rule, as for every other writer.
func TestValidatorHeedsTheProtocol(t *testing.T) {
	fields := []delta.Field{invariant(nullable("id", delta.Long), "id > 1")}
	checks := map[string]string{"delta.constraints.c": "id > 10"}
	for _, c := range []struct {
		protocol delta.Protocol
		breaks   bool
	}{
		{delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 1}, false},
		{delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, false},
		{delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 3}, true},
		{delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, WriterFeatures: []string{"invariants"}}, false},
		{delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, WriterFeatures: []string{"checkConstraints"}}, true},
	} {
		snap := snapshotWith(t, &c.protocol, fields, nil, checks)
		v, err := plan.NewValidator(snap)
		require.NoError(t, err)
		mem := checked(t)
		batch := fromRows(t, mem, snap.ArrowSchema(), `[{"id": 5}]`)
		err = v.Check(mem, batch, 0)
		batch.Release()
		if c.breaks {
			require.ErrorIs(t, err, delta.ErrInput, "%+v", c.protocol)
		} else {
			require.NoError(t, err, "%+v", c.protocol)
		}
	}
}

func TestValidateLengths(t *testing.T) {
	text := func(f delta.Field, declared string) delta.Field {
		raw, _ := json.Marshal(declared)
		f.Metadata = map[string]json.RawMessage{delta.CharTypeKey: raw}
		return f
	}
	inner := &delta.Struct{Fields: []delta.Field{nullable("a", delta.String), nullable("b", &delta.Array{Element: delta.String, ContainsNull: true})}}
	later := &delta.Struct{Fields: []delta.Field{text(nullable("a", delta.String), "varchar(1)")}}
	snap := snapshot(t, []delta.Field{
		text(nullable("c", delta.String), "char(3)"), text(nullable("v", delta.String), "varchar(2)"),
		text(nullable("s", inner), "struct<a:char(1),b:array<varchar(2)>>"),
		text(nullable("m", &delta.Map{Key: delta.String, Value: delta.String, ValueContainsNull: true}), "map<char(2),varchar(1)>"),
		nullable("later", later), nullable("free", delta.String),
	}, nil, nil)
	v, err := plan.NewValidator(snap)
	require.NoError(t, err)
	for _, c := range []struct {
		why, rows string
		says      []string
	}{
		{"all fits", `[{"c": "abc", "v": "é€", "s": {"a": "x", "b": ["yy", null]}, "m": [{"key": "kk", "value": "v"}], "later": {"a": "1"}, "free": "as long as it is"}, {"c": "a"}, {}]`, nil},
		{"a char", `[{"c": "abc"}, {"c": "abcd"}, {"c": "abcde"}]`, []string{`"c" is char(3)`, "2 of 3 rows", "row 102", "(abcd)"}},
		{"spaces at the end count", `[{"v": "a  "}]`, []string{`"v" is varchar(2)`, "row 101"}},
		{"characters count, not bytes", `[{"v": "é€é"}]`, []string{`"v" is varchar(2)`}},
		{"a field", `[{"s": {"a": "xy"}}]`, []string{`"s.a" is char(1)`}},
		{"an element", `[{"v": "a"}, {"s": {"b": ["ok", "too long", "longer"]}}]`, []string{`"s.b.element" is varchar(2)`, "1 of 2 rows", "row 102"}},
		{"a key", `[{"m": [{"key": "kkk", "value": null}]}]`, []string{`"m.key" is char(2)`}},
		{"a value", `[{"m": [{"key": "k", "value": "vv"}]}]`, []string{`"m.value" is varchar(1)`}},
		{"a field that says so itself", `[{"later": {"a": "12"}}]`, []string{`"later.a" is varchar(1)`}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			batch := fromRows(t, mem, snap.ArrowSchema(), c.rows)
			defer batch.Release()
			err := v.Check(mem, batch, 100)
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, delta.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
	_, err = plan.NewValidator(snapshot(t, []delta.Field{text(nullable("c", delta.String), "char(")}, nil, nil))
	require.ErrorIs(t, err, delta.ErrUnsupported, "a length that nobody can read is checked by nobody")
	require.ErrorContains(t, err, `"c"`)
}

package commit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// A commit that adds a column beside its rows gives way to whoever changed the definition, so that a
// winner's is never overwritten, and is in all else what it is without the column.
func TestACommitThatAddsAColumn(t *testing.T) {
	in, out := intents(), winners()
	for _, name := range []string{"append", "tagged", "delete", "merge none", "replace all"} {
		evolving := *in[name]
		evolving.Actions = append([]delta.Action{{Metadata: metadata(nil)}}, evolving.Actions...)
		require.Equal(t, in[name].Blind(), evolving.Blind())
		for winner, actions := range out {
			w := &commit.Winner{Version: 5, Actions: actions}
			want := commit.Check(in["metadata"], base(), w)
			if want.Kind == commit.Compatible {
				want = commit.Check(in[name], base(), w)
			}
			got := commit.Check(&evolving, base(), w)
			require.Equal(t, letter(want), letter(got), "%s against %s", name, winner)
		}
	}
}

func TestDefinitionChangeOfNestedColumns(t *testing.T) {
	schema := func(fields string) *delta.Metadata {
		return metadata(func(m *delta.Metadata) {
			m.SchemaString = `{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},` + fields + `]}`
		})
	}
	field := func(name, typ string, nullable bool) string {
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":%t,"metadata":{}}`, name, typ, nullable)
	}
	structOf := func(fields string) string { return `{"type":"struct","fields":[` + fields + `]}` }
	list := func(element string) string {
		return `{"type":"array","elementType":` + element + `,"containsNull":true}`
	}
	mapOf := func(key, value string) string {
		return `{"type":"map","keyType":` + key + `,"valueType":` + value + `,"valueContainsNull":true}`
	}
	x, y, required := field("x", `"long"`, true), field("y", `"long"`, true), field("y", `"long"`, false)
	for _, c := range []struct {
		why, old, now string
		want          string
	}{
		{"a field more", structOf(x), structOf(x + "," + y), ""},
		{"before the others", structOf(x), structOf(y + "," + x), ""},
		{"in a list", list(structOf(x)), list(structOf(x + "," + y)), ""},
		{"in a map's value", mapOf(`"string"`, structOf(x)), mapOf(`"string"`, structOf(x+","+y)), ""},
		{"a field that must be filled", structOf(x), structOf(x + "," + required), "column y was added and must be filled"},
		{"a field less", structOf(x + "," + y), structOf(x), "column y is gone"},
		{"a field in another case", structOf(x), structOf(field("X", `"long"`, true)), "column x is spelled X now"},
		{"a field of another type", structOf(x), structOf(field("x", `"string"`, true)), "the type of column x changed"},
		{"a list of another type", list(`"long"`), list(`"string"`), "the type of column c changed"},
		{"a struct for a list", list(structOf(x)), structOf(x), "the type of column c changed"},
	} {
		t.Run(c.why, func(t *testing.T) {
			require.Equal(t, c.want, commit.DefinitionChange(schema(field("c", c.old, true)), schema(field("c", c.now, true))))
		})
	}
}

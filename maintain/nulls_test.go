package maintain_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/maintain"
)

// everyType has a column of each type that a table has, and each nesting of them, a variant's too.
func everyType(t *testing.T) *arrow.Schema {
	variant, err := delta.ArrowType(delta.Variant)
	require.NoError(t, err)
	long, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	fields := []arrow.Field{maybe("id", long)}
	for _, f := range []arrow.Field{
		maybe("bool", arrow.FixedWidthTypes.Boolean), maybe("byte", arrow.PrimitiveTypes.Int8), maybe("short", arrow.PrimitiveTypes.Int16),
		maybe("int", arrow.PrimitiveTypes.Int32), maybe("long", long), maybe("float", arrow.PrimitiveTypes.Float32),
		maybe("double", arrow.PrimitiveTypes.Float64), maybe("text", text), maybe("binary", arrow.BinaryTypes.Binary),
		maybe("date", arrow.FixedWidthTypes.Date32), maybe("ts", arrow.FixedWidthTypes.Timestamp_us),
		maybe("ntz", &arrow.TimestampType{Unit: arrow.Microsecond}), maybe("small", &arrow.Decimal128Type{Precision: 9, Scale: 2}),
		maybe("large", &arrow.Decimal128Type{Precision: 38, Scale: 10}), maybe("variant", variant),
	} {
		fields = append(fields, f,
			maybe(f.Name+"_list", arrow.ListOf(f.Type)), maybe(f.Name+"_map", arrow.MapOf(text, f.Type)),
			maybe(f.Name+"_struct", arrow.StructOf(maybe("x", f.Type))),
			maybe(f.Name+"_deep", arrow.StructOf(maybe("l", arrow.ListOf(arrow.StructOf(maybe("m", arrow.MapOf(text, f.Type))))))))
	}
	return arrow.NewSchema(fields, nil)
}

// TestNULLIsAValueOfEveryType: a column of any type is set to NULL, and has it as its default, by every call that takes an
// expression; the second call changes nothing.
func TestNULLIsAValueOfEveryType(t *testing.T) {
	schema := everyType(t)
	ids := arrow.NewSchema(schema.Fields()[:1], nil)
	key := idem.Merge{On: []string{"id"}, Unguarded: true}
	for _, text := range []string{"NULL", "CAST(NULL AS STRING)", "CASE WHEN id IS NULL THEN NULL END"} {
		t.Run(text, func(t *testing.T) {
			nulls := map[string]string{}
			for _, f := range schema.Fields()[1:] {
				if text == "CAST(NULL AS STRING)" && f.Type.ID() != arrow.STRING {
					continue
				}
				nulls[f.Name] = text
			}
			calls := map[string]func(table *idem.Table) (idem.Outcome, error){
				"update": func(table *idem.Table) (idem.Outcome, error) {
					res, err := maintain.UpdateTable(t.Context(), table, maintain.Update{Where: "id = 1", Set: nulls})
					return outcome(res), err
				},
				"merge matched": func(table *idem.Table) (idem.Outcome, error) {
					r := key
					r.Matched = []idem.Clause{{Set: about("target", nulls)}}
					res, err := table.Merge(t.Context(), jsonRows(t, ids, `[{"id":1}]`), r)
					return outcome(res), err
				},
				"merge not matched": func(table *idem.Table) (idem.Outcome, error) {
					r := key
					set := about("source", nulls)
					set["id"] = "source.id"
					r.NotMatched = []idem.Clause{{Set: set}}
					res, err := table.Merge(t.Context(), jsonRows(t, ids, `[{"id":2}]`), r)
					return outcome(res), err
				},
				"merge not matched by source": func(table *idem.Table) (idem.Outcome, error) {
					r := key
					r.NotMatchedBySource = []idem.Clause{{Set: nulls}}
					res, err := table.Merge(t.Context(), jsonRows(t, ids, `[{"id":7}]`), r)
					return outcome(res), err
				},
			}
			for name, call := range calls {
				t.Run(name, func(t *testing.T) {
					f := newFixture(t, idem.Definition{Schema: schema})
					_, err := f.table.Append(t.Context(), jsonRows(t, schema, `[{"id":1,"long":1,"text":"x","long_list":[1],"text_struct":{"x":"x"},"variant":{"value":"AA==","metadata":"AQAA"}}]`), idem.Append{Reason: "test"})
					require.NoError(t, err)
					for _, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
						got, err := call(f.table)
						require.NoError(t, err)
						require.Equal(t, want, got)
					}
					for batch, err := range f.other().Scan(t.Context(), idem.Scan{}) {
						require.NoError(t, err)
						for i, field := range schema.Fields() {
							if nulls[field.Name] != "" {
								for row := range int(batch.NumRows()) {
									require.True(t, batch.Column(i).IsNull(row) || batch.Column(0).ValueStr(row) == "1" && name == "merge not matched", field.Name)
								}
							}
						}
					}
				})
			}
		})
	}
}

// about has expressions name the id of one side.
func about(side string, set map[string]string) map[string]string {
	out := map[string]string{}
	for column, value := range set {
		out[column] = strings.ReplaceAll(value, "id IS", side+".id IS")
	}
	return out
}

func outcome(r *idem.Result) idem.Outcome {
	if r == nil {
		return 0
	}
	return r.Outcome
}

// TestNULLIsADefaultOfEveryType: as one of a new table and as one that a table is given; rows without the column have it.
func TestNULLIsADefaultOfEveryType(t *testing.T) {
	schema := everyType(t)
	ids := arrow.NewSchema(schema.Fields()[:1], nil)
	defaults := map[string]idem.Column{}
	changes := []maintain.Change{maintain.AddFeature{Name: "allowColumnDefaults"}}
	for _, f := range schema.Fields() {
		defaults[f.Name] = idem.Column{Default: "NULL"}
		changes = append(changes, maintain.SetDefault{Name: f.Name, Default: "NULL"})
	}
	for name, table := range map[string]*fixture{
		"created": newFixture(t, idem.Definition{Schema: schema, Columns: defaults}),
		"altered": newFixture(t, idem.Definition{Schema: schema}),
	} {
		t.Run(name, func(t *testing.T) {
			want := idem.Unchanged
			if name == "altered" {
				want = idem.Committed
			}
			for _, want := range []idem.Outcome{want, idem.Unchanged} {
				res, err := maintain.AlterTable(t.Context(), table.table, maintain.Alter{Changes: changes})
				require.NoError(t, err)
				require.Equal(t, want, res.Outcome)
			}
			_, err := table.table.Append(t.Context(), jsonRows(t, ids, `[{"id":1}]`), idem.Append{Reason: "test"})
			require.NoError(t, err)
			for batch, err := range table.other().Scan(t.Context(), idem.Scan{}) {
				require.NoError(t, err)
				require.EqualValues(t, 1, batch.NumRows())
				for i, f := range schema.Fields()[1:] {
					require.True(t, batch.Column(i+1).IsNull(0), f.Name)
				}
			}
		})
	}
}

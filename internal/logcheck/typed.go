package logcheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
)

// typedForm is what a checkpoint holds of a table's adds in typed form.
type typedForm struct {
	schema     *arrow.Schema
	leaves     []leaf
	partitions []string
}

// typedForm builds the columns in which the typed form is to be read: what a file lacks is NULL.
func (c *checker) typedForm() (t typedForm, err error) {
	long := arrow.PrimitiveTypes.Int64
	for _, l := range leaves(c.snap) {
		if ordered(l.typ) {
			t.leaves = append(t.leaves, l)
		}
	}
	bounds, err := nested(t.leaves, 0)
	if err != nil {
		return t, err
	}
	add := []arrow.Field{{Name: "path", Type: arrow.BinaryTypes.String, Nullable: true}}
	if len(t.leaves) > 0 {
		add = append(add, arrow.Field{Name: "stats_parsed", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "numRecords", Type: long, Nullable: true},
			arrow.Field{Name: "minValues", Type: arrow.StructOf(bounds...), Nullable: true},
			arrow.Field{Name: "maxValues", Type: arrow.StructOf(bounds...), Nullable: true},
		)})
	}
	var partitions []arrow.Field
	for _, name := range c.snap.PartitionColumns() {
		dt, err := delta.ArrowType(c.snap.Schema().Fields[c.snap.Schema().Index(name)].Type)
		if err != nil {
			return t, err
		}
		t.partitions = append(t.partitions, name)
		partitions = append(partitions, arrow.Field{Name: c.snap.PartitionKey(name), Type: dt, Nullable: true})
	}
	if len(partitions) > 0 {
		add = append(add, arrow.Field{Name: "partitionValues_parsed", Type: arrow.StructOf(partitions...), Nullable: true})
	}
	t.schema = arrow.NewSchema([]arrow.Field{{Name: "add", Type: arrow.StructOf(add...), Nullable: true}}, nil)
	return t, nil
}

// nested gives the fields in which leaves lie that have the same path down to a depth. Leaves of one
// struct stand together.
func nested(all []leaf, depth int) (fields []arrow.Field, err error) {
	for len(all) > 0 {
		first, n := all[0], 1
		for n < len(all) && all[n].path[depth] == first.path[depth] {
			n++
		}
		f := arrow.Field{Name: first.path[depth], Nullable: true}
		if len(first.path) == depth+1 {
			f.Type, err = delta.ArrowType(first.typ)
		} else {
			var inner []arrow.Field
			inner, err = nested(all[:n], depth+1)
			f.Type = arrow.StructOf(inner...)
		}
		if err != nil {
			return nil, err
		}
		fields, all = append(fields, f), all[n:]
	}
	return fields, nil
}

// at is the value that a path leads to, nil for NULL.
func at(part *array.Struct, path []string, i int) scalar.Scalar {
	if part.IsNull(i) {
		return nil
	}
	j, ok := part.DataType().(*arrow.StructType).FieldIdx(path[0])
	if !ok {
		return nil
	}
	if inner, ok := part.Field(j).(*array.Struct); ok && len(path) > 1 {
		return at(inner, path[1:], i)
	}
	return cell(part.Field(j), i)
}

// ordered is true of the types that have bounds.
func ordered(t delta.Type) bool {
	_, decimal := t.(delta.Decimal)
	return decimal || whole(t) || t == delta.String || t == delta.Float || t == delta.Double || t == delta.Timestamp || t == delta.TimestampNTZ
}

// typed holds the typed form of the adds in a checkpoint against their text in the commits.
func (c *checker) typed(ctx context.Context, cp checkpoint, in *content) error {
	codec, ok := parquetio.From(ctx).(parquetio.Parquet)
	if !ok || !c.snap.HasSchema() {
		return nil
	}
	form, err := c.typedForm()
	if err != nil || form.schema.Field(0).Type.(*arrow.StructType).NumFields() == 1 {
		return err
	}
	for _, file := range in.parquet {
		r, err := codec.Open(ctx, parquetio.Object(ctx, c.store, file.Key, file.Size), parquetio.ReadOptions{})
		if err != nil {
			return err
		}
		wrong := ""
		for batch, err := range r.Batches(ctx, form.schema) {
			if broken(err) {
				wrong = err.Error()
				break
			}
			if err != nil {
				r.Close()
				return err
			}
			if wrong = c.typedRows(form, batch.Column(0).(*array.Struct)); wrong != "" {
				break
			}
		}
		r.Close()
		if wrong != "" {
			c.find(CheckpointTyped, cp.version, file.Key, "%s", wrong)
		}
	}
	return nil
}

// typedRows tells the first difference.
func (c *checker) typedRows(form typedForm, adds *array.Struct) string {
	dt := adds.DataType().(*arrow.StructType)
	paths := adds.Field(0).(*array.String)
	stats, hasStats := dt.FieldIdx("stats_parsed")
	partitions, hasPartitions := dt.FieldIdx("partitionValues_parsed")
	for i := range adds.Len() {
		if adds.IsNull(i) || paths.IsNull(i) {
			continue
		}
		f, ok := c.snap.Live(c.keyOf(paths.Value(i)))
		if !ok {
			continue
		}
		wrong := ""
		if hasStats {
			wrong = form.stats(f, adds.Field(stats).(*array.Struct), i)
		}
		if wrong == "" && hasPartitions {
			wrong = c.typedPartitions(form, f, adds.Field(partitions).(*array.Struct), i)
		}
		if wrong != "" {
			return f.Path + ": " + wrong
		}
	}
	return ""
}

func (c *checker) typedPartitions(form typedForm, f *delta.Add, values *array.Struct, i int) string {
	if values.IsNull(i) {
		return ""
	}
	for j, name := range form.partitions {
		text, err := c.snap.PartitionValue(f, name)
		if err != nil {
			return "" // told elsewhere
		}
		want, err := delta.ParsePartitionValue(c.snap.Schema().Fields[c.snap.Schema().Index(name)].Type, text)
		if err != nil {
			return ""
		}
		if is := cell(values.Field(j), i); is == nil && want.IsValid() || is != nil && !sameBound(is, want) {
			return fmt.Sprintf("the value of %s is %s", name, rows.Text(values.Field(j), i))
		}
	}
	return ""
}

// cell is a value, nil for NULL.
func cell(a arrow.Array, i int) scalar.Scalar {
	if a.IsNull(i) {
		return nil
	}
	v, err := scalar.GetScalar(a, i)
	if err != nil {
		return nil
	}
	return v
}

// stats compares the typed form of statistics with their text. A reader's bounds may be wider than
// what was written; of whole numbers, dates, decimals and strings they are not.
func (t typedForm) stats(f *delta.Add, parsed *array.Struct, i int) string {
	text, ok := delta.ParseStats(f.Stats)
	if parsed.IsNull(i) || !ok {
		return ""
	}
	if n := parsed.Field(0).(*array.Int64); n.IsValid(i) && (text.NumRecords == nil || *text.NumRecords != n.Value(i)) {
		return fmt.Sprintf("numRecords is %d", n.Value(i))
	}
	for _, l := range t.leaves {
		least, most, _ := text.Column(l.path, l.typ)
		_, decimal := l.typ.(delta.Decimal)
		exact := decimal || whole(l.typ) || l.typ == delta.String
		for side, want := range map[int]scalar.Scalar{-1: least, 1: most} {
			is := at(parsed.Field((side+3)/2).(*array.Struct), l.path, i)
			if is == nil || want == nil {
				continue
			}
			if order, ok := delta.CompareScalars(is, want); ok && (order*side > 0 || exact && order != 0) {
				return fmt.Sprintf("a bound of %s is %s, by the text %s", strings.Join(l.path, "."), is, want)
			}
		}
	}
	return ""
}

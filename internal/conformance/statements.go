package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/maintain"
)

// errForeign says that a statement has a shape that is not understood here: it was not tried.
var errForeign = errors.New("a statement of another shape")

// statement is a shape of SQL, and what does the same.
type statement struct {
	shape *regexp.Regexp
	run   func(ctx context.Context, t *idem.Table, part []string) error
}

var statements = []statement{
	{regexp.MustCompile(`(?s)^INSERT INTO \{t\}(?: \(([^)]*)\))? VALUES \((.*)\)$`), insert},
	{regexp.MustCompile(`(?s)^UPDATE \{t\} SET (.+) WHERE (.+)$`), update},
	{regexp.MustCompile(`(?s)^DELETE FROM \{t\} WHERE (.+)$`), deleteRows},
	{regexp.MustCompile(`(?s)^MERGE INTO \{t\} (?:AS )?t USING \(SELECT (.+)\) (?:AS )?s ON t\.(\w+) = s\.(\w+) WHEN NOT MATCHED THEN INSERT \(([^)]*)\) VALUES \((.*)\)$`), mergeInsert},
	{regexp.MustCompile(`^ALTER TABLE \{t\} DROP COLUMN (\w+)$`), func(ctx context.Context, t *idem.Table, p []string) error {
		return alter(ctx, t, maintain.DropColumn{Name: p[0]})
	}},
	{regexp.MustCompile(`(?s)^ALTER TABLE \{t\} ADD CONSTRAINT (\w+) CHECK \((.+)\)$`), func(ctx context.Context, t *idem.Table, p []string) error {
		return alter(ctx, t, maintain.AddConstraint{Name: p[0], Check: p[1]})
	}},
	{regexp.MustCompile(`^ALTER TABLE \{t\} ALTER COLUMN (\w+) TYPE (\w+)$`), func(ctx context.Context, t *idem.Table, p []string) error {
		to, err := sqlType(p[1])
		if err != nil {
			return err
		}
		return alter(ctx, t, maintain.WidenColumn{Name: p[0], Type: to})
	}},
	{regexp.MustCompile(`(?s)^overwrite with row \((.*)\), replaceWhere (.+)$`), replaceRow},
}

// execute does to a table what a statement would. It is errForeign if nothing here understands it.
func execute(ctx context.Context, t *idem.Table, sql string) error {
	for _, s := range statements {
		if part := s.shape.FindStringSubmatch(strings.TrimSpace(sql)); part != nil {
			return s.run(ctx, t, part[1:])
		}
	}
	return fmt.Errorf("%w: %s", errForeign, sql)
}

func alter(ctx context.Context, t *idem.Table, change maintain.Change) error {
	_, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{change}})
	return err
}

// sqlType is the Arrow type of a word of SQL.
func sqlType(word string) (arrow.DataType, error) {
	names := map[string]delta.Primitive{
		"TINYINT": delta.Byte, "SMALLINT": delta.Short, "INT": delta.Integer, "BIGINT": delta.Long, "FLOAT": delta.Float,
		"DOUBLE": delta.Double, "STRING": delta.String, "DATE": delta.Date, "TIMESTAMP": delta.Timestamp, "BOOLEAN": delta.Boolean,
	}
	name, ok := names[strings.ToUpper(word)]
	if !ok {
		return nil, fmt.Errorf("%w: the type %s", errForeign, word)
	}
	return delta.ArrowType(name)
}

func insert(ctx context.Context, t *idem.Table, part []string) error {
	columns := names(part[0])
	if columns == nil {
		for _, f := range t.Schema().Fields() {
			columns = append(columns, f.Name)
		}
	}
	return withRow(t, columns, list(part[1]), func(r array.RecordReader) error {
		_, err := t.Append(ctx, r, idem.Append{Reason: "a write that the corpus claims something about"})
		return err
	})
}

func update(ctx context.Context, t *idem.Table, part []string) error {
	set := map[string]string{}
	for _, as := range list(part[0]) {
		name, value, ok := strings.Cut(as, "=")
		if !ok {
			return fmt.Errorf("%w: SET %s", errForeign, as)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if at := t.Snapshot().Schema().Index(name); at >= 0 && strings.EqualFold(value, "DEFAULT") {
			text, ok, err := t.Snapshot().Default(at)
			if err != nil {
				return err
			}
			if value = "NULL"; ok {
				value = text
			}
		}
		set[name] = value
	}
	// SQL repeats nothing: the tag allows what a second call would do again.
	_, err := maintain.UpdateTable(ctx, t, maintain.Update{Where: part[1], Set: set, Txn: idem.Txn{AppID: "corpus", Version: 0}})
	return err
}

func deleteRows(ctx context.Context, t *idem.Table, part []string) error {
	_, err := t.Delete(ctx, idem.Delete{Where: part[0]})
	return err
}

// mergeInsert merges one row of constants that is only ever inserted.
func mergeInsert(ctx context.Context, t *idem.Table, part []string) error {
	if part[1] != part[2] {
		return fmt.Errorf("%w: ON t.%s = s.%s", errForeign, part[1], part[2])
	}
	source := map[string]string{}
	for _, item := range list(part[0]) {
		at := strings.LastIndex(item, " ")
		if at < 0 {
			return fmt.Errorf("%w: SELECT %s", errForeign, item)
		}
		source[item[at+1:]] = strings.TrimSpace(item[:at])
	}
	columns, values := names(part[3]), list(part[4])
	for i, v := range values {
		if name, ok := strings.CutPrefix(v, "s."); ok {
			values[i] = source[name]
		}
	}
	return withRow(t, columns, values, func(r array.RecordReader) error {
		_, err := t.Merge(ctx, r, idem.Merge{On: []string{part[1]}, Unguarded: true, Matched: []idem.Clause{}})
		return err
	})
}

func replaceRow(ctx context.Context, t *idem.Table, part []string) error {
	var columns []string
	for _, f := range t.Schema().Fields() {
		columns = append(columns, f.Name)
	}
	return withRow(t, columns, list(part[0]), func(r array.RecordReader) error {
		_, err := t.ReplaceWhere(ctx, r, idem.ReplaceWhere{Where: part[1]})
		return err
	})
}

// withRow makes one row of the values of constant expressions, as they are stored in the columns.
// DEFAULT leaves the column out.
func withRow(t *idem.Table, columns, values []string, f func(array.RecordReader) error) error {
	if len(columns) != len(values) {
		return fmt.Errorf("%w: %d columns and %d values", errForeign, len(columns), len(values))
	}
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, name := range columns {
		if strings.EqualFold(values[i], "DEFAULT") {
			continue
		}
		at := t.Snapshot().Schema().Index(name)
		if at < 0 {
			return fmt.Errorf("%w: the table has no column %s", idem.ErrInput, name)
		}
		field := t.Schema().Field(at)
		field.Nullable = true
		a, err := constant(values[i], field.Type)
		if err != nil {
			return err
		}
		field.Type = a.DataType()
		fields, arrays = append(fields, field), append(arrays, a)
	}
	row := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 1)
	defer row.Release()
	r, err := array.NewRecordReader(row.Schema(), []arrow.RecordBatch{row})
	if err != nil {
		return err
	}
	defer r.Release()
	return f(r)
}

var namedStruct = regexp.MustCompile(`(?s)^named_struct\((.*)\)$`)

// constant is the one value of a constant expression, as it is stored in a column of a type.
func constant(text string, to arrow.DataType) (arrow.Array, error) {
	if part := namedStruct.FindStringSubmatch(text); part != nil {
		if t, ok := to.(*arrow.StructType); ok {
			return structOf(list(part[1]), t)
		}
	}
	tree, err := expr.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errForeign, text, err)
	}
	none := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
	defer none.Release()
	value, err := pred.BindValueAs(tree, none.Schema(), to)
	if err != nil {
		return nil, err
	}
	return value.Eval(memory.DefaultAllocator, none)
}

// structOf is one struct of names and values in turn.
func structOf(items []string, to *arrow.StructType) (arrow.Array, error) {
	var fields []arrow.Field
	var arrays []arrow.Array
	for i := 0; i+1 < len(items); i += 2 {
		f, ok := to.FieldByName(strings.Trim(items[i], "'"))
		if !ok {
			return nil, fmt.Errorf("%w: the struct has no field %s", idem.ErrInput, items[i])
		}
		a, err := constant(items[i+1], f.Type)
		if err != nil {
			return nil, err
		}
		fields, arrays = append(fields, arrow.Field{Name: f.Name, Type: a.DataType(), Nullable: true}), append(arrays, a)
	}
	return array.NewStructArrayWithFields(arrays, fields)
}

func names(text string) []string {
	if text == "" {
		return nil
	}
	return list(text)
}

// list cuts a text at the commas that are in no parentheses and in no quotes.
func list(text string) (out []string) {
	depth, quoted, from := 0, false, 0
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			out, from = append(out, text[from:i]), i+1
		}
	}
	out = append(out, text[from:])
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return slices.Clip(out)
}

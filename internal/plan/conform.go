package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// ConformOptions are for one stream of rows.
type ConformOptions struct {
	// Partial gives only the columns that the rows have; otherwise columns that they lack are NULL.
	Partial bool

	// Makes says what the table does for columns that the rows lack, by folded name.
	Makes map[string]making

	// Evolve says that the columns that the rows bring were added to the table: an error about a
	// type says that those of others stay.
	Evolve bool

	_ struct{}
}

// Conformer brings rows of one Arrow schema into the column order and the types of a table. Columns
// are bound by name, ignoring case, at every level of nesting, never by position. A value is stored
// as it is or refused: nothing is rounded, cut, parsed or formatted. A Conformer is immutable and
// safe for many goroutines.
type Conformer struct {
	input   *arrow.Schema
	out     *arrow.Schema
	columns []conformColumn // one for each column of out
	missing []string
	evolves bool
}

// conformColumn says where a column of the table comes from.
type conformColumn struct {
	from    int // column of the input, -1 if the rows lack it
	convert conversion
}

// NewConformer binds the columns of input to those of table. Two input columns that are equal
// ignoring case, a column that the table lacks, a type that cannot be stored without loss, and a
// NOT NULL column that the rows lack are errors that wrap [delta.ErrInput] and name the column.
func NewConformer(input *arrow.Schema, table *arrow.Schema, o ConformOptions) (*Conformer, error) {
	c := &Conformer{input: input, evolves: o.Evolve}
	bound, err := bindFields(input.Fields(), table.Fields(), "")
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, 0, table.NumFields())
	for i, f := range table.Fields() {
		column := conformColumn{from: bound[i]}
		if column.from < 0 {
			makes := o.Makes[foldName(f.Name)]
			if makes != makesAlways {
				c.missing = append(c.missing, f.Name)
			}
			if o.Partial {
				continue
			}
			if !f.Nullable && makes == makesNothing {
				return nil, fmt.Errorf("%w: the rows lack the column %q, which is NOT NULL and has no default; give it a value in every row",
					delta.ErrInput, f.Name)
			}
		} else if err := c.bind(&column, f); err != nil {
			return nil, err
		}
		fields = append(fields, f)
		c.columns = append(c.columns, column)
	}
	meta := table.Metadata()
	c.out = arrow.NewSchema(fields, &meta)
	return c, nil
}

// bind plans the conversion of a column that the rows have.
func (c *Conformer) bind(column *conformColumn, f arrow.Field) (err error) {
	from := c.input.Field(column.from).Type
	if column.convert, err = planConversion(from, f.Type, f.Name); err != nil {
		if mismatch := (*typeError)(nil); c.evolves && errors.As(err, &mismatch) {
			return fmt.Errorf("%w; %s", err, noWidening)
		}
		return err
	}
	c.missing = appendMissing(c.missing, from, f.Type, f.Name)
	return nil
}

// noWidening is for those who expect it of Evolve.
const noWidening = "Evolve adds columns and leaves the type of those that are there: a wider type is asked for by itself (maintain.Alter, with the table feature typeWidening)"

// appendMissing names the fields below a column that the table has and the rows lack.
func appendMissing(out []string, from, to arrow.DataType, path string) []string {
	from = delta.PlainArrowType(from)
	switch to := to.(type) {
	case *arrow.StructType:
		f, ok := from.(*arrow.StructType)
		if !ok {
			return out
		}
		given := make(map[string]arrow.DataType, f.NumFields())
		for _, field := range f.Fields() {
			given[foldName(field.Name)] = field.Type
		}
		for _, field := range to.Fields() {
			if t, ok := given[foldName(field.Name)]; ok {
				out = appendMissing(out, t, field.Type, path+"."+field.Name)
			} else {
				out = append(out, path+"."+field.Name)
			}
		}
	case *arrow.ListType:
		if f, ok := from.(arrow.ListLikeType); ok {
			return appendMissing(out, f.Elem(), to.Elem(), path+".element")
		}
	case *arrow.MapType:
		if f, ok := from.(*arrow.MapType); ok {
			out = appendMissing(out, f.KeyType(), to.KeyType(), path+".key")
			return appendMissing(out, f.ItemType(), to.ItemType(), path+".value")
		}
	}
	return out
}

// Schema is that of the batches given out: the whole table or, when partial, the columns that the
// rows have, in table order and table types.
func (c *Conformer) Schema() *arrow.Schema { return c.out }

// Missing names the columns of the table that the rows lack, in table order; fields of columns that
// they have by dotted paths ("address.street", "lines.element.price", "labels.value.text"). Columns
// that the table always makes itself are not missing.
func (c *Conformer) Missing() []string { return slices.Clone(c.missing) }

// given names the columns of Schema that the rows have.
func (c *Conformer) given() []string {
	var out []string
	for i, column := range c.columns {
		if column.from >= 0 {
			out = append(out, c.out.Field(i).Name)
		}
	}
	return out
}

// Batch converts a batch of the input schema. Columns that have the table's type already are shared,
// not copied. firstRow is the number of rows before the batch; messages count rows from 1. A value that the column
// cannot hold is an error that wraps [delta.ErrInput] and names row, column and value. The caller
// releases the result.
func (c *Conformer) Batch(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) (arrow.RecordBatch, error) {
	if err := c.sameSchema(batch); err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, 0, len(c.columns))
	defer func() {
		for _, a := range columns {
			a.Release()
		}
	}()
	for i, column := range c.columns {
		if column.from < 0 {
			columns = append(columns, array.MakeArrayOfNull(mem, c.out.Field(i).Type, int(batch.NumRows())))
			continue
		}
		a, err := column.convert(mem, batch.Column(column.from))
		if err != nil {
			return nil, c.columnError(err, c.out.Field(i), firstRow)
		}
		columns = append(columns, a)
	}
	return array.NewRecordBatch(c.out, columns, batch.NumRows()), nil
}

// sameSchema guards the conversions, which were planned for the input's types.
func (c *Conformer) sameSchema(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != c.input.NumFields() {
		return fmt.Errorf("%w: a batch has %d columns, but its reader's schema has %d; every batch must have the reader's schema",
			delta.ErrInput, batch.NumCols(), c.input.NumFields())
	}
	for i, f := range c.input.Fields() {
		if got := batch.Column(i).DataType(); !arrow.TypeEqual(got, f.Type) {
			return fmt.Errorf("%w: column %q of a batch is %s, but its reader's schema says %s; every batch must have the reader's schema",
				delta.ErrInput, f.Name, got, f.Type)
		}
	}
	return nil
}

// columnError puts the row and the column before what is wrong with a value.
func (c *Conformer) columnError(err error, f arrow.Field, firstRow int64) error {
	var cell *cellError
	if !errors.As(err, &cell) {
		return fmt.Errorf("column %q: %w", f.Name, err)
	}
	if c.evolves && strings.Contains(cell.why, columnsType) {
		cell.why += "; " + noWidening
	}
	if cell.row < 0 {
		return fmt.Errorf("%w: column %q: %s", delta.ErrInput, f.Name+cell.path, cell.why)
	}
	return fmt.Errorf("%w: row %d, column %q: the value %s %s", delta.ErrInput, firstRow+int64(cell.row)+1, f.Name+cell.path, cell.value, cell.why)
}

// bindFields finds for each target field the input field of that name, ignoring case; -1 if there is
// none. An input field without a target is an error, and so are two that differ only by case. path
// is where the fields are: "" or the name of a struct with a dot.
func bindFields(input, target []arrow.Field, path string) ([]int, error) {
	seen := make(map[string]int, len(input))
	for i, f := range input {
		if j, twice := seen[foldName(f.Name)]; twice {
			return nil, fmt.Errorf("%w: the rows have two columns %q and %q, which are one name to Delta (it ignores case); rename or drop one",
				delta.ErrInput, path+input[j].Name, path+f.Name)
		}
		seen[foldName(f.Name)] = i
	}
	bound := make([]int, len(target))
	for i, f := range target {
		bound[i] = -1
		if j, ok := seen[foldName(f.Name)]; ok {
			bound[i] = j
			delete(seen, foldName(f.Name))
		}
	}
	for _, f := range input {
		if _, left := seen[foldName(f.Name)]; left {
			return nil, fmt.Errorf("%w: the rows have a column %q that the table lacks%s; drop it from the rows, or set Evolve: true, which adds it to the table",
				delta.ErrInput, path+f.Name, pred.Suggest(target, f.Name))
		}
	}
	return bound, nil
}

// foldName maps names that Delta takes for one to one text.
func foldName(name string) string { return strings.ToLower(name) }

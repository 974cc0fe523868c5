package tabletest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
)

// Schema is the schema of every table of this package.
var Schema = arrow.NewSchema([]arrow.Field{
	{Name: "day", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

// Row is one row. Day is the column to partition by, ID the key, Seq orders the versions of a key.
type Row struct {
	Day     string
	ID, Seq int64
	V       int64
	NullV   bool // v is NULL; V is 0
}

func (r Row) String() string {
	if r.NullV {
		return fmt.Sprintf("{%s %d seq=%d v=NULL}", r.Day, r.ID, r.Seq)
	}
	return fmt.Sprintf("{%s %d seq=%d v=%d}", r.Day, r.ID, r.Seq, r.V)
}

// Rows is a multiset of rows: how often each occurs. No count is 0.
type Rows map[Row]int

// Of is the multiset of the rows given.
func Of(rows ...Row) Rows {
	m := make(Rows, len(rows))
	m.Add(rows...)
	return m
}

// Add puts rows in.
func (m Rows) Add(rows ...Row) {
	for _, r := range rows {
		m[r]++
	}
}

// Diff says what other has that m lacks (+) and lacks that m has (-), "" if they are equal.
func (m Rows) Diff(other Rows) string {
	var lines []string
	for r, n := range other {
		if d := n - m[r]; d > 0 {
			lines = append(lines, fmt.Sprintf("+%d %s", d, r))
		}
	}
	for r, n := range m {
		if d := n - other[r]; d > 0 {
			lines = append(lines, fmt.Sprintf("-%d %s", d, r))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// AddBatch puts in the rows of a batch that has the columns of Schema, in any order. id and seq have
// no NULL.
func (m Rows) AddBatch(b arrow.RecordBatch) error {
	var cols [4]arrow.Array
	for i, f := range Schema.Fields() {
		at := b.Schema().FieldIndices(f.Name)
		if len(at) != 1 || !arrow.TypeEqual(b.Column(at[0]).DataType(), f.Type) {
			return fmt.Errorf("rows of %s are no rows of a test table", b.Schema())
		}
		cols[i] = b.Column(at[0])
	}
	day, id, seq, v := cols[0].(*array.String), cols[1].(*array.Int64), cols[2].(*array.Int64), cols[3].(*array.Int64)
	for i := range int(b.NumRows()) {
		if id.IsNull(i) || seq.IsNull(i) {
			return fmt.Errorf("row %d has a NULL in id or seq, which no row of a test table has", i)
		}
		r := Row{NullV: v.IsNull(i)}
		if !r.NullV {
			r.V = v.Value(i)
		}
		if day.IsValid(i) {
			r.Day = strings.Clone(day.Value(i))
		}
		r.ID, r.Seq = id.Value(i), seq.Value(i)
		m[r]++
	}
	return nil
}

// Scan gives the rows of a table.
func Scan(ctx context.Context, t *idem.Table) (Rows, error) {
	m := Rows{}
	for b, err := range t.Scan(ctx, idem.Scan{}) {
		if err != nil {
			return nil, err
		}
		if err := m.AddBatch(b); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Batch makes a batch of rows.
func Batch(mem memory.Allocator, rows []Row) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, Schema)
	defer b.Release()
	for _, r := range rows {
		if r.Day == "" {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.StringBuilder).Append(r.Day)
		}
		b.Field(1).(*array.Int64Builder).Append(r.ID)
		b.Field(2).(*array.Int64Builder).Append(r.Seq)
		if r.NullV {
			b.Field(3).AppendNull()
		} else {
			b.Field(3).(*array.Int64Builder).Append(r.V)
		}
	}
	return b.NewRecordBatch()
}

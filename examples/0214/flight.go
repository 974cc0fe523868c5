package main

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
)

// form is how a column is spelled in the files.
type form int

const (
	whole form = iota
	text
	instant
)

// column is a column of the files.
type column struct {
	name     string
	form     form
	required bool

	// since is the stage of a flight at which the column is known.
	since stage
}

// columns are the columns of the table that come straight from the files. The files' year, month
// and day become the table's day, a date.
var columns = []column{
	{"dep_time", whole, false, departed}, {"sched_dep_time", whole, true, scheduled}, {"dep_delay", whole, false, departed},
	{"arr_time", whole, false, arrived}, {"sched_arr_time", whole, true, scheduled}, {"arr_delay", whole, false, arrived},
	{"carrier", text, true, scheduled}, {"flight", whole, true, scheduled}, {"tailnum", text, false, scheduled},
	{"origin", text, true, scheduled}, {"dest", text, true, scheduled}, {"air_time", whole, false, arrived},
	{"distance", whole, true, scheduled}, {"hour", whole, true, scheduled}, {"minute", whole, true, scheduled},
	{"time_hour", instant, true, scheduled},
}

// dateColumns are the columns of the files that make the table's day.
var dateColumns = []string{"year", "month", "day"}

var (
	// businessKey identifies a flight.
	businessKey = []string{"carrier", "flight", "origin", "time_hour"}

	// measures are the columns that are summed.
	measures = []string{"distance", "dep_delay", "arr_delay", "air_time"}
)

// stage is how far a flight has come: what is known of it, and since when.
type stage int

const (
	scheduled stage = iota // the schedule as known the evening before
	departed
	arrived
)

// value is a value of the files: a whole number or an instant in microseconds, or a text.
type value struct {
	n    int64
	s    string
	null bool
}

// flight is a line of the files.
type flight struct {
	day    arrow.Date32
	values []value  // one for each of columns
	at     [3]int64 // when each stage was known, in microseconds; 0 if the flight never came to it
}

// last is the stage at which everything in the line was known.
func (f *flight) last() stage {
	for s := arrived; s > scheduled; s-- {
		if f.at[s] != 0 {
			return s
		}
	}
	return scheduled
}

// value is a column of the line, by name.
func (f *flight) value(name string) value {
	for c := range columns {
		if columns[c].name == name {
			return f.values[c]
		}
	}
	panic("the files have no column " + name)
}

// key is the business key as text.
func (f *flight) key() string {
	return fmt.Sprintf("%s %d %s %s", f.value("carrier").s, f.value("flight").n, f.value("origin").s,
		time.UnixMicro(f.value("time_hour").n).UTC().Format(time.RFC3339))
}

// change is a flight as it was known at a stage: a whole row, not only what is new. A change with
// only some columns would be lost when it comes after a newer one.
type change struct {
	*flight
	stage stage
}

func (c change) updatedAt() int64 { return c.at[c.stage] }

// schema is the table's: the day, the columns of the files, and when the row was known.
var schema = func() *arrow.Schema {
	types := map[form]arrow.DataType{
		whole: arrow.PrimitiveTypes.Int32, text: arrow.BinaryTypes.String, instant: arrow.FixedWidthTypes.Timestamp_us,
	}
	fields := []arrow.Field{{Name: "day", Type: arrow.FixedWidthTypes.Date32}}
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: types[c.form], Nullable: !c.required})
	}
	return arrow.NewSchema(append(fields, arrow.Field{Name: "updated_at", Type: arrow.FixedWidthTypes.Timestamp_us}), nil)
}()

func definition() idem.Definition {
	return idem.Definition{Schema: schema, PartitionBy: []string{"day"}, Name: "flights", Description: "flights from New York"}
}

// batchRows is the number of rows of a record batch.
const batchRows = 4096

// rows gives changes as record batches. They can be read again, so that a verb can hash them before
// it writes.
type rows struct {
	list  []change
	next  int
	batch arrow.RecordBatch
}

// known gives flights as they were known at a stage, or before it if they never came to it.
func known(flights []*flight, s stage) *rows {
	list := make([]change, len(flights))
	for i, f := range flights {
		list[i] = change{f, min(s, f.last())}
	}
	return &rows{list: list}
}

func (r *rows) Schema() *arrow.Schema { return schema }

func (r *rows) Next() bool {
	r.drop()
	if r.next == len(r.list) {
		return false
	}
	end := min(r.next+batchRows, len(r.list))
	r.batch = batchOf(r.list[r.next:end])
	r.next = end
	return true
}

func (r *rows) RecordBatch() arrow.RecordBatch { return r.batch }

func (r *rows) Record() arrow.RecordBatch { return r.batch }

func (r *rows) Err() error { return nil }

func (r *rows) Retain() {}

func (r *rows) Release() { r.drop() }

func (r *rows) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// Rewind begins again at the first row.
func (r *rows) Rewind(context.Context) error {
	r.drop()
	r.next = 0
	return nil
}

// batchOf puts changes into a record batch.
func batchOf(list []change) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Reserve(len(list))
	for _, c := range list {
		b.Field(0).(*array.Date32Builder).Append(c.day)
		for i, col := range columns {
			appendValue(b.Field(i+1), c.values[i], col.since > c.stage)
		}
		b.Field(len(columns) + 1).(*array.TimestampBuilder).Append(arrow.Timestamp(c.updatedAt()))
	}
	return b.NewRecordBatch()
}

func appendValue(b array.Builder, v value, unknown bool) {
	if v.null || unknown {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int32Builder:
		b.Append(int32(v.n))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.n))
	case *array.StringBuilder:
		b.Append(v.s)
	}
}

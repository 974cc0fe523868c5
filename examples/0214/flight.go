package main

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

// columns are those of the table that come straight from the files. What may be missing is a pointer.
type columns struct {
	DepTime      *int32    `idem:"dep_time"`
	SchedDepTime int32     `idem:"sched_dep_time"`
	DepDelay     *int32    `idem:"dep_delay"`
	ArrTime      *int32    `idem:"arr_time"`
	SchedArrTime int32     `idem:"sched_arr_time"`
	ArrDelay     *int32    `idem:"arr_delay"`
	Carrier      string    `idem:"carrier"`
	Number       int32     `idem:"flight"`
	TailNum      *string   `idem:"tailnum"`
	Origin       string    `idem:"origin"`
	Dest         string    `idem:"dest"`
	AirTime      *int32    `idem:"air_time"`
	Distance     int32     `idem:"distance"`
	Hour         int32     `idem:"hour"`
	Minute       int32     `idem:"minute"`
	TimeHour     time.Time `idem:"time_hour"`
}

// record is a line of a file. Its year, month and day become the table's day, a date.
type record struct {
	Year  int32 `idem:"year"`
	Month int32 `idem:"month"`
	Day   int32 `idem:"day"`
	columns
}

// row is a row of the table.
type row struct {
	Day time.Time `idem:"day,date"`
	columns
	UpdatedAt time.Time `idem:"updated_at"` // when what the row says was known
}

var (
	// businessKey identifies a flight.
	businessKey = []string{"carrier", "flight", "origin", "time_hour"}

	// measures are the columns that are summed.
	measures = []string{"distance", "dep_delay", "arr_delay", "air_time"}
)

// measured gives the values of measures.
func (c *columns) measured() []*int32 {
	return []*int32{&c.Distance, c.DepDelay, c.ArrDelay, c.AirTime}
}

// key is the business key as text.
func (c *columns) key() string {
	return fmt.Sprintf("%s %d %s %s", c.Carrier, c.Number, c.Origin, c.TimeHour.Format(time.RFC3339))
}

// stage is how far a flight has come: what is known of it, and since when.
type stage int

const (
	scheduled stage = iota // the schedule as known the evening before
	departed
	arrived
)

// knows says whether a column of a stage has a value.
func (c *columns) knows(s stage) bool {
	if s == departed {
		return c.DepTime != nil || c.DepDelay != nil
	}
	return c.ArrTime != nil || c.ArrDelay != nil || c.AirTime != nil
}

// flight is a flight of a day.
type flight struct {
	columns
	day arrow.Date32
	at  [3]int64 // when each stage was known, in microseconds; 0 if the flight never came to it
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

// change is a flight as it was known at a stage: a whole row, not only what is new. A change with
// only some columns would be lost when it comes after a newer one.
type change struct {
	*flight
	stage stage
}

func (c change) updatedAt() int64 { return c.at[c.stage] }

// row is the row of the table that the change makes.
func (c change) row() row {
	r := row{Day: c.day.ToTime(), columns: c.columns, UpdatedAt: time.UnixMicro(c.updatedAt()).UTC()}
	if c.stage < departed {
		r.DepTime, r.DepDelay = nil, nil
	}
	if c.stage < arrived {
		r.ArrTime, r.ArrDelay, r.AirTime = nil, nil, nil
	}
	return r
}

func definition() (idem.Definition, error) {
	schema, err := records.SchemaOf[row]()
	return idem.Definition{Schema: schema, PartitionBy: []string{"day"}, Name: "flights", Description: "flights from New York"}, err
}

// rows gives changes as rows. They can be read again, so that a verb can hash them before it writes.
func rows(list []change) *records.Rereader {
	out := make([]row, len(list))
	for i, c := range list {
		out[i] = c.row()
	}
	r, err := records.Structs(out, records.StructOptions{})
	if err != nil {
		panic(err) // about the type, which definition has seen
	}
	return r
}

// known gives flights as they were known at a stage, or before it if they never came to it.
func known(flights []*flight, s stage) *records.Rereader {
	list := make([]change, len(flights))
	for i, f := range flights {
		list[i] = change{f, min(s, f.last())}
	}
	return rows(list)
}

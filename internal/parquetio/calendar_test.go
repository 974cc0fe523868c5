package parquetio_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

const day = 86_400_000_000 // microseconds

// Pairs that Spark puts into footers.
func spark(version string, more ...string) map[string]string {
	out := map[string]string{"org.apache.spark.version": version}
	for i := 0; i < len(more); i += 2 {
		out["org.apache.spark."+more[i]] = more[i+1]
	}
	return out
}

func dates(t *testing.T, pairs map[string]string, days ...int32) []int32 {
	data := foreignWith(t, pairs, schema.FieldList{logical("v", required, schema.DateLogicalType{}, parquet.Types.Int32, -1)}, column{values: days})
	got, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("v", arrow.FixedWidthTypes.Date32)}, nil), parquetio.ReadOptions{})
	require.NoError(t, err)
	var out []int32
	for _, v := range got.Column(0).Data().Chunk(0).(*array.Date32).Date32Values() {
		out = append(out, int32(v))
	}
	return out
}

// Spark's RebaseDateTime has these as a table: the days from which on a Julian date is so many days later, or earlier,
// than the Gregorian one that has its name.
func TestDaysOfTheJulianCalendar(t *testing.T) {
	from := []int32{-719164, -682945, -646420, -609895, -536845, -500320, -463795, -390745, -354220, -317695, -244645, -208120, -171595, -141427}
	more := []int32{2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, 0}
	old := spark("3.5.0", "legacyDateTime", "")
	for i, first := range from {
		last := first
		if i > 0 {
			last--
			require.Equal(t, []int32{last + more[i-1]}, dates(t, old, last), "the day before %d", first)
		}
		require.Equal(t, []int32{first + more[i]}, dates(t, old, first))
	}
	require.Equal(t, []int32{0, 20_000, -141_426}, dates(t, old, 0, 20_000, -141_426))
	bc := int32(-719164 - 400*366) // far before the first year names stay, too
	require.Equal(t, julianName(bc), gregorianName(dates(t, old, bc)[0]))
}

// julianName counts from a known day: 1582-10-04, Julian, in cycles of four years.
func julianName(day int32) [3]int {
	back, year := int(-141_428-day), 1582
	at := [3]int{1582, 10, 4}
	for ; back > 0; back-- {
		if at[2]--; at[2] == 0 {
			if at[1]--; at[1] == 0 {
				year--
				at = [3]int{year, 12, 31}
				continue
			}
			at[2] = []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[at[1]-1]
			if at[1] == 2 && (year%4+4)%4 == 0 {
				at[2]++
			}
		}
	}
	return at
}

func gregorianName(day int32) [3]int {
	y, m, d := time.Unix(int64(day)*86_400, 0).UTC().Date()
	return [3]int{y, int(m), d}
}

func TestWhichFilesAreOfTheJulianCalendar(t *testing.T) {
	const first = -719164 // 0001-01-01 in it
	for name, c := range map[string]struct {
		pairs map[string]string
		want  int32
	}{
		"another writer":                {nil, first},
		"another writer, Spark's key":   {map[string]string{"org.apache.spark.legacyDateTime": ""}, first},
		"Spark of now":                  {spark("4.1.0"), first},
		"Spark of now, told to":         {spark("3.5.3", "legacyDateTime", "", "timeZone", "America/Los_Angeles"), first + 2},
		"Spark of now, told of INT96":   {spark("3.5.3", "legacyINT96", ""), first},
		"Spark before 3.0":              {spark("2.4.8"), first + 2},
		"Spark 3.0, which is Gregorian": {spark("3.0.0"), first},
	} {
		require.Equal(t, []int32{c.want}, dates(t, c.pairs, first), name)
	}
}

func TestTimesOfTheJulianCalendar(t *testing.T) {
	stamp := func(utc bool) schema.Node {
		return logical("v", optional, schema.NewTimestampLogicalType(utc, schema.TimeUnitMicros), parquet.Types.Int64, -1)
	}
	i96 := prim("v", optional, parquet.Types.Int96)
	some := []int64{-719164*day + 1, -1, day}
	set := []int16{1, 1, 0, 1}
	want := []arrow.Timestamp{-719162*day + 1, -1, 0, day}
	raw := []arrow.Timestamp{-719164*day + 1, -1, 0, day}
	days := []parquet.Int96{int96(2440588-719164, 1000), int96(2440587, 86_399_999_999_000), int96(2440589, 0)}
	for name, c := range map[string]struct {
		pairs map[string]string
		node  schema.Node
		col   column
		typ   arrow.DataType
		want  []arrow.Timestamp // nil: refused
	}{
		"microseconds":                   {spark("3.5.0", "legacyDateTime", "", "timeZone", "UTC"), stamp(true), column{some, set, nil}, timestampType, want},
		"microseconds, no zone is told":  {spark("2.4.8"), stamp(true), column{some, set, nil}, timestampType, want},
		"microseconds of now":            {spark("3.5.0", "legacyINT96", ""), stamp(true), column{some, set, nil}, timestampType, raw},
		"without a zone":                 {spark("3.5.0", "legacyDateTime", ""), stamp(false), column{some, set, nil}, timestampNTZType, raw},
		"INT96":                          {spark("3.5.0", "legacyINT96", "", "timeZone", "GMT"), i96, column{days, set, nil}, timestampType, want},
		"INT96 before 3.1":               {spark("3.0.3"), i96, column{days, set, nil}, timestampType, want},
		"INT96 of now":                   {spark("3.5.0", "legacyDateTime", ""), i96, column{days, set, nil}, timestampType, raw},
		"another zone":                   {spark("3.5.0", "legacyDateTime", "", "timeZone", "Europe/Berlin"), stamp(true), column{some, set, nil}, timestampType, nil},
		"another zone, since 1900":       {spark("3.5.0", "legacyDateTime", "", "timeZone", "Europe/Berlin"), stamp(true), column{[]int64{-25_000 * day}, nil, nil}, timestampType, []arrow.Timestamp{-25_000 * day}},
		"a date as the time of midnight": {spark("2.4.8"), logical("v", optional, schema.DateLogicalType{}, parquet.Types.Int32, -1), column{[]int32{-719164}, []int16{1}, nil}, timestampNTZType, []arrow.Timestamp{-719162 * day}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.col.defs == nil {
				c.col.defs = []int16{1}
			}
			data := foreignWith(t, c.pairs, schema.FieldList{c.node}, c.col)
			got, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("v", c.typ)}, nil), parquetio.ReadOptions{})
			if c.want == nil {
				require.ErrorIs(t, err, delta.ErrUnsupported)
				require.NotErrorIs(t, err, delta.ErrCorrupt)
				require.ErrorContains(t, err, "Europe/Berlin")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got.Column(0).Data().Chunk(0).(*array.Timestamp).TimestampValues())
		})
	}
}

package function_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
	"github.com/idemtable/idem/internal/fuzzing"
)

// anyDay draws days of the whole range, most of them near those that people write.
func anyDay(t *rapid.T, label string) arrow.Date32 {
	return arrow.Date32(rapid.OneOf(rapid.Int32Range(-800_000, 3_000_000), rapid.Int32Range(-1000, 30_000), rapid.Int32()).Draw(t, label))
}

func anyTime(t *rapid.T, label string) arrow.Timestamp {
	days := rapid.Int64Range(-800_000, 3_000_000).Draw(t, label)
	micros := rapid.OneOf(rapid.Int64Range(0, 86_400_000_000-1), rapid.SampledFrom([]int64{0, 1, 86_399_999_999})).Draw(t, label+" of the day")
	return arrow.Timestamp(days*86_400_000_000 + micros)
}

func goDay(d arrow.Date32) time.Time { return time.Unix(int64(d)*86_400, 0).UTC() }

func TestFieldsAreThoseOfTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		day, at := anyDay(t, "day"), anyTime(t, "at")
		D, T := b.days(day), b.times(at)
		g, h := goDay(day), time.UnixMicro(int64(at)).UTC()
		isoYear, week := g.ISOWeek()
		for name, want := range map[string]int{
			"year": g.Year(), "quarter": (int(g.Month()) + 2) / 3, "month": int(g.Month()), "day": g.Day(), "dayofmonth": g.Day(), "weekofyear": week,
			"dayofweek": int(g.Weekday()) + 1, "weekday": (int(g.Weekday()) + 6) % 7, "dayofyear": g.YearDay(), "unix_date": int(day), "hour": 0, "second": 0,
		} {
			require.Equal(t, []string{strconv.Itoa(want)}, texts(b.apply(name, D)), "%s of %s", name, g)
		}
		require.Equal(t, []string{strconv.Itoa(isoYear)}, texts(b.apply("date_part", "YEAROFWEEK", D)), "%s", g)
		for name, want := range map[string]int{"year": h.Year(), "day": h.Day(), "hour": h.Hour(), "minute": h.Minute(), "second": h.Second()} {
			require.Equal(t, []string{strconv.Itoa(want)}, texts(b.apply(name, T)), "%s of %s", name, h)
		}
		out, _ := b.apply("extract", "seconds", T)
		require.Equal(t, int64(h.Second())*1_000_000+int64(h.Nanosecond()/1000), int64(out.(*array.Decimal128).Value(0).LowBits()))
		require.Equal(t, []string{h.Format("Jan")}, texts(b.apply("monthname", T)))
		require.Equal(t, []string{h.Format("Mon")}, texts(b.apply("dayname", T)))
	})
}

// naiveMonths moves a day by months with the last day of a month in the place of those that it lacks.
func naiveMonths(d time.Time, months int) time.Time {
	first := time.Date(d.Year(), d.Month(), 1, d.Hour(), d.Minute(), d.Second(), d.Nanosecond(), time.UTC).AddDate(0, months, 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(d.Day(), last)-1)
}

// shownDay is a day, or an error beyond the range.
func shownDay(unix int64) string {
	days := math.Floor(float64(unix) / 86_400)
	if days < math.MinInt32 || days > math.MaxInt32 {
		return "!"
	}
	return expr.FormatDate(arrow.Date32(days))
}

func TestDaysAreMovedAsInTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		day := anyDay(t, "day")
		n := rapid.OneOf(rapid.Int64Range(-40, 40), rapid.Int64Range(-200_000_000, 200_000_000)).Draw(t, "n")
		D, N, g := b.days(day), b.ints(n), goDay(day)
		one := func(name string, args ...any) string {
			out, failed := b.apply(name, args...)
			if failed[0] != nil {
				return "!"
			}
			return expr.FormatDate(out.(*array.Date32).Value(0))
		}
		require.Equal(t, shownDay(naiveMonths(g, int(n)).Unix()), one("add_months", D, N))
		require.Equal(t, shownDay(g.Unix()+n*86_400), one("date_add", D, N))
		require.Equal(t, shownDay(g.Unix()-n*86_400), one("date_sub", D, N))
		require.Equal(t, shownDay(time.Date(g.Year(), g.Month()+1, 0, 0, 0, 0, 0, time.UTC).Unix()), one("last_day", D))
		next := g.AddDate(0, 0, 1)
		for next.Weekday() != time.Tuesday {
			next = next.AddDate(0, 0, 1)
		}
		require.Equal(t, shownDay(next.Unix()), one("next_day", D, "tu"))
		monday := g
		for monday.Weekday() != time.Monday {
			monday = monday.AddDate(0, 0, -1)
		}
		for unit, want := range map[string]time.Time{
			"year": time.Date(g.Year(), 1, 1, 0, 0, 0, 0, time.UTC), "MM": time.Date(g.Year(), g.Month(), 1, 0, 0, 0, 0, time.UTC), "Week": monday,
			"quarter": time.Date(g.Year(), (g.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC),
		} {
			require.Equal(t, shownDay(want.Unix()), one("trunc", D, unit), unit)
		}
	})
}

func TestTimesAreMovedAsInTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		at, n := anyTime(t, "at"), rapid.Int64Range(-5000, 5000).Draw(t, "n")
		T, N, g := b.times(at), b.ints(n), time.UnixMicro(int64(at)).UTC()
		one := func(name string, args ...any) int64 {
			out, failed := b.apply(name, args...)
			require.NoError(t, failed[0])
			return int64(out.(*array.Timestamp).Value(0))
		}
		require.Equal(t, naiveMonths(g, int(n)).UnixMicro(), one("timestampadd", "MONTH", N, T))
		require.Equal(t, naiveMonths(g, int(n)*12).UnixMicro(), one("timestampadd", "YEAR", N, T))
		for unit, d := range map[string]time.Duration{"WEEK": 7 * 24 * time.Hour, "DAY": 24 * time.Hour, "HOUR": time.Hour, "MINUTE": time.Minute, "SECOND": time.Second, "MILLISECOND": time.Millisecond, "MICROSECOND": time.Microsecond} {
			require.Equal(t, int64(at)+n*d.Microseconds(), one("timestampadd", unit, N, T), unit)
			if unit != "WEEK" {
				require.Equal(t, int64(at)-floorMod(int64(at), d.Microseconds()), one("date_trunc", unit, T), unit)
			}
		}
		require.Equal(t, time.Date(g.Year(), g.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMicro(), one("date_trunc", "MONTH", T))
	})
}

func floorMod(a, b int64) int64 { return (a%b + b) % b }

func TestDifferencesCountWholeUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		from, to := anyTime(t, "from"), anyTime(t, "to")
		if rapid.Bool().Draw(t, "near") {
			to = from + to%20_000_000_000_000
		}
		F, T := b.times(from), b.times(to)
		for unit, d := range map[string]time.Duration{"WEEK": 7 * 24 * time.Hour, "DAY": 24 * time.Hour, "HOUR": time.Hour, "MINUTE": time.Minute, "SECOND": time.Second, "MILLISECOND": time.Millisecond, "MICROSECOND": time.Microsecond} {
			want := new(big.Int).Quo(big.NewInt(int64(to-from)), big.NewInt(d.Microseconds()))
			require.Equal(t, []string{want.String()}, texts(b.apply("timestampdiff", unit, F, T)), unit)
		}
		require.Equal(t, []string{strconv.FormatInt(naiveMonthsBetween(int64(from), int64(to)), 10)}, texts(b.apply("timestampdiff", "MONTH", F, T)))
	})
}

// naiveMonthsBetween counts whole months between days. A day that the time of day does not fill is no
// day, so that the end moves a day towards the start.
func naiveMonthsBetween(from, to int64) int64 {
	f, t := time.UnixMicro(from).UTC(), time.UnixMicro(to).UTC()
	ofDay := func(at time.Time) time.Duration { return at.Sub(at.Truncate(24 * time.Hour)) }
	days := t.Truncate(24 * time.Hour).Compare(f.Truncate(24 * time.Hour))
	if days > 0 && ofDay(t) < ofDay(f) || days < 0 && ofDay(t) > ofDay(f) {
		t = t.AddDate(0, 0, -days)
	}
	n := int64(t.Year()-f.Year())*12 + int64(t.Month()-f.Month())
	switch {
	case n > 0 && t.Day() < f.Day():
		n--
	case n < 0 && t.Day() > f.Day():
		n++
	}
	return n
}

func TestFormatsAreWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		at := anyTime(t, "at")
		g := time.UnixMicro(int64(at)).UTC()
		format := rapid.SampledFrom([]string{"yyyy-MM-dd HH:mm:ss.SSSSSS", "dd/MM/yyyy'T'HHmmss SSSSSS", "SSSSSS'o''clock' H:m:s d.M.yyyy", "HHmmss,SSSSSS yyyyMMdd", "SSSSSSdd HH mm ss M y"}).Draw(t, "format")
		written, failed := b.apply("date_format", b.times(at), format)
		require.NoError(t, failed[0])
		read, failed := b.apply("to_timestamp", written, format)
		require.NoError(t, failed[0], "%s read by %s", written, format)
		require.Equal(t, at, read.(*array.Timestamp).Value(0), "%s, %s", written, format)
		day, failed := b.apply("to_date", written, format)
		require.NoError(t, failed[0])
		require.Equal(t, expr.FormatDate(day.(*array.Date32).Value(0)), strings.Fields(expr.FormatTimestamp(at))[0])
		if g.Year() >= 0 && g.Year() <= 9999 {
			written, _ = b.apply("date_format", b.times(at), "yyyy-MM-dd HH:mm:ss.SSSSSS")
			require.Equal(t, g.Format("2006-01-02 15:04:05.000000"), written.ValueStr(0))
		}
	})
}

// Whatever a format is, it is refused or used, and what it reads is written by it again.
func FuzzFormat(f *testing.F) {
	f.Add("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-29 23:59:59.5")
	f.Add("yyyyMMdd", "20240229")
	f.Add("'T''y'Hmm", "t'y930")
	f.Add("y'''", "")
	f.Add("Mdd", "131")
	f.Fuzz(func(t *testing.T, format, text string) {
		b := newBench(t)
		defer b.close()
		bounded := func(name string, column arrow.Array) (out arrow.Array, failed []error, err error) {
			fuzzing.Bounded(t, len(format)+len(text), func() { out, failed, err = b.try(name, column, format) })
			return out, failed, err
		}
		read, failed, err := bounded("to_timestamp", b.strs(text))
		if _, _, refused := bounded("date_format", b.times(0)); refused != nil {
			require.Error(t, err)
			return
		}
		if err != nil || failed[0] != nil {
			return
		}
		written, failed, err := bounded("date_format", read)
		require.NoError(t, err)
		require.NoError(t, failed[0])
		again, failed, err := bounded("to_timestamp", written)
		require.NoError(t, err)
		require.NoError(t, failed[0], "%q by %q", written, format)
		if !strings.Contains(format, "S") { // fewer digits of a fraction are written than were read
			require.Equal(t, read.ValueStr(0), again.ValueStr(0))
		}
	})
}

func TestTimesOfTheWholeRangeAreTaken(t *testing.T) {
	b := newBench(t)
	defer b.close()
	least, most := arrow.Timestamp(math.MinInt64), arrow.Timestamp(math.MaxInt64)
	T, D := b.times(least, most), b.days(math.MinInt32, math.MaxInt32)
	for name, want := range map[string][]string{
		"year": {"-290308", "294247"}, "day": {"21", "10"}, "hour": {"19", "4"}, "minute": {"59", "0"}, "second": {"5", "54"},
		"unix_micros": {"-9223372036854775808", "9223372036854775807"}, "unix_seconds": {"-9223372036855", "9223372036854"},
	} {
		require.Equal(t, want, texts(b.apply(name, T)), name)
	}
	require.Equal(t, []string{"-5877641", "5881580"}, texts(b.apply("year", D)))
	require.Equal(t, []string{"!", "!"}, texts(b.apply("date_trunc", "DAY", D)), "a day that no TIMESTAMP has")
	require.Equal(t, []string{"!", "2147483647"}, texts(b.apply("datediff", D, b.days(1, 0))))
	require.Equal(t, []string{"!", "9223372036854775807"}, texts(b.apply("timestampdiff", "MICROSECOND", b.times(1, 0), T)))
	require.Equal(t, []string{"-213503982", "213503982"}, texts(b.apply("timestampdiff", "DAY", b.times(most, least), T)))
	require.Equal(t, []string{"-290308-12-21 19:59:05.224192", "+294247-01-10 04:00:54.775807"}, texts(b.apply("date_format", T, "yyyy-MM-dd HH:mm:ss.SSSSSS")))
}

// A number of months that is years of 2^64 days would come out as a day of our time.
func TestMonthsDoNotGoRoundTheClock(t *testing.T) {
	b := newBench(t)
	defer b.close()
	const round = (1<<64/146_097 + 1) * 400 * 12
	require.Equal(t, []string{"!", "!"}, texts(b.apply("add_months", b.days(0, 0), b.ints(round, -round))))
	require.Equal(t, []string{"!"}, texts(b.apply("timestampadd", "MONTH", b.ints(round), b.times(0))))
}

func TestIntervalsAreAddedMonthsFirst(t *testing.T) {
	interval := func(months, days int32, nanos int64) function.Param {
		return intervalParam(arrow.MonthDayNanoInterval{Months: months, Days: days, Nanoseconds: nanos})
	}
	day := function.Param{Type: arrow.FixedWidthTypes.Date32}
	at := function.Param{Type: timestamp}
	for _, c := range []struct {
		why  string
		name string
		l, r function.Param
		want string // the type of the result, or the error
	}{
		{"months and days leave a day a day", "+", day, interval(1, 1, 0), "DATE"},
		{"hours do not", "-", day, interval(0, 1, 1000), "TIMESTAMP"},
		{"a time of no zone stays one", "+", function.Param{Type: ntz}, interval(1, 0, 0), "TIMESTAMP_NTZ"},
		{"an interval may come first", "+", interval(1, 0, 0), at, "TIMESTAMP"},
		{"but nothing is taken from it", "-", interval(1, 0, 0), at, "there is no INTERVAL - TIMESTAMP: an INTERVAL goes with a DATE, TIMESTAMP or TIMESTAMP_NTZ, and an INT with a DATE"},
		{"months and hours of a day", "+", day, interval(1, 0, 1000), "an INTERVAL of months and of hours or less cannot be added to a DATE: CAST it AS TIMESTAMP"},
		{"finer than a microsecond", "+", at, interval(0, 0, 1), "an INTERVAL of 1 nanoseconds is finer than microseconds"},
		{"a column of intervals", "+", at, function.Param{Type: arrow.FixedWidthTypes.MonthDayNanoInterval}, "an INTERVAL has to be a constant"},
		{"a number and a time", "+", at, function.Param{Type: arrow.PrimitiveTypes.Int32}, "there is no TIMESTAMP + INT: an INTERVAL goes with a DATE, TIMESTAMP or TIMESTAMP_NTZ, and an INT with a DATE"},
	} {
		f, err := function.Find(c.name, []function.Param{c.l, c.r})
		if err != nil {
			require.Equal(t, c.want, err.Error(), c.why)
			continue
		}
		require.Equal(t, c.want, expr.TypeName(f.Result), c.why)
	}
	b := newBench(t)
	defer b.close()
	moved := b.moved("+", b.times(1_706_659_200_000_000), arrow.MonthDayNanoInterval{Months: 1, Days: 1, Nanoseconds: 3_600_000_000_000})
	require.Equal(t, "2024-03-01 01:00:00", moved, "2024-01-31 and a month is 2024-02-29")
	moved = b.moved("-", b.times(1_709_254_800_000_000), arrow.MonthDayNanoInterval{Months: 1, Days: 1, Nanoseconds: 3_600_000_000_000})
	require.Equal(t, "2024-01-31 00:00:00", moved, "2024-03-01 01:00 less a month is 2024-02-01 01:00")
}

func TestDecimalSecondsAreExact(t *testing.T) {
	for expression, want := range map[string]string{
		"timestamp_seconds(CAST('0.0000010' AS DECIMAL(20,7)))":             `"1970-01-01 00:00:00.000001"`,
		"timestamp_seconds(CAST('0.0000011' AS DECIMAL(20,7)))":             "0.0000011 seconds are finer than microseconds",
		"timestamp_seconds(CAST('9223372036854.775807' AS DECIMAL(38,20)))": `"+294247-01-10 04:00:54.775807"`,
		"timestamp_seconds(CAST('9223372036854.775808' AS DECIMAL(38,6)))":  "9223372036854.775808 seconds are beyond what a TIMESTAMP holds",
		"timestamp_seconds(9223372036854775807L)":                           "9223372036854775807 seconds are beyond what a TIMESTAMP holds",
		"timestamp_seconds(CAST(9223372036854775807 AS DECIMAL(20,0)))":     "9223372036854775807 seconds are beyond what a TIMESTAMP holds",
	} {
		_, value := answer(t, expression, false)
		require.Equal(t, want, value, expression)
	}
}

package expr_test

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
)

func TestIntervals(t *testing.T) {
	const hour, second = int64(time.Hour), int64(time.Second)
	for _, c := range []struct {
		text         string
		months, days int32
		nanos        int64
		canonical    string
	}{
		{"INTERVAL '1' DAY", 0, 1, 0, "INTERVAL '1' DAY"},
		{"interval 1 days", 0, 1, 0, "INTERVAL '1' DAY"},
		{"INTERVAL -1 DAY", 0, -1, 0, "INTERVAL '-1' DAY"},
		{"INTERVAL - ' -1 ' DAY", 0, 1, 0, "INTERVAL '1' DAY"},
		{"INTERVAL 2 WEEKS", 0, 14, 0, "INTERVAL '14' DAY"},
		{"INTERVAL '0' HOUR", 0, 0, 0, "INTERVAL '0' DAY"},
		{"INTERVAL 24 HOURS", 0, 0, 24 * hour, "INTERVAL '24:00:00' HOUR TO SECOND"},
		{"INTERVAL 90 MINUTE", 0, 0, hour + hour/2, "INTERVAL '01:30:00' HOUR TO SECOND"},
		{"INTERVAL '1.5' SECOND", 0, 0, second + second/2, "INTERVAL '00:00:01.5' HOUR TO SECOND"},
		{"INTERVAL .000001 SECOND", 0, 0, 1000, "INTERVAL '00:00:00.000001' HOUR TO SECOND"},
		{"INTERVAL -5. SECOND", 0, 0, -5 * second, "INTERVAL '-00:00:05' HOUR TO SECOND"},
		{"INTERVAL 3 MILLISECONDS", 0, 0, 3_000_000, "INTERVAL '00:00:00.003' HOUR TO SECOND"},
		{"INTERVAL 3 MICROSECOND", 0, 0, 3000, "INTERVAL '00:00:00.000003' HOUR TO SECOND"},
		{"INTERVAL 1 DAY 2 HOURS", 0, 1, 2 * hour, "INTERVAL '1 02:00:00' DAY TO SECOND"},
		{"INTERVAL 1 DAY - 2 HOURS", 0, 1, -2 * hour, "INTERVAL '1 days -7200 seconds'"},
		{"INTERVAL 1 DAY 30 HOURS", 0, 1, 30 * hour, "INTERVAL '1 days 108000 seconds'"},
		{"INTERVAL '1 day 2 hours'", 0, 1, 2 * hour, "INTERVAL '1 02:00:00' DAY TO SECOND"},
		{"INTERVAL ' Interval\t- 1 day\t2.5 seconds '", 0, -1, 5 * second / 2, "INTERVAL '-1 days 2.5 seconds'"},
		{"INTERVAL '-1 day -.5 seconds'", 0, -1, -second / 2, "INTERVAL '-1 00:00:00.5' DAY TO SECOND"},
		{"INTERVAL '1 years 2 months -1 month'", 13, 0, 0, "INTERVAL '1-1' YEAR TO MONTH"},
		{"INTERVAL 3 MONTH", 3, 0, 0, "INTERVAL '3' MONTH"},
		{"INTERVAL '-2' YEAR", -24, 0, 0, "INTERVAL '-2' YEAR"},
		{"INTERVAL '1-2' YEAR TO MONTH", 14, 0, 0, "INTERVAL '1-2' YEAR TO MONTH"},
		{"INTERVAL '-1-2' YEAR TO MONTH", -14, 0, 0, "INTERVAL '-1-2' YEAR TO MONTH"},
		{"INTERVAL -'-1-2' YEAR TO MONTH", 14, 0, 0, "INTERVAL '1-2' YEAR TO MONTH"},
		{"INTERVAL '-178956970-8' YEAR TO MONTH", math.MinInt32, 0, 0, "INTERVAL '-178956970-8' YEAR TO MONTH"},
		{"INTERVAL '1 02:03:04.5' DAY TO SECOND", 0, 1, 2*hour + 184*second + second/2, "INTERVAL '1 02:03:04.5' DAY TO SECOND"},
		{"INTERVAL '-1 2:3:4' DAY TO SECOND", 0, -1, -2*hour - 184*second, "INTERVAL '-1 02:03:04' DAY TO SECOND"},
		{"INTERVAL '1 02' DAY TO HOUR", 0, 1, 2 * hour, "INTERVAL '1 02:00:00' DAY TO SECOND"},
		{"INTERVAL '1 02:03' day to minute", 0, 1, 2*hour + 180*second, "INTERVAL '1 02:03:00' DAY TO SECOND"},
		{"INTERVAL '100:03' HOUR TO MINUTE", 0, 0, 100*hour + 180*second, "INTERVAL '100:03:00' HOUR TO SECOND"},
		{"INTERVAL '+1:02:03' HOUR TO SECOND", 0, 0, hour + 123*second, "INTERVAL '01:02:03' HOUR TO SECOND"},
		{"INTERVAL '90:04.25' MINUTE TO SECOND", 0, 0, 5404*second + second/4, "INTERVAL '01:30:04.25' HOUR TO SECOND"},
	} {
		e, err := expr.Parse(c.text)
		require.NoError(t, err, c.text)
		want := arrow.MonthDayNanoInterval{Months: c.months, Days: c.days, Nanoseconds: c.nanos}
		require.Equal(t, want, e.(*expr.Literal).Value.(*scalar.MonthDayNanoInterval).Value, c.text)
		require.Equal(t, c.canonical, e.String())
		require.True(t, expr.Equal(expr.Interval(int(c.months), int(c.days), time.Duration(c.nanos)), e))
	}
}

// An interval ends where no number with a unit follows, and is none where no number does.
func TestIntervalsAmongOperators(t *testing.T) {
	col, days := expr.Col, func(n int) expr.Expr { return expr.Interval(0, n, 0) }
	for text, want := range map[string]expr.Expr{
		"d + INTERVAL 1 DAY - INTERVAL '2' DAY": col("d").Plus(days(1)).Minus(days(2)),
		"INTERVAL 1 DAY - 2":                    expr.Apply(expr.Sub, days(1), int32(2)),
		"INTERVAL 1 DAY + d":                    expr.Apply(expr.Add, days(1), col("d")),
		"INTERVAL 1 DAY + day":                  expr.Apply(expr.Add, days(1), col("day")),
		"-INTERVAL '1' DAY":                     expr.Function("negative", days(1)),
		"INTERVAL '1' DAY * 2":                  expr.Apply(expr.Mul, days(1), int32(2)),
		"interval - 5 = interval":               col("interval").Minus(int32(5)).Eq(col("interval")),
		"interval(1)":                           expr.Function("interval", int32(1)),
	} {
		got, err := expr.Parse(text)
		require.NoError(t, err, text)
		require.True(t, expr.Equal(want, got), "%s: got %s, want %s", text, got, want)
	}
}

func TestIntervalsRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{"INTERVAL 1", 10, "expected a unit of time"},
		{"INTERVAL 1 QUARTER", 11, "expected a unit of time"},
		{"INTERVAL 1000 NANOSECONDS", 14, "expected a unit of time"},
		{"INTERVAL 1 DAYSS", 11, "expected a unit of time"},
		{"INTERVAL 1.5 DAY", 9, "only seconds have a fraction"},
		{"INTERVAL 1e3 SECOND", 9, "is no number of SECOND"},
		{"INTERVAL 1L DAY", 9, "is no number of DAY"},
		{"INTERVAL '1 day' DAY", 9, "is no number of DAY"},
		{"INTERVAL '' DAY", 9, "is no number of DAY"},
		{"INTERVAL '.' SECOND", 9, "is no number of SECOND"},
		{"INTERVAL '1.1234567' SECOND", 0, "finer than a microsecond"},
		{"INTERVAL '1.1234567890' SECOND", 9, "is no number of SECOND"},
		{"INTERVAL 1 MONTH 1 DAY", 0, "use two, one of each"},
		{"INTERVAL '0 months 1 second'", 9, "use two, one of each"},
		{"INTERVAL '1'", 9, "write numbers with units"},
		{"INTERVAL ''", 9, "write numbers with units"},
		{"INTERVAL '1day'", 9, "write numbers with units"},
		{"INTERVAL '1 day,'", 9, "write numbers with units"},
		{"INTERVAL '1 day 2'", 9, "write numbers with units"},
		{"INTERVAL '1.5 days'", 9, "only seconds have a fraction"},
		{"INTERVAL 'interval'", 9, "write numbers with units"},
		{"INTERVAL '1' YEAR TO DAY", 9, "there is no interval YEAR TO DAY"},
		{"INTERVAL '1' DAY TO 5", 20, "expected a unit"},
		{"INTERVAL 1 YEAR TO MONTH", 9, "expected a string before YEAR TO MONTH"},
		{"INTERVAL '1-12' YEAR TO MONTH", 9, "write 'y-m'"},
		{"INTERVAL '1' YEAR TO MONTH", 9, "write 'y-m'"},
		{"INTERVAL '1 24:00:00' DAY TO SECOND", 9, "write 'd h:m:s.f'"},
		{"INTERVAL '1 23:60:00' DAY TO SECOND", 9, "write 'd h:m:s.f'"},
		{"INTERVAL '1 23:59:00 ' DAY TO MINUTE", 9, "write 'd h:m'"},
		{"INTERVAL '1 02:03:04.' DAY TO SECOND", 9, "write 'd h:m:s.f'"},
		{"INTERVAL '2147483648' MONTH", 0, "beyond what an interval holds"},
		{"INTERVAL '999999999999999999' YEAR", 9, "beyond what an interval holds"},
		{"INTERVAL 10000000 HOURS", 9, "beyond what an interval holds"},
		{"INTERVAL 2500000 HOURS 2500000 HOURS", 23, "beyond what an interval holds"},
		{"INTERVAL -2147483649 DAY", 0, "beyond what an interval holds"},
	} {
		_, err := expr.Parse(c.text)
		requireSyntax(t, err, c.at, c.says)
	}
	for _, v := range []expr.Expr{
		expr.Interval(1, 1, 0), expr.Interval(1, 0, time.Second), expr.Interval(0, 0, 1), expr.Interval(math.MaxInt32+1, 0, 0),
		expr.Lit(time.Nanosecond), expr.Lit(scalar.NewMonthDayNanoIntervalScalar(arrow.MonthDayNanoInterval{Months: 1, Days: -1})),
	} {
		require.IsType(t, &expr.Invalid{}, v)
	}
}

func TestIntervalArguments(t *testing.T) {
	e, err := expr.Parse("t > ? - ?", expr.Col("x").Path[0], 36*time.Hour)
	require.NoError(t, err)
	require.Equal(t, "t > 'x' - INTERVAL '36:00:00' HOUR TO SECOND", e.String())
	require.Equal(t, "INTERVAL", expr.TypeName(expr.Lit(time.Hour).(*expr.Literal).Value.DataType()))
}

func drawInterval(t *rapid.T) arrow.MonthDayNanoInterval {
	v := arrow.MonthDayNanoInterval{}
	if rapid.Bool().Draw(t, "months or time") {
		v.Months = rapid.Int32().Draw(t, "months")
		return v
	}
	v.Days = rapid.Int32().Draw(t, "days")
	v.Nanoseconds = rapid.Int64().Draw(t, "nanos") / 1000 * 1000
	if rapid.Bool().Draw(t, "within a day") {
		v.Nanoseconds %= int64(24 * time.Hour)
	}
	return v
}

func TestTextOfAnyIntervalParsesToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawInterval(t)
		e, err := expr.Parse(expr.Lit(v).String())
		require.NoError(t, err, "%v", v)
		require.Equal(t, v, e.(*expr.Literal).Value.(*scalar.MonthDayNanoInterval).Value, "%s", e)
	})
}

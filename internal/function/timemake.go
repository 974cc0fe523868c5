package function

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// wantSeconds is an exact number: of a DOUBLE nobody knows which microsecond is meant.
var wantSeconds = want{words: "an INT or a DECIMAL", takes: func(p Param) arrow.DataType {
	if t := wantInt.takes(p); t != nil {
		return t
	}
	return only(arrow.DECIMAL128)(p)
}, null: typeLong}

// secondsOf gives the values of an argument of seconds, in microseconds.
func secondsOf(a Arg) func(row int) (int64, error) {
	beyond := func(row int) error {
		return fmt.Errorf("%s seconds are beyond what a TIMESTAMP holds", shown(a, row))
	}
	if a.DataType().ID() == arrow.INT64 {
		v := columnOf[int64](a)
		return func(row int) (int64, error) {
			micros, ok := mul(v.at(row), microsASecond)
			if !ok {
				return 0, beyond(row)
			}
			return micros, nil
		}
	}
	v, scale := columnOf[decimal128.Num](a), int(a.DataType().(*arrow.Decimal128Type).Scale)
	return func(row int) (int64, error) {
		d := v.at(row)
		if scale > 6 {
			micros, rest := d.Div(decimal128.GetScaleMultiplier(scale - 6))
			if rest != (decimal128.Num{}) {
				return 0, fmt.Errorf("%s seconds are finer than microseconds", shown(a, row))
			}
			d = micros
		}
		micros := int64(d.LowBits())
		if decimal128.FromI64(micros) != d {
			return 0, beyond(row)
		}
		for i := scale; i < 6; i++ {
			var ok bool
			if micros, ok = mul(micros, 10); !ok {
				return 0, beyond(row)
			}
		}
		return micros, nil
	}
}

func makeDate(c *Call) arrow.Array {
	year, month, day := columnOf[int64](c.Args[0]), columnOf[int64](c.Args[1]), columnOf[int64](c.Args[2])
	return buildFixed(nullsOf(c, c.Args...), typeDate, func(row int) (int32, error) {
		t := civilTime{year: year.at(row), month: month.at(row), day: day.at(row)}
		if !t.valid() {
			return 0, fmt.Errorf("%s is no day of the calendar", called("make_date", c, row))
		}
		days := daysOf(t.year, int(t.month), int(t.day))
		if days != int64(int32(days)) {
			return 0, fmt.Errorf("%s is beyond what a DATE holds", called("make_date", c, row))
		}
		return int32(days), nil
	})
}

// makeTimestamp takes 60 seconds for the start of the next minute.
func makeTimestamp(result arrow.DataType) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		var v [5]column[int64]
		for i := range v {
			v[i] = columnOf[int64](c.Args[i])
		}
		seconds := secondsOf(c.Args[5])
		return buildFixed(nullsOf(c, c.Args...), result, func(row int) (int64, error) {
			micros, err := seconds(row)
			if err != nil {
				return 0, err
			}
			t := civilTime{year: v[0].at(row), month: v[1].at(row), day: v[2].at(row), hour: v[3].at(row), minute: v[4].at(row)}
			if !t.valid() || micros < 0 || micros > microsAMinute {
				return 0, fmt.Errorf("%s is no time of the calendar", called("make_timestamp", c, row))
			}
			made, ok := t.plus(micros)
			if !ok {
				return 0, errTimeRange("make_timestamp", c, row)
			}
			return made, nil
		})
	}
}

// unix gives how many units of so many microseconds a time is from 1970 on, rounded down.
func unix(micros int64) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildFixed(nullsOf(c, c.Args[0]), typeLong, func(row int) (int64, error) {
			return floorDiv(t.micros.at(row), micros), nil
		})
	}
}

// fromUnix is the inverse of unix.
func fromUnix(name string, micros int64) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		v := columnOf[int64](c.Args[0])
		return buildFixed(nullsOf(c, c.Args[0]), timestampType, func(row int) (int64, error) {
			t, ok := mul(v.at(row), micros)
			return t, unless(ok, name, c, row)
		})
	}
}

func fromSeconds(c *Call) arrow.Array {
	return buildFixed(nullsOf(c, c.Args[0]), timestampType, secondsOf(c.Args[0]))
}

func fromUnixDate(c *Call) arrow.Array {
	v := columnOf[int64](c.Args[0])
	return buildDays(c, "date_from_unix_date", nullsOf(c, c.Args[0]), func(row int) (int64, bool) { return v.at(row), true })
}

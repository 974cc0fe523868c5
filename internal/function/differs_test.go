package function_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where Spark's answer is not given: ours is, or begins as, the text.
func TestWhereSparkIsNotFollowed(t *testing.T) {
	for _, c := range []struct{ why, expression, spark, ours string }{
		{"a number is no text", "lower(1)", `"1"`, "lower takes a STRING; the first argument is INT: CAST it"},
		{"", "concat(1, 'a')", `"1a"`, "concat takes any number of arguments, each a STRING or BINARY; the first argument is INT"},
		{"", "concat_ws(',', 1, 2)", `"1,2"`, "concat_ws takes a STRING and any number of arguments, each a STRING or an array of STRING; the second argument is INT"},
		{"", "1 LIKE '1'", "true", "like takes a STRING, a STRING and perhaps a STRING; the first argument is INT"},
		{"a text is no number", "substring('abc', '2')", `"bc"`, "substring takes a STRING or BINARY, an INT and perhaps an INT; the second argument is STRING"},
		{"", "make_date('2024', 1, 1)", "2024-01-01", "make_date takes an INT, an INT and an INT; the first argument is STRING"},
		{"a number with a fraction is no position", "substring('abc', 1.5)", `"abc"`, "substring takes a STRING or BINARY, an INT and perhaps an INT; the second argument is DECIMAL(2, 1)"},
		{"bytes are no text", "upper(X'61')", `"A"`, "upper takes a STRING; the first argument is BINARY"},
		{"", "concat('a', X'62')", `"ab"`, "concat takes STRINGs or BINARYs, not one of each: CAST one of them"},
		{"", "lpad('a', 3, X'62')", `"bba"`, "lpad takes STRINGs or BINARYs, not one of each: CAST one of them"},

		{"what is no UTF-8 has no case; Spark puts U+FFFD for it", "upper(CAST(X'61ff62' AS STRING))", "", `changing the case: "a\xffb" is not valid UTF-8`},
		{"", "ascii(CAST(X'FF' AS STRING))", "65533", `ascii: "\xff" is not valid UTF-8`},
		{"", "CAST(X'61ff' AS STRING) LIKE 'a_'", "true", `like: "a\xff" is not valid UTF-8`},
		{"", "translate(CAST(X'61ff' AS STRING), 'a', 'b')", "", `translate: "a\xff" is not valid UTF-8`},
		{"Spark reads beyond the end", "hex(substring(CAST(X'41F0' AS STRING), 2, 1))", `"F0000000"`, `"F0"`},

		{"a pattern is judged before there are rows", `NULL LIKE r'abc\'`, "NULL", `the pattern "abc\\" ends with its escape character \`},
		{"a value is bounded", "repeat('ab', 10000000)", "", "repeat makes a value of more than 16 MiB"},
		{"", "rpad('', 20000000, 'ab')", "", "padding makes a value of more than 16 MiB"},
		{"", "replace(repeat('a', 10000), 'a', repeat('b', 10000))", "", "replace makes a value of more than 16 MiB"},

		{"an overflow is an error", "date_add(DATE '2024-02-28', 2147483647)", "-5877587-08-18", "date_add(2024-02-28, 2147483647) is beyond what a DATE holds"},
		{"", "date_sub(DATE '1970-01-01', -9223372036854775808L)", "", "date_sub(1970-01-01, -9223372036854775808) is beyond what a DATE holds"},
		{"", "datediff(DATE '+5881580-07-11', DATE '1969-01-01')", "-2147483284", "datediff(+5881580-07-11, 1969-01-01) does not fit into INT"},
		{"", "last_day(DATE '+5881580-07-11')", "-5877641-07-12", "last_day(+5881580-07-11) is beyond what a DATE holds"},
		{"", "next_day(DATE '+5881580-07-11', 'mo')", "-5877641-06-25", `next_day(+5881580-07-11, "mo") is beyond what a DATE holds`},
		{"", "trunc(DATE '-5877641-06-23', 'YEAR')", "+5881580-01-21", `trunc(-5877641-06-23, "YEAR") is beyond what a DATE holds`},
		{"", "DATE '+5881580-07-11' + INTERVAL 1 DAY", "-5877641-06-23", "+5881580-07-11 + INTERVAL 0 MONTHS 1 DAYS 0 MICROSECONDS is beyond what a DATE holds"},
		{"", "DATE '+5881580-07-11' + 1", "-5877641-06-23", "+5881580-07-11 + 1 is beyond what a DATE holds"},
		{"an integer may have any width where it is added to a day", "date_add(DATE '2024-02-28', 1L)", "!", `"2024-02-29"`},
		{"", "DATE '2024-01-31' + 1L", "!", `"2024-02-01"`},
		{"", "element_at(array(1), 1L)", "!", `"1"`},

		{"a unit that is not there is refused", "trunc(DATE '2024-08-15', 'DAY')", "NULL", `trunc: there is no unit "DAY": there are YEAR, QUARTER, MONTH and WEEK`},
		{"", "date_trunc('H', TIMESTAMP '2024-08-15 12:34:56')", "NULL", `date_trunc: there is no unit "H"`},
		{"", "trunc(DATE '2024-08-15', NULL)", "NULL", "trunc: the unit: it has to be a constant STRING"},
		{"", "date_part(NULL, DATE '2024-02-29')", "NULL", "date_part: the name of the field: it has to be a constant STRING"},
		{"", "date_format(DATE '2024-02-09', NULL)", "NULL", "date_format: the format: it has to be a constant STRING"},

		{"letters that depend on a language or have two meanings are refused", "date_format(DATE '2024-02-09', 'EEE')", `"Fri"`, `date_format: the format "EEE": "EEE" is not supported, only yyyy, MM, dd, HH, mm, ss, S to SSSSSSSSS, and y, M, d, H, m, s`},
		{"", "to_date('24-01-01', 'yy-MM-dd')", "2024-01-01", `to_date: the format "yy-MM-dd": "yy" is not supported`},
		{"", "date_format(DATE '2024-02-09', 'yyyy[ HH]')", `"2024 00"`, `date_format: the format "yyyy[ HH]": the mark '[' is not supported`},
		{"a number that is read twice", "to_date('2024-01-01 2024', 'yyyy-MM-dd yyyy')", "2024-01-01", `to_date: the format "yyyy-MM-dd yyyy" has y twice`},
		{"a number without an end", "to_date('20240115', 'yyyyMd')", "!", `to_date: the format "yyyyMd" has no mark between y and the numbers behind it`},
		{"Spark reads none of these texts", "to_timestamp('20240101123045123', 'yyyyMMddHHmmssSSS')", "!", `to_timestamp: the format "yyyyMMddHHmmssSSS" has no mark between y and the numbers behind it`},

		{"a DOUBLE does not tell which microsecond is meant", "timestamp_seconds(0.1D)", "1970-01-01 00:00:00.1", "timestamp_seconds takes an INT or a DECIMAL; the first argument is DOUBLE"},
		{"nor what is finer than one", "make_timestamp(2024, 2, 29, 12, 34, 0.1234567)", "2024-02-29 12:34:00.123457", "0.1234567 seconds are finer than microseconds"},
		{"a number is no time", "to_timestamp(5)", "1970-01-01 00:00:05", "to_timestamp takes a STRING, DATE, TIMESTAMP or TIMESTAMP_NTZ; the first argument is INT"},

		{"no time at all is of no unit", "DATE '2024-01-31' + INTERVAL 0 HOURS", "2024-01-31 00:00:00", `"2024-01-31"`},
		{"there are no values that are intervals", "DATE '2024-01-31' - DATE '2024-01-30'", "INTERVAL '1' DAY", "DATE - DATE would be an INTERVAL, which is not supported: use datediff(end, start)"},
		{"", "TIMESTAMP '2024-01-31 00:00:00' - DATE '2024-01-30'", "", "the difference of times would be an INTERVAL, which is not supported: use datediff(unit, start, end)"},
		{"", "INTERVAL 1 DAY + INTERVAL 1 DAY", "INTERVAL '2' DAY", "there is no INTERVAL + INTERVAL: an INTERVAL goes with a DATE, TIMESTAMP or TIMESTAMP_NTZ, and an INT with a DATE"},
		{"a NULL without a type is of none", "DATE '2024-01-31' + NULL", "NULL", "DATE + NULL: the NULL needs a type, CAST it"},
		{"a text is no time", "'2024-01-31' + INTERVAL 1 DAY", `"2024-02-01 00:00:00"`, "there is no STRING + INTERVAL"},
		{"", "DATE '2024-01-31' - '2024-01-30'", "INTERVAL '1' DAY", "there is no DATE - STRING"},

		{"a place beyond 32 bits is not cut to them", "array(1, 2)[4294967296L]", "1", "there is no element 4294967296 in an array of 2: places count from 0"},
		{"a key is not converted", "map(1, 'x')['1']", `"x"`, "element: the keys are INT, the one that is looked for is STRING: CAST it"},
		{"NULL is among nothing", "array_contains(array(1, 2), NULL)", "!", "NULL"},
	} {
		for _, constants := range []bool{true, false} {
			typ, value := answer(t, c.expression, constants)
			require.NotEqual(t, c.spark, value, c.expression)
			if len(value) > len(c.ours) {
				value = value[:len(c.ours)]
			}
			require.Equal(t, c.ours, value, "%s: %s, %s", c.why, c.expression, typ)
		}
	}
}

// What is wrong with the number of arguments, and with those that have to be constants.
func TestArgumentsAreRefused(t *testing.T) {
	for expression, want := range map[string]string{
		"lower()":             "lower takes a STRING; no argument is given",
		"lower('a', 'b')":     "lower takes a STRING; 2 arguments are given",
		"substring('a')":      "substring takes a STRING or BINARY, an INT and perhaps an INT; 1 argument is given",
		"substring(1L, 1, 1)": "substring takes a STRING or BINARY, an INT and perhaps an INT; the first argument is BIGINT",
		"concat_ws()":         "concat_ws takes a STRING and any number of arguments, each a STRING or an array of STRING; no argument is given",
		"year(2024)":          "year takes a DATE, TIMESTAMP or TIMESTAMP_NTZ; the first argument is INT",
		"date_part('CENTURY', DATE '2024-01-01')":  `date_part: there is no field "CENTURY"`,
		"date_part('YEAR')":                        "date_part takes the name of a field and a TIMESTAMP, TIMESTAMP_NTZ or DATE; 1 argument is given",
		"timestampadd('CENTURY', 1, '2024-01-01')": `timestampadd: there is no unit "CENTURY"`,
		"timestampadd(1, '2024-01-01')":            "timestampadd takes a unit, an INT and a TIMESTAMP, TIMESTAMP_NTZ or DATE; 2 arguments are given",
		"datediff(DATE '2024-01-01')":              "datediff takes a unit, a TIMESTAMP, TIMESTAMP_NTZ or DATE and a TIMESTAMP, TIMESTAMP_NTZ or DATE, or two days without a unit; 1 argument is given",
		"unix_seconds(TIMESTAMP_NTZ '2024-01-01')": "unix_seconds takes a TIMESTAMP; the first argument is TIMESTAMP_NTZ",
		"make_timestamp(1, 2, 3, 4, 5)":            "make_timestamp takes an INT, an INT, an INT, an INT, an INT and an INT or a DECIMAL; 5 arguments are given",
		"size('a')":                                "size takes an array or a map; the first argument is STRING",
		"element_at(array(1))":                     "element_at takes an array or a map and an INT; 1 argument is given",
		"map_keys(array(1))":                       "map_keys takes a map; the first argument is list<item: int32, nullable>",
		"now()":                                    "there is no such function",
		"rand()":                                   "there is no such function",
		"uuid()":                                   "there is no such function",
		"current_timezone()":                       "there is no such function",
	} {
		typ, value := answer(t, expression, true)
		require.Equal(t, "!", typ, expression)
		if len(value) > len(want) {
			value = value[:len(want)]
		}
		require.Equal(t, want, value, expression)
	}
}

package function_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a number that Spark gives is not given: ours is, or begins as, the text.
func TestWhereNumbersAreNotSparks(t *testing.T) {
	for _, c := range []struct{ why, expression, spark, ours string }{
		{"a double beyond BIGINT is not its greatest", "floor(1e30D)", `"9223372036854775807"`, "floor(1.0E30) does not fit into BIGINT"},
		{"", "ceil(-1e30D)", `"-9223372036854775808"`, "ceil(-1.0E30) does not fit into BIGINT"},
		{"", "floor(9.223372036854775807E18D)", `"9223372036854775807"`, "floor(9.223372036854776E18) does not fit into BIGINT"},
		{"", "CAST(9223372036854775807D AS BIGINT)", `"9223372036854775807"`, "9.223372036854776E18 does not fit into BIGINT"},
		{"", "CAST(CAST(9223372036854775807D AS FLOAT) AS BIGINT)", `"9223372036854775807"`, "9.223372E18 does not fit into BIGINT"},
		{"NaN is not 0", "floor(CAST('NaN' AS DOUBLE))", `"0"`, "floor(NaN) does not fit into BIGINT"},
		{"nor NULL", "CAST(CAST('NaN' AS DOUBLE) AS DECIMAL(10, 2))", "NULL", "NaN does not fit into DECIMAL(10, 2)"},
		{"", "CAST(CAST('-Infinity' AS FLOAT) AS DECIMAL(10, 2))", "NULL", "-Infinity does not fit into DECIMAL(10, 2)"},
		{"", "floor(CAST('NaN' AS DOUBLE), 2)", "NULL", "NaN does not fit into DECIMAL(30, 15)"},

		{"a whole quotient is not cut to 64 bits", "9223372036854775808BD div 1BD", `"-9223372036854775808"`, "9223372036854775808 div 1 does not fit into BIGINT"},
		{"", "-9223372036854775809BD div 1BD", `"9223372036854775807"`, "-9223372036854775809 div 1 does not fit into BIGINT"},
		{"", "18446744073709551617BD div 1BD", `"1"`, "18446744073709551617 div 1 does not fit into BIGINT"},
		{"a decimal keeps more than 34 digits where its sign changes", "-CAST(12345678901234567890123456789012345678 AS DECIMAL(38, 0))", `"-12345678901234567890123456789012350000"`, `"-12345678901234567890123456789012345678"`},
		{"", "abs(CAST('-12345678901234567890123456789012345678' AS DECIMAL(38, 0)))", `"12345678901234567890123456789012350000"`, `"12345678901234567890123456789012345678"`},
		{"", "-CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0))", "!", `"-99999999999999999999999999999999999999"`},
		{"a remainder is found behind any quotient", "CAST(1e37BD AS DECIMAL(38, 0)) % CAST(3e-38BD AS DECIMAL(38, 38))", "!", `"0.00000000000000000000000000000000000001"`},
		{"the sum in a remainder does not wrap", "pmod(-5, -2147483648)", `"2147483643"`, `"-5"`},
		{"", "pmod(-5L, -9223372036854775808)", `"9223372036854775803"`, `"-5"`},
		{"digits that no number has", "round(2.5D, 2147483647)", "!", `"2.5"`},
		{"", "round(2.5D, -2147483648)", "!", `"0.0"`},
		{"", "round(25, -2147483648)", "!", `"0"`},
		{"", "round(25, 2147483647)", "!", `"25"`},
		{"", "round(2.5, -2147483648)", "!", `"0"`},

		{"seconds beyond a TIMESTAMP are not its greatest", "CAST(9223372036855 AS TIMESTAMP)", `"+294247-01-10 04:00:54.775807"`, "9223372036855 does not fit into TIMESTAMP"},
		{"nor another", "CAST(99999999999999999999BD AS TIMESTAMP)", `"-78449-06-15 02:58:03.596224"`, "99999999999999999999 does not fit into TIMESTAMP"},

		{"the shortest text that is read back, as since Java 19; before it may have more digits", "CAST(2e23D AS STRING)", `"1.9999999999999998E23"`, `"2.0E23"`},
		{"", "CAST(123456789.123456789BD AS FLOAT)", `"1.23456792E8"`, `"1.2345679E8"`},
		{"", "CAST(1.1754944E-38F AS STRING)", `"1.17549435E-38"`, `"1.1754944E-38"`},

		{"digits are those of ASCII", "CAST('１２' AS DECIMAL(10, 2))", `"12.00"`, `"１２" is no DECIMAL(10, 2)`},
		{"Spark knows these words where a text is constant", "CAST('epoch' AS DATE)", `"1970-01-01"`, `"epoch" is no DATE`},
		{"the clock is not asked", "CAST('12:34:56' AS TIMESTAMP)", "", `"12:34:56" is no TIMESTAMP: it has no day`},
		{"", "CAST('T12' AS TIMESTAMP)", "", `"T12" is no TIMESTAMP: it has no day`},
		{"", "CAST('12:00:00' AS TIMESTAMP_NTZ)", "", `"12:00:00" is no TIMESTAMP_NTZ: it has no day`},
		{"nor the rules of regions", "CAST('2020-02-03 04:05:06 Europe/Paris' AS TIMESTAMP)", `"2020-02-03 03:05:06"`, `"2020-02-03 04:05:06 Europe/Paris" is no TIMESTAMP: its zone is no offset`},
		{"", "CAST('2020-02-03 04:05:06PST' AS TIMESTAMP)", `"2020-02-03 12:05:06"`, `"2020-02-03 04:05:06PST" is no TIMESTAMP: its zone is no offset`},
		{"", "CAST('2020-02-03 04:05:06GMT0' AS TIMESTAMP)", `"2020-02-03 04:05:06"`, `"2020-02-03 04:05:06GMT0" is no TIMESTAMP: its zone is no offset`},

		{"a text is no number", "'1' + 1", `"2"`, "+ takes numbers; the first argument is STRING"},
		{"", "greatest(array(1), array(2))", "[2]", "greatest: values of the type list<item: int32, nullable> have no order"},
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

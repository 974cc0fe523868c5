package interop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// wide has a column of every primitive type. It is partitioned by day.
var wide = []column{
	{"id", "long"}, {"day", "date"}, {"flag", "boolean"}, {"i8", "byte"}, {"i16", "short"}, {"i32", "integer"}, {"i64", "long"},
	{"f32", "float"}, {"f64", "double"}, {"d5_2", "decimal(5,2)"}, {"d18_4", "decimal(18,4)"}, {"d38_10", "decimal(38,10)"},
	{"name", "string"}, {"raw", "binary"}, {"born", "date"}, {"seen", "timestamp"}, {"local_seen", "timestamp_ntz"},
}

// shapes are the cells after id and day: what each type has at its ends, and what readers trip over.
var shapes = []row{
	{true, -128, -32768, -1 << 31, "-9223372036854775808", "-Infinity", "-Infinity", "-999.99", "-99999999999999.9999",
		"-9999999999999999999999999999.9999999999", "", "base64:", "0001-01-01", "0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001"},
	{false, 127, 32767, 1<<31 - 1, "9223372036854775807", "NaN", "NaN", "999.99", "99999999999999.9999",
		"9999999999999999999999999999.9999999999", "\U0010ffff é\u4e2d\U0001f600", "base64://///w==", "9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999"},
	{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	{false, 0, 0, 0, 0, "-0.0", "-0.0", "0.00", "0.0000", "0.0000000000", "tab\t nul\x00 line\r\n \"quoted\" back\\slash %41", "base64:AP8K", "1969-12-31",
		"1969-12-31T23:59:59.999999Z", "1582-10-10T12:00:00.000000"},
	{true, 1, -1, 1, -1, 0.1, 5e-324, "-0.01", "-0.0001", "0.0000000001", "NULL", "base64:aWRlbQ==", "2024-02-29", "2024-02-29T12:34:56.789012Z", "1970-01-01T00:00:00.000000"},
}

// wideRows are rows of wide with the ids from … to, of one day (nil: NULL), in every shape in turn.
func wideRows(day any, from, to int) source {
	s := source{Schema: wide}
	for id := from; id <= to; id++ {
		s.Rows = append(s.Rows, append(row{id, day}, shapes[id%len(shapes)]...))
	}
	return s
}

// conditions are texts that idem and all three engines read. Together they ask statistics of every
// type at their ends.
var conditions = []string{
	"id = 3", "day = DATE '2024-01-01'", "day IS NULL", "flag = TRUE", "i8 = 127", "i16 < 0", "i32 >= 2147483647", "i64 <= -9223372036854775808",
	"f32 < -1e30", "f64 > 1e300", "f64 = 5e-324", "d5_2 = 999.99", "d18_4 < -0.0001", "d38_10 > 0", "name = ''",
	"name > 'z'", "raw IS NULL", "born = DATE '9999-12-31'", "born < DATE '1582-10-15'", "seen >= TIMESTAMP '9999-12-31 23:59:59.999999'",
	"seen < TIMESTAMP '1970-01-01 00:00:00'", "id IN (1, 2, 99) OR i32 IS NULL", "NOT (id > 2)",
}

// verb is a call that must commit one version.
type verb struct {
	name string
	call func(t *testing.T, w *world) (*idem.Result, error)
}

// verbs are all writing verbs, each with rows of its own that change the table of rows 1 to 9.
var verbs = []verb{
	{"append with txn", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.AppendWithTxn(t.Context(), wideRows("2024-01-04", 500, 504).reader(t, w.mem), idem.Txn{AppID: "verbs", Version: 1, VerifyPayload: true})
	}},
	{"append", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.Append(t.Context(), wideRows(nil, 510, 512).reader(t, w.mem), idem.Append{Reason: "duplicates are wanted here"})
	}},
	{"replace a partition", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.ReplaceWhere(t.Context(), wideRows("2024-01-02", 520, 526).reader(t, w.mem), idem.ReplaceWhere{Where: "day = ?", Args: []any{"2024-01-02"}})
	}},
	{"replace a slice of files", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.ReplaceWhere(t.Context(), wideRows("2024-01-01", 521, 523).reader(t, w.mem), idem.ReplaceWhere{Where: "id BETWEEN 521 AND 523"})
	}},
	{"merge", mergeWide},
	{"delete", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.Delete(t.Context(), idem.Delete{Where: "id IN (500, 502, 510, 522, 9999)"})
	}},
	{"replace all", func(t *testing.T, w *world) (*idem.Result, error) {
		rows := source{Schema: wide, Rows: append(wideRows("2024-01-01", 1, 9).Rows, wideRows(nil, 10, 12).Rows...)}
		return w.table.ReplaceAll(t.Context(), rows.reader(t, w.mem), idem.ReplaceAll{})
	}},
}

// mergeWide updates 525, deletes 521 and inserts 530.
func mergeWide(t *testing.T, w *world) (*idem.Result, error) {
	s := source{Schema: append(append([]column{}, wide...), column{"op", "string"})}
	for _, change := range []struct {
		id    int
		shape row
		op    string
	}{{525, shapes[1], "u"}, {521, shapes[0], "d"}, {530, shapes[3], "u"}} {
		s.Rows = append(s.Rows, append(append(row{change.id, "2024-01-02"}, change.shape...), change.op))
	}
	return w.table.Merge(t.Context(), s.reader(t, w.mem), idem.Merge{On: []string{"id"}, Unguarded: true, DeleteWhen: "op = 'd'"})
}

// apply calls a verb, which must commit.
func (w *world) apply(t *testing.T, v verb) {
	t.Helper()
	before := w.table.Version()
	res, err := v.call(t, w)
	require.NoError(t, err, v.name)
	require.Equal(t, idem.Committed, res.Outcome, "%s: %s", v.name, res)
	require.Greater(t, res.Version, before, v.name)
}

func (w *world) appendWide(t *testing.T, s source) {
	t.Helper()
	w.apply(t, verb{"append", func(t *testing.T, w *world) (*idem.Result, error) {
		return w.table.Append(t.Context(), s.reader(t, w.mem), idem.Append{Reason: "rows to start with"})
	}})
}

// name joins the parts of a case's name with spaces.
func name(parts ...any) string { return strings.TrimSuffix(fmt.Sprintln(parts...), "\n") }

package plan

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// contrast is how two sets of rows differ, column by column.
type contrast struct {
	old, new *picked
	schema   *delta.Struct

	columns []string // whose values, taken as a multiset, differ
	moved   string   // if none does: the one column whose values are on other rows; "" if it is not one
}

func newContrast(schema *delta.Struct, old, new *picked) (*contrast, error) {
	c := &contrast{old: old, new: new, schema: schema}
	for _, f := range schema.Fields {
		same, err := c.same(func(name string) bool { return name == f.Name })
		if err != nil {
			return nil, err
		}
		if !same {
			c.columns = append(c.columns, f.Name)
		}
	}
	if len(c.columns) > 0 {
		return c, nil
	}
	return c, c.findMoved()
}

// findMoved looks for the column whose values are on other rows. Of two, as of a key and a number,
// each has moved if the other is held still: a number is the one that follows the order of rows.
func (c *contrast) findMoved() error {
	best := -1
	for _, f := range c.schema.Fields {
		same, err := c.same(func(other string) bool { return other != f.Name })
		if err != nil {
			return err
		}
		if rank := c.numbers(f.Name); same && rank >= best {
			c.moved, best = f.Name, rank
		}
	}
	return nil
}

// numbers is 2 for a column of consecutive integers, 1 for another of integers, 0 for the rest.
func (c *contrast) numbers(column string) int {
	n, least, most := int64(0), int64(math.MaxInt64), int64(math.MinInt64)
	for _, col := range c.new.values(column) {
		for i := range col.Len() {
			v, ok := intValue(col, i)
			if !ok {
				return 0
			}
			n, least, most = n+1, min(least, v), max(most, v)
		}
	}
	if n > 0 && most-least == n-1 {
		return 2
	}
	return 1
}

// intValue is a value of an integer column; not ok for another column, and for NULL.
func intValue(col arrow.Array, i int) (v int64, ok bool) {
	if col.IsNull(i) {
		return 0, false
	}
	switch col := col.(type) {
	case *array.Int64:
		return col.Value(i), true
	case *array.Int32:
		return int64(col.Value(i)), true
	case *array.Int16:
		return int64(col.Value(i)), true
	case *array.Int8:
		return int64(col.Value(i)), true
	}
	return 0, false
}

// same says whether both sets hold the same values in some columns.
func (c *contrast) same(keep func(column string) bool) (bool, error) {
	x, err := c.old.digest(keep)
	if err != nil {
		return false, err
	}
	y, err := c.new.digest(keep)
	return x == y, err
}

// differing are the columns that tell the two sets apart.
func (c *contrast) differing() []string {
	if c.moved != "" {
		return []string{c.moved}
	}
	return c.columns
}

// pairs shows rows that are other versions of one row, "~ id=7: n=1 → 2", and counts them. There
// are none unless the columns that do not differ tell the rows apart.
func (c *contrast) pairs() (int64, []string, error) {
	differ := c.differing()
	kept := func(name string) bool { return !slices.Contains(differ, name) }
	if len(differ) == 0 || len(differ) == len(c.schema.Fields) {
		return 0, nil, nil
	}
	if same, err := c.same(kept); err != nil || !same {
		return 0, nil, err
	}
	key, unique, err := c.key(kept)
	if err != nil || !unique {
		return 0, nil, err
	}
	isKey := func(name string) bool { return slices.Contains(key, name) }
	from, err := c.old.digests(isKey)
	if err != nil {
		return 0, nil, err
	}
	to, err := c.new.digests(isKey)
	if err != nil {
		return 0, nil, err
	}
	place := map[rows.Digest]int{}
	for i, d := range to {
		place[d] = i
	}
	var shown []string
	for i := range from[:min(len(from), diffSamples)] {
		was, x := c.old.at(i)
		is, y := c.new.at(place[from[i]])
		shown = append(shown, changed+describe(was, key, x)+": "+changes(differ, was, x, is, y))
	}
	return int64(len(from)), shown, nil
}

// changes is what two rows have in columns that differ, "n=1 → 2, at=NULL → 2013-01-02".
func changes(columns []string, was arrow.RecordBatch, x int, is arrow.RecordBatch, y int) string {
	var out []string
	for _, name := range columns {
		a, b := describe(was, []string{name}, x), describe(is, []string{name}, y)
		if a != b {
			out = append(out, a+" → "+strings.TrimPrefix(b, name+"="))
		}
	}
	return strings.Join(out, ", ")
}

// key gives as few of the kept columns as tell the rows apart, trying to do without the last first.
func (c *contrast) key(kept func(string) bool) (key []string, unique bool, err error) {
	for _, f := range c.schema.Fields {
		if kept(f.Name) {
			key = append(key, f.Name)
		}
	}
	if unique, err = distinct(c.old, key); err != nil || !unique {
		return nil, false, err
	}
	for i := len(key) - 1; i >= 0 && len(key) > 1; i-- {
		fewer := slices.Delete(slices.Clone(key), i, i+1)
		enough, err := distinct(c.old, fewer)
		if err != nil {
			return nil, false, err
		}
		if enough {
			key = fewer
		}
	}
	return key, true, nil
}

// distinct says whether no two rows agree in the columns.
func distinct(b *picked, columns []string) (bool, error) {
	digests, err := b.digests(func(name string) bool { return slices.Contains(columns, name) })
	seen := make(map[rows.Digest]struct{}, len(digests))
	for _, d := range digests {
		seen[d] = struct{}{}
	}
	return len(seen) == len(digests), err
}

// closeEnough is how much two float sums of the same values in another order may differ, as a
// fraction. It is far more than rounding does and far less than another value.
const closeEnough = 1e-6

// rounded says whether the column holds floats that differ in their last digits only.
func (c *contrast) rounded(column string) bool {
	a, b := floats(c.old.values(column)), floats(c.new.values(column))
	if len(a) == 0 || len(a) != len(b) {
		return false
	}
	slices.Sort(a)
	slices.Sort(b)
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= closeEnough*max(math.Abs(a[i]), math.Abs(b[i]))) {
			return false
		}
	}
	return true
}

// floats gives the values of float columns that are not NULL; nil for any other column.
func floats(columns []arrow.Array) []float64 {
	var out []float64
	for _, col := range columns {
		for i := range col.Len() {
			switch col := col.(type) {
			case *array.Float64:
				if col.IsValid(i) {
					out = append(out, col.Value(i))
				}
			case *array.Float32:
				if col.IsValid(i) {
					out = append(out, float64(col.Value(i)))
				}
			default:
				return nil
			}
		}
	}
	return out
}

// timed says whether a column is of a type for times.
func (c *contrast) timed(column string) bool {
	switch c.schema.Fields[c.schema.Index(column)].Type {
	case delta.Timestamp, delta.TimestampNTZ, delta.Date:
		return true
	}
	return false
}

// clocked says whether every value that a column has in the new rows is a time at which one of the
// runs went on: as a timestamp, a date, a number since 1970 in seconds or finer, or text.
func (c *contrast) clocked(column string, runs []Run) bool {
	seen := 0
	for _, col := range c.new.values(column) {
		for i := range col.Len() {
			if col.IsNull(i) {
				continue
			}
			seen++
			if !slices.ContainsFunc(runs, func(r Run) bool { return slices.ContainsFunc(r.Spans, func(s Span) bool { return s.holds(col, i) }) }) {
				return false
			}
		}
	}
	return seen > 0
}

// slack is how far a value may lie outside of a run: formats cut digits.
const slack = time.Second

// holds says whether a value is a time within the span.
func (s Span) holds(col arrow.Array, i int) bool {
	switch col := col.(type) {
	case *array.Timestamp:
		return s.contains(col.Value(i).ToTime(arrow.Microsecond))
	case *array.Date32:
		return s.day(col.Value(i).FormattedString())
	case *array.String:
		return s.text(col.Value(i))
	}
	v, ok := intValue(col, i)
	return ok && s.number(v)
}

func (s Span) contains(t time.Time) bool {
	return !t.Before(s.From.Add(-slack)) && !t.After(s.To.Add(slack))
}

// day says whether a date was today during the span, here or in UTC.
func (s Span) day(date string) bool {
	for _, layout := range []string{time.DateOnly, "2006/01/02", "20060102"} {
		for _, t := range []time.Time{s.From, s.To} {
			if date == t.UTC().Format(layout) || date == t.Local().Format(layout) {
				return true
			}
		}
	}
	return false
}

func (s Span) number(v int64) bool {
	if s.day(strconv.FormatInt(v, 10)) {
		return true
	}
	for _, t := range []func(int64) time.Time{
		func(v int64) time.Time { return time.Unix(v, 0) }, time.UnixMilli, time.UnixMicro,
		func(v int64) time.Time { return time.Unix(0, v) },
	} {
		if s.contains(t(v)) {
			return true
		}
	}
	return false
}

func (s Span) text(v string) bool {
	if s.day(v) {
		return true
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05.999999999", time.RFC1123, time.UnixDate} {
		for _, zone := range []*time.Location{time.UTC, time.Local} {
			if t, err := time.ParseInLocation(layout, v, zone); err == nil && s.contains(t) {
				return true
			}
		}
	}
	return false
}

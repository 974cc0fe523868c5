package metamorphic_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

// column is a column of the model: its key stays when its name changes.
type column struct {
	key  int
	name string
	typ  arrow.DataType
}

func columnsText(columns []column) string {
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%d %s %s, ", c.key, c.name, c.typ)
	}
	return b.String()
}

// Keys of the columns that every table begins with.
const (
	colDay = iota
	colID
	colSeq
	colV
	colN
	colAmount
	colScore
	colAt
	colRaw
	colPlace
	colWords
	colGone
	colFirst // the first that is added later
)

var firstColumns = []column{
	{colDay, "day", arrow.BinaryTypes.String}, {colID, "id", arrow.PrimitiveTypes.Int64}, {colSeq, "seq", arrow.PrimitiveTypes.Int64},
	{colV, "v", arrow.BinaryTypes.String}, {colN, "n", arrow.PrimitiveTypes.Int32}, {colAmount, "amount", &arrow.Decimal128Type{Precision: 12, Scale: 2}},
	{colScore, "score", arrow.PrimitiveTypes.Float64}, {colAt, "at", timestamps}, {colRaw, "raw", arrow.BinaryTypes.Binary},
	{colPlace, "place", place}, {colWords, "words", words}, {colGone, "gone", arrow.FixedWidthTypes.Boolean},
}

// row is a row of the model, which nobody changes: an update makes another of the same uid.
type row struct {
	uid   int
	op    int // the operation that last changed it
	cells map[int]any
}

func (r *row) with(op int, set map[int]any) *row {
	out := &row{uid: r.uid, op: op, cells: maps.Clone(r.cells)}
	maps.Copy(out.cells, set)
	return out
}

// rowText is a row as text, by columns: equal rows have one text.
func rowText(columns []column, cells map[int]any) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString(" ")
		}
		writeCell(&b, cells[c.key])
	}
	return b.String()
}

func texts(columns []column, rows []*row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = rowText(columns, r.cells)
	}
	slices.Sort(out)
	return out
}

// tag is what a table knows of an app id.
type tag struct {
	tabletest.Tag
	payload string   // the fingerprint of the rows that were recorded with it, "" if it is unknown
	kept    bool     // records of payloads are kept
	columns []column // that the table had when it was recorded
}

var noTag = tag{Tag: tabletest.NoTag}

// state is what a table should hold after an operation.
type state struct {
	columns     []column
	rows        []*row
	tags        map[string]tag
	partitioned bool
	mapped      bool // columns can be renamed and dropped
	widening    bool // columns can be given wider types
	at          time.Time

	ops, uids, keys int
}

func (s *state) clone() *state {
	out := *s
	out.columns, out.rows, out.tags = slices.Clone(s.columns), slices.Clone(s.rows), maps.Clone(s.tags)
	return &out
}

func (s *state) column(key int) (column, bool) {
	i := slices.IndexFunc(s.columns, func(c column) bool { return c.key == key })
	if i < 0 {
		return column{}, false
	}
	return s.columns[i], true
}

// sql is a column's name in conditions.
func (s *state) sql(key int) string {
	c, ok := s.column(key)
	if !ok {
		panic(fmt.Sprintf("no column %d", key))
	}
	return "`" + c.name + "`"
}

func (s *state) has(key int) bool { _, ok := s.column(key); return ok }

// name is the name of a column that every table has.
func (s *state) name(key int) string { return strings.Trim(s.sql(key), "`") }

// tally counts rows as a result does.
type tally struct {
	read, inserted, updated, deleted, updatedBySource, deletedBySource int64
	identical, older, matched, skippedOlder, ties, unmatched           int64
}

func tallyOf(r *idem.Result) tally {
	return tally{
		read: r.RowsRead, inserted: r.Inserted, updated: r.Updated, deleted: r.Deleted, updatedBySource: r.UpdatedBySource, deletedBySource: r.DeletedBySource,
		identical: r.Identical, older: r.Older, matched: r.Matched, skippedOlder: r.SkippedOlder, ties: r.Ties, unmatched: r.UnmatchedDeletes,
	}
}

func (t tally) plus(u tally) tally {
	return tally{
		t.read + u.read, t.inserted + u.inserted, t.updated + u.updated, t.deleted + u.deleted, t.updatedBySource + u.updatedBySource, t.deletedBySource + u.deletedBySource,
		t.identical + u.identical, t.older + u.older, t.matched + u.matched, t.skippedOlder + u.skippedOlder, t.ties + u.ties, t.unmatched + u.unmatched,
	}
}

// answer is how a call ends.
type answer struct {
	outcome idem.Outcome
	err     error // the sentinel
	tally   tally
	unknown bool // by the model: the rows of a repeat may be compared or not
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%s %+v", a.outcome, a.tally)
}

func refused(err error) answer { return answer{err: err} }

// settle makes rows those of the table, if anything changes.
func (s *state) settle(next []*row, changed bool, t tally) answer {
	if !changed {
		return answer{outcome: idem.Unchanged, tally: t}
	}
	s.rows = next
	return answer{outcome: idem.Committed, tally: t}
}

// tagged is a call with a tag: what do does, unless the tag is recorded.
func (s *state) tagged(txn idem.Txn, payload func() string, do func() answer) answer {
	if txn == (idem.Txn{}) {
		return do()
	}
	was, known := s.tags[txn.AppID]
	if !known {
		was = noTag
	}
	if was.Recorded >= txn.Version && !(txn.Reapply && was.Missing(txn.Version)) {
		switch {
		case was.Missing(txn.Version):
			return refused(idem.ErrRestored)
		case was.Recorded > txn.Version && was.Again != txn.Version:
			return answer{outcome: idem.Superseded}
		case was.Again != txn.Version && txn.VerifyPayload && was.payload != "" && was.payload != payload():
			a := refused(idem.ErrPayload)
			a.unknown = !s.hasAll(was.columns)
			return a
		}
		return answer{outcome: idem.AlreadyApplied}
	}
	a := do()
	if a.err != nil {
		return a
	}
	a.outcome = idem.Committed
	now := was
	if now.Tag = was.Written(txn.Version); now.Recorded == txn.Version {
		now.payload = ""
		if now.kept = was.kept || txn.VerifyPayload; now.kept {
			now.payload, now.columns = payload(), slices.Clone(s.columns)
		}
	}
	s.tags[txn.AppID] = now
	return a
}

// hasAll says whether the table has columns as they were: by their names, with their types.
func (s *state) hasAll(columns []column) bool {
	return !slices.ContainsFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(s.columns, func(o column) bool { return o.key == c.key && o.name == c.name && arrow.TypeEqual(o.typ, c.typ) })
	})
}

// input is rows on their way into a table.
type input struct {
	columns []column
	rows    []map[int]any // by key of the column
	added   int           // the key of a column that the table lacks, 0 if it has all
}

// taken are rows as the table has them: an empty string that partitions is NULL.
func (s *state) taken(in input) []*row {
	var out []*row
	for _, cells := range in.rows {
		cells = maps.Clone(cells)
		if s.partitioned && cells[colDay] == "" {
			cells[colDay] = nil
		}
		s.uids++
		out = append(out, &row{uid: s.uids, op: s.ops, cells: cells})
	}
	return out
}

// evolve adds the columns that rows have and the table lacks.
func (s *state) evolve(in input) (added bool) {
	for _, c := range in.columns {
		if !s.has(c.key) {
			s.columns = append(s.columns, c)
			added = true
		}
	}
	return added
}

func (s *state) payload(in input) func() string {
	return func() string { return twin(s.columns, s.clone().taken(in)) }
}

// parted splits rows by a condition.
func (s *state) parted(in func(*row) bool) (inside, outside []*row) {
	for _, r := range s.rows {
		if in(r) {
			inside = append(inside, r)
		} else {
			outside = append(outside, r)
		}
	}
	return inside, outside
}

// replace makes a slice equal to rows.
func (s *state) replace(in func(*row) bool, given []*row, added bool) answer {
	old, rest := s.parted(in)
	t := tally{read: int64(len(given))}
	if !added && slices.Equal(texts(s.columns, old), texts(s.columns, given)) {
		return s.settle(nil, false, t)
	}
	t.inserted, t.deleted = int64(len(given)), int64(len(old))
	return s.settle(append(rest, given...), true, t)
}

// truth is TRUE, FALSE or NULL.
type truth int

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// condition is a condition as text and as Go.
type condition struct {
	text  string
	holds func(cells map[int]any) truth
}

func (c condition) is(r *row) bool { return c.holds(r.cells) == yes }

// compareCells orders cells that are not NULL: NaN is the greatest, and -0.0 is 0.0.
func compareCells(a, b any) int {
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case blob:
		return bytes.Compare([]byte(a), []byte(b.(blob)))
	case int64:
		return cmp.Compare(a, b.(int64))
	case money:
		return cmp.Compare(a, b.(money))
	case micros:
		return cmp.Compare(a, b.(micros))
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[a], map[bool]int{true: 1}[b.(bool)])
	case float64:
		b := b.(float64)
		if a != a || b != b {
			return cmp.Compare(map[bool]int{true: 1}[a != a], map[bool]int{true: 1}[b != b])
		}
		return cmp.Compare(a, b)
	}
	panic(fmt.Sprintf("no order of %T", a))
}

// differences says what got has that want lacks (+) and the other way round (-). Both are sorted.
func differences(want, got []string) string {
	counts := map[string]int{}
	for _, t := range want {
		counts[t]--
	}
	for _, t := range got {
		counts[t]++
	}
	var lines []string
	for _, t := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[t]; n != 0 {
			lines = append(lines, fmt.Sprintf("%+d %s", n, t))
		}
	}
	return strings.Join(lines, "\n")
}

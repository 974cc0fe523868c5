package idem_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	feeds "github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
)

// The model of a merge with clauses: SQL's MERGE by our rules, written as plainly as it can be over
// rows of orders. absent is NULL in a column of text, -1 in one of numbers.

const absent = "NULL"

// truth3 is TRUE, FALSE or NULL.
type truth3 int

const (
	isFalse truth3 = iota
	isTrue
	isNull
)

func truthOf(b bool) truth3 {
	if b {
		return isTrue
	}
	return isFalse
}

// modelCondition is a condition as text and as Go.
type modelCondition struct {
	text  string
	holds func(s, t *order) truth3
}

// modelValue is a value of v as text and as Go.
type modelValue struct {
	text string
	of   func(s, t *order) string
}

func textIs(v, want string) truth3 {
	if v == absent {
		return isNull
	}
	return truthOf(v == want)
}

func above(n, limit int64) truth3 {
	if n < 0 {
		return isNull
	}
	return truthOf(n > limit)
}

// always is the condition that is left out.
var always = modelCondition{"", func(_, _ *order) truth3 { return isTrue }}

var (
	ofSource = []modelCondition{
		{"source.v = 'a'", func(s, _ *order) truth3 { return textIs(s.v, "a") }},
		{"source.seq > 1", func(s, _ *order) truth3 { return above(s.seq, 1) }},
		{"source.v IS NULL", func(s, _ *order) truth3 { return truthOf(s.v == absent) }},
	}
	ofTarget = []modelCondition{
		{"target.v = 'a'", func(_, t *order) truth3 { return textIs(t.v, "a") }},
		{"target.v <> 'b'", func(_, t *order) truth3 {
			if t.v == absent {
				return isNull
			}
			return truthOf(t.v != "b")
		}},
		{"target.seq > 2", func(_, t *order) truth3 { return above(t.seq, 2) }},
		{"target.day = 'd1'", func(_, t *order) truth3 { return textIs(t.day, "d1") }},
	}
	ofBoth = []modelCondition{
		{"source.v = target.v", func(s, t *order) truth3 {
			if s.v == absent || t.v == absent {
				return isNull
			}
			return truthOf(s.v == t.v)
		}},
		{"NOT source.seq > target.seq", func(s, t *order) truth3 {
			if s.seq < 0 || t.seq < 0 {
				return isNull
			}
			return truthOf(s.seq <= t.seq)
		}},
	}
	sourceValues = []modelValue{
		{"'a'", func(_, _ *order) string { return "a" }},
		{"NULL", func(_, _ *order) string { return absent }},
		{"CASE WHEN source.v = 'a' THEN 'c' ELSE source.v END", func(s, _ *order) string {
			return map[string]string{"a": "c"}[s.v] + map[bool]string{true: s.v}[s.v != "a"]
		}},
	}
	targetValues = []modelValue{
		{"'b'", func(_, _ *order) string { return "b" }},
		{"CASE target.v WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE target.v END", func(_, t *order) string {
			if next, ok := map[string]string{"a": "b", "b": "c"}[t.v]; ok {
				return next
			}
			return t.v
		}},
	}
	bothValues = []modelValue{
		{"coalesce(target.v, source.v)", func(s, t *order) string {
			if t.v != absent {
				return t.v
			}
			return s.v
		}},
	}
)

// modelClause is a clause of the model: what it copies, and what it makes of v.
type modelClause struct {
	when    modelCondition
	do      idem.Action
	columns []string // nil: every column
	v       *modelValue
	day     *string
}

func (c *modelClause) clause() idem.Clause {
	out := idem.Clause{When: c.when.text, Do: c.do, Columns: c.columns, Set: map[string]string{}}
	if c.v != nil {
		out.Set["v"] = c.v.text
	}
	if c.day != nil {
		out.Set["day"] = "'" + *c.day + "'"
	}
	return out
}

func clausesOf(list []modelClause) []idem.Clause {
	if list == nil {
		return nil
	}
	out := make([]idem.Clause, len(list))
	for i := range list {
		out[i] = list[i].clause()
	}
	return out
}

// first is the clause that applies, nil if none does.
func first(list []modelClause, s, t *order) *modelClause {
	for i := range list {
		if list[i].when.holds(s, t) == isTrue {
			return &list[i]
		}
	}
	return nil
}

// set gives a row after a clause; was is the row of the table, or a row of NULLs.
func (c *modelClause) set(s *order, was order, t *order) order {
	out := was
	has := func(name string) bool {
		return c.columns == nil && c.v == nil && c.day == nil || slices.Contains(c.columns, name)
	}
	if s != nil {
		if has("day") {
			out.day = s.day
		}
		if has("seq") {
			out.seq = s.seq
		}
		if has("v") {
			out.v = s.v
		}
	}
	if c.v != nil {
		out.v = c.v.of(s, t)
	}
	if c.day != nil {
		out.day = *c.day
	}
	if out.day == "" {
		out.day = absent // a partition value
	}
	return out
}

// modelMerge is a merge of the model.
type modelMerge struct {
	guarded                       bool
	matched, unmatched, bySource  []modelClause
	duplicates                    bool // AllowTargetDuplicates
	nulls                         bool // MatchNulls
	inserted, updated, deleted    int64
	matches, older, ties, differs int64
	updatedBySource, goneBySource int64
	refused                       string
	feed                          []string // what really changes, as the change data feed tells it
}

// tell adds a change to the feed, an update if it has two rows.
func (m *modelMerge) tell(change string, list ...order) {
	if len(list) == 2 {
		m.tell("update_preimage", list[0])
		m.tell("update_postimage", list[1])
		return
	}
	m.feed = append(m.feed, change+" "+written(list)[0])
}

// run gives the table after the merge, and counts.
func (m *modelMerge) run(table, source []order) []order {
	*m = modelMerge{guarded: m.guarded, matched: m.matched, unmatched: m.unmatched, bySource: m.bySource, duplicates: m.duplicates, nulls: m.nulls}
	byKey := map[int64]*order{}
	for i := range source {
		if have := byKey[source[i].id]; have == nil || source[i].seq > have.seq {
			byKey[source[i].id] = &source[i]
		}
	}
	seen := map[int64]int{}
	var out []order
	for _, t := range table {
		s := byKey[t.id]
		if t.id < 0 && !m.nulls || s == nil {
			out = m.others(out, t)
			continue
		}
		if seen[t.id]++; seen[t.id] > 1 && !m.duplicates && m.touches() {
			m.refused = "duplicate"
		}
		out = m.meets(out, s, t)
	}
	for id, s := range byKey {
		if seen[id] > 0 {
			continue
		}
		if c := first(m.unmatched, s, nil); c != nil && c.do == idem.DoSet {
			row := c.set(s, order{absent, s.id, -1, absent}, nil)
			out = append(out, row)
			m.inserted++
			m.tell("insert", row)
		}
	}
	return out
}

// touches says whether a matched row may change.
func (m *modelMerge) touches() bool {
	return slices.ContainsFunc(m.matched, func(c modelClause) bool { return c.do != idem.DoNothing })
}

func (m *modelMerge) meets(out []order, s *order, t order) []order {
	m.matches++
	if m.guarded && m.touches() {
		switch {
		case s.seq < t.seq:
			m.older++
			return append(out, t)
		case s.seq == t.seq:
			m.ties++
			if c := first(m.matched, s, &t); c != nil && (c.do == idem.DoDelete || c.do == idem.DoSet && c.set(s, t, &t) != t) {
				m.differs++
			}
			return append(out, t)
		}
	}
	c := first(m.matched, s, &t)
	switch {
	case c == nil || c.do == idem.DoNothing:
		return append(out, t)
	case c.do == idem.DoDelete:
		m.deleted++
		m.tell("delete", t)
		return out
	}
	next := c.set(s, t, &t)
	if next != t {
		m.updated++
		m.tell("update", t, next)
	}
	return append(out, next)
}

func (m *modelMerge) others(out []order, t order) []order {
	c := first(m.bySource, nil, &t)
	switch {
	case c == nil || c.do == idem.DoNothing:
		return append(out, t)
	case c.do == idem.DoDelete:
		m.deleted++
		m.goneBySource++
		m.tell("delete", t)
		return out
	}
	next := c.set(nil, t, &t)
	if next != t {
		m.updated++
		m.updatedBySource++
		m.tell("update", t, next)
	}
	return append(out, next)
}

func (m *modelMerge) changed() bool { return m.inserted+m.updated+m.deleted > 0 }

// drawClauses draws a list of clauses; nil at times.
func drawClauses(t *rapid.T, name string, conditions []modelCondition, one func(t *rapid.T) modelClause) []modelClause {
	n := rapid.IntRange(-1, 3).Draw(t, name)
	if n < 0 {
		return nil
	}
	list := make([]modelClause, n)
	for i := range list {
		list[i] = one(t)
		list[i].when = rapid.SampledFrom(conditions).Draw(t, "when")
		if i == n-1 && rapid.Bool().Draw(t, "always") {
			list[i].when = always
		}
	}
	return list
}

func drawMerge(t *rapid.T) *modelMerge {
	m := &modelMerge{guarded: rapid.Bool().Draw(t, "guarded"), duplicates: rapid.Bool().Draw(t, "AllowTargetDuplicates"), nulls: rapid.Bool().Draw(t, "MatchNulls")}
	both := slices.Concat(ofSource, ofTarget, ofBoth)
	m.matched = drawClauses(t, "matched", both, func(t *rapid.T) modelClause {
		c := modelClause{do: rapid.SampledFrom([]idem.Action{idem.DoSet, idem.DoSet, idem.DoDelete, idem.DoNothing}).Draw(t, "do")}
		if c.do == idem.DoSet && rapid.Bool().Draw(t, "value") {
			c.v = ptr(rapid.SampledFrom(slices.Concat(sourceValues, targetValues, bothValues)).Draw(t, "v"))
			c.columns = rapid.SampledFrom([][]string{{"seq"}, {"seq", "day"}, {"seq", "id"}}).Draw(t, "columns")
		}
		return c
	})
	m.unmatched = drawClauses(t, "not matched", ofSource, func(t *rapid.T) modelClause {
		c := modelClause{do: rapid.SampledFrom([]idem.Action{idem.DoSet, idem.DoSet, idem.DoNothing}).Draw(t, "do")}
		if c.do == idem.DoSet && rapid.Bool().Draw(t, "value") {
			c.v = ptr(rapid.SampledFrom(sourceValues).Draw(t, "v"))
			c.columns = rapid.SampledFrom([][]string{{"id", "seq"}, {"seq", "id", "day"}}).Draw(t, "columns")
		}
		return c
	})
	m.bySource = drawClauses(t, "by source", ofTarget, func(t *rapid.T) modelClause {
		c := modelClause{do: rapid.SampledFrom([]idem.Action{idem.DoSet, idem.DoDelete, idem.DoNothing}).Draw(t, "do")}
		if c.do == idem.DoSet {
			c.v = ptr(rapid.SampledFrom(targetValues).Draw(t, "v"))
			if rapid.Bool().Draw(t, "moves") {
				c.day = ptr(rapid.SampledFrom([]string{"d3", ""}).Draw(t, "day"))
			}
		}
		return c
	})
	return m
}

func ptr[T any](v T) *T { return &v }

// defaults are the clauses that nil stands for.
func (m *modelMerge) defaults() *modelMerge {
	out := *m
	every := []modelClause{{when: always}}
	if out.matched == nil {
		out.matched = every
	}
	if out.unmatched == nil {
		out.unmatched = every
	}
	return &out
}

// modelReader gives rows with NULLs.
func modelReader(list []order) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, orders)
	defer b.Release()
	text := func(c int, v string) {
		if v == absent {
			b.Field(c).AppendNull()
		} else {
			b.Field(c).(*array.StringBuilder).Append(v)
		}
	}
	number := func(c int, v int64) {
		if v < 0 {
			b.Field(c).AppendNull()
		} else {
			b.Field(c).(*array.Int64Builder).Append(v)
		}
	}
	for _, o := range list {
		text(0, o.day)
		number(1, o.id)
		number(2, o.seq)
		text(3, o.v)
	}
	batch := b.NewRecordBatch()
	var batches []arrow.RecordBatch
	for from := int64(0); from < batch.NumRows(); from += 4 {
		batches = append(batches, batch.NewSlice(from, min(from+4, batch.NumRows())))
	}
	r, err := array.NewRecordReader(orders, batches)
	if err != nil {
		panic(err)
	}
	return r
}

func drawRows(t *rapid.T, name string, most int, id, seq int64) []order {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) order {
		return order{
			day: rapid.SampledFrom([]string{"d1", "d2", absent}).Draw(t, "day"),
			id:  rapid.Int64Range(id, 7).Draw(t, "id"), seq: rapid.Int64Range(seq, 4).Draw(t, "seq"),
			v: rapid.SampledFrom([]string{"a", "b", "c", absent}).Draw(t, "v"),
		}
	}), 0, most).Draw(t, name)
}

// unique keeps one row of each id, or of each id and seq.
func unique(list []order, bySeq bool) []order {
	seen := map[[2]int64]bool{}
	return slices.DeleteFunc(list, func(o order) bool {
		k := [2]int64{o.id, 0}
		if bySeq {
			k[1] = o.seq
		}
		was := seen[k]
		seen[k] = true
		return was
	})
}

func written(list []order) []string {
	out := []string{}
	for _, o := range list {
		n := func(v int64) string {
			if v < 0 {
				return absent
			}
			return fmt.Sprint(v)
		}
		out = append(out, o.day+"/"+n(o.id)+"/"+n(o.seq)+"/"+o.v)
	}
	return out
}

// drawProperties draws what a table asks of its writers.
func drawProperties(t *rapid.T) map[string]string {
	out := map[string]string{}
	for _, key := range []string{"delta.enableDeletionVectors", "delta.enableChangeDataFeed", "delta.enableRowTracking", "delta.enableInCommitTimestamps"} {
		if rapid.Bool().Draw(t, key) {
			out[key] = "true"
		}
	}
	if mode := rapid.SampledFrom([]string{"", "name", "id"}).Draw(t, "mapping"); mode != "" {
		out["delta.columnMapping.mode"] = mode
	}
	return out
}

// fed is the change data feed of a version.
func fed(t *testing.T, table *idem.Table, version int64) []string {
	t.Helper()
	out := []string{}
	for batch, err := range feeds.Rows(t.Context(), table, feeds.Request{From: feeds.Version(version), To: feeds.Version(version)}) {
		require.NoError(t, err)
		text := func(c, i int) string {
			if batch.Column(c).IsNull(i) {
				return absent
			}
			return batch.Column(c).ValueStr(i)
		}
		for i := range int(batch.NumRows()) {
			out = append(out, text(4, i)+" "+text(0, i)+"/"+text(1, i)+"/"+text(2, i)+"/"+text(3, i))
		}
	}
	return out
}

// TestClausesAgainstTheModel merges by drawn clauses, and compares rows, counts, refusals and the
// second call with the model.
func TestClausesAgainstTheModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		m := drawMerge(rt)
		request := idem.Merge{
			On: []string{"id"}, Unguarded: !m.guarded, AllowTargetDuplicates: m.duplicates, AllowEmpty: true,
			Matched: clausesOf(m.matched), NotMatched: clausesOf(m.unmatched), NotMatchedBySource: clausesOf(m.bySource),
		}
		if m.guarded {
			request.Newer = []string{"seq"}
			request.CompareTies = rapid.Bool().Draw(rt, "CompareTies")
		}
		if m.nulls {
			request.NullKeys = idem.MatchNulls
		}
		source := unique(drawRows(rt, "source", 20, map[bool]int64{true: -1}[m.nulls], 0), m.guarded)
		mem, properties := store.NewMem(), drawProperties(rt)
		table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders, PartitionBy: []string{"day"}, Properties: properties}, idem.Options{
			Parallelism: rapid.IntRange(1, 3).Draw(rt, "Parallelism"), MemoryBytes: rapid.SampledFrom([]int64{0, 1}).Draw(rt, "MemoryBytes"), TempDir: dir,
		})
		require.NoError(rt, err)
		var before []order
		for range rapid.IntRange(0, 3).Draw(rt, "files") {
			part := drawRows(rt, "rows", 8, -1, -1)
			before = append(before, part...)
			_, err := table.Append(t.Context(), modelReader(part), idem.Append{Reason: "test"})
			require.NoError(rt, err)
		}
		model := m.defaults()
		after := model.run(before, source)
		again := *model
		again.run(after, source)

		res, err := table.Merge(t.Context(), modelReader(source), request)
		switch {
		case model.refused != "":
			require.ErrorIs(rt, err, idem.ErrInput)
			if !again.changed() {
				require.ErrorContains(rt, err, "more than one row with the key")
			}
			return
		case again.changed():
			require.ErrorContains(rt, err, "second call")
			request.Txn = idem.Txn{AppID: "model", Version: 1}
			res, err = table.Merge(t.Context(), modelReader(source), request)
		}
		require.NoError(rt, err)
		require.ElementsMatch(rt, written(after), scanned(t, table))
		require.Equal(rt, []int64{model.inserted, model.updated, model.deleted, model.matches, model.older, model.ties, model.updatedBySource, model.goneBySource},
			[]int64{res.Inserted, res.Updated, res.Deleted, res.Matched, res.SkippedOlder, res.Ties, res.UpdatedBySource, res.DeletedBySource})
		if request.CompareTies {
			require.Equal(rt, model.differs, res.TiesDiffering)
		}
		require.Equal(rt, model.changed() || request.Txn.AppID != "", res.Outcome == idem.Committed)
		if properties["delta.enableChangeDataFeed"] != "" && res.Outcome == idem.Committed {
			require.ElementsMatch(rt, model.feed, fed(t, table, res.Version))
		}

		res, err = table.Merge(t.Context(), modelReader(source), request)
		require.NoError(rt, err)
		require.NotEqual(rt, idem.Committed, res.Outcome)
		require.ElementsMatch(rt, written(after), scanned(t, table))
		checkLog(t, mem)
	})
}

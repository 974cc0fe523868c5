package interop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/conformance"
	"github.com/idemtable/idem/internal/logcheck"
)

// history is a table whose rows, columns and properties change, and what it must hold.
type history struct {
	t     *testing.T
	mem   memory.Allocator
	seed  uint64
	steps int
	skip  map[int]bool
	plain bool // delta-rs writes to it, too: no feature that it does not know

	path  string
	table *idem.Table
	state *tale
	was   map[int64]*tale // by version
	seen  int64           // Spark has read the versions below
	floor int64           // the oldest version of which all files are there
	next  int             // a key that was never used
	keys  int             // a key of a column that was never used

	step int
	r    *rand.Rand
	who  engine
	deed *deed

	turns   map[engine]int
	told    []string // what happened
	err     error    // what went wrong first, of who's turn
	last    int      // the step of it
	omitted int      // the step that this history has less than the failed one
}

func newHistory(t *testing.T, mem memory.Allocator, seed uint64, skip map[int]bool) *history {
	r := rand.New(rand.NewPCG(seed, 1<<32))
	return &history{
		t: t, mem: mem, seed: seed, skip: skip, steps: atLeast + r.IntN(11), plain: r.IntN(4) == 0, path: filepath.Join(t.TempDir(), "t"),
		state: &tale{columns: taleColumns, rows: map[int]map[int]any{}, constraints: map[string]int{}},
		was:   map[int64]*tale{}, next: 1, keys: taleFirst, turns: map[engine]int{},
	}
}

// sql is the table's name in statements.
func (h *history) sql() string { return "delta." + ticked(h.path) }

// draw draws what happens at a step, and by whom.
func (h *history) draw(step int) {
	h.step, h.r, h.deed = step, rand.New(rand.NewPCG(h.seed, uint64(step))), nil
	if step == 0 {
		if h.who = pick(h.r, ours, spark); theRun.server == nil {
			h.who = ours
		}
		h.deed = h.creation()
		h.tell("create", h.deed)
		return
	}
	h.who = h.drawEngine()
	var lots []turn
	for _, u := range turns() {
		lots = append(lots, slices.Repeat([]turn{u}, u.weight)...)
	}
	for range 30 {
		u := pick(h.r, lots...)
		if u.cuts && h.is("delta.appendOnly") == "true" {
			continue
		}
		if d := u.plan(h); d != nil && d.by(h.who) {
			h.deed = d
			h.tell(u.name, d)
			return
		}
	}
}

func (h *history) tell(name string, d *deed) {
	h.turns[h.who]++
	h.told = append(h.told, fmt.Sprintf("%d %s: %s: %s", h.step, h.who, name, d.told))
}

// by says whether an engine can do it.
func (d *deed) by(who engine) bool {
	return who == ours && d.idem != nil || who == spark && d.sql != nil || who == deltaRS && d.deltaRS != nil
}

func (h *history) drawEngine() engine {
	n := h.r.IntN(20)
	known := func(feature string) bool { return slices.Contains([]string{"appendOnly", "invariants"}, feature) }
	switch {
	case n < 10 || theRun.server == nil:
		return ours
	case h.plain && n < 16 && !slices.ContainsFunc(h.table.Snapshot().Protocol().Features(), func(f string) bool { return !known(f) }):
		return deltaRS
	}
	return spark
}

// creation makes the table, with some properties.
func (h *history) creation() *deed {
	properties := map[string]string{}
	for _, p := range switches[h.plain] {
		if p != "delta.appendOnly" && (h.plain && h.r.IntN(6) == 0 || !h.plain && h.r.IntN(2) == 0) {
			properties[p] = "true"
		}
	}
	if !h.plain && h.r.IntN(2) == 0 {
		properties["delta.columnMapping.mode"] = pick(h.r, "name", "name", "id")
	}
	d := idem.Definition{Schema: source{Schema: h.state.schema()}.schema(h.t), Properties: properties}
	var layout string
	switch n := h.r.IntN(6); {
	case n < 4:
		d.PartitionBy, layout = []string{"day"}, " PARTITIONED BY (day)"
	case n == 4 && !h.plain:
		d.ClusterBy, layout = []string{"id"}, " CLUSTER BY (id)"
	}
	var columns, settings []string
	for _, c := range h.state.columns {
		columns = append(columns, c.name+" "+sqlType(c.typ))
	}
	for _, p := range slices.Sorted(maps.Keys(properties)) {
		settings = append(settings, fmt.Sprintf("'%s' = '%s'", p, properties[p]))
	}
	sql := fmt.Sprintf("CREATE TABLE %s (%s) USING delta%s", h.sql(), strings.Join(columns, ", "), layout)
	if len(settings) > 0 {
		sql += " TBLPROPERTIES (" + strings.Join(settings, ", ") + ")"
	}
	return &deed{told: layout + " " + strings.Join(settings, ", "), sql: []string{sql}, next: h.state,
		idem: func(ctx context.Context) (idem.Outcome, error) {
			table, res, err := idem.Create(ctx, "file://"+h.path, d, idem.Options{Allocator: h.mem})
			if err != nil {
				return 0, err
			}
			h.table = table
			return res.Outcome, nil
		},
	}
}

// question is a statement for Spark, and what becomes of the answer.
type question struct {
	sql  string
	read bool
	then func(a answer, err error)
}

// askSpark has Spark do the statements of all histories in one request.
func askSpark(t *testing.T, all []*history, ask func(h *history) []question) {
	t.Helper()
	type line struct {
		SQL  string `json:"sql"`
		Read bool   `json:"read"`
	}
	var asked [][]question
	var jobs [][]line
	for _, h := range all {
		list := ask(h)
		if len(list) == 0 {
			continue
		}
		var job []line
		for _, q := range list {
			job = append(job, line{q.sql, q.read})
		}
		asked, jobs = append(asked, list), append(jobs, job)
	}
	if len(jobs) == 0 {
		return
	}
	var replies [][]struct {
		OK *struct {
			Schema []column
			Rows   [][]any
		}
		Error string
	}
	require.NoError(t, theRun.server.ask(spark, "many", map[string]any{"jobs": jobs}, &replies))
	for i, list := range asked {
		for j, q := range list {
			switch r := replies[i][j]; {
			case r.Error != "":
				q.then(answer{}, errors.New(r.Error))
			case r.OK != nil:
				q.then(answer{schema: r.OK.Schema, rows: rowsText(r.OK.Schema, r.OK.Rows)}, nil)
			default:
				q.then(answer{}, nil)
			}
		}
	}
}

// asked is what Spark does at a step.
func (h *history) asked() []question {
	if h.deed == nil {
		return nil
	}
	var out []question
	if h.deed.forgets {
		out = h.unread()
	}
	if h.who != spark {
		return out
	}
	for _, sql := range h.deed.sql {
		out = append(out, question{sql: sql, then: func(_ answer, err error) { h.fail(spark, err, "%.300s", sql) }})
	}
	return append(out, question{sql: "SELECT * FROM " + h.sql(), read: true, then: func(a answer, err error) {
		h.fail(spark, sameTale(a, err, h.deed.next), "step %d: Spark reads what the model holds", h.step)
	}})
}

// unread asks for the versions that Spark has not read by their numbers.
func (h *history) unread() []question {
	var out []question
	for _, v := range slices.Sorted(maps.Keys(h.was)) {
		if v < max(h.seen, h.floor) {
			continue
		}
		held := h.was[v]
		out = append(out, question{sql: fmt.Sprintf("SELECT * FROM %s VERSION AS OF %d", h.sql(), v), read: true, then: func(a answer, err error) {
			h.fail(spark, sameTale(a, err, held), "Spark reads version %d", v)
		}})
		h.seen = v + 1
	}
	return out
}

// sameTale says how an answer is not what a version holds.
func sameTale(a answer, err error, s *tale) error {
	return differ(answer{schema: s.schema(), rows: s.texts()}, a, err)
}

// act does the step, unless Spark has done it, and reads the table.
func (h *history) act() {
	if h.deed == nil || h.err != nil {
		return
	}
	ctx := h.t.Context()
	switch h.who {
	case ours:
		if _, err := h.deed.idem(ctx); err != nil {
			h.fail(ours, err, "step %d", h.step)
			return
		}
	case deltaRS:
		h.fail(deltaRS, h.deed.deltaRS(), "step %d", h.step)
	}
	if h.observe(ctx); h.err != nil || h.who != ours || h.deed.twice {
		return
	}
	version := h.table.Version()
	second, err := h.deed.idem(ctx)
	if err == nil && (second != idem.Unchanged && second != idem.AlreadyApplied || h.table.Version() != version) {
		err = fmt.Errorf("%s, version %d after %d", second, h.table.Version(), version)
	}
	h.fail(ours, err, "step %d, again", h.step)
}

// observe reads what the step left.
func (h *history) observe(ctx context.Context) {
	before := int64(-1)
	if h.table == nil {
		table, err := idem.Open(ctx, "file://"+h.path, idem.Options{Allocator: h.mem})
		if err != nil {
			h.fail(ours, err, "open")
			return
		}
		h.table = table
	} else if len(h.was) > 0 {
		before = slices.Max(slices.Collect(maps.Keys(h.was)))
	}
	if _, err := h.table.Refresh(ctx); err != nil {
		h.fail(ours, err, "step %d: refresh", h.step)
		return
	}
	for v := before + 1; v < h.table.Version(); v++ {
		h.was[v] = h.state
	}
	h.state = h.deed.next
	h.was[h.table.Version()] = h.state
	if h.deed.forgets {
		h.floor = h.table.Version()
	}
	a, err := scan(ctx, h.table, "")
	h.fail(ours, sameTale(a, err, h.state), "step %d: idem reads what the model holds, version %d", h.step, h.table.Version())
}

// lastReads ask Spark for what it has not read yet: versions, change data, ids of rows.
func (h *history) lastReads() []question {
	h.step++
	out := h.unread()
	for _, from := range h.feeds() {
		ours, refused := h.feed(from)
		sql := fmt.Sprintf("SELECT * FROM table_changes_by_path('%s', %d)", h.path, from)
		out = append(out, question{sql: sql, read: true, then: func(a answer, err error) {
			if h.mayRefuse(from, refused, err) {
				return
			}
			a.rows, ours = h.timeless(a.rows), h.timeless(ours)
			h.fail(spark, differ(answer{schema: a.schema, rows: ours}, a, errors.Join(err, refused)), "change data from version %d", from)
		}})
	}
	if h.table.Snapshot().TracksRows() {
		ours, err := h.texts(h.table.Scan(h.t.Context(), idem.Scan{RowIDs: true}))
		h.fail(engine("idem"), err, "ids of rows")
		sql := fmt.Sprintf("SELECT *, _metadata.row_id AS `%s`, _metadata.row_commit_version AS `%s` FROM %s", delta.RowIDColumn, delta.RowCommitVersionColumn, h.sql())
		out = append(out, question{sql: sql, read: true, then: func(a answer, err error) {
			h.fail(spark, differ(answer{schema: a.schema, rows: ours}, a, err), "ids of rows")
		}})
	}
	return out
}

// mayRefuse says whether a range of changes may be refused by one engine or by both: columns were renamed
// or dropped on the way. Spark refuses more of them than idem does, by its checks of the schemas of the range and of
// those before them (types that were widened and restored since): then idem's answer has nothing to be held against. idem alone refuses a range that begins with a RESTORE which took
// columns away, since the rows that it removed had values in them; Spark leaves these out.
func (h *history) mayRefuse(from int64, ours, sparks error) bool {
	if sparks != nil {
		return ours != nil || strings.Contains(sparks.Error(), "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE") ||
			strings.Contains(sparks.Error(), "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA")
	}
	return errors.Is(ours, idem.ErrInput) && h.operation(from) == "RESTORE"
}

var (
	versionOfRow = regexp.MustCompile(`"_commit_version":(\d+)`)
	timeOfRow    = regexp.MustCompile(`"_commit_timestamp":"[^"]*",`)
)

// timeless leaves the time out of changes that were made before the version from which the table keeps its times in
// commits, where the commits have one: it kept them before, until that was turned off. The protocol's time is that of the
// file then, as idem and Spark's time travel have it; Spark's change data have the commit's.
func (h *history) timeless(rows []string) []string {
	text, _ := h.table.Snapshot().Property("delta.inCommitTimestampEnablementVersion")
	since, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return rows
	}
	kept := map[string]bool{}
	for c, err := range h.table.History(h.t.Context()) {
		if err == nil && c.Version < since && c.Info != nil && c.Info.InCommitTimestamp != nil {
			kept[strconv.FormatInt(c.Version, 10)] = true
		}
	}
	out := slices.Clone(rows)
	for i, row := range out {
		if m := versionOfRow.FindStringSubmatch(row); m != nil && kept[m[1]] {
			out[i] = timeOfRow.ReplaceAllString(row, "")
		}
	}
	slices.Sort(out)
	return out
}

// operation is what a version did, by its commit.
func (h *history) operation(version int64) string {
	for c, err := range h.table.History(h.t.Context()) {
		if err == nil && c.Version == version && c.Info != nil {
			return c.Info.Operation
		}
	}
	return ""
}

// feeds are the versions from which the change data are read: the first since which all of it is kept,
// and the last in which columns changed.
func (h *history) feeds() []int64 {
	newest := h.table.Version()
	first, shape := newest+1, int64(-1)
	for v := newest; v >= 0 && (v > h.floor || h.floor == 0); v-- {
		old, err := h.table.At(h.t.Context(), v)
		if err != nil {
			h.fail(ours, err, "version %d", v)
			return nil
		}
		if on, _ := old.Snapshot().Property("delta.enableChangeDataFeed"); on != "true" {
			break
		}
		if first = v; shape < 0 && v > 0 && !slices.Equal(h.was[v].columns, h.was[v-1].columns) {
			shape = v
		}
	}
	switch {
	case first > newest:
		return nil
	case shape > first:
		return []int64{first, shape}
	}
	return []int64{first}
}

func (h *history) feed(from int64) ([]string, error) {
	return h.texts(changes.Rows(h.t.Context(), h.table, changes.Request{From: changes.Version(from)}))
}

// texts gives batches as texts.
func (h *history) texts(batches iter.Seq2[arrow.RecordBatch, error]) ([]string, error) {
	out := []string{}
	for b, err := range batches {
		if err != nil {
			return nil, err
		}
		for i := range int(b.NumRows()) {
			text, err := conformance.AppendRow(nil, b, i)
			if err != nil {
				return nil, err
			}
			line, err := canonical(text)
			if err != nil {
				return nil, err
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out, nil
}

// end has idem read every version, and the rules of the log checked.
func (h *history) end() {
	ctx := h.t.Context()
	for _, v := range slices.Sorted(maps.Keys(h.was)) {
		if v < h.floor {
			continue
		}
		old, err := h.table.At(ctx, v)
		if err == nil {
			var a answer
			a, err = scan(ctx, old, "")
			err = sameTale(a, err, h.was[v])
		}
		h.fail(ours, err, "idem reads version %d", v)
	}
	dir, err := store.OpenDir(h.path)
	if err == nil {
		var report *logcheck.Report
		if report, err = logcheck.Check(ctx, dir); err == nil {
			err = report.Err()
		}
	}
	h.fail(ours, err, "the rules of the log")
	if theRun.server != nil {
		theRun.mu.Lock()
		theRun.cases[spark] += len(h.was)
		theRun.mu.Unlock()
	}
}

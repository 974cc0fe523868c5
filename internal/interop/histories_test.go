package interop_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/conformance"
)

var (
	historiesRun  = flag.Int("interop.histories", 200, "histories in which idem, Spark and delta-rs take turns")
	historiesSeed = flag.Uint64("interop.seed", 1, "seed of the first history; each has its own, one after the other")
)

// tale is the table of the histories: partitioned by day, keyed by id, ordered by seq.
var tale = []column{
	{"id", "long"}, {"day", "string"}, {"seq", "long"}, {"n", "integer"}, {"price", "decimal(9,2)"}, {"name", "string"}, {"seen", "timestamp"},
}

const (
	taleDay, taleSeq, taleN, talePrice, taleName = 1, 2, 3, 4, 5
)

// history is a table, and the rows that it must hold, by their keys.
type history struct {
	t     *testing.T
	r     *rand.Rand
	w     *world
	model map[int]row
	was   map[int64]map[int]row // by version, for RESTORE
	next  int                   // a key that was never used
	step  int
	told  []string // what happened
}

// turn is an operation that somebody can do; it gives what it did in words, or "" if there was
// nothing to do it to.
type turn struct {
	name string
	do   func(h *history, who engine) string
}

const ours engine = "idem"

// ourTurns and theirTurns are the operations that are drawn from; those that stand twice are drawn
// twice as often.
var (
	ourTurns = []turn{
		{"append with txn", (*history).appendTagged}, {"append with txn", (*history).appendTagged}, {"append", (*history).append},
		{"replace", (*history).replace}, {"replace", (*history).replace}, {"replace on data", (*history).replaceOnData}, {"replace all", (*history).replaceAll},
		{"merge", (*history).merge}, {"merge", (*history).merge}, {"merge deletes", (*history).mergeDeletes}, {"delete", (*history).delete},
	}
	theirTurns = []turn{
		{"append", (*history).append}, {"append", (*history).append}, {"replace", (*history).replace}, {"merge", (*history).merge},
		{"delete", (*history).delete}, {"update", (*history).update}, {"optimize", (*history).optimize}, {"checkpoint", (*history).checkpoint},
		{"restore", (*history).restore},
	}
)

// TestHistories has idem, Spark and delta-rs take turns on one table. After each turn idem and one of
// the others read what a model holds; at the end all do, and idem reads every version.
func TestHistories(t *testing.T) {
	needEngines(t)
	turns := map[engine]int{}
	for i := range uint64(*historiesRun) {
		seed := *historiesSeed + i
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &history{t: t, r: rand.New(rand.NewPCG(seed, 0)), w: create(t, tale, "day"), model: map[int]row{}, was: map[int64]map[int]row{}, next: 1}
			defer func() {
				if t.Failed() {
					t.Logf("history of seed %d:\n%s", seed, strings.Join(h.told, "\n"))
				}
			}()
			h.run(turns)
		})
	}
	t.Logf("histories: %d, turns of idem %d, of Spark %d, of delta-rs %d", *historiesRun, turns[ours], turns[spark], turns[deltaRS])
	for _, who := range []engine{ours, spark, deltaRS} {
		require.Positive(t, turns[who], "%s had no turn", who)
	}
}

func (h *history) run(turns map[engine]int) {
	h.remember()
	h.append(ours)
	h.remember()
	for h.step = 1; h.step <= 7; h.step++ {
		who, list := ours, ourTurns
		switch n := h.r.IntN(20); {
		case n < 3:
			who, list = spark, theirTurns
		case n < 10:
			who, list = deltaRS, theirTurns
		}
		what := list[h.r.IntN(len(list))]
		did := what.do(h, who)
		if did == "" {
			continue
		}
		turns[who]++
		h.told = append(h.told, fmt.Sprintf("%d %s: %s: %s", h.step, who, what.name, did))
		h.w.int96 = h.w.int96 || who == spark
		h.remember()
		h.holds(h.at(who), everyEngine[1+h.r.IntN(2)])
	}
	h.holds("at the end", everyEngine...)
	h.everyVersion()
}

func (h *history) at(who engine) string { return name("turn", h.step, "by", who) }

// remember notes what the newest version holds.
func (h *history) remember() { h.was[h.w.refresh(h.t)] = maps.Clone(h.model) }

// holds compares what idem reads with the model, and what engines read with what idem reads.
func (h *history) holds(what string, engines ...engine) {
	h.t.Helper()
	got := h.w.agree(h.t, what, "", engines...)
	require.Equal(h.t, h.expected(h.model), got.rows, "%s: idem reads what the model holds", what)
}

// everyVersion reads the versions back, each of which held what the model did.
func (h *history) everyVersion() {
	for v, model := range h.was {
		old, err := h.w.table.At(h.t.Context(), v)
		require.NoError(h.t, err)
		got, err := scan(h.t.Context(), old, "")
		require.NoError(h.t, err)
		require.Equal(h.t, h.expected(model), got.rows, "version %d", v)
	}
}

// expected gives rows as scan does.
func (h *history) expected(model map[int]row) []string {
	var out []string
	r := h.source(slices.Sorted(maps.Keys(model)), model).reader(h.t, h.w.mem)
	for r.Next() {
		for i := range int(r.RecordBatch().NumRows()) {
			text, err := conformance.AppendRow(nil, r.RecordBatch(), i)
			require.NoError(h.t, err)
			line, err := canonical(text)
			require.NoError(h.t, err)
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func (h *history) source(ids []int, rows map[int]row) source {
	s := source{Schema: tale}
	for _, id := range ids {
		s.Rows = append(s.Rows, rows[id])
	}
	return s
}

// pick gives one of a few values.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// draw makes the row of a key. Its seq grows from turn to turn.
func (h *history) draw(id int, day any) row {
	r := h.r
	return row{
		id, day, h.step, pick[any](r, nil, r.IntN(20), r.IntN(20), -1), pick[any](r, nil, "0.00", "-9999999.99", fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100))),
		pick[any](r, nil, "", "é", "a'b", fmt.Sprint("name ", r.IntN(9))), pick[any](r, nil, "1969-12-31T23:59:59.999999Z", fmt.Sprintf("2024-02-%02dT00:00:00.000001Z", 1+r.IntN(28))),
	}
}

// day gives a partition. Spark writes other letters than ASCII's into paths as they are, and delta-rs
// removes such a file by another spelling, so that its rows stay for every reader but idem.
func (h *history) day() any { return pick[any](h.r, "d0", "d1", "d 2/%", "x=y", nil) }

// fresh makes rows of new keys.
func (h *history) fresh(n int, day func() any) map[int]row {
	out := map[int]row{}
	for range n {
		out[h.next] = h.draw(h.next, day())
		h.next++
	}
	return out
}

// some gives keys that the table holds.
func (h *history) some(n int) []int {
	ids := slices.Sorted(maps.Keys(h.model))
	h.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:min(n, len(ids))]
}

func (h *history) rows(of map[int]row) source { return h.source(slices.Sorted(maps.Keys(of)), of) }

// must checks a call of idem, and that the same call again changes nothing.
func (h *history) must(call func() (*idem.Result, error)) string {
	res, err := call()
	require.NoError(h.t, err)
	version := h.w.refresh(h.t)
	second, err := call()
	require.NoError(h.t, err, "again")
	require.Contains(h.t, []idem.Outcome{idem.Unchanged, idem.AlreadyApplied}, second.Outcome, "again: %s", second)
	require.Equal(h.t, version, h.w.refresh(h.t), "again: no version is made")
	return res.String()
}

func (h *history) append(who engine) string {
	rows := h.fresh(1+h.r.IntN(5), h.day)
	maps.Copy(h.model, rows)
	if who != ours {
		who.do(h.t, "write", map[string]any{"path": h.w.path, "mode": "append", "source": h.rows(rows)})
		return fmt.Sprint(len(rows), " rows")
	}
	res, err := h.w.table.Append(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), idem.Append{Reason: "new keys"})
	require.NoError(h.t, err)
	return res.String()
}

func (h *history) appendTagged(engine) string {
	rows := h.fresh(h.r.IntN(5), h.day)
	maps.Copy(h.model, rows)
	txn := idem.Txn{AppID: fmt.Sprint("loader ", h.step), Version: int64(h.step), VerifyPayload: h.r.IntN(2) == 0}
	return h.must(func() (*idem.Result, error) {
		return h.w.table.AppendWithTxn(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), txn)
	})
}

// condition is one that every engine reads, and the rows for which it is TRUE.
type condition struct {
	text  string
	holds func(r row) bool
}

func (h *history) condition() condition {
	switch h.r.IntN(5) {
	case 0:
		lo := h.r.IntN(h.next)
		hi := lo + h.r.IntN(6)
		return condition{fmt.Sprintf("id BETWEEN %d AND %d", lo, hi), func(r row) bool { return r[0].(int) >= lo && r[0].(int) <= hi }}
	case 1:
		return condition{"day IS NULL", func(r row) bool { return r[taleDay] == nil }}
	case 2:
		n := h.r.IntN(20)
		return condition{fmt.Sprintf("n < %d", n), func(r row) bool { return r[taleN] != nil && r[taleN].(int) < n }}
	case 3:
		return condition{"name = ''", func(r row) bool { return r[taleName] == "" }}
	}
	return condition{"price = 0.00 OR day = 'd1'", func(r row) bool { return r[talePrice] == "0.00" || r[taleDay] == "d1" }}
}

func (h *history) drop(c condition) {
	maps.DeleteFunc(h.model, func(_ int, r row) bool { return c.holds(r) })
}

func (h *history) replace(who engine) string {
	day := pick(h.r, "d0", "d1", "x=y")
	rows := h.fresh(1+h.r.IntN(4), func() any { return day })
	h.drop(condition{"", func(r row) bool { return r[taleDay] == day }})
	maps.Copy(h.model, rows)
	where := "day = '" + day + "'"
	if who != ours {
		who.do(h.t, "write", map[string]any{"path": h.w.path, "mode": "overwrite", "where": where, "source": h.rows(rows)})
		return where
	}
	return h.must(func() (*idem.Result, error) {
		return h.w.table.ReplaceWhere(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), idem.ReplaceWhere{Where: where})
	})
}

// replaceOnData replaces a slice whose border goes through files.
func (h *history) replaceOnData(engine) string {
	lo := h.r.IntN(h.next)
	hi := lo + 1 + h.r.IntN(4)
	rows := map[int]row{lo: h.draw(lo, h.day()), hi: h.draw(hi, h.day())}
	h.drop(condition{"", func(r row) bool { return r[0].(int) >= lo && r[0].(int) <= hi }})
	maps.Copy(h.model, rows)
	h.next = max(h.next, hi+1)
	return h.must(func() (*idem.Result, error) {
		return h.w.table.ReplaceWhere(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), idem.ReplaceWhere{Where: "id BETWEEN ? AND ?", Args: []any{lo, hi}})
	})
}

func (h *history) replaceAll(engine) string {
	rows := h.fresh(2+h.r.IntN(5), h.day)
	for _, id := range h.some(3) {
		rows[id] = h.model[id]
	}
	h.model = rows
	return h.must(func() (*idem.Result, error) {
		return h.w.table.ReplaceAll(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), idem.ReplaceAll{})
	})
}

// merge updates some keys, which may move to another partition, and inserts others.
func (h *history) merge(who engine) string {
	rows := h.fresh(h.r.IntN(3), h.day)
	for _, id := range h.some(3) {
		rows[id] = h.draw(id, pick(h.r, h.model[id][taleDay], h.day()))
	}
	if len(rows) == 0 {
		return ""
	}
	if who != ours {
		maps.Copy(h.model, rows)
		who.do(h.t, "merge", map[string]any{"path": h.w.path, "on": "t.id = s.id", "source": h.rows(rows)})
		return fmt.Sprint(len(rows), " rows")
	}
	return h.guarded(rows, "")
}

// guarded merges rows by key; those that are not newer than what the table holds change nothing.
func (h *history) guarded(rows map[int]row, deletes string) string {
	for id, r := range rows {
		have, known := h.model[id]
		if known && cmp.Compare(r[taleSeq].(int), have[taleSeq].(int)) <= 0 {
			continue
		}
		switch {
		case deletes == "" || r[taleName] != "gone":
			h.model[id] = r
		default:
			delete(h.model, id)
		}
	}
	return h.must(func() (*idem.Result, error) {
		return h.w.table.Merge(h.t.Context(), h.rows(rows).reader(h.t, h.w.mem), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: deletes})
	})
}

func (h *history) mergeDeletes(engine) string {
	rows := h.fresh(1, h.day)
	for _, id := range h.some(3) {
		rows[id] = h.draw(id, h.day())
		rows[id][taleSeq] = h.r.IntN(h.step + 1)
	}
	for _, r := range rows {
		if h.r.IntN(2) == 0 {
			r[taleName] = "gone"
		}
	}
	return h.guarded(rows, "name = 'gone'")
}

func (h *history) delete(who engine) string {
	c := h.condition()
	h.drop(c)
	if who != ours {
		who.do(h.t, "delete", map[string]any{"path": h.w.path, "where": c.text})
		return c.text
	}
	return h.must(func() (*idem.Result, error) { return h.w.table.Delete(h.t.Context(), idem.Delete{Where: c.text}) })
}

func (h *history) update(who engine) string {
	c := h.condition()
	text := fmt.Sprint("updated ", h.step)
	for id, r := range h.model {
		if c.holds(r) {
			r = slices.Clone(r)
			r[taleName], r[taleN] = text, nil
			h.model[id] = r
		}
	}
	who.do(h.t, "update", map[string]any{"path": h.w.path, "where": c.text, "set": map[string]string{"name": "'" + text + "'", "n": "NULL"}})
	return c.text
}

func (h *history) optimize(who engine) string {
	who.do(h.t, "optimize", map[string]any{"path": h.w.path})
	return "every file"
}

func (h *history) checkpoint(who engine) string {
	who.do(h.t, "checkpoint", map[string]any{"path": h.w.path})
	return "the newest version"
}

func (h *history) restore(who engine) string {
	versions := slices.Sorted(maps.Keys(h.was))
	to := versions[h.r.IntN(len(versions)-1)] // delta-rs refuses to restore the newest
	h.model = maps.Clone(h.was[to])
	who.do(h.t, "restore", map[string]any{"path": h.w.path, "version": to})
	return fmt.Sprint("to version ", to)
}

package interop_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/maintain"
)

// deed is an operation that was drawn: how each engine does it, nil where it cannot, and what the table
// holds then.
type deed struct {
	told    string
	sql     []string
	idem    func(ctx context.Context) (idem.Outcome, error) // a second call is Unchanged or AlreadyApplied
	twice   bool                                            // a second call does it again
	deltaRS func() error
	next    *tale
	forgets bool // older versions cannot be read any more
}

// turn is a kind of operation. plan draws one, nil if there is nothing to do it to.
type turn struct {
	name   string
	weight int
	cuts   bool // it takes rows away, which an append-only table refuses
	plan   func(h *history) *deed
}

func turns() []turn {
	return append([]turn{
		{"append", 3, false, (*history).append}, {"append with txn", 2, false, (*history).appendTagged},
		{"replace", 3, true, (*history).replace}, {"replace on data", 2, true, (*history).replaceOnData}, {"replace all", 1, true, (*history).replaceAll},
		{"replace partitions", 1, true, (*history).replacePartitions}, {"merge", 4, true, (*history).merge}, {"merge and delete", 2, true, (*history).mergeDeletes},
		{"delete", 4, true, (*history).delete}, {"update", 3, true, (*history).update},
	}, upkeep...)
}

// day gives a partition. Spark writes other letters than ASCII's into paths as they are, and delta-rs
// removes such a file by another spelling, so that its rows stay for every reader but idem.
func (h *history) day() any { return pick[any](h.r, "d0", "d1", "d 2/%", "x=y", nil) }

// row makes the row of a key. Its seq grows from step to step.
func (h *history) row(id int, day any) map[int]any {
	out := map[int]any{}
	for _, c := range h.state.columns {
		out[c.key] = drawCell(h.r, c.typ)
	}
	out[taleID], out[taleDay], out[taleSeq] = id, day, h.step
	return out
}

// fresh makes rows of new keys.
func (h *history) fresh(n int, day func() any) map[int]map[int]any {
	out := map[int]map[int]any{}
	for range n {
		out[h.next] = h.row(h.next, day())
		h.next++
	}
	return out
}

// some gives keys that the table holds.
func (h *history) some(n int) []int {
	ids := slices.Sorted(maps.Keys(h.state.rows))
	h.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:min(n, len(ids))]
}

// put is the state with rows in the place of those that are dropped.
func (h *history) put(rows map[int]map[int]any, drop func(r map[int]any) bool) *tale {
	next := h.state.clone()
	if drop != nil {
		maps.DeleteFunc(next.rows, func(_ int, r map[int]any) bool { return drop(r) })
	}
	maps.Copy(next.rows, rows)
	return next
}

// verb calls idem with rows.
func (h *history) verb(rows map[int]map[int]any, call func(ctx context.Context, r array.RecordReader) (*idem.Result, error)) func(ctx context.Context) (idem.Outcome, error) {
	src := h.state.source(rows)
	return func(ctx context.Context) (idem.Outcome, error) {
		r := src.reader(h.t, h.mem)
		res, err := call(ctx, r)
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}
}

func (h *history) rs(op string, args map[string]any) func() error {
	args["path"] = h.path
	return func() error { return theRun.server.ask(deltaRS, op, args, nil) }
}

func (h *history) append() *deed {
	rows := h.fresh(1+h.r.IntN(5), h.day)
	return &deed{told: fmt.Sprint(len(rows), " rows"), next: h.put(rows, nil), twice: true,
		sql: []string{"INSERT INTO " + h.sql() + " " + h.state.query(rows)},
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) {
			return h.table.Append(ctx, r, idem.Append{Reason: "new keys"})
		}),
		deltaRS: h.rs("write", map[string]any{"mode": "append", "source": h.state.source(rows)}),
	}
}

func (h *history) appendTagged() *deed {
	rows := h.fresh(h.r.IntN(5), h.day)
	txn := idem.Txn{AppID: fmt.Sprint("loader ", h.step), Version: int64(h.step), VerifyPayload: h.r.IntN(2) == 0}
	return &deed{told: fmt.Sprint(len(rows), " rows"), next: h.put(rows, nil),
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) {
			return h.table.AppendWithTxn(ctx, r, txn)
		}),
	}
}

func (h *history) replace() *deed {
	day := pick(h.r, "d0", "d1", "x=y")
	rows := h.fresh(1+h.r.IntN(4), func() any { return day })
	return h.replaces(h.state.sql(taleDay)+" = '"+day+"'", rows, func(r map[int]any) bool { return r[taleDay] == day })
}

// replaceOnData replaces a slice whose border goes through files.
func (h *history) replaceOnData() *deed {
	lo := h.r.IntN(h.next)
	hi := lo + 1 + h.r.IntN(4)
	rows := map[int]map[int]any{lo: h.row(lo, h.day()), hi: h.row(hi, h.day())}
	h.next = max(h.next, hi+1)
	d := h.replaces(fmt.Sprintf("%s BETWEEN %d AND %d", h.state.sql(taleID), lo, hi), rows, func(r map[int]any) bool { return r[taleID].(int) >= lo && r[taleID].(int) <= hi })
	d.deltaRS = nil
	return d
}

func (h *history) replaces(where string, rows map[int]map[int]any, drop func(r map[int]any) bool) *deed {
	return &deed{told: where, next: h.put(rows, drop),
		sql: []string{"INSERT INTO TABLE " + h.sql() + " REPLACE WHERE " + where + " " + h.state.query(rows)},
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) {
			return h.table.ReplaceWhere(ctx, r, idem.ReplaceWhere{Where: where})
		}),
		deltaRS: h.rs("write", map[string]any{"mode": "overwrite", "where": strings.ReplaceAll(where, "`", ""), "source": h.state.source(rows)}),
	}
}

func (h *history) replaceAll() *deed {
	rows := h.fresh(2+h.r.IntN(5), h.day)
	for _, id := range h.some(3) {
		rows[id] = h.state.rows[id]
	}
	return &deed{told: fmt.Sprint(len(rows), " rows"), next: h.put(rows, func(map[int]any) bool { return true }),
		sql: []string{"INSERT OVERWRITE " + h.sql() + " " + h.state.query(rows)},
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) {
			return h.table.ReplaceAll(ctx, r, idem.ReplaceAll{})
		}),
	}
}

func (h *history) replacePartitions() *deed {
	if len(h.table.PartitionBy()) == 0 {
		return nil
	}
	rows := h.fresh(1+h.r.IntN(3), h.day)
	days := map[any]bool{}
	for _, r := range rows {
		days[r[taleDay]] = true
	}
	return &deed{told: fmt.Sprint(len(rows), " rows"), next: h.put(rows, func(r map[int]any) bool { return days[r[taleDay]] }),
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) {
			return maintain.OverwritePartitions(ctx, h.table, r, maintain.Overwrite{})
		}),
	}
}

// merge updates some keys, which may move to another partition, and inserts others.
func (h *history) merge() *deed {
	rows := h.fresh(h.r.IntN(3), h.day)
	for _, id := range h.some(3) {
		rows[id] = h.row(id, pick(h.r, h.state.rows[id][taleDay], h.day()))
	}
	if len(rows) == 0 {
		return nil
	}
	d := h.merges(rows, h.put(rows, nil), "", "")
	d.deltaRS = h.rs("merge", map[string]any{"on": "t.id = s.id", "source": h.state.source(rows)})
	return d
}

// mergeDeletes merges rows of which some delete theirs.
func (h *history) mergeDeletes() *deed {
	rows := h.fresh(1, h.day)
	for _, id := range h.some(4) {
		rows[id] = h.row(id, h.day())
	}
	next := h.state.clone()
	for id, r := range rows {
		if r[taleDay] == "d1" {
			delete(next.rows, id)
		} else {
			next.rows[id] = r
		}
	}
	return h.merges(rows, next, "%s"+h.state.sql(taleDay)+" = 'd1'", "%s"+h.state.sql(taleDay)+" <=> 'd1'")
}

// merges is a merge in which rows delete for which a condition with the prefix of their side is TRUE.
func (h *history) merges(rows map[int]map[int]any, next *tale, deletes, same string) *deed {
	id, seq := h.state.columns[h.state.index(taleID)].name, h.state.columns[h.state.index(taleSeq)].name
	m := idem.Merge{On: []string{id}, Newer: []string{seq}}
	sql := fmt.Sprintf("MERGE INTO %s t USING (%s) s ON t.%s = s.%s", h.sql(), h.state.query(rows), ticked(id), ticked(id))
	if deletes == "" {
		sql += " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
	} else {
		m.DeleteWhen = fmt.Sprintf(deletes, "")
		of := fmt.Sprintf(same, "s.")
		sql += " WHEN MATCHED AND " + of + " THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND NOT (" + of + ") THEN INSERT *"
	}
	return &deed{told: fmt.Sprintf("keys %v", slices.Sorted(maps.Keys(rows))), next: next, sql: []string{sql},
		idem: h.verb(rows, func(ctx context.Context, r array.RecordReader) (*idem.Result, error) { return h.table.Merge(ctx, r, m) }),
	}
}

func (h *history) delete() *deed {
	c := h.condition()
	return &deed{told: c.text, next: h.put(nil, c.holds), sql: []string{"DELETE FROM " + h.sql() + " WHERE " + c.text},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			return outcomeOf(h.table.Delete(ctx, idem.Delete{Where: c.text}))
		},
		deltaRS: h.rs("delete", map[string]any{"where": strings.ReplaceAll(c.text, "`", "")}),
	}
}

// update sets one or two columns of some rows.
func (h *history) update() *deed {
	c := h.condition()
	next := h.state.clone()
	var sql, told []string
	set, plain := map[string]expr.Expr{}, map[string]string{}
	for range 1 + h.r.IntN(2) {
		col := pick(h.r, h.state.columns...)
		if col.key == taleID || col.key == taleSeq || set[ticked(col.name)] != nil {
			continue
		}
		v := drawCell(h.r, col.typ)
		if col.key == taleDay {
			v = h.day()
		}
		text := sqlCell(col.typ, v)
		parsed, err := expr.Parse(text)
		if err != nil {
			continue // a cast that idem does not know
		}
		set[ticked(col.name)], plain[col.name] = parsed, standardCell(col.typ, v)
		sql, told = append(sql, ticked(col.name)+" = "+text), append(told, col.name+" = "+text)
		for id, r := range h.state.rows {
			if c.holds(r) {
				next.rows[id][col.key] = v
			}
		}
	}
	if len(set) == 0 {
		return nil
	}
	return &deed{told: strings.Join(told, ", ") + " WHERE " + c.text, next: next,
		sql: []string{"UPDATE " + h.sql() + " SET " + strings.Join(sql, ", ") + " WHERE " + c.text},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			return outcomeOf(maintain.UpdateTable(ctx, h.table, maintain.Update{Where: c.text, SetExpr: set}))
		},
		deltaRS: h.rs("update", map[string]any{"where": strings.ReplaceAll(c.text, "`", ""), "set": plain}),
	}
}

func outcomeOf(res *idem.Result, err error) (idem.Outcome, error) {
	if err != nil {
		return 0, err
	}
	return res.Outcome, nil
}

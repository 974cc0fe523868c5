package metamorphic_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// The operations that leave the rows as they are, but for a restore.

func still(s *state) answer { return answer{} }

// upkeep is an operation that ends as the files lie.
func upkeep(call string, do func(w *world) (idem.Outcome, error)) *op {
	return &op{call: call, loose: true, model: still, do: func(w *world) (answer, error) {
		outcome, err := do(w)
		return answer{outcome: outcome}, err
	}}
}

func (d draws) optimize() *op {
	var r maintain.Optimize
	switch rapid.IntRange(0, 3).Draw(d.t, "optimize") {
	case 0:
		r.ZOrderBy = []string{d.s.name(colID), d.s.name(colSeq)}
	case 1:
		r.Where = drawKeys(d.t, d.s).text
	case 2:
		r.Full = true
	}
	r.TargetFileBytes = rapid.SampledFrom([]int64{0, 1, 3000}).Draw(d.t, "target")
	o := upkeep(fmt.Sprintf("OptimizeTable(ZOrderBy: %v, Where: %s, Full: %t, TargetFileBytes: %d)", r.ZOrderBy, r.Where, r.Full, r.TargetFileBytes), func(w *world) (idem.Outcome, error) {
		res, err := maintain.OptimizeTable(w.ctx, w.table, r)
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
	o.refuse = len(r.ZOrderBy) > 0 || r.Where != "" // on a clustered table
	return o
}

func (d draws) vacuum() *op {
	retention := rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Hour, 0}).Draw(d.t, "retention")
	lite := d.rarely(4, "Lite")
	o := upkeep(fmt.Sprintf("VacuumTable(Retention: %s, Lite: %t)", retention, lite), func(w *world) (idem.Outcome, error) {
		res, err := maintain.VacuumTable(w.ctx, w.table, maintain.Vacuum{Retention: retention, AllowShortRetention: true, Lite: lite})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
	o.floor = func(h *history) {
		kept := retention
		if kept == 0 {
			kept = 7 * 24 * time.Hour
		}
		horizon := h.now().at.Add(-kept)
		since := slices.IndexFunc(h.states, func(s *state) bool { return !s.at.Before(horizon) })
		h.floor, h.told = max(h.floor, since), max(h.told, since)
	}
	return o
}

func (d draws) checkpoint() *op {
	return upkeep("Checkpoint()", func(w *world) (idem.Outcome, error) {
		res, err := maintain.Checkpoint(w.ctx, w.table)
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
}

// cleanUp has everything expire but the newest version.
func (d draws) cleanUp() *op {
	o := upkeep("Checkpoint(); CleanUpLog()", func(w *world) (idem.Outcome, error) {
		if _, err := maintain.Checkpoint(w.ctx, w.table); err != nil {
			return 0, err
		}
		res, err := maintain.CleanUpLog(w.ctx, w.table, maintain.CleanUp{})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
	o.wait = 40 * 24 * time.Hour
	o.floor = func(h *history) { h.floor, h.told = len(h.states)-1, len(h.states) }
	return o
}

func (d draws) compactLog() *op {
	back, length := rapid.Int64Range(0, 2).Draw(d.t, "versions left"), rapid.Int64Range(1, 4).Draw(d.t, "versions together")
	o := upkeep(fmt.Sprintf("CompactLog(newest-%d, newest-%d)", back+length, back), func(w *world) (idem.Outcome, error) {
		last := w.table.Version() - back
		if last-length < 0 {
			return idem.Unchanged, nil
		}
		res, err := maintain.CompactLog(w.ctx, w.table, last-length, last)
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
	o.refuse = true // of versions that are cleaned up
	return o
}

// alter is a change of the definition, which a second call finds made.
func (d draws) alter(call string, model func(s *state), change ...maintain.Change) *op {
	return &op{
		call: "AlterTable(" + call + ")",
		model: func(s *state) answer {
			before := columnsText(s.columns)
			model(s)
			if columnsText(s.columns) == before {
				return answer{outcome: idem.Unchanged}
			}
			return answer{outcome: idem.Committed}
		},
		do: func(w *world) (answer, error) {
			res, err := maintain.AlterTable(w.ctx, w.table, maintain.Alter{Changes: change})
			if err != nil {
				return answer{}, err
			}
			return answer{outcome: res.Outcome}, nil
		},
	}
}

func (d draws) addColumn() *op {
	if len(d.s.columns) > 15 {
		return nil
	}
	c := column{d.s.keys, fmt.Sprint("c", d.s.keys), drawType(d.t)}
	return d.alter(fmt.Sprintf("AddColumn %s %s", c.name, c.typ), func(s *state) { s.evolve(input{columns: []column{c}}) }, maintain.AddColumn{Name: c.name, Type: c.typ})
}

func (d draws) renameColumn() *op {
	if !d.s.mapped {
		return nil
	}
	c := rapid.SampledFrom(d.s.columns).Draw(d.t, "column")
	to := fmt.Sprint(rapid.SampledFrom([]string{"r", "odd, "}).Draw(d.t, "to"), d.s.ops)
	return d.alter(fmt.Sprintf("RenameColumn %s to %s", c.name, to), func(s *state) {
		s.columns[slices.IndexFunc(s.columns, func(o column) bool { return o.key == c.key })].name = to
	}, maintain.RenameColumn{Name: "`" + c.name + "`", To: to})
}

func (d draws) dropColumn() *op {
	able := slices.DeleteFunc(slices.Clone(d.s.columns), func(c column) bool { return c.key <= colSeq || c.key == colPlace })
	if !d.s.mapped || len(able) < 3 {
		return nil
	}
	c := rapid.SampledFrom(able).Draw(d.t, "column")
	return d.alter("DropColumn "+c.name, func(s *state) {
		s.columns = slices.DeleteFunc(s.columns, func(o column) bool { return o.key == c.key })
		for i, r := range s.rows {
			s.rows[i] = r.with(r.op, nil)
			delete(s.rows[i].cells, c.key)
		}
	}, maintain.DropColumn{Name: "`" + c.name + "`"})
}

func (d draws) moveColumn() *op {
	c, after := rapid.SampledFrom(d.s.columns).Draw(d.t, "column"), rapid.SampledFrom(d.s.columns).Draw(d.t, "after")
	if c.key == after.key {
		return nil
	}
	return d.alter(fmt.Sprintf("MoveColumn %s after %s", c.name, after.name), func(s *state) {
		s.columns = slices.DeleteFunc(s.columns, func(o column) bool { return o.key == c.key })
		at := slices.IndexFunc(s.columns, func(o column) bool { return o.key == after.key })
		s.columns = slices.Insert(s.columns, at+1, c)
	}, maintain.MoveColumn{Name: "`" + c.name + "`", After: after.name})
}

func (d draws) widenColumn() *op {
	able := slices.DeleteFunc(slices.Clone(d.s.columns), func(c column) bool { return wider(c.typ) == nil })
	if !d.s.widening || len(able) == 0 {
		return nil
	}
	c := rapid.SampledFrom(able).Draw(d.t, "column")
	to := wider(c.typ)
	return d.alter(fmt.Sprintf("WidenColumn %s to %s", c.name, to), func(s *state) {
		s.columns[slices.IndexFunc(s.columns, func(o column) bool { return o.key == c.key })].typ = to
	}, maintain.WidenColumn{Name: "`" + c.name + "`", Type: to})
}

func wider(dt arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *arrow.Int32Type:
		return arrow.PrimitiveTypes.Int64
	case *arrow.Decimal128Type:
		if dt.Precision < 16 {
			return &arrow.Decimal128Type{Precision: dt.Precision + 4, Scale: dt.Scale + 1}
		}
	}
	return nil
}

func (d draws) enable() *op {
	features := []string{"deletionVectors", "changeDataFeed", "rowTracking", "inCommitTimestamp", "v2Checkpoint"}
	if len(d.h.worlds) == 1 {
		features = append(features, "columnMapping", "typeWidening")
	}
	name := rapid.SampledFrom(features).Draw(d.t, "feature")
	return upkeep("EnableFeature("+name+")", func(w *world) (idem.Outcome, error) {
		res, err := maintain.EnableFeature(w.ctx, w.table, maintain.Enable{Feature: name})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
}

func (d draws) drop() *op {
	features := []string{"deletionVectors", "rowTracking", "inCommitTimestamp", "v2Checkpoint"}
	if len(d.h.worlds) == 1 {
		features = append(features, "columnMapping", "typeWidening", "domainMetadata")
	}
	name := rapid.SampledFrom(features).Draw(d.t, "feature")
	o := upkeep("DropFeature("+name+")", func(w *world) (idem.Outcome, error) {
		res, err := maintain.DropFeature(w.ctx, w.table, maintain.Drop{Feature: name})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
	o.refuse = true // when another feature needs it
	return o
}

func (d draws) unset() *op {
	key := rapid.SampledFrom(switches).Draw(d.t, "property")
	return upkeep("AlterTable(UnsetProperties "+key+")", func(w *world) (idem.Outcome, error) {
		res, err := maintain.AlterTable(w.ctx, w.table, maintain.Alter{Changes: []maintain.Change{maintain.UnsetProperties{Names: []string{key}}}})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	})
}

// clone makes a copy, which holds the same.
func (d draws) clone() *op {
	held := d.s.clone()
	return upkeep("CloneTable()", func(w *world) (idem.Outcome, error) {
		st, ctx := store.NewMemClock(w.clock.Now), w.ctx
		var copied *idem.Table
		for i, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
			var res *maintain.Cloned
			var err error
			copied, res, err = maintain.CloneTableStore(ctx, w.table, st, maintain.Clone{}, w.options())
			if err != nil {
				return 0, fmt.Errorf("clone %d: %w", i, err)
			}
			if res.Outcome != want {
				return 0, fmt.Errorf("clone %d is %s", i, res)
			}
			if err := sameRows(ctx, copied, held); err != nil {
				return 0, fmt.Errorf("the clone: %w", err)
			}
		}
		return idem.Unchanged, sameRules(ctx, st)
	})
}

// reopen opens the table with other means.
func (d draws) reopen() *op {
	if len(d.h.worlds) != 1 {
		return nil
	}
	var l layout
	l.work(d.t)
	return upkeep(fmt.Sprintf("Open(Parallelism: %d, MemoryBytes: %d, TargetFileBytes: %d)", l.parallelism, l.memory, l.target), func(w *world) (idem.Outcome, error) {
		w.layout.parallelism, w.layout.memory, w.layout.target = l.parallelism, l.memory, l.target
		return idem.Unchanged, w.open()
	})
}

func (d draws) restore() *op {
	if d.h.floor >= len(d.h.states)-1 {
		return nil
	}
	to := rapid.IntRange(d.h.floor, len(d.h.states)-2).Draw(d.t, "to")
	was := d.h.states[to]
	byTime := d.rarely(3, "by time")
	return &op{
		call: fmt.Sprintf("RestoreTable(to what it was after call %d, by time: %t)", to, byTime), loose: true,
		model: func(s *state) answer {
			s.columns, s.rows = slices.Clone(was.columns), slices.Clone(was.rows)
			for app, now := range s.tags {
				then, ok := was.tags[app]
				if !ok {
					then = noTag
				}
				now.Tag = now.Restored(then.Tag)
				s.tags[app] = now
			}
			return answer{}
		},
		do: func(w *world) (answer, error) {
			target := maintain.Version(w.after[to])
			if byTime {
				at := was.at.Add(30 * time.Second)
				if newest := w.after[to] == w.table.Version(); newest { // nothing was committed since: its own is the last time there is
					for c, err := range w.table.History(w.ctx) {
						if err != nil {
							return answer{}, err
						}
						at = c.Timestamp
						break
					}
				}
				target = maintain.Time(at)
			}
			res, err := maintain.RestoreTable(w.ctx, w.table, maintain.Restore{To: target})
			if err != nil {
				return answer{}, err
			}
			if res.To != w.after[to] {
				return answer{}, fmt.Errorf("restored version %d, not %d", res.To, w.after[to])
			}
			return answer{outcome: res.Outcome}, nil
		},
	}
}

// verbs are the operations by name and weight.
var verbs = []struct {
	name   string
	weight int
	draw   func(draws) *op
}{
	{"append", 3, draws.append}, {"append with txn", 3, draws.appendWithTxn}, {"replace where", 4, draws.replaceWhere}, {"replace all", 1, draws.replaceAll},
	{"merge", 6, draws.merge}, {"delete", 3, draws.delete}, {"update", 3, draws.update}, {"overwrite partitions", 2, draws.overwrite}, {"rewind", 1, draws.rewind},
	{"restore", 2, draws.restore}, {"optimize", 2, draws.optimize}, {"vacuum", 1, draws.vacuum}, {"checkpoint", 1, draws.checkpoint}, {"clean up the log", 1, draws.cleanUp},
	{"compact the log", 1, draws.compactLog}, {"add column", 1, draws.addColumn}, {"rename column", 1, draws.renameColumn}, {"drop column", 1, draws.dropColumn},
	{"move column", 1, draws.moveColumn}, {"widen column", 1, draws.widenColumn}, {"enable a feature", 1, draws.enable}, {"drop a feature", 1, draws.drop},
	{"unset a property", 1, draws.unset}, {"clone", 1, draws.clone}, {"reopen", 1, draws.reopen},
}

package metamorphic_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// The operations that change rows. Each draws one for the table that the model has; nil where there is
// none.

// draws is what an operation is drawn from.
type draws struct {
	t *rapid.T
	h *history
	s *state
}

func (d draws) flip(label string) bool { return rapid.Bool().Draw(d.t, label) }

// rarely is true once in n times.
func (d draws) rarely(n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(d.t, label) == n-1
}

// day draws a value of the column that may partition the table. An empty one is not the same with and
// without partitions.
func (d draws) day() any {
	days := []any{"d1", "d2", "x y/%=", nil}
	if d.h.demand.partitioned || d.h.demand.flat {
		days = append(days, "")
	}
	return rapid.SampledFrom(days).Draw(d.t, "day")
}

// input draws up to n rows: all columns, or some, or one more that the table lacks.
func (d draws) input(n int, evolve, nulls bool) input {
	in := input{columns: slices.Clone(d.s.columns)}
	if d.rarely(3, "fewer columns") {
		in.columns = slices.DeleteFunc(in.columns, func(c column) bool {
			return c.key != colID && c.key != colSeq && c.key != colDay && rapid.Bool().Draw(d.t, "without "+c.name)
		})
	}
	if evolve {
		in.added = d.s.keys
		in.columns = append(in.columns, column{in.added, fmt.Sprint("c", in.added), drawType(d.t)})
	}
	for range rapid.IntRange(0, n).Draw(d.t, "rows") {
		in.rows = append(in.rows, d.row(in, nulls))
	}
	return in
}

func drawType(t *rapid.T) arrow.DataType {
	return rapid.SampledFrom([]arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64, timestamps, &arrow.Decimal128Type{Precision: 12, Scale: 2}}).Draw(t, "type")
}

// row draws a row, at times one that the table has, or has in another version.
func (d draws) row(in input, nulls bool) map[int]any {
	cells := map[int]any{}
	if len(d.s.rows) > 0 && d.flip("of a row of the table") {
		was := rapid.SampledFrom(d.s.rows).Draw(d.t, "row").cells
		for _, c := range in.columns {
			cells[c.key] = was[c.key]
		}
		if d.flip("changed") {
			c := rapid.SampledFrom(in.columns).Draw(d.t, "in column")
			cells[c.key] = drawCell(d.t, c.name, c.typ)
		}
	} else {
		for _, c := range in.columns {
			cells[c.key] = drawCell(d.t, c.name, c.typ)
		}
		cells[colID] = drawKey(d.t, "id")
		cells[colDay] = d.day()
	}
	if cells[colDay] == "" || cells[colDay] != nil && !slices.Contains([]any{"d1", "d2", "x y/%="}, cells[colDay]) {
		cells[colDay] = d.day()
	}
	if id, ok := cells[colID].(int64); !ok && !nulls || ok && (id < 0 || id >= keys) {
		cells[colID] = drawKey(d.t, "id")
	}
	if seq, ok := cells[colSeq].(int64); !ok && !nulls || ok && (seq < 0 || seq > 9) {
		cells[colSeq] = rapid.Int64Range(0, 5).Draw(d.t, "seq")
	}
	return cells
}

// written is rows as a person reads them.
func written(in input) string {
	var names, lines []string
	for _, c := range in.columns {
		names = append(names, c.name)
	}
	for _, r := range in.rows {
		lines = append(lines, "("+rowText(in.columns, r)+")")
	}
	return fmt.Sprintf("rows (%s): %s", strings.Join(names, " "), strings.Join(lines, ", "))
}

// verb is a call of a verb that gives a result.
func verb(call func(ctx context.Context, w *world) (*idem.Result, error)) func(*world) (answer, error) {
	return func(w *world) (answer, error) {
		res, err := call(w.ctx, w)
		if err != nil {
			return answer{}, err
		}
		w.columns = fmt.Sprint(res.AddedColumns, res.MissingColumns)
		return answer{outcome: res.Outcome, tally: tallyOf(res)}, nil
	}
}

// given is a verb that takes rows.
func given(in input, call func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error)) func(*world) (answer, error) {
	return verb(func(ctx context.Context, w *world) (*idem.Result, error) {
		r := w.rows(in)
		defer r.Release()
		return call(ctx, w.table, r)
	})
}

func (d draws) append() *op {
	evolve := d.rarely(8, "Evolve")
	in := d.input(6, evolve, true)
	return &op{
		call: fmt.Sprintf("Append(Evolve: %t) %s", evolve, written(in)), plain: true, exact: true,
		model: func(s *state) answer {
			added, rows := s.evolve(in), s.taken(in)
			n := int64(len(rows))
			return s.settle(append(slices.Clip(s.rows), rows...), n > 0 || added, tally{read: n, inserted: n})
		},
		do: given(in, func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
			return t.Append(ctx, r, idem.Append{Reason: "duplicates are welcome", Evolve: evolve})
		}),
	}
}

// txn draws a tag: the next version, one that is recorded, an older one.
func (d draws) txn() idem.Txn {
	app := rapid.SampledFrom([]string{"loader", "other"}).Draw(d.t, "app")
	was, known := d.s.tags[app]
	if !known {
		was = noTag
	}
	v := max(0, was.Recorded+rapid.SampledFrom([]int64{1, 1, 2, 0, -1}).Draw(d.t, "version after the recorded"))
	return idem.Txn{AppID: app, Version: v, VerifyPayload: d.rarely(3, "VerifyPayload"), Reapply: v >= was.Recorded && d.rarely(3, "Reapply")}
}

// maybe draws a tag or none.
func (d draws) maybe() idem.Txn {
	if d.rarely(4, "with a tag") {
		return d.txn()
	}
	return idem.Txn{}
}

func tagText(x idem.Txn) string {
	if x == (idem.Txn{}) {
		return ""
	}
	return fmt.Sprintf(", Txn: {%s %d VerifyPayload: %t Reapply: %t}", x.AppID, x.Version, x.VerifyPayload, x.Reapply)
}

func (d draws) appendWithTxn() *op {
	txn := d.txn()
	txn.Evolve = d.rarely(10, "Evolve")
	in := d.input(6, txn.Evolve, true)
	return &op{
		call: fmt.Sprintf("AppendWithTxn(Evolve: %t%s) %s", txn.Evolve, tagText(txn), written(in)), exact: true, txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(in), func() answer {
				s.evolve(in)
				rows := s.taken(in)
				n := int64(len(rows))
				return s.settle(append(slices.Clip(s.rows), rows...), true, tally{read: n, inserted: n})
			})
		},
		do: given(in, func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
			return t.AppendWithTxn(ctx, r, txn)
		}),
	}
}

func (d draws) replaceWhere() *op {
	where, evolve, empty, txn := drawCondition(d.t, d.s), d.rarely(10, "Evolve"), d.flip("AllowEmpty"), d.maybe()
	in := d.input(6, evolve, true)
	if !d.rarely(6, "rows outside the slice") {
		in.rows = slices.DeleteFunc(in.rows, func(r map[int]any) bool { return where.holds(d.normal(r)) != yes })
	}
	if d.rarely(4, "as it is") {
		in = d.slice(where.is)
	}
	return &op{
		call: fmt.Sprintf("ReplaceWhere(%s, AllowEmpty: %t, Evolve: %t%s) %s", where.text, empty, evolve, tagText(txn), written(in)), txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(in), func() answer {
				added, rows := s.evolve(in), s.taken(in)
				if len(rows) == 0 && !empty || slices.ContainsFunc(rows, func(r *row) bool { return !where.is(r) }) {
					return refused(idem.ErrInput)
				}
				return s.replace(where.is, rows, added)
			})
		},
		do: given(in, func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
			return t.ReplaceWhere(ctx, r, idem.ReplaceWhere{Where: where.text, AllowEmpty: empty, Evolve: evolve, Txn: txn})
		}),
	}
}

// normal is a row as the table has it.
func (d draws) normal(cells map[int]any) map[int]any {
	return d.s.clone().taken(input{rows: []map[int]any{cells}})[0].cells
}

// slice is rows that the table has.
func (d draws) slice(in func(*row) bool) input {
	out := input{columns: d.s.columns}
	inside, _ := d.s.parted(in)
	for _, r := range inside {
		out.rows = append(out.rows, r.cells)
	}
	return out
}

func everyRow(*row) bool { return true }

func (d draws) replaceAll() *op {
	evolve, empty, txn := d.rarely(10, "Evolve"), d.flip("AllowEmpty"), d.maybe()
	in := d.input(8, evolve, true)
	switch rapid.IntRange(0, 3).Draw(d.t, "rows of the table") {
	case 0:
		in = d.slice(everyRow)
	case 1:
		in = d.slice(func(*row) bool { return d.flip("kept") })
	}
	return &op{
		call: fmt.Sprintf("ReplaceAll(AllowEmpty: %t, Evolve: %t%s) %s", empty, evolve, tagText(txn), written(in)), txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(in), func() answer {
				added, rows := s.evolve(in), s.taken(in)
				if len(rows) == 0 && !empty {
					return refused(idem.ErrInput)
				}
				return s.replace(everyRow, rows, added)
			})
		},
		do: given(in, func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
			return t.ReplaceAll(ctx, r, idem.ReplaceAll{AllowEmpty: empty, Evolve: evolve, Txn: txn})
		}),
	}
}

// overwrite replaces whole partitions, which all worlds have or none.
func (d draws) overwrite() *op {
	if !d.h.demand.partitioned && !d.h.demand.flat {
		return nil
	}
	in, txn := d.input(5, false, true), d.maybe()
	if d.rarely(4, "as it is") {
		day := d.day()
		in = d.slice(func(r *row) bool { return r.cells[colDay] == day })
	}
	return &op{
		call: fmt.Sprintf("OverwritePartitions(%s) %s", tagText(txn), written(in)), txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(in), func() answer {
				if !s.partitioned {
					return refused(idem.ErrInput)
				}
				rows, days := s.taken(in), map[any]bool{}
				for _, r := range rows {
					days[r.cells[colDay]] = true
				}
				return s.replace(func(r *row) bool { return days[r.cells[colDay]] }, rows, false)
			})
		},
		do: given(in, func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
			return maintain.OverwritePartitions(ctx, t, r, maintain.Overwrite{Txn: txn})
		}),
	}
}

func (d draws) delete() *op {
	where, txn := drawCondition(d.t, d.s), d.maybe()
	return &op{
		call: fmt.Sprintf("Delete(%s%s)", where.text, tagText(txn)), exact: true, txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(input{}), func() answer {
				gone, rest := s.parted(where.is)
				return s.settle(rest, len(gone) > 0, tally{deleted: int64(len(gone))})
			})
		},
		do: verb(func(ctx context.Context, w *world) (*idem.Result, error) {
			return w.table.Delete(ctx, idem.Delete{Where: where.text, Txn: txn})
		}),
	}
}

// assignment is a value that an update sets, as a tree and as Go.
type assignment struct {
	column, text string
	set          func(cells map[int]any) (key int, v any)
}

func (d draws) assignment(tagged bool) assignment {
	able := slices.DeleteFunc(slices.Clone(d.s.columns), func(c column) bool { return c.key == colID || c.key == colWords })
	c := rapid.SampledFrom(able).Draw(d.t, "column to set")
	switch {
	case c.key == colSeq && tagged:
		return assignment{c.name, d.s.sql(colSeq) + " + 1", func(cells map[int]any) (int, any) {
			if n, ok := cells[colSeq].(int64); ok {
				return colSeq, n + 1
			}
			return colSeq, nil
		}}
	case c.key == colSeq:
		n := rapid.Int64Range(0, 6).Draw(d.t, "seq")
		return assignment{c.name, fmt.Sprint(n), func(map[int]any) (int, any) { return colSeq, n }}
	case c.key == colDay:
		v := d.day()
		return assignment{c.name, literal(v, c.typ), func(map[int]any) (int, any) { return colDay, v }}
	case c.key == colPlace:
		v := drawCell(d.t, "city", arrow.BinaryTypes.String)
		return assignment{c.name + ".city", literal(v, arrow.BinaryTypes.String), func(cells map[int]any) (int, any) {
			p, ok := cells[colPlace].(fields)
			if !ok {
				p = fields{nil, nil}
			}
			return colPlace, fields{v, p[1]}
		}}
	}
	v := drawCell(d.t, c.name, c.typ)
	if b, ok := v.(blob); v == nil && c.typ.ID() == arrow.BINARY || ok && b == "" {
		v = blob("zz")
	}
	return assignment{c.name, literal(v, c.typ), func(map[int]any) (int, any) { return c.key, v }}
}

func (d draws) update() *op {
	where, txn := drawCondition(d.t, d.s), idem.Txn{}
	if d.rarely(3, "with a tag") {
		txn = idem.Txn{AppID: fmt.Sprint("update ", d.s.ops), Version: 1}
	}
	a := d.assignment(txn.AppID != "")
	set := map[string]expr.Expr{}
	var err error
	if set[a.column], err = expr.Parse(a.text); err != nil {
		d.t.Fatalf("%s: %v", a.text, err)
	}
	return &op{
		call: fmt.Sprintf("UpdateTable(SET %s = %s WHERE %s%s)", a.column, a.text, where.text, tagText(txn)), exact: true, txn: txn,
		model: func(s *state) answer {
			return s.tagged(txn, s.payload(input{}), func() answer { return s.update(where, a) })
		},
		do: verb(func(ctx context.Context, w *world) (*idem.Result, error) {
			return maintain.UpdateTable(ctx, w.table, maintain.Update{Where: where.text, SetExpr: set, Txn: txn})
		}),
	}
}

func (s *state) update(where condition, a assignment) answer {
	var next []*row
	updated := int64(0)
	for _, r := range s.rows {
		if where.is(r) {
			key, v := a.set(r.cells)
			if s.partitioned && key == colDay && v == "" {
				v = nil
			}
			if cellText(v) != cellText(r.cells[key]) {
				r = r.with(s.ops, map[int]any{key: v})
				updated++
			}
		}
		next = append(next, r)
	}
	return s.settle(next, updated > 0, tally{updated: updated})
}

// rewind moves a tag back.
func (d draws) rewind() *op {
	if len(d.s.tags) == 0 {
		return nil
	}
	app := rapid.SampledFrom(slices.Sorted(maps.Keys(d.s.tags))).Draw(d.t, "app")
	was := d.s.tags[app]
	to := max(-1, was.Recorded-rapid.Int64Range(-1, 2).Draw(d.t, "back by"))
	return &op{
		call: fmt.Sprintf("RewindTxn(%s, %d)", app, to), loose: was.Recorded != was.InEffect || len(was.Gaps) > 0,
		model: func(s *state) answer {
			was := s.tags[app]
			if was.Recorded < to {
				return refused(idem.ErrInput)
			}
			changed := was.Recorded != to || was.InEffect != was.Recorded || len(was.Gaps) > 0
			s.tags[app] = tag{Tag: tabletest.Moved(to), kept: was.kept}
			return s.settle(s.rows, changed, tally{})
		},
		do: verb(func(ctx context.Context, w *world) (*idem.Result, error) { return w.table.RewindTxn(ctx, app, to) }),
	}
}

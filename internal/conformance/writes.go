package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// maxCopied bounds a table that is copied to be written to.
const maxCopied = 32 << 20

// WriteLine is a write that is claimed to be allowed or refused.
type WriteLine struct {
	Rule    string `json:"rule"`
	SQL     string `json:"sql"` // {t} is the table
	Outcome string `json:"outcome"`
	Rows    *int64 `json:"rows"`
	Hash    string `json:"rows_sha256"`
}

// writes tries on copies what the line says of writing. Whatever it says, one row more must either be
// there afterwards or be refused by name.
func (c *check) writes(ctx context.Context, snap *delta.Snapshot) {
	if !c.readable(snap) || snap.SizeInBytes() > maxCopied {
		return
	}
	err := c.tryAppend(ctx, snap)
	switch claim, _, _ := strings.Cut(c.line.Write, " "); {
	case claim == "refuse" && c.line.Write == "refuse" && err == nil:
		c.fault("a row was appended; writing must be refused")
	case claim == "allow" && err != nil:
		c.fault("a row must be appended: %v", err)
	}
	for _, w := range c.line.WriteChecks {
		c.try(ctx, w)
	}
	for _, rule := range slices.Sorted(maps.Keys(c.line.WriteRules)) {
		if !slices.ContainsFunc(c.line.WriteChecks, func(w WriteLine) bool { return w.Rule == rule }) {
			c.tryRule(ctx, rule, c.line.WriteRules[rule])
		}
	}
}

// copied is the table in memory.
func (c *check) copied(ctx context.Context) (*idem.Table, error) {
	mem := store.NewMem()
	for info, err := range c.store.List(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		data, err := c.store.Get(ctx, info.Key, maxCopied)
		if err != nil {
			return nil, err
		}
		if err := mem.Put(ctx, info.Key, data); err != nil {
			return nil, err
		}
	}
	return idem.OpenStore(ctx, mem, idem.Options{Parallelism: 1})
}

// tryAppend appends a copy of a row that the table has. The error is a refusal that is in order.
func (c *check) tryAppend(ctx context.Context, snap *delta.Snapshot) error {
	t, err := c.copied(ctx)
	if err != nil {
		return err
	}
	row, err := firstRow(ctx, t, snap)
	if err != nil || row == nil {
		return err
	}
	defer row.Release()
	before, err := rowsIn(ctx, t)
	if err == nil {
		err = appended(ctx, t, row)
	}
	if err != nil {
		if !refusal(err) {
			c.fault("a copy of a row must be appended, or refused by name: %v", err)
		}
		return err
	}
	if after, err := rowsIn(ctx, t); err != nil || after != before+1 {
		c.fault("%d rows and one appended are %d (%v)", before, after, err)
	}
	return nil
}

// refusal says whether an error is one by which a write is refused: of the rows, or by a name.
func refusal(err error) bool {
	return errors.Is(err, idem.ErrInput) || errors.Is(err, idem.ErrUnsupported)
}

func appended(ctx context.Context, t *idem.Table, row arrow.RecordBatch) error {
	r, err := array.NewRecordReader(row.Schema(), []arrow.RecordBatch{row})
	if err != nil {
		return err
	}
	defer r.Release()
	_, err = t.Append(ctx, r, idem.Append{Reason: "a write that the corpus claims something about"})
	return err
}

// firstRow is a row of the table, without the columns that the table fills itself; nil if it is empty.
func firstRow(ctx context.Context, t *idem.Table, snap *delta.Snapshot) (arrow.RecordBatch, error) {
	var columns []string
	for i, f := range snap.Schema().Fields {
		numbered, err := snap.Identity(i)
		if err != nil {
			return nil, err
		}
		_, generated, err := snap.Generation(i)
		if err != nil {
			return nil, err
		}
		if numbered == nil && !generated {
			columns = append(columns, f.Name)
		}
	}
	for batch, err := range t.Scan(ctx, idem.Scan{Columns: columns}) {
		if err != nil {
			return nil, err
		}
		if batch.NumRows() > 0 {
			return batch.NewSlice(0, 1), nil
		}
	}
	return nil, nil
}

func rowsIn(ctx context.Context, t *idem.Table) (n int64, err error) {
	for batch, err := range t.Scan(ctx, idem.Scan{Columns: []string{}}) {
		if err != nil {
			return 0, err
		}
		n += batch.NumRows()
	}
	return n, nil
}

// try carries out one claimed write on a copy.
func (c *check) try(ctx context.Context, w WriteLine) {
	t, err := c.copied(ctx)
	if err != nil {
		c.fault("%s: %v", w.Rule, err)
		return
	}
	err = execute(ctx, t, w.SQL)
	if errors.Is(err, errForeign) {
		c.note("not tried: %s: %v", w.Rule, err)
		return
	}
	c.judge(w.Rule, w.Outcome, err)
	if w.Outcome != "allow" || err != nil {
		return
	}
	rows, err := canonicalRows(t.Scan(ctx, idem.Scan{}))
	switch {
	case err != nil:
		c.fault("%s: the rows afterwards: %v", w.Rule, err)
	case w.Rows != nil && int64(len(rows)) != *w.Rows:
		c.fault("%s: %d rows afterwards, not %d", w.Rule, len(rows), *w.Rows)
	case w.Hash != "" && Hash(rows) != w.Hash:
		c.fault("%s: the rows afterwards hash to %s, not %s: %s", w.Rule, Hash(rows), w.Hash, rows)
	}
}

// judge holds what came of a write against the claim.
func (c *check) judge(rule, outcome string, err error) {
	switch {
	case outcome == "allow" && err != nil:
		c.fault("%s must be allowed: %v", rule, err)
	case outcome == "refuse" && err == nil:
		c.fault("%s must be refused", rule)
	case outcome == "refuse" && !refusal(err):
		c.fault("%s must be refused by name: %v", rule, err)
	case outcome != "allow" && outcome != "refuse":
		c.note("%s, of which the corpus says %q: %v", rule, outcome, err)
	}
}

func canonicalRows(batches iter.Seq2[arrow.RecordBatch, error]) (out [][]byte, err error) {
	err = eachRow(batches, func(row []byte) { out = append(out, slices.Clone(row)) })
	return out, err
}

// tryRule tries a rule that has no statement: a verb, perhaps with "column=null".
func (c *check) tryRule(ctx context.Context, rule, outcome string) {
	t, err := c.copied(ctx)
	if err != nil {
		c.fault("%s: %v", rule, err)
		return
	}
	row, err := firstRow(ctx, t, t.Snapshot())
	if err != nil || row == nil {
		c.note("not tried: %s: there is no row to write (%v)", rule, err)
		return
	}
	defer row.Release()
	first := row.ColumnName(0)
	verb, rest, _ := strings.Cut(rule, " ")
	switch verb {
	case "append":
		name, null, ok := strings.Cut(rest, "=")
		if ok && null == "null" {
			row = withNull(row, name)
			defer row.Release()
		}
		err = appended(ctx, t, row)
	case "delete":
		_, err = t.Delete(ctx, idem.Delete{Where: fmt.Sprintf("`%s` IS NOT NULL", first)})
	case "overwrite", "replaceWhere":
		var r array.RecordReader
		if r, err = array.NewRecordReader(row.Schema(), []arrow.RecordBatch{row}); err == nil {
			defer r.Release()
			if verb == "overwrite" {
				_, err = t.ReplaceAll(ctx, r, idem.ReplaceAll{})
			} else {
				_, err = t.ReplaceWhere(ctx, r, idem.ReplaceWhere{Where: fmt.Sprintf("`%s` IS NOT NULL", first)})
			}
		}
	case "optimize":
		_, err = maintain.OptimizeTable(ctx, t, maintain.Optimize{})
	default:
		c.note("not tried: %s", rule)
		return
	}
	c.judge(rule, outcome, err)
}

// withNull is a row with NULL in a column. The caller releases it.
func withNull(row arrow.RecordBatch, name string) arrow.RecordBatch {
	columns := slices.Clone(row.Columns())
	fields := slices.Clone(row.Schema().Fields())
	for i, f := range fields {
		if f.Name == name {
			b := array.NewNull(1)
			defer b.Release()
			columns[i], fields[i].Type, fields[i].Nullable = b, arrow.Null, true
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 1)
}

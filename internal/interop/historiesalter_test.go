package interop_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/maintain"
)

// upkeep are the turns that leave the rows alone, but for a restore.
var upkeep = []turn{
	{"add column", 2, false, (*history).addColumn}, {"rename column", 2, false, (*history).renameColumn}, {"drop column", 1, false, (*history).dropColumn},
	{"move column", 1, false, (*history).moveColumn}, {"widen column", 2, false, (*history).widenColumn},
	{"add constraint", 1, false, (*history).addConstraint}, {"drop constraint", 1, false, (*history).dropConstraint},
	{"set properties", 5, false, (*history).setProperties}, {"optimize", 2, false, (*history).optimize}, {"order", 1, false, (*history).order},
	{"vacuum", 1, false, (*history).vacuum}, {"restore", 2, true, (*history).restore}, {"checkpoint", 1, false, (*history).checkpoint},
	{"compact the log", 1, false, (*history).compactLog}, {"clean up the log", 1, false, (*history).cleanUp},
}

// alters is a change of the definition.
func (h *history) alters(told, sql string, change maintain.Change, next *tale) *deed {
	return &deed{told: told, next: next, sql: []string{"ALTER TABLE " + h.sql() + " " + sql},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.AlterTable(ctx, h.table, maintain.Alter{Changes: []maintain.Change{change}})
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
}

// free says that no constraint names a column, so that it may get another name or type, or go.
func (h *history) free(key int) bool { return !h.state.constrained(key) }

func (h *history) addColumn() *deed {
	if len(h.state.columns) > 12 || h.plain {
		return nil
	}
	typ := pick(h.r, "byte", "short", "integer", "float", "date", "string", "decimal(5,2)", "boolean")
	c := taleColumn{h.keys, fmt.Sprint("c", h.step), typ}
	h.keys++
	next := h.state.clone()
	next.columns = append(next.columns, c)
	return h.alters(c.name+" "+typ, fmt.Sprintf("ADD COLUMNS (%s %s)", c.name, sqlType(typ)), maintain.AddColumn{Name: c.name, Type: arrowType(h.t, typ)}, next)
}

func (h *history) mapped() bool { return h.table.Snapshot().Mapping() != delta.MappingNone }

func (h *history) renameColumn() *deed {
	c := pick(h.r, h.state.columns...)
	if !h.mapped() || !h.free(c.key) {
		return nil
	}
	to := pick(h.r, fmt.Sprint("n", h.step), fmt.Sprint("odd, ", h.step))
	next := h.state.clone()
	next.columns[next.index(c.key)].name = to
	return h.alters(c.name+" to "+to, fmt.Sprintf("RENAME COLUMN %s TO %s", ticked(c.name), ticked(to)), maintain.RenameColumn{Name: c.name, To: to}, next)
}

func (h *history) dropColumn() *deed {
	c := pick(h.r, h.state.columns...)
	if !h.mapped() || !h.free(c.key) || c.key <= taleSeq {
		return nil
	}
	next := h.state.clone()
	next.columns = slices.DeleteFunc(next.columns, func(o taleColumn) bool { return o.key == c.key })
	for _, r := range next.rows {
		delete(r, c.key)
	}
	return h.alters(c.name, "DROP COLUMN "+ticked(c.name), maintain.DropColumn{Name: c.name}, next)
}

func (h *history) moveColumn() *deed {
	c, after := pick(h.r, h.state.columns...), pick(h.r, h.state.columns...)
	if c.key == after.key || h.plain || h.clustered() && h.is("delta.dataSkippingNumIndexedCols") != "" {
		return nil // Spark wants a column by which a table is clustered to stay among the first, which have statistics
	}
	next := h.state.clone()
	next.columns = slices.DeleteFunc(next.columns, func(o taleColumn) bool { return o.key == c.key })
	if h.r.IntN(4) == 0 {
		next.columns = slices.Insert(next.columns, 0, c)
		return h.alters(c.name+" to the front", "ALTER COLUMN "+ticked(c.name)+" FIRST", maintain.MoveColumn{Name: c.name, First: true}, next)
	}
	next.columns = slices.Insert(next.columns, next.index(after.key)+1, c)
	return h.alters(c.name+" behind "+after.name, "ALTER COLUMN "+ticked(c.name)+" AFTER "+ticked(after.name), maintain.MoveColumn{Name: c.name, After: after.name}, next)
}

func (h *history) widenColumn() *deed {
	var able []taleColumn
	for _, c := range h.state.columns {
		if len(wider(c.typ)) > 0 && h.free(c.key) && (c.typ != "date" || h.table.Snapshot().Protocol().Supports("timestampNtz")) {
			able = append(able, c)
		}
	}
	if h.is("delta.enableTypeWidening") == "true" && len(able) > 0 {
		c := pick(h.r, able...)
		to := pick(h.r, wider(c.typ)...)
		next := h.state.clone()
		next.columns[next.index(c.key)].typ = to
		for _, r := range next.rows {
			r[c.key] = widened(r[c.key], to)
		}
		return h.alters(c.name+" to "+to, fmt.Sprintf("ALTER COLUMN %s TYPE %s", ticked(c.name), sqlType(to)), maintain.WidenColumn{Name: c.name, Type: arrowType(h.t, to)}, next)
	}
	return nil
}

func (h *history) addConstraint() *deed {
	key := pick(h.r, taleID, taleSeq)
	check := h.state.sql(key) + " >= 0"
	next := h.state.clone()
	name := fmt.Sprint("k", h.step)
	next.constraints[name] = key
	return h.alters(name+": "+check, fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s)", name, check), maintain.AddConstraint{Name: name, Check: check}, next)
}

func (h *history) dropConstraint() *deed {
	if len(h.state.constraints) == 0 {
		return nil
	}
	name := pick(h.r, slices.Sorted(maps.Keys(h.state.constraints))...)
	next := h.state.clone()
	delete(next.constraints, name)
	return h.alters(name, "DROP CONSTRAINT "+name, maintain.DropConstraint{Name: name}, next)
}

// is gives a table property, "" if it is not set.
func (h *history) is(property string) string {
	v, _ := h.table.Snapshot().Property(property)
	return v
}

// switches are properties that are turned on and off; those of plain tables leave out the features that
// delta-rs does not know.
var switches = map[bool][]string{
	true:  {"delta.appendOnly", "delta.enableChangeDataFeed"},
	false: {"delta.appendOnly", "delta.enableChangeDataFeed", "delta.enableDeletionVectors", "delta.enableDeletionVectors", "delta.enableRowTracking", "delta.enableInCommitTimestamps", "delta.enableTypeWidening"},
}

func (h *history) setProperties() *deed {
	property, value := pick(h.r, switches[h.plain]...), "true"
	switch {
	case h.is("delta.appendOnly") == "true":
		property, value = "delta.appendOnly", "false" // so that it does not stay so for long
	case h.r.IntN(4) == 0:
		property, value = "delta.checkpointInterval", fmt.Sprint(2+h.r.IntN(5))
	case h.r.IntN(5) == 0:
		property, value = "delta.dataSkippingNumIndexedCols", fmt.Sprint(h.r.IntN(4)-1)
	case h.plain:
	case h.r.IntN(4) == 0 && !h.mapped():
		property, value = "delta.columnMapping.mode", "name"
	case h.r.IntN(5) == 0:
		property, value = "delta.checkpointPolicy", pick(h.r, "v2", "v2", "classic")
	}
	if value == "true" && h.is(property) == "true" {
		value = "false"
	}
	return h.alters(property+" = "+value, fmt.Sprintf("SET TBLPROPERTIES ('%s' = '%s')", property, value), maintain.SetProperties{Properties: map[string]string{property: value}}, h.state.clone())
}

func (h *history) optimize() *deed { return h.optimizes("", maintain.Optimize{}) }

// order sorts by a column, which Spark refuses of a table that may be clustered, even by nothing, as after an overwrite.
func (h *history) order() *deed {
	if h.clustered() || h.is("delta.dataSkippingNumIndexedCols") != "" {
		return nil
	}
	name := h.state.columns[h.state.index(taleID)].name
	return h.optimizes(" ZORDER BY ("+ticked(name)+")", maintain.Optimize{ZOrderBy: []string{name}})
}

// clustered says whether the table may be clustered.
func (h *history) clustered() bool { return h.table.Snapshot().Protocol().Supports("clustering") }

func (h *history) optimizes(by string, o maintain.Optimize) *deed {
	d := &deed{told: "every file" + by, next: h.state.clone(), sql: []string{"OPTIMIZE " + h.sql() + by},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.OptimizeTable(ctx, h.table, o)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
	if by == "" {
		d.deltaRS = h.rs("optimize", map[string]any{})
	}
	return d
}

func (h *history) vacuum() *deed {
	return &deed{told: "all that nothing needs", next: h.state.clone(), forgets: true, sql: []string{"VACUUM " + h.sql() + " RETAIN 0 HOURS"},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.VacuumTable(ctx, h.table, maintain.Vacuum{Retention: 1, AllowShortRetention: true})
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
}

func (h *history) restore() *deed {
	versions := slices.DeleteFunc(slices.Sorted(maps.Keys(h.was)), func(v int64) bool { return v < h.floor || v == h.table.Version() })
	if len(versions) == 0 {
		return nil
	}
	to := pick(h.r, versions...)
	d := &deed{told: fmt.Sprint("to version ", to), next: h.was[to].clone(), sql: []string{fmt.Sprintf("RESTORE TABLE %s TO VERSION AS OF %d", h.sql(), to)},
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.RestoreTable(ctx, h.table, maintain.Restore{To: maintain.Version(to)})
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
	if h.plain {
		d.deltaRS = h.rs("restore", map[string]any{"version": to})
	}
	return d
}

func (h *history) checkpoint() *deed {
	return &deed{told: "of the newest version", next: h.state.clone(), deltaRS: h.rs("checkpoint", map[string]any{}),
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.Checkpoint(ctx, h.table)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
}

func (h *history) compactLog() *deed {
	last := h.table.Version()
	first := max(0, last-int64(1+h.r.IntN(4)))
	if h.floor > 0 {
		first = max(first, h.floor+1) // a compaction wants the version before it
	}
	if first >= last {
		return nil
	}
	return &deed{told: fmt.Sprintf("%d to %d", first, last), next: h.state.clone(),
		idem: func(ctx context.Context) (idem.Outcome, error) {
			res, err := maintain.CompactLog(ctx, h.table, first, last)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
}

// cleanUp has the commits expire that are older than a checkpoint of the newest version.
func (h *history) cleanUp() *deed {
	return &deed{told: "all but the newest version", next: h.state.clone(), forgets: true,
		idem: func(ctx context.Context) (idem.Outcome, error) {
			if _, err := maintain.Checkpoint(ctx, h.table); err != nil {
				return 0, err
			}
			if err := h.age(h.table.Version()); err != nil {
				return 0, err
			}
			res, err := maintain.CleanUpLog(ctx, h.table, maintain.CleanUp{})
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
	}
}

// age makes the commits before a version as old as they must be to expire.
func (h *history) age(version int64) error {
	long := time.Now().AddDate(0, 0, -60)
	for v := range version {
		name := filepath.Join(h.path, "_delta_log", fmt.Sprintf("%020d.json", v))
		err := os.Chtimes(name, long, long.Add(time.Duration(v)*time.Minute))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logio"
)

// Verdict is what became of a line.
type Verdict int

// The verdicts.
const (
	Right   Verdict = iota // the table was read, and every claim holds
	Refused                // it was refused as it must be, as the line allows, or by name of a feature that idem lacks
	Wrong
)

// Result is the verdict on a line.
type Result struct {
	Verdict Verdict
	Faults  []string // why it is wrong
	Notes   []string // what was not checked, and refusals
}

// Run checks one line of the corpus below root. temp is a directory of the caller's, for what needs
// unpacking. An error says that the line could not be checked at all.
func Run(ctx context.Context, root string, l *Line, temp string) (Result, error) {
	dir, err := place(root, l, temp)
	if err != nil {
		return Result{}, err
	}
	st, err := store.OpenDir(dir)
	if err != nil {
		return Result{}, err
	}
	c := &check{line: l, root: root, store: readOnly{Store: st, read: map[string]bool{}}}
	c.log = logio.New(c.store, logio.Options{ReadOnly: true})
	c.run(ctx)
	if len(c.result.Faults) > 0 {
		c.result.Verdict = Wrong
	}
	return c.result, nil
}

// check is the work on one line.
type check struct {
	line   *Line
	root   string
	store  readOnly
	log    *logio.Log
	result Result
}

func (c *check) fault(format string, args ...any) {
	c.result.Faults = append(c.result.Faults, fmt.Sprintf(format, args...))
}

func (c *check) note(format string, args ...any) {
	c.result.Notes = append(c.result.Notes, fmt.Sprintf(format, args...))
}

func (c *check) run(ctx context.Context) {
	snap, err := c.log.Load(ctx)
	if err == nil {
		c.readCheckpoint()
	}
	if err == nil && c.readable(snap) {
		err = c.rows(ctx, snap, claim{c.line.Rows, c.hashes(c.line.Hash, c.line.Version), c.line.Data})
	}
	if c.line.Outcome == "refuse" {
		c.refuse(ctx, snap, err)
	} else {
		c.read(ctx, snap, err)
	}
	c.versions(ctx)
}

// readable says whether the newest version's rows can be looked at.
func (c *check) readable(snap *delta.Snapshot) bool {
	return c.line.DataAbsent == 0 && snap.HasSchema() && !strings.HasSuffix(c.line.Table, ".tar.zst")
}

// refuse judges a table that must not be read.
func (c *check) refuse(ctx context.Context, snap *delta.Snapshot, err error) {
	switch {
	case err == nil && c.line.mayRead():
		c.note("read, as %q allows", c.line.Alternative)
	case err == nil:
		c.fault("version %d was read; it must be refused", snap.Version())
	default:
		c.result.Verdict = Refused
		c.note("%v", err)
		if why := c.misnamed(ctx, err); why != "" {
			c.fault("refused with %q: %s", err, why)
		}
	}
}

// misnamed says why a refusal has the wrong sentinel, "" if it has the right one: a directory
// without a log is no table, what a newer writer may mean is unsupported, and all else that must be
// refused is corrupt.
func (c *check) misnamed(ctx context.Context, err error) string {
	newer := slices.ContainsFunc([]string{"protocol", "schema"}, c.line.tagged) || c.line.Protocol != nil && c.line.Protocol.Reader > 3
	switch {
	case errors.Is(err, delta.ErrNotTable):
		for info, err := range c.store.List(ctx, delta.LogDir, "") {
			if err == nil {
				return "there is a log: " + info.Key
			}
			return err.Error()
		}
		return ""
	case c.lacks(err), errors.Is(err, delta.ErrUnsupported) && newer:
		return "" // a feature, a version or a type that is not defined yet
	case errors.Is(err, delta.ErrCorrupt) && (c.line.tagged("malformed") || !newer && len(c.lacking()) == 0):
		return ""
	case errors.Is(err, delta.ErrUnsupported):
		return "the table is corrupt, or the feature that idem lacks is not named"
	}
	return "the error has none of the sentinels that the table calls for"
}

// read judges a table that is to be read.
func (c *check) read(ctx context.Context, snap *delta.Snapshot, err error) {
	switch {
	case err == nil:
		c.state(snap)
		c.times(ctx, snap)
		c.conditions(ctx, snap)
		c.feeds(ctx)
		c.writes(ctx, snap)
		c.rowTracking(ctx)
	case c.lacks(err):
		c.result.Verdict = Refused
		c.note("%v", err)
	case c.line.mayRefuse() && named(err):
		c.result.Verdict = Refused
		c.note("refused, as the line allows: %v", err)
	default:
		c.fault("it must be read: %v", err)
	}
}

// named says whether an error has one of the sentinels.
func named(err error) bool {
	return errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported) || errors.Is(err, delta.ErrNotTable)
}

// lacks says whether an error names a table feature that the line needs and that idem lacks.
func (c *check) lacks(err error) bool {
	return errors.Is(err, delta.ErrUnsupported) &&
		slices.ContainsFunc(c.lacking(), func(f string) bool { return strings.Contains(err.Error(), f) })
}

// lacking are the features that the table needs, or may need by its tags, and that idem does not
// read. A tag such as "columnMapping:name" counts by what is before the colon.
func (c *check) lacking() []string {
	out := slices.DeleteFunc(slices.Clone(c.line.Needs), func(name string) bool { return !lacksFeature(name) })
	for _, tag := range c.line.Features {
		if name, _, _ := strings.Cut(tag, ":"); readerFeature(name) && lacksFeature(name) {
			out = append(out, name)
		}
	}
	return out
}

// lacksFeature asks the gate, the only place that knows.
func lacksFeature(name string) bool {
	return errors.Is(gate(delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{name}, WriterFeatures: []string{name}}),
		delta.ErrUnsupported)
}

// readerFeature says whether a tag is the name of a feature that readers must know: the gate
// refuses one that stands in the writers' list alone.
func readerFeature(tag string) bool {
	return gate(delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{tag}}) != nil
}

func gate(p delta.Protocol) error {
	m := &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: (&delta.Struct{}).JSON(),
		Configuration: map[string]string{"delta.columnMapping.mode": "name"}}
	return delta.GateRead(&p, m, &delta.Struct{})
}

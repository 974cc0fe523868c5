package logcheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// tagName is the key in add.tags of a file's rows and digest.
const tagName = "idem.fingerprint"

// files reads every live file.
func (c *checker) files(ctx context.Context) error {
	constraints := c.constraints()
	for f := range c.snap.Files() {
		c.report.Files++
		if c.origins[f.Key].unfit {
			continue
		}
		if err := c.file(ctx, f, constraints); err != nil {
			return err
		}
	}
	return nil
}

// constraints binds the CHECK constraints that idem can evaluate; it writes to no table with others.
func (c *checker) constraints() map[string]*pred.Predicate {
	out := map[string]*pred.Predicate{}
	for name, text := range c.snap.Constraints() {
		tree, err := expr.Parse(text)
		if err != nil {
			continue
		}
		if p, err := pred.Bind(tree, c.snap.ArrowSchema()); err == nil {
			out[name] = p
		}
	}
	return out
}

func (c *checker) file(ctx context.Context, f *delta.Add, constraints map[string]*pred.Predicate) error {
	v := c.origins[f.Key].version
	info, err := c.store.Head(ctx, f.Key)
	switch {
	case errors.Is(err, store.ErrNotExist):
		c.find(FileMissing, v, f.Path, "the store has no such object")
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", f.Path, err)
	case info.Size != f.Size:
		c.find(FileSize, v, f.Path, "it has %d bytes, the log says %d", info.Size, f.Size)
		return nil
	}
	s := newSums(c.snap, f)
	for batch, err := range scan.File(ctx, scan.Table{Store: c.store, Snapshot: c.snap, Parallelism: 1}, f, nil) {
		if err == nil {
			err = s.add(batch, constraints)
		}
		if broken(err) {
			c.find(FileUnreadable, v, f.Path, "%v", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	c.report.Rows += s.rows
	c.compare(f, v, s)
	return nil
}

// compare holds what the log says of a file against its rows.
func (c *checker) compare(f *delta.Add, v int64, s *sums) {
	for _, column := range slices.Sorted(maps.Keys(s.required)) {
		c.find(RowNull, v, f.Path, "column %s has %d", column, s.required[column])
	}
	for _, name := range slices.Sorted(maps.Keys(s.unsatisfied)) {
		c.find(RowConstraint, v, f.Path, "%d rows do not satisfy %s", s.unsatisfied[name], name)
	}
	if n, d, ok := fingerprint(f); ok && (n != s.rows || d != s.digest) {
		c.find(TagFingerprint, v, f.Path, "the tag says %d rows and %s, the file has %d rows and %s", n, d, s.rows, s.digest)
	}
	c.stats(f, v, s)
}

// fingerprint reads the tag of a file, "idem1:<rows>:<32 hex digits>:<vector>". One of another
// format, or for another vector than the file's, is trusted by nobody.
func fingerprint(f *delta.Add) (n int64, d rows.Digest, ok bool) {
	text, ok := f.Tags[tagName]
	parts := strings.SplitN(text, ":", 4)
	if !ok || len(parts) != 4 || parts[0] != rows.DigestFormat || parts[3] != f.DeletionVector.ID() {
		return 0, d, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return -1, d, true
	}
	if d, err = rows.ParseDigest(parts[2]); err != nil {
		return -1, d, true
	}
	return n, d, true
}

// sums is what the rows of a file come to.
type sums struct {
	snap        *delta.Snapshot
	rows        int64
	digest      rows.Digest
	required    map[string]int64 // NULLs by column that must have none
	unsatisfied map[string]int64 // rows by constraint
	columns     []*extent        // data columns
}

func newSums(snap *delta.Snapshot, f *delta.Add) *sums {
	s := &sums{snap: snap, required: map[string]int64{}, unsatisfied: map[string]int64{}}
	for _, l := range leaves(snap) {
		s.columns = append(s.columns, newExtent(l, f.Stats))
	}
	return s
}

func (s *sums) add(batch arrow.RecordBatch, constraints map[string]*pred.Predicate) error {
	s.rows += batch.NumRows()
	d, err := rows.DigestRows(batch, nil)
	if err != nil {
		return err
	}
	s.digest = s.digest.Add(d)
	for i, f := range s.snap.Schema().Fields {
		s.nulls(f, f.Name, batch.Column(i), func(int) bool { return true })
	}
	for name, p := range constraints {
		if err := s.constraint(name, p, batch); err != nil {
			return err
		}
	}
	for _, e := range s.columns {
		e.add(batch)
	}
	return nil
}

// nulls counts NULLs where none may be, in a column and in the structs below it. present says for
// which rows the structs around it are there.
func (s *sums) nulls(f delta.Field, path string, column arrow.Array, present func(int) bool) {
	if !f.Nullable {
		for i := range column.Len() {
			if present(i) && column.IsNull(i) {
				s.required[path]++
			}
		}
	}
	inner, ok := f.Type.(*delta.Struct)
	outer, is := column.(*array.Struct)
	if !ok || !is {
		return
	}
	for i, child := range inner.Fields {
		s.nulls(child, path+"."+child.Name, outer.Field(i), func(i int) bool { return present(i) && outer.IsValid(i) })
	}
}

func (s *sums) constraint(name string, p *pred.Predicate, batch arrow.RecordBatch) error {
	mask, err := p.Eval(memory.DefaultAllocator, batch)
	if err != nil {
		return fmt.Errorf("constraint %s: %w", name, err)
	}
	defer mask.Release()
	for i := range mask.Len() {
		if mask.IsNull(i) || !mask.Value(i) {
			s.unsatisfied[name]++
		}
	}
	return nil
}

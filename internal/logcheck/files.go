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
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// tagName is the key in add.tags of a file's rows and digest.
const tagName = "idem.fingerprint"

// files reads every live file.
func (c *checker) files(ctx context.Context) error {
	c.ranges()
	rules := c.rowRules()
	for f := range c.snap.Files() {
		c.report.Files++
		if c.origins[f.Key].unfit {
			continue
		}
		if err := c.file(ctx, f, rules); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) file(ctx context.Context, f *delta.Add, rules *rowRules) error {
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
	if ok, err := c.vector(ctx, f, v); !ok || err != nil {
		return err
	}
	s := newSums(c.snap, f, rules)
	tracked := c.snap.TracksRows() && f.BaseRowID != nil && columnless(c.snap)
	t := scan.Table{Store: c.store, Snapshot: c.snap, Parallelism: 1}
	for piece, err := range scan.Live(ctx, t, f, nil, scan.LiveOptions{RowIDs: tracked}) {
		if err == nil {
			err = c.piece(s, f, v, piece, tracked)
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
	return c.stored(ctx, f, v)
}

// piece takes some rows, and their ids if they have such.
func (c *checker) piece(s *sums, f *delta.Add, v int64, p scan.Piece, withIDs bool) error {
	if !withIDs {
		return s.add(p.Batch)
	}
	data, ids, _, err := tracked(p.Batch)
	if err != nil {
		return err
	}
	defer data.Release()
	for i := range ids.Len() {
		if ids.IsValid(i) {
			c.unique(f, v, ids.Value(i), p.Row(i))
		}
	}
	return s.add(data)
}

// compare holds what the log says of a file against its rows.
func (c *checker) compare(f *delta.Add, v int64, s *sums) {
	for _, column := range slices.Sorted(maps.Keys(s.required)) {
		c.find(RowNull, v, f.Path, "column %s has %d", column, s.required[column])
	}
	for _, name := range slices.Sorted(maps.Keys(s.unsatisfied)) {
		c.find(RowConstraint, v, f.Path, "%d rows do not satisfy %s", s.unsatisfied[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ungenerated)) {
		c.find(RowGenerated, v, f.Path, "column %s is another value in %d rows", name, s.ungenerated[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.overlong)) {
		c.find(RowLength, v, f.Path, "column %s has %d", name, s.overlong[name])
	}
	if s.misnumbered != "" {
		c.find(RowIdentity, v, f.Path, "column %s", s.misnumbered)
	}
	if s.malformed != "" {
		c.find(RowVariant, v, f.Path, "column %s", s.malformed)
	}
	if n, d, ok := fingerprint(f); ok && c.believed(f) && (n != s.rows || d != s.digest) {
		c.find(TagFingerprint, v, f.Path, "the tag says %d rows and %s, the file has %d rows and %s", n, d, s.rows, s.digest)
	}
	c.stats(f, v, s)
}

// believed says whether a file's digest must be that of its rows as they are now. Where the file tells under
// which columns it was made, as idem's do in tables with column mapping, that decides: its author's commit
// may be that of a clone.
func (c *checker) believed(f *delta.Add) bool {
	return trusted(c.snap, f) || f.Tags[columnsTag] == "" && c.sameNames(f)
}

// sameNames says whether the columns of a file still have the names under which it was written: the
// digest in its tag is of these.
func (c *checker) sameNames(f *delta.Add) bool {
	then := c.snaps[c.authors[f.Key].version]
	if then == nil {
		return false
	}
	now := map[string]string{}
	for _, l := range leaves(c.snap) {
		now[joined(l.path)] = joined(l.logical)
	}
	for _, l := range leaves(then) {
		if now[joined(l.path)] != joined(l.logical) {
			return false
		}
	}
	partitions := map[string]string{} // names by the keys that stay
	for _, name := range c.snap.PartitionColumns() {
		partitions[c.snap.PartitionKey(name)] = name
	}
	for _, name := range then.PartitionColumns() {
		if partitions[then.PartitionKey(name)] != name {
			return false
		}
	}
	return true
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
	rules       *rowRules
	rows        int64
	digest      rows.Digest
	required    map[string]int64 // NULLs by column that must have none
	unsatisfied map[string]int64 // rows by constraint
	ungenerated map[string]int64 // rows by generated column
	overlong    map[string]int64 // texts by column
	misnumbered string           // the first wrong number
	malformed   string           // the first malformed variant
	columns     []*extent        // data columns
}

func newSums(snap *delta.Snapshot, f *delta.Add, rules *rowRules) *sums {
	return &sums{snap: snap, rules: rules, required: map[string]int64{}, unsatisfied: map[string]int64{},
		ungenerated: map[string]int64{}, overlong: map[string]int64{}, columns: newExtents(leaves(snap), f.Stats)}
}

func (s *sums) add(batch arrow.RecordBatch) error {
	s.rows += batch.NumRows()
	d, err := rows.DigestRows(batch, nil)
	if err != nil {
		return err
	}
	s.digest = s.digest.Add(d)
	for i, f := range s.snap.Schema().Fields {
		s.column(i, f, batch.Column(i))
	}
	for name, p := range s.rules.constraints {
		if err := s.condition(s.unsatisfied, name, p, batch); err != nil {
			return err
		}
	}
	for name, p := range s.rules.generated {
		if err := s.condition(s.ungenerated, name, p, batch); err != nil {
			return err
		}
	}
	for _, e := range s.columns {
		e.add(batch)
	}
	return nil
}

// column holds a column against what is asked of it alone.
func (s *sums) column(i int, f delta.Field, column arrow.Array) {
	s.nulls(f, f.Name, column, func(int) bool { return true })
	if n := s.rules.numbers[i]; n != nil {
		s.number(f.Name, n, column)
	}
	if limit, err := f.CharType(); err == nil {
		if n := overlong(column, limit); n > 0 {
			s.overlong[f.Name] += n
		}
	}
	if wrong := variants(column); wrong != "" && s.malformed == "" {
		s.malformed = f.Name + ": " + wrong
	}
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

// condition counts the rows for which a condition is not TRUE.
func (s *sums) condition(to map[string]int64, name string, p *pred.Predicate, batch arrow.RecordBatch) error {
	mask, err := p.Eval(memory.DefaultAllocator, batch)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer mask.Release()
	for i := range mask.Len() {
		if mask.IsNull(i) || !mask.Value(i) {
			to[name]++
		}
	}
	return nil
}

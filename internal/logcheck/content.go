package logcheck

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/rows"
)

// sum is a multiset of rows.
type sum struct {
	rows   int64
	digest rows.Digest
}

func (a sum) plus(b sum) sum  { return sum{a.rows + b.rows, a.digest.Add(b.digest)} }
func (a sum) minus(b sum) sum { return sum{a.rows - b.rows, a.digest.Sub(b.digest)} }

// content holds the rows of the files that a commit adds and removes against what it says of them.
// Files that are gone by now tell nothing.
func (c *checker) content(ctx context.Context, s *step) error {
	var feeds []*delta.CDC
	for _, a := range s.actions {
		if a.CDC != nil {
			feeds = append(feeds, a.CDC)
			c.feedForm(s, a.CDC)
		}
	}
	if s.before == nil || !s.after.HasSchema() || !s.before.HasSchema() || c.toldOf(s.v) {
		return nil
	}
	kept, known, err := c.difference(ctx, s, false)
	if err != nil {
		return err
	}
	if known && kept != (sum{}) {
		c.find(DataKept, s.v, s.key, "%d rows more, or others", kept.rows)
	}
	if len(feeds) > 0 {
		err = c.feed(ctx, s, feeds)
	} else {
		err = c.feedMissing(ctx, s)
	}
	if err != nil || s.info.Tags["delta.rowTracking.preserved"] != "true" || s.returns() || !s.before.TracksRows() || !s.after.TracksRows() {
		return err
	}
	return c.preserved(ctx, s)
}

// toldOf says whether something is wrong with a version already, so that its rows prove nothing.
func (c *checker) toldOf(v int64) bool {
	return slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return f.Version == v })
}

// sides gives the files that a commit ends and those that it makes live, with the given dataChange.
// ok is false if a remove ends nothing.
func (s *step) sides(dataChange bool) (before, after []*delta.Add, ok bool) {
	for _, r := range s.removes {
		if r.DataChange == dataChange {
			if r.live == nil {
				return nil, nil, false
			}
			before = append(before, r.live)
		}
	}
	for _, f := range s.adds {
		if f.DataChange != dataChange {
			continue
		}
		if was := s.was(f.Key); was != nil && was.DeletionVector.ID() == f.DeletionVector.ID() {
			continue // the same file with other words
		}
		after = append(after, f)
	}
	return before, after, true
}

// difference is what the file actions with the given dataChange make of the table's rows. known is
// false if that cannot be told, or if there are none.
func (c *checker) difference(ctx context.Context, s *step, dataChange bool) (d sum, known bool, err error) {
	before, after, ok := s.sides(dataChange)
	if !ok || len(before)+len(after) == 0 {
		return d, false, nil
	}
	for _, f := range after {
		one, ok, err := c.sum(ctx, s.after, f)
		if !ok || err != nil {
			return d, false, err
		}
		d = d.plus(one)
	}
	for _, f := range before {
		one, ok, err := c.sum(ctx, s.before, f)
		if !ok || err != nil {
			return d, false, err
		}
		d = d.minus(one)
	}
	return d, true, nil
}

// sum reads the live rows of a file. ok is false if it cannot be read any more.
func (c *checker) sum(ctx context.Context, snap *delta.Snapshot, f *delta.Add) (total sum, ok bool, err error) {
	id := f.Key + "\x00" + f.DeletionVector.ID() + "\x00" + snap.Metadata().SchemaString
	if total, ok := c.sums[id]; ok {
		return total, true, nil
	}
	err = c.rowsOf(ctx, snap, f, scan.LiveOptions{}, func(p scan.Piece) error {
		d, err := rows.DigestRows(p.Batch, nil)
		total = total.plus(sum{p.Batch.NumRows(), d})
		return err
	})
	if gone(err) {
		return total, false, nil
	}
	if err == nil {
		c.sums[id] = total
	}
	return total, err == nil, err
}

// errUntold says that a file cannot tell its rows.
var errUntold = errors.New("the file is gone, or none that can be read")

func gone(err error) bool { return errors.Is(err, errUntold) }

// rowsOf gives the live rows of a file that may be gone.
func (c *checker) rowsOf(ctx context.Context, snap *delta.Snapshot, f *delta.Add, o scan.LiveOptions, take func(scan.Piece) error) error {
	if _, err := c.store.Head(ctx, f.Key); errors.Is(err, store.ErrNotExist) {
		return errUntold
	} else if err != nil {
		return err
	}
	for piece, err := range scan.Live(ctx, scan.Table{Store: c.store, Snapshot: snap, Parallelism: 1}, f, nil, o) {
		if errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported) || errors.Is(err, delta.ErrInput) {
			return errUntold // that of a live file is told elsewhere
		}
		if err != nil {
			return err
		}
		if err := take(piece); err != nil {
			return err
		}
	}
	return nil
}

// feedDir is where files of changes are.
const feedDir = "_change_data/"

func (c *checker) feedForm(s *step, f *delta.CDC) {
	c.name(s, f.Path, c.keyOf(f.Path), feedDir)
	if s.after.HasSchema() {
		for _, name := range s.after.PartitionColumns() {
			if _, ok := f.PartitionValues[s.after.PartitionKey(name)]; !ok {
				c.find(FeedForm, s.v, f.Path, "it has no value of %s", name)
			}
		}
	}
}

// feed holds the changes that a commit tells against those that it makes.
func (c *checker) feed(ctx context.Context, s *step, files []*delta.CDC) error {
	is, known, err := c.difference(ctx, s, true)
	if err != nil || !known {
		return err
	}
	var told sum
	for _, f := range files {
		one, err := c.told(ctx, s, f)
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		told = told.plus(one)
	}
	if told != is {
		c.find(FeedRows, s.v, files[0].Path, "the table has %+d rows by what is told, and %+d by its files, or others", told.rows, is.rows)
	}
	return nil
}

// told is what a file of changes makes of the table's rows.
func (c *checker) told(ctx context.Context, s *step, cdc *delta.CDC) (total sum, err error) {
	f := &delta.Add{Path: cdc.Path, Key: c.keyOf(cdc.Path), PartitionValues: cdc.PartitionValues, Size: cdc.Size}
	kind := arrow.Field{Name: "_change_type", Type: arrow.BinaryTypes.String, Nullable: true}
	unknown := false
	err = c.rowsOf(ctx, s.after, f, scan.LiveOptions{Extra: []arrow.Field{kind}}, func(p scan.Piece) error {
		last := int(p.Batch.NumCols()) - 1
		kinds, ok := p.Batch.Column(last).(*array.String)
		if !ok {
			return errUntold
		}
		data := array.NewRecordBatch(arrow.NewSchema(p.Batch.Schema().Fields()[:last], nil), p.Batch.Columns()[:last], p.Batch.NumRows())
		defer data.Release()
		digests := make([]rows.Digest, data.NumRows())
		if err := rows.RowDigests(data, digests); err != nil {
			return err
		}
		for i, d := range digests {
			switch {
			case kinds.IsNull(i):
				unknown = true
			case kinds.Value(i) == "insert" || kinds.Value(i) == "update_postimage":
				total = total.plus(sum{1, d})
			case kinds.Value(i) == "delete" || kinds.Value(i) == "update_preimage":
				total = total.minus(sum{1, d})
			default:
				unknown = true
			}
		}
		return nil
	})
	if unknown {
		c.find(FeedForm, s.v, cdc.Path, "a row has no kind of change that there is")
		return total, errUntold
	}
	return total, err
}

// feedMissing looks at a commit of idem that tells no changes: what it adds and removes is taken for
// them, so that no row may be on both sides.
func (c *checker) feedMissing(ctx context.Context, s *step) error {
	op := s.info.Operation
	if !s.ours || !enabled(s.after, "delta.enableChangeDataFeed") || !(op == "DELETE" || op == "MERGE" || op == "UPDATE") {
		return nil
	}
	before, after, ok := s.sides(true)
	if !ok || len(before) == 0 || len(after) == 0 {
		return nil
	}
	live := map[string]bool{} // of files that stay under another vector only the difference counts
	for _, f := range after {
		live[f.Key] = true
	}
	was := map[rows.Digest]bool{}
	collect := func(snap *delta.Snapshot, f *delta.Add, take func(rows.Digest)) error {
		return c.rowsOf(ctx, snap, f, scan.LiveOptions{}, func(p scan.Piece) error {
			digests := make([]rows.Digest, p.Batch.NumRows())
			if err := rows.RowDigests(p.Batch, digests); err != nil {
				return err
			}
			for _, d := range digests {
				take(d)
			}
			return nil
		})
	}
	for _, f := range before {
		if live[f.Key] {
			continue
		}
		if err := collect(s.before, f, func(d rows.Digest) { was[d] = true }); err != nil {
			return ignoreGone(err)
		}
	}
	both := 0
	for _, f := range after {
		if s.was(f.Key) != nil {
			continue
		}
		if err := collect(s.after, f, func(d rows.Digest) {
			if was[d] {
				both++
			}
		}); err != nil {
			return ignoreGone(err)
		}
	}
	if both > 0 {
		c.find(FeedMissing, s.v, s.key, "%d rows look deleted and inserted", both)
	}
	return nil
}

func ignoreGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// preserved holds the rows of a commit by their ids against what they were.
func (c *checker) preserved(ctx context.Context, s *step) error {
	collect := func(snap *delta.Snapshot, files []*delta.Add, out map[int64]person) error {
		for _, f := range files {
			err := c.rowsOf(ctx, snap, f, scan.LiveOptions{RowIDs: true}, func(p scan.Piece) error {
				data, ids, versions, err := tracked(p.Batch)
				if err != nil {
					return err
				}
				defer data.Release()
				digests := make([]rows.Digest, data.NumRows())
				if err := rows.RowDigests(data, digests); err != nil {
					return err
				}
				for i, d := range digests {
					if ids.IsNull(i) {
						return errUntold
					}
					out[ids.Value(i)] = person{versions.Value(i), d.String()}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	was, is := map[int64]person{}, map[int64]person{}
	for _, dataChange := range []bool{false, true} {
		before, after, ok := s.sides(dataChange)
		if !ok {
			return nil
		}
		if err := collect(s.before, before, was); err != nil {
			return ignoreGone(err)
		}
		if err := collect(s.after, after, is); err != nil {
			return ignoreGone(err)
		}
	}
	c.stable(s, was, is)
	return nil
}

// tracked parts a batch from its two columns of row ids. The caller releases data.
func tracked(b arrow.RecordBatch) (data arrow.RecordBatch, ids, versions *array.Int64, err error) {
	n := int(b.NumCols()) - 2
	ids, ok := b.Column(n).(*array.Int64)
	versions, ok2 := b.Column(n + 1).(*array.Int64)
	if !ok || !ok2 {
		return nil, nil, nil, errUntold
	}
	return array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[:n], nil), b.Columns()[:n], b.NumRows()), ids, versions, nil
}

// columnless says whether a table has a column of the names under which row ids are handed out.
func columnless(snap *delta.Snapshot) bool {
	for _, f := range snap.Schema().Fields {
		if strings.EqualFold(f.Name, delta.RowIDColumn) || strings.EqualFold(f.Name, delta.RowCommitVersionColumn) {
			return false
		}
	}
	return true
}

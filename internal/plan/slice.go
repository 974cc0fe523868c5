package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// fileSlice is what is known of a file, under its vector, and the slice. Neither ever changes, so it
// stays true; what was written for it stays good.
type fileSlice struct {
	add     *delta.Add
	whole   bool          // every row is in the slice, proven without reading
	rows    int64         // that are live
	deleted int64         // of them, in the slice
	gone    *delta.Vector // which rows those are; nil of a whole file
	sum     *rows.Digest  // of the rows in the slice; nil until it is needed
	part    *rows.Digest  // the same without the columns that differ from run to run

	copied  bool         // rest was written
	rest    []*delta.Add // files with the other rows
	after   *delta.Add   // the file under the vector that deletes the slice; nil until it is made
	fed     bool         // changes were written
	changes []*delta.Add // of the change data feed: see Changes
}

// border says whether the file has rows in the slice and others.
func (f *fileSlice) border() bool { return f.deleted > 0 && f.deleted < f.rows }

// oldSlice is the slice as the snapshot has it.
type oldSlice struct {
	files []*fileSlice
	rows  int64
}

// measure counts the rows of the slice. Whole files are counted by their statistics; of the others
// only the condition's columns are read.
func (p *Replace) measure(ctx context.Context, snap *delta.Snapshot, files scan.Pruned, where *pred.Predicate) (*oldSlice, error) {
	stats, err := p.Env.stats(ctx, snap, files.Inside)
	if err != nil {
		return nil, err
	}
	old := &oldSlice{files: make([]*fileSlice, len(files.Inside)+len(files.Across))}
	all, digests := slices.Concat(files.Inside, files.Across), DigestsOf(snap)
	err = p.Env.forEach(ctx, len(all), func(ctx context.Context, i int) error {
		if known := p.known(identity(all[i])); known != nil {
			known.add = all[i]
			old.files[i] = known
			return nil
		}
		s := &fileSlice{add: all[i], whole: i < len(files.Inside)}
		var err error
		if s.whole {
			err = p.countWhole(ctx, snap, s, stats[i], digests)
		} else {
			err = p.countAcross(ctx, snap, s, where)
		}
		old.files[i] = s
		p.remember(s)
		return err
	})
	for _, f := range old.files {
		if f != nil {
			old.rows += f.deleted
		}
	}
	return old, err
}

func (p *Replace) known(id string) *fileSlice {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slices[id]
}

func (p *Replace) remember(s *fileSlice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slices[identity(s.add)] = s
}

// stats gives the statistics of files, fetching those that the snapshot left in the checkpoint.
func (e *Env) stats(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]string, error) {
	out := make([]string, len(files))
	deferred := false
	for i, f := range files {
		out[i] = f.Stats
		deferred = deferred || (f.Stats == "" && f.StatsDeferred)
	}
	if !deferred || e.Stats == nil {
		return out, nil
	}
	return e.Stats.Stats(ctx, snap, files)
}

func (p *Replace) countWhole(ctx context.Context, snap *delta.Snapshot, s *fileSlice, stats string, known *Digests) error {
	if n, d, ok := known.Of(s.add); ok {
		s.rows, s.deleted, s.sum = n, n, &d
		return nil
	}
	if n, ok := liveRows(s.add, stats); ok {
		s.rows, s.deleted = n, n
		return nil
	}
	for batch, err := range scan.File(ctx, p.Env.Table(snap), s.add, []string{}) {
		if err != nil {
			return err
		}
		s.rows += batch.NumRows()
	}
	s.deleted = s.rows
	return nil
}

func (p *Replace) countAcross(ctx context.Context, snap *delta.Snapshot, s *fileSlice, where *pred.Predicate) error {
	s.gone = delta.NewVector()
	for piece, err := range scan.Live(ctx, p.Env.Table(snap), s.add, where.ColumnNames(), scan.LiveOptions{}) {
		if err != nil {
			return err
		}
		mask, err := where.Eval(p.Env.Allocator, piece.Batch)
		if err != nil {
			return fmt.Errorf("file %s: %w", s.add.Path, pred.After(s.rows, err))
		}
		for i := range mask.Len() {
			if isTrue(mask, i) {
				s.gone.Add(piece.Row(i))
			}
		}
		s.rows += piece.Batch.NumRows()
		mask.Release()
	}
	s.deleted = s.gone.Cardinality()
	return nil
}

// digest is the digest of the old slice, of the columns that stay the same from run to run. Only
// files whose digest is not known are read.
func (p *Replace) digest(ctx context.Context, snap *delta.Snapshot, old *oldSlice) (rows.Digest, error) {
	whole := p.in.steady.whole()
	var unknown []*fileSlice
	for _, f := range old.files {
		if f.deleted > 0 && *f.known(whole) == nil {
			unknown = append(unknown, f)
		}
	}
	err := p.Env.forEach(ctx, len(unknown), func(ctx context.Context, i int) error {
		d, err := p.digestFile(ctx, snap, unknown[i])
		if err == nil {
			*unknown[i].known(whole) = &d
		}
		return err
	})
	if err != nil {
		return rows.Digest{}, err
	}
	var sum rows.Digest
	for _, f := range old.files {
		if f.deleted > 0 {
			sum = sum.Add(**f.known(whole))
		}
	}
	return sum, nil
}

// known is where the digest of the file's part of the slice is kept: of all columns, or without those
// that differ from run to run.
func (f *fileSlice) known(whole bool) **rows.Digest {
	if whole {
		return &f.sum
	}
	return &f.part
}

func (p *Replace) digestFile(ctx context.Context, snap *delta.Snapshot, f *fileSlice) (rows.Digest, error) {
	var sum rows.Digest
	for piece, err := range scan.Live(ctx, p.Env.Table(snap), f.add, nil, scan.LiveOptions{}) {
		if err != nil {
			return sum, err
		}
		d, err := p.in.steady.digest(piece.Batch, f.inSlice(piece))
		if err != nil {
			return sum, err
		}
		sum = sum.Add(d)
	}
	return sum, nil
}

// inSlice says which rows of a piece of the file are in the slice; nil means all.
func (f *fileSlice) inSlice(piece scan.Piece) []bool {
	if f.gone == nil {
		return nil
	}
	in := make([]bool, piece.Batch.NumRows())
	for i := range in {
		in[i] = f.gone.Contains(piece.Row(i))
	}
	return in
}

// taken gives the rows of a piece that are in the slice, or those that are not. The caller releases
// them.
func (p *Replace) taken(piece scan.Piece, f *fileSlice, inside bool) (arrow.RecordBatch, error) {
	in := f.inSlice(piece)
	var index []int32
	for i := range int(piece.Batch.NumRows()) {
		if (in == nil || in[i]) == inside {
			index = append(index, int32(i))
		}
	}
	if len(index) == int(piece.Batch.NumRows()) {
		piece.Batch.Retain()
		return piece.Batch, nil
	}
	return rows.Take(p.Env.Allocator, piece.Batch, index)
}

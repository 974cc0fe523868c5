package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// fileSlice is what is known of a file and the slice. Files never change, so it stays true.
type fileSlice struct {
	add     *delta.Add
	whole   bool         // every row is in the slice, proven without reading
	rows    int64        // of the file
	deleted int64        // of the file, in the slice
	sum     *rows.Digest // of the rows in the slice; nil until it is needed
	rest    []*delta.Add // files with the other rows; nil until they are copied
}

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
	all := slices.Concat(files.Inside, files.Across)
	err = p.Env.forEach(ctx, len(all), func(ctx context.Context, i int) error {
		if known := p.known(all[i].Key); known != nil {
			known.add = all[i]
			old.files[i] = known
			return nil
		}
		s := &fileSlice{add: all[i], whole: i < len(files.Inside)}
		var err error
		if s.whole {
			err = p.countWhole(ctx, snap, s, stats[i])
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

func (p *Replace) known(key string) *fileSlice {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slices[key]
}

func (p *Replace) remember(s *fileSlice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slices[s.add.Key] = s
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

func (p *Replace) countWhole(ctx context.Context, snap *delta.Snapshot, s *fileSlice, stats string) error {
	if n, d, ok := FileDigest(s.add); ok {
		s.rows, s.deleted = n, n
		if p.in.steady.whole() {
			s.sum = &d
		}
		return nil
	}
	if n, ok := numRecords(stats); ok {
		s.rows, s.deleted = n, n
		return nil
	}
	for batch, err := range scan.File(ctx, p.Env.table(snap), s.add, []string{}) {
		if err != nil {
			return err
		}
		s.rows += batch.NumRows()
	}
	s.deleted = s.rows
	return nil
}

func (p *Replace) countAcross(ctx context.Context, snap *delta.Snapshot, s *fileSlice, where *pred.Predicate) error {
	for batch, err := range scan.File(ctx, p.Env.table(snap), s.add, where.ColumnNames()) {
		if err != nil {
			return err
		}
		mask, err := where.Eval(p.Env.Allocator, batch)
		if err != nil {
			return fmt.Errorf("file %s: %w", s.add.Path, pred.After(s.rows, err))
		}
		s.rows += batch.NumRows()
		s.deleted += countTrue(mask)
		mask.Release()
	}
	return nil
}

// digest is the digest of the old slice, reading only files whose digest is not known.
func (p *Replace) digest(ctx context.Context, snap *delta.Snapshot, old *oldSlice, where *pred.Predicate) (rows.Digest, error) {
	var unknown []*fileSlice
	for _, f := range old.files {
		if f.sum == nil && f.deleted > 0 {
			unknown = append(unknown, f)
		} else if f.sum == nil {
			f.sum = &rows.Digest{}
		}
	}
	err := p.Env.forEach(ctx, len(unknown), func(ctx context.Context, i int) error {
		d, err := p.digestFile(ctx, snap, unknown[i], where)
		unknown[i].sum = &d
		return err
	})
	if err != nil {
		return rows.Digest{}, err
	}
	var sum rows.Digest
	for _, f := range old.files {
		sum = sum.Add(*f.sum)
	}
	return sum, nil
}

func (p *Replace) digestFile(ctx context.Context, snap *delta.Snapshot, f *fileSlice, where *pred.Predicate) (rows.Digest, error) {
	var sum rows.Digest
	for batch, err := range scan.File(ctx, p.Env.table(snap), f.add, nil) {
		if err != nil {
			return sum, err
		}
		keep, err := p.inSlice(batch, f, where)
		if err != nil {
			return sum, err
		}
		d, err := p.in.steady.digest(batch, keep)
		if err != nil {
			return sum, err
		}
		sum = sum.Add(d)
	}
	return sum, nil
}

func (p *Replace) inSlice(batch arrow.RecordBatch, f *fileSlice, where *pred.Predicate) ([]bool, error) {
	if f.whole {
		return nil, nil
	}
	mask, err := where.Eval(p.Env.Allocator, batch)
	if err != nil {
		return nil, err
	}
	defer mask.Release()
	keep := make([]bool, mask.Len())
	for i := range keep {
		keep[i] = isTrue(mask, i)
	}
	return keep, nil
}

// copyRest writes the rows beside the slice of every file across its border, once for each file.
func (p *Replace) copyRest(ctx context.Context, snap *delta.Snapshot, old *oldSlice, where *pred.Predicate) ([]*delta.Add, error) {
	err := p.Env.forEach(ctx, len(old.files), func(ctx context.Context, i int) error {
		f := old.files[i]
		if f.deleted == 0 || f.deleted == f.rows || f.rest != nil {
			return nil
		}
		var err error
		f.rest, err = p.copyFile(ctx, snap, f, where)
		return err
	})
	var kept []*delta.Add
	for _, f := range old.files {
		kept = append(kept, f.rest...)
	}
	return kept, err
}

func (p *Replace) copyFile(ctx context.Context, snap *delta.Snapshot, f *fileSlice, where *pred.Predicate) ([]*delta.Add, error) {
	set, err := NewFileSet(ctx, p.Env, snap, CopiedRows)
	if err != nil {
		return nil, err
	}
	for batch, err := range scan.File(ctx, p.Env.table(snap), f.add, nil) {
		if err == nil {
			err = p.copyBatch(ctx, set, batch, where)
		}
		if err != nil {
			set.Abort()
			return nil, err
		}
	}
	files, err := set.Finish()
	if err == nil && set.Rows() != f.rows-f.deleted {
		err = conservation(f.add, f.rows, 0, f.deleted, set.Rows())
	}
	if err != nil {
		set.Abort()
	}
	return files, err
}

// copyBatch writes the rows for which the condition is not TRUE: FALSE and NULL are kept.
func (p *Replace) copyBatch(ctx context.Context, set *FileSet, batch arrow.RecordBatch, where *pred.Predicate) error {
	mask, err := where.Eval(p.Env.Allocator, batch)
	if err != nil {
		return err
	}
	defer mask.Release()
	b := array.NewBooleanBuilder(p.Env.Allocator)
	defer b.Release()
	b.Reserve(mask.Len())
	for i := range mask.Len() {
		b.UnsafeAppend(!isTrue(mask, i))
	}
	keep := b.NewBooleanArray()
	defer keep.Release()
	kept, err := compute.FilterRecordBatch(compute.WithAllocator(ctx, p.Env.Allocator), batch, keep, compute.DefaultFilterOptions())
	if err != nil {
		return err
	}
	defer kept.Release()
	return set.Write(kept)
}

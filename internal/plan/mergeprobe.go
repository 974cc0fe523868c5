package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// change is what happens to one row of a file.
type change struct {
	row  int64 // in the file
	from int32 // row of the file's news
	kind rowKind
}

// touched is what a merge's source does to one file. Neither changes, so it stays true over
// attempts.
type touched struct {
	add  *delta.Add
	rows int64

	matched [][]int32     // for each part: source rows with a match, once for each match
	changes []change      // by part; sorted by row before they are carried out
	news    *spill.Buffer // the source rows that change a row, in the order of changes
	moved   *spill.Buffer // changed rows that left the file's partition
	counts  Counts        // what the changes are

	out       []*delta.Add // files with the rows after the changes; written once
	rewritten bool
}

// probe looks for the source's keys in files that were not looked at yet. Parts are loaded one at a
// time; within a part files are read side by side.
func (p *Merge) probe(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) error {
	var fresh []*touched
	for _, f := range files {
		if known := p.seen[f.Key]; known != nil {
			known.add = f
			continue
		}
		t := &touched{add: f, matched: make([][]int32, len(p.sources)), news: p.area.NewBuffer(p.shape.source)}
		fresh = append(fresh, t)
	}
	if len(fresh) == 0 {
		return nil
	}
	for part, s := range p.sources {
		if s.size == 0 {
			continue
		}
		if err := p.load(s); err != nil {
			return err
		}
		err := p.Env.forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
			return p.probeFile(ctx, snap, fresh[i], part)
		})
		p.unload(s)
		if err != nil {
			return err
		}
	}
	for _, t := range fresh {
		p.seen[t.add.Key] = t
	}
	return nil
}

func (p *Merge) probeFile(ctx context.Context, snap *delta.Snapshot, t *touched, part int) error {
	columns := p.shape.names(p.shape.probeColumns(p.Request.CompareTies))
	first := int64(0)
	for batch, err := range scan.File(ctx, p.Env.table(snap), t.add, columns) {
		if err != nil {
			return err
		}
		if err := p.probeBatch(t, part, batch, first); err != nil {
			return err
		}
		first += batch.NumRows()
	}
	t.rows = first
	return nil
}

func (p *Merge) probeBatch(t *touched, part int, batch arrow.RecordBatch, first int64) error {
	s := p.sources[part]
	keys, err := named(batch, p.shape.keyNames())
	if err != nil {
		return err
	}
	found := make([]int32, batch.NumRows())
	if err := s.index.Probe(keys, found); err != nil {
		return err
	}
	j, err := p.newJudge(s, batch)
	if err != nil {
		return err
	}
	var news []int32
	for i, from := range found {
		if from < 0 || (!p.Request.MatchNulls && anyNull(keys, i)) {
			continue
		}
		t.matched[part] = append(t.matched[part], from)
		if j.applies(&t.counts, int(from), i) {
			t.changes = append(t.changes, change{row: first + int64(i), from: int32(len(t.changes)), kind: s.kinds[from]})
			news = append(news, from)
		}
	}
	return p.keep(t, s, news)
}

// keep sets the source rows aside that change rows of a file.
func (p *Merge) keep(t *touched, s *source, news []int32) error {
	if len(news) == 0 {
		return nil
	}
	batch, err := rows.Take(p.Env.Allocator, s.batch, news)
	if err != nil {
		return err
	}
	defer batch.Release()
	return t.news.Append(batch)
}

func anyNull(columns []arrow.Array, i int) bool {
	return slices.ContainsFunc(columns, func(c arrow.Array) bool { return c.IsNull(i) })
}

// judge decides whether a source row changes the target row that it matches.
type judge struct {
	shape *mergeShape
	kinds []rowKind
	newer *rows.Order    // source against target on the guarding columns
	same  *rows.Equality // on the columns that an update sets; nil unless compared
}

func (p *Merge) newJudge(s *source, batch arrow.RecordBatch) (*judge, error) {
	j := &judge{shape: p.shape, kinds: s.kinds}
	var err error
	if len(p.shape.guard) > 0 {
		target, err := named(batch, p.shape.names(p.shape.guard))
		if err != nil {
			return nil, err
		}
		if j.newer, err = rows.NewOrder(pick(s.batch, p.shape.guard), target); err != nil {
			return nil, err
		}
	}
	if p.shape.unguided || p.Request.CompareTies {
		if j.same, err = p.sameUpdate(s, batch); err != nil {
			return nil, err
		}
	}
	return j, err
}

// sameUpdate compares source rows with those of a batch, in what an update sets.
func (p *Merge) sameUpdate(s *source, batch arrow.RecordBatch) (*rows.Equality, error) {
	target, err := named(batch, p.shape.names(p.shape.update))
	if err != nil {
		return nil, err
	}
	left, right := make([]arrow.Array, len(target)), make([]arrow.Array, len(target))
	defer release(left)
	defer release(right)
	for i, c := range p.shape.update {
		left[i] = p.shape.lacks[c].without(p.Env.Allocator, s.batch.Column(c))
		right[i] = p.shape.lacks[c].without(p.Env.Allocator, target[i])
	}
	return rows.NewEquality(left, right)
}

// applies counts a matched row and says whether it changes.
func (j *judge) applies(c *Counts, from, to int) bool {
	c.Matched++
	if j.newer == nil {
		if j.kinds[from] == upserts && j.same.Equal(from, to) {
			return false
		}
		j.count(c, from)
		return true
	}
	switch order := j.newer.Compare(from, to); {
	case order < 0:
		c.SkippedOlder++
		return false
	case order == 0:
		c.Ties++
		if j.same != nil && j.differs(from, to) {
			c.TiesDiffering++
		}
		return false
	}
	j.count(c, from)
	return true
}

// differs says whether a tie would change the row. A soft delete keeps the last values.
func (j *judge) differs(from, to int) bool {
	if j.kinds[from] == deletes {
		return j.shape.soft < 0
	}
	return !j.same.Equal(from, to)
}

func (j *judge) count(c *Counts, from int) {
	if j.kinds[from] == deletes && j.shape.soft < 0 {
		c.Deleted++
		return
	}
	c.Updated++
}

// tally adds up what the source does to the files, and says which source rows have a match.
func (p *Merge) tally(files []*delta.Add) ([][]bool, error) {
	c := Counts{Read: p.Counts.Read, Identical: p.Counts.Identical, Older: p.Counts.Older}
	matched := make([][]bool, len(p.sources))
	for part, s := range p.sources {
		matched[part] = make([]bool, s.size)
		for _, f := range files {
			for _, from := range p.seen[f.Key].matched[part] {
				if matched[part][from] && !p.Request.AllowTargetDuplicates {
					return nil, p.duplicated(s, int(from))
				}
				matched[part][from] = true
			}
		}
	}
	for _, f := range files {
		t := p.seen[f.Key].counts
		c.Matched, c.Updated, c.Deleted = c.Matched+t.Matched, c.Updated+t.Updated, c.Deleted+t.Deleted
		c.SkippedOlder, c.Ties, c.TiesDiffering = c.SkippedOlder+t.SkippedOlder, c.Ties+t.Ties, c.TiesDiffering+t.TiesDiffering
	}
	p.Counts = c
	return matched, nil
}

func (p *Merge) duplicated(s *source, row int) error {
	if err := p.load(s); err != nil {
		return err
	}
	return fmt.Errorf("%w: the table has more than one row with the key %s; nothing was changed: find them with Table.Duplicates and repair them, "+
		"or set AllowTargetDuplicates to update them all", delta.ErrInput, describe(s.batch, p.shape.keyNames(), row))
}

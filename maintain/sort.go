package maintain

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

const (
	leastSample = 200    // rows by which columns are cut into ranges
	mostSample  = 10_000 //
	sortRows    = 65_536 // that are written at once
	mostRanges  = 256    // into which rows are divided before they are sorted
)

// sort writes the rows of the bin along the curve. They are divided into ranges of it, so that each
// fits the budget as a rule, and each range is sorted by itself; one that does not fit is sorted in
// pieces, which costs tightness and nothing else.
func (c *copier) sort() (tally, error) {
	g, err := c.newGrid()
	if err != nil {
		return tally{}, err
	}
	defer g.release()
	area := c.env.Area(memoryBytes(c.env) / 4)
	defer area.Close()
	if err := g.cut(c.ranges()); err != nil {
		return tally{}, err
	}
	parts := area.NewPartitions(c.set.Schema(), len(g.cuts)+1)
	read, err := c.each(func(batch arrow.RecordBatch) error {
		places, err := g.places(batch)
		if err != nil {
			return err
		}
		part := make([]uint32, len(places))
		for i, p := range places {
			part[i] = g.part(p)
		}
		return parts.Append(batch, part)
	})
	if err != nil {
		return tally{}, err
	}
	for i := range parts.Len() {
		if err := c.sortRange(g, parts.Partition(i)); err != nil {
			return tally{}, err
		}
	}
	return read, nil
}

// share is how much is sorted at once: it is held twice, as it was and joined.
func (c *copier) share() int64 { return max(memoryBytes(c.env)/8, 1<<10) }

// ranges is the number of ranges that rows are divided into: rows are larger than their files.
func (c *copier) ranges() int {
	return int(min(1+4*c.bin.size/c.share(), mostRanges))
}

func (c *copier) sortRange(g *grid, b *spill.Buffer) error {
	var held []arrow.RecordBatch
	size := int64(0)
	flush := func() error {
		defer func() {
			release(held)
			held, size = nil, 0
		}()
		if len(held) == 0 {
			return nil
		}
		return c.sortBatches(g, held)
	}
	for batch, err := range b.Batches() {
		if err == nil && size+rows.Bytes(batch) > c.share() {
			err = flush()
		}
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil {
			release(held)
			return err
		}
		batch.Retain()
		held, size = append(held, batch), size+rows.Bytes(batch)
	}
	if err := flush(); err != nil {
		return err
	}
	return b.Close()
}

func release(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// sortBatches writes batches as one run along the curve; rows of one place are ordered by the columns.
func (c *copier) sortBatches(g *grid, batches []arrow.RecordBatch) error {
	all, err := rows.Concat(c.env.Allocator, batches)
	if err != nil {
		return err
	}
	defer all.Release()
	places, err := g.places(all)
	if err != nil {
		return err
	}
	columns, err := c.order.of(all)
	if err != nil {
		return err
	}
	order, err := rows.NewOrder(columns, columns)
	if err != nil {
		return err
	}
	index := make([]int32, all.NumRows())
	for i := range index {
		index[i] = int32(i)
	}
	slices.SortStableFunc(index, func(a, b int32) int {
		return cmp.Or(cmp.Compare(places[a], places[b]), order.Compare(int(a), int(b)))
	})
	for part := range slices.Chunk(index, sortRows) {
		sorted, err := rows.Take(c.env.Allocator, all, part)
		if err != nil {
			return err
		}
		err = c.set.Write(sorted)
		sorted.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// grid cuts each column into ranges with as many rows each, by a sample: a row's ranges are its
// coordinates, and they have a place on the curve.
type grid struct {
	order  *ordering
	bits   int
	sample arrow.RecordBatch // of the top-level columns; nil without rows
	pivots [][]int32         // for each column the rows of the sample that begin a range, ascending
	cuts   []uint64          // the first place of each range of the curve but the first
}

func (g *grid) release() {
	if g.sample != nil {
		g.sample.Release()
	}
}

// newGrid samples the columns, a first time through the files.
func (c *copier) newGrid() (*grid, error) {
	g := &grid{order: c.order, bits: curveBits(len(c.order.columns))}
	s := &sampler{random: rand.New(rand.NewPCG(1, 2))}
	defer s.release()
	for _, f := range c.bin.files {
		for piece, err := range c.live(f, c.order.top()) {
			if err == nil {
				err = s.take(c, piece.Batch)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	var err error
	if g.sample, err = s.rows(c); err != nil || g.sample == nil {
		return g, err
	}
	if err := g.pivot(); err != nil {
		g.release()
		return nil, err
	}
	return g, nil
}

// pivot chooses where ranges begin.
func (g *grid) pivot() error {
	columns, err := g.order.of(g.sample)
	if err != nil {
		return err
	}
	n := int(g.sample.NumRows())
	for _, column := range columns {
		order, err := rows.NewOrder([]arrow.Array{column}, []arrow.Array{column})
		if err != nil {
			return err
		}
		sorted := make([]int32, n)
		for i := range sorted {
			sorted[i] = int32(i)
		}
		slices.SortFunc(sorted, func(a, b int32) int { return order.Compare(int(a), int(b)) })
		var pivots []int32
		last := sorted[0]
		for i := 1; i < 1<<g.bits; i++ {
			at := sorted[i*n>>g.bits]
			if order.Compare(int(at), int(last)) > 0 {
				pivots, last = append(pivots, at), at
			}
		}
		g.pivots = append(g.pivots, pivots)
	}
	return nil
}

// places gives the places of rows on the curve.
func (g *grid) places(batch arrow.RecordBatch) ([]uint64, error) {
	out := make([]uint64, batch.NumRows())
	if g.sample == nil {
		return out, nil
	}
	columns, err := g.order.of(batch)
	if err != nil {
		return nil, err
	}
	sampled, err := g.order.of(g.sample)
	if err != nil {
		return nil, err
	}
	orders := make([]*rows.Order, len(columns))
	for k := range columns {
		if orders[k], err = rows.NewOrder(columns[k:k+1], sampled[k:k+1]); err != nil {
			return nil, err
		}
	}
	point := make([]uint32, len(columns))
	for i := range out {
		for k, order := range orders {
			at, exact := slices.BinarySearchFunc(g.pivots[k], i, func(pivot int32, row int) int { return -order.Compare(row, int(pivot)) })
			if exact {
				at++
			}
			point[k] = uint32(at)
		}
		out[i] = curvePlace(point, g.bits)
	}
	return out, nil
}

// cut divides the curve into n ranges with as many rows of the sample each.
func (g *grid) cut(n int) error {
	if g.sample == nil || n < 2 {
		return nil
	}
	places, err := g.places(g.sample)
	if err != nil {
		return err
	}
	slices.Sort(places)
	for i := 1; i < n; i++ {
		if at := places[i*len(places)/n]; len(g.cuts) == 0 && at > places[0] || len(g.cuts) > 0 && at > g.cuts[len(g.cuts)-1] {
			g.cuts = append(g.cuts, at)
		}
	}
	return nil
}

func (g *grid) part(place uint64) uint32 {
	at, exact := slices.BinarySearch(g.cuts, place)
	if exact {
		at++
	}
	return uint32(at)
}

// sampler keeps rows of a stream so that each has the same chance, as many as its share of the budget
// holds.
type sampler struct {
	random  *rand.Rand // of a fixed seed: the same files give the same layout
	limit   int64      // rows; 0 until the first batch
	seen    int64
	batches []arrow.RecordBatch
	held    int     // rows of the batches, those among them that were displaced, too
	which   []int32 // of each row kept, its batch
	row     []int32 // and its number there
}

func (s *sampler) take(c *copier, batch arrow.RecordBatch) error {
	if s.limit == 0 {
		s.limit = min(max(c.share()*batch.NumRows()/max(rows.Bytes(batch), 1), leastSample), mostSample)
	}
	var chosen []int32
	for i := range batch.NumRows() {
		slot := s.seen
		if s.seen++; slot < s.limit {
			s.which, s.row = append(s.which, 0), append(s.row, 0)
		} else if slot = s.random.Int64N(s.seen); slot >= s.limit {
			continue
		}
		s.which[slot], s.row[slot] = int32(len(s.batches)), int32(len(chosen))
		chosen = append(chosen, int32(i))
	}
	if len(chosen) == 0 {
		return nil
	}
	kept, err := rows.Take(c.env.Allocator, batch, chosen)
	if err != nil {
		return fmt.Errorf("sample rows: %w", err)
	}
	s.batches, s.held = append(s.batches, kept), s.held+len(chosen)
	if s.held > 2*len(s.row) {
		return s.compact(c)
	}
	return nil
}

// compact lets go of the rows that were displaced.
func (s *sampler) compact(c *copier) error {
	all, err := s.rows(c)
	if err != nil || all == nil {
		return err
	}
	release(s.batches)
	s.batches, s.held = []arrow.RecordBatch{all}, len(s.row)
	for i := range s.row {
		s.which[i], s.row[i] = 0, int32(i)
	}
	return nil
}

// rows gives the sample, nil if there was no row. The caller releases it.
func (s *sampler) rows(c *copier) (arrow.RecordBatch, error) {
	if len(s.batches) == 0 {
		return nil, nil
	}
	return rows.TakeFrom(c.env.Allocator, s.batches, s.which, s.row)
}

func (s *sampler) release() { release(s.batches) }

package plan

import (
	"context"
	"fmt"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

const (
	shownRows = 3 // rows or keys that an error shows

	// fanBits is how many bits of the hash one level of partitioning uses.
	fanBits = 6
)

// Deduped is one row a key, and what became of the others: Read = Kept + Identical + Older.
type Deduped struct {
	Buffer    *spill.Buffer // the caller closes it
	Read      int64
	Kept      int64
	Identical int64 // dropped because an equal row is kept
	Older     int64 // dropped because a newer row is kept
}

// Dedupe keeps of each key the row that is greatest on the columns order; key, order and compare
// number columns of src. Rows that tie on order must agree in compare, and then the first is kept;
// otherwise the error wraps [delta.ErrInput], counts the keys and shows some. NULL in a column of
// order is [delta.ErrInput] too. NULL keys are equal to each other; who does not want them calls
// CheckKeys first.
//
// Which rows are kept does not depend on the order or the batching of src. The rows come out in an
// order that depends on src and Env.MemoryBytes alone. Rows beyond a share of Env.MemoryBytes are
// partitioned by key and spilled to area. src stays the caller's.
func Dedupe(ctx context.Context, env *Env, area *spill.Area, src *spill.Buffer, key, order, compare []int) (*Deduped, error) {
	schema, err := schemaOf(src)
	if err != nil {
		return nil, err
	}
	d := &deduper{
		ctx: ctx, env: env, area: area, schema: schema, key: key, order: order, compare: compare,
		share: max(1, env.memoryBytes()/4),
		out:   area.NewBuffer(schema),
	}
	d.done.Read = src.Rows()
	if err = d.checkOrder(src); err == nil {
		err = d.part(src, 0)
	}
	if err == nil {
		err = d.tied()
	}
	if err != nil {
		d.out.Close()
		return nil, err
	}
	d.done.Buffer, d.done.Kept = d.out, d.out.Rows()
	return &d.done, nil
}

// schemaOf is the schema of a buffer's batches, empty if it has none.
func schemaOf(b *spill.Buffer) (*arrow.Schema, error) {
	for batch, err := range b.Batches() {
		if err != nil {
			return nil, err
		}
		return batch.Schema(), nil
	}
	return arrow.NewSchema(nil, nil), nil
}

type deduper struct {
	ctx                 context.Context
	env                 *Env
	area                *spill.Area
	schema              *arrow.Schema
	key, order, compare []int
	share               int64 // bytes of rows that are looked at together

	out  *spill.Buffer
	done Deduped

	ties  int64
	shown []string // keys that tie
}

// checkOrder refuses NULL in the columns of order.
func (d *deduper) checkOrder(src *spill.Buffer) error {
	if len(d.order) == 0 {
		return d.ctx.Err()
	}
	var found nullCells
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return err
		}
		found.look(batch, d.order, found.seen)
	}
	if found.bad == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d rows have NULL in a column that orders versions (Newer): %s; give it a value, or order by a column that always has one",
		delta.ErrInput, found.bad, found.seen, found.show())
}

// CheckKeys refuses rows that have NULL in a key column, with their count and the first of them.
// firstRow is the number of rows before the batch; messages count rows from 1.
func CheckKeys(batch arrow.RecordBatch, key []int, firstRow int64) error {
	var found nullCells
	found.look(batch, key, firstRow)
	if found.bad == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d rows have NULL in a key column, which equals no key: %s; give it a value, leave the rows out, or let NULL match NULL (MatchNulls)",
		delta.ErrInput, found.bad, found.seen, found.show())
}

// nullCells counts rows with NULL in some of their columns.
type nullCells struct {
	seen, bad int64
	first     []string
}

func (n *nullCells) look(batch arrow.RecordBatch, columns []int, firstRow int64) {
	n.seen += batch.NumRows()
	var names []string
	var have []arrow.Array
	for _, c := range columns {
		names = append(names, batch.ColumnName(c))
		if batch.Column(c).NullN() > 0 {
			have = append(have, batch.Column(c))
		}
	}
	if len(have) == 0 {
		return
	}
	for i := range int(batch.NumRows()) {
		if !nullAmong(have, i) {
			continue
		}
		n.bad++
		if len(n.first) < shownRows {
			n.first = append(n.first, fmt.Sprintf("row %d (%s)", firstRow+int64(i)+1, describe(batch, names, i)))
		}
	}
}

func nullAmong(columns []arrow.Array, row int) bool {
	for _, c := range columns {
		if c.IsNull(row) || c.DataType().ID() == arrow.NULL {
			return true
		}
	}
	return false
}

func (n *nullCells) show() string {
	text := strings.Join(n.first, ", ")
	if n.bad > int64(len(n.first)) {
		text += ", …"
	}
	return text
}

// part handles rows whose hashes agree in the bits of the levels above.
func (d *deduper) part(src *spill.Buffer, level int) error {
	switch {
	case src.Rows() == 0:
		return d.ctx.Err()
	case src.Bytes() <= d.share:
		return d.together(src)
	case level*fanBits >= 64:
		return d.fold(src)
	}
	return d.scatter(src, level)
}

// scatter partitions by the next bits of the hash. Rows that all fall into one partition would do
// so again: one key, most likely, so they are folded.
func (d *deduper) scatter(src *spill.Buffer, level int) error {
	fan := min(bits.Len64(uint64(2*src.Bytes()/d.share)), fanBits, 64-level*fanBits)
	parts := d.area.NewPartitions(d.schema, 1<<fan)
	defer parts.Close()
	var hash []uint64
	var to []uint32
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return err
		}
		n := int(batch.NumRows())
		hash, to = resized(hash, n), resized(to, n)
		rows.HashKeys(pick(batch, d.key), hash)
		for i, h := range hash {
			to[i] = uint32(h << (level * fanBits) >> (64 - fan))
		}
		if err := parts.Append(batch, to); err != nil {
			return err
		}
	}
	for i := range 1 << fan {
		p := parts.Partition(i)
		next := d.part
		if p.Rows() == src.Rows() {
			next = func(p *spill.Buffer, _ int) error { return d.alone(p) }
		}
		err := next(p, level+1)
		if closed := p.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// alone handles a partition that does not split.
func (d *deduper) alone(src *spill.Buffer) error {
	if src.Bytes() <= d.share {
		return d.together(src)
	}
	return d.fold(src)
}

// together looks at all rows at once.
func (d *deduper) together(src *spill.Buffer) error {
	batch, err := d.concat(src)
	if err != nil {
		return err
	}
	defer batch.Release()
	latest, err := rows.LatestByKey(batch, d.key, d.order, d.compare)
	if err != nil {
		return err
	}
	d.done.Identical += int64(latest.Identical)
	d.done.Older += int64(latest.Older)
	if latest.TieCount > 0 {
		d.ties += int64(latest.TieCount)
		for _, tie := range latest.Ties {
			d.show(batch, int(tie[0]))
		}
	}
	return d.emit(batch, latest.Keep)
}

func (d *deduper) concat(src *spill.Buffer) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	defer func() {
		for _, b := range all {
			b.Release()
		}
	}()
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		batch.Retain()
		all = append(all, batch)
	}
	return rows.Concat(d.env.Allocator, all)
}

// emit gives out the kept rows of a batch; after a tie nothing more comes out.
func (d *deduper) emit(batch arrow.RecordBatch, keep []int32) error {
	if d.ties > 0 {
		return nil
	}
	if len(keep) == int(batch.NumRows()) {
		return d.out.Append(batch)
	}
	for from := 0; from < len(keep); from += pieceRows {
		piece, err := rows.Take(d.env.Allocator, batch, keep[from:min(len(keep), from+pieceRows)])
		if err != nil {
			return err
		}
		err = d.out.Append(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// fold handles rows of few keys that are too many to look at together: it finds the greatest row of
// each key batch by batch, then compares every row with it.
func (d *deduper) fold(src *spill.Buffer) error {
	best, err := d.greatest(src)
	if err != nil {
		return err
	}
	defer best.Release()
	if err := d.compareAll(src, best); err != nil {
		return err
	}
	every := make([]int32, best.NumRows())
	for i := range every {
		every[i] = int32(i)
	}
	return d.emit(best, every)
}

// greatest is the first greatest row of each key.
func (d *deduper) greatest(src *spill.Buffer) (best arrow.RecordBatch, err error) {
	defer func() {
		if err != nil && best != nil {
			best.Release()
			best = nil
		}
	}()
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return best, err
		}
		next, err := d.greater(best, batch)
		if err != nil {
			return best, err
		}
		if best != nil {
			best.Release()
		}
		best = next
	}
	return best, nil
}

// greater folds a batch into the best rows so far. Rows that tie are not compared, so none is an
// error yet: a newer one may still come.
func (d *deduper) greater(best, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	both := batch
	if best != nil {
		var err error
		if both, err = rows.Concat(d.env.Allocator, []arrow.RecordBatch{best, batch}); err != nil {
			return nil, err
		}
		defer both.Release()
	}
	latest, err := rows.LatestByKey(both, d.key, d.order, d.order)
	if err != nil {
		return nil, err
	}
	return rows.Take(d.env.Allocator, both, latest.Keep)
}

// compareAll counts what becomes of each row beside the best of its key.
func (d *deduper) compareAll(src *spill.Buffer, best arrow.RecordBatch) error {
	index, err := rows.NewIndex(pick(best, d.key), int(best.NumRows()))
	if err != nil {
		return err
	}
	tied := make([]bool, best.NumRows())
	same := make([]int64, best.NumRows())
	var at []int32
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return err
		}
		at = resized(at, int(batch.NumRows()))
		if err := index.Probe(pick(batch, d.key), at); err != nil {
			return err
		}
		if err := d.compareBatch(batch, best, at, tied, same); err != nil {
			return err
		}
	}
	for i, n := range same {
		d.done.Identical += n - 1 // the best row itself is among them
		if tied[i] {
			d.ties++
			d.show(best, i)
		}
	}
	return nil
}

func (d *deduper) compareBatch(batch, best arrow.RecordBatch, at []int32, tied []bool, same []int64) error {
	order, err := rows.NewOrder(pick(batch, d.order), pick(best, d.order))
	if err != nil {
		return err
	}
	equal, err := rows.NewEquality(pick(batch, d.compare), pick(best, d.compare))
	if err != nil {
		return err
	}
	for i, b := range at {
		switch {
		case order.Compare(i, int(b)) < 0:
			d.done.Older++
		case equal.Equal(i, int(b)):
			same[b]++
		default:
			tied[b] = true
		}
	}
	return nil
}

// show remembers the first keys that tie.
func (d *deduper) show(batch arrow.RecordBatch, row int) {
	if len(d.shown) >= shownRows {
		return
	}
	var names []string
	for _, c := range append(append([]int(nil), d.key...), d.order...) {
		names = append(names, batch.ColumnName(c))
	}
	d.shown = append(d.shown, "("+describe(batch, names, row)+")")
}

// tied is the error of keys whose newest rows differ although they tie.
func (d *deduper) tied() error {
	if d.ties == 0 {
		return nil
	}
	text := strings.Join(d.shown, ", ")
	if d.ties > int64(len(d.shown)) {
		text += ", …"
	}
	if len(d.order) == 0 {
		return fmt.Errorf("%w: %d keys have rows that differ, and nothing says which is newer: %s; name the columns that order them (Newer), or give one row a key",
			delta.ErrInput, d.ties, text)
	}
	return fmt.Errorf("%w: %d keys have newest rows that tie on the columns that order them and differ elsewhere: %s; add a column to Newer that tells them apart, such as a sequence number",
		delta.ErrInput, d.ties, text)
}

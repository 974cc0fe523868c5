package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

const shownRows = 3 // rows or keys that an error shows

// Deduped is one row a key, and what became of the others: Read = Kept + Identical + Older.
type Deduped struct {
	Buffer    *spill.Buffer // the caller closes it; it is the source's own if that keeps every row
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
// divided by key and spilled to area; of a key with more rows than that one batch at a time is held.
// src stays the caller's.
func Dedupe(ctx context.Context, env *Env, area *spill.Area, src *spill.Buffer, key, order, compare []int) (*Deduped, error) {
	d := &deduper{
		ctx: ctx, env: env, key: key, order: order, compare: compare,
		cut: &cutter{ctx: ctx, mem: env.Allocator, area: area, key: key},
		src: src, out: area.NewBuffer(src.Schema()),
	}
	d.done.Read = src.Rows()
	err := d.checkOrder(src)
	if err == nil {
		err = d.cut.each(src, env.share(), d.together, d.alone)
	}
	if err == nil {
		err = d.tied()
	}
	if err != nil {
		d.out.Close()
		return nil, err
	}
	if d.whole {
		d.out.Close()
		d.out = src
	}
	d.done.Buffer, d.done.Kept = d.out, d.out.Rows()
	return &d.done, nil
}

type deduper struct {
	ctx                 context.Context
	env                 *Env
	key, order, compare []int
	cut                 *cutter

	src   *spill.Buffer
	out   *spill.Buffer
	whole bool // src was looked at together, and keeps every row
	done  Deduped

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
		if c.IsNull(row) {
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

// together looks at all rows at once.
func (d *deduper) together(src *spill.Buffer) error {
	batch, err := gather(d.ctx, d.env.Allocator, src)
	if err != nil || batch == nil {
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
	if d.whole = src == d.src && len(latest.Keep) == int(batch.NumRows()); d.whole {
		return nil
	}
	return d.emit(batch, latest.Keep)
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

// alone handles rows of one key that are too many to look at together: it finds the greatest, then
// compares every row with it.
func (d *deduper) alone(src *spill.Buffer) error {
	best, err := d.greatest(src)
	if err != nil {
		return err
	}
	defer best.Release()
	older, identical, tied, err := d.compareAll(src, best)
	if err != nil {
		return err
	}
	d.done.Older += older
	d.done.Identical += identical - 1 // the best row itself is among them
	if tied {
		d.ties++
		d.show(best, 0)
	}
	return d.emit(best, []int32{0})
}

// greatest is the first of the greatest rows.
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

// greater gives the greatest row so far once a batch is looked at. Rows that tie are not compared, so
// none is an error yet: a newer one may still come.
func (d *deduper) greater(best, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	among, err := rows.NewOrder(pick(batch, d.order), pick(batch, d.order))
	if err != nil {
		return nil, err
	}
	first := 0
	for i := range int(batch.NumRows()) {
		if among.Compare(i, first) > 0 {
			first = i
		}
	}
	if best != nil {
		against, err := rows.NewOrder(pick(batch, d.order), pick(best, d.order))
		if err != nil {
			return nil, err
		}
		if against.Compare(first, 0) <= 0 {
			best.Retain()
			return best, nil
		}
	}
	return rows.Take(d.env.Allocator, batch, []int32{int32(first)})
}

// compareAll counts what becomes of each row beside the best.
func (d *deduper) compareAll(src *spill.Buffer, best arrow.RecordBatch) (older, identical int64, tied bool, err error) {
	for batch, err := range src.Batches() {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return 0, 0, false, err
		}
		order, err := rows.NewOrder(pick(batch, d.order), pick(best, d.order))
		if err != nil {
			return 0, 0, false, err
		}
		equal, err := rows.NewEquality(pick(batch, d.compare), pick(best, d.compare))
		if err != nil {
			return 0, 0, false, err
		}
		for i := range int(batch.NumRows()) {
			switch {
			case order.Compare(i, 0) < 0:
				older++
			case equal.Equal(i, 0):
				identical++
			default:
				tied = true
			}
		}
	}
	return older, identical, tied, nil
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

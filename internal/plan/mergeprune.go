package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// keyRange holds the values of one key column of one part of the source as ranges, in order, so that
// a file whose bounds no range meets need not be read. Few values are a range each; of many the
// ranges have as many values each, and what lies between two of them is in no file for us.
type keyRange struct {
	name    string   // of the column, or of the struct that the field is in
	path    []string // to the column in statistics
	typ     delta.Type
	part    bool        // a partition column
	lo, hi  arrow.Array // of each range, ascending
	hasNull bool
	hasNaN  bool
}

// mostRanges is how many ranges the parts of a source have together for each key column, and
// rangeBytes is the budget for which there is one.
const (
	mostRanges = 64 << 10
	rangeBytes = 2 << 10
)

func (r *keyRange) release() {
	r.lo.Release()
	r.hi.Release()
}

// candidates are the files that may hold a key of the source, or a row that changes because the
// source lacks its key.
func (p *Merge) candidates(ctx context.Context, snap *delta.Snapshot) ([]candidate, error) {
	if err := p.rank(ctx, snap); err != nil {
		return nil, err
	}
	var all []*delta.Add
	for f := range snap.Files() {
		all = append(all, f)
	}
	texts, err := p.Env.stats(ctx, snap, all)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for i, f := range all {
		if p.concerns(snap, f, texts[i]) {
			out = append(out, candidate{f, texts[i]})
		}
	}
	return out, nil
}

// candidate is a file that is looked at, with its statistics.
type candidate struct {
	add   *delta.Add
	stats string
}

// touches says whether a file that another writer adds would have been looked at.
func (p *Merge) touches(snap *delta.Snapshot) func(*delta.Add) bool {
	return func(f *delta.Add) bool { return p.concerns(snap, f, f.Stats) }
}

func (p *Merge) concerns(snap *delta.Snapshot, f *delta.Add, stats string) bool {
	return p.mayHold(snap, f, stats) || p.mayChangeUnmatched(snap, f, stats)
}

// mayChangeUnmatched says whether a clause for rows that no source row matches may change one of a
// file.
func (p *Merge) mayChangeUnmatched(snap *delta.Snapshot, f *delta.Add, stats string) bool {
	if !p.shape.bySource.changes() {
		return false
	}
	facts, err := pred.FileFacts(snap, f, stats)
	if err != nil {
		return true // read it, and fail there
	}
	for i, where := range p.shape.outside {
		if p.shape.bySource.list[i].Do != MergeNothing && (where == nil || where.Prove(facts) != pred.Outside) {
			return true
		}
	}
	return false
}

// goes says whether every row of a file is deleted because the source lacks its key, proven without
// reading it, and how many rows that is.
func (p *Merge) goes(snap *delta.Snapshot, f *delta.Add, stats string) (int64, bool) {
	if !p.shape.bySource.changes() {
		return 0, false
	}
	n, known := liveRows(f, stats)
	if !known || p.mayHold(snap, f, stats) {
		return 0, false
	}
	facts, err := pred.FileFacts(snap, f, stats)
	if err != nil {
		return 0, false
	}
	for i := range p.shape.bySource.list {
		verdict := pred.Inside
		if where := p.shape.outside[i]; where != nil {
			verdict = where.Prove(facts)
		}
		if verdict != pred.Outside {
			return n, verdict == pred.Inside && p.shape.bySource.list[i].Do == MergeDelete
		}
	}
	return 0, false
}

// rank makes the ranges of the key columns of every part, once.
func (p *Merge) rank(ctx context.Context, snap *delta.Snapshot) error {
	for _, s := range p.sources {
		if s.ranges != nil {
			continue
		}
		if err := p.load(ctx, s); err != nil {
			return err
		}
		most := min(mostRanges, p.Env.memoryBytes()/rangeBytes/int64(len(p.shape.key))) / int64(len(p.sources))
		for i, c := range p.shape.key {
			r, err := newKeyRange(p.Env.Allocator, s.batch, c, int(max(1, most)))
			if err != nil {
				return err
			}
			r.place(snap, p.shape.keyPlaces[i])
			s.ranges = append(s.ranges, r)
		}
		p.unload(s)
	}
	return nil
}

// place finds the column in the log.
func (r *keyRange) place(snap *delta.Snapshot, at place) {
	path := at.path(snap.ArrowSchema())
	r.name = path[0]
	r.path, _ = snap.StoredPath(path)
	f := snap.Schema().Fields[at[0]]
	for _, i := range at[1:] {
		f = f.Type.(*delta.Struct).Fields[i]
	}
	r.typ = f.Type
	r.part = len(at) == 1 && slices.Contains(snap.PartitionColumns(), f.Name)
}

func newKeyRange(mem memory.Allocator, batch arrow.RecordBatch, c, most int) (*keyRange, error) {
	field, values := batch.Schema().Field(c), batch.Column(c)
	order, err := rows.NewOrder([]arrow.Array{values}, []arrow.Array{values})
	if err != nil {
		return nil, fmt.Errorf("key column %s: %w", field.Name, err)
	}
	r := &keyRange{}
	rank := make([]int32, 0, values.Len())
	for i := range values.Len() {
		if values.IsNull(i) {
			r.hasNull = true
			continue
		}
		rank = append(rank, int32(i))
	}
	slices.SortFunc(rank, func(i, j int32) int { return order.Compare(int(i), int(j)) })
	if n := len(rank); n > 0 {
		r.hasNaN = isNaN(values, int(rank[n-1]))
	}
	var lo, hi []int32
	step := max(1, (len(rank)+most-1)/most)
	for i := 0; i < len(rank); i += step {
		lo, hi = append(lo, rank[i]), append(hi, rank[min(i+step, len(rank))-1])
	}
	if r.lo, err = takeColumn(mem, field, values, lo); err != nil {
		return nil, err
	}
	if r.hi, err = takeColumn(mem, field, values, hi); err != nil {
		r.lo.Release()
		return nil, err
	}
	return r, nil
}

func isNaN(a arrow.Array, i int) bool {
	switch a := a.(type) {
	case *array.Float64:
		return math.IsNaN(a.Value(i))
	case *array.Float32:
		return math.IsNaN(float64(a.Value(i)))
	}
	return false
}

// mayHold says whether some part of the source has, in every key column, a value within the
// file's bounds. What is unknown may be.
func (p *Merge) mayHold(snap *delta.Snapshot, f *delta.Add, stats string) bool {
	var st *delta.Stats
	if parsed, ok := delta.ParseStats(stats); ok {
		st = parsed
	}
	for _, s := range p.sources {
		if s.size() == 0 {
			continue
		}
		within := true
		for _, r := range s.ranges {
			within = within && r.mayHold(snap, f, st)
		}
		if within {
			return true
		}
	}
	return false
}

func (r *keyRange) mayHold(snap *delta.Snapshot, f *delta.Add, st *delta.Stats) bool {
	if r.part {
		return r.inPartition(snap, f)
	}
	if st == nil {
		return true
	}
	lo, hi, nulls := st.Column(r.path, r.typ)
	if r.hasNaN || r.hasNull && (nulls != 0 || len(r.path) > 1) {
		return true // of a field, writers may not count the rows in which the struct is NULL
	}
	if st.NumRecords != nil && nulls == *st.NumRecords {
		return false // every key of the file is NULL, and no NULL is looked for
	}
	if lo == nil || hi == nil {
		return true
	}
	return r.between(lo, hi)
}

func (r *keyRange) inPartition(snap *delta.Snapshot, f *delta.Add) bool {
	text, err := snap.PartitionValue(f, r.name)
	if err != nil {
		return true // read it, and fail there
	}
	if text == nil {
		return r.hasNull
	}
	v, err := delta.ParsePartitionValue(r.typ, text)
	if err != nil || r.hasNaN || delta.AmbiguousTimestamp(*text) {
		return true
	}
	return r.between(v, v)
}

// between says whether a range meets [lo, hi].
func (r *keyRange) between(lo, hi scalar.Scalar) bool {
	last, err := compareWith(r.hi, lo)
	if err != nil {
		return true
	}
	first, err := compareWith(r.lo, hi)
	if err != nil {
		return true
	}
	i := sort.Search(r.hi.Len(), func(i int) bool { return last(i) >= 0 })
	return i < r.lo.Len() && first(i) <= 0
}

// compareWith gives how a value of an array compares with v.
func compareWith(values arrow.Array, v scalar.Scalar) (func(row int) int, error) {
	one, err := scalar.MakeArrayFromScalar(v, 1, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	order, err := rows.NewOrder([]arrow.Array{values}, []arrow.Array{one})
	if err != nil {
		return nil, err
	}
	return func(row int) int { return order.Compare(row, 0) }, nil
}

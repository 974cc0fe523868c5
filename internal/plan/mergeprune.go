package plan

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// keyRange holds the sorted values of one key column of one part of the source, so that a file
// whose bounds no value falls into need not be read.
type keyRange struct {
	column  string
	typ     delta.Type
	part    bool        // a partition column
	values  arrow.Array // in the order of rank
	rank    []int32     // row numbers by value
	hasNull bool
	hasNaN  bool
}

// candidates are the files that may hold a key of the source.
func (p *Merge) candidates(ctx context.Context, snap *delta.Snapshot) ([]*delta.Add, error) {
	if err := p.rank(snap); err != nil {
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
	var out []*delta.Add
	for i, f := range all {
		if p.mayHold(snap, f, texts[i]) {
			out = append(out, f)
		}
	}
	return out, nil
}

// touches says whether a file that another writer adds may hold a key of the source.
func (p *Merge) touches(snap *delta.Snapshot) func(*delta.Add) bool {
	return func(f *delta.Add) bool { return p.mayHold(snap, f, f.Stats) }
}

// rank sorts the key columns of every part, once.
func (p *Merge) rank(snap *delta.Snapshot) error {
	for _, s := range p.sources {
		if s.ranges != nil {
			continue
		}
		if err := p.load(s); err != nil {
			return err
		}
		partition := map[string]bool{}
		for _, c := range snap.PartitionColumns() {
			partition[c] = true
		}
		for _, c := range p.shape.key {
			field := p.shape.source.Field(c)
			typ := snap.Schema().Fields[snap.Schema().Index(field.Name)].Type
			r, err := newKeyRange(field.Name, typ, s.batch.Column(c))
			if err != nil {
				return err
			}
			r.part = partition[field.Name]
			s.ranges = append(s.ranges, r)
		}
		s.size = s.batch.NumRows()
		p.unload(s)
	}
	return nil
}

func newKeyRange(name string, typ delta.Type, values arrow.Array) (*keyRange, error) {
	order, err := rows.NewOrder([]arrow.Array{values}, []arrow.Array{values})
	if err != nil {
		return nil, fmt.Errorf("key column %s: %w", name, err)
	}
	r := &keyRange{column: name, typ: typ, values: values, rank: make([]int32, 0, values.Len())}
	values.Retain()
	for i := range values.Len() {
		if values.IsNull(i) {
			r.hasNull = true
			continue
		}
		r.rank = append(r.rank, int32(i))
	}
	sort.Slice(r.rank, func(i, j int) bool { return order.Compare(int(r.rank[i]), int(r.rank[j])) < 0 })
	if n := len(r.rank); n > 0 {
		r.hasNaN = isNaN(values, int(r.rank[n-1]))
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
		if s.size == 0 {
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
	lo, hi, nulls := st.Column([]string{r.column}, r.typ)
	if r.hasNaN || (r.hasNull && nulls != 0) {
		return true
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
	text, err := snap.PartitionValue(f, r.column)
	if err != nil {
		return true // read it, and fail there
	}
	if text == nil || *text == "" {
		return r.hasNull
	}
	v, err := delta.ParsePartitionValue(r.typ, text)
	if err != nil || r.hasNaN || delta.AmbiguousTimestamp(*text) {
		return true
	}
	return r.between(v, v)
}

// between says whether a value lies in [lo, hi].
func (r *keyRange) between(lo, hi scalar.Scalar) bool {
	above, err := r.compare(lo)
	if err != nil {
		return true
	}
	below, err := r.compare(hi)
	if err != nil {
		return true
	}
	i := sort.Search(len(r.rank), func(i int) bool { return above(int(r.rank[i])) >= 0 })
	return i < len(r.rank) && below(int(r.rank[i])) <= 0
}

// compare gives how a row's value compares with v.
func (r *keyRange) compare(v scalar.Scalar) (func(row int) int, error) {
	one, err := scalar.MakeArrayFromScalar(v, 1, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	order, err := rows.NewOrder([]arrow.Array{r.values}, []arrow.Array{one})
	if err != nil {
		return nil, err
	}
	return func(row int) int { return order.Compare(row, 0) }, nil
}

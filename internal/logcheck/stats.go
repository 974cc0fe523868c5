package logcheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// leaf is a column of which statistics may be kept: of a struct its fields, of a list or a map
// itself.
type leaf struct {
	path    []string // as statistics have it
	logical []string
	typ     delta.Type
	place   []int // column of the batch, then fields of structs
}

// leaves gives the leaves of the data columns.
func leaves(snap *delta.Snapshot) []leaf {
	partition := map[string]bool{}
	for _, name := range snap.PartitionColumns() {
		partition[name] = true
	}
	var out []leaf
	for i, f := range snap.Schema().Fields {
		if !partition[f.Name] {
			out = appendLeaves(out, leaf{path: []string{f.Name}, typ: f.Type, place: []int{i}})
		}
	}
	for i := range out {
		out[i].logical = out[i].path
		if path, ok := snap.StoredPath(out[i].path); ok {
			out[i].path = path
		}
	}
	return out
}

// deleted is the number of a file's rows that its vector deletes.
func deleted(f *delta.Add) int64 {
	if f.DeletionVector == nil {
		return 0
	}
	return f.DeletionVector.Cardinality
}

func appendLeaves(out []leaf, l leaf) []leaf {
	s, ok := l.typ.(*delta.Struct)
	if !ok {
		return append(out, l)
	}
	for i, f := range s.Fields {
		out = appendLeaves(out, leaf{
			path:  append(l.path[:len(l.path):len(l.path)], f.Name),
			typ:   f.Type,
			place: append(l.place[:len(l.place):len(l.place)], i),
		})
	}
	return out
}

// extent gathers the NULLs of a column and holds its values against the bounds in the log.
type extent struct {
	leaf
	nulls    int64
	min, max scalar.Scalar // as the log has them, nil for none
	outside  string        // the first value that is not within
	met      map[int]bool  // by side: a bound of a type in which it is exact is a value of some batch
}

// newExtents are those of leaves, by a file's statistics. Each bound is read alone: of a pair that contradicts itself a
// reader believes neither.
func newExtents(leaves []leaf, stats string) []*extent {
	lower, hasLower := delta.ParseStats(without(stats, "maxValues"))
	upper, hasUpper := delta.ParseStats(without(stats, "minValues"))
	var out []*extent
	for _, l := range leaves {
		e := &extent{leaf: l, met: map[int]bool{}}
		if hasLower {
			e.min, _, _ = lower.Column(l.path, l.typ)
		}
		if hasUpper {
			_, e.max, _ = upper.Column(l.path, l.typ)
		}
		out = append(out, e)
	}
	return out
}

// without leaves a part out of statistics; text that is no JSON object stays as it is.
func without(stats, part string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(stats), &members) != nil {
		return stats
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return name == part })
	text, err := json.Marshal(members)
	if err != nil {
		return stats
	}
	return string(text)
}

func (e *extent) add(batch arrow.RecordBatch) {
	column := batch.Column(e.place[0])
	around := []arrow.Array{column}
	for _, i := range e.place[1:] {
		column = column.(*array.Struct).Field(i)
		around = append(around, column)
	}
	valid := func(i int) bool {
		for _, a := range around {
			if a.IsNull(i) {
				return false
			}
		}
		return column.DataType().ID() != arrow.NULL
	}
	for i := range column.Len() {
		if !valid(i) {
			e.nulls++
		}
	}
	if e.min != nil || e.max != nil {
		e.bound(column, valid)
	}
}

// bound looks at the least and the greatest value. NaN is within no bound.
func (e *extent) bound(column arrow.Array, valid func(int) bool) {
	order, err := rows.NewOrder([]arrow.Array{column}, []arrow.Array{column})
	if err != nil {
		return // a type without an order has no bounds
	}
	lo, hi := -1, -1
	for i := range column.Len() {
		if !valid(i) || isNaN(column, i) {
			continue
		}
		if lo < 0 || order.Compare(i, lo) < 0 {
			lo = i
		}
		if hi < 0 || order.Compare(i, hi) > 0 {
			hi = i
		}
	}
	if lo >= 0 {
		e.within(column, lo, e.min, -1)
		e.within(column, hi, e.max, 1)
	}
}

// within compares a value with a bound; side is the sign that it must not have.
func (e *extent) within(column arrow.Array, i int, bound scalar.Scalar, side int) {
	if bound == nil || e.outside != "" {
		return
	}
	value, err := scalar.GetScalar(column, i)
	if err != nil {
		return
	}
	if r, ok := value.(scalar.Releasable); ok {
		defer r.Release()
	}
	order, ok := delta.CompareScalars(value, bound)
	if ok && whole(e.typ) {
		e.met[side] = e.met[side] || order == 0
	}
	if ok && order*side > 0 {
		e.outside = fmt.Sprintf("%s against the bound %s", rows.Text(column, i), bound)
	}
}

func isNaN(column arrow.Array, i int) bool {
	switch a := column.(type) {
	case *array.Float32:
		return math.IsNaN(float64(a.Value(i)))
	case *array.Float64:
		return math.IsNaN(a.Value(i))
	}
	return false
}

func sameBound(a, b scalar.Scalar) bool {
	if a == nil || b == nil {
		return a == b
	}
	order, ok := delta.CompareScalars(a, b)
	return ok && order == 0
}

// stats holds a file's statistics against its rows. Files of others may have none.
func (c *checker) stats(f *delta.Add, v int64, s *sums) {
	st, ok := delta.ParseStats(f.Stats)
	switch {
	case !ok || st.NumRecords == nil:
		if c.origins[f.Key].ours {
			c.find(StatsRows, v, f.Path, "there is none")
		}
		if !ok {
			return
		}
	case *st.NumRecords != s.rows+deleted(f):
		c.find(StatsRows, v, f.Path, "it says %d, the file has %d", *st.NumRecords, s.rows+deleted(f))
	}
	loose := st.TightBounds != nil && !*st.TightBounds || f.DeletionVector != nil && c.origins[f.Key].ours
	counts, ok := delta.ParseStats(without(f.Stats, "numRecords")) // so that no count is too large to be believed
	for _, e := range s.columns {
		name := strings.Join(e.path, ".")
		if e.outside != "" {
			c.find(StatsBounds, v, f.Path, "column %s: %s", name, e.outside)
		}
		for _, side := range []int{-1, 1} {
			if met, known := e.met[side]; known && !met && e.outside == "" && !loose && c.origins[f.Key].ours {
				c.find(StatsTight, v, f.Path, "column %s: no value is the %s bound", name, map[int]string{-1: "lower", 1: "upper"}[side])
			}
		}
		if _, _, n := counts.Column(e.path, e.typ); ok && !loose && n >= 0 && n != e.nulls {
			c.find(StatsNulls, v, f.Path, "column %s: it says %d, the file has %d", name, n, e.nulls)
		}
	}
}

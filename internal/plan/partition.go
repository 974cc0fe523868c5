package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// NormalisePartitions makes empty strings and empty binaries of partition columns NULL, which is
// what the log makes of them. It comes before anything looks at the rows: conditions, keys, digests
// and NOT NULL see the NULL. Columns that the batch lacks are passed over. The caller releases the
// result.
func NormalisePartitions(mem memory.Allocator, batch arrow.RecordBatch, partitionColumns []string) (arrow.RecordBatch, error) {
	columns := slices.Clone(batch.Columns())
	changed := false
	for c, f := range batch.Schema().Fields() {
		empty := emptyValue(columns[c])
		if empty == nil || !slices.Contains(partitionColumns, f.Name) || !anyEmpty(columns[c], empty) {
			continue
		}
		columns[c] = masked(mem, columns[c], func(i int) bool { return !empty(i) })
		defer columns[c].Release()
		changed = true
	}
	if !changed {
		batch.Retain()
		return batch, nil
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows()), nil
}

// emptyValue tells empty values of a string or binary column; it is nil for other types.
func emptyValue(a arrow.Array) func(i int) bool {
	switch a := a.(type) {
	case *array.String:
		return func(i int) bool { return a.ValueLen(i) == 0 }
	case *array.Binary:
		return func(i int) bool { return a.ValueLen(i) == 0 }
	}
	return nil
}

func anyEmpty(a arrow.Array, empty func(i int) bool) bool {
	for i := range a.Len() {
		if empty(i) && a.IsValid(i) {
			return true
		}
	}
	return false
}

// group is the rows of a batch that are in one partition.
type group struct {
	rows   []int32 // ascending
	values map[string]*string
	id     string // equal for equal values
}

// contiguous says that the rows lie one behind the other.
func (g *group) contiguous() bool {
	return int(g.rows[len(g.rows)-1]-g.rows[0])+1 == len(g.rows)
}

// partitioner splits batches by their partition columns.
type partitioner struct {
	columns []int // of the table
	fields  []delta.Field
	keys    []string // in add.partitionValues
}

func newPartitioner(snap *delta.Snapshot) *partitioner {
	p := &partitioner{}
	for _, name := range snap.PartitionColumns() {
		i := snap.Schema().Index(name)
		p.columns = append(p.columns, i)
		p.fields = append(p.fields, snap.Schema().Fields[i])
		p.keys = append(p.keys, snap.PartitionKey(name))
	}
	return p
}

// split groups the rows of a batch, groups in order of their first rows.
func (p *partitioner) split(batch arrow.RecordBatch) ([]group, error) {
	columns := pick(batch, p.columns)
	of, firsts, err := groupRows(columns, int(batch.NumRows()))
	if err != nil {
		return nil, fmt.Errorf("partition columns: %w", err)
	}
	groups := make([]group, len(firsts))
	for g, first := range firsts {
		if groups[g].values, groups[g].id, err = p.valuesOf(columns, int(first)); err != nil {
			return nil, err
		}
	}
	size := make([]int, len(groups))
	for _, g := range of {
		size[g]++
	}
	slab := make([]int32, len(of))
	for g := range groups {
		groups[g].rows, slab = slab[:0:size[g]], slab[size[g]:]
	}
	for i, g := range of {
		groups[g].rows = append(groups[g].rows, int32(i))
	}
	return groups, nil
}

// groupRows numbers the distinct rows of columns: the number of each row, and the first row of each
// number.
func groupRows(columns []arrow.Array, n int) (of, firsts []int32, err error) {
	equal, err := rows.NewEquality(columns, columns)
	if err != nil {
		return nil, nil, err
	}
	hash := make([]uint64, n)
	rows.HashKeys(columns, hash)
	of = make([]int32, n)
	known := map[uint64][]int32{}
	for i := range n {
		if i > 0 && hash[i] == hash[i-1] && equal.Equal(i-1, i) {
			of[i] = of[i-1]
			continue
		}
		of[i] = -1
		for _, g := range known[hash[i]] {
			if equal.Equal(int(firsts[g]), i) {
				of[i] = g
			}
		}
		if of[i] < 0 {
			of[i] = int32(len(firsts))
			firsts = append(firsts, int32(i))
			known[hash[i]] = append(known[hash[i]], of[i])
		}
	}
	return of, firsts, nil
}

// valuesOf writes the partition values of a row as text. -0.0 is written as 0.0: the two are one
// value, and so one partition.
func (p *partitioner) valuesOf(columns []arrow.Array, row int) (map[string]*string, string, error) {
	values := make(map[string]*string, len(columns))
	texts := make([]*string, len(columns))
	for i, f := range p.fields {
		v, err := scalar.GetScalar(columns[i], row)
		if err != nil {
			return nil, "", fmt.Errorf("partition column %q: %w", f.Name, err)
		}
		text, err := delta.FormatPartitionValue(f.Type, positiveZero(v))
		if r, ok := v.(scalar.Releasable); ok {
			r.Release()
		}
		if err != nil {
			return nil, "", fmt.Errorf("partition column %q: %w", f.Name, err)
		}
		values[p.keys[i]], texts[i] = text, text
	}
	return values, tupleID(texts), nil
}

// tupleID is one text for the values of all partition columns, equal for equal values only.
func tupleID(values []*string) string {
	var id strings.Builder
	for _, v := range values {
		if v == nil {
			id.WriteString("-;")
			continue
		}
		fmt.Fprintf(&id, "%d:%s;", len(*v), *v)
	}
	return id.String()
}

func positiveZero(v scalar.Scalar) scalar.Scalar {
	switch x := v.(type) {
	case *scalar.Float32:
		if x.Valid && x.Value == 0 {
			return scalar.NewFloat32Scalar(0)
		}
	case *scalar.Float64:
		if x.Valid && x.Value == 0 {
			return scalar.NewFloat64Scalar(0)
		}
	}
	return v
}

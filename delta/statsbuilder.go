package delta

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Table properties that say which statistics are gathered.
const (
	propIndexedCols  = "delta.dataSkippingNumIndexedCols"
	propStatsColumns = "delta.dataSkippingStatsColumns"
	propPrefixLength = "delta.dataSkippingStringPrefixLength"
	propMappingMode  = "delta.columnMapping.mode"

	defaultIndexedCols  = 32
	defaultPrefixLength = 32
)

// StatsBuilder gathers statistics of the batches of one file. It holds no batch and no memory that grows with the rows.
// It is for one goroutine.
type StatsBuilder struct {
	rows    int64
	columns []*statsNode
	tight   bool     // say that the bounds are tight
	masks   [][]byte // scratch, one for each depth of structs
}

// statsNode is a column of which statistics may be gathered: a leaf, or a struct of them.
type statsNode struct {
	name     string // physical: the key in the statistics
	logical  string
	dt       arrow.DataType
	children []*statsNode // of a struct
	isStruct bool
	gather   bool // this leaf, or a leaf below
	nulls    int64
	bounds   bounder // nil where nulls are all that is counted
}

// NewStatsBuilder gathers for the data columns (not partition columns) of s by the table's properties: the leaves that
// delta.dataSkippingStatsColumns lists, else the first delta.dataSkippingNumIndexedCols (default 32, -1: all). Strings are cut to
// delta.dataSkippingStringPrefixLength (default 32) UTF-16 units. An array or a map is one leaf. Under column mapping the
// statistics carry physical names. A property that cannot be read counts as absent. [Snapshot.StatsBuilder] also knows what
// the protocol says.
func NewStatsBuilder(s *Struct, partitionBy []string, configuration map[string]string) *StatsBuilder {
	mode := configuration[propMappingMode]
	return newStatsBuilder(s, partitionBy, configuration, strings.EqualFold(mode, "name") || strings.EqualFold(mode, "id"), nil)
}

// StatsBuilder gathers the statistics of a new file of the table as [NewStatsBuilder] does. Names are physical where the
// table's mapping is in effect, clustering columns have statistics wherever they stand, and where files can have deletion
// vectors the text says that its bounds are tight.
func (s *Snapshot) StatsBuilder() *StatsBuilder {
	b := newStatsBuilder(s.Schema(), s.PartitionColumns(), s.Metadata().Configuration, s.Mapping() != MappingNone, s.clusteringPaths())
	b.tight = s.Protocol().Supports("deletionVectors")
	return b
}

func newStatsBuilder(s *Struct, partitionBy []string, configuration map[string]string, mapped bool, clustering [][]string) *StatsBuilder {
	partition := make(map[string]bool, len(partitionBy))
	for _, name := range partitionBy {
		partition[foldName(name)] = true
	}
	units := defaultPrefixLength
	if n, err := strconv.Atoi(configuration[propPrefixLength]); err == nil && n >= 0 {
		units = min(n, maxPrefixLength)
	}
	b := &StatsBuilder{}
	for i := range s.Fields {
		if !partition[foldName(s.Fields[i].Name)] {
			b.columns = append(b.columns, newStatsNode(&s.Fields[i], mapped, units))
		}
	}
	chooseStats(b.columns, configuration)
	for _, path := range clustering {
		for _, n := range b.columns {
			n.choosePath(path, func(n *statsNode, part string) bool { return n.name == part })
		}
	}
	return b
}

func newStatsNode(f *Field, mapped bool, units int) *statsNode {
	n := &statsNode{name: f.Name, logical: f.Name}
	if mapped {
		n.name = f.PhysicalName()
	}
	if s, ok := f.Type.(*Struct); ok {
		n.isStruct = true
		for i := range s.Fields {
			n.children = append(n.children, newStatsNode(&s.Fields[i], mapped, units))
		}
		return n
	}
	n.dt, _ = ArrowType(f.Type)
	n.bounds = newBounder(f.Type, units)
	return n
}

// Add takes a batch whose columns are the data columns of s in order, with ArrowType types. Another number of columns or
// another type wraps ErrInput; then nothing was taken.
func (b *StatsBuilder) Add(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != len(b.columns) {
		return fmt.Errorf("statistics of a batch of %d columns, the table has %d: %w", batch.NumCols(), len(b.columns), ErrInput)
	}
	for i, n := range b.columns {
		if err := n.check(batch.Column(i).DataType(), ""); err != nil {
			return err
		}
	}
	b.rows += batch.NumRows()
	for i, n := range b.columns {
		if n.gather {
			b.add(n, batch.Column(i), mask{}, 0)
		}
	}
	return nil
}

// check compares the types of the leaves that are gathered, so that add cannot meet another.
func (n *statsNode) check(dt arrow.DataType, path string) error {
	path += n.logical
	switch {
	case !n.gather:
		return nil
	case !n.isStruct:
		if n.bounds == nil || arrow.TypeEqual(n.dt, dt) {
			return nil
		}
		return fmt.Errorf("statistics of column %q: Arrow type %s instead of %s: %w", path, dt, n.dt, ErrInput)
	}
	st, ok := dt.(*arrow.StructType)
	if !ok || st.NumFields() != len(n.children) {
		return fmt.Errorf("statistics of column %q: Arrow type %s instead of a struct of %d fields: %w", path, dt, len(n.children), ErrInput)
	}
	for i, child := range n.children {
		if err := child.check(st.Field(i).Type, path+"."); err != nil {
			return err
		}
	}
	return nil
}

// add takes a column. outer masks the rows in which a struct around it is NULL.
func (b *StatsBuilder) add(n *statsNode, arr arrow.Array, outer mask, depth int) {
	live := b.within(outer, arr, depth)
	if n.isStruct {
		fields := arr.(*array.Struct)
		for i, child := range n.children {
			if child.gather {
				b.add(child, fields.Field(i), live, depth+1)
			}
		}
		return
	}
	n.nulls += int64(arr.Len() - live.count(arr.Len()))
	if n.bounds != nil {
		n.bounds.add(arr, live)
	}
}

// within gives the rows of arr that are valid and within outer.
func (b *StatsBuilder) within(outer mask, arr arrow.Array, depth int) mask {
	own := mask{bits: arr.NullBitmapBytes(), offset: arr.Data().Offset()}
	switch {
	case arr.DataType().ID() == arrow.NULL:
		return mask{none: true}
	case len(own.bits) == 0 || arr.NullN() == 0:
		return outer
	case outer.all():
		return own
	}
	for len(b.masks) <= depth {
		b.masks = append(b.masks, nil)
	}
	size := (arr.Len() + 7) / 8
	if cap(b.masks[depth]) < size {
		b.masks[depth] = make([]byte, size)
	}
	both := b.masks[depth][:size]
	clear(both)
	for i := range arr.Len() {
		if outer.has(i) && own.has(i) {
			both[i>>3] |= 1 << (i & 7)
		}
	}
	return mask{bits: both}
}

// mask tells the rows that hold a value. The zero mask is all rows.
type mask struct {
	bits   []byte
	offset int
	none   bool
}

func (m mask) all() bool { return len(m.bits) == 0 && !m.none }

func (m mask) has(i int) bool {
	if len(m.bits) == 0 {
		return !m.none
	}
	i += m.offset
	return m.bits[i>>3]&(1<<(i&7)) != 0
}

// count is how many of the first n rows hold a value.
func (m mask) count(n int) int {
	switch {
	case m.none:
		return 0
	case len(m.bits) == 0:
		return n
	}
	count, i := 0, 0
	for ; i < n && (m.offset+i)&7 != 0; i++ {
		if m.has(i) {
			count++
		}
	}
	for ; i+8 <= n; i += 8 {
		count += bits.OnesCount8(m.bits[(m.offset+i)>>3])
	}
	for ; i < n; i++ {
		if m.has(i) {
			count++
		}
	}
	return count
}

// JSON is the text for add.stats. Text that idem would not read again for its size is left out, bounds first.
func (b *StatsBuilder) JSON() string {
	head := append([]byte(`{"numRecords":`), strconv.FormatInt(b.rows, 10)...)
	if b.tight {
		head = append(head, `,"tightBounds":true`...)
	}
	nulls := appendStats(nil, b.columns, statsNulls)
	if nulls == nil {
		return string(append(head, '}'))
	}
	var sections []byte
	for _, section := range []struct {
		name string
		kind statsKind
	}{{"minValues", statsMin}, {"maxValues", statsMax}} {
		sections = append(sections, `,"`+section.name+`":`...)
		if text := appendStats(nil, b.columns, section.kind); text != nil {
			sections = append(sections, text...)
		} else {
			sections = append(sections, "{}"...)
		}
	}
	tail := append(append([]byte(`,"nullCount":`), nulls...), '}')
	switch {
	case len(head)+len(sections)+len(tail) <= maxStatsBytes:
		return string(head) + string(sections) + string(tail)
	case len(head)+len(tail) <= maxStatsBytes:
		return string(head) + string(tail)
	}
	return string(append(head, '}'))
}

type statsKind int

const (
	statsMin statsKind = iota
	statsMax
	statsNulls
)

// appendStats writes the object of one kind of statistics; nil if there is nothing in it.
func appendStats(dst []byte, nodes []*statsNode, kind statsKind) []byte {
	opening := byte('{')
	for _, n := range nodes {
		if !n.gather {
			continue
		}
		var value []byte
		if n.isStruct {
			value = appendStats(nil, n.children, kind)
		} else {
			value = n.value(kind)
		}
		if value == nil {
			continue
		}
		dst = append(appendQuoted(append(dst, opening), n.name), ':')
		dst = append(dst, value...)
		opening = ','
	}
	if dst == nil {
		return nil
	}
	return append(dst, '}')
}

// value is the leaf's JSON value, nil if there is none.
func (n *statsNode) value(kind statsKind) []byte {
	if kind == statsNulls {
		return strconv.AppendInt(nil, n.nulls, 10)
	}
	if n.bounds == nil {
		return nil
	}
	text, ok := n.bounds.bound(kind == statsMax)
	if !ok {
		return nil
	}
	return []byte(text)
}

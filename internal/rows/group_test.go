package rows_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func emptyArray(t arrow.DataType) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	return b.NewArray()
}

// hashes under which the answers must be the same: the real one, and those of an adversary.
var hashes = map[string]func([]uint64){
	"real":      nil,
	"all equal": func(h []uint64) { clear(h) },
	"one bit": func(h []uint64) {
		for i := range h {
			h[i] &= 1 << 40
		}
	},
	"low bits equal": func(h []uint64) {
		for i := range h {
			h[i] &^= 1<<32 - 1
		}
	},
}

func TestIndex(t *testing.T) {
	for name, spoil := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkIndex(t, spoil) })
		})
	}
}

func checkIndex(t *rapid.T, spoil func([]uint64)) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	var left, right []arrow.DataType
	var cols []int
	for c := range rapid.IntRange(1, 3).Draw(t, "keys") {
		family := rapid.SampledFrom(families).Draw(t, "family")
		left = append(left, rapid.SampledFrom(family).Draw(t, "left"))
		right = append(right, rapid.SampledFrom(family).Draw(t, "right"))
		cols = append(cols, c)
	}
	a := randomBatch(t, mem, rapid.IntRange(0, 30).Draw(t, "indexed"), left...)
	defer a.Release()
	b := randomBatch(t, mem, rapid.IntRange(0, 10).Draw(t, "probed"), right...)
	defer b.Release()
	naive := map[string][]int32{}
	for i := range int(a.NumRows()) {
		naive[canonRow(a, cols, i)] = append(naive[canonRow(a, cols, i)], int32(i))
	}
	x, err := rows.NewIndexHashed(a.Columns(), int(a.NumRows()), spoil)
	require.NoError(t, err)
	require.Equal(t, len(naive), x.Distinct())
	out := make([]int32, b.NumRows())
	require.NoError(t, x.Probe(b.Columns(), out))
	for i, row := range out {
		var got []int32
		for ; row >= 0; row = x.Next(row) {
			got = append(got, row)
		}
		require.Equal(t, naive[canonRow(b, cols, i)], got)
	}
}

func TestIndexManyPartitions(t *testing.T) {
	const n = 100_000
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(int64(i / 2))
	}
	keys := []arrow.Array{b.NewArray()}
	x, err := rows.NewIndex(keys, n)
	require.NoError(t, err)
	require.Equal(t, n/2, x.Distinct())
	out := make([]int32, n)
	require.NoError(t, x.Probe(keys, out))
	for i, row := range out {
		require.EqualValues(t, i/2*2, row)
		require.EqualValues(t, row+1, x.Next(row))
		require.EqualValues(t, -1, x.Next(row+1))
	}
}

func TestIndexWrongLengths(t *testing.T) {
	one := []arrow.Array{emptyArray(arrow.PrimitiveTypes.Int64)}
	_, err := rows.NewIndex(one, 1)
	require.ErrorContains(t, err, "has 0 rows, the batch 1")
	x, err := rows.NewIndex(one, 0)
	require.NoError(t, err)
	require.ErrorContains(t, x.Probe(one, make([]int32, 1)), "has 0 rows, not 1")
	require.ErrorContains(t, x.Probe(nil, nil), "1 columns")
}

// latestNaive is LatestByKey in the words of the contract.
func latestNaive(b arrow.RecordBatch, key, order, compare []int) rows.Latest {
	cmpRows := func(i, j int) int {
		for _, c := range order {
			if d := compareNaive(b.Column(c), i, b.Column(c), j); d != 0 {
				return d
			}
		}
		return 0
	}
	groups := map[string][]int{}
	for i := range int(b.NumRows()) {
		groups[canonRow(b, key, i)] = append(groups[canonRow(b, key, i)], i)
	}
	out := rows.Latest{Keep: []int32{}}
	for _, g := range groups {
		greatest := slices.MaxFunc(g, cmpRows) // the first of several
		identical, tie := 0, -1
		for _, i := range g {
			switch {
			case i == greatest:
			case cmpRows(i, greatest) < 0:
				out.Older++
			case canonRow(b, compare, i) == canonRow(b, compare, greatest):
				identical++
			case tie < 0:
				tie = i
			}
		}
		out.Keep = append(out.Keep, int32(greatest))
		if tie < 0 {
			out.Identical += identical
		} else {
			out.TieCount++
			out.Ties = append(out.Ties, [2]int32{int32(greatest), int32(tie)})
		}
	}
	slices.Sort(out.Keep)
	slices.SortFunc(out.Ties, func(x, y [2]int32) int { return int(x[0] - y[0]) })
	out.Ties = out.Ties[:min(len(out.Ties), 10)]
	return out
}

func TestLatestByKey(t *testing.T) {
	for name, spoil := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkLatest(t, spoil) })
		})
	}
}

func checkLatest(t *rapid.T, spoil func([]uint64)) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	keys, orders := rapid.IntRange(1, 2).Draw(t, "keys"), rapid.IntRange(0, 2).Draw(t, "orders")
	var types []arrow.DataType
	var cols []int
	for c := range keys + orders {
		types = append(types, scalarType().Draw(t, "type"))
		cols = append(cols, c)
	}
	types = append(types, anyType(2).Draw(t, "payload"))
	compare := append(slices.Clone(cols), len(cols))
	n := rapid.IntRange(0, 30).Draw(t, "rows")
	b := randomBatch(t, mem, n, types...)
	defer b.Release()
	want := latestNaive(b, cols[:keys], cols[keys:], compare)
	got, err := rows.LatestByKeyHashed(b, cols[:keys], cols[keys:], compare, spoil)
	require.NoError(t, err)
	require.Equal(t, want, *got)

	order := rapid.Permutation(ascending(n)).Draw(t, "permutation")
	shuffled, err := rows.Take(mem, b, order)
	require.NoError(t, err)
	defer shuffled.Release()
	again, err := rows.LatestByKeyHashed(shuffled, cols[:keys], cols[keys:], compare, spoil)
	require.NoError(t, err)
	require.Equal(t, []int{got.Identical, got.Older, got.TieCount}, []int{again.Identical, again.Older, again.TieCount})
	if got.TieCount == 0 {
		require.Equal(t, len(got.Keep)+got.Identical+got.Older, n)
		require.ElementsMatch(t, kept(b, got, compare), kept(shuffled, again, compare))
	}
}

func ascending(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func kept(b arrow.RecordBatch, l *rows.Latest, cols []int) []string {
	var out []string
	for _, i := range l.Keep {
		out = append(out, canonRow(b, cols, int(i)))
	}
	return out
}

// TestTies says what is a tie and what is not.
func TestTies(t *testing.T) {
	for _, c := range []struct {
		why   string
		json  string
		order []int
		want  rows.Latest
	}{
		{"a tie below the winner is none", `[{"k":1,"o":1,"v":"a"},{"k":1,"o":1,"v":"b"},{"k":1,"o":2,"v":"c"}]`, []int{1},
			rows.Latest{Keep: []int32{2}, Older: 2}},
		{"identical rows collapse", `[{"k":1,"o":1,"v":"a"},{"k":1,"o":1,"v":"a"}]`, []int{1}, rows.Latest{Keep: []int32{0}, Identical: 1}},
		{"rows that differ tie", `[{"k":1,"o":1,"v":"a"},{"k":1,"o":1,"v":"b"}]`, []int{1},
			rows.Latest{Keep: []int32{0}, TieCount: 1, Ties: [][2]int32{{0, 1}}}},
		{"NULL against empty differs", `[{"k":1,"o":1,"v":null},{"k":1,"o":1,"v":""}]`, []int{1},
			rows.Latest{Keep: []int32{0}, TieCount: 1, Ties: [][2]int32{{0, 1}}}},
		{"NULL order is least", `[{"k":1,"o":null,"v":"a"},{"k":1,"o":-5,"v":"b"}]`, []int{1}, rows.Latest{Keep: []int32{1}, Older: 1}},
		{"NULL orders tie", `[{"k":1,"o":null,"v":"a"},{"k":1,"o":null,"v":"b"}]`, []int{1},
			rows.Latest{Keep: []int32{0}, TieCount: 1, Ties: [][2]int32{{0, 1}}}},
		{"NULL is a key", `[{"k":null,"o":1,"v":"a"},{"k":null,"o":2,"v":"b"}]`, []int{1}, rows.Latest{Keep: []int32{1}, Older: 1}},
		{"no order: one key, two rows", `[{"k":1,"o":1,"v":"a"},{"k":1,"o":2,"v":"a"}]`, nil,
			rows.Latest{Keep: []int32{0}, TieCount: 1, Ties: [][2]int32{{0, 1}}}},
		{"one tie a key", `[{"k":1,"v":"a"},{"k":1,"v":"b"},{"k":1,"v":"c"},{"k":1,"v":"a"}]`, nil,
			rows.Latest{Keep: []int32{0}, TieCount: 1, Ties: [][2]int32{{0, 1}}}},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := fromJSON(t, memory.DefaultAllocator, c.json, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String)
			got, err := rows.LatestByKey(b, []int{0}, c.order, []int{0, 1, 2})
			require.NoError(t, err)
			require.Equal(t, c.want, *got)
		})
	}
}

func TestLatestAtMostTenTies(t *testing.T) {
	const keys = 20_000 // several partitions
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil))
	for i := range 2 * keys {
		b.Field(0).(*array.Int64Builder).Append(int64(i % keys))
		b.Field(1).(*array.Int64Builder).Append(int64(i))
	}
	got, err := rows.LatestByKey(b.NewRecordBatch(), []int{0}, nil, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, keys, got.TieCount)
	require.Len(t, got.Ties, 10)
	for i, tie := range got.Ties {
		require.Equal(t, [2]int32{int32(i), int32(keys + i)}, tie)
	}
}

// TestLatestManyPartitions: what is counted and kept does not depend on how keys fall into partitions.
func TestLatestManyPartitions(t *testing.T) {
	const keys = 20_000
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "o", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	for o := range int64(3) { // of a key that 3 divides the newest row stands twice, of the others one is the newest
		for k := range int64(keys) {
			b.Field(0).(*array.Int64Builder).Append(k)
			b.Field(1).(*array.Int64Builder).Append(min(o, 1+min(k%3, 1)))
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	want := rows.Latest{}
	for k := range int32(keys) {
		if k%3 == 0 {
			want.Keep, want.Identical, want.Older = append(want.Keep, keys+k), want.Identical+1, want.Older+1
		}
	}
	for k := range int32(keys) {
		if k%3 != 0 {
			want.Keep, want.Older = append(want.Keep, 2*keys+k), want.Older+2
		}
	}
	got, err := rows.LatestByKey(batch, []int{0}, []int{1}, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, want, *got)
}

func TestLatestNoSuchColumn(t *testing.T) {
	b := fromJSON(t, memory.DefaultAllocator, `[]`, arrow.PrimitiveTypes.Int64)
	_, err := rows.LatestByKey(b, []int{1}, nil, nil)
	require.ErrorContains(t, err, "column 1 of 1")
}

// TestProbeManyBlocks: rows are hashed in blocks, NULLs and offsets included.
func TestProbeManyBlocks(t *testing.T) {
	const n = 5000
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: decimalType(12, 2), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range n {
		if i%3 == 1 {
			b.Field(i % 2).AppendNull()
			b.Field(1 - i%2).AppendEmptyValue()
			b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i)))
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strconv.Itoa(i))
		b.Field(2).AppendNull()
	}
	keys := b.NewRecordBatch()
	x, err := rows.NewIndex(keys.Columns(), n)
	require.NoError(t, err)
	require.Equal(t, n, x.Distinct())
	out := make([]int32, n-7)
	require.NoError(t, x.Probe(keys.NewSlice(7, n).Columns(), out))
	require.Equal(t, ascending(n)[7:], out)
}

package rows_test

import (
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

// TestKernels holds the written-out hashes against the library.
func TestKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo, hi, seed := rapid.Uint64().Draw(t, "lo"), rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "seed")
		b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, lo), hi)
		want := xxh3.Hash128Seed(b[:8], seed)
		require.Equal(t, rows.Digest{Hi: want.Hi, Lo: want.Lo}, rows.Hash8(lo, seed))
		want = xxh3.Hash128Seed(b, seed)
		require.Equal(t, rows.Digest{Hi: want.Hi, Lo: want.Lo}, rows.Finish(rows.Digest{Hi: hi, Lo: lo}, seed))
	})
}

func TestDigestText(t *testing.T) {
	d := rapid.Custom(func(t *rapid.T) rows.Digest {
		return rows.Digest{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := d.Draw(t, "x"), d.Draw(t, "y")
		back, err := rows.ParseDigest(x.String())
		require.NoError(t, err)
		require.Equal(t, x, back)
		require.Equal(t, x, x.Add(y).Sub(y))
		require.Equal(t, x.Add(y), y.Add(x))
	})
	require.Equal(t, "0000000000000001ffffffffffffffff", rows.Digest{Hi: 1, Lo: 1<<64 - 1}.String())
	require.Equal(t, rows.Digest{Hi: 2}, rows.Digest{Hi: 1, Lo: 1<<64 - 1}.Add(rows.Digest{Lo: 1}), "carry")
	for _, bad := range []string{"", "00", "0000000000000001FFFFFFFFFFFFFFFF", "0000000000000001fffffffffffffffg", "000000000000000000000000000000000"} {
		_, err := rows.ParseDigest(bad)
		require.Error(t, err, bad)
	}
}

// TestDigestIsIdentity: two batches of one schema have one digest exactly if they have the same rows, in whatever order.
func TestDigestIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		types := []arrow.DataType{anyType(2).Draw(t, "type"), scalarType().Draw(t, "scalar")}
		n := rapid.IntRange(0, 6).Draw(t, "rows")
		a := randomBatch(t, mem, n, types...)
		defer a.Release()
		order := rapid.SliceOfN(rapid.Int32Range(0, int32(max(n-1, 0))), n, n).Draw(t, "order")
		if rapid.Bool().Draw(t, "permute") {
			order = rapid.Permutation(ascending(n)).Draw(t, "permutation")
		}
		b, err := rows.Take(mem, a, order)
		require.NoError(t, err)
		defer b.Release()
		same := sameMultiset(texts(a, []int{0, 1}), texts(b, []int{0, 1}))
		require.Equal(t, same, digest(t, a) == digest(t, b))
	})
}

func sameMultiset(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func digest(t require.TestingT, b arrow.RecordBatch) rows.Digest {
	d, err := rows.DigestRows(b, nil)
	require.NoError(t, err)
	return d
}

// TestDigestParts: the digest of a batch is the sum of its rows', and of any parts'.
func TestDigestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		n := rapid.IntRange(0, 8).Draw(t, "rows")
		b := randomBatch(t, mem, n, anyType(2).Draw(t, "type"))
		defer b.Release()
		each := make([]rows.Digest, n)
		require.NoError(t, rows.RowDigests(b, each))
		keep := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "keep")
		var all, some rows.Digest
		for i, d := range each {
			all = all.Add(d)
			if keep[i] {
				some = some.Add(d)
			}
		}
		require.Equal(t, all, digest(t, b))
		got, err := rows.DigestRows(b, keep)
		require.NoError(t, err)
		require.Equal(t, some, got)
	})
}

// TestDigestManyBlocks: what is done in blocks is done to every row, with nested children too.
func TestDigestManyBlocks(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}, nil))
	const n = 5000
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		l := b.Field(1).(*array.ListBuilder)
		l.Append(true)
		for k := range i % 4 {
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i + k))
		}
	}
	batch := b.NewRecordBatch()
	var sum rows.Digest
	for i := range int64(n) {
		sum = sum.Add(digest(t, batch.NewSlice(i, i+1)))
	}
	require.Equal(t, sum, digest(t, batch))
}

func TestDigestRefuses(t *testing.T) {
	two := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.Null}, {Name: "a", Type: arrow.Null}}, nil)
	b := array.NewRecordBatch(two, []arrow.Array{array.NewNull(1), array.NewNull(1)}, 1)
	_, err := rows.DigestRows(b, nil)
	require.ErrorContains(t, err, `two columns are named "a"`)
	one := fromJSON(t, memory.DefaultAllocator, `[{"k":1}]`, arrow.PrimitiveTypes.Int64)
	_, err = rows.DigestRows(one, []bool{})
	require.ErrorContains(t, err, "keep has 0 rows, the batch 1")
	require.ErrorContains(t, rows.RowDigests(one, nil), "room for 0 digests")
	ms := fromJSON(t, memory.DefaultAllocator, `[]`, arrow.FixedWidthTypes.Timestamp_ms)
	_, err = rows.DigestRows(ms, nil)
	require.ErrorContains(t, err, "digest column k: type timestamp[ms, tz=UTC]")
}

// FuzzParseDigest: what is accepted is written back as it was.
func FuzzParseDigest(f *testing.F) {
	f.Add("0123456789abcdef0123456789abcdef")
	f.Add("0123456789ABCDEF0123456789abcdef")
	f.Add("0123456789abcdef0123456789abcde\xff")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := fuzzing.Read(t, len(s), func() (rows.Digest, error) { return rows.ParseDigest(s) })
		if err == nil {
			require.Equal(t, s, d.String())
		}
	})
}

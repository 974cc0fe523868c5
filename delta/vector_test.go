package delta_test

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

// smallVector are the bytes of the vector {0, 9} as Spark wrote them.
const smallVector = "d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0000 0900"

func unhex(t testing.TB, text string) []byte {
	data, err := hex.DecodeString(string(slices.DeleteFunc([]byte(text), func(c byte) bool { return c == ' ' })))
	require.NoError(t, err)
	return data
}

func vectorOf(rows ...int64) *delta.Vector {
	v := delta.NewVector()
	v.Add(rows...)
	return v
}

func TestAVectorOfSpark(t *testing.T) {
	v, err := delta.ParseVector(unhex(t, smallVector))
	require.NoError(t, err)
	require.Equal(t, []int64{0, 9}, slices.Collect(v.Rows()))
	require.Equal(t, unhex(t, smallVector), v.Bytes())
}

func TestTheEmptyVector(t *testing.T) {
	v := delta.NewVector()
	require.EqualValues(t, -1, v.Max())
	require.Zero(t, v.Cardinality())
	require.Empty(t, slices.Collect(v.Rows()))
	again, err := delta.ParseVector(v.Bytes())
	require.NoError(t, err)
	require.Zero(t, again.Cardinality())
	require.Panics(t, func() { v.Add(-1) })
	require.False(t, vectorOf(math.MaxInt64).Contains(-1))
	require.EqualValues(t, math.MaxInt64, vectorOf(3, math.MaxInt64).Max())
}

// le writes numbers in little endian: uint16, uint32 and uint64 by their type.
func le(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case uint16:
			out = binary.LittleEndian.AppendUint16(out, p)
		case uint32:
			out = binary.LittleEndian.AppendUint32(out, p)
		case uint64:
			out = binary.LittleEndian.AppendUint64(out, p)
		case []byte:
			out = append(out, p...)
		case []uint16:
			for _, v := range p {
				out = binary.LittleEndian.AppendUint16(out, v)
			}
		}
	}
	return out
}

// bucket is a bucket of containers without runs; each is its head and its bytes.
func bucket(key uint32, containers ...[]byte) []byte {
	n := uint32(len(containers))
	heads, offsets, bodies := []byte{}, []byte{}, []byte{}
	for _, c := range containers {
		offsets = le(offsets, 8+8*n+uint32(len(bodies)))
		heads, bodies = append(heads, c[:4]...), append(bodies, c[4:]...)
	}
	return le(key, uint32(12346), n, heads, offsets, bodies)
}

// runBucket is a bucket of one container of runs.
func runBucket(key uint32, cardinality uint16, runs ...uint16) []byte {
	return le(key, uint32(12347), []byte{1}, uint16(0), cardinality-1, uint16(len(runs)/2), runs)
}

func arrayOf(key uint16, rows ...uint16) []byte { return le(key, uint16(len(rows)-1), rows) }

func vectorBytes(buckets ...[]byte) []byte {
	out := le(uint32(1681511377), uint64(len(buckets)))
	for _, b := range buckets {
		out = append(out, b...)
	}
	return out
}

func TestVectorsThatAreRead(t *testing.T) {
	for _, c := range []struct {
		why  string
		data []byte
		want []int64
	}{
		{"no bucket", vectorBytes(), nil},
		{"an array", vectorBytes(bucket(0, arrayOf(0, 3, 4), arrayOf(2, 7))), []int64{3, 4, 2<<16 + 7}},
		{"runs, of which some touch", vectorBytes(runBucket(0, 5, 1, 1, 3, 0, 9, 1)), []int64{1, 2, 3, 9, 10}},
		{"two buckets", vectorBytes(bucket(0, arrayOf(0, 1)), bucket(1, arrayOf(0, 2))), []int64{1, 1<<32 + 2}},
		{"a bucket without rows, as Spark fills gaps", vectorBytes(bucket(0), bucket(1, arrayOf(0, 2)), bucket(2), bucket(3, arrayOf(1, 1))),
			[]int64{1<<32 + 2, 3<<32 + 1<<16 + 1}},
		{"nothing but buckets without rows", vectorBytes(bucket(0), bucket(7)), nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			v, err := delta.ParseVector(c.data)
			require.NoError(t, err)
			require.Equal(t, c.want, slices.Collect(v.Rows()))
			require.EqualValues(t, len(c.want), v.Cardinality())
			if len(c.want) > 0 {
				require.Equal(t, c.want[len(c.want)-1], v.Max())
			}
		})
	}
}

func TestVectorsThatAreRefused(t *testing.T) {
	good := bucket(0, arrayOf(0, 3, 4))
	huge := vectorBytes(good)
	binary.LittleEndian.PutUint64(huge[4:], 1<<60)
	offset := bucket(0, arrayOf(0, 1))
	offset[16]++
	dense := make([]byte, 8192)
	for _, c := range []struct {
		why  string
		data []byte
		says string
	}{
		{"nothing", nil, "the magic number"},
		{"another magic number", le(uint32(7), uint64(0)), "the magic number is 7"},
		{"no number of buckets", le(uint32(1681511377), uint32(0)), "the number of buckets"},
		{"more buckets than bytes", huge, "1152921504606846976 buckets"},
		{"a bucket that is missing", vectorBytes(good, nil), "a bucket's key"},
		{"buckets out of order", vectorBytes(good, good), "the bucket 0 follows the bucket 0"},
		{"rows beyond 63 bits", vectorBytes(bucket(1<<31, arrayOf(0, 1))), "beyond 63 bits"},
		{"bytes left over", append(vectorBytes(good), 0), "1 bytes follow"},
		{"another cookie", vectorBytes(le(uint32(0), uint32(99), uint32(0))), "cookie of a bitmap is 99"},
		{"too many containers", vectorBytes(le(uint32(0), uint32(12346), uint32(1<<16+1))), "65537 containers"},
		{"containers that are missing", vectorBytes(le(uint32(0), uint32(12346), uint32(1))), "the keys of 1 containers"},
		{"offsets that are missing", vectorBytes(le(uint32(0), uint32(12346), uint32(1), uint32(0))), "the offsets of 1 containers"},
		{"an offset that leads elsewhere", vectorBytes(offset), "its offset says 17"},
		{"containers out of order", vectorBytes(bucket(0, arrayOf(1, 1), arrayOf(1, 2))), "the container 1 follows the container 1"},
		{"an array out of order", vectorBytes(bucket(0, arrayOf(0, 4, 3))), "3 after 4"},
		{"an array with a row twice", vectorBytes(bucket(0, arrayOf(0, 4, 4))), "4 after 4"},
		{"an array that is cut", vectorBytes(good)[:len(vectorBytes(good))-1], "an array of 2 rows"},
		{"a bitmap of fewer rows than it says", vectorBytes(bucket(0, le(uint16(0), uint16(4999), dense))), "a bitmap of 0 rows says that it has 5000"},
		{"a bitmap that is cut", vectorBytes(bucket(0, le(uint16(0), uint16(4999), dense[:100]))), "a bitmap of 8192 bytes"},
		{"marks of runs that are missing", vectorBytes(le(uint32(0), uint32(0xffff<<16|12347))), "the marks of runs"},
		{"runs that overlap", vectorBytes(runBucket(0, 5, 1, 3, 4, 0)), "a run from 4 to 4"},
		{"runs beyond the container", vectorBytes(runBucket(0, 5, 0xfffe, 4)), "a run from 65534 to 65538"},
		{"runs of fewer rows than they say", vectorBytes(runBucket(0, 5, 1, 3)), "runs of 4 rows say that they have 5"},
		{"runs that are cut", vectorBytes(le(uint32(0), uint32(12347), []byte{1}, uint32(0), uint16(9))), "9 runs"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := delta.ParseVector(c.data)
			require.ErrorIs(t, err, delta.ErrCorrupt)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "at byte ")
		})
	}
	_, err := delta.ParseVector(le(uint32(1681511376), uint32(0)))
	require.ErrorIs(t, err, delta.ErrUnsupported, "Spark's native layout is not damage")
}

// TestASmallPromiseTakesLittleMemory: counts in the bytes are believed only where bytes stand behind them.
func TestASmallPromiseTakesLittleMemory(t *testing.T) {
	data := vectorBytes(bucket(0, arrayOf(0, 3, 4)))
	binary.LittleEndian.PutUint64(data[4:], 1<<62)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = delta.ParseVector(data) }), 20.0)
}

// drawRows draws row numbers that are dense in places and far apart in others.
func drawRows(t *rapid.T, label string) []int64 {
	var out []int64
	for range rapid.IntRange(0, 6).Draw(t, label+" runs") {
		first := rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(65000, 66000), rapid.Int64Range(0, 1<<40), rapid.Int64Range(0, math.MaxInt64-1e6)).Draw(t, label+" first")
		step := rapid.SampledFrom([]int64{1, 2, 70000}).Draw(t, label+" step")
		for i := range rapid.Int64Range(1, 6000).Draw(t, label+" length") {
			if row := first + i*step; row >= 0 {
				out = append(out, row)
			}
		}
	}
	return out
}

func TestAVectorIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRows(t, "a"), drawRows(t, "b")
		v, w := vectorOf(a...), vectorOf(b...)
		set := map[int64]bool{}
		for _, row := range a {
			set[row] = true
		}
		parsed, err := delta.ParseVector(v.Bytes())
		require.NoError(t, err)
		require.Equal(t, slices.Sorted(maps.Keys(set)), slices.Collect(parsed.Rows()))
		for _, row := range b {
			require.Equal(t, set[row], v.Contains(row))
		}

		first := rapid.OneOf(rapid.Int64Range(-5, 300), rapid.Int64Range(65000, 66000), rapid.Int64Range(0, 1<<40)).Draw(t, "from")
		end := first + rapid.Int64Range(-1, 100000).Draw(t, "window")
		var within []int64
		for _, row := range slices.Sorted(maps.Keys(set)) {
			if row >= first && row < end {
				within = append(within, row)
			}
		}
		require.Equal(t, within, slices.Collect(parsed.Within(first, end)))

		both := v.Union(w)
		require.EqualValues(t, len(set), v.Cardinality(), "a union leaves its parts as they are")
		for _, row := range b {
			set[row] = true
		}
		require.Equal(t, slices.Sorted(maps.Keys(set)), slices.Collect(both.Rows()))
		require.EqualValues(t, len(set), both.Cardinality())
		require.Equal(t, v.Cardinality(), v.Union(nil).Cardinality())
	})
}

// FuzzVectorFrame: the bytes of a vector come out of a frame as they went in, and no other frame is taken for it.
func FuzzVectorFrame(f *testing.F) {
	f.Add(delta.AppendVectorFrame(nil, unhex(f, smallVector)))
	f.Add(delta.AppendVectorFrame(nil, nil))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		again, err := delta.ParseVectorFrame(delta.AppendVectorFrame(nil, data))
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		vector, err := fuzzing.Read(t, len(data), func() ([]byte, error) { return delta.ParseVectorFrame(data) })
		if err != nil {
			require.ErrorIs(t, err, delta.ErrCorrupt)
			return
		}
		require.Equal(t, string(data), string(delta.AppendVectorFrame(nil, vector)))
	})
}

func FuzzVector(f *testing.F) {
	f.Add(unhex(f, smallVector))
	f.Add(vectorBytes(bucket(0), bucket(1, arrayOf(0, 2))))
	f.Add(vectorBytes(runBucket(0, 5, 1, 1, 3, 0, 9, 1)))
	f.Add(vectorOf(1, 2, 3, 70000, 1<<33).Bytes())
	for _, data := range fuzzing.Seeds(f, 20, 4<<10, func(path string) bool {
		return strings.Contains(path, "/deletion_vector_") && strings.HasSuffix(path, ".bin")
	}) {
		if len(data) > 9 {
			f.Add(data[5 : len(data)-4])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v *delta.Vector
		var err error
		fuzzing.Bounded(t, len(data), func() { v, err = delta.ParseVector(data) })
		if err != nil {
			require.True(t, isEither(err, delta.ErrCorrupt, delta.ErrUnsupported), "%v", err)
			return
		}
		again, err := delta.ParseVector(v.Bytes())
		require.NoError(t, err)
		require.Equal(t, v.Cardinality(), again.Cardinality())
		require.Equal(t, v.Max(), again.Max())
		require.Equal(t, v.Bytes(), again.Bytes())
		left := 1000
		for row := range v.Rows() {
			require.True(t, again.Contains(row))
			if left--; left == 0 {
				break
			}
		}
	})
}

package parquetio_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/parquetio"
)

// zstdFrame is one without a stated size, as streams are written, of blocks that are not compressed (kind 0), or that
// repeat a byte so many times (kind 1). Its window has 1<<log bytes.
func zstdFrame(log int, kind uint32, sizes ...int) []byte {
	out := []byte{0x28, 0xB5, 0x2F, 0xFD, 0, byte(log-10) << 3}
	for i, n := range sizes {
		head := uint32(n)<<3 | kind<<1
		if i == len(sizes)-1 {
			head |= 1
		}
		out = append(out, binary.LittleEndian.AppendUint32(nil, head)[:3]...)
		if kind == 1 {
			n = 1
		}
		out = append(out, bytes.Repeat([]byte{'x'}, n)...)
	}
	return out
}

// The highest levels of zstd have windows far beyond what is in a page: they take no memory.
func TestZstdOfLargeWindows(t *testing.T) {
	for _, log := range []int{20, 23, 25, 27} {
		for kind := range uint32(2) {
			src, dst := zstdFrame(log, kind, 100_000, 100_000, 5), make([]byte, 200_005)
			fuzzing.Bounded(t, len(src)+len(dst), func() { require.NoError(t, parquetio.Unzstd(dst, src)) })
			require.Equal(t, bytes.Repeat([]byte{'x'}, 200_005), dst)
		}
	}
	many := make([]int, 1000)
	for i := range many {
		many[i] = 128 << 10
	}
	bomb := zstdFrame(27, 1, many...) // 125 MiB in 4 kB, for a page of 5 bytes
	err := parquetio.Unzstd(make([]byte, 5), bomb)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.NotErrorIs(t, err, delta.ErrCorrupt)
	require.Error(t, parquetio.Unzstd(make([]byte, 5), zstdFrame(27, 1, 100)), "more than the page states")
	require.Error(t, parquetio.Unzstd(make([]byte, 100), zstdFrame(27, 1, 5)), "less than the page states")
}

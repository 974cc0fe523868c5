package rows

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// XXH3-128 of eight and of sixteen bytes, written out so that they are inlined in loops over fixed-width columns. Constants and
// steps are those of the XXH3 specification; the tests hold them against the library.
const (
	secret016x024 = 0xdb979083e96dd4de ^ 0x1f67b3b7a4a44072
	secret032x040 = 0x78e5c0cc4ee679cb ^ 0x2172ffcc7dd05a82
	secret048x056 = 0x8e2443f7744608b8 ^ 0x4c263a81e69035e0
	prime64x1     = 0x9e3779b185ebca87
	prime64x2     = 0xc2b2ae3d27d4eb4f
	prime32x2     = 0x85ebca77
)

func hashBytes(b []byte, seed uint64) Digest {
	u := xxh3.Hash128Seed(b, seed)
	return Digest{u.Hi, u.Lo}
}

// key8 is what hash8 needs of a seed.
func key8(seed uint64) uint64 {
	return secret016x024 + (seed ^ uint64(bits.ReverseBytes32(uint32(seed)))<<32)
}

// hash8 is hashBytes of v's eight little-endian bytes.
func hash8(v, key uint64) Digest {
	hi, lo := bits.Mul64(v^key, prime64x1+(8<<2))
	hi += lo << 1
	lo ^= hi >> 3
	lo ^= lo >> 35
	lo *= 0x9fb21c651e98df25
	lo ^= lo >> 28
	return Digest{avalanche(hi), lo}
}

// finish is hashBytes of d's sixteen little-endian bytes: it keeps the values of one row together.
func finish(d Digest, seed uint64) Digest {
	hi, lo := bits.Mul64(d.Lo^d.Hi^(secret032x040-seed), prime64x1)
	lo += 15 << 54
	in := d.Hi ^ (secret048x056 + seed)
	hi += in + uint64(uint32(in))*(prime32x2-1)
	lo ^= bits.ReverseBytes64(hi)
	outHi, outLo := bits.Mul64(lo, prime64x2)
	return Digest{avalanche(outHi + hi*prime64x2), avalanche(outLo)}
}

func avalanche(x uint64) uint64 {
	x ^= x >> 37
	x *= 0x165667919e3779f9
	return x ^ x>>32
}

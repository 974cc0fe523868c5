package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// The numbers that a serialised vector begins with.
const (
	vectorMagic       = 1681511377
	nativeVectorMagic = 1681511376 // of a layout that engines can read and none writes
	vectorHeaderBytes = 4 + 8      // magic, number of buckets
)

// Vector is a set of physical row indices of one data file: the rows that are deleted. Rows count
// from 0 in file order. It is free for any number of readers while nobody adds to it.
type Vector struct{ rows roaring64.Bitmap }

// NewVector is the empty vector.
func NewVector() *Vector { return &Vector{} }

// ParseVector reads the bytes of a vector: the magic number, then a 64-bit Roaring bitmap in the
// portable format. The bytes are checked as a whole before memory is taken for them. What is not a
// vector to the last byte wraps ErrCorrupt and says at which byte; Roaring's older layout of Spark
// wraps ErrUnsupported.
func ParseVector(data []byte) (*Vector, error) {
	s := roaringScan{data: data}
	if err := s.vector(); err != nil {
		return nil, fmt.Errorf("deletion vector of %d bytes: at byte %d: %w", len(data), s.at, err)
	}
	v := NewVector()
	if _, err := v.rows.ReadFrom(bytes.NewReader(s.filled())); err != nil {
		return nil, fmt.Errorf("%w: deletion vector of %d bytes: %v", ErrCorrupt, len(data), err)
	}
	return v, nil
}

// Bytes is the vector as ParseVector reads it.
func (v *Vector) Bytes() []byte {
	compact := v.rows.Clone()
	compact.RunOptimize()
	var b bytes.Buffer
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], vectorMagic)
	b.Write(magic[:])
	_, _ = compact.WriteTo(&b) // a buffer takes everything
	return b.Bytes()
}

// Contains says whether a row is deleted.
func (v *Vector) Contains(row int64) bool { return row >= 0 && v.rows.Contains(uint64(row)) }

// Cardinality is the number of rows in the vector.
func (v *Vector) Cardinality() int64 {
	return int64(min(v.rows.GetCardinality(), math.MaxInt64))
}

// Max is the greatest row, -1 of the empty vector.
func (v *Vector) Max() int64 {
	if v.rows.IsEmpty() {
		return -1
	}
	return int64(v.rows.Maximum())
}

// Add puts rows into the vector. A negative row is a mistake of the caller's and panics.
func (v *Vector) Add(rows ...int64) {
	for _, row := range rows {
		if row < 0 {
			panic(fmt.Sprintf("delta: row %d of a file", row))
		}
		v.rows.Add(uint64(row))
	}
}

// Union gives a new vector of the rows of both; o may be nil.
func (v *Vector) Union(o *Vector) *Vector {
	both := &Vector{rows: *v.rows.Clone()}
	if o != nil {
		both.rows.Or(&o.rows)
	}
	return both
}

// Rows yields the rows, ascending.
func (v *Vector) Rows() iter.Seq[int64] { return v.Within(0, math.MaxInt64) }

// Within yields the rows from first on that are less than end, ascending.
func (v *Vector) Within(first, end int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		it := v.rows.Iterator()
		for it.AdvanceIfNeeded(uint64(max(first, 0))); it.HasNext(); {
			row := int64(it.Next())
			if row >= end || !yield(row) {
				return
			}
		}
	}
}

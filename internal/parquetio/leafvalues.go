package parquetio

import (
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// batchReader is what the library's typed column readers have in common.
type batchReader[T any] interface {
	ReadBatchInPage(n int64, values []T, defs, reps []int16) (total int64, read int, err error)
}

func newLeafValues(col *node) leafValues {
	switch col.phys {
	case parquet.Types.Boolean:
		return &fixedValues[bool]{width: 1}
	case parquet.Types.Int32:
		return &fixedValues[int32]{width: 4}
	case parquet.Types.Int64:
		return &fixedValues[int64]{width: 8}
	case parquet.Types.Int96:
		return &fixedValues[parquet.Int96]{width: 12}
	case parquet.Types.Float:
		return &fixedValues[float32]{width: 4}
	case parquet.Types.Double:
		return &fixedValues[float64]{width: 8}
	case parquet.Types.FixedLenByteArray:
		return &stringValues[parquet.FixedLenByteArray]{ends: []int32{0}}
	}
	return &stringValues[parquet.ByteArray]{ends: []int32{0}}
}

// fixedValues are values of fixed width.
type fixedValues[T any] struct {
	v     []T
	width int
}

func (f *fixedValues[T]) read(in file.ColumnChunkReader, n int, defs, reps []int16) (int, int, error) {
	f.v = slices.Grow(f.v, n)
	total, read, err := in.(batchReader[T]).ReadBatchInPage(int64(n), f.v[len(f.v):len(f.v)+n], defs, reps)
	if err == nil {
		f.v = f.v[:len(f.v)+read]
	}
	return int(total), read, err
}

func (f *fixedValues[T]) drop(n int) { f.v = f.v[:copy(f.v, f.v[n:])] }
func (f *fixedValues[T]) bytes() int { return len(f.v) * f.width }

// taken gives the values that l.take handed out.
func taken[T any](l *leafReader) []T {
	return l.vals.(*fixedValues[T]).v[l.valAt-l.k : l.valAt]
}

// stringValues are byte strings, copied out of the pages one after the other.
type stringValues[T ~[]byte] struct {
	data []byte
	ends []int32 // where each value ends in data, after a 0
	tmp  []T     // alias the page
}

func (s *stringValues[T]) read(in file.ColumnChunkReader, n int, defs, reps []int16) (int, int, error) {
	if cap(s.tmp) < n {
		s.tmp = make([]T, n)
	}
	total, read, err := in.(batchReader[T]).ReadBatchInPage(int64(n), s.tmp[:n], defs, reps)
	if err != nil {
		return int(total), read, err
	}
	sum := 0
	for _, v := range s.tmp[:read] {
		sum += len(v)
	}
	if err := checkTotal(len(s.data) + sum); err != nil {
		return 0, 0, err
	}
	s.data = slices.Grow(s.data, sum)
	s.ends = slices.Grow(s.ends, read)
	for _, v := range s.tmp[:read] {
		s.data = append(s.data, v...)
		s.ends = append(s.ends, int32(len(s.data)))
	}
	clear(s.tmp[:read])
	return int(total), read, nil
}

func (s *stringValues[T]) drop(n int) {
	if n == 0 {
		return
	}
	cut := s.ends[n]
	s.data = s.data[:copy(s.data, s.data[cut:])]
	kept := s.ends[n:]
	for i, e := range kept {
		s.ends[i] = e - cut
	}
	s.ends = s.ends[:len(kept)]
}

func (s *stringValues[T]) bytes() int { return len(s.data) + 4*len(s.ends) }

func (s *stringValues[T]) strings() (data []byte, ends []int32) { return s.data, s.ends }

// takenStrings gives the byte strings that l.take handed out: value i is data[ends[i]:ends[i+1]].
func takenStrings(l *leafReader) (data []byte, ends []int32) {
	data, ends = l.vals.(interface{ strings() ([]byte, []int32) }).strings()
	return data, ends[l.valAt-l.k : l.valAt+1]
}

package parquetio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// shelf is a store of which only reads are used; it writes down the requests.
type shelf struct {
	store.Store
	objects map[string][]byte
	fail    error
	calls   []string
	read    int
}

func (s *shelf) Get(_ context.Context, key string, limit int64) ([]byte, error) {
	s.calls = append(s.calls, "get")
	b, ok := s.objects[key]
	switch {
	case s.fail != nil:
		return nil, s.fail
	case !ok:
		return nil, fmt.Errorf("get %s: %w", key, store.ErrNotExist)
	case limit > 0 && int64(len(b)) > limit:
		return nil, fmt.Errorf("get %s: larger than %d", key, limit)
	}
	s.read += len(b)
	return b, nil
}

func (s *shelf) GetRange(_ context.Context, key string, off int64, p []byte) error {
	s.calls = append(s.calls, "range")
	b, ok := s.objects[key]
	switch {
	case s.fail != nil:
		return s.fail
	case !ok:
		return fmt.Errorf("get %s: %w", key, store.ErrNotExist)
	case off > int64(len(b)) || copy(p, b[off:]) < len(p):
		return io.ErrUnexpectedEOF
	}
	s.read += len(p)
	return nil
}

func (s *shelf) Head(_ context.Context, key string) (store.Info, error) {
	s.calls = append(s.calls, "head")
	return store.Info{Key: key, Size: int64(len(s.objects[key]))}, nil
}

// wide is a file of more than 8 MiB with columns that do not compress.
func wide(t testing.TB) ([]byte, *arrow.Schema) {
	s := arrow.NewSchema([]arrow.Field{field("a", arrow.PrimitiveTypes.Int64), field("b", arrow.PrimitiveTypes.Int64), field("c", arrow.PrimitiveTypes.Int64)}, nil)
	b := randomBatch(memory.DefaultAllocator, s, 500_000, 5)
	data := writeFile(t, parquetio.WriteOptions{Codec: "none"}, s, b)
	require.Greater(t, len(data), 8<<20)
	return data, s
}

func TestObjectIsFetchedWholeWhenSmall(t *testing.T) {
	s := flatSchema()
	b := randomBatch(memory.DefaultAllocator, s, 100, 1)
	data := writeFile(t, parquetio.WriteOptions{}, s, b)
	st := &shelf{objects: map[string][]byte{"k": data}}
	got, err := readAll(t.Context(), parquetio.Object(t.Context(), st, "k", int64(len(data))), s, parquetio.ReadOptions{})
	require.NoError(t, err)
	requireSame(t, s, got, b)
	require.Equal(t, []string{"get"}, st.calls)
}

func TestObjectIsFetchedByColumnWhenLarge(t *testing.T) {
	data, s := wide(t)
	st := &shelf{objects: map[string][]byte{"k": data}}
	want := arrow.NewSchema([]arrow.Field{s.Field(1)}, nil)
	got, err := readAll(t.Context(), parquetio.Object(t.Context(), st, "k", int64(len(data))), want, parquetio.ReadOptions{})
	require.NoError(t, err)
	defer got.Release()
	require.Less(t, st.read, len(data)/2, "only the footer and one column are fetched")
	require.LessOrEqual(t, len(st.calls), 3)

	whole, err := readAll(t.Context(), source("k", data), want, parquetio.ReadOptions{})
	require.NoError(t, err)
	require.True(t, array.TableEqual(whole, got))
}

func TestObjectThatIsNotWhatTheLogSays(t *testing.T) {
	small := writeFile(t, parquetio.WriteOptions{}, flatSchema(), randomBatch(memory.DefaultAllocator, flatSchema(), 100, 1))
	large, s := wide(t)
	boom := errors.New("503 slow down")
	for name, c := range map[string]struct {
		objects map[string][]byte
		fail    error
		size    int
		is      []error
		isNot   []error
	}{
		"missing":             {nil, nil, len(small), []error{delta.ErrCorrupt, store.ErrNotExist}, nil},
		"missing, large":      {nil, nil, len(large), []error{delta.ErrCorrupt, store.ErrNotExist}, nil},
		"shorter":             {map[string][]byte{"d/k": small}, nil, len(small) + 7, []error{delta.ErrCorrupt}, nil},
		"longer":              {map[string][]byte{"d/k": small}, nil, len(small) - 1, []error{delta.ErrCorrupt}, nil},
		"much longer":         {map[string][]byte{"d/k": large}, nil, len(small), []error{delta.ErrCorrupt}, nil},
		"shorter, large":      {map[string][]byte{"d/k": large[:9<<20]}, nil, len(large), []error{delta.ErrCorrupt}, nil},
		"longer, large":       {map[string][]byte{"d/k": append(bytes.Clone(large), 1, 2, 3)}, nil, len(large) - 9, []error{delta.ErrCorrupt}, nil},
		"of no size":          {map[string][]byte{"d/k": small}, nil, 0, []error{delta.ErrCorrupt}, nil},
		"a store that fails":  {map[string][]byte{"d/k": small}, boom, len(small), []error{boom}, []error{delta.ErrCorrupt}},
		"one that fails late": {map[string][]byte{"d/k": large}, boom, len(large), []error{boom}, []error{delta.ErrCorrupt}},
	} {
		t.Run(name, func(t *testing.T) {
			st := &shelf{objects: c.objects, fail: c.fail}
			_, err := readAll(t.Context(), parquetio.Object(t.Context(), st, "d/k", int64(c.size)), s, parquetio.ReadOptions{})
			for _, e := range c.is {
				require.ErrorIs(t, err, e)
			}
			for _, e := range c.isNot {
				require.NotErrorIs(t, err, e)
			}
			require.ErrorContains(t, err, "d/k")
		})
	}
}

func TestStoreFailsBetweenFooterAndData(t *testing.T) {
	data, s := wide(t)
	st := &shelf{objects: map[string][]byte{"k": data}}
	r, err := parquetio.Parquet{}.Open(t.Context(), parquetio.Object(t.Context(), st, "k", int64(len(data))), parquetio.ReadOptions{})
	require.NoError(t, err)
	st.fail = errors.New("connection reset")
	for _, err := range r.Batches(t.Context(), s) {
		require.ErrorIs(t, err, st.fail)
		require.NotErrorIs(t, err, delta.ErrCorrupt)
	}
}

func TestReadingStopsWithItsContext(t *testing.T) {
	s := flatSchema()
	data := writeFile(t, parquetio.WriteOptions{}, s, randomBatch(memory.DefaultAllocator, s, 1000, 1))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := parquetio.Parquet{}.Open(ctx, source("k", data), parquetio.ReadOptions{BatchRows: 10})
	require.NoError(t, err)
	n := 0
	for _, err := range r.Batches(ctx, s) {
		if n++; n == 1 {
			require.NoError(t, err)
			cancel()
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, 2, n)
}

func TestABrokenConnectionIsNotACorruptFile(t *testing.T) {
	data, _ := wide(t)
	for _, size := range []int{len(data), 1000} { // read by ranges, and whole
		s := &shelf{objects: map[string][]byte{"f": data[:size]}, fail: fmt.Errorf("half of the answer: %w", io.ErrUnexpectedEOF)}
		_, err := parquetio.Object(t.Context(), s, "f", int64(size)).ReadAt(make([]byte, 8), 0)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotErrorIs(t, err, delta.ErrCorrupt, "the object has the size that the log says")
	}
}

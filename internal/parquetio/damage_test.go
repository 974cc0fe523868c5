package parquetio_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// seed is a sound file with the schema to read it by.
type seed struct {
	name string
	data []byte
	want *arrow.Schema // nil: a checkpoint
}

// seeds are small files of every codec, page version, encoding and nesting.
func seeds(t testing.TB) []seed {
	var out []seed
	mem := memory.DefaultAllocator
	flat, nested := flatSchema(), nestedSchema()
	a, b := randomBatch(mem, flat, 120, 1), randomBatch(mem, nested, 60, 2)
	for _, codec := range []string{"none", "snappy", "zstd", "gzip", "lz4_raw"} {
		o := parquetio.WriteOptions{Codec: codec, RowGroupRows: 50}
		out = append(out, seed{"flat " + codec, writeFile(t, o, flat, a), flat}, seed{"nested " + codec, writeFile(t, o, nested, b), nested})
	}
	for _, f := range []struct {
		name string
		opts []parquet.WriterProperty
	}{
		{"v2 dictionary snappy", []parquet.WriterProperty{parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Snappy)}},
		{"v2 plain brotli", []parquet.WriterProperty{parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Brotli)}},
		{"delta", []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("i32", parquet.Encodings.DeltaBinaryPacked),
			parquet.WithEncodingFor("i64", parquet.Encodings.DeltaBinaryPacked), parquet.WithEncodingFor("s", parquet.Encodings.DeltaByteArray),
			parquet.WithEncodingFor("bin", parquet.Encodings.DeltaLengthByteArray), parquet.WithEncodingFor("f64", parquet.Encodings.ByteStreamSplit)}},
	} {
		out = append(out, seed{f.name, writeWithArrow(t, flat, a, f.opts...), flat})
	}
	out = append(out, seed{"v2 nested", writeWithArrow(t, nested, b, parquet.WithDataPageVersion(parquet.DataPageV2)), nested})
	return append(out, seed{"checkpoint", writeCheckpoint(t, checkpointActions()), nil})
}

// writeWithArrow writes a file as another writer would, with its schema embedded.
func writeWithArrow(t testing.TB, s *arrow.Schema, b arrow.RecordBatch, opts ...parquet.WriterProperty) []byte {
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, parquet.NewWriterProperties(opts...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	require.NoError(t, err)
	require.NoError(t, w.WriteBuffered(b))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// read reads a file to its end.
func (s seed) read(ctx context.Context, mem memory.Allocator) error {
	src := source(s.name, s.data)
	if s.want == nil {
		return parquetio.Parquet{}.ReadCheckpoint(ctx, src, true, func(delta.Action) error { return nil })
	}
	r, err := parquetio.Parquet{}.Open(ctx, src, parquetio.ReadOptions{Allocator: mem})
	if err != nil {
		return err
	}
	defer r.Close()
	for _, err := range r.Batches(ctx, s.want) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSeedsAreSound(t *testing.T) {
	mem := checked(t)
	for _, s := range seeds(t) {
		require.NoError(t, s.read(t.Context(), mem), s.name)
	}
}

// allocated is the number of bytes that the program has ever taken.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestDamage reads mutants of sound files: each ends in success or in an error that names the file, takes bounded
// memory and gives all of it back. IDEM_MUTANTS is the number for each seed.
func TestDamage(t *testing.T) {
	n := 100
	if v, err := strconv.Atoi(os.Getenv("IDEM_MUTANTS")); err == nil {
		n = v
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	worst, refused := uint64(0), 0
	for i, s := range seeds(t) {
		r := rand.New(rand.NewPCG(uint64(i), 99))
		for k := range n {
			m := seed{s.name, mutate(r, s.data), s.want}
			before := allocated()
			err := m.read(t.Context(), mem)
			took := allocated() - before
			worst = max(worst, took)
			require.LessOrEqual(t, took, uint64(64<<20+16*len(m.data)), "mutant %d of %s: %v", k, s.name, err)
			if err != nil {
				refused++
				requireDamage(t, s.name, err)
			}
		}
	}
	mem.AssertSize(t, 0)
	t.Logf("%d refused; at most %d KiB taken", refused, worst>>10)
	require.Positive(t, refused)
}

func requireDamage(t testing.TB, name string, err error) {
	if !errorsIsAny(err, delta.ErrCorrupt, delta.ErrUnsupported) {
		require.Fail(t, "neither corrupt nor unsupported", "%v", err)
	}
	require.ErrorContains(t, err, name)
}

// mutate changes one to four bytes, or cuts the file.
func mutate(r *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	if r.IntN(50) == 0 {
		return out[:r.IntN(len(out))]
	}
	for range 1 + r.IntN(4) {
		i := r.IntN(len(out))
		if r.IntN(2) == 0 { // the footer holds most of what can be lied about
			i = len(out) - 1 - r.IntN(min(len(out), 1500))
		}
		switch r.IntN(3) {
		case 0:
			out[i] = byte(r.Int())
		case 1:
			out[i] ^= 1 << r.IntN(8)
		default:
			out[i] = 0xff
		}
	}
	return out
}

func FuzzRead(f *testing.F) {
	all := seeds(f)
	for i, s := range all {
		f.Add(s.data, i)
	}
	f.Fuzz(func(t *testing.T, data []byte, i int) {
		s := all[uint(i)%uint(len(all))]
		s.data = data
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		if err := s.read(t.Context(), mem); err != nil {
			requireDamage(t, s.name, err)
		}
		mem.AssertSize(t, 0)
	})
}

func TestLyingFooters(t *testing.T) {
	s := flatSchema()
	b := randomBatch(memory.DefaultAllocator, s, 10, 1)
	data := writeFile(t, parquetio.WriteOptions{}, s, b)
	for name, c := range map[string]struct {
		edit func([]byte) []byte
		says string
	}{
		"not a Parquet file":               {func(b []byte) []byte { return bytes.Repeat([]byte("x"), 100) }, "does not end as a Parquet file"},
		"empty":                            {func(b []byte) []byte { return nil }, "too few"},
		"cut in the footer":                {func(b []byte) []byte { return b[:len(b)-20] }, "does not end as a Parquet file"},
		"a footer longer than the file":    {func(b []byte) []byte { copy(b[len(b)-8:], "\xff\xff\xff\x7f"); return b }, "states a footer of"},
		"a footer of nothing":              {func(b []byte) []byte { copy(b[len(b)-8:], "\x00\x00\x00\x00"); return b }, "metadata ends too early"},
		"an encrypted footer":              {func(b []byte) []byte { copy(b[len(b)-4:], "PARE"); return b }, "encrypted"},
		"a footer of nested empty structs": {func(b []byte) []byte { return footerFile(bytes.Repeat([]byte{0x1c}, 4000)) }, "nests too deep"},
		"a list of a billion":              {func(b []byte) []byte { return footerFile([]byte("\x29\xfc\xff\xff\xff\xff\x0f")) }, "beyond its end"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parquetio.Parquet{}.Open(t.Context(), source("some/file", c.edit(bytes.Clone(data))), parquetio.ReadOptions{})
			requireDamage(t, "some/file", err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// footerFile is a file with nothing but a footer.
func footerFile(footer []byte) []byte {
	n := len(footer)
	return fmt.Appendf(nil, "PAR1%s%s", footer, []byte{byte(n), byte(n >> 8), 0, 0, 'P', 'A', 'R', '1'})
}

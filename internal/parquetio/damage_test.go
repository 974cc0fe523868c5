package parquetio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
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
		return parquetio.Parquet{}.ReadCheckpoint(ctx, src, parquetio.CheckpointOptions{}, func(delta.Action) error { return nil })
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
	n := fewer(100)
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
			var err error
			fuzzing.Alone(t, func() { err = m.read(t.Context(), mem) })
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

// FuzzRead: bytes that are said to be a file are refused, or are rows that are written and read again as the same.
func FuzzRead(f *testing.F) {
	all := seeds(f)
	for i, s := range all {
		f.Add(s.data, i)
	}
	f.Fuzz(func(t *testing.T, data []byte, i int) {
		s := all[uint(i)%uint(len(all))]
		s.data = data
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		fuzzing.Alone(t, func() {
			var err error
			fuzzing.Bounded(t, len(data), func() {
				if err = s.read(t.Context(), mem); err != nil {
					requireDamage(t, s.name, err)
				}
			})
			if err == nil && s.want != nil {
				s.requireRewritten(t, mem)
			}
		})
		mem.AssertSize(t, 0)
	})
}

// rewrittenRows bounds the rows that are written again: bytes that say that a value comes a million times say nothing
// more than those that say a thousand.
const rewrittenRows = 1000

// requireRewritten writes the rows of a file that is accepted, and reads them again as the same.
func (s seed) requireRewritten(t *testing.T, mem memory.Allocator) {
	o := parquetio.ReadOptions{Allocator: mem}
	rows, err := readAll(t.Context(), source(s.name, s.data), s.want, o)
	require.NoError(t, err)
	defer rows.Release()
	if rows.NumRows() > rewrittenRows {
		return
	}
	var out bytes.Buffer
	fields := slices.Clone(s.want.Fields())
	for i := range fields {
		fields[i].Nullable = true // whether a file has NULL where a table has none is not for a reader to say
	}
	w, err := parquetio.Parquet{}.NewWriter(&out, arrow.NewSchema(fields, nil), parquetio.WriteOptions{Allocator: mem})
	require.NoError(t, err)
	batches := array.NewTableReader(rows, -1)
	defer batches.Release()
	for batches.Next() {
		require.NoError(t, w.Write(batches.RecordBatch()), "what is accepted is written")
	}
	require.NoError(t, w.Close())
	again, err := readAll(t.Context(), source(s.name, out.Bytes()), s.want, o)
	require.NoError(t, err)
	defer again.Release()
	require.Equal(t, cellsOf(rows), cellsOf(again), "and read as the same rows")
}

// cellsOf is all values of a table as text, which tells NaN from no other NaN.
func cellsOf(tbl arrow.Table) []string {
	out := []string{}
	for i := range int(tbl.NumCols()) {
		for _, chunk := range tbl.Column(i).Data().Chunks() {
			for row := range chunk.Len() {
				out = append(out, chunk.ValueStr(row))
			}
		}
	}
	return out
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
	return fmt.Appendf(nil, "PAR1%s%s", footer, []byte{byte(n), byte(n >> 8), byte(n >> 16), 0, 'P', 'A', 'R', '1'})
}

// TestPagesBeyondTheLimits: no page is read whose bytes, or what they expand to, would take more
// memory than a page may, whatever the chunk holds.
func TestPagesBeyondTheLimits(t *testing.T) {
	for why, c := range map[string]struct {
		size, raw, left int64
		unsupported     bool
		says            string // "": it is read
	}{
		"a page as it should be":                      {1 << 10, 1 << 20, 1 << 20, false, ""},
		"one that hardly compresses":                  {256<<20 + 100, 256 << 20, 1 << 40, false, ""},
		"one that zeros make small":                   {100, 16 << 20, 1 << 20, false, ""},
		"larger than the chunk":                       {101, 200, 100, false, "a page of 101 bytes where 100 are left"},
		"of a negative size":                          {-1, 200, 100, false, "a page of -1 bytes"},
		"of a negative size when expanded":            {1, -200, 100, false, "states to expand to -200"},
		"of half a gigabyte when expanded":            {100 << 20, 512 << 20, 1 << 40, true, "a page of 536870912 bytes, of which idem reads at most 268435456"},
		"of half a gigabyte in the file":              {512 << 20, 1 << 20, 1 << 40, true, "a page of 536870912 compressed bytes"},
		"a thousand times larger when it is expanded": {100, 17 << 20, 1 << 20, true, "expands to 17825792"},
	} {
		t.Run(why, func(t *testing.T) {
			err := parquetio.CheckPage(c.size, c.raw, c.left)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.unsupported, errors.Is(err, delta.ErrUnsupported))
		})
	}
}

// lists is a field of a struct, given several times: each time a list of n empty structs.
func lists(id, n, times int) []byte {
	var out []byte
	for i := range times {
		if i == 0 {
			out = append(out, byte(id)<<4|9)
		} else {
			out = append(out, 9, byte(2*id)) // not further on than the last one
		}
		out = binary.AppendUvarint(append(out, 0xfc), uint64(n))
		out = append(out, make([]byte, n)...)
	}
	return append(out, 0)
}

// TestFootersBeyondTheLimits: a file that may be sound is not called corrupt, and a limit is one for
// all lists of a kind together, not for each.
func TestFootersBeyondTheLimits(t *testing.T) {
	for why, c := range map[string]struct {
		footer []byte
		says   string
	}{
		"schema elements":                    {lists(2, 122_001, 1), "122001 schema elements, of which idem reads at most 122000"},
		"schema elements, in several lists":  {lists(2, 122_000, 20), "244000 schema elements"},
		"row groups":                         {lists(4, 100_001, 1), "100001 row groups"},
		"row groups, in several lists":       {lists(4, 90_000, 40), "180000 row groups"},
		"chunks of one row group, in lists":  {append([]byte{0x49, 0x1c}, lists(1, 600_000, 6)...), "1200000 column chunks"},
		"a footer that is too large to read": {make([]byte, 65<<20), "a footer of 68157440 bytes, of which idem reads at most 67108864"},
	} {
		t.Run(why, func(t *testing.T) {
			data := footerFile(c.footer)
			if n := len(c.footer); n >= 1<<24 {
				data[len(data)-5] = byte(n >> 24)
			}
			before := allocated()
			_, err := parquetio.Parquet{}.Open(t.Context(), source("some/file", data), parquetio.ReadOptions{})
			require.LessOrEqual(t, allocated()-before, uint64(128<<20))
			require.ErrorIs(t, err, delta.ErrUnsupported)
			require.NotErrorIs(t, err, delta.ErrCorrupt)
			require.ErrorContains(t, err, "some/file")
			require.ErrorContains(t, err, c.says)
		})
	}
}

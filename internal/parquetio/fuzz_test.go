package parquetio_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/parquetio"
)

// FuzzReadCheckpoint: bytes that are said to be a checkpoint are refused, or are actions that are written and read
// again as the same.
func FuzzReadCheckpoint(f *testing.F) {
	all := append(checkpointActions(), delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{Version: 7, Tags: map[string]string{"a": "b"}}},
		delta.Action{Sidecar: &delta.Sidecar{Path: "x.parquet", SizeInBytes: 0, ModificationTime: 3}})
	f.Add(writeCheckpoint(f, checkpointActions()))
	f.Add(writeLayout(f, all, parquetio.CheckpointLayout{Content: parquetio.CheckpointManifest}))
	f.Add(writeLayout(f, checkpointActions()[5:], parquetio.CheckpointLayout{Content: parquetio.CheckpointSidecar}))
	f.Add(writeLayout(f, typedAdds(), parquetio.CheckpointLayout{SkipText: true, Typed: everyType(f).TypedColumns()}))
	isCheckpoint := func(path string) bool {
		return strings.Contains(path, "_delta_log/") && strings.HasSuffix(path, ".parquet")
	}
	for _, data := range fuzzing.Seeds(f, 30, 20<<10, isCheckpoint) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first []delta.Action
		var err error
		fuzzing.Alone(t, func() {
			first, err = fuzzing.Read(t, len(data), func() ([]delta.Action, error) { return actionsOf(t, data, true) })
			fuzzing.Bounded(t, len(data), func() { requireBare(t, first, err, data) })
		})
		if err != nil {
			requireDamage(t, "c", err)
			return
		}
		once := rewritten(t, first)
		second, err := actionsOf(t, once, true)
		require.NoError(t, err, "what is accepted is written")
		require.Len(t, second, len(first))
		require.Equal(t, once, rewritten(t, second), "what was written is written as the same")
		third, err := actionsOf(t, once, true)
		require.NoError(t, err)
		require.Equal(t, second, third)
	})
}

// actionsOf reads a checkpoint to its end.
func actionsOf(t *testing.T, data []byte, stats bool) (got []delta.Action, err error) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	o := parquetio.CheckpointOptions{SkipStats: !stats, Allocator: mem}
	err = parquetio.Parquet{}.ReadCheckpoint(t.Context(), source("c", data), o, func(a delta.Action) error {
		got = append(got, a)
		return nil
	})
	return got, err
}

// requireBare reads a checkpoint without its statistics: where it is sound, it has the same actions but for them.
func requireBare(t *testing.T, full []delta.Action, err error, data []byte) {
	bare, bareErr := actionsOf(t, data, false)
	if err != nil {
		return // the fault may be in the statistics
	}
	require.NoError(t, bareErr)
	require.Len(t, bare, len(full))
	for i, a := range bare {
		if a.Add == nil {
			require.Equal(t, full[i], a)
			continue
		}
		withStats := *a.Add
		withStats.Stats, withStats.StatsDeferred = full[i].Add.Stats, full[i].Add.StatsDeferred
		require.Equal(t, full[i].Add, &withStats)
	}
}

// rewritten writes actions as a manifest, which holds all kinds.
func rewritten(t *testing.T, actions []delta.Action) []byte {
	var out bytes.Buffer
	_, _, err := parquetio.Parquet{}.WriteCheckpoint(&out, slices.Values(actions), parquetio.CheckpointLayout{Content: parquetio.CheckpointManifest})
	require.NoError(t, err)
	return out.Bytes()
}

// FuzzFooter: bytes that are said to be a footer are refused, or give a number of rows, the same one each time.
func FuzzFooter(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(footerOf(f, s.data))
	}
	for _, data := range fuzzing.Seeds(f, 20, 20<<10, func(path string) bool { return strings.HasSuffix(path, ".parquet") }) {
		if len(data) > 12 {
			f.Add(footerOf(f, data))
		}
	}
	f.Add(bytes.Repeat([]byte{0x1c}, 100))
	f.Add([]byte("\x29\xfc\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, footer []byte) {
		if len(footer) >= 1<<24 {
			return
		}
		fuzzing.Alone(t, func() {
			_, err := fuzzing.Read(t, len(footer), func() (string, error) {
				r, err := parquetio.Parquet{}.Open(t.Context(), source("f", footerFile(footer)), parquetio.ReadOptions{})
				if err != nil {
					return "", err
				}
				defer r.Close()
				return fmt.Sprint(r.NumRows()), nil
			})
			if err != nil {
				requireDamage(t, "f", err)
			}
		})
	})
}

// footerOf is the footer of a file, nothing where it states none.
func footerOf(t testing.TB, data []byte) []byte {
	end := data[len(data)-8:]
	n := int(end[0]) | int(end[1])<<8 | int(end[2])<<16 | int(end[3])<<24
	if n < 0 || n > len(data)-8 {
		return nil
	}
	return data[len(data)-8-n : len(data)-8]
}

// paged is a sound file of one column and where its pages are.
type paged struct {
	seed
	from, to int
}

// pagedFiles are files of one column, in every encoding, compressed and not.
func pagedFiles(t testing.TB) (out []paged) {
	for _, column := range []struct {
		name string
		dt   arrow.DataType
		opts []parquet.WriterProperty
	}{
		{"text by dictionary", arrow.BinaryTypes.String, nil},
		{"text, plain, snappy", arrow.BinaryTypes.String, []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Snappy)}},
		{"text by prefixes", arrow.BinaryTypes.String, []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaByteArray)}},
		{"bytes by lengths", arrow.BinaryTypes.Binary, []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaLengthByteArray)}},
		{"longs, packed, v2", arrow.PrimitiveTypes.Int64, []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked), parquet.WithDataPageVersion(parquet.DataPageV2)}},
		{"flags", arrow.FixedWidthTypes.Boolean, []parquet.WriterProperty{parquet.WithDictionaryDefault(false)}},
		{"doubles, split, zstd", arrow.PrimitiveTypes.Float64, []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.ByteStreamSplit), parquet.WithCompression(compress.Codecs.Zstd)}},
		{"lists", arrow.ListOf(arrow.PrimitiveTypes.Int32), []parquet.WriterProperty{parquet.WithDictionaryDefault(false)}},
	} {
		s := arrow.NewSchema([]arrow.Field{field("x", column.dt)}, nil)
		data := writeWithArrow(t, s, randomBatch(memory.DefaultAllocator, s, 40, 7), column.opts...)
		r, err := pqfile.NewParquetReader(bytes.NewReader(data))
		require.NoError(t, err)
		c, err := r.MetaData().RowGroup(0).ColumnChunk(0)
		require.NoError(t, err)
		from := c.DataPageOffset()
		if c.HasDictionaryPage() {
			from = min(from, c.DictionaryPageOffset())
		}
		require.NoError(t, r.Close())
		out = append(out, paged{seed{column.name, data, s}, int(from), int(from + c.TotalCompressedSize())})
	}
	return out
}

// FuzzPages: bytes in the place of a column's pages, headers and all, under a sound footer.
func FuzzPages(f *testing.F) {
	all := pagedFiles(f)
	for i, p := range all {
		require.NoError(f, p.read(f.Context(), memory.DefaultAllocator), p.name)
		f.Add(p.data[p.from:p.to], i)
	}
	f.Fuzz(func(t *testing.T, pages []byte, i int) {
		p := all[uint(i)%uint(len(all))]
		p.data = bytes.Clone(p.data)
		clear(p.data[p.from:p.to])
		copy(p.data[p.from:p.to], pages)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		fuzzing.Alone(t, func() {
			_, err := fuzzing.Read(t, len(p.data), func() (string, error) { return rowsOf(t, p.seed, mem) })
			if err != nil {
				requireDamage(t, p.name, err)
			}
		})
		mem.AssertSize(t, 0)
	})
}

// rowsOf reads a file as text.
func rowsOf(t *testing.T, s seed, mem memory.Allocator) (string, error) {
	tbl, err := readAll(t.Context(), source(s.name, s.data), s.want, parquetio.ReadOptions{Allocator: mem})
	if err != nil {
		return "", err
	}
	defer tbl.Release()
	var out strings.Builder
	for _, chunk := range tbl.Column(0).Data().Chunks() {
		for i := range chunk.Len() {
			out.WriteString(chunk.ValueStr(i))
			out.WriteByte('\n')
		}
	}
	return out.String(), nil
}

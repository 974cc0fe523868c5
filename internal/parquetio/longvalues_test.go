package parquetio_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// long makes texts of n bytes that compression finds nothing in.
func long(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = ' ' + byte(r.IntN(95))
	}
	return string(b)
}

// listOf appends a row with a list of n values.
func listOf(b array.Builder, n int, value func(i int, b array.Builder)) {
	l := b.(*array.ListBuilder)
	l.Append(true)
	for i := range n {
		value(i, l.ValueBuilder())
	}
}

// longCase is a column with a long value or a long row.
type longCase struct {
	why     string
	col     arrow.Field
	fill    func(array.Builder)
	refused string // codecs that cannot hold it, all if "*"
}

func appendText(s string) func(int, array.Builder) {
	return func(_ int, b array.Builder) { b.(*array.StringBuilder).Append(s) }
}

// Rows are never written that cannot be read again: what a reader takes for too much is refused before.
func TestLongTextsThatAreWrittenAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing is long: a file is one goroutine")
	}
	text := field("v", arrow.BinaryTypes.String)
	spaces, mb := strings.Repeat(" ", 256<<20), long(1<<20)
	for _, c := range []longCase{
		{"many texts that compress", text, func(b array.Builder) {
			for i := range 3000 {
				b.(*array.StringBuilder).Append(spaces[:20_000+i])
			}
		}, ""},
		{"one text again and again", text, func(b array.Builder) {
			for range 40 {
				b.(*array.StringBuilder).Append(mb)
			}
		}, ""},
		{"many texts of a megabyte", text, func(b array.Builder) {
			for i := range 40 {
				b.(*array.StringBuilder).Append(mb[i:])
			}
		}, ""},
		{"texts of 11 megabytes that compress", text, func(b array.Builder) {
			for i := range 3 {
				b.(*array.StringBuilder).Append(spaces[:11<<20+i])
			}
		}, ""},
		{"a text of 20 megabytes", text, func(b array.Builder) { b.(*array.StringBuilder).Append(strings.Repeat(mb[:1<<19], 40)) }, ""},
		{"a text of 20 megabytes that compresses", text, func(b array.Builder) { b.(*array.StringBuilder).Append(spaces[:20<<20]) }, "zstd"},
		{"a text of 9 megabytes again and again", text, func(b array.Builder) {
			for i := range 12 {
				b.(*array.StringBuilder).Append(strings.Repeat(mb, 9))
				b.(*array.StringBuilder).Append("")
				if i == 0 {
					b.AppendNull()
				}
			}
		}, ""},
		{"a text of 257 megabytes", text, func(b array.Builder) { b.(*array.StringBuilder).Append(spaces + "x") }, "*"},
	} {
		c.check(t)
	}
}

func TestLongListsThatAreWrittenAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing is done a hundred thousand times over")
	}
	texts := field("v", arrow.ListOf(arrow.BinaryTypes.String))
	numbers := field("v", arrow.ListOf(arrow.PrimitiveTypes.Int64))
	spaces, mb := strings.Repeat(" ", 20_000), long(1<<20)
	for _, c := range []longCase{
		{"a list of texts that compress", texts, func(b array.Builder) { listOf(b, 2000, appendText(spaces)) }, "v2 zstd"},
		{"lists of texts", texts, func(b array.Builder) {
			for range 20 {
				listOf(b, 5, appendText(mb))
				b.AppendNull()
			}
		}, ""},
		{"a list of 260 texts of a megabyte", texts, func(b array.Builder) { listOf(b, 260, appendText(mb)) }, "v2"},
		{"a list of three million numbers", numbers, func(b array.Builder) {
			listOf(b, 3_000_000, func(_ int, b array.Builder) { b.(*array.Int64Builder).Append(0) })
		}, "*"},
		{"a list of three million numbers that differ", numbers, func(b array.Builder) {
			listOf(b, 3_000_000, func(i int, b array.Builder) { b.(*array.Int64Builder).Append(int64(i) * 0x9e3779b97f4a7c1) })
		}, ""},
		{"a list of two million numbers", numbers, func(b array.Builder) {
			b.AppendNull()
			listOf(b, 2_000_000, func(_ int, b array.Builder) { b.(*array.Int64Builder).Append(0) })
			b.AppendNull()
		}, ""},
	} {
		c.check(t)
	}
}

func (c longCase) check(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{c.col}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	c.fill(b.Field(0))
	batch := b.NewRecordBatch()
	b.Release()
	for _, codec := range []string{"snappy", "zstd", "none"} {
		for _, v2 := range []bool{false, true} {
			if v2 && codec != "zstd" {
				continue // the same in less time
			}
			t.Run(fmt.Sprintf("%s, %s, v2=%t", c.why, codec, v2), func(t *testing.T) {
				data, err := tryWrite(parquetio.WriteOptions{Codec: codec, PageV2: v2}, s, batch)
				refused := c.refused == "*" || strings.Contains(c.refused, codec)
				if only, ok := strings.CutPrefix(c.refused, "v2"); ok {
					refused = v2 && (only == "" || strings.Contains(only, codec))
				}
				if refused {
					require.ErrorIs(t, err, delta.ErrInput)
					require.Regexp(t, `column v.*: (a value of \d+ bytes|a row with \d+ values of \d+ bytes|a row of \d+ values)`, err.Error())
					return
				}
				require.NoError(t, err)
				got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{})
				require.NoError(t, err)
				defer got.Release()
				requireSame(t, s, got, batch)
			})
		}
	}
	batch.Release()
}

// Pages end by their levels where there are few values, by which the library ends them.
func TestPagesOfLevelsWithoutValues(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing is done a hundred thousand times over")
	}
	for name, inner := range map[string]arrow.DataType{"numbers": arrow.PrimitiveTypes.Int64, "truths": arrow.FixedWidthTypes.Boolean, "texts": arrow.BinaryTypes.String} {
		s := arrow.NewSchema([]arrow.Field{field("v", arrow.ListOf(arrow.ListOf(inner)))}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for range 3000 {
			listOf(b.Field(0), 1000, func(i int, b array.Builder) {
				listOf(b, i%2, func(_ int, b array.Builder) {
					if i != 501 {
						b.AppendNull()
					} else {
						b.AppendEmptyValue()
					}
				})
			})
		}
		batch := b.NewRecordBatch()
		b.Release()
		for _, v2 := range []bool{false, true} {
			data, err := tryWrite(parquetio.WriteOptions{Codec: "zstd", PageV2: v2}, s, batch)
			require.NoError(t, err)
			f, err := pqfile.NewParquetReader(bytes.NewReader(data))
			require.NoError(t, err)
			pages, err := f.RowGroup(0).GetColumnPageReader(0)
			require.NoError(t, err)
			n := 0
			for ; pages.Next(); n++ {
				require.LessOrEqual(t, pages.Page().NumValues(), int32(2<<20), "%s: no page has more", name)
			}
			require.NoError(t, pages.Err())
			require.GreaterOrEqual(t, n, 2)
			got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{})
			require.NoError(t, err)
			requireSame(t, s, got, batch)
			got.Release()
		}
		batch.Release()
	}
}

// A footer that lists more than is read is not written either.
func TestFootersThatAreTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing is done a hundred thousand times over")
	}
	for name, says := range map[string]string{
		"v":                       "100001 row groups of 1 columns, of which idem reads at most 100000: write the rows to more files, or in larger row groups",
		strings.Repeat("v", 1000): "a footer of ",
	} {
		s := arrow.NewSchema([]arrow.Field{field(name, arrow.PrimitiveTypes.Int64)}, nil)
		batch := randomBatch(memory.DefaultAllocator, s, 100_200-200*len(name)/1000, 1)
		_, err := tryWrite(parquetio.WriteOptions{RowGroupRows: 1}, s, batch)
		batch.Release()
		require.ErrorIs(t, err, delta.ErrUnsupported)
		require.ErrorContains(t, err, says)
	}
}

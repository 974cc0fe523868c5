package parquetio

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/idemtable/idem/delta"
)

const (
	// partBytes are handed to the library at once: it looks at the size of a page once for many values.
	partBytes = int(parquet.DefaultDataPageSize)
	// solidBytes is the size from which what no page can part has a page of its own, so that what a reader holds
	// against a page can be held against it before.
	solidBytes = pageSlack / 2
	// levelBytes is room in a page for levels, of two bytes each.
	levelBytes = 2 * 4 * partLevels
)

// arrowStrings are strings in Arrow's layout: value k lies between the offsets i and i+1, where i is idx[k], or k
// itself if idx is nil.
type arrowStrings struct {
	data    []byte
	offsets []int32
	idx     []int
}

func stringsOf(arr arrow.Array, idx []int) arrowStrings {
	v, d := arrowStrings{idx: idx}, arr.Data()
	if d.Len() > 0 {
		v.offsets = arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()+1]
	}
	if b := d.Buffers()[2]; b != nil {
		v.data = b.Bytes()
	}
	return v
}

func (v arrowStrings) len() int {
	if v.idx != nil {
		return len(v.idx)
	}
	return max(len(v.offsets)-1, 0)
}

func (v arrowStrings) at(k int) []byte {
	if v.idx != nil {
		k = v.idx[k]
	}
	return v.data[v.offsets[k]:v.offsets[k+1]]
}

// slice are the values from to to.
func (v arrowStrings) slice(from, to int) arrowStrings {
	if v.idx != nil {
		v.idx = v.idx[from:to]
	} else if to > from {
		v.offsets = v.offsets[from : to+1]
	} else {
		v.offsets = nil
	}
	return v
}

// picked are the same values one behind the other, without idx.
func (v arrowStrings) picked() arrowStrings {
	if v.idx == nil {
		return v
	}
	n := 0
	for k := range v.idx {
		n += len(v.at(k))
	}
	out := arrowStrings{data: make([]byte, 0, n), offsets: make([]int32, 1, len(v.idx)+1)}
	for k := range v.idx {
		out.data = append(out.data, v.at(k)...)
		out.offsets = append(out.offsets, int32(len(out.data)))
	}
	return out
}

// putStrings writes in parts of about a page, which end with a row where pages do.
func putStrings(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	w, v := cw.(*file.ByteArrayColumnChunkWriter), stringsOf(arr, idx)
	full := w.Descr().MaxDefinitionLevel()
	rows := reps != nil && endWithRows(w)
	levels := v.len()
	if defs != nil {
		levels = len(defs)
	}
	from, begin, value, size := 0, 0, 0, 0 // of the part: its first level and value; the next value; its bytes
	for l := range levels {
		if size >= partBytes && !(rows && reps[l] != 0) {
			if err := putPart(w, v.slice(begin, value), size, cutLevels(defs, from, l), cutLevels(reps, from, l)); err != nil {
				return err
			}
			from, begin, size = l, value, 0
		}
		if defs == nil || defs[l] == full {
			size += len(v.at(value))
			value++
		}
	}
	return putPart(w, v.slice(begin, value), size, cutLevels(defs, from, levels), cutLevels(reps, from, levels))
}

func cutLevels(levels []int16, from, to int) []int16 {
	if levels == nil {
		return nil
	}
	return levels[from:to]
}

// putPart writes from Arrow's offsets where the encoding can take them.
func putPart(w *file.ByteArrayColumnChunkWriter, v arrowStrings, size int, defs, reps []int16) error {
	if size >= solidBytes {
		if err := checkSolid(w, v, int64(size)); err != nil {
			return err
		}
		if err := endPage(w); err != nil {
			return err
		}
	}
	if w.SupportsArrowOffsets() {
		v = v.picked()
		_, err := w.WriteBatchArrow(v.data, v.offsets, defs, reps)
		return err
	}
	out := make([]parquet.ByteArray, v.len())
	for k := range out {
		out[k] = v.at(k)
	}
	return put(w, out, defs, reps)
}

// checkSolid refuses values that would make a page which no reader of idem takes: rows are never written that cannot be
// read.
func checkSolid(w *file.ByteArrayColumnChunkWriter, v arrowStrings, size int64) error {
	raw := size + 4*int64(v.len()) + levelBytes
	if raw > maxPageBytes {
		return fmt.Errorf("%w: %s; idem writes at most %d", delta.ErrInput, v.describe(size), maxPageBytes-levelBytes-4)
	}
	if raw <= pageSlack {
		return nil
	}
	codec, err := compress.GetCodec(w.Properties().CompressionFor(w.Descr().Path()))
	if err != nil {
		return err
	}
	plain := make([]byte, 0, raw)
	for k := range v.len() {
		b := v.at(k)
		plain = append(binary.LittleEndian.AppendUint32(plain, uint32(len(b))), b...)
	}
	if packed := int64(len(codec.Encode(nil, plain))); raw > maxPageRatio*packed {
		return fmt.Errorf("%w: %s that compression makes more than %d times as short, which idem does not read; write the table with another delta.parquet.compression.codec",
			delta.ErrInput, v.describe(size), maxPageRatio)
	}
	return nil
}

// describe says what is so long: one value, or all those of a row.
func (v arrowStrings) describe(size int64) string {
	longest := 0
	for k := range v.len() {
		longest = max(longest, len(v.at(k)))
	}
	if longest >= int(size)-partBytes {
		return fmt.Sprintf("a value of %d bytes", longest)
	}
	return fmt.Sprintf("a row with %d values of %d bytes", v.len(), size)
}

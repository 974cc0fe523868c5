package metamorphic_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// handing is how rows are handed in, which must not matter.
type handing struct {
	seed    uint64 // of the order of rows and columns; 0 leaves them
	batch   int    // rows of a batch; 0 is all
	upper   bool   // names in capitals
	narrow  bool   // integers in narrower types than the table's
	coded   bool   // strings as dictionaries
	large   bool   // strings with 64-bit offsets
	offsets bool   // slices of longer arrays
	bitmaps bool   // a bitmap also where no value is NULL
	again   bool   // a reader that can be read again
	halves  bool   // a merge in two calls, by key
}

func (h handing) String() string {
	type plain handing
	return fmt.Sprintf("%+v", plain(h))
}

func drawHanding(t *rapid.T) handing {
	return handing{
		seed: rapid.Uint64Range(0, 9).Draw(t, "order"), batch: rapid.IntRange(0, 3).Draw(t, "rows of a batch"), upper: rapid.Bool().Draw(t, "capitals"),
		narrow: rapid.Bool().Draw(t, "narrow"), coded: rapid.Bool().Draw(t, "dictionaries"), large: rapid.Bool().Draw(t, "64-bit offsets"),
		offsets: rapid.Bool().Draw(t, "slices"), bitmaps: rapid.Bool().Draw(t, "bitmaps"), again: rapid.Bool().Draw(t, "Rewinder"), halves: rapid.Bool().Draw(t, "merges in halves"),
	}
}

// reader makes the rows' reader.
func (h handing) reader(mem memory.Allocator, in input) array.RecordReader {
	columns, rows := append([]column(nil), in.columns...), append([]map[int]any(nil), in.rows...)
	if h.seed > 0 {
		r := rand.New(rand.NewPCG(h.seed, 1))
		r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	var list []arrow.Field
	for _, c := range columns {
		f := arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
		if c.key != in.added || in.added == 0 { // a column that the table gets is as it is given
			f.Type = h.handed(c, rows)
			if h.upper {
				f.Name = strings.ToUpper(f.Name)
			}
		}
		list = append(list, f)
	}
	schema := arrow.NewSchema(list, nil)
	size := h.batch
	if size == 0 {
		size = max(1, len(rows))
	}
	var batches []arrow.RecordBatch
	for from := 0; from < len(rows); from += size {
		batch := h.record(mem, schema, columns, rows[from:min(from+size, len(rows))])
		defer batch.Release()
		batches = append(batches, batch)
	}
	once := func() array.RecordReader {
		r, err := array.NewRecordReader(schema, batches)
		if err != nil {
			panic(err)
		}
		return r
	}
	if !h.again {
		return once()
	}
	for _, b := range batches {
		b.Retain()
	}
	return &rewound{RecordReader: once(), once: once, batches: batches}
}

// rewound can be read again.
type rewound struct {
	array.RecordReader
	once    func() array.RecordReader
	batches []arrow.RecordBatch
}

func (r *rewound) Rewind(context.Context) error {
	r.RecordReader.Release()
	r.RecordReader = r.once()
	return nil
}

func (r *rewound) Release() {
	r.RecordReader.Release()
	for _, b := range r.batches {
		b.Release()
	}
}

// handed is the type in which a column is handed in.
func (h handing) handed(c column, rows []map[int]any) arrow.DataType {
	fits := func(bits int) bool {
		for _, r := range rows {
			if n, ok := r[c.key].(int64); ok && n != n<<(64-bits)>>(64-bits) {
				return false
			}
		}
		return true
	}
	switch {
	case h.coded && c.typ.ID() == arrow.STRING:
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	case h.large && c.typ.ID() == arrow.STRING:
		return arrow.BinaryTypes.LargeString
	case h.narrow && (c.typ.ID() == arrow.INT64 || c.typ.ID() == arrow.INT32) && fits(16):
		return arrow.PrimitiveTypes.Int16
	case h.narrow && c.typ.ID() == arrow.INT64 && fits(32):
		return arrow.PrimitiveTypes.Int32
	}
	return c.typ
}

func (h handing) record(mem memory.Allocator, schema *arrow.Schema, columns []column, rows []map[int]any) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	before := 0
	if h.offsets && len(rows) > 0 {
		before = 3
		for i := range before { // rows that are cut off again
			for c, col := range columns {
				appendCell(b.Field(c), rows[i%len(rows)][col.key])
			}
		}
	}
	for _, r := range rows {
		for c, col := range columns {
			appendCell(b.Field(c), r[col.key])
		}
	}
	whole := b.NewRecordBatch()
	if h.bitmaps {
		whole = withBitmaps(mem, whole)
	}
	if before == 0 {
		return whole
	}
	defer whole.Release()
	return whole.NewSlice(int64(before), whole.NumRows())
}

// withBitmaps gives every column without NULL a bitmap that says so; it releases the batch given.
func withBitmaps(mem memory.Allocator, b arrow.RecordBatch) arrow.RecordBatch {
	defer b.Release()
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		if c.NullN() > 0 || c.Len() == 0 {
			c.Retain()
			columns[i] = c
			continue
		}
		d := c.Data().(*array.Data)
		bitmap := memory.NewResizableBuffer(mem)
		bitmap.Resize((c.Len() + 7) / 8)
		for j := range bitmap.Bytes() {
			bitmap.Bytes()[j] = 0xff
		}
		buffers := append([]*memory.Buffer{bitmap}, d.Buffers()[1:]...)
		var data *array.Data
		if dict := d.Dictionary(); c.DataType().ID() == arrow.DICTIONARY {
			data = array.NewDataWithDictionary(d.DataType(), d.Len(), buffers, array.UnknownNullCount, d.Offset(), dict.(*array.Data))
		} else {
			data = array.NewData(d.DataType(), d.Len(), buffers, d.Children(), array.UnknownNullCount, d.Offset())
		}
		columns[i] = array.MakeFromData(data)
		data.Release()
		bitmap.Release()
	}
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	return array.NewRecordBatch(b.Schema(), columns, b.NumRows())
}

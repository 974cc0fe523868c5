package parquetio

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/idemtable/idem/delta"
)

// Limits of a file.
const (
	maxFooterBytes  = 64 << 20
	maxRowGroups    = 100_000
	maxChunks       = 1_000_000
	maxRowGroupRows = 1 << 31
	maxFileRows     = 1 << 40
	tailLen         = 8 // footer length and magic
	magicLen        = 4
)

// footer is what idem trusts of a file's metadata, after the checks of this file.
type footer struct {
	rows   int64
	root   *node
	leaves []*node
	groups []rowGroup
	days   calendar
}

// rowGroup is a range of rows; chunks are in the order of the leaves.
type rowGroup struct {
	rows   int64
	chunks []chunk
}

// chunk is the pages of a column in a row group.
type chunk struct {
	off, size int64
	values    int64
	codec     compress.Compression
}

// readFooter reads and checks the footer of src.
func readFooter(src Source) (*footer, error) {
	size := src.Size()
	if size < 2*magicLen+4 {
		return nil, fmt.Errorf("%w: %s has %d bytes, too few for a Parquet file", delta.ErrCorrupt, src.Name(), size)
	}
	tail := make([]byte, tailLen)
	if err := readFull(src, tail, size-tailLen); err != nil {
		return nil, err
	}
	if magic := string(tail[4:]); magic == "PARE" {
		return nil, fmt.Errorf("%w: %s has an encrypted footer", delta.ErrUnsupported, src.Name())
	} else if magic != "PAR1" {
		return nil, fmt.Errorf("%w: %s does not end as a Parquet file: it is damaged, was cut short, or has another size than the log says",
			delta.ErrCorrupt, src.Name())
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > size-tailLen-magicLen {
		return nil, fmt.Errorf("%w: %s states a footer of %d bytes", delta.ErrCorrupt, src.Name(), n)
	}
	if n > maxFooterBytes {
		return nil, fmt.Errorf("open %s: %w", src.Name(), beyond(fmt.Sprintf("a footer of %d bytes", n), maxFooterBytes, fewerChunks))
	}
	raw, err := readRange(src, size-tailLen-n, n)
	if err != nil {
		return nil, err
	}
	ft, err := parseFooter(raw, size-tailLen-n)
	if err != nil {
		return nil, fmt.Errorf("read the footer of %s: %w", src.Name(), err)
	}
	return ft, nil
}

// How a file can be written so that it is within the limits.
const (
	fewerChunks  = "write the rows to more files, or in larger row groups"
	fewerColumns = "write the rows with fewer columns"
	smallerPages = "write the rows with smaller pages"
)

// beyond says that a file, which may be sound, is larger than what idem reads.
func beyond(what string, most int64, mend string) error {
	return fmt.Errorf("%w: %s, of which idem reads at most %d: %s", delta.ErrUnsupported, what, most, mend)
}

// damaged says that bytes are wrong, unless it is idem that lacks something.
func damaged(err error) error {
	if errors.Is(err, delta.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", delta.ErrCorrupt, err)
}

// readRange reads n bytes, without a copy where the source holds them.
func readRange(src Source, off, n int64) ([]byte, error) {
	if v, ok := src.(interface {
		view(off, n int64) ([]byte, error)
	}); ok {
		if b, err := v.view(off, n); b != nil || err != nil {
			return b, err
		}
	}
	b := make([]byte, n)
	return b, readFull(src, b, off)
}

func readFull(src Source, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: %s ends at byte %d, before its stated size of %d", delta.ErrCorrupt, src.Name(), off+int64(n), src.Size())
	}
	return fmt.Errorf("read %s at %d: %w", src.Name(), off, err)
}

// footerReader gathers the fields of a FileMetaData.
type footerReader struct {
	thriftReader
	elems     []element
	groups    []rowGroup
	chunks    int
	rows      int64
	days      calendar
	encrypted bool
	foreign   bool // a column chunk is in another file
	bare      bool // a column chunk has no metadata
}

// parseFooter reads a footer; the data of the file end at end.
func parseFooter(raw []byte, end int64) (*footer, error) {
	r := &footerReader{thriftReader: thriftReader{b: raw}, rows: -1}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 2 && typ == tList:
			r.structs(len(r.elems), maxSchemaNodes, "schema elements", fewerColumns, r.schemaElement)
		case id == 3 && typ == tI64:
			r.rows = r.int()
		case id == 4 && typ == tList:
			r.structs(len(r.groups), maxRowGroups, "row groups", fewerChunks, r.rowGroup)
		case id == 5 && typ == tList:
			r.structs(0, mostPairs, "pairs of texts in its footer", "write it without them", r.pair)
		case id == 8:
			r.encrypted = true
			r.skip(typ)
		default:
			r.skip(typ)
		}
	})
	r.days.settle()
	if r.err != nil {
		return nil, damaged(r.err)
	}
	if r.encrypted {
		return nil, fmt.Errorf("%w: the file is encrypted", delta.ErrUnsupported)
	}
	if r.foreign {
		return nil, fmt.Errorf("%w: the columns are in other files", delta.ErrUnsupported)
	}
	ft := &footer{rows: r.rows, groups: r.groups, days: r.days}
	var err error
	if ft.root, ft.leaves, err = buildSchema(r.elems); err == nil {
		err = ft.check(r, end)
	}
	if err != nil {
		return nil, damaged(err)
	}
	return ft, nil
}

// structs reads a list of structs, of which have were read before: a field may be given several times.
func (r *footerReader) structs(have, most int, what, mend string, f func()) {
	n, _ := r.listHead()
	if have+n > most {
		r.fail(beyond(fmt.Sprintf("%d %s", have+n, what), int64(most), mend))
	}
	for i := 0; i < n && r.err == nil; i++ {
		f()
	}
}

// pair reads a key and its value.
func (r *footerReader) pair() {
	var key, value []byte
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tBinary:
			key = r.binary()
		case id == 2 && typ == tBinary:
			value = r.binary()
		default:
			r.skip(typ)
		}
	})
	const most = 64 // of a value that matters
	r.days.pair(string(key[:min(len(key), most)]), string(value[:min(len(value), most)]))
}

func (r *footerReader) rowGroup() {
	g := rowGroup{rows: -1}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tList:
			r.structs(r.chunks, maxChunks, "column chunks", fewerChunks, func() {
				g.chunks = append(g.chunks, r.columnChunk())
				r.chunks++
			})
		case id == 3 && typ == tI64:
			g.rows = r.int()
		default:
			r.skip(typ)
		}
	})
	r.groups = append(r.groups, g)
}

func (r *footerReader) columnChunk() chunk {
	var c chunk
	known := false
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tBinary:
			r.foreign = len(r.binary()) > 0 || r.foreign
		case id == 3 && typ == tStruct:
			known = true
			c = r.columnMetaData()
		case id == 8 || id == 9:
			r.encrypted = true
			r.skip(typ)
		default:
			r.skip(typ)
		}
	})
	r.bare = r.bare || !known
	return c
}

func (r *footerReader) columnMetaData() chunk {
	c := chunk{values: -1, size: -1}
	data, dict := int64(-1), int64(0)
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 4 && typ == tI32:
			c.codec = compress.Compression(int32(r.int()))
		case id == 5 && typ == tI64:
			c.values = r.int()
		case id == 7 && typ == tI64:
			c.size = r.int()
		case id == 9 && typ == tI64:
			data = r.int()
		case id == 11 && typ == tI64:
			dict = r.int()
		default:
			r.skip(typ)
		}
	})
	c.off = data
	if dict > 0 && dict < data { // some writers state 0 for none
		c.off = dict
	}
	return c
}

// check compares the counts and the places of chunks with each other and with the file.
func (ft *footer) check(r *footerReader, end int64) error {
	if r.bare {
		return fmt.Errorf("a column chunk has no metadata")
	}
	if ft.rows < 0 || ft.rows > maxFileRows {
		return fmt.Errorf("the file states %d rows", ft.rows)
	}
	var rows int64
	for i, g := range ft.groups {
		if g.rows < 0 {
			return fmt.Errorf("row group %d states %d rows", i, g.rows)
		}
		if g.rows > maxRowGroupRows {
			return beyond(fmt.Sprintf("row group %d has %d rows", i, g.rows), maxRowGroupRows, "write smaller row groups")
		}
		if len(g.chunks) != len(ft.leaves) {
			return fmt.Errorf("row group %d has %d column chunks for %d columns", i, len(g.chunks), len(ft.leaves))
		}
		rows += g.rows
		if err := ft.checkChunks(i, g, end); err != nil {
			return err
		}
	}
	if rows != ft.rows {
		return fmt.Errorf("the file states %d rows, its row groups %d", ft.rows, rows)
	}
	return ft.checkOverlap(r.chunks)
}

func (ft *footer) checkChunks(group int, g rowGroup, end int64) error {
	for j, c := range g.chunks {
		leaf := ft.leaves[j]
		if c.values < g.rows || leaf.rev == 0 && c.values != g.rows {
			return fmt.Errorf("row group %d has %d rows, its column %s %d values", group, g.rows, leaf.path(), c.values)
		}
		if c.size == 0 && c.values == 0 {
			continue
		}
		if c.off < magicLen || c.size < 0 || uint64(c.off)+uint64(c.size) > uint64(end) {
			return fmt.Errorf("row group %d column %s lies at %d with %d bytes, outside of the file's %d bytes of data",
				group, leaf.path(), c.off, c.size, end)
		}
	}
	return nil
}

func (ft *footer) checkOverlap(n int) error {
	type span struct{ off, end int64 }
	spans := make([]span, 0, n)
	for _, g := range ft.groups {
		for _, c := range g.chunks {
			if c.size > 0 {
				spans = append(spans, span{c.off, c.off + c.size})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.off, b.off) })
	for i := 1; i < len(spans); i++ {
		if spans[i].off < spans[i-1].end {
			return fmt.Errorf("two column chunks overlap at byte %d", spans[i].off)
		}
	}
	return nil
}

package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
)

const (
	headerBytes    = 64 << 10 // fetched for a page header at first
	maxHeaderBytes = 1 << 20
)

// slack is how many bytes are kept behind those of a page: the library makes a pointer to the value after the last one,
// also where there is none, and that must point into the same memory.
const slack = 16

var errSeek = errors.New("pages are read in order")

// pageReader gives the pages of a column chunk to the library, checked and decompressed. It implements file.PageReader.
// The bytes of a data page are valid until the next call of Next.
type pageReader struct {
	in     *chunkInput
	col    *node
	codec  compress.Compression
	left   int64 // values that no page has held yet
	page   file.Page
	err    error
	raw    []byte // of the last data page, reused
	dict   bool   // a dictionary was seen
	dictTo int    // length of the dictionary's longest string

	// longest is the length of the longest string that the page can repeat without holding it again; 0 if its strings
	// are in it one by one, or its values are numbers.
	longest int
}

func (p *pageReader) Page() file.Page                                  { return p.page }
func (p *pageReader) Err() error                                       { return p.err }
func (p *pageReader) Close() error                                     { return nil }
func (p *pageReader) SetMaxPageHeaderSize(int)                         {}
func (p *pageReader) GetDictionaryPage() (*file.DictionaryPage, error) { return nil, nil }
func (p *pageReader) SeekToPageWithRow(int64) error                    { return errSeek }
func (p *pageReader) Reset(parquet.BufferedReader, int64, compress.Compression, *file.CryptoContext) {
	p.err = errSeek
}

// Next goes on to the next page that holds values.
func (p *pageReader) Next() bool {
	p.page = nil
	for p.err == nil && p.left > 0 && p.page == nil {
		p.err = p.read()
	}
	return p.err == nil && p.page != nil
}

// read passes over one page; it leaves it in p.page if it is one of values.
func (p *pageReader) read() error {
	h, err := p.header()
	if err != nil {
		return err
	}
	body, err := p.in.take(int(h.size))
	if err != nil {
		return err
	}
	if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
		return fmt.Errorf("a page's checksum does not match its bytes")
	}
	switch h.typ {
	case pageDict:
		return p.dictionary(h, body)
	case pageData, pageDataV2:
		if h.values == 0 {
			return nil
		}
		if h.values > p.left {
			return fmt.Errorf("a page of %d values where the column chunk has %d left", h.values, p.left)
		}
		p.left -= h.values
		return p.data(h, body)
	}
	return nil
}

func (p *pageReader) header() (pageHeader, error) {
	var h pageHeader
	for n := int64(headerBytes); ; n = maxHeaderBytes {
		n = min(n, p.in.left())
		b, err := p.in.peek(int(n))
		if err != nil {
			return h, err
		}
		if h, err = parsePageHeader(b); err == nil {
			break
		}
		if n == maxHeaderBytes || n == p.in.left() {
			return h, fmt.Errorf("a page header: %w", err)
		}
	}
	p.in.skip(h.len)
	return h, h.check(p.in.left())
}

func (p *pageReader) dictionary(h pageHeader, body []byte) error {
	if p.dict || p.col.phys == parquet.Types.Boolean {
		return fmt.Errorf("a second dictionary, or one for %s", p.col.describe())
	}
	if h.values > maxDictValues {
		return beyond(fmt.Sprintf("a dictionary of %d values", h.values), maxDictValues, "write the column without one")
	}
	if h.enc != parquet.Encodings.Plain && h.enc != parquet.Encodings.PlainDict {
		return fmt.Errorf("a dictionary in encoding %s", h.enc)
	}
	p.dict = true
	raw := make([]byte, h.raw, h.raw+slack)
	if err := decompress(p.codec, raw, body); err != nil {
		return fmt.Errorf("decompress a dictionary: %w", err)
	}
	var err error
	if p.dictTo, err = p.longestValue(raw, h.values); err != nil {
		return err
	}
	p.page = file.NewDictionaryPage(memory.NewBufferBytes(raw), int32(h.values), h.enc)
	return nil
}

// longestValue checks that a dictionary holds its values, and gives the length of its longest string.
func (p *pageReader) longestValue(raw []byte, values int64) (int, error) {
	if p.col.phys == parquet.Types.ByteArray {
		return longestPlainString(raw, int(values))
	}
	width := p.col.width()
	if values*int64(width) > int64(len(raw)) {
		return 0, fmt.Errorf("a dictionary of %d values in %d bytes", values, len(raw))
	}
	if p.col.phys == parquet.Types.FixedLenByteArray {
		return width, nil
	}
	return 0, nil
}

// width is the number of bytes of a value of fixed width.
func (n *node) width() int {
	switch n.phys {
	case parquet.Types.Int32, parquet.Types.Float:
		return 4
	case parquet.Types.Int64, parquet.Types.Double:
		return 8
	case parquet.Types.Int96:
		return 12
	}
	return n.typeLen
}

func longestPlainString(b []byte, n int) (int, error) {
	longest := 0
	for range n {
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return 0, fmt.Errorf("a dictionary's strings do not fit in it")
		}
		k := int(binary.LittleEndian.Uint32(b))
		longest = max(longest, k)
		b = b[4+k:]
	}
	return longest, nil
}

func (p *pageReader) data(h pageHeader, body []byte) error {
	raw, err := p.expand(h, body)
	if err != nil {
		return fmt.Errorf("decompress a page: %w", err)
	}
	levels := h.defLen + h.repLen
	if h.typ == pageData {
		if levels, err = p.levelsV1(h, raw); err != nil {
			return err
		}
	}
	if err := p.checkEncoding(h, raw[levels:]); err != nil {
		return err
	}
	if h.enc == parquet.Encodings.DeltaByteArray && p.col.phys == parquet.Types.FixedLenByteArray {
		if raw, err = p.plainFixed(h, raw, levels); err != nil {
			return err
		}
		h.enc, h.raw = parquet.Encodings.Plain, int64(len(raw))
	}
	buf := memory.NewBufferBytes(raw)
	if h.typ == pageData {
		p.page = file.NewDataPageV1(buf, int32(h.values), h.enc, h.defEnc, h.repEnc, int32(h.raw))
	} else {
		p.page = file.NewDataPageV2(buf, int32(h.values), 0, 0, h.enc, int32(h.defLen), int32(h.repLen), int32(h.raw), false)
	}
	return nil
}

// expand decompresses a page's body; the levels of a V2 page are not compressed.
func (p *pageReader) expand(h pageHeader, body []byte) ([]byte, error) {
	plain := int64(0)
	if h.typ == pageDataV2 {
		plain = h.defLen + h.repLen
		if h.uncompressed && h.raw != h.size {
			return nil, errPageSize
		}
	}
	if p.codec == compress.Codecs.Uncompressed || h.uncompressed {
		if h.raw != h.size {
			return nil, errPageSize
		}
		if cap(body)-len(body) >= slack {
			return body, nil
		}
		raw := p.room(h.raw)
		copy(raw, body)
		return raw, nil
	}
	raw := p.room(h.raw)
	copy(raw, body[:plain])
	if plain == h.raw { // no value is not NULL
		return raw, nil
	}
	return raw, decompress(p.codec, raw[plain:], body[plain:])
}

// room gives memory for a page, with slack behind it.
func (p *pageReader) room(n int64) []byte {
	if int64(cap(p.raw)) < n+slack {
		p.raw = make([]byte, n+slack)
	}
	return p.raw[:n]
}

// levelsV1 is the number of bytes of the levels at the start of a V1 page.
func (p *pageReader) levelsV1(h pageHeader, raw []byte) (int64, error) {
	pos := int64(0)
	for _, l := range []struct {
		top int16
		enc parquet.Encoding
	}{{p.col.rev, h.repEnc}, {p.col.def, h.defEnc}} {
		if l.top == 0 {
			continue
		}
		n := int64(-1)
		switch {
		case l.enc == parquet.Encodings.BitPacked:
			n = (h.values*int64(bits.Len16(uint16(l.top))) + 7) / 8
		case l.enc == parquet.Encodings.RLE && int64(len(raw))-pos >= 4:
			n = 4 + int64(binary.LittleEndian.Uint32(raw[pos:]))
		}
		if pos += n; n < 0 || pos > int64(len(raw)) {
			return 0, fmt.Errorf("a page's levels do not fit in it")
		}
	}
	return pos, nil
}

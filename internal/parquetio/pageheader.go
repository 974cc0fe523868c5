package parquetio

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// Page types of the format.
const (
	pageData   = 0
	pageDict   = 2
	pageDataV2 = 3
)

// Limits of a page.
const (
	maxPageBytes  = 256 << 20
	pageSlack     = 16 << 20 // what any page may expand to
	maxPageRatio  = 1000     // beyond the slack
	maxDictValues = 16 << 20
)

// pageHeader is a PageHeader of the format.
type pageHeader struct {
	typ          int64
	raw, size    int64 // uncompressed and compressed bytes
	crc          uint32
	hasCRC       bool
	values       int64
	enc          parquet.Encoding
	defEnc       parquet.Encoding
	repEnc       parquet.Encoding
	defLen       int64 // of a V2 page
	repLen       int64
	uncompressed bool
	len          int // bytes of the header itself
}

// parsePageHeader reads the header at the start of b.
func parsePageHeader(b []byte) (pageHeader, error) {
	h := pageHeader{typ: -1, values: -1, raw: -1, size: -1, defEnc: parquet.Encodings.RLE, repEnc: parquet.Encodings.RLE}
	r := &thriftReader{b: b}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.typ = r.int()
		case id == 2 && typ == tI32:
			h.raw = r.int()
		case id == 3 && typ == tI32:
			h.size = r.int()
		case id == 4 && typ == tI32:
			h.crc, h.hasCRC = uint32(r.int()), true
		case (id == 5 || id == 7) && typ == tStruct:
			h.dataHeader(r)
		case id == 8 && typ == tStruct:
			h.dataHeaderV2(r)
		default:
			r.skip(typ)
		}
	})
	h.len = r.pos
	return h, r.err
}

// dataHeader reads a DataPageHeader or a DictionaryPageHeader, which begin alike.
func (h *pageHeader) dataHeader(r *thriftReader) {
	r.fields(func(id int16, typ byte) {
		if id > 4 || typ != tI32 {
			r.skip(typ)
			return
		}
		switch v := r.int(); id {
		case 1:
			h.values = v
		case 2:
			h.enc = parquet.Encoding(v)
		case 3:
			h.defEnc = parquet.Encoding(v)
		case 4:
			h.repEnc = parquet.Encoding(v)
		}
	})
}

func (h *pageHeader) dataHeaderV2(r *thriftReader) {
	r.fields(func(id int16, typ byte) {
		if id == 7 && (typ == tTrue || typ == tFalse) {
			h.uncompressed = typ == tFalse
			return
		}
		if id > 6 || typ != tI32 {
			r.skip(typ)
			return
		}
		switch v := r.int(); id {
		case 1:
			h.values = v
		case 4:
			h.enc = parquet.Encoding(v)
		case 5:
			h.defLen = v
		case 6:
			h.repLen = v
		}
	})
}

// check compares the sizes with each other and with what is left of the chunk.
func (h *pageHeader) check(left int64) error {
	switch {
	case h.size < 0 || h.size > left:
		return fmt.Errorf("a page of %d bytes where %d are left", h.size, left)
	case h.raw < 0:
		return fmt.Errorf("a page of %d bytes that states to expand to %d", h.size, h.raw)
	case h.raw > maxPageBytes:
		return beyond(fmt.Sprintf("a page of %d bytes", h.raw), maxPageBytes, smallerPages)
	case h.size > maxPageBytes+pageSlack: // what does not compress grows a little
		return beyond(fmt.Sprintf("a page of %d compressed bytes", h.size), maxPageBytes+pageSlack, smallerPages)
	case h.raw > max(pageSlack, maxPageRatio*h.size):
		return fmt.Errorf("%w: a page of %d bytes that expands to %d, more than %d times as much: %s",
			delta.ErrUnsupported, h.size, h.raw, maxPageRatio, smallerPages)
	case h.typ == pageData || h.typ == pageDict || h.typ == pageDataV2:
		if h.values < 0 || h.values > math.MaxInt32 {
			return fmt.Errorf("a page of %d values", h.values)
		}
	}
	if h.typ == pageDataV2 && (h.defLen < 0 || h.repLen < 0 || h.defLen+h.repLen > min(h.raw, h.size)) {
		return fmt.Errorf("a page with levels of %d and %d bytes in %d", h.repLen, h.defLen, h.size)
	}
	return nil
}

package parquetio

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// encodings says which physical types each encoding of data pages is for; nil is all but boolean.
var encodings = map[parquet.Encoding][]parquet.Type{
	parquet.Encodings.PlainDict:            nil,
	parquet.Encodings.RLEDict:              nil,
	parquet.Encodings.RLE:                  {parquet.Types.Boolean},
	parquet.Encodings.DeltaBinaryPacked:    {parquet.Types.Int32, parquet.Types.Int64},
	parquet.Encodings.DeltaLengthByteArray: {parquet.Types.ByteArray},
	parquet.Encodings.DeltaByteArray:       {parquet.Types.ByteArray, parquet.Types.FixedLenByteArray},
	parquet.Encodings.ByteStreamSplit: {parquet.Types.Int32, parquet.Types.Int64, parquet.Types.Float, parquet.Types.Double,
		parquet.Types.FixedLenByteArray},
}

// checkEncoding refuses encodings that no decoder here has, and looks into those whose decoders take memory by what the
// page states.
func (p *pageReader) checkEncoding(h pageHeader, values []byte) error {
	types, known := encodings[h.enc]
	switch {
	case h.enc == parquet.Encodings.Plain:
	case !known, types == nil && p.col.phys == parquet.Types.Boolean, types != nil && !slices.Contains(types, p.col.phys):
		return fmt.Errorf("%w: encoding %d of %s", delta.ErrUnsupported, h.enc, p.col.describe())
	}
	p.longest = 0
	limit := deltaLimit(h, values)
	var err error
	switch h.enc {
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		p.longest = p.dictTo
	case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray:
		_, err = parseDeltaHead(values, limit)
	case parquet.Encodings.DeltaByteArray:
		p.longest, err = longestDeltaString(values, limit)
	}
	return err
}

// deltaLimit is the greatest number of values that a page of a delta encoding is believed to hold.
func deltaLimit(h pageHeader, values []byte) int {
	return int(min(h.values, 4<<20+8*int64(len(values))))
}

// plainFixed turns a page of DELTA_BYTE_ARRAY values of fixed width into one of PLAIN values: the library has no decoder
// for it.
func (p *pageReader) plainFixed(h pageHeader, raw []byte, levels int64) ([]byte, error) {
	values := raw[levels:]
	prefixes, rest, err := deltaLengths(values, deltaLimit(h, values))
	if err != nil {
		return nil, err
	}
	suffixes, text, err := deltaLengths(rest, len(prefixes))
	if err != nil {
		return nil, err
	}
	width := p.col.typeLen
	size := int64(len(prefixes)) * int64(width)
	if len(suffixes) != len(prefixes) || size > max(pageSlack, maxPageRatio*h.size) {
		return nil, errDelta
	}
	out := append(make([]byte, 0, levels+size), raw[:levels]...)
	last := make([]byte, width)
	for i, n := range prefixes {
		k := int(suffixes[i])
		if n < 0 || i == 0 && n != 0 || k < 0 || int(n)+k != width || k > len(text) {
			return nil, errDelta
		}
		copy(last[n:], text[:k])
		text = text[k:]
		out = append(out, last...)
	}
	return out, nil
}

package parquetio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/idemtable/idem/delta"
)

var errPageSize = errors.New("the page does not hold as many bytes as its header states")

// checkCodec says whether idem can decompress the codec.
func checkCodec(c compress.Compression) error {
	switch c {
	case compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli,
		compress.Codecs.Zstd, compress.Codecs.Lz4Raw, compress.Codecs.Lz4:
		return nil
	case compress.Codecs.Lzo:
		return fmt.Errorf("%w: compression LZO", delta.ErrUnsupported)
	}
	return fmt.Errorf("%w: unknown compression codec %d", delta.ErrCorrupt, int32(c))
}

// decompress fills dst with what src holds: exactly len(dst) bytes. It takes no more memory than dst and a window,
// whatever src states.
func decompress(codec compress.Compression, dst, src []byte) error {
	switch codec {
	case compress.Codecs.Uncompressed:
		if copy(dst, src) != len(dst) || len(src) != len(dst) {
			return errPageSize
		}
		return nil
	case compress.Codecs.Snappy:
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(len(dst)) {
			return errPageSize
		}
	case compress.Codecs.Zstd:
		return unzstd(dst, src)
	case compress.Codecs.Lz4:
		return unlz4Hadoop(dst, src)
	case compress.Codecs.Brotli:
		return drain(codec, dst, src)
	}
	return decodeBlock(codec, dst, src)
}

func decodeBlock(codec compress.Compression, dst, src []byte) error {
	c, err := compress.GetCodec(codec)
	if err != nil {
		return err
	}
	out, err := compress.Decode(c, dst, src)
	if err != nil {
		return err
	}
	if len(out) != len(dst) {
		return errPageSize
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}

// drain decompresses as a stream, which stops when dst is full.
func drain(codec compress.Compression, dst, src []byte) error {
	c, err := compress.GetCodec(codec)
	if err != nil {
		return err
	}
	s, ok := c.(compress.StreamingCodec)
	if !ok {
		return fmt.Errorf("%w: %s as a stream", delta.ErrUnsupported, codec)
	}
	r := s.NewReader(io.MultiReader(bytes.NewReader(src))) // hides the length, which would make zstd decode all at once
	defer r.Close()
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 {
		return errPageSize
	} else if err != nil && err != io.EOF {
		return err
	}
	return nil
}

// unlz4Hadoop decompresses what old writers call LZ4: Hadoop's frames of a size, a compressed size and a block. Some
// wrote a bare block under the same name.
func unlz4Hadoop(dst, src []byte) error {
	rest, out := src, dst
	for len(rest) > 8 {
		n, k := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if uint64(n) > uint64(len(out)) || uint64(k) > uint64(len(rest)-8) {
			break
		}
		if decodeBlock(compress.Codecs.Lz4Raw, out[:n:n], rest[8:8+k]) != nil {
			break
		}
		out, rest = out[n:], rest[8+k:]
	}
	if len(rest) == 0 && len(out) == 0 {
		return nil
	}
	return decodeBlock(compress.Codecs.Lz4Raw, dst, src)
}

// unzstd decompresses in one go when the frame states the size that is expected, which bounds what the library takes;
// else as a stream, once the window is known to be modest, or in one go if its blocks cannot hold much more.
func unzstd(dst, src []byte) error {
	f, err := parseZstdFrame(src)
	if err != nil {
		return err
	}
	if f.sized && f.whole {
		if f.size != uint64(len(dst)) {
			return errPageSize
		}
		return decodeBlock(compress.Codecs.Zstd, dst, src)
	}
	switch {
	case !f.whole:
		return fmt.Errorf("a zstd frame with other bytes behind it")
	case f.window <= zstdWindow || f.window <= 2*uint64(len(dst)):
		return drain(compress.Codecs.Zstd, dst, src)
	case f.most <= zstdWindow || f.most <= 2*uint64(len(dst)): // the window is the output itself
		return decodeBlock(compress.Codecs.Zstd, dst, src)
	}
	return fmt.Errorf("%w: a zstd frame with a window of %d bytes for %d bytes: write the file with a lower level of compression", delta.ErrUnsupported, f.window, len(dst))
}

// zstdWindow is the window that every frame may have: the format's recommendation to decoders.
const zstdWindow = 8 << 20

type zstdFrame struct {
	sized  bool // size is stated
	size   uint64
	window uint64
	most   uint64 // bytes that its blocks can hold
	whole  bool   // the frame ends where the input ends
}

var errZstd = errors.New("not a zstd frame")

// parseZstdFrame reads a frame's header and passes over its blocks (RFC 8878, 3.1.1).
func parseZstdFrame(src []byte) (zstdFrame, error) {
	var f zstdFrame
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != 0xFD2FB528 {
		return f, errZstd
	}
	desc := src[4]
	pos := 5
	single := desc&0x20 != 0
	if !single {
		exp, mantissa := uint64(src[pos]>>3), uint64(src[pos]&7)
		f.window = 1 << (10 + exp)
		f.window += f.window / 8 * mantissa
		pos++
	}
	pos += [4]int{0, 1, 2, 4}[desc&3] // dictionary id
	n := [4]int{0, 2, 4, 8}[desc>>6]
	if n == 0 && single {
		n = 1
	}
	if pos+n > len(src) {
		return f, errZstd
	}
	if f.sized = n > 0; f.sized {
		var b [8]byte
		copy(b[:], src[pos:pos+n])
		f.size = binary.LittleEndian.Uint64(b[:])
		if n == 2 {
			f.size += 256
		}
	}
	if single {
		f.window = f.size
	}
	end, most, err := skipZstdBlocks(src, pos+n)
	if err != nil {
		return f, err
	}
	f.most = most
	if desc&4 != 0 {
		end += 4 // checksum
	}
	f.whole = end == len(src)
	return f, nil
}

// mostOfBlock is the most that a block holds when it is decompressed.
const mostOfBlock = 128 << 10

// skipZstdBlocks gives where the blocks end, and the most bytes that they can hold.
func skipZstdBlocks(src []byte, pos int) (end int, most uint64, err error) {
	for {
		if pos+3 > len(src) {
			return 0, 0, errZstd
		}
		head := uint32(src[pos]) | uint32(src[pos+1])<<8 | uint32(src[pos+2])<<16
		pos += 3
		size := int(head >> 3)
		switch head >> 1 & 3 {
		case 1: // a repeated byte
			most += uint64(size)
			size = 1
		case 2:
			most += mostOfBlock
		default:
			most += uint64(size)
		}
		if pos += size; pos > len(src) {
			return 0, 0, errZstd
		}
		if head&1 != 0 {
			return pos, most, nil
		}
	}
}

package delta

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
)

// VectorFileVersion is the first byte of a file of vectors. Frames follow it.
const VectorFileVersion = 1

// The parts of a frame beside the vector's bytes: their length before, their CRC behind.
const (
	frameLength = 4
	frameCRC    = 4
)

// VectorFrameOverhead is the number of bytes by which a frame is longer than its vector.
const VectorFrameOverhead = frameLength + frameCRC

// z85UUID is the number of characters of a UUID.
const z85UUID = 20

// Empty is true of the descriptor of no row at all, which has no bytes behind it.
func (v *DeletionVector) Empty() bool {
	return v.StorageType == "i" && v.Cardinality == 0 && v.SizeInBytes == 0 && v.PathOrInlineDV == ""
}

// Inline gives the bytes of a vector that the log itself holds; ok is false for one in a file. What
// is no text of that many bytes wraps ErrCorrupt.
func (v *DeletionVector) Inline() (data []byte, ok bool, err error) {
	if v.StorageType != "i" {
		return nil, false, nil
	}
	switch {
	case v.Offset != nil:
		return nil, true, fmt.Errorf("%w: an inline deletion vector has the offset %d", ErrCorrupt, *v.Offset)
	case v.SizeInBytes < 0:
		return nil, true, fmt.Errorf("%w: a deletion vector of %d bytes", ErrCorrupt, v.SizeInBytes)
	}
	if data, err = decodeZ85(v.PathOrInlineDV); err != nil {
		return nil, true, fmt.Errorf("%w: inline deletion vector: %w", ErrCorrupt, err)
	}
	if pad := len(data) - int(v.SizeInBytes); pad < 0 || pad > 3 {
		return nil, true, fmt.Errorf("%w: an inline deletion vector of %d bytes says that it has %d", ErrCorrupt, len(data), v.SizeInBytes)
	}
	return data[:v.SizeInBytes], true, nil
}

// FileKey gives the key, below root (a URL), of the file that holds the vector, and where in it the
// frame is. A file outside the root wraps ErrUnsupported; a descriptor of no file, or of none that
// the protocol knows, wraps ErrCorrupt.
func (v *DeletionVector) FileKey(root string) (key string, offset int64, err error) {
	return v.place(root, ResolvePath)
}

// Locate is as FileKey, but of a file outside the root it gives what [Locate] gives.
func (v *DeletionVector) Locate(root string) (key string, offset int64, err error) {
	return v.place(root, Locate)
}

func (v *DeletionVector) place(root string, resolve func(root, path string) (string, error)) (key string, offset int64, err error) {
	switch v.StorageType {
	case "u":
		key, err = vectorFileKey(v.PathOrInlineDV)
	case "p":
		if _, absolute := splitURI(v.PathOrInlineDV); !absolute {
			return "", 0, fmt.Errorf("%w: the path %q of a deletion vector is not absolute", ErrCorrupt, v.PathOrInlineDV)
		}
		key, err = resolve(root, v.PathOrInlineDV)
	default:
		err = fmt.Errorf("%w: a deletion vector of the storage type %q; the protocol has u, p and i", ErrCorrupt, v.StorageType)
	}
	switch {
	case err != nil:
		return "", 0, err
	case v.Offset != nil:
		offset = int64(*v.Offset)
	}
	if offset < 0 || v.SizeInBytes < 0 {
		return "", 0, fmt.Errorf("%w: a deletion vector of %d bytes at %d of %s", ErrCorrupt, v.SizeInBytes, offset, key)
	}
	return key, offset, nil
}

// vectorFileKey reads the 20 characters of a UUID, behind a directory if there are more.
func vectorFileKey(text string) (string, error) {
	cut := len(text) - z85UUID
	if cut < 0 {
		return "", fmt.Errorf("%w: %q is too short for the name of a file of deletion vectors", ErrCorrupt, text)
	}
	id, err := decodeZ85(text[cut:])
	if err != nil {
		return "", fmt.Errorf("%w: the name %q of a file of deletion vectors: %w", ErrCorrupt, text, err)
	}
	key := vectorFileName(id)
	if cut > 0 {
		key = text[:cut] + "/" + key
	}
	if err := checkBelow(key); err != nil {
		return "", fmt.Errorf("%w: the path %q of a file of deletion vectors: %w", ErrCorrupt, key, err)
	}
	return key, checkLength(key, maxPathBytes)
}

func vectorFileName(id []byte) string {
	h := hex.EncodeToString(id)
	return "deletion_vector_" + strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-") + ".bin"
}

// NewVectorFile gives the key of a file of vectors below the table's root, and what a descriptor
// calls it. id is a UUID in its usual spelling; any other wraps ErrInput.
func NewVectorFile(id string) (key, path string, err error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || !isUUID(id) {
		return "", "", fmt.Errorf("%w: %q is not a UUID, by which a file of deletion vectors is named", ErrInput, id)
	}
	return vectorFileName(raw), encodeZ85(raw), nil
}

// AppendVectorFrame appends a vector's bytes as a file of vectors has them.
func AppendVectorFrame(dst, vector []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(vector)))
	dst = append(dst, vector...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(vector))
}

// ParseVectorFrame gives the bytes of a vector, which alias frame. A length other than frame's, or a
// checksum that does not agree, wraps ErrCorrupt.
func ParseVectorFrame(frame []byte) ([]byte, error) {
	n := len(frame) - VectorFrameOverhead
	if n < 0 {
		return nil, fmt.Errorf("%w: a frame of %d bytes", ErrCorrupt, len(frame))
	}
	if got := binary.BigEndian.Uint32(frame); uint64(got) != uint64(n) {
		return nil, fmt.Errorf("%w: the file says that the deletion vector has %d bytes, the log says %d", ErrCorrupt, got, n)
	}
	vector, sum := frame[frameLength:frameLength+n], binary.BigEndian.Uint32(frame[frameLength+n:])
	if got := crc32.ChecksumIEEE(vector); got != sum {
		return nil, fmt.Errorf("%w: the deletion vector's checksum is %08x, the file says %08x", ErrCorrupt, got, sum)
	}
	return vector, nil
}

// z85 are the characters of base 85 in ZeroMQ's dialect.
const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// encodeZ85 writes four bytes as five characters; missing bytes at the end count as zero.
func encodeZ85(data []byte) string {
	var b strings.Builder
	for len(data) > 0 {
		var group [4]byte
		data = data[copy(group[:], data):]
		n := binary.BigEndian.Uint32(group[:])
		for _, weight := range []uint32{85 * 85 * 85 * 85, 85 * 85 * 85, 85 * 85, 85, 1} {
			b.WriteByte(z85[n/weight%85])
		}
	}
	return b.String()
}

func decodeZ85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, fmt.Errorf("%d characters; Z85 comes in groups of five", len(text))
	}
	data := make([]byte, 0, len(text)/5*4)
	for at := 0; at < len(text); at += 5 {
		n := uint64(0)
		for i := range 5 {
			digit := strings.IndexByte(z85, text[at+i])
			if digit < 0 {
				return nil, fmt.Errorf("the character %q at %d is not of Z85", text[at+i], at+i)
			}
			n = n*85 + uint64(digit)
		}
		if n > 1<<32-1 {
			return nil, fmt.Errorf("the group %q at %d is beyond four bytes", text[at:at+5], at)
		}
		data = binary.BigEndian.AppendUint32(data, uint32(n))
	}
	return data, nil
}

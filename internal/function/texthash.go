package function

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// hashed makes the hash of each text in hexadecimal digits.
func hashed(f func(dst, v []byte) []byte) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		var v []byte
		return mapText(c, typeText, func(dst []byte, s string) ([]byte, error) {
			v = append(v[:0], s...)
			return f(dst, v), nil
		})
	}
}

func md5Hex(dst, v []byte) []byte {
	sum := md5.Sum(v)
	return hex.AppendEncode(dst, sum[:])
}

func sha1Hex(dst, v []byte) []byte {
	sum := sha1.Sum(v)
	return hex.AppendEncode(dst, sum[:])
}

// sha2 is NULL for a number of bits that SHA-2 does not have; 0 is 256.
func sha2(c *Call) arrow.Array {
	s, length := textsOf(c.Args[0]), intsOf(c.Args[1])
	var v []byte
	return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
		n, err := length.at(row)
		if err != nil {
			return nil, err
		}
		v = append(v[:0], s.at(row)...)
		switch n[0] {
		case 224:
			sum := sha256.Sum224(v)
			return hex.AppendEncode(dst, sum[:]), nil
		case 0, 256:
			sum := sha256.Sum256(v)
			return hex.AppendEncode(dst, sum[:]), nil
		case 384:
			sum := sha512.Sum384(v)
			return hex.AppendEncode(dst, sum[:]), nil
		case 512:
			sum := sha512.Sum512(v)
			return hex.AppendEncode(dst, sum[:]), nil
		}
		return nil, errNull
	})
}

// crc is the checksum of ISO 3309.
func crc(c *Call) arrow.Array {
	s := textsOf(c.Args[0])
	var v []byte
	return buildFixed(nullsOf(c, c.Args[0]), typeLong, func(row int) (int64, error) {
		v = append(v[:0], s.at(row)...)
		return int64(crc32.ChecksumIEEE(v)), nil
	})
}

var wantHex = want{words: "a STRING, BINARY or INT", takes: func(p Param) arrow.DataType {
	if t := wantInt.takes(p); t != nil {
		return t
	}
	return wantTextOrBytes.takes(p)
}, null: typeText}

// toHex is the hexadecimal digits of bytes, or of an integer as 64 bits without zeros at the start.
func toHex(c *Call) arrow.Array {
	if c.Args[0].DataType().ID() == arrow.INT64 {
		v := columnOf[int64](c.Args[0])
		return buildText(nullsOf(c, c.Args[0]), typeText, func(dst []byte, row int) ([]byte, error) {
			return append(dst, strings.ToUpper(strconv.FormatUint(uint64(v.at(row)), 16))...), nil
		})
	}
	const digits = "0123456789ABCDEF"
	return mapText(c, typeText, func(dst []byte, s string) ([]byte, error) {
		for i := range len(s) {
			dst = append(dst, digits[s[i]>>4], digits[s[i]&15])
		}
		return dst, nil
	})
}

// fromHex reads hexadecimal digits, with a zero before an odd number of them. It is NULL where there
// are other characters.
func fromHex(c *Call) arrow.Array {
	return mapText(c, typeBytes, func(dst []byte, s string) ([]byte, error) {
		if len(s)%2 == 1 {
			s = "0" + s
		}
		dst, err := hex.AppendDecode(dst, []byte(s))
		if err != nil {
			return nil, errNull
		}
		return dst, nil
	})
}

package function

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

var (
	typeText  = arrow.BinaryTypes.String
	typeBytes = arrow.BinaryTypes.Binary
	typeBool  = arrow.FixedWidthTypes.Boolean
	typeInt   = arrow.PrimitiveTypes.Int32
	typeLong  = arrow.PrimitiveTypes.Int64
)

// maxText is how many bytes a value may have that a function puts together.
const maxText = 16 << 20

// textual are the functions of strings and binaries. Positions and lengths are in characters, which
// are code points, and in a BINARY bytes. A number or another value where a STRING is wanted is
// refused: Spark would CAST it.
var textual = map[string]resolver{
	"lower":   args(wantText).gives(typeText, cased(lower)),
	"lcase":   args(wantText).gives(typeText, cased(lower)),
	"upper":   args(wantText).gives(typeText, cased(upper)),
	"ucase":   args(wantText).gives(typeText, cased(upper)),
	"initcap": args(wantText).gives(typeText, cased(initcap)),

	"trim":  args(wantText, wantText).optional(1).gives(typeText, trimmed(trimSet, true, true)),
	"ltrim": args(wantText, wantText).optional(1).gives(typeText, trimmed(trimSet, true, false)),
	"rtrim": args(wantText, wantText).optional(1).gives(typeText, trimmed(trimSet, false, true)),
	"btrim": args(wantText, wantText).optional(1).gives(typeText, trimmed(trimOf, true, true)),

	"length":           args(wantTextOrBytes).gives(typeInt, measured(characters)),
	"len":              args(wantTextOrBytes).gives(typeInt, measured(characters)),
	"char_length":      args(wantTextOrBytes).gives(typeInt, measured(characters)),
	"character_length": args(wantTextOrBytes).gives(typeInt, measured(characters)),
	"octet_length":     args(wantTextOrBytes).gives(typeInt, measured(octets)),
	"bit_length":       args(wantTextOrBytes).gives(typeInt, measured(bitCount)),

	"substring": args(wantTextOrBytes, wantInt, wantInt).optional(2).keeps(cuts(substring)),
	"substr":    args(wantTextOrBytes, wantInt, wantInt).optional(2).keeps(cuts(substring)),
	"left":      args(wantTextOrBytes, wantInt).keeps(cuts(left)),
	"right":     args(wantText, wantInt).keeps(cuts(right)),

	"concat":     signature{wants: []want{wantTextOrBytes}, more: true}.sameText(concat),
	"concat_ws":  signature{wants: []want{wantText, wantTexts}, least: 1, more: true}.gives(typeText, concatWithSeparator),
	"repeat":     args(wantText, wantInt).gives(typeText, repeat),
	"lpad":       args(wantTextOrBytes, wantInt, wantTextOrBytes).optional(2).sameText(pad(true)),
	"rpad":       args(wantTextOrBytes, wantInt, wantTextOrBytes).optional(2).sameText(pad(false)),
	"replace":    args(wantText, wantText, wantText).optional(2).gives(typeText, replace),
	"translate":  args(wantText, wantText, wantText).gives(typeText, translate),
	"overlay":    args(wantTextOrBytes, wantTextOrBytes, wantInt, wantInt).optional(3).sameText(overlay),
	"reverse":    args(wantText).gives(typeText, reverse),
	"split_part": args(wantText, wantText, wantInt).gives(typeText, splitPart),

	"startswith": args(wantTextOrBytes, wantTextOrBytes).sameText(tested(startsWith)),
	"endswith":   args(wantTextOrBytes, wantTextOrBytes).sameText(tested(endsWith)),
	"contains":   args(wantTextOrBytes, wantTextOrBytes).sameText(tested(contains)),
	"instr":      args(wantText, wantText).gives(typeInt, instr),
	"locate":     args(wantText, wantText, wantInt).optional(2).gives(typeInt, locate),
	"position":   args(wantText, wantText, wantInt).optional(2).gives(typeInt, locate),
	"like":       like(false),
	"ilike":      like(true),
	"rlike":      rlike, "regexp_like": rlike, "regexp": rlike,

	"ascii": args(wantText).gives(typeInt, ascii),
	"chr":   args(wantInt).gives(typeText, chr),
	"char":  args(wantInt).gives(typeText, chr),

	"md5":   args(wantTextOrBytes).gives(typeText, hashed(md5Hex)),
	"sha":   args(wantTextOrBytes).gives(typeText, hashed(sha1Hex)),
	"sha1":  args(wantTextOrBytes).gives(typeText, hashed(sha1Hex)),
	"sha2":  args(wantTextOrBytes, wantInt).gives(typeText, sha2),
	"crc32": args(wantTextOrBytes).gives(typeLong, crc),
	"hex":   args(wantHex).gives(typeText, toHex),
	"unhex": args(wantText).gives(typeBytes, fromHex),
}

// texts are the values of an argument of strings or binaries, by row.
type texts struct {
	text
	arg Arg
}

func textsOf(a Arg) texts { return texts{textOf(a), a} }

func (t texts) at(row int) string { return t.Value(t.arg.At(row)) }

// ints are the values of arguments that Spark takes as INT, by row.
type ints struct {
	columns []column[int64]
	row     []int64
}

func intsOf(list ...Arg) *ints {
	v := &ints{row: make([]int64, len(list))}
	for _, a := range list {
		v.columns = append(v.columns, columnOf[int64](a))
	}
	return v
}

// at gives the values of a row, until it is called again. What does not fit into INT is an error.
func (v *ints) at(row int) ([]int64, error) {
	for i, c := range v.columns {
		n := c.at(row)
		if n != int64(int32(n)) {
			return nil, fmt.Errorf("%d does not fit into INT", n)
		}
		v.row[i] = n
	}
	return v.row, nil
}

// width is how many bytes the character has that starts with b. A byte that can start none is one by
// itself, so that there is an answer for what is not UTF-8; it is Spark's.
func width(b byte) int {
	switch {
	case b < 0xC2, b >= 0xF5:
		return 1
	case b < 0xE0:
		return 2
	case b < 0xF0:
		return 3
	}
	return 4
}

// count is the number of characters.
func count(s string) int64 {
	n := int64(0)
	for i := 0; i < len(s); n++ {
		i += width(s[i])
	}
	return n
}

// skip is where the n-th character starts, from 0; the end if there are not so many.
func skip(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		i += width(s[i])
	}
	return min(i, len(s))
}

// errTooLong says that a function's value would be longer than maxText.
func errTooLong(name string) error {
	return fmt.Errorf("%s makes a value of more than %d MiB, which is the most", name, maxText>>20)
}

// errNoUTF8 says that text is none.
func errNoUTF8(name, s string) error {
	return fmt.Errorf("%s: %s is not valid UTF-8: keep such bytes in a BINARY", name, shownText(s))
}

// mapText makes a text of each text; f appends it.
func mapText(c *Call, t arrow.DataType, f func(dst []byte, s string) ([]byte, error)) arrow.Array {
	s := textsOf(c.Args[0])
	return buildText(nullsOf(c, c.Args[0]), t, func(dst []byte, row int) ([]byte, error) {
		return f(dst, s.at(row))
	})
}

// measured gives a number for each text or binary.
func measured(f func(s string, isBytes bool) int64) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		s, isBytes := textsOf(c.Args[0]), c.Args[0].DataType().ID() == arrow.BINARY
		return buildFixed(nullsOf(c, c.Args[0]), typeInt, func(row int) (int32, error) {
			n := f(s.at(row), isBytes)
			if n > 1<<31-1 {
				return 0, fmt.Errorf("the length %d does not fit into INT", n)
			}
			return int32(n), nil
		})
	}
}

func characters(s string, isBytes bool) int64 {
	if isBytes {
		return int64(len(s))
	}
	return count(s)
}

func octets(s string, _ bool) int64 { return int64(len(s)) }

func bitCount(s string, _ bool) int64 { return int64(len(s)) * 8 }

// reverse reverses the characters.
func reverse(c *Call) arrow.Array {
	return mapText(c, typeText, func(dst []byte, s string) ([]byte, error) {
		dst = slices.Grow(dst, len(s))[:len(s)]
		for at, end := 0, len(s); at < len(s); {
			n := min(width(s[at]), len(s)-at)
			end -= n
			copy(dst[end:], s[at:at+n])
			at += n
		}
		return dst, nil
	})
}

// ascii is the code point of the first character, 0 of an empty text.
func ascii(c *Call) arrow.Array {
	s := textsOf(c.Args[0])
	return buildFixed(nullsOf(c, c.Args[0]), typeInt, func(row int) (int32, error) {
		r, n := utf8.DecodeRuneInString(s.at(row))
		switch {
		case n == 0:
			return 0, nil
		case r == utf8.RuneError && n == 1:
			return 0, errNoUTF8("ascii", s.at(row))
		}
		return r, nil
	})
}

// chr is the character with a number of eight bits: higher bits are left out, as in Spark. There is
// none with a negative number.
func chr(c *Call) arrow.Array {
	v := columnOf[int64](c.Args[0])
	return buildText(nullsOf(c, c.Args[0]), typeText, func(dst []byte, row int) ([]byte, error) {
		if v.at(row) < 0 {
			return dst, nil
		}
		return utf8.AppendRune(dst, rune(v.at(row)&0xFF)), nil
	})
}

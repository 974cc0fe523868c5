package function

import (
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// Upper and lower case are those of Unicode 16, in full and for no language in particular, as Spark's
// are: one character may become several, and a sigma at the end of a word has a form of its own. Go's
// tables have single characters of Unicode 15; textcasetable.go has what they lack.

// cased changes the case of texts.
func cased(f func(dst []byte, s string) []byte) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		return mapText(c, typeText, func(dst []byte, s string) ([]byte, error) {
			if !utf8.ValidString(s) {
				return nil, errNoUTF8("changing the case", s)
			}
			return f(dst, s), nil
		})
	}
}

func upper(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = appendUpper(dst, r)
			i += n
			continue
		}
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

// appendUpper appends the upper case of a character that is not ASCII.
func appendUpper(dst []byte, r rune) []byte {
	if r >= 0x1F80 && r <= 0x1FAF { // the iota below the letter moves behind it
		dst = utf8.AppendRune(dst, [...]rune{0x1F08, 0x1F28, 0x1F68}[(r-0x1F80)>>4]+r&7)
		return utf8.AppendRune(dst, 0x0399)
	}
	if several, ok := upperOf[r]; ok {
		return append(dst, several...)
	}
	if one, ok := laterUpper[r]; ok {
		return utf8.AppendRune(dst, one)
	}
	return utf8.AppendRune(dst, unicode.ToUpper(r))
}

func appendTitle(dst []byte, r rune) []byte {
	if several, ok := titleOf[r]; ok {
		return append(dst, several...)
	}
	if one := unicode.ToTitle(r); one != r || unicode.IsTitle(r) {
		return utf8.AppendRune(dst, one)
	}
	if several, ok := upperOf[r]; ok {
		return append(dst, several...)
	}
	if one, ok := laterUpper[r]; ok {
		r = one
	}
	return utf8.AppendRune(dst, r)
}

const sigma, finalSigma, dottedI = 'Σ', 'ς', 'İ'

func lower(dst []byte, s string) []byte { return appendLower(dst, s, 0) }

// appendLower appends s from a byte on; what is before it decides about a sigma.
func appendLower(dst []byte, s string, from int) []byte {
	for i := from; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == dottedI:
				dst = append(dst, "i\u0307"...)
			case r == sigma && endsWord(s, i):
				dst = utf8.AppendRune(dst, finalSigma)
			default:
				dst = utf8.AppendRune(dst, toLower(r))
			}
			i += n
			continue
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

func toLower(r rune) rune {
	if later, ok := laterLower[r]; ok {
		return later
	}
	return unicode.ToLower(r)
}

// endsWord says whether the sigma at i has a letter before it and none behind it. Marks and signs that
// are part of words are passed over.
func endsWord(s string, i int) bool {
	before := rune(-1)
	for head := s[:i]; head != ""; {
		r, n := utf8.DecodeLastRuneInString(head)
		if head = head[:len(head)-n]; !isIgnorable(r) {
			before = r
			break
		}
	}
	if before < 0 || !isCased(before) {
		return false
	}
	for _, r := range s[i+len("Σ"):] {
		if !isIgnorable(r) {
			return !isCased(r)
		}
	}
	return true
}

func isCased(r rune) bool {
	if unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase) {
		return true
	}
	return laterLower[r] != 0 || laterUpper[r] != 0
}

// isIgnorable is Unicode's Case_Ignorable.
func isIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '^', '`', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A:
		return true
	case 0x1171E: // a mark no longer
		return false
	}
	return r >= 0x80 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk, laterIgnorable)
}

// initcap makes the first character of each word a title case letter, and the others lower case. Only
// spaces are between words.
func initcap(dst []byte, s string) []byte {
	for s != "" {
		word, space := s, ""
		for i := range len(s) {
			if s[i] == ' ' {
				word, space = s[:i], " "
				break
			}
		}
		if word != "" {
			first, n := utf8.DecodeRuneInString(word)
			dst = appendLower(appendTitle(dst, first), word, n)
		}
		dst = append(dst, space...)
		s = s[len(word)+len(space):]
	}
	return dst
}

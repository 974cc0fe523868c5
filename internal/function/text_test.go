package function_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// text draws short strings of one to four bytes a character, also of bytes that are no UTF-8.
func text(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é", "\U0001F600", " ", ".", "Σ", "\xff", "\xc3"}), 0, 8).Draw(t, label), "")
}

// valid is text that is UTF-8.
func valid(t *rapid.T, label string) string { return strings.ToValidUTF8(text(t, label), "ß") }

// runes are the characters of a UTF-8 text.
func runes(s string) []string { return strings.Split(s, "")[:utf8.RuneCountInString(s)] }

// clipped is the elements from start to end, as far as they exist.
func clipped(s []string, start, end int64) string {
	n := int64(len(s))
	start, end = min(max(start, 0), n), min(max(end, 0), n)
	if end <= start {
		return ""
	}
	return strings.Join(s[start:end], "")
}

// naiveSubstring counts characters as a list of them.
func naiveSubstring(s string, pos, length int64) string {
	chars := runes(s)
	start := pos - 1
	switch {
	case pos == 0:
		start = 0
	case pos < 0:
		start = int64(len(chars)) + pos
	}
	return clipped(chars, start, start+length)
}

func TestSubstringIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		s, pos, length := valid(t, "s"), rapid.Int64Range(-9, 9).Draw(t, "pos"), rapid.Int64Range(-2, 9).Draw(t, "length")
		require.Equal(t, []string{naiveSubstring(s, pos, length)}, texts(b.apply("substring", b.strs(s), b.ints(pos), b.ints(length))))
		require.Equal(t, []string{naiveSubstring(s, pos, 99)}, texts(b.apply("substr", b.strs(s), b.ints(pos))))
		require.Equal(t, []string{naiveSubstring(s, 1, length)}, texts(b.apply("left", b.strs(s), b.ints(length))))
		require.Equal(t, []string{clipped(runes(s), int64(len(runes(s)))-length, 99)}, texts(b.apply("right", b.strs(s), b.ints(length))))
	})
}

// naivePad puts characters before or behind one by one.
func naivePad(s string, length int64, with string, atStart bool) string {
	chars, pad := runes(s), runes(with)
	var added []string
	for i := 0; len(pad) > 0 && int64(len(chars)+len(added)) < length; i++ {
		added = append(added, pad[i%len(pad)])
	}
	if len(added) == 0 {
		return clipped(chars, 0, length)
	}
	if atStart {
		return strings.Join(added, "") + s
	}
	return s + strings.Join(added, "")
}

// naiveTrim goes by sets of characters.
func naiveTrim(s, set string, start, end bool) string {
	chars := runes(s)
	for start && len(chars) > 0 && slices.Contains(runes(set), chars[0]) {
		chars = chars[1:]
	}
	for end && len(chars) > 0 && slices.Contains(runes(set), chars[len(chars)-1]) {
		chars = chars[:len(chars)-1]
	}
	return strings.Join(chars, "")
}

// naiveLocate compares at every character.
func naiveLocate(what, s string, from int64) int64 {
	if from < 1 {
		return 0
	}
	if what == "" {
		return 1
	}
	for i := from - 1; i < int64(len(runes(s))); i++ {
		if strings.HasPrefix(clipped(runes(s), i, 99), what) {
			return i + 1
		}
	}
	return 0
}

// naiveSplit is a list of all parts.
func naiveSplit(s, by string, n int64) string {
	parts := []string{s}
	if by != "" {
		parts = strings.Split(s, by)
	}
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return ""
	}
	return parts[n-1]
}

func naiveTranslate(s, from, to string) string {
	var out strings.Builder
	for _, c := range runes(s) {
		i := slices.Index(runes(from), c)
		switch {
		case i < 0:
			out.WriteString(c)
		case i < len(runes(to)):
			out.WriteString(runes(to)[i])
		}
	}
	return out.String()
}

func TestTextFunctionsAreTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		s, u, v := valid(t, "s"), valid(t, "u"), valid(t, "v")
		n := rapid.Int64Range(-3, 12).Draw(t, "n")
		S, U, V, N := b.strs(s), b.strs(u), b.strs(v), b.ints(n)
		one := func(name string, args ...any) string { return texts(b.apply(name, args...))[0] }

		require.Equal(t, naivePad(s, n, u, true), one("lpad", S, N, U))
		require.Equal(t, naivePad(s, n, u, false), one("rpad", S, N, U))
		require.Equal(t, naivePad(s, n, " ", false), one("rpad", S, N))
		require.Equal(t, naiveTrim(s, u, true, true), one("btrim", S, U))
		require.Equal(t, naiveTrim(s, u, true, false), one("ltrim", U, S))
		require.Equal(t, naiveTrim(s, u, false, true), one("rtrim", U, S))
		require.Equal(t, naiveTrim(s, " ", true, true), one("trim", S))
		require.Equal(t, strings.Repeat(s, int(max(n, 0))), one("repeat", S, N))
		require.Equal(t, s+u+v, one("concat", S, U, V))
		require.Equal(t, u+s+v, one("concat_ws", S, U, V))
		require.Equal(t, naiveTranslate(s, u, v), one("translate", S, U, V))
		reversed := runes(s)
		slices.Reverse(reversed)
		require.Equal(t, strings.Join(reversed, ""), one("reverse", S))
		if u != "" {
			require.Equal(t, strings.ReplaceAll(s, u, v), one("replace", S, U, V))
		}
		if n != 0 {
			require.Equal(t, naiveSplit(s, u, n), one("split_part", S, U, N))
		}
		require.Equal(t, naiveSubstring(s, 1, n-1)+u+naiveSubstring(s, n+int64(len(runes(u))), 99), one("overlay", S, U, N))
	})
}

func TestPositionsAndTestsAreTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		s, u, n := valid(t, "s"), valid(t, "u"), rapid.Int64Range(-2, 9).Draw(t, "n")
		S, U := b.strs(s), b.strs(u)
		number := func(want int64, name string, args ...any) {
			require.Equal(t, []string{b.ints(want).ValueStr(0)}, texts(b.apply(name, args...)), name)
		}
		number(naiveLocate(u, s, n), "locate", U, S, b.ints(n))
		number(naiveLocate(u, s, n), "position", U, S, b.ints(n))
		number(naiveLocate(u, s, 1), "instr", S, U)
		number(int64(len(runes(s))), "length", S)
		number(int64(len(s)), "octet_length", S)
		number(int64(len(s))*8, "bit_length", S)
		truth := map[bool]string{true: "true", false: "false"}
		require.Equal(t, []string{truth[strings.HasPrefix(s, u)]}, texts(b.apply("startswith", S, U)))
		require.Equal(t, []string{truth[strings.HasSuffix(s, u)]}, texts(b.apply("endswith", S, U)))
		require.Equal(t, []string{truth[strings.Contains(s, u)]}, texts(b.apply("contains", S, U)))
	})
}

// A text that is no UTF-8 has an answer or an error, and never more characters than bytes.
func TestBytesThatAreNoTextAreTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		n := b.ints(rapid.Int64().Draw(t, "n"))
		S := b.strs(s)
		for name, args := range map[string][]any{
			"lower": {S}, "upper": {S}, "initcap": {S}, "btrim": {S, S}, "length": {S}, "substring": {S, n, n}, "left": {S, n}, "right": {S, n},
			"repeat": {S, n}, "lpad": {S, n, S}, "replace": {S, S, S}, "translate": {S, S, S}, "reverse": {S}, "split_part": {S, S, n},
			"locate": {S, S, n}, "like": {S, S}, "ilike": {S, S}, "ascii": {S}, "chr": {n}, "hex": {S}, "unhex": {S}, "sha2": {S, n}, "md5": {S}, "crc32": {S},
			"overlay": {S, S, n, n}, "to_date": {S, "yyyy-MM-dd"}, "to_timestamp": {S, "yMM"}, "next_day": {b.days(0), S},
		} {
			b.apply(name, args...)
		}
		length, _ := b.apply("reverse", S)
		require.Equal(t, len(s), len(length.ValueStr(0)), "reverse keeps the bytes")
	})
}

func TestHashesAreDeterministicOverBytes(t *testing.T) {
	b := newBench(t)
	defer b.close()
	require.Equal(t, []string{"d41d8cd98f00b204e9800998ecf8427e"}, texts(b.apply("md5", b.strs(""))))
	require.Equal(t, []string{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}, texts(b.apply("sha2", b.strs(""), b.ints(256))))
	require.Equal(t, []string{"NULL"}, texts(b.apply("sha2", b.strs(""), b.ints(1))), "a length that SHA-2 lacks")
	require.Equal(t, []string{"!"}, texts(b.apply("sha2", b.strs(""), b.ints(1<<40))), "which does not fit into INT")
}

func TestCharactersToTranslateDifferByRow(t *testing.T) {
	b := newBench(t)
	defer b.close()
	require.Equal(t, []string{"xb", "ax", "b"}, texts(b.apply("translate", b.strs("ab", "ab", "ab"), b.strs("a", "b", "a"), b.strs("x", "x", ""))))
	require.Equal(t, []string{"xb", "bx"}, texts(b.apply("translate", b.strs("ab", "ba"), "a", "x")))
}

package function_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/fuzzing"
)

// naiveLike makes a regular expression of a pattern, as Spark does; ok is false for one that is none.
func naiveLike(s, pattern string, escape rune) (matches, ok bool) {
	var b strings.Builder
	b.WriteString("(?s)^")
	for rest := []rune(pattern); len(rest) > 0; rest = rest[1:] {
		switch r := rest[0]; {
		case r == escape:
			if len(rest) == 1 || rest[1] != escape && rest[1] != '%' && rest[1] != '_' {
				return false, false
			}
			b.WriteString(regexp.QuoteMeta(string(rest[1])))
			rest = rest[1:]
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(b.String() + "$").MatchString(s), true
}

func checkLike(t rapid.TB, s, pattern, escape string) {
	b := newBench(t)
	defer b.close()
	r, _ := utf8.DecodeRuneInString(escape)
	matches, ok := naiveLike(s, pattern, r)
	want := map[bool]string{true: "true", false: "false"}[matches]
	if !ok {
		want = "!"
	}
	require.Equal(t, []string{want}, texts(b.apply("like", b.strs(s), b.strs(pattern), escape)), "%q LIKE %q ESCAPE %q", s, pattern, escape)
	out, failed, err := b.try("like", b.strs(s), pattern, escape)
	require.Equal(t, ok, err == nil, "a constant pattern is judged at once: %q", pattern)
	if ok {
		require.Equal(t, []string{want}, texts(out, failed))
	}
}

func TestLikeIsARegularExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "%", "_", `\`, "|", "é", "\U0001F600", "\n", "."}), 0, 7)
		checkLike(t, strings.Join(letters.Draw(t, "s"), ""), strings.Join(letters.Draw(t, "pattern"), ""), rapid.SampledFrom([]string{`\`, "|", "a", "%", "é"}).Draw(t, "escape"))
	})
}

func FuzzLike(f *testing.F) {
	f.Add("abc", "a%", `\`)
	f.Add("a%c", `a\%_`, `\`)
	f.Add("aXbXc", "%X%c%", "|")
	f.Add("\xff", "_", "_")
	f.Fuzz(func(t *testing.T, s, pattern, escape string) {
		r, n := utf8.DecodeRuneInString(escape)
		b := newBench(t)
		defer b.close()
		if n == 0 || n < len(escape) || r > 0xFFFF || r == utf8.RuneError && n == 1 {
			_, _, err := b.try("like", b.strs(s), b.strs(pattern), escape)
			require.ErrorContains(t, err, "the escape character has to be one character")
			return
		}
		for _, name := range []string{"like", "ilike"} {
			for _, p := range []any{pattern, b.strs(pattern)} {
				fuzzing.Bounded(t, len(s)+len(pattern), func() { _, _, _ = b.try(name, b.strs(s), p, escape) })
			}
		}
		if !utf8.ValidString(s) || !utf8.ValidString(pattern) {
			return
		}
		checkLike(t, s, pattern, escape)
	})
}

func TestLikeOfColumns(t *testing.T) {
	b := newBench(t)
	defer b.close()
	for _, c := range []struct {
		why, name        string
		values, patterns []string
		want             []string
	}{
		{"a pattern that comes again is compiled once", "like", []string{"ab", "ab", "b"}, []string{"a%", "a%", "a%"}, []string{"true", "true", "false"}},
		{"a bad pattern fails its rows alone", "like", []string{"a", "a", "a"}, []string{`\`, "a", `\`}, []string{"!", "true", "!"}},
		{"case is folded on both sides", "ilike", []string{"AbC", "x"}, []string{"aBc", "X"}, []string{"true", "true"}},
		{"the escape character is folded only in the pattern", "ilike", []string{"a%"}, []string{`A\%`}, []string{"true"}},
	} {
		require.Equal(t, c.want, texts(b.apply(c.name, b.strs(c.values...), b.strs(c.patterns...))), c.why)
	}
	_, _, err := b.try("like", b.strs("a"), b.strs("a"), b.strs("x"))
	require.ErrorContains(t, err, "like: the escape character: it has to be a constant STRING")
}

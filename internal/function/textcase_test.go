package function_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
)

// everyCharacter is each code point of the planes that have letters or marks.
func everyCharacter() []string {
	var all []string
	for r := rune(0); r < 0xE0200; r++ {
		if r == 0x20000 {
			r = 0xE0000
		}
		if r < 0xD800 || r > 0xDFFF {
			all = append(all, string(r))
		}
	}
	return all
}

// The digests are of what Spark 4.1 answers for every code point. A Go whose tables have more
// characters than Spark's fails here: what it adds has to be left out.
func TestTheCaseOfEveryCharacterIsSparks(t *testing.T) {
	b := newBench(t)
	defer b.close()
	all := everyCharacter()
	column := b.strs(all...)
	var answers [3]*array.String
	for i, name := range []string{"lower", "upper", "initcap"} {
		out, _ := b.apply(name, column)
		answers[i] = out.(*array.String)
	}
	var told []byte
	for i, c := range all {
		told = append(told, c...)
		for _, a := range answers {
			told = append(append(told, ' '), a.Value(i)...)
		}
		told = append(told, '\n')
	}
	require.Equal(t, "507e43549d350f3ea283f127071e8a0709dbae0c83ee14dc51f5067f7231a51a", fmt.Sprintf("%x", sha256.Sum256(told)))
}

// A sigma is a final one behind a letter and before none; what is passed over is told by all characters
// in its place, before and behind.
func TestTheSigmaBesideEveryCharacterIsSparks(t *testing.T) {
	b := newBench(t)
	defer b.close()
	all := everyCharacter()
	var answers [4]*array.String
	for i, around := range [][2]string{{"", "Σ"}, {"Α", "Σ"}, {"ΑΣ", ""}, {"ΑΣ", "Α"}} {
		placed := make([]string, len(all))
		for n, c := range all {
			placed[n] = around[0] + c + around[1]
		}
		out, _ := b.apply("lower", b.strs(placed...))
		answers[i] = out.(*array.String)
	}
	var told []byte
	for i, c := range all {
		told = append(told, c...)
		for n, a := range answers {
			final := strings.HasSuffix(a.Value(i), "ς")
			if n >= 2 {
				final = strings.HasPrefix(a.Value(i), "ας")
			}
			told = append(told, map[bool]byte{true: '1', false: '0'}[final])
		}
		told = append(told, '\n')
	}
	require.Equal(t, "2e6bd76ba9e25e3388428f10361ac21564aa9aa98ceb25847d3cc85ede69beb8", fmt.Sprintf("%x", sha256.Sum256(told)))
}

package function_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/function"
	"github.com/idemtable/idem/internal/fuzzing"
)

// rlikeCases are texts, in which of them Spark 4.1 finds patterns (T or F for each), and patterns that
// are refused here: Spark refuses some, too, and others mean what Go's package has no words for.
type rlikeCases struct {
	Texts   []string
	Found   map[string]string
	Refused []string
}

func loadRlike(t *testing.T) (c rlikeCases) {
	raw, err := os.ReadFile(filepath.Join("testdata", "rlike.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &c))
	require.NotEmpty(t, c.Found)
	return c
}

func column(texts ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(texts, nil)
	return b.NewArray()
}

// rlike gives T, F or N a row, and what failed.
func rlike(t *testing.T, texts, patterns arrow.Array, constant bool) (found string, failed []string) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	params := []function.Param{{Type: arrow.BinaryTypes.String}, {Type: arrow.BinaryTypes.String}}
	if constant {
		var err error
		params[1].Value, err = scalar.GetScalar(patterns, 0)
		require.NoError(t, err)
	}
	f, err := function.Find("rlike", params)
	if err != nil {
		return "", []string{err.Error()}
	}
	got := f.Eval(&function.Call{Mem: mem, Rows: texts.Len(), Args: []function.Arg{{Array: texts}, {Array: patterns, Constant: constant}},
		Fail: func(_ int, err error) { failed = append(failed, err.Error()) }}).(*array.Boolean)
	defer got.Release()
	var b strings.Builder
	for row := range got.Len() {
		switch {
		case got.IsNull(row):
			b.WriteByte('N')
		case got.Value(row):
			b.WriteByte('T')
		default:
			b.WriteByte('F')
		}
	}
	return b.String(), failed
}

func TestRlikeFindsWhatSparkFinds(t *testing.T) {
	c := loadRlike(t)
	for pattern, want := range c.Found {
		got, failed := rlike(t, column(c.Texts...), column(pattern), true)
		require.Empty(t, failed, "%q", pattern)
		require.Equal(t, want, got, "%q in %q", pattern, c.Texts)
	}
}

func TestRlikeRefusesWhatGoHasNoWordsFor(t *testing.T) {
	for _, pattern := range loadRlike(t).Refused {
		got, failed := rlike(t, column("a"), column(pattern), true)
		require.Empty(t, got, "%q", pattern)
		require.Len(t, failed, 1, "%q", pattern)
		require.Contains(t, failed[0], "the regular expression ")
	}
	_, failed := rlike(t, column("a"), column("é(?=a)"), true)
	require.Equal(t, []string{`the regular expression "é(?=a)": at character 2: of groups that begin with (? only (?:…) is read`}, failed)
}

func TestRlikeOfPatternsThatDiffer(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{"a", "a", "^b", "(", ""}, nil)
	b.AppendNull()
	got, failed := rlike(t, column("ab", "b", "ab", "x", "y", "z"), b.NewArray(), false)
	require.Equal(t, "TFFNTN", got)
	require.Equal(t, []string{`the regular expression "(": at character 2: a group is not closed`}, failed)

	got, failed = rlike(t, column("a\xff"), column("a"), true)
	require.Equal(t, "N", got)
	require.Len(t, failed, 1, "Java would find in another text")
}

// No pattern makes a panic, and none that is read takes long.
func FuzzRlike(f *testing.F) {
	for _, p := range []string{"a+b", "[^a-z\\d]{2,3}?$", "(?:a|b)*", "\\", "[\\w.-]+@x\\.y", "((((a{9}){9}){9}){9})", "$|^"} {
		f.Add(p, "aab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		fuzzing.Bounded(t, len(pattern)+len(text), func() { rlike(t, column(text), column(pattern), true) })
	})
}

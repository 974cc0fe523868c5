package delta_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func TestResolvePath(t *testing.T) {
	const file, s3 = "file:///lake/my%20orders", "s3://bucket/lake"
	for _, c := range []struct{ why, root, path, key string }{
		{"plain", file, "day=1/part-0.parquet", "day=1/part-0.parquet"},
		{"decoded once", file, "a%20b%2520c", "a b%20c"},
		{"lower-case digits", file, "a%c3%a9", "aé"},
		{"raw UTF-8", file, "aé", "aé"},
		{"plus is no space", file, "a+b%2Bc", "a+b+c"},
		{"a query is none", file, "a?b#c", "a?b#c"},
		{"an encoded colon", file, "a%3Ab/c", "a:b/c"},
		{"a colon behind what no scheme has", file, "day=1 10:00/c", "day=1 10:00/c"},
		{"a colon in a later element", file, "x/a:b", "x/a:b"},
		{"a leading dot", file, "./a", "a"},
		{"dots that are names", file, "..a/b../...", "..a/b../..."},
		{"a backslash in a name", file, `a%5Cb`, `a\b`},
		{"an encoded slash is a slash", file, "a%2Fb", "a/b"},
		{"absolute below the root", file, "/lake/my%20orders/a%20b", "a b"},
		{"one slash", file, "file:/lake/my%20orders/a", "a"},
		{"three slashes", file, "file:///lake/my%20orders/a", "a"},
		{"localhost", file, "file://localhost/lake/my%20orders/a", "a"},
		{"a scheme in capitals", file, "FILE:/lake/my%20orders/a", "a"},
		{"a root with a slash", file + "/", "file:/lake/my%20orders/a", "a"},
		{"a root without a scheme", "/lake/my%20orders", "/lake/my%2520orders/a", "a"},
		{"the root of all", "file:///", "/a/b", "a/b"},
		{"an object", s3, "s3://bucket/lake/a/b", "a/b"},
		{"Hadoop's name for the store", s3, "s3a://bucket/lake/a", "a"},
		{"a bucket is a root", "s3://bucket", "s3://bucket/a", "a"},
	} {
		t.Run(c.why, func(t *testing.T) {
			key, err := delta.ResolvePath(c.root, c.path)
			require.NoError(t, err)
			require.Equal(t, c.key, key)
		})
	}
}

func TestResolvePathRefuses(t *testing.T) {
	const root = "file:///lake/orders"
	for _, c := range []struct {
		why, path string
		is        error
	}{
		{"empty", "", delta.ErrCorrupt},
		{"climbs", "../a", delta.ErrCorrupt},
		{"climbs in the middle", "a/../../b", delta.ErrCorrupt},
		{"climbs at the end", "a/..", delta.ErrCorrupt},
		{"climbs encoded", "%2e%2e/a", delta.ErrCorrupt},
		{"climbs half encoded", "a/.%2E/b", delta.ErrCorrupt},
		{"climbs behind an encoded slash", "a%2F..%2Fb", delta.ErrCorrupt},
		{"climbs by backslashes", `a\..\..\b`, delta.ErrCorrupt},
		{"climbs by encoded backslashes", "a%5C..%5Cb", delta.ErrCorrupt},
		{"a share", `\\server\share`, delta.ErrCorrupt},
		{"NUL", "a%00b", delta.ErrCorrupt},
		{"an empty element", "a//b", delta.ErrCorrupt},
		{"a directory", "a/", delta.ErrCorrupt},
		{"a dot inside", "a/./b", delta.ErrCorrupt},
		{"an escape cut short", "a%2", delta.ErrCorrupt},
		{"an escape that is none", "a%zz", delta.ErrCorrupt},
		{"not UTF-8", "a%ff", delta.ErrCorrupt},
		{"climbs absolutely", "/lake/orders/../other/a", delta.ErrCorrupt},
		{"climbs absolutely, encoded", "file:///lake/orders/%2e%2e/other/a", delta.ErrCorrupt},
		{"the root itself as a directory", "/lake/orders/", delta.ErrCorrupt},
		{"the root itself", "/lake/orders", delta.ErrUnsupported},
		{"elsewhere", "/lake/others/a", delta.ErrUnsupported},
		{"a sibling with the root's name in front", "/lake/orders2/a", delta.ErrUnsupported},
		{"another store", "s3://lake/orders/a", delta.ErrUnsupported},
		{"another host", "file://host/lake/orders/a", delta.ErrUnsupported},
		{"a drive", `C:\a`, delta.ErrUnsupported},
		{"too long", strings.Repeat("a", 4097), delta.ErrUnsupported},
		{"too long, encoded", strings.Repeat("%C3%A9", 2049), delta.ErrUnsupported},
		{"too long to be decoded", strings.Repeat("%", 12289), delta.ErrUnsupported},
		{"too long and absolute", "s3://bucket/" + strings.Repeat("a", 4097), delta.ErrUnsupported},
		{"of too long a host", "s3://" + strings.Repeat("a", 4097) + "/a", delta.ErrUnsupported},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := delta.ResolvePath(root, c.path)
			require.ErrorIs(t, err, c.is)
		})
	}
}

// Whatever idem reads it can write: a limit counts the bytes of the key, not how they are spelled.
func TestTheLongestPathIsReadHoweverItIsSpelled(t *testing.T) {
	key := strings.Repeat("é", 2048)
	for _, path := range []string{key, delta.EncodePath(key), "file:///lake/" + delta.EncodePath(key)[:3*4000]} {
		got, err := delta.ResolvePath("file:///lake", path)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(key, got))
	}
}

func TestEncodePath(t *testing.T) {
	require.Equal(t, "day=1%25/a%20b%23%3F%5B%5D%22%3C%3E%5C%5E%60%7B%7C%7D%0A", delta.EncodePath("day=1%/a b#?[]\"<>\\^`{|}\n"))
	require.Equal(t, "a%3Ab/c:d", delta.EncodePath("a:b/c:d"), "a colon would end a scheme only in the first element")
	require.Equal(t, "%C3%A9+=&", delta.EncodePath("é+=&"), "delta-rs removes a file by its encoded path, whatever it was added by")
}

// keys draws keys that a store may hold below a root.
func keys() *rapid.Generator[string] {
	element := rapid.StringMatching(`[a-z=%#?:+ é\\"\[{.~\x01-\x1f]{1,8}`).Filter(func(s string) bool {
		return s != "." && s != ".." && !strings.Contains(s, `\`) || strings.Trim(s, `.\`) != ""
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(element, 1, 4).Draw(t, "elements"), "/")
	}).Filter(func(s string) bool { return !strings.Contains(s, "..") && !strings.HasPrefix(s, `\`) })
}

func TestPathRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := keys().Draw(t, "key")
		path := delta.EncodePath(key)
		for _, p := range []string{path, "file:/lake/" + path, "file:///lake/" + path, "/lake/" + path} {
			got, err := delta.ResolvePath("file:///lake", p)
			require.NoError(t, err)
			require.Equal(t, key, got)
		}
		u, err := url.Parse(path)
		require.NoError(t, err, "a conforming URI reference")
		require.Empty(t, u.Scheme)
		require.Equal(t, key, u.Path)
	})
}

func FuzzResolvePath(f *testing.F) {
	for _, seed := range []string{"a%20b", "../a", "file:/lake/a", "s3://b/c", `a\..\b`, "%2e%2e/", "a:b", "./a"} {
		f.Add("file:///lake", seed)
	}
	f.Fuzz(func(t *testing.T, root, path string) {
		key, err := fuzzing.Read(t, len(root)+len(path), func() (string, error) { return delta.ResolvePath(root, path) })
		if err != nil {
			require.Empty(t, key)
			return
		}
		require.True(t, utf8.ValidString(key))
		require.NotContains(t, key, "\x00")
		for element := range strings.FieldsFuncSeq("/"+key+"/", func(r rune) bool { return r == '/' || r == '\\' }) {
			require.NotEqual(t, "..", element)
		}
		require.NotContains(t, "/"+key+"/", "//")
		same, err := delta.ResolvePath(root, delta.EncodePath(key))
		require.NoError(t, err)
		require.Equal(t, key, same)
	})
}

func TestLocate(t *testing.T) {
	const root = "file:///lake/orders/"
	for _, c := range []struct{ why, path, want, back string }{
		{"below the root", "file:/lake/orders/a%20b", "a b", ""},
		{"relative", "a%3Ab", "a:b", ""},
		{"elsewhere, however it is written", "file:/lake/others/a%20b", "file:///lake/others/a b", "file:///lake/others/a%20b"},
		{"a bare path", "/lake/others/a%2520b", "file:///lake/others/a%20b", "file:///lake/others/a%2520b"},
		{"another store, by its one scheme", "s3a://bucket/a", "s3://bucket/a", "s3://bucket/a"},
		{"with an authority", "abfss://c@account.host/a#b", "abfss://c@account.host/a#b", "abfss://c@account.host/a%23b"},
	} {
		t.Run(c.why, func(t *testing.T) {
			key, err := delta.Locate(root, c.path)
			require.NoError(t, err)
			require.Equal(t, c.want, key)
			require.Equal(t, c.back != "", delta.IsOutside(key))
			if c.back != "" {
				require.Equal(t, c.back, delta.OutsidePath(key))
				again, err := delta.Locate(root, delta.OutsidePath(key))
				require.NoError(t, err)
				require.Equal(t, key, again, "the spelling that the log would have names the same file")
			}
		})
	}
	for _, path := range []string{"file:///a/../b", "/a/%2e%2e/b", "s3://bucket/", "/a//b", "/%00"} {
		_, err := delta.Locate(root, path)
		require.ErrorIs(t, err, delta.ErrCorrupt, path)
	}
}

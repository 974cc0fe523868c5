package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
)

func write(t *testing.T, elements ...string) {
	t.Helper()
	name := filepath.Join(elements...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(t, os.WriteFile(name, []byte("content"), 0o666))
}

func keys(t *testing.T, s store.Store) []string {
	t.Helper()
	keys := []string{}
	for info, err := range s.List(t.Context(), "", "") {
		require.NoError(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func TestReadingMakesNoDirectory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "table")
	d := openDir(t, root)
	require.Empty(t, keys(t, d))
	_, err := d.Get(t.Context(), version(0), 0)
	require.ErrorIs(t, err, store.ErrNotExist)
	require.NoError(t, d.Delete(t.Context(), version(0)))
	require.NoDirExists(t, root)
}

func TestOpenDirOnFile(t *testing.T) {
	write(t, t.TempDir(), "x")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file)
	_, err := store.OpenDir(file)
	require.ErrorContains(t, err, "a table is a directory")
	_, err = store.OpenDir("")
	require.Error(t, err)
	// It may become one later, or be one above.
	d := openDir(t, filepath.Join(file, "below"))
	requireUndecided(t, d.PutIfAbsent(t.Context(), version(0), nil))
}

func TestRootRemovedWhileOpen(t *testing.T) {
	root := filepath.Join(t.TempDir(), "table")
	d := openDir(t, root)
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), []byte("old")))
	require.NoError(t, os.RemoveAll(root))
	_, err := d.Get(t.Context(), version(0), 0)
	require.ErrorIs(t, err, store.ErrNotExist)
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), []byte("new")))
	data, err := openDir(t, root).Get(t.Context(), version(0), 0)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
}

// TestHadoopSideFile: Spark checks "x" against ".x.crc" and refuses a file that differs.
func TestHadoopSideFile(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	names := []string{"_last_checkpoint", "00000000000000000000.json", "part-1.parquet", "gone"}
	for _, name := range names {
		write(t, root, "_delta_log", "."+name+".crc")
	}
	write(t, root, "_delta_log", "_last_checkpoint")
	write(t, root, "_delta_log", "gone")
	write(t, root, "_delta_log", ".other.crc")
	require.NoError(t, d.Put(t.Context(), "_delta_log/_last_checkpoint", nil))
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), nil))
	require.NoError(t, stepCreate(t.Context(), d, "_delta_log/part-1.parquet", nil))
	require.NoError(t, d.Delete(t.Context(), "_delta_log/gone"))
	require.Equal(t, []string{
		"_delta_log/.other.crc", version(0), "_delta_log/_last_checkpoint", "_delta_log/part-1.parquet",
	}, keys(t, d))
	// The loser of a put leaves the winner's.
	write(t, root, "_delta_log", ".00000000000000000000.json.crc")
	require.ErrorIs(t, d.PutIfAbsent(t.Context(), version(0), nil), store.ErrExist)
	require.FileExists(t, filepath.Join(root, "_delta_log", ".00000000000000000000.json.crc"))
}

func TestTemporaryFiles(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	old, young := store.TempName("old"), store.TempName("young")
	write(t, root, "_delta_log", old)
	write(t, root, "day=1", young)
	write(t, root, "day=1", "part-1.parquet")
	past := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(root, "_delta_log", old), past, past))
	require.NoError(t, os.Chtimes(filepath.Join(root, "day=1", "part-1.parquet"), past, past))
	require.Equal(t, []string{"day=1/part-1.parquet"}, keys(t, d))

	requireUndecided(t, d.PutIfAbsent(t.Context(), "a/"+old, nil))
	requireUndecided(t, d.Put(t.Context(), old, nil))
	_, err := d.Create(t.Context(), old)
	requireUndecided(t, err)

	n, err := d.RemoveTemp(t.Context(), time.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoFileExists(t, filepath.Join(root, "_delta_log", old))
	require.FileExists(t, filepath.Join(root, "day=1", young))
	require.FileExists(t, filepath.Join(root, "day=1", "part-1.parquet"))
}

// TestRemoveTempOfAWriter: a writer whose file was taken for dead fails and shows nothing.
func TestRemoveTempOfAWriter(t *testing.T) {
	d := openDir(t, t.TempDir())
	w, err := d.Create(t.Context(), "part-1.parquet")
	require.NoError(t, err)
	n, err := d.RemoveTemp(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	requireUndecided(t, w.Close())
	require.Empty(t, keys(t, d))
}

func TestNothingIsLeftBehind(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), nil))
	require.ErrorIs(t, d.PutIfAbsent(t.Context(), version(0), nil), store.ErrExist)
	require.NoError(t, d.Put(t.Context(), "_delta_log/_last_checkpoint", nil))
	w, err := d.Create(t.Context(), "_delta_log/part-1.parquet")
	require.NoError(t, err)
	w.Abort()
	entries, err := os.ReadDir(filepath.Join(root, "_delta_log"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestDirectoryInTheWay(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	write(t, root, "_delta_log", "00000000000000000000.json", "x")
	err := d.PutIfAbsent(t.Context(), version(0), nil)
	requireUndecided(t, err)
	require.ErrorContains(t, err, "a directory has this name")
	requireUndecided(t, d.Put(t.Context(), version(0), nil))
	_, err = d.Get(t.Context(), version(0), 0)
	require.ErrorIs(t, err, store.ErrNotExist)
	// A file in the way of a directory.
	write(t, root, "day=1")
	requireUndecided(t, d.PutIfAbsent(t.Context(), "day=1/part-1.parquet", nil))
	// An empty directory is not an object either.
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o777))
	require.NoError(t, d.Delete(t.Context(), "empty"))
	require.DirExists(t, filepath.Join(root, "empty"))
}

func TestSymbolicLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	outside, root := t.TempDir(), t.TempDir()
	write(t, outside, "secret")
	write(t, root, "real", "x")
	d := openDir(t, root)
	link := func(target, name string) {
		t.Helper()
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	link("real/x", "inside")
	link("nowhere", "dangling")
	data, err := d.Get(t.Context(), "inside", 0)
	require.NoError(t, err)
	require.Equal(t, "content", string(data))
	require.Equal(t, []string{"inside", "real/x"}, keys(t, d))

	link(outside, "out")
	link(filepath.Join(outside, "secret"), "secret")
	for _, key := range []string{"out/secret", "secret"} {
		_, err := d.Get(t.Context(), key, 0)
		requireUndecided(t, err)
		_, err = d.Head(t.Context(), key)
		requireUndecided(t, err)
		requireUndecided(t, d.GetRange(t.Context(), key, 0, make([]byte, 1)))
	}
	requireUndecided(t, d.PutIfAbsent(t.Context(), "out/new", nil))
	requireUndecided(t, d.Put(t.Context(), "out/secret", nil))
	require.Error(t, d.Delete(t.Context(), "out/secret"))
	require.NoError(t, d.Put(t.Context(), "secret", []byte("replaced"))) // the link, not its target
	content, err := os.ReadFile(filepath.Join(outside, "secret"))
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	var last error
	for _, last = range d.List(t.Context(), "", "") {
	}
	require.ErrorContains(t, last, "out", "a list that would be incomplete is an error")
}

func TestURLs(t *testing.T) {
	root := t.TempDir()
	odd := filepath.Join(root, "100% ü?#x")
	d := openDir(t, odd)
	require.True(t, strings.HasPrefix(d.URL(), "file:///") && strings.HasSuffix(d.URL(), "/100%25%20%C3%BC%3F%23x/"), d.URL())
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), nil))
	for _, url := range []string{
		d.URL(), odd, odd + "/",
		strings.Replace(d.URL(), "file:///", "file:/", 1),
		strings.Replace(d.URL(), "file:///", "FILE://localhost/", 1),
	} {
		s, err := store.OpenURL(url)
		require.NoError(t, err, url)
		require.Equal(t, d.URL(), s.URL(), url)
		require.Equal(t, []string{version(0)}, keys(t, s), url)
	}
	t.Chdir(root)
	s, err := store.OpenURL("rel%20ative")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(s.URL(), "/rel%2520ative/"), "a path is not decoded: %s", s.URL())
	s, err = store.OpenURL("/")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(s.URL(), "file:///"))
}

func TestOpenURLRefuses(t *testing.T) {
	for url, says := range map[string]string{
		"":                                       "empty",
		"s3://bucket/table?X-Amz-Signature=hush": "implement store.Store",
		"s3://key:hush@bucket/table?sig=hush":    "implement store.Store",
		"abfss://me:hush@account/table":          "implement store.Store",
		"GS://bucket":                            "gs://",
		"file://host/lake":                       "no host",
		"file://me:hush@localhost/lake":          "no host",
		"file:///lake?x=hush":                    "%3F",
		"file:///lake#x":                         "%23",
		"file:lake":                              "absolute",
		"file:":                                  "absolute",
		"file:///la%00ke":                        "NUL",
		"file:///la%zzke":                        "escape",
		"file:///la%zzke?sig=hush":               "escape",
		"file://me:hush@[/lake":                  "missing ']'",
	} {
		_, err := store.OpenURL(url)
		require.ErrorContains(t, err, says, url)
		require.NotContains(t, err.Error(), "hush", "secrets are not shown")
	}
}

func TestValidKey(t *testing.T) {
	for key, valid := range map[string]bool{
		"a": true, "a/b": true, ".a": true, "..a": true, "a..": true, "a b": true, "%2e%2e": true, "\xff": true, `a\b`: true,
		"": false, "/": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/..": false, "./a": false, "a/../b": false, "a\x00b": false,
	} {
		require.Equal(t, valid, store.ValidKey(key), "%q", key)
	}
}

func TestIsTemp(t *testing.T) {
	for name, temp := range map[string]bool{
		store.TempName("x"): true, "a/" + store.TempName("x"): true,
		".idem-x": false, "x.tmp": false, "a.tmp": false, store.TempName("x") + "/a": false,
	} {
		require.Equal(t, temp, store.IsTemp(name), "%q", name)
	}
}

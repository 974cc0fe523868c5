package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/idemtable/idem/delta/store"
)

// Run tests every obligation of store.Store. open returns an empty store, a new one each time;
// it registers its own clean-up with t.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"URL", testURL},
		{"PutIfAbsent", testPutIfAbsent},
		{"PutIfAbsentRace", testRace},
		{"DistinctKeysRace", testDistinctRace},
		{"Put", testPut},
		{"PutNeverTorn", testPutNeverTorn},
		{"Create", testCreate},
		{"CreateAbort", testAbort},
		{"CreateTakenKey", testCreateTaken},
		{"Get", testGet},
		{"GetRange", testGetRange},
		{"Head", testHead},
		{"BytesAreCopied", testCopied},
		{"ListOrder", testListOrder},
		{"ListEarlyStop", testListStop},
		{"ListMissingPrefix", testListMissing},
		{"ListSeesWrites", testListSees},
		{"Delete", testDelete},
		{"Keys", testKeys},
		{"InvalidKeys", testInvalidKeys},
		{"ContextCancelled", testCancelled},
		{"BigObject", testBig},
		{"Probe", testProbe},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// must stops the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// wants stops the test unless err wraps target.
func wants(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want one wrapping %v", err, target)
	}
}

// holds stops the test unless an object's bytes, size and key are as given by every operation.
func holds(t *testing.T, s store.Store, key string, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key, 0)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("get %q: got %d bytes %.40q, want %d bytes %.40q", key, len(got), got, len(want), want)
	}
	info, err := s.Head(t.Context(), key)
	must(t, err)
	if info.Key != key || info.Size != int64(len(want)) || info.ModTime.IsZero() {
		t.Fatalf("head %q: got %+v, want size %d and a time", key, info, len(want))
	}
}

// absent stops the test if an object can be seen by any operation.
func absent(t *testing.T, s store.Store, key string) {
	t.Helper()
	_, err := s.Get(t.Context(), key, 0)
	wants(t, err, store.ErrNotExist)
	_, err = s.Head(t.Context(), key)
	wants(t, err, store.ErrNotExist)
	wants(t, s.GetRange(t.Context(), key, 0, make([]byte, 1)), store.ErrNotExist)
	if slices.Contains(list(t, s, "", ""), key) {
		t.Fatalf("%q is listed, and get does not find it", key)
	}
}

func list(t *testing.T, s store.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context(), prefix, after) {
		must(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func create(t *testing.T, s store.Store, key string, pieces ...string) {
	t.Helper()
	w, err := s.Create(t.Context(), key)
	must(t, err)
	for _, p := range pieces {
		n, err := w.Write([]byte(p))
		must(t, err)
		if n != len(p) {
			t.Fatalf("write: got %d of %d bytes and no error", n, len(p))
		}
	}
	must(t, w.Close())
}

func logKey(version int) string { return fmt.Sprintf("_delta_log/%020d.json", version) }

func testURL(t *testing.T, s store.Store) {
	url := s.URL()
	if !strings.Contains(url, ":") || !strings.HasSuffix(url, "/") {
		t.Fatalf("URL is %q, want a scheme at its start and a slash at its end", url)
	}
}

func testPutIfAbsent(t *testing.T, s store.Store) {
	key := logKey(0)
	must(t, s.PutIfAbsent(t.Context(), key, []byte("first")))
	holds(t, s, key, []byte("first"))
	for _, body := range []string{"second", "first", ""} {
		wants(t, s.PutIfAbsent(t.Context(), key, []byte(body)), store.ErrExist)
		holds(t, s, key, []byte("first"))
	}
	must(t, s.PutIfAbsent(t.Context(), logKey(1), nil))
	holds(t, s, logKey(1), nil)
	wants(t, s.PutIfAbsent(t.Context(), logKey(1), []byte("an empty object is an object")), store.ErrExist)
	must(t, s.Delete(t.Context(), key))
	must(t, s.PutIfAbsent(t.Context(), key, []byte("again")))
	holds(t, s, key, []byte("again"))
}

func testPut(t *testing.T, s store.Store) {
	key := "_delta_log/_last_checkpoint"
	for _, body := range []string{"one", "three is longer", "", "4"} {
		must(t, s.Put(t.Context(), key, []byte(body)))
		holds(t, s, key, []byte(body))
	}
	wants(t, s.PutIfAbsent(t.Context(), key, nil), store.ErrExist)
	if got := list(t, s, "", ""); !slices.Equal(got, []string{key}) {
		t.Fatalf("list: got %q, want one object", got)
	}
}

func testCreate(t *testing.T, s store.Store) {
	w, err := s.Create(t.Context(), "day=1/part-1.parquet")
	must(t, err)
	_, err = w.Write([]byte("he"))
	must(t, err)
	absent(t, s, "day=1/part-1.parquet")
	_, err = w.Write(nil)
	must(t, err)
	_, err = w.Write([]byte("llo"))
	must(t, err)
	absent(t, s, "day=1/part-1.parquet")
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("list shows %q while the writer is open", got)
	}
	must(t, w.Close())
	w.Abort() // does nothing
	holds(t, s, "day=1/part-1.parquet", []byte("hello"))
	create(t, s, "part-empty.parquet")
	holds(t, s, "part-empty.parquet", nil)
	// Two writers at once do not mix.
	a, err := s.Create(t.Context(), "part-a.parquet")
	must(t, err)
	b, err := s.Create(t.Context(), "part-b.parquet")
	must(t, err)
	_, err = a.Write([]byte("aaa"))
	must(t, err)
	_, err = b.Write([]byte("bb"))
	must(t, err)
	must(t, b.Close())
	must(t, a.Close())
	holds(t, s, "part-a.parquet", []byte("aaa"))
	holds(t, s, "part-b.parquet", []byte("bb"))
}

func testAbort(t *testing.T, s store.Store) {
	for _, body := range []string{"", "some bytes"} {
		w, err := s.Create(t.Context(), "x/part-1.parquet")
		must(t, err)
		_, err = w.Write([]byte(body))
		must(t, err)
		w.Abort()
		w.Abort()
		absent(t, s, "x/part-1.parquet")
	}
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("list shows %q after an abort", got)
	}
	create(t, s, "x/part-1.parquet", "now")
	holds(t, s, "x/part-1.parquet", []byte("now"))
}

// testCreateTaken: nobody shares such a key; should it happen, nothing is overwritten in silence.
func testCreateTaken(t *testing.T, s store.Store) {
	create(t, s, "part-1.parquet", "first")
	w, err := s.Create(t.Context(), "part-1.parquet")
	if err == nil {
		_, err = w.Write([]byte("second"))
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}
	if err == nil {
		t.Fatal("a second object under one key was acknowledged")
	}
	holds(t, s, "part-1.parquet", []byte("first"))
}

func testGet(t *testing.T, s store.Store) {
	must(t, s.Put(t.Context(), "k", []byte("12345")))
	for _, c := range []struct {
		limit int64
		fits  bool
	}{{0, true}, {5, true}, {6, true}, {1 << 40, true}, {4, false}, {1, false}} {
		got, err := s.Get(t.Context(), "k", c.limit)
		if c.fits {
			must(t, err)
			if string(got) != "12345" {
				t.Fatalf("limit %d: got %q", c.limit, got)
			}
			continue
		}
		wants(t, err, store.ErrTooLarge)
	}
	absent(t, s, "missing")
	absent(t, s, "k/below")
}

func testGetRange(t *testing.T, s store.Store) {
	must(t, s.Put(t.Context(), "k", []byte("0123456789")))
	for _, c := range []struct {
		off  int64
		n    int
		want string // "" is an error
	}{
		{0, 10, "0123456789"}, {0, 1, "0"}, {9, 1, "9"}, {3, 4, "3456"}, // inside
		{9, 2, ""}, {0, 11, ""}, {10, 1, ""}, {11, 1, ""}, {1 << 40, 3, ""}, // beyond the end
	} {
		p := make([]byte, c.n)
		err := s.GetRange(t.Context(), "k", c.off, p)
		if c.want == "" {
			wants(t, err, io.ErrUnexpectedEOF)
			continue
		}
		must(t, err)
		if string(p) != c.want {
			t.Fatalf("%d bytes at %d: got %q, want %q", c.n, c.off, p, c.want)
		}
	}
	must(t, s.GetRange(t.Context(), "k", 3, nil))
	if s.GetRange(t.Context(), "k", -1, make([]byte, 1)) == nil {
		t.Fatal("a negative offset was accepted")
	}
}

func testHead(t *testing.T, s store.Store) {
	must(t, s.Put(t.Context(), "a/b", []byte("12")))
	info, err := s.Head(t.Context(), "a/b")
	must(t, err)
	for listed, err := range s.List(t.Context(), "", "") {
		must(t, err)
		if listed.Key != info.Key || listed.Size != info.Size || !listed.ModTime.Equal(info.ModTime) {
			t.Fatalf("list says %+v, head %+v", listed, info)
		}
	}
	absent(t, s, "a") // what holds an object is not an object
}

func testCopied(t *testing.T, s store.Store) {
	for _, put := range []func(context.Context, string, []byte) error{s.Put, s.PutIfAbsent} {
		must(t, s.Delete(t.Context(), "k"))
		data := []byte("abc")
		must(t, put(t.Context(), "k", data))
		data[0] = 'X'
		got, err := s.Get(t.Context(), "k", 0)
		must(t, err)
		got[1] = 'Y'
		_ = append(got[:2], 'Z')
		holds(t, s, "k", []byte("abc"))
	}
	w, err := s.Create(t.Context(), "w")
	must(t, err)
	buf := []byte("abc")
	_, err = w.Write(buf)
	must(t, err)
	copy(buf, "XYZ")
	must(t, w.Close())
	holds(t, s, "w", []byte("abc"))
}

// testListOrder compares every list with a sorted slice. The keys are those that order directory
// by directory differently from byte by byte.
func testListOrder(t *testing.T, s store.Store) {
	keys := []string{"p/a-b", "p/a.x", "p/a/b/c", "p/a/b-c", "p/a/b0", "p/a/z", "p/a0", "p/A", "p/aa/b", "p/ä", "p-/x", "p.x", "p0", "z"}
	for i, key := range keys {
		must(t, s.Put(t.Context(), key, make([]byte, i)))
	}
	sizes := map[string]int64{}
	for i, key := range keys {
		sizes[key] = int64(i)
	}
	slices.Sort(keys)
	afters := append([]string{"", "\xff", "p", "p/", "p/a", "p/a/", "p/a/b", "p/a/b/", "p/a/b/z", "p/a\xff", "p0\x00", "zz"}, keys...)
	for _, prefix := range []string{"", "p/", "p/a/", "p/a/b/", "p-/", "q/"} {
		for _, after := range afters {
			var want, got []string
			for _, key := range keys {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			for info, err := range s.List(t.Context(), prefix, after) {
				must(t, err)
				got = append(got, info.Key)
				if info.Size != sizes[info.Key] || info.ModTime.IsZero() {
					t.Fatalf("list: got %+v, want size %d and a time", info, sizes[info.Key])
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("list %q after %q:\ngot  %q\nwant %q", prefix, after, got, want)
			}
		}
	}
}

func testListStop(t *testing.T, s store.Store) {
	for v := range 5 {
		must(t, s.PutIfAbsent(t.Context(), logKey(v), nil))
	}
	seq := s.List(t.Context(), "_delta_log/", "")
	for range 2 { // a sequence may be gone through again
		n := 0
		for _, err := range seq {
			must(t, err)
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Fatalf("got %d objects, want to stop at 2", n)
		}
	}
	// A caller may use the store while it goes through a list.
	for info, err := range seq {
		must(t, err)
		must(t, s.Delete(t.Context(), info.Key))
	}
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("%q is left", got)
	}
}

func testListMissing(t *testing.T, s store.Store) {
	for _, prefix := range []string{"", "_delta_log/", "a/b/c/"} {
		if got := list(t, s, prefix, ""); len(got) > 0 {
			t.Fatalf("list of an empty store shows %q", got)
		}
	}
	must(t, s.Put(t.Context(), "file", nil))
	if got := list(t, s, "file/", ""); len(got) > 0 {
		t.Fatalf("list below an object shows %q", got)
	}
	n := 0
	for _, err := range s.List(t.Context(), "fi", "") {
		if n++; err == nil || n > 1 {
			t.Fatal("a prefix that is not a directory was accepted")
		}
	}
	if n == 0 {
		t.Fatal("a prefix that is not a directory yields nothing, want an error")
	}
}

func testListSees(t *testing.T, s store.Store) {
	var want []string
	for v := range 20 {
		must(t, s.PutIfAbsent(t.Context(), logKey(v), []byte{byte(v)}))
		want = append(want, logKey(v))
		if got := list(t, s, "_delta_log/", ""); !slices.Equal(got, want) {
			t.Fatalf("list after version %d: got %q", v, got)
		}
		if got := list(t, s, "_delta_log/", logKey(v-1)); v > 0 && !slices.Equal(got, want[v:]) {
			t.Fatalf("list after version %d: got %q", v-1, got)
		}
	}
	must(t, s.Delete(t.Context(), want[:10]...))
	if got := list(t, s, "_delta_log/", ""); !slices.Equal(got, want[10:]) {
		t.Fatalf("list after a delete: got %q", got)
	}
}

func testDelete(t *testing.T, s store.Store) {
	must(t, s.Delete(t.Context()))
	must(t, s.Delete(t.Context(), "missing", "missing/too"))
	for _, key := range []string{"a", "d/b", "d/c", "e"} {
		must(t, s.Put(t.Context(), key, []byte(key)))
	}
	must(t, s.Delete(t.Context(), "a", "missing", "d/b"))
	absent(t, s, "a")
	absent(t, s, "d/b")
	must(t, s.Delete(t.Context(), "a", "a", "d/b"))
	must(t, s.Delete(t.Context(), "d")) // names no object
	holds(t, s, "d/c", []byte("d/c"))
	if s.Delete(t.Context(), "d/c", "../x", "e") == nil {
		t.Fatal("an invalid key was accepted")
	}
	absent(t, s, "d/c")
	holds(t, s, "e", []byte("e")) // it stops at the first failure
}

// testKeys: a key is bytes; nothing in it is decoded, escaped or folded.
func testKeys(t *testing.T, s store.Store) {
	keys := []string{
		"with space", "100%", "%20", "%2e%2e/x", "a%2Fb", "a+b", "ünïcode/日本語", "day=2024-01-01/part=1",
		"name=O'Neil & Sons", "#hash", "~tilde", ".hidden", "_under", "..two", "dots...", "-", "a;b,c@d!e$f(g)[h]{i}",
		"_delta_log/_commits/x", "part.with.dots.snappy.parquet", "deep/" + strings.Repeat("d/", 20) + "x", strings.Repeat("n", 200),
	}
	if runtime.GOOS != "windows" { // whose names lack these
		keys = append(keys, "q?x=y", "a:b", "star*", `quote"`, `back\slash`, "<angle>", "tab\there", "trailing ", "line\nbreak")
	}
	for _, key := range keys {
		must(t, s.PutIfAbsent(t.Context(), key, []byte(key)))
	}
	for _, key := range keys {
		holds(t, s, key, []byte(key))
		wants(t, s.PutIfAbsent(t.Context(), key, nil), store.ErrExist)
	}
	slices.Sort(keys)
	if got := list(t, s, "", ""); !slices.Equal(got, keys) {
		t.Fatalf("list:\ngot  %q\nwant %q", got, keys)
	}
	must(t, s.Delete(t.Context(), keys...))
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("%q is left", got)
	}
}

// invoke does an operation of each kind on a key and returns the errors by name.
func invoke(ctx context.Context, s store.Store, key string) map[string]error {
	errs := map[string]error{
		"PutIfAbsent": s.PutIfAbsent(ctx, key, []byte("x")),
		"Put":         s.Put(ctx, key, []byte("x")),
		"GetRange":    s.GetRange(ctx, key, 0, make([]byte, 1)),
		"Delete":      s.Delete(ctx, key),
	}
	w, err := s.Create(ctx, key)
	if err == nil {
		err = w.Close()
	}
	errs["Create"] = err
	_, errs["Get"] = s.Get(ctx, key, 0)
	_, errs["Head"] = s.Head(ctx, key)
	return errs
}

func testInvalidKeys(t *testing.T, s store.Store) {
	for _, key := range []string{"", "/", "/abs", "a/", "a//b", ".", "..", "./a", "a/./b", "../a", "a/../b", "a/..", "nul\x00"} {
		for op, err := range invoke(t.Context(), s, key) {
			if err == nil || errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrExist) {
				t.Fatalf("%s of %q: got %v, want an error that decides nothing", op, key, err)
			}
		}
	}
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("list shows %q", got)
	}
}

func testCancelled(t *testing.T, s store.Store) {
	must(t, s.Put(t.Context(), "k", []byte("old")))
	w, err := s.Create(t.Context(), "open")
	must(t, err)
	w.Abort()
	ctx, cancel := context.WithCancel(t.Context())
	w, err = s.Create(ctx, "half")
	must(t, err)
	_, err = w.Write([]byte("half"))
	must(t, err)
	cancel()
	wants(t, w.Close(), context.Canceled)
	absent(t, s, "half")
	for _, key := range []string{"k", "new"} {
		for op, err := range invoke(ctx, s, key) {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s with a cancelled context: got %v", op, err)
			}
		}
	}
	n := 0
	for _, err := range s.List(ctx, "", "") {
		n++
		wants(t, err, context.Canceled)
	}
	if n != 1 {
		t.Fatalf("list with a cancelled context yields %d times, want one error", n)
	}
	holds(t, s, "k", []byte("old"))
	absent(t, s, "new")
}

func testBig(t *testing.T, s store.Store) {
	data := make([]byte, 9<<20+1)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	must(t, s.PutIfAbsent(t.Context(), "put", data))
	w, err := s.Create(t.Context(), "created")
	must(t, err)
	for chunk := range slices.Chunk(data, 1<<20+3) {
		_, err := w.Write(chunk)
		must(t, err)
	}
	must(t, w.Close())
	for _, key := range []string{"put", "created"} {
		holds(t, s, key, data)
		p := make([]byte, 5<<20)
		must(t, s.GetRange(t.Context(), key, 3<<20+1, p))
		if !bytes.Equal(p, data[3<<20+1:8<<20+1]) {
			t.Fatalf("range of %q differs", key)
		}
	}
}

func testProbe(t *testing.T, s store.Store) {
	for _, id := range []string{"1", "2", "1"} {
		must(t, store.Probe(t.Context(), s, id))
	}
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Fatalf("the probe left %q", got)
	}
}

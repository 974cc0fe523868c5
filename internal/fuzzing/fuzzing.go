// Package fuzzing says what every fuzz target demands of a reader: bounded memory, bounded time, the same again.
//
// That it reads a clock is right here, and in no other test: what no input may take is time, and nothing that can be
// counted stands for it. An expression that is matched by trying everything, or a list that is gone through once for
// each of its elements, asks for no memory and no request. A machine that was busy is not held against a reader: what
// took too long is done again, and is wrong if it takes too long again.
package fuzzing

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Allowance is what reading n bytes may take: memory that is taken and given back counts too.
func Allowance(n int) uint64 { return 64<<20 + 16*uint64(n) }

// Longest is how long reading an input may take: a second, and more of them under the race detector. What never ends,
// the fuzzer itself ends after ten seconds.
const Longest = pace * time.Second

// allocated is the number of bytes that the program has ever taken.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Bounded runs what reads an input of n bytes: it stays within its allowance, and within the time that there is. It is
// run again if it took longer.
func Bounded(t testing.TB, n int, read func()) {
	t.Helper()
	if took := measured(t, n, read); took <= Longest {
		return
	}
	if took := measured(t, n, read); took > Longest {
		t.Fatalf("it took %v to read %d bytes, twice, of which at most %v may be", took, n, Longest)
	}
}

// measured runs what reads an input of n bytes, within its allowance, and says how long that took.
func measured(t testing.TB, n int, read func()) time.Duration {
	t.Helper()
	before, began := allocated(), time.Now()
	read()
	took := time.Since(began)
	if bytes := allocated() - before; bytes > Allowance(n) {
		t.Fatalf("%d bytes were taken to read %d, of which at most %d may be", bytes, n, Allowance(n))
	}
	return took
}

// Read reads an input of n bytes twice, each time within the allowance, and gives what the first time gave: the second
// gives the same value, or an error of the same text.
func Read[T any](t testing.TB, n int, read func() (T, error)) (first T, err error) {
	t.Helper()
	var second T
	var again error
	Bounded(t, n, func() { first, err = read() })
	Bounded(t, n, func() { second, again = read() })
	switch {
	case (err == nil) != (again == nil), err != nil && err.Error() != again.Error():
		t.Fatalf("the first time: %v; the second time: %v", err, again)
	case err == nil && !reflect.DeepEqual(first, second):
		t.Fatalf("the first time: %#v\nthe second time: %#v", first, second)
	}
	return first, err
}

// Alone runs what works in the caller's goroutine alone: none that it started, or that one of those started, is left
// when it returns. They are known by a label that goroutines hand on, as the runtime and the fuzzer have goroutines that
// come and go.
func Alone(t testing.TB, read func()) {
	t.Helper()
	label := fmt.Sprintf("%p", new(byte))
	before := runtime.NumGoroutine()
	pprof.Do(t.Context(), pprof.Labels("reader", label), func(context.Context) { read() })
	for range 10_000 { // what has done its work may still have to end
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	if left := labelled(t, label); left != "" {
		t.Fatalf("a goroutine is left behind:\n%s", left)
	}
}

// labelled is the stacks of the goroutines that have a label of this value, "" if there are none.
func labelled(t testing.TB, value string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatalf("the goroutines: %v", err)
	}
	var out []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, strconv.Quote(value)) {
			out = append(out, stack)
		}
	}
	return strings.Join(out, "\n\n")
}

// Seeds are at most n files of the corpus whose paths below it match and that hold at most size bytes, spread over all
// that there are. The corpus is that of IDEM_CORPUS, else the one beside the project; without one there are none,
// unless everything must hold (CI=true).
func Seeds(t testing.TB, n int, size int64, matches func(path string) bool) [][]byte {
	t.Helper()
	root := corpus(t)
	if root == "" {
		return nil
	}
	var paths []string
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !matches(filepath.ToSlash(path[len(root):])) {
			return err
		}
		if info, err := e.Info(); err == nil && info.Size() <= size {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("the corpus has no such file: %v", err)
	}
	slices.Sort(paths)
	var out [][]byte
	for i := range min(n, len(paths)) {
		data, err := os.ReadFile(paths[i*len(paths)/min(n, len(paths))])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

// corpus is the directory of the corpus; "" says that there is none.
func corpus(t testing.TB) string {
	dir := os.Getenv("IDEM_CORPUS")
	if dir == "" {
		dir = filepath.Join(module(t), "..", "shared", "corpus")
	}
	_, err := os.Stat(filepath.Join(dir, "expected.jsonl"))
	if err != nil && (os.Getenv("CI") == "true" || os.Getenv("IDEM_CORPUS") != "") {
		t.Fatalf("the corpus is missing: %v", err)
	}
	if err != nil {
		return ""
	}
	return dir
}

// module is the directory of go.mod, above the one in which the test runs.
func module(t testing.TB) string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, found := os.Stat(filepath.Join(dir, "go.mod")); found == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the test: %v", err)
	return ""
}

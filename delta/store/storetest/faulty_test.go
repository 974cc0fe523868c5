package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

const first = "_delta_log/00000000000000000000.json"

// logical is a store whose clock counts up.
func logical() *store.Mem {
	n := int64(0)
	return store.NewMemClock(func() time.Time { n++; return time.Unix(n, 0) })
}

func rule(op storetest.Op, kind storetest.Kind, k int) storetest.Rule {
	return storetest.Rule{Op: op, Nth: 1, Fault: storetest.Fault{Kind: kind, K: k}}
}

func body(t *testing.T, s store.Store, key string) string {
	t.Helper()
	data, err := s.Get(t.Context(), key, 0)
	if errors.Is(err, store.ErrNotExist) {
		return "(absent)"
	}
	require.NoError(t, err)
	return string(data)
}

func upload(ctx context.Context, s store.Store, key, data string) error {
	w, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(data)); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// TestPutFaults: what the caller sees and what the store then holds.
func TestPutFaults(t *testing.T) {
	for _, c := range []struct {
		kind  storetest.Kind
		err   error
		holds string
	}{
		{storetest.FailBefore, storetest.ErrInjected, "(absent)"},
		{storetest.FailAfter, storetest.ErrInjected, "x"},
		{storetest.Timeout, context.DeadlineExceeded, "(absent)"},
		{storetest.LostAnswer, context.DeadlineExceeded, "x"},
		{storetest.LateEffect, context.DeadlineExceeded, "(absent)"},
		{storetest.Conflict, storetest.ErrConflict, "(absent)"},
		{storetest.Throttle, storetest.ErrThrottled, "(absent)"},
		{storetest.Denied, fs.ErrPermission, "(absent)"},
		{storetest.DiskFull, syscall.ENOSPC, "(absent)"},
		{storetest.TornUpload, io.ErrUnexpectedEOF, "(absent)"},
		{storetest.CrashBefore, storetest.ErrCrashed, "(absent)"},
		{storetest.CrashAfter, storetest.ErrCrashed, "x"},
	} {
		for op, put := range map[storetest.Op]func(store.Store) error{
			storetest.OpPutIfAbsent: func(s store.Store) error { return s.PutIfAbsent(t.Context(), first, []byte("x")) },
			storetest.OpPut:         func(s store.Store) error { return s.Put(t.Context(), first, []byte("x")) },
			storetest.OpClose:       func(s store.Store) error { return upload(t.Context(), s, first, "x") },
		} {
			m := logical()
			f := storetest.NewFaulty(m, rule(op, c.kind, 0))
			err := put(f)
			require.ErrorIs(t, err, c.err, "%s %s", op, c.kind)
			require.ErrorIs(t, err, storetest.ErrInjected)
			require.NotErrorIs(t, err, store.ErrExist)
			require.NotErrorIs(t, err, store.ErrNotExist)
			require.Equal(t, c.holds, body(t, m, first), "%s %s", op, c.kind)
			require.Equal(t, map[storetest.Kind]int{c.kind: 1}, f.Hits())
			last := f.Transcript()[len(f.Transcript())-1]
			require.True(t, strings.HasPrefix(last, string(op)+" "+first+" -> "), last)
			require.True(t, strings.HasSuffix(last, " ("+string(c.kind)+")"), last)
		}
	}
}

func TestDuplicate(t *testing.T) {
	m := logical()
	f := storetest.NewFaulty(m, storetest.Rule{Fault: storetest.Fault{Kind: storetest.Duplicate}})
	require.ErrorIs(t, f.PutIfAbsent(t.Context(), first, []byte("x")), store.ErrExist, "for its own success")
	require.Equal(t, "x", body(t, m, first))
	require.ErrorIs(t, upload(t.Context(), f, "part-1", "y"), store.ErrExist)
	require.Equal(t, "y", body(t, m, "part-1"))
	require.NoError(t, f.Put(t.Context(), first, []byte("z")))
	require.NoError(t, f.Delete(t.Context(), first))
	require.Equal(t, 4, f.Hits()[storetest.Duplicate])
}

func TestLateEffect(t *testing.T) {
	m := logical()
	f := storetest.NewFaulty(m, rule(storetest.OpPutIfAbsent, storetest.LateEffect, 3))
	ctx, cancel := context.WithCancel(t.Context())
	data := []byte("late")
	require.ErrorIs(t, f.PutIfAbsent(ctx, first, data), context.DeadlineExceeded)
	copy(data, "XXXX") // the caller's to use again
	cancel()           // the caller has given up
	for range 2 {
		_, err := f.Get(t.Context(), first, 0)
		require.ErrorIs(t, err, store.ErrNotExist)
	}
	require.ErrorIs(t, f.PutIfAbsent(t.Context(), first, []byte("again")), store.ErrExist)
	require.Equal(t, "late", body(t, m, first))
	require.Equal(t, []string{
		"PUT-IF-ABSENT " + first + " -> timeout (late-effect)",
		"GET " + first + " -> not found",
		"GET " + first + " -> not found",
		"late PUT-IF-ABSENT " + first + " -> ok",
		"PUT-IF-ABSENT " + first + " -> exists",
	}, f.Transcript())
}

func TestLateEffectOutlivesTheProcess(t *testing.T) {
	m := logical()
	f := storetest.NewFaulty(m, rule(storetest.OpClose, storetest.LateEffect, 100),
		storetest.Rule{Op: storetest.OpGet, Nth: 1, Fault: storetest.Fault{Kind: storetest.CrashBefore}})
	require.ErrorIs(t, upload(t.Context(), f, "part-1", "x"), context.DeadlineExceeded)
	_, err := f.Get(t.Context(), "part-1", 0)
	require.ErrorIs(t, err, storetest.ErrCrashed)
	require.Equal(t, "(absent)", body(t, m, "part-1"))
	require.Equal(t, 1, f.Land(t.Context()))
	require.Equal(t, "x", body(t, m, "part-1"))
	require.Equal(t, 0, f.Land(t.Context()))
}

func TestReadFaults(t *testing.T) {
	m := logical()
	require.NoError(t, m.Put(t.Context(), "k", []byte("12345678")))
	zeros := strings.Repeat("\x00", 8)
	for _, c := range []struct {
		kind storetest.Kind
		k    int
		get  string
		rng  string
		err  error
	}{
		{storetest.TornRead, 0, "1234", "1234\x00\x00\x00\x00", io.ErrUnexpectedEOF},
		{storetest.ShortRead, 0, "1234", "1234\x00\x00\x00\x00", nil},
		{storetest.BitFlip, 9, "10345678", "10345678", nil},
		{storetest.BitFlip, 64, "02345678", "02345678", nil}, // modulo the length
		{storetest.StaleMissing, 0, "", zeros, store.ErrNotExist},
		{storetest.LostAnswer, 0, "", zeros, context.DeadlineExceeded},
		{storetest.FailBefore, 0, "", zeros, storetest.ErrInjected},
	} {
		f := storetest.NewFaulty(m, rule(storetest.OpGet, c.kind, c.k), rule(storetest.OpGetRange, c.kind, c.k))
		data, err := f.Get(t.Context(), "k", 0)
		require.ErrorIs(t, err, c.err, c.kind)
		require.Equal(t, c.get, string(data), c.kind)
		p := make([]byte, 8)
		err = f.GetRange(t.Context(), "k", 0, p)
		require.ErrorIs(t, err, c.err, c.kind)
		require.Equal(t, c.rng, string(p), c.kind)
		require.Equal(t, 2, f.Hits()[c.kind])
		require.Equal(t, "12345678", body(t, f, "k"), "once")
	}
	f := storetest.NewFaulty(m, rule(storetest.OpHead, storetest.StaleMissing, 0))
	_, err := f.Head(t.Context(), "k")
	require.ErrorIs(t, err, store.ErrNotExist)
}

func TestListFaults(t *testing.T) {
	m := logical()
	for _, key := range []string{"d", "b", "c", "a"} { // a is the newest
		require.NoError(t, m.Put(t.Context(), key, nil))
	}
	for _, c := range []struct {
		kind storetest.Kind
		k    int
		want string
		err  error
	}{
		{storetest.None, 0, "abcd", nil},
		{storetest.StaleList, 0, "bcd", nil},
		{storetest.StaleList, 2, "bd", nil},
		{storetest.StaleList, 9, "", nil},
		{storetest.DuplicateList, 0, "aabbccdd", nil},
		{storetest.DuplicateList, 1, "abcdd", nil},
		{storetest.DuplicateList, 9, "aabbccdd", nil},
		{storetest.Timeout, 0, "", context.DeadlineExceeded},
		{storetest.FailAfter, 0, "abcd", storetest.ErrInjected},
		{storetest.CrashBefore, 0, "", storetest.ErrCrashed},
	} {
		f := storetest.NewFaulty(m, rule(storetest.OpList, c.kind, c.k))
		got, last := "", error(nil)
		for info, err := range f.List(t.Context(), "", "") {
			require.NoError(t, last, "an error ends the sequence")
			got, last = got+info.Key, err
		}
		require.Equal(t, c.want, got, "%s %d", c.kind, c.k)
		require.ErrorIs(t, last, c.err)
	}
}

func TestWriteFaults(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.DiskFull, storetest.TornUpload, storetest.FailAfter} {
		m := logical()
		f := storetest.NewFaulty(m, storetest.Rule{Op: storetest.OpWrite, Nth: 2, Fault: storetest.Fault{Kind: kind}})
		w, err := f.Create(t.Context(), "part-1")
		require.NoError(t, err)
		_, err = w.Write([]byte("x"))
		require.NoError(t, err)
		_, err = w.Write([]byte("y"))
		require.ErrorIs(t, err, storetest.ErrInjected)
		require.Error(t, w.Close(), "an upload that lost bytes never becomes visible")
		require.Equal(t, "(absent)", body(t, m, "part-1"))
		lines := f.Transcript()
		require.Len(t, lines, 3, "a write that went well has no line")
		require.True(t, strings.HasPrefix(lines[1], "WRITE part-1 -> "), lines[1])
		require.NotEqual(t, "CLOSE part-1 -> ok", lines[2])
	}
}

func TestCrashAndRestart(t *testing.T) {
	m := logical()
	f := storetest.NewFaulty(m, storetest.Rule{Op: storetest.OpPut, Key: "b", Nth: 1, Fault: storetest.Fault{Kind: storetest.CrashAfter}})
	w, err := f.Create(t.Context(), "open")
	require.NoError(t, err)
	require.NoError(t, f.Put(t.Context(), "a", nil))
	require.ErrorIs(t, f.Put(t.Context(), "b", nil), storetest.ErrCrashed)
	require.True(t, f.Crashed())
	calls := f.Calls()
	require.ErrorIs(t, f.Put(t.Context(), "c", nil), storetest.ErrCrashed)
	require.ErrorIs(t, f.Delete(t.Context(), "a"), storetest.ErrCrashed)
	_, err = f.Head(t.Context(), "a")
	require.ErrorIs(t, err, storetest.ErrCrashed)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, storetest.ErrCrashed)
	require.ErrorIs(t, w.Close(), storetest.ErrCrashed)
	for _, err := range f.List(t.Context(), "", "") {
		require.ErrorIs(t, err, storetest.ErrCrashed)
	}
	require.Equal(t, calls, f.Calls())
	f.Restart()
	require.NoError(t, f.Put(t.Context(), "b", nil))
	var left []string
	for info, err := range f.List(t.Context(), "", "") {
		require.NoError(t, err)
		left = append(left, info.Key)
	}
	require.Equal(t, []string{"a", "b"}, left)
}

func TestRules(t *testing.T) {
	fault := storetest.Fault{Kind: storetest.FailBefore}
	for _, c := range []struct {
		why  string
		rule storetest.Rule
		want string // of six puts: a/1 a/2 b/1 a/1 a/2 b/1
	}{
		{"each", storetest.Rule{Fault: fault}, "xxxxxx"},
		{"each of one kind", storetest.Rule{Op: storetest.OpPut, Fault: fault}, "xxxxxx"},
		{"none of another kind", storetest.Rule{Op: storetest.OpGet, Fault: fault}, "------"},
		{"the second that matches", storetest.Rule{Key: "a/*", Nth: 2, Fault: fault}, "-x----"},
		{"last element", storetest.Rule{Key: "1", Fault: fault}, "x-xx-x"},
		{"whole key", storetest.Rule{Key: "a/1", Fault: fault}, "x--x--"},
		{"a function", storetest.Rule{KeyMatch: func(k string) bool { return k > "a/1" }, Fault: fault}, "-xx-xx"},
		{"a number of times", storetest.Rule{Key: "1", Times: 2, Fault: fault}, "x-x---"},
		{"a kind that does not apply", storetest.Rule{Fault: storetest.Fault{Kind: storetest.StaleList}}, "------"},
		{"no kind", storetest.Rule{}, "------"},
	} {
		f := storetest.NewFaulty(logical(), c.rule)
		got := ""
		for _, key := range []string{"a/1", "a/2", "b/1", "a/1", "a/2", "b/1"} {
			if f.Put(t.Context(), key, nil) != nil {
				got += "x"
			} else {
				got += "-"
			}
		}
		require.Equal(t, c.want, got, c.why)
		require.Equal(t, strings.Count(c.want, "x"), f.Hits()[c.rule.Fault.Kind], c.why)
	}
	f := storetest.NewFaulty(logical(), storetest.Rule{Op: storetest.OpDelete, Key: "b", Fault: fault})
	require.Error(t, f.Delete(t.Context(), "a", "b"), "any of the keys")
	require.NoError(t, f.Delete(t.Context(), "a"))
	own := storetest.NewFaulty(logical(), storetest.Rule{Fault: storetest.Fault{Kind: storetest.FailBefore, Err: io.ErrNoProgress}})
	require.ErrorIs(t, own.Put(t.Context(), "a", nil), io.ErrNoProgress)
}

func TestBefore(t *testing.T) {
	m := logical()
	f := storetest.NewFaulty(m, storetest.Rule{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: storetest.Throttle}})
	var seen []string
	f.Before = func(c storetest.Call) storetest.Fault {
		seen = append(seen, fmt.Sprintf("%d %s", c.Index, c))
		switch c.Index {
		case 1:
			_ = m.Put(t.Context(), first, []byte("other")) // no lock is held
		case 2:
			return storetest.Fault{Kind: storetest.LostAnswer}
		case 4:
			return storetest.Fault{Kind: storetest.StaleList} // does not apply
		}
		return storetest.Fault{}
	}
	data, err := f.Get(t.Context(), first, 0)
	require.NoError(t, err)
	require.Equal(t, "other", string(data))
	require.ErrorIs(t, f.PutIfAbsent(t.Context(), "k", nil), context.DeadlineExceeded, "the hook comes before the rules")
	require.ErrorIs(t, f.PutIfAbsent(t.Context(), "l", nil), storetest.ErrThrottled)
	require.NoError(t, f.Delete(t.Context(), "k", "l"))
	for range f.List(t.Context(), "_delta_log/", first) {
	}
	require.Equal(t, []string{
		"1 GET " + first, "2 PUT-IF-ABSENT k", "3 PUT-IF-ABSENT l", "4 DELETE k l", "5 LIST _delta_log/ after " + first,
	}, seen)
}

func TestTranscript(t *testing.T) {
	f := storetest.NewFaulty(logical())
	require.NoError(t, upload(t.Context(), f, "part-1", "x"))
	require.NoError(t, f.PutIfAbsent(t.Context(), first, nil))
	require.Error(t, f.PutIfAbsent(t.Context(), first, nil))
	require.NoError(t, f.Put(t.Context(), "_delta_log/_last_checkpoint", nil))
	_, _ = f.Get(t.Context(), "none", 0)
	_, _ = f.Head(t.Context(), first)
	_ = f.GetRange(t.Context(), "part-1", 0, make([]byte, 2))
	for range f.List(t.Context(), "", "") {
		_, _ = f.Get(t.Context(), first, 0)
		break
	}
	for range f.List(t.Context(), "_delta_log/", "") {
	}
	w, err := f.Create(t.Context(), "part-2")
	require.NoError(t, err)
	w.Abort()
	w.Abort()
	require.NoError(t, f.Delete(t.Context(), "part-1", "part-2"))
	require.Equal(t, []string{
		"CREATE part-1 -> ok",
		"CLOSE part-1 -> ok",
		"PUT-IF-ABSENT " + first + " -> ok",
		"PUT-IF-ABSENT " + first + " -> exists",
		"PUT _delta_log/_last_checkpoint -> ok",
		"GET none -> not found",
		"HEAD " + first + " -> ok",
		"GET-RANGE part-1 -> short",
		"LIST -> 1",
		"GET " + first + " -> ok",
		"LIST _delta_log/ -> 2",
		"CREATE part-2 -> ok",
		"ABORT part-2 -> ok",
		"DELETE part-1 part-2 -> ok",
	}, f.Transcript())
	require.Equal(t, map[storetest.Op]int{
		storetest.OpCreate: 2, storetest.OpWrite: 1, storetest.OpClose: 1, storetest.OpAbort: 1, storetest.OpPutIfAbsent: 2, storetest.OpPut: 1,
		storetest.OpGet: 2, storetest.OpGetRange: 1, storetest.OpHead: 1, storetest.OpList: 2, storetest.OpDelete: 1,
	}, f.Counts())
	require.Equal(t, 14, f.Calls())
	require.Empty(t, f.Hits())
	f.Reset()
	require.Empty(t, f.Transcript())
	require.Zero(t, f.Count(storetest.OpGet))
}

// TestEveryKindHitsSomething: a kind that applies to no operation would never be tested.
func TestEveryKindHitsSomething(t *testing.T) {
	for _, kind := range storetest.Kinds() {
		require.True(t, slices.ContainsFunc(storetest.Ops(), kind.AppliesTo), kind)
	}
	require.False(t, storetest.None.AppliesTo(storetest.OpGet))
	require.False(t, storetest.FailBefore.AppliesTo(storetest.OpAbort))
}

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/idemtable/idem/delta/store"
)

const (
	racers     = 32
	raceRounds = 12
)

// testRace: of many puts of one key exactly one succeeds, the bytes are the winner's whatever
// the losers had, and a reader sees all of them or none.
func testRace(t *testing.T, s store.Store) {
	for round := range raceRounds {
		key := logKey(round)
		errs := make([]error, racers)
		bodies := make([][]byte, racers)
		seen := make([][]byte, racers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range racers {
			bodies[i] = bytes.Repeat(fmt.Appendf(nil, "racer %d\n", i), 1+100*i)
			wg.Go(func() {
				<-start
				errs[i] = s.PutIfAbsent(t.Context(), key, bodies[i])
				seen[i], _ = s.Get(t.Context(), key, 0)
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: racers %d and %d both created the object", round, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, store.ErrExist):
				t.Fatalf("round %d: racer %d: %v, want an error wrapping ErrExist", round, i, err)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody created the object", round)
		}
		holds(t, s, key, bodies[winner])
		for i, data := range seen {
			if !bytes.Equal(data, bodies[winner]) {
				t.Fatalf("round %d: racer %d then read %d bytes, the winner wrote %d", round, i, len(data), len(bodies[winner]))
			}
		}
	}
}

// testDistinctRace: writers of different keys do not disturb each other, also in a directory
// that is not there yet.
func testDistinctRace(t *testing.T, s store.Store) {
	var wg sync.WaitGroup
	errs := make([]error, racers)
	want := make([]string, racers)
	for i := range racers {
		want[i] = fmt.Sprintf("a/b/day=%02d/c-%02d", i/4, i)
		wg.Go(func() {
			w, err := s.Create(t.Context(), want[i])
			if err == nil {
				_, err = w.Write([]byte(want[i]))
				err = errors.Join(err, w.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	if got := list(t, s, "", ""); !slices.Equal(got, want) {
		t.Fatalf("list:\ngot  %q\nwant %q", got, want)
	}
	for _, key := range want {
		holds(t, s, key, []byte(key))
	}
}

// testPutNeverTorn: while a key is replaced, a reader sees one of the versions, whole.
func testPutNeverTorn(t *testing.T, s store.Store) {
	bodies := []string{strings.Repeat("a", 100), strings.Repeat("b", 70_000)}
	must(t, s.Put(t.Context(), "k", []byte(bodies[0])))
	var wg sync.WaitGroup
	var putErr error
	wg.Go(func() {
		for i := range 100 {
			if err := s.Put(t.Context(), "k", []byte(bodies[i%2])); err != nil {
				putErr = err
				return
			}
		}
	})
	for range 200 {
		got, err := s.Get(t.Context(), "k", 0)
		must(t, err)
		if !slices.Contains(bodies, string(got)) {
			t.Fatalf("read %d bytes that nobody wrote", len(got))
		}
	}
	wg.Wait()
	must(t, putErr)
}

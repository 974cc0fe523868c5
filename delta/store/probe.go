package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// probeRacers is how many puts of one key Probe makes at once.
const probeRacers = 4

// probeCleanUp bounds the removal of what a probe wrote, which is done also when ctx ended.
const probeCleanUp = 10 * time.Second

// Probe finds out whether s puts if absent: whether the second put of a key is refused and
// changes nothing, and whether of several puts at once exactly one succeeds. It costs about ten
// requests, made by a few goroutines, on two objects "_delta_log/_idem_probe.<id>…", which no
// engine reads and which it removes. id is chosen anew for each call.
//
// An error wrapping ErrUnfit is proof against the store: do not write to it. Any other error
// proves nothing.
func Probe(ctx context.Context, s Store, id string) error {
	key := logDir + "/_idem_probe." + id
	race := key + ".race"
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeCleanUp)
		defer cancel()
		// What cannot be removed is hidden, and a writer without the right to delete is welcome.
		_ = s.Delete(ctx, key, race)
	}()
	err := probeTwice(ctx, s, key)
	if err == nil {
		err = probeRace(ctx, s, race)
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s.URL(), err)
	}
	return nil
}

// probeTwice puts a key twice.
func probeTwice(ctx context.Context, s Store, key string) error {
	first, second := []byte("first "+key), []byte("second "+key)
	// A first put that is told "taken" may have been sent twice by a layer in between.
	if err := s.PutIfAbsent(ctx, key, first); err != nil && !errors.Is(err, ErrExist) {
		return err
	}
	putErr := s.PutIfAbsent(ctx, key, second)
	got, err := s.Get(ctx, key, 0)
	switch {
	case err != nil:
		return err
	case bytes.Equal(got, second):
		return fmt.Errorf("%w: a second put of a key replaced the object", ErrUnfit)
	case !bytes.Equal(got, first):
		return fmt.Errorf("%w: it returned other bytes than were put", ErrUnfit)
	case putErr == nil:
		return fmt.Errorf("%w: a second put of a key was acknowledged and dropped", ErrUnfit)
	case !errors.Is(putErr, ErrExist):
		return putErr
	}
	return nil
}

// probeRace puts a key several times at once.
func probeRace(ctx context.Context, s Store, key string) error {
	bodies := make([][]byte, probeRacers)
	errs := make([]error, probeRacers)
	var wg sync.WaitGroup
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, "racer %d %s", i, key)
		wg.Go(func() { errs[i] = s.PutIfAbsent(ctx, key, bodies[i]) })
	}
	wg.Wait()
	winners, winner := 0, -1
	for i, err := range errs {
		if err == nil {
			winners, winner = winners+1, i
		}
	}
	switch {
	case winners > 1:
		return fmt.Errorf("%w: %d of %d puts of one key at once succeeded", ErrUnfit, winners, probeRacers)
	case winners == 0:
		return fmt.Errorf("none of %d puts of one key at once succeeded: %w", probeRacers, errors.Join(errs...))
	}
	got, err := s.Get(ctx, key, 0)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, bodies[winner]) {
		return fmt.Errorf("%w: a put was acknowledged and another's bytes are there", ErrUnfit)
	}
	return nil
}

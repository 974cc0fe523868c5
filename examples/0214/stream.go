package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

const (
	streamApp     = "flights_stream"
	streamBatches = 24
)

// streamJob appends batches by tag. It begins at the first batch whenever it starts: which ones are
// written the table knows, also when the process that wrote them never came to hear of it.
func streamJob(ctx context.Context, e errand, days []*day, p *progress) error {
	dir, err := store.OpenDir(e.Table)
	if err != nil {
		return err
	}
	lossy := losesAnswers(dir, e.Life, p)
	// One goroutine and no pauses between attempts: the same life goes the same way every time.
	t, err := idem.OpenStore(ctx, lossy, idem.Options{Parallelism: 1, Clock: impatient{}})
	if err != nil {
		return err
	}
	for i, batch := range cut(flightsOf(days), streamBatches) {
		res, err := t.AppendWithTxn(ctx, known(batch, arrived), idem.Txn{AppID: streamApp, Version: int64(i)})
		if err = errors.Join(err, p.err); err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
		p.say("batch %d %d %d", i, res.Outcome, res.Version)
	}
	return nil
}

// losesAnswers is a store that answers half of the commits with a timeout although they landed, and
// a quarter with one although they did not.
func losesAnswers(dir store.Store, life uint64, p *progress) store.Store {
	w := &watched{Store: dir, p: p}
	f := storetest.NewFaulty(w)
	random := rand.New(rand.NewPCG(seed, life))
	f.Before = func(c storetest.Call) storetest.Fault {
		w.answer = "heard"
		if c.Op != storetest.OpPutIfAbsent {
			return storetest.Fault{}
		}
		switch random.IntN(4) {
		case 0, 1:
			w.answer = "lost"
			return storetest.Fault{Kind: storetest.LostAnswer}
		case 2:
			return storetest.Fault{Kind: storetest.Timeout}
		}
		return storetest.Fault{}
	}
	return f
}

// watched tells the parent of each moment at which a killed process leaves something half done.
type watched struct {
	store.Store
	p      *progress
	answer string // what becomes of the answer
}

func (w *watched) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	w.p.moment("proposed")
	err := w.Store.PutIfAbsent(ctx, key, data)
	if err == nil {
		w.p.moment("landed %s", w.answer)
	}
	return err
}

func (w *watched) Create(ctx context.Context, key string) (store.Writer, error) {
	w.p.moment("file")
	return w.Store.Create(ctx, key)
}

// impatient is a clock that does not wait.
type impatient struct{}

func (impatient) Now() time.Time { return time.Now() }

func (impatient) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// streamed is what the parent saw of the lives of the stream job.
type streamed struct {
	killed    int             // lives ended by SIGKILL
	unheard   int             // of these, between a commit and its answer
	lost      int             // answers of commits that landed
	committed map[int64]int64 // batches that a life said it committed, and the version
	skipped   int             // batches that a later life found in the table
}

// appendStreaming runs the stream job, kills it at seeded moments and starts it again, until one
// life gets to the end.
func appendStreaming(ctx context.Context, e errand, random *rand.Rand) (*streamed, error) {
	s := &streamed{committed: map[int64]int64{}}
	for e.Life = 1; ; e.Life++ {
		done, err := s.live(ctx, e, 1+random.IntN(8+int(e.Life)))
		if err != nil {
			return nil, fmt.Errorf("life %d: %w", e.Life, err)
		}
		if done {
			return s, nil
		}
	}
}

// live is one life, which ends at the given moment if it comes so far.
func (s *streamed) live(ctx context.Context, e errand, moments int) (done bool, err error) {
	c, err := start(ctx, e)
	if err != nil {
		return false, err
	}
	for {
		text, moment, ok := c.line()
		if !ok {
			return true, c.wait()
		}
		if !moment {
			if err := s.claim(text); err != nil {
				return false, errors.Join(err, c.kill())
			}
			continue
		}
		if moments--; moments == 0 {
			s.killed++
			if text == "landed heard" || text == "landed lost" {
				s.unheard++
			}
			return false, c.kill()
		}
		if text == "landed lost" {
			s.lost++
		}
		if err := c.goOn(); err != nil {
			return false, c.wait()
		}
	}
}

// claim takes what a life says of a batch. No batch may be committed twice.
func (s *streamed) claim(text string) error {
	var batch, version int64
	var outcome idem.Outcome
	if _, err := fmt.Sscanf(text, "batch %d %d %d", &batch, &outcome, &version); err != nil {
		return fmt.Errorf("the job said %q: %w", text, err)
	}
	switch outcome {
	case idem.Committed:
		if before, twice := s.committed[batch]; twice {
			return fmt.Errorf("batch %d was committed at version %d and again at %d", batch, before, version)
		}
		s.committed[batch] = version
	case idem.AlreadyApplied, idem.Superseded:
		s.skipped++
	default:
		return fmt.Errorf("batch %d ended as %s", batch, outcome)
	}
	return nil
}

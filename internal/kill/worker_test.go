//go:build unix

package kill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

const workerEnv = "IDEM_KILL_WORKER"

// spec is what a worker is told.
type spec struct {
	Table, Scratch string // directories: of the table, of ledgers and the ticks
	Seed           uint64
	Worker, Life   int
	Jobs           int
	Parquet        bool // data files and checkpoints are Parquet, and not those of the stub
}

// context carries the codec.
func (s spec) context(ctx context.Context) context.Context {
	if s.Parquet {
		return ctx
	}
	return tabletest.Codec(ctx)
}

// workerMain does the jobs of one worker, from the first, whatever an earlier life of it did.
func workerMain(text string) int {
	var s spec
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.work(s.context(context.Background()))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %d, life %d: %v\n", s.Worker, s.Life, err)
		return 1
	}
	return 0
}

func (s spec) work(ctx context.Context) error {
	time, err := openTicks(s.Scratch + "/ticks")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(ledgerPath(s.Scratch, s.Worker, s.Life), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	b := &book{file: f, tell: os.Stdout, time: time}
	table, err := idem.Open(ctx, s.Table, idem.Options{Parallelism: 1})
	if err != nil {
		return err
	}
	for _, j := range jobsOf(s.Seed, s.Worker, s.Jobs) {
		for again := true; again; {
			if again, err = b.attempt(ctx, table, j); err != nil {
				return fmt.Errorf("job %d, %s: %w", j.n, j.verb, err)
			}
		}
	}
	return nil
}

// attempt makes one call between two lines. It tells whether the call is to be made again.
func (b *book) attempt(ctx context.Context, table *idem.Table, j *job) (bool, error) {
	if err := b.write(line{Job: j.n, Begin: true}); err != nil {
		return false, err
	}
	outcome, version, read, err := j.do(ctx, table)
	switch {
	case err == nil:
		return false, b.write(line{Job: j.n, Outcome: outcome.String(), Version: version, Read: read})
	case errors.Is(err, idem.ErrConflict):
		return true, b.write(line{Job: j.n, Outcome: conflict})
	}
	return false, err
}

const conflict = "conflict"

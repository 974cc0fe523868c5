//go:build unix

package kill_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// verb is what a job of a worker does.
type verb string

const (
	appends  verb = "append"
	replaces verb = "replace"
	merges   verb = "merge"
	deletes  verb = "delete"
	reads    verb = "read"

	optimizes   verb = "optimize"
	checkpoints verb = "checkpoint"
	vacuums     verb = "vacuum"
)

// tagged tells whether a verb changes rows, and carries a tag.
func (v verb) tagged() bool {
	return v == appends || v == replaces || v == merges || v == deletes
}

// job is one call of one worker. Every process that does it gives the same rows and the same tag.
type job struct {
	worker, n int
	verb      verb
	rows      []tabletest.Row
	slice     string // of replaces and deletes
	args      []any
	in        func(tabletest.Row) bool
}

func appOf(worker int) string { return fmt.Sprintf("worker-%02d", worker) }

func (j *job) txn() idem.Txn { return idem.Txn{AppID: appOf(j.worker), Version: int64(j.n)} }

// jobsOf are the jobs of one worker. Rows that are appended have ids of the worker's own, slices are
// shared by a few workers, and the keys that are merged by all.
func jobsOf(seed uint64, worker, n int) []*job {
	dice := rand.New(rand.NewPCG(seed, uint64(worker)))
	var out []*job
	for i := range n {
		j := &job{worker: worker, n: i, verb: pick(dice, worker)}
		switch j.verb {
		case appends:
			for k := range 1 + dice.IntN(3) {
				j.rows = append(j.rows, row(fmt.Sprint("a", worker%3), ownID(worker, i, k), 1, dice.Int64N(100)))
			}
		case replaces:
			day := fmt.Sprint("r", worker%4)
			j.slice, j.args, j.in = "day = ?", []any{day}, func(r tabletest.Row) bool { return r.Day == day }
			for k := range 1 + dice.IntN(3) {
				j.rows = append(j.rows, row(day, 1000+int64(100*(worker%4)+k), int64(i), int64(worker)))
			}
		case merges:
			for _, id := range dice.Perm(8)[:1+dice.IntN(3)] {
				j.rows = append(j.rows, row(fmt.Sprint("m", id%2), int64(id), 1+dice.Int64N(1000), dice.Int64N(12)-1))
			}
		case deletes:
			from := ownID(dice.IntN(workers), dice.IntN(n), 0)
			to := from + 10
			j.slice, j.args, j.in = "id >= ? AND id < ?", []any{from, to}, func(r tabletest.Row) bool { return r.ID >= from && r.ID < to }
		}
		out = append(out, j)
	}
	return out
}

func ownID(worker, n, k int) int64 { return int64(1_000_000 + worker*10_000 + n*10 + k) }

func pick(dice *rand.Rand, worker int) verb {
	kinds := []verb{appends, appends, appends, merges, merges, replaces, replaces, deletes, reads, reads}
	if worker%8 == 0 { // those that look after the table
		kinds = append(kinds, optimizes, optimizes, optimizes, checkpoints, checkpoints, vacuums, vacuums)
	}
	return kinds[dice.IntN(len(kinds))]
}

// do makes the call and gives its outcome, the version, and of a read the digest of the rows.
func (j *job) do(ctx context.Context, t *idem.Table) (outcome idem.Outcome, version int64, read string, err error) {
	var rows array.RecordReader = tabletest.Again(memory.DefaultAllocator, 0, j.rows...)
	defer rows.Release()
	var res *idem.Result
	switch j.verb {
	case appends:
		res, err = t.AppendWithTxn(ctx, rows, j.txn())
	case replaces:
		res, err = t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: j.slice, Args: j.args, Txn: j.txn()})
	case merges:
		res, err = t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "v < 0", Txn: j.txn()})
	case deletes:
		res, err = t.Delete(ctx, idem.Delete{Where: j.slice, Args: j.args, Txn: j.txn()})
	case reads:
		version, read, err = readNewest(ctx, t)
		return idem.Unchanged, version, read, err
	default:
		return j.keep(ctx, t)
	}
	if err != nil {
		return 0, 0, "", err
	}
	return res.Outcome, res.Version, "", nil
}

// keep looks after the table.
func (j *job) keep(ctx context.Context, t *idem.Table) (idem.Outcome, int64, string, error) {
	switch j.verb {
	case optimizes:
		res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
		if err != nil {
			return 0, 0, "", err
		}
		return res.Outcome, res.Version, "", nil
	case checkpoints:
		res, err := maintain.Checkpoint(ctx, t)
		if err != nil {
			return 0, 0, "", err
		}
		return res.Outcome, res.Version, "", nil
	}
	res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
	if err != nil {
		return 0, 0, "", err
	}
	return res.Outcome, res.Version, "", nil
}

func readNewest(ctx context.Context, t *idem.Table) (int64, string, error) {
	version, err := t.Refresh(ctx)
	if err != nil {
		return 0, "", err
	}
	at, err := t.At(ctx, version)
	if err != nil {
		return 0, "", err
	}
	rows, err := tabletest.Scan(ctx, at)
	return version, digestOf(rows), err
}

// digestOf tells multisets of rows apart.
func digestOf(rows tabletest.Rows) string {
	lines := make([]string, 0, len(rows))
	for r, n := range rows {
		lines = append(lines, fmt.Sprintf("%d %s", n, r))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// apply does on a model what the call does to the rows of a table.
func (j *job) apply(m *tabletest.Model) {
	switch j.verb {
	case appends:
		m.Append(j.rows...)
	case replaces:
		m.Replace(j.in, j.rows...)
	case merges:
		m.Merge(negative, j.rows...)
	case deletes:
		m.Delete(j.in)
	}
}

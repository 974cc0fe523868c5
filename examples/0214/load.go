package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/idemtable/idem"
)

// print is the fingerprint of the table as it stands in the directory, every row read.
func (n *night) print(ctx context.Context) (*idem.Print, error) {
	return n.table.Fingerprint(ctx, idem.Fingerprint{Keys: businessKey, Sums: measures, Verify: true})
}

// holds compares the table with flights as they were known at a stage: rows, keys and sums.
func (n *night) holds(ctx context.Context, flights []*flight, s stage) (*idem.Print, error) {
	p, err := n.print(ctx)
	if err != nil {
		return nil, err
	}
	want := int64(len(flights))
	err = errors.Join(expect("rows", p.Rows, want), expect("keys", p.Keys, want))
	for i, sum := range sums(flights, s) {
		err = errors.Join(err, expect("sum", p.Sums[i].String(), sum))
	}
	return p, err
}

// appendTwice is step a: the day is appended in chunks, the process dies after some of them, and is
// run again.
func (n *night) appendTwice(ctx context.Context) error {
	chunks := cut(n.worst.flights, naiveChunks)
	survive := 1 + rand.New(rand.NewPCG(seed, 1)).IntN(len(chunks)-1)
	twice := int64(len(slices.Concat(chunks[:survive]...)))
	first := n.table.Version() + 1
	job := errand{Job: "naive", Table: n.place, Data: n.data, From: n.worst.date, To: n.worst.date}
	for _, kill := range []int{survive, 0} {
		if err := appendNaively(ctx, job, kill); err != nil {
			return err
		}
	}
	p, err := n.print(ctx)
	if err != nil {
		return err
	}
	found, err := n.table.Duplicates(ctx, idem.Duplicates{On: businessKey})
	if err != nil {
		return err
	}
	day := int64(len(n.worst.flights))
	n.say("a", "Append", "%s killed after %d of %d chunks and run again: no error, %s, and the fingerprint says %s rows, %s keys: %s rows are in twice",
		n.worst, survive, len(chunks), versions(first, n.table.Version()), grouped(p.Rows), grouped(p.Keys), grouped(found.Extra))
	return errors.Join(
		expect("rows", p.Rows, day+twice), expect("keys", p.Keys, day), expect("rows in twice", found.Extra, twice),
		expect("the grain", p.Grain(), false), expect("commits", n.table.Version()-first+1, int64(survive+len(chunks))))
}

// replaceDay makes a day of the table equal to its flights.
func replaceDay(ctx context.Context, t *idem.Table, d *day, s stage) (*idem.Result, error) {
	return t.ReplaceWhere(ctx, known(d.flights, s), idem.ReplaceWhere{
		Where: "day = ?", Args: []any{d.date},
		AllowEmpty: len(d.flights) == 0, // the file is there and says that nobody flew
	})
}

// repair is step b: the day is replaced by what the source has, in one commit.
func (n *night) repair(ctx context.Context) error {
	before, err := n.print(ctx)
	if err != nil {
		return err
	}
	version := n.table.Version()
	res, err := replaceDay(ctx, n.table, n.worst, scheduled)
	if err != nil {
		return err
	}
	p, err := n.holds(ctx, n.worst.flights, scheduled)
	if err != nil {
		return err
	}
	n.say("b", "ReplaceWhere", "%s repaired: %s, %s rows, %s keys", n.worst, res, grouped(p.Rows), grouped(p.Keys))
	return errors.Join(
		expect("outcome", res.Outcome, idem.Committed), expect("version", n.table.Version(), version+1),
		expect("inserted", res.Inserted, p.Rows), expect("deleted", res.Deleted, before.Rows))
}

// backfill is step c: the schedule of every day, by the same loop, twice.
func (n *night) backfill(ctx context.Context) error {
	full := int64(0) // days to be written: those with flights, but for the one that was repaired
	for _, d := range n.days {
		if len(d.flights) > 0 && d != n.worst {
			full++
		}
	}
	for _, committed := range []int64{full, 0} {
		from := n.table.Version() + 1
		outcomes := map[idem.Outcome]int64{}
		inserted := int64(0)
		for _, d := range n.days {
			res, err := replaceDay(ctx, n.table, d, scheduled)
			if err != nil {
				return fmt.Errorf("day %s: %w", d, err)
			}
			outcomes[res.Outcome]++
			inserted += res.Inserted
		}
		p, err := n.holds(ctx, n.flights, scheduled)
		if err != nil {
			return err
		}
		n.say("c", "ReplaceWhere", "%d days backfilled: %d committed, %d unchanged, %s rows inserted, %s, %s rows, %s keys", len(n.days),
			outcomes[idem.Committed], outcomes[idem.Unchanged], grouped(inserted), versions(from, n.table.Version()), grouped(p.Rows), grouped(p.Keys))
		err = errors.Join(
			expect("committed days", outcomes[idem.Committed], committed),
			expect("unchanged days", outcomes[idem.Unchanged], int64(len(n.days))-committed),
			expect("versions made", n.table.Version()-from+1, committed))
		if err != nil {
			return err
		}
	}
	return nil
}

// deliveries is the number of merges in which the change feed comes in.
const deliveries = 4

// merge merges changes: the newest of each flight stays.
func merge(ctx context.Context, t *idem.Table, changes []change) (*idem.Result, error) {
	return t.Merge(ctx, rows(changes), idem.Merge{On: businessKey, Newer: []string{"updated_at"}})
}

// mergeLateChanges is step d: departures and arrivals, each twice and in any order; then all of it
// again in another order.
func (n *night) mergeLateChanges(ctx context.Context) error {
	book := ledger{}
	for _, f := range n.flights {
		book[f] = f.at[scheduled]
	}
	for again := range 2 {
		batches := delivery(n.flights, rand.New(rand.NewPCG(seed, uint64(10+again))), deliveries)
		from := n.table.Version() + 1
		var sum tally
		outcomes := map[idem.Outcome]int{}
		for i, batch := range batches {
			res, want, err := n.mergeOne(ctx, book, batch)
			if err != nil {
				return fmt.Errorf("merge %d: %w", i, err)
			}
			outcomes[res.Outcome]++
			sum.add(want)
		}
		if err := sameAsFiles(ctx, n.table, n.want); err != nil {
			return err
		}
		p, err := n.holds(ctx, n.flights, arrived)
		if err != nil {
			return err
		}
		n.say("d", "Merge", "%s late changes in any order, %d merges: %d committed, %d unchanged, %s rows updated, %s older, %s, %s rows: what the files say",
			grouped(sum.read), len(batches), outcomes[idem.Committed], outcomes[idem.Unchanged], grouped(sum.updated), grouped(sum.dropped+sum.older+sum.ties),
			versions(from, n.table.Version()), grouped(p.Rows))
		if again == 1 {
			return errors.Join(expect("updated", sum.updated, 0), expect("committed", outcomes[idem.Committed], 0))
		}
	}
	return nil
}

// mergeOne merges a batch and compares what was done with the ledger.
func (n *night) mergeOne(ctx context.Context, book ledger, batch []change) (*idem.Result, tally, error) {
	res, err := merge(ctx, n.table, batch)
	if err != nil {
		return nil, tally{}, err
	}
	want := book.merge(batch)
	outcome := idem.Committed
	if want.updated == 0 {
		outcome = idem.Unchanged
	}
	return res, want, errors.Join(
		expect("outcome", res.Outcome, outcome), expect("read", res.RowsRead, want.read),
		expect("dropped in the source", res.Identical+res.Older, want.dropped), expect("inserted", res.Inserted, 0),
		expect("updated", res.Updated, want.updated), expect("older", res.SkippedOlder, want.older), expect("ties", res.Ties, want.ties))
}

// streamBatches is step e: the last third of the days is taken out and appended again in batches,
// by a process that is killed again and again over a store that loses answers.
func (n *night) streamBatches(ctx context.Context) error {
	whole, err := n.print(ctx)
	if err != nil {
		return err
	}
	days := n.days[n.streamFrom():]
	list := flightsOf(days)
	gone, err := n.table.Delete(ctx, idem.Delete{Where: "day >= ?", Args: []any{days[0].date}})
	if err != nil {
		return err
	}
	if err := expect("deleted", gone.Deleted, int64(len(list))); err != nil {
		return err
	}
	job := errand{Job: "stream", Table: n.place, Data: n.data, From: days[0].date, To: days[len(days)-1].date}
	seen, err := appendStreaming(ctx, job, rand.New(rand.NewPCG(seed, 20)))
	if err != nil {
		return err
	}
	if err := n.exactlyOnce(ctx, seen, list, gone.Version); err != nil {
		return err
	}
	p, err := n.print(ctx)
	if err != nil {
		return err
	}
	n.say("e", "AppendWithTxn", "%s rows taken out and appended in %d batches: %d times killed (%d of them between commit and answer), %d answers lost, %d batches found written, %d commits, %s, %s rows: the same fingerprint",
		grouped(gone.Deleted), len(cut(list, streamBatches)), seen.killed, seen.unheard, seen.lost, seen.skipped,
		n.table.Version()-gone.Version, versions(gone.Version+1, n.table.Version()), grouped(p.Rows))
	return expect("fingerprint", p.String(), whole.String())
}

// streamFrom is the first of the days of step e: the last third, and at least one flight.
func (n *night) streamFrom() int {
	from := len(n.days) - (len(n.days)+2)/3
	for from > 0 && len(flightsOf(n.days[from:])) == 0 {
		from--
	}
	return from
}

// exactlyOnce holds the log against the batches: one commit for each, at the version that was
// claimed, and none else.
func (n *night) exactlyOnce(ctx context.Context, seen *streamed, list []*flight, after int64) error {
	batches := int64(len(cut(list, streamBatches)))
	newest, err := n.table.Refresh(ctx)
	if err != nil {
		return err
	}
	err = expect("commits", newest-after, batches)
	for batch, version := range seen.committed {
		err = errors.Join(err, expect(fmt.Sprintf("version of batch %d", batch), version, after+1+batch))
	}
	return err
}

// runTwice is step f: a day is lost, and the whole job is run twice.
func (n *night) runTwice(ctx context.Context) error {
	whole, err := n.print(ctx)
	if err != nil {
		return err
	}
	lost, err := n.table.Delete(ctx, idem.Delete{Where: "day = ?", Args: []any{n.worst.date}})
	if err != nil {
		return err
	}
	var runs []string
	diff, err := idem.RunTwice(ctx, n.table, func(ctx context.Context, t *idem.Table) error {
		outcomes, err := n.wholeJob(ctx, t)
		runs = append(runs, outcomes)
		return err
	})
	if err != nil {
		return err
	}
	if err := n.isFinished(ctx, whole); err != nil {
		return err
	}
	n.say("f", "RunTwice", "%s rows lost by mistake; first run: %s; second run: %s; %s", grouped(lost.Deleted), runs[0], runs[1],
		versions(lost.Version+1, n.table.Version()))
	fmt.Fprintf(n.out, "table: %s\n%s\n", n.place, diff)
	return errors.Join(
		expect("rows before", diff.Before.Rows, whole.Rows-int64(len(n.worst.flights))),
		expect("digest after the first run", diff.First.Digest, whole.Digest),
		expect("digest after the second run", diff.Second.Digest, whole.Digest),
		expect("the difference", diff.String(), "diff: 0 rows"),
		expect("versions made", n.table.Version()-lost.Version, 1))
}

// wholeJob does what the night's jobs do: the day, the late changes, the last batch of the stream.
func (n *night) wholeJob(ctx context.Context, t *idem.Table) (string, error) {
	day, err := replaceDay(ctx, t, n.worst, arrived)
	if err != nil {
		return "", err
	}
	feed := slices.Concat(delivery(n.flights, rand.New(rand.NewPCG(seed, 30)), 1)...)
	merged, err := merge(ctx, t, feed)
	if err != nil {
		return "", err
	}
	batches := cut(flightsOf(n.days[n.streamFrom():]), streamBatches)
	last := len(batches) - 1
	appended, err := t.AppendWithTxn(ctx, known(batches[last], arrived), idem.Txn{AppID: streamApp, Version: int64(last)})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s, %s", day.Outcome, merged.Outcome, appended.Outcome), nil
}

// isFinished opens the table as a stranger would and compares all of it.
func (n *night) isFinished(ctx context.Context, whole *idem.Print) error {
	t, err := idem.Open(ctx, n.place, idem.Options{})
	if err != nil {
		return err
	}
	n.table = t
	p, err := n.holds(ctx, n.flights, arrived)
	if err != nil {
		return err
	}
	if err := expect("fingerprint", p.String(), whole.String()); err != nil {
		return err
	}
	return sameAsFiles(ctx, t, n.want)
}

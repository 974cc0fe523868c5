package idem_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// behaviour is what happens when a write is repeated or raced. Its name is the behaviour; others
// says what Spark 4.1 and delta-rs 1.6 were seen to do, where they differ from idem.
type behaviour struct {
	name   string
	others string

	have  []order                                  // rows of the table before
	prop  []string                                 // properties of the table: name, value
	setup func(f *fixture)                         // more that happened before
	race  func(t *testing.T, f, other *idem.Table) // lands just before the call's commit
	fault []storetest.Rule

	run  func(ctx context.Context, t *idem.Table) (*idem.Result, error)
	want idem.Outcome // 0: an error
	err  error
	says []string
	rows []string
	made int64 // versions that the call itself made

	check func(t *testing.T, res *idem.Result)
}

func (b behaviour) test(t *testing.T) {
	f := newFixture(t, b.prop...)
	if len(b.have) > 0 {
		_, err := f.table.Append(t.Context(), rowsOf(b.have...), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	if b.setup != nil {
		b.setup(f)
	}
	_, err := f.table.Refresh(t.Context())
	require.NoError(t, err)
	before := f.other().Version()
	if len(b.fault) > 0 {
		f.store.Reset(b.fault...)
	}
	if b.race != nil {
		f.raced(func(other *idem.Table) {
			b.race(t, f.table, other)
			before = f.other().Version()
		})
	}
	res, err := b.run(t.Context(), f.table)
	f.store.Reset()
	f.store.Before = nil
	if b.err != nil {
		require.ErrorIs(t, err, b.err, b.others)
		classified(t, err)
		for _, s := range b.says {
			require.ErrorContains(t, err, s)
		}
	} else {
		require.NoError(t, err, b.others)
		require.Equal(t, b.want, res.Outcome, b.others)
	}
	require.Equal(t, before+b.made, f.other().Version(), "versions made")
	require.ElementsMatch(t, b.rows, f.rows(), b.others)
	if b.check != nil {
		b.check(t, res)
	}
}

func behaviours(t *testing.T, list []behaviour) {
	for _, b := range list {
		t.Run(b.name, b.test)
	}
}

// The calls that the tables below repeat and race.

func appendRows(list ...order) func(context.Context, *idem.Table) (*idem.Result, error) {
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Append(ctx, rowsOf(list...), idem.Append{Reason: "test"})
	}
}

func appendTagged(app string, version int64, list ...order) func(context.Context, *idem.Table) (*idem.Result, error) {
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rowsOf(list...), idem.Txn{AppID: app, Version: version})
	}
}

func replaceSlice(where string, r idem.ReplaceWhere, list ...order) func(context.Context, *idem.Table) (*idem.Result, error) {
	r.Where = where
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rowsOf(list...), r)
	}
}

func replaceAll(r idem.ReplaceAll, list ...order) func(context.Context, *idem.Table) (*idem.Result, error) {
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rowsOf(list...), r)
	}
}

func mergeByID(m idem.Merge, list ...order) func(context.Context, *idem.Table) (*idem.Result, error) {
	if m.On == nil {
		m.On = []string{"id"}
	}
	if m.Newer == nil && !m.Unguarded {
		m.Newer = []string{"seq"}
	}
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Merge(ctx, rowsOf(list...), m)
	}
}

func deleteWhere(where string) func(context.Context, *idem.Table) (*idem.Result, error) {
	return func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Delete(ctx, idem.Delete{Where: where})
	}
}

// wins makes a call the winner of a race.
func wins(run func(context.Context, *idem.Table) (*idem.Result, error)) func(*testing.T, *idem.Table, *idem.Table) {
	return func(t *testing.T, _, other *idem.Table) {
		res, err := run(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
	}
}

// before makes a call happen first.
func before(runs ...func(context.Context, *idem.Table) (*idem.Result, error)) func(*fixture) {
	return func(f *fixture) {
		for _, run := range runs {
			_, err := run(f.t.Context(), f.table)
			require.NoError(f.t, err)
		}
	}
}

var (
	r1, r2, r3 = order{"a", 1, 1, "x"}, order{"a", 2, 1, "y"}, order{"b", 3, 1, "z"}
	r1b        = order{"a", 1, 2, "X"}
)

func TestRepeatedAppendWithATag(t *testing.T) {
	behaviours(t, []behaviour{
		{name: "same version again", others: "delta-rs appends again", setup: before(appendTagged("job", 5, r1)),
			run: appendTagged("job", 5, r1), want: idem.AlreadyApplied, rows: []string{"a/1/1/x"}},
		{name: "other rows, same version", others: "Spark loses them in silence, delta-rs appends", setup: before(appendTagged("job", 5, r1)),
			run: appendTagged("job", 5, r2), want: idem.AlreadyApplied, rows: []string{"a/1/1/x"}},
		{name: "lower version", others: "delta-rs appends, and the record goes back to 4", setup: before(appendTagged("job", 5, r1)),
			run: appendTagged("job", 4, r2), want: idem.Superseded, rows: []string{"a/1/1/x"},
			check: func(t *testing.T, res *idem.Result) { require.EqualValues(t, 5, res.Recorded) }},
		{name: "empty input commits the tag", setup: before(appendTagged("job", 7)),
			run: appendTagged("job", 7, r1), want: idem.AlreadyApplied},
		{name: "a plain append of nothing makes no version", others: "delta-rs commits an empty version",
			run: appendRows(), want: idem.Unchanged},
		{name: "after RESTORE to before it", others: "Spark skips in silence and the rows stay away; delta-rs appends",
			setup: func(f *fixture) { before(appendTagged("job", 1, r1))(f); f.restore(0) },
			run:   appendTagged("job", 1, r1), err: idem.ErrRestored, says: []string{"job@1", "Reapply", "RewindTxn"}},
		{name: "two at once, same tag", others: "both give a conflict whose advice makes the caller append twice",
			race: wins(appendTagged("job", 1, r1)), run: appendTagged("job", 1, r1), want: idem.AlreadyApplied, rows: []string{"a/1/1/x"}},
		{name: "two at once, the winner has a lower version", others: "both refuse",
			race: wins(appendTagged("job", 1, r1)), run: appendTagged("job", 2, r2), want: idem.Committed, made: 1, rows: []string{"a/1/1/x", "a/2/1/y"}},
		{name: "two at once, other app", race: wins(appendTagged("one", 1, r1)), run: appendTagged("two", 1, r2),
			want: idem.Committed, made: 1, rows: []string{"a/1/1/x", "a/2/1/y"}},
		{name: "the table forgets tags after a while, and the result says so", others: "both append again without a word",
			prop: []string{"delta.setTransactionRetentionDuration", "interval 30 days"}, run: appendTagged("job", 1, r1),
			want: idem.Committed, made: 1, rows: []string{"a/1/1/x"},
			check: func(t *testing.T, res *idem.Result) { require.EqualValues(t, 30*24, res.TxnRetention.Hours()) }},
		{name: "negative version", others: "delta-rs writes it", run: appendTagged("job", -1, r1), err: idem.ErrInput, says: []string{"-1"}},
		{name: "empty app id", others: "both write it", run: appendTagged("", 1, r1), err: idem.ErrInput, says: []string{"AppID"}},
		{name: "an overwrite whose tag is recorded", others: "delta-rs overwrites", setup: before(appendTagged("job", 1, r1)),
			run: replaceAll(idem.ReplaceAll{Txn: idem.Txn{AppID: "job", Version: 1}}, r2), want: idem.AlreadyApplied, rows: []string{"a/1/1/x"}},
		{name: "a merge whose tag is recorded", others: "delta-rs merges again", setup: before(appendTagged("job", 1, r1)),
			run: mergeByID(idem.Merge{Txn: idem.Txn{AppID: "job", Version: 1}}, r1b), want: idem.AlreadyApplied, rows: []string{"a/1/1/x"}},
	})
}

func TestATagIsAlwaysDated(t *testing.T) {
	f := newFixture(t)
	before(appendTagged("job", 1, r1))(f)
	txn, ok := f.other().Snapshot().Txn("job")
	require.True(t, ok)
	require.NotNil(t, txn.LastUpdated, "delta-rs leaves lastUpdated out, and such a tag never expires")
}

func TestRepeatedReplacementOfASlice(t *testing.T) {
	have := []order{r1, r2, r3}
	kept := []string{"a/1/1/x", "a/2/1/y", "b/3/1/z"}
	behaviours(t, []behaviour{
		{name: "rows where the predicate is NULL are kept", have: []order{r1, {"a", 2, -1, "y"}}, run: replaceSlice("seq >= 1", idem.ReplaceWhere{}, order{"a", 1, 9, "n"}),
			want: idem.Committed, made: 1, rows: []string{"a/1/9/n", "a/2/NULL/y"}},
		{name: "rows whose partition is NULL are kept", have: []order{r1, {"", 2, 1, "y"}}, run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, order{"a", 1, 9, "n"}),
			want: idem.Committed, made: 1, rows: []string{"a/1/9/n", "NULL/2/1/y"}},
		{name: "same input again", others: "both rewrite the slice in a new version", have: have, run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, r2, r1),
			want: idem.Unchanged, rows: kept},
		{name: "empty input", others: "both delete the slice", have: have, run: replaceSlice("day = 'a'", idem.ReplaceWhere{}),
			err: idem.ErrInput, says: []string{"AllowEmpty"}, rows: kept},
		{name: "empty input into a slice that is empty", others: "delta-rs commits an empty version", have: have,
			run: replaceSlice("day = 'nosuch'", idem.ReplaceWhere{AllowEmpty: true}), want: idem.Unchanged, rows: kept},
		{name: "the predicate true", others: "both delete the whole table", have: have, run: replaceSlice("true", idem.ReplaceWhere{AllowEmpty: true}),
			err: idem.ErrInput, says: []string{"ReplaceAll"}, rows: kept},
		{name: "the predicate 1=1", others: "both delete the whole table", have: have, run: replaceSlice("1 = 1", idem.ReplaceWhere{AllowEmpty: true}),
			err: idem.ErrInput, says: []string{"ReplaceAll"}, rows: kept},
		{name: "rand() < 0.5", have: have, run: replaceSlice("rand() < 0.5 AND id > 0", idem.ReplaceWhere{}, r1), err: idem.ErrInput, says: []string{"rand"}, rows: kept},
		{name: "unknown column", have: have, run: replaceSlice("dai = 'a'", idem.ReplaceWhere{}, r1), err: idem.ErrInput, says: []string{"dai", `"day"`}, rows: kept},
		{name: "no predicate", have: have, run: replaceSlice("", idem.ReplaceWhere{}, r1), err: idem.ErrInput, says: []string{"ReplaceAll"}, rows: kept},
		{name: "an incoming row outside", others: "neither counts the rows; Spark gives no row number", have: have, run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, r1, r3),
			err: idem.ErrInput, says: []string{"1 of 2 rows", "row 2", `day="b"`}, rows: kept},
		{name: "an incoming row with NULL in the predicate's column", have: have, run: replaceSlice("seq < 5", idem.ReplaceWhere{}, order{"a", 1, -1, "x"}),
			err: idem.ErrInput, says: []string{"row 1", "seq=NULL"}, rows: kept},
		{name: "first write to a new table, a row outside", others: "Spark accepts it, and refuses the rerun", run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, r3),
			err: idem.ErrInput, says: []string{`day="b"`}},
		{name: "two at once, same slice", others: "both refuse the second", have: have, race: wins(replaceSlice("day = 'a'", idem.ReplaceWhere{}, r1b)),
			run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, order{"a", 9, 9, "n"}), want: idem.Committed, made: 1, rows: []string{"a/9/9/n", "b/3/1/z"}},
		{name: "two at once, slice empty before", others: "both refuse the second", race: wins(replaceSlice("day = 'a'", idem.ReplaceWhere{}, r1)),
			run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, r2), want: idem.Committed, made: 1, rows: []string{"a/2/1/y"}},
		{name: "two at once, other slices, partition column", have: have, race: wins(replaceSlice("day = 'b'", idem.ReplaceWhere{}, order{"b", 3, 2, "Z"})),
			run: replaceSlice("day = 'a'", idem.ReplaceWhere{}, r1), want: idem.Committed, made: 1, rows: []string{"a/1/1/x", "b/3/2/Z"},
			check: func(t *testing.T, res *idem.Result) { require.Equal(t, 2, res.Attempts, "rebased, not redone") }},
		{name: "two at once, other slices, data column, disjoint files", others: "Spark refuses", setup: before(appendRows(r1), appendRows(order{"a", 100, 1, "h"})),
			race: wins(replaceSlice("id >= 50", idem.ReplaceWhere{}, order{"a", 101, 1, "H"})),
			run:  replaceSlice("id < 50", idem.ReplaceWhere{}, r2), want: idem.Committed, made: 1, rows: []string{"a/2/1/y", "a/101/1/H"}},
	})
}

func TestRepeatedReplacementOfTheTable(t *testing.T) {
	have := []order{r1, r2}
	behaviours(t, []behaviour{
		{name: "same rows again", others: "both rewrite the table", have: have, run: replaceAll(idem.ReplaceAll{}, r2, r1), want: idem.Unchanged, rows: []string{"a/1/1/x", "a/2/1/y"}},
		{name: "empty input", others: "both empty the table", have: have, run: replaceAll(idem.ReplaceAll{}), err: idem.ErrInput, says: []string{"AllowEmpty"}, rows: []string{"a/1/1/x", "a/2/1/y"}},
		{name: "two at once, empty table", others: "delta-rs commits both: rows doubled", race: wins(replaceAll(idem.ReplaceAll{}, r1)),
			run: replaceAll(idem.ReplaceAll{}, r1), want: idem.Unchanged, rows: []string{"a/1/1/x"}},
		{name: "two at once, empty table, other rows", others: "delta-rs keeps both", race: wins(replaceAll(idem.ReplaceAll{}, r1)),
			run: replaceAll(idem.ReplaceAll{}, r2), want: idem.Committed, made: 1, rows: []string{"a/2/1/y"}},
		{name: "two at once, table with data", have: have, race: wins(replaceAll(idem.ReplaceAll{}, r1b)),
			run: replaceAll(idem.ReplaceAll{}, r3), want: idem.Committed, made: 1, rows: []string{"b/3/1/z"}},
		{name: "an append commits while the overwrite waits", others: "delta-rs keeps the appended rows", have: have, race: wins(appendRows(r3)),
			run: replaceAll(idem.ReplaceAll{}, r1b), want: idem.Committed, made: 1, rows: []string{"a/1/2/X"}},
		{name: "an append commits while the overwrite of an empty table waits", others: "delta-rs keeps the appended rows", race: wins(appendRows(r3)),
			run: replaceAll(idem.ReplaceAll{}, r1), want: idem.Committed, made: 1, rows: []string{"a/1/1/x"}},
	})
}

func TestRepeatedMerge(t *testing.T) {
	twin := order{"a", 1, 3, "newest"}
	behaviours(t, []behaviour{
		{name: "two source rows, one key, matched", others: "both refuse", have: []order{r1}, run: mergeByID(idem.Merge{}, r1b, twin),
			want: idem.Committed, made: 1, rows: []string{"a/1/3/newest"}},
		{name: "identical source rows, matched", others: "both refuse", have: []order{r1}, run: mergeByID(idem.Merge{}, r1b, r1b),
			want: idem.Committed, made: 1, rows: []string{"a/1/2/X"}},
		{name: "two source rows, one key, not matched", others: "both insert both", run: mergeByID(idem.Merge{}, r1b, twin), want: idem.Committed, made: 1, rows: []string{"a/1/3/newest"}},
		{name: "two source rows, one key, and the same merge again", others: "both refuse the rerun of a job that worked", setup: before(mergeByID(idem.Merge{}, r1b, twin)),
			run: mergeByID(idem.Merge{}, r1b, twin), want: idem.Unchanged, rows: []string{"a/1/3/newest"}},
		{name: "a NULL key", others: "both insert it at every run", run: mergeByID(idem.Merge{On: []string{"id", "seq"}, Unguarded: true}, order{"a", 1, -1, "x"}),
			err: idem.ErrInput, says: []string{"seq", "MatchNulls"}},
		{name: "a NULL key with MatchNulls, merged twice", setup: before(mergeByID(idem.Merge{On: []string{"id", "seq"}, Unguarded: true, NullKeys: idem.MatchNulls}, order{"a", 1, -1, "x"})),
			run:  mergeByID(idem.Merge{On: []string{"id", "seq"}, Unguarded: true, NullKeys: idem.MatchNulls}, order{"a", 1, -1, "x"}),
			want: idem.Unchanged, rows: []string{"a/1/NULL/x"}},
		{name: "same merge again, no guard", others: "both rewrite the file", have: []order{r1}, run: mergeByID(idem.Merge{Unguarded: true}, r1), want: idem.Unchanged, rows: []string{"a/1/1/x"}},
		{name: "same merge again, guarded", others: "Spark rewrites the file though no row changes", have: []order{r1}, run: mergeByID(idem.Merge{}, r1), want: idem.Unchanged, rows: []string{"a/1/1/x"}},
		{name: "older source row", others: "both overwrite the newer one", have: []order{twin}, run: mergeByID(idem.Merge{}, r1), want: idem.Unchanged, rows: []string{"a/1/3/newest"},
			check: func(t *testing.T, res *idem.Result) { require.EqualValues(t, 1, res.SkippedOlder) }},
		{name: "no guard is spelled out", have: []order{r1}, run: func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.Merge(ctx, rowsOf(r1b), idem.Merge{On: []string{"id"}})
		}, err: idem.ErrInput, says: []string{"Newer", "Unguarded"}, rows: []string{"a/1/1/x"}},
		{name: "a tie inside the source", others: "neither names the key", run: mergeByID(idem.Merge{}, order{"a", 1, 2, "p"}, order{"a", 1, 2, "q"}), err: idem.ErrInput, says: []string{"id=1"}},
		{name: "a tie with the target", others: "both skip it in silence", have: []order{r1b}, run: mergeByID(idem.Merge{CompareTies: true}, order{"a", 1, 2, "other"}),
			want: idem.Unchanged, rows: []string{"a/1/2/X"}, check: func(t *testing.T, res *idem.Result) { require.EqualValues(t, 1, res.TiesDiffering) }},
		{name: "two source rows, only one passes the guard", others: "Spark refuses", have: []order{r1b}, run: mergeByID(idem.Merge{}, r1, twin),
			want: idem.Committed, made: 1, rows: []string{"a/1/3/newest"}},
		{name: "duplicate keys in the target", others: "both update both in silence", have: []order{r1, {"b", 1, 1, "x"}}, run: mergeByID(idem.Merge{}, r1b),
			err: idem.ErrInput, says: []string{"id=1", "Duplicates", "AllowTargetDuplicates"}, rows: []string{"a/1/1/x", "b/1/1/x"}},
		{name: "two at once, same key", others: "both refuse", have: []order{r1}, race: wins(mergeByID(idem.Merge{}, r1b)),
			run: mergeByID(idem.Merge{}, twin), want: idem.Committed, made: 1, rows: []string{"a/1/3/newest"}},
		{name: "two at once, other key in the same file", others: "both refuse", have: []order{r1, r2}, race: wins(mergeByID(idem.Merge{}, r1b)),
			run: mergeByID(idem.Merge{}, order{"a", 2, 2, "Y"}), want: idem.Committed, made: 1, rows: []string{"a/1/2/X", "a/2/2/Y"}},
		{name: "two at once, other key in another file", others: "both refuse", have: []order{r1, r3}, race: wins(mergeByID(idem.Merge{}, r1b)),
			run: mergeByID(idem.Merge{}, order{"b", 3, 2, "Z"}), want: idem.Committed, made: 1, rows: []string{"a/1/2/X", "b/3/2/Z"}},
		{name: "two at once, same new key", others: "both refuse", race: wins(mergeByID(idem.Merge{}, r1)),
			run: mergeByID(idem.Merge{}, r1b), want: idem.Committed, made: 1, rows: []string{"a/1/2/X"}},
		{name: "two at once, same new key, the winner newer", race: wins(mergeByID(idem.Merge{}, r1b)),
			run: mergeByID(idem.Merge{}, r1), want: idem.Unchanged, rows: []string{"a/1/2/X"}},
		{name: "a merge that changes nothing, with a tag", others: "delta-rs does not record the tag, Spark rewrites the file", have: []order{r1},
			run: mergeByID(idem.Merge{Txn: tagged}, r1), want: idem.Committed, made: 1, rows: []string{"a/1/1/x"},
			check: func(t *testing.T, res *idem.Result) { require.Zero(t, res.FilesAdded) }},
		{name: "empty source", have: []order{r1}, run: mergeByID(idem.Merge{}), want: idem.Unchanged, rows: []string{"a/1/1/x"}},
		{name: "a row moved to another partition, on its key", have: []order{r1}, run: mergeByID(idem.Merge{}, order{"b", 1, 2, "moved"}),
			want: idem.Committed, made: 1, rows: []string{"b/1/2/moved"}},
		{name: "a row moved to another partition that is part of the key", have: []order{r1}, run: mergeByID(idem.Merge{On: []string{"id", "day"}}, order{"b", 1, 2, "second"}),
			want: idem.Committed, made: 1, rows: []string{"a/1/1/x", "b/1/2/second"}},
	})
}

func TestAPlainAppendWhileAnotherCommitLands(t *testing.T) {
	have := []order{r1, r3}
	run := appendRows(order{"c", 9, 1, "n"})
	behaviours(t, []behaviour{
		{name: "an append", have: have, race: wins(appendRows(r2)), run: run, want: idem.Committed, made: 1, rows: []string{"a/1/1/x", "b/3/1/z", "a/2/1/y", "c/9/1/n"}},
		{name: "a delete of rows", others: "delta-rs refuses", have: []order{r1, r2}, race: wins(deleteWhere("id = 1")), run: run, want: idem.Committed, made: 1, rows: []string{"a/2/1/y", "c/9/1/n"}},
		{name: "a delete of a whole file", others: "delta-rs refuses", have: have, race: wins(deleteWhere("day = 'a'")), run: run, want: idem.Committed, made: 1, rows: []string{"b/3/1/z", "c/9/1/n"}},
		{name: "an overwrite", others: "delta-rs refuses", have: have, race: wins(replaceAll(idem.ReplaceAll{}, r2)), run: run, want: idem.Committed, made: 1, rows: []string{"a/2/1/y", "c/9/1/n"}},
		{name: "an overwrite of a slice", others: "delta-rs refuses", have: have, race: wins(replaceSlice("day = 'a'", idem.ReplaceWhere{}, r2)), run: run, want: idem.Committed, made: 1, rows: []string{"a/2/1/y", "b/3/1/z", "c/9/1/n"}},
		{name: "a merge", others: "delta-rs refuses", have: have, race: wins(mergeByID(idem.Merge{}, r1b)), run: run, want: idem.Committed, made: 1, rows: []string{"a/1/2/X", "b/3/1/z", "c/9/1/n"}},
		{name: "a delete of rows that an append adds meanwhile", others: "both refuse", have: have, race: wins(appendRows(order{"a", 1, 7, "late"})),
			run: deleteWhere("id = 1"), want: idem.Committed, made: 1, rows: []string{"b/3/1/z"}},
	})
}

// onKey merges rows of one key column and a value into a table whose key has another type.
func onKey(t *testing.T, target, source arrow.DataType, have, rows string) (*store.Mem, *idem.Result, error) {
	read := func(key arrow.DataType, json string) array.RecordReader {
		schema := arrow.NewSchema([]arrow.Field{{Name: "K", Type: key, Nullable: true}, {Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
		require.NoError(t, err)
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b})
		require.NoError(t, err)
		return r
	}
	mem := store.NewMem()
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: target, Nullable: true}, {Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), read(target, have), idem.Append{Reason: "test"})
	require.NoError(t, err)
	res, err := table.Merge(t.Context(), read(source, rows), idem.Merge{On: []string{"K"}, Unguarded: true})
	if err == nil {
		again, err := table.Merge(t.Context(), read(source, rows), idem.Merge{On: []string{"k"}, Unguarded: true})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, again.Outcome, "merged again")
	}
	checkLog(t, mem)
	return mem, res, err
}

func TestMergeKeysOfOtherTypes(t *testing.T) {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for _, c := range []struct {
		name, others   string
		target, source arrow.DataType
		have, rows     string
		updated        int64 // of one row merged; -1: refused
		says           string
	}{
		{"a string against an int", "both cast: '1' and '01' match 1", arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String, `[{"K": 1}]`, `[{"K": "01"}]`, -1, "utf8"},
		{"an int against a string", "cast", arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, `[{"K": "1"}]`, `[{"K": 1}]`, -1, "int32"},
		{"a bigint that an int cannot hold", "delta-rs can insert NULL as key", arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, `[{"K": 1}]`, `[{"K": 4294967297}]`, -1, "4294967297"},
		{"a bigint that an int holds", "", arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, `[{"K": 1}]`, `[{"K": 1}]`, 1, ""},
		{"a smallint against a bigint", "", arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int16, `[{"K": 1}]`, `[{"K": 1}]`, 1, ""},
		{"nanoseconds against microseconds", "delta-rs cuts digits off", utc, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
			`[{"K": 1704067200000001}]`, `[{"K": 1704067200000001000}]`, 1, ""},
		{"nanoseconds below a microsecond", "delta-rs cuts them off, and two keys become one", utc, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
			`[{"K": 1704067200000001}]`, `[{"K": 1704067200000001001}]`, -1, "microsecond"},
		{"another zone, the same instant, in milliseconds", "", utc, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "America/New_York"},
			`[{"K": 1704085200000000}]`, `[{"K": 1704085200000}]`, 1, ""},
		{"a local time against an instant", "Spark matches in the session's zone, delta-rs in UTC", utc, &arrow.TimestampType{Unit: arrow.Microsecond},
			`[{"K": 1704067200000000}]`, `[{"K": 1704067200000000}]`, -1, "timestamp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem, res, err := onKey(t, c.target, c.source, c.have, strings.Replace(c.rows, "}", `, "v": "new"}`, 1))
			if c.updated < 0 {
				require.ErrorIs(t, err, idem.ErrInput, c.others)
				require.ErrorContains(t, err, c.says)
				classified(t, err)
				require.EqualValues(t, 1, opened(t, mem).Version())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.updated, res.Updated, res.String())
			require.Zero(t, res.Inserted)
		})
	}
}

// TestLostAnswers holds what a store's answer does to a commit that landed, and to one that did not.
func TestLostAnswers(t *testing.T) {
	have, kept := []order{r1, r2}, []string{"a/1/1/x", "a/2/1/y"}
	for _, v := range []struct {
		name   string
		others string
		run    func(context.Context, *idem.Table) (*idem.Result, error)
		rows   []string
	}{
		{"a plain append", "delta-rs makes two commits that add the same paths", appendRows(r3), append([]string{"b/3/1/z"}, kept...)},
		{"an append with a tag", "delta-rs: a conflict with itself; the second call doubles the rows", appendTagged("job", 1, r3), append([]string{"b/3/1/z"}, kept...)},
		{"an overwrite", "delta-rs: a conflict with itself", replaceAll(idem.ReplaceAll{}, r3), []string{"b/3/1/z"}},
		{"an overwrite of a slice", "delta-rs: a conflict with itself", replaceSlice("day = 'a'", idem.ReplaceWhere{}, r1b), []string{"a/1/2/X"}},
		{"a merge", "delta-rs: a conflict with itself", mergeByID(idem.Merge{}, r1b), []string{"a/1/2/X", "a/2/1/y"}},
		{"a delete", "delta-rs: a conflict with itself", deleteWhere("id = 1"), []string{"a/2/1/y"}},
	} {
		for answer, kind := range map[string]storetest.Kind{
			"500, landed": storetest.FailAfter, "connection dropped, landed": storetest.LostAnswer, "sent twice by the transport": storetest.Duplicate,
			"409, not landed": storetest.Conflict, "429, not landed": storetest.Throttle, "500, not landed": storetest.FailBefore, "time-out, not landed": storetest.Timeout,
		} {
			t.Run(v.name+"/"+answer, behaviour{
				others: v.others, have: have, run: v.run, want: idem.Committed, made: 1, rows: v.rows,
				fault: []storetest.Rule{{Op: storetest.OpPutIfAbsent, Times: 1, Fault: storetest.Fault{Kind: kind}}},
			}.test)
		}
	}
}

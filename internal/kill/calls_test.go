package kill_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

const day = 24 * time.Hour

// call is one verb, or one operation of package maintain, as a process makes it that begins with
// opening the table.
type call struct {
	name string
	run  func(ctx context.Context, b *base, st store.Store, o idem.Options) (idem.Outcome, error)

	start func(t *testing.T, b *base) *store.Mem // what it begins with; nil: the base
	age   time.Duration                          // how long after the last commit of the base
	only  string                                 // the flavour of table; "": each

	after func(m *tabletest.Model)                                   // what it does to the rows
	check func(t *testing.T, ctx context.Context, table *idem.Table) // what it does beside
	made  bool                                                       // it makes the table, which then has the rows of the base
	none  bool                                                       // it makes no version
	steps bool                                                       // it makes several versions, none of which changes a row
	whole func(t *testing.T, tr *trials, st store.Store) bool        // of those two: is all of its work there?
	twice bool                                                       // a second run does its work a second time
}

// onTable makes a run of what is done to an open table.
func onTable(f func(ctx context.Context, t *idem.Table) (*idem.Result, error)) func(context.Context, *base, store.Store, idem.Options) (idem.Outcome, error) {
	return kept(f, func(r *idem.Result) idem.Outcome { return r.Outcome })
}

// kept makes a run of an operation of maintain, whose answers have types of their own.
func kept[R any](f func(ctx context.Context, t *idem.Table) (R, error), outcome func(R) idem.Outcome) func(context.Context, *base, store.Store, idem.Options) (idem.Outcome, error) {
	return func(ctx context.Context, _ *base, st store.Store, o idem.Options) (idem.Outcome, error) {
		t, err := idem.OpenStore(ctx, st, o)
		if err != nil {
			return 0, err
		}
		res, err := f(ctx, t)
		if err != nil {
			return 0, err
		}
		return outcome(res), nil
	}
}

var verbs = []call{
	{name: "Create", made: true, start: nothing,
		run: func(ctx context.Context, b *base, st store.Store, o idem.Options) (idem.Outcome, error) {
			_, res, err := idem.CreateStore(ctx, st, tabletest.Definition([]string{"day"}, b.properties), o)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		},
		after: func(m *tabletest.Model) { *m = *tabletest.NewModel() }},
	{name: "Append", twice: true,
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.Append(ctx, once(row("d1", 20, 1, 1), row("d4", 21, 1, 2)), idem.Append{Reason: "test"})
		}),
		after: func(m *tabletest.Model) { m.Append(row("d1", 20, 1, 1), row("d4", 21, 1, 2)) }},
	{name: "AppendWithTxn",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.AppendWithTxn(ctx, once(row("d1", 20, 1, 1), row("d4", 21, 1, 2)), idem.Txn{AppID: "swept", Version: 1})
		}),
		after: func(m *tabletest.Model) { m.Append(row("d1", 20, 1, 1), row("d4", 21, 1, 2)) }},
	{name: "ReplaceWhere",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.ReplaceWhere(ctx, once(row("d2", 4, 3, 42), row("d9", 22, 1, 3)), idem.ReplaceWhere{Where: "id >= 4"})
		}),
		after: func(m *tabletest.Model) {
			m.Replace(func(r tabletest.Row) bool { return r.ID >= 4 }, row("d2", 4, 3, 42), row("d9", 22, 1, 3))
		}},
	{name: "ReplaceAll",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.ReplaceAll(ctx, once(row("d1", 23, 1, 4)), idem.ReplaceAll{Txn: idem.Txn{AppID: "swept", Version: 1}})
		}),
		after: func(m *tabletest.Model) { m.Rows = tabletest.Of(row("d1", 23, 1, 4)) }},
	{name: "Merge",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.Merge(ctx, once(mergeRows...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "v < 0"})
		}),
		after: func(m *tabletest.Model) { m.Merge(negative, mergeRows...) }},
	{name: "Delete",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.Delete(ctx, idem.Delete{Where: "id = 4 OR day = 'd3'"})
		}),
		after: func(m *tabletest.Model) { m.Delete(func(r tabletest.Row) bool { return r.ID == 4 || r.Day == "d3" }) }},
	{name: "RewindTxn",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return t.RewindTxn(ctx, "base", 2)
		}),
		check: func(t *testing.T, _ context.Context, table *idem.Table) {
			txn, ok := table.Snapshot().Txn("base")
			require.True(t, ok)
			require.EqualValues(t, 2, txn.Version)
		}},
}

var mergeRows = []tabletest.Row{row("d1", 1, 2, 11), row("d2", 7, 2, -1), row("d1", 9, 0, 5), row("d5", 24, 1, 6)}

func negative(r tabletest.Row) bool { return !r.NullV && r.V < 0 }

func nothing(_ *testing.T, b *base) *store.Mem {
	return store.NewMemClock(b.clock.Now)
}

var operations = []call{
	{name: "Alter",
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Altered, error) {
			return maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{
				maintain.AddColumn{Name: "x", Type: arrow.PrimitiveTypes.Int64}, maintain.AddConstraint{Name: "c", Check: "id > 0"},
			}})
		}, func(r *maintain.Altered) idem.Outcome { return r.Outcome }),
		check: func(t *testing.T, _ context.Context, table *idem.Table) {
			require.GreaterOrEqual(t, table.Snapshot().Schema().Index("x"), 0)
			require.Len(t, table.Snapshot().Constraints(), 1)
		}},
	{name: "EnableFeature", run: enable("inCommitTimestamp"), check: supports("inCommitTimestamp", true)},
	{name: "EnableFeature in steps", only: "plain", steps: true, run: enable("rowTracking"), whole: has("rowTracking", true), check: supports("rowTracking", true)},
	{name: "DropFeature", steps: true, only: "plain", start: stamped, run: drop("inCommitTimestamp"), whole: has("inCommitTimestamp", false), check: supports("inCommitTimestamp", false)},
	{name: "DropFeature in steps", only: "featured", steps: true, run: drop("deletionVectors"), whole: has("deletionVectors", false), check: supports("deletionVectors", false)},
	{name: "Update",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return maintain.UpdateTable(ctx, t, maintain.Update{Where: "id IN (1, 7)", Set: map[string]string{"v": "7"}})
		}),
		after: func(m *tabletest.Model) {
			m.Replace(func(r tabletest.Row) bool { return r.ID == 1 || r.ID == 7 }, row("d1", 1, 1, 7), row("d2", 7, 1, 7))
		}},
	{name: "OverwritePartitions",
		run: onTable(func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
			return maintain.OverwritePartitions(ctx, t, once(row("d3", 8, 2, 8), row("d6", 25, 1, 9)), maintain.Overwrite{})
		}),
		after: func(m *tabletest.Model) {
			m.Replace(func(r tabletest.Row) bool { return r.Day == "d3" }, row("d3", 8, 2, 8), row("d6", 25, 1, 9))
		}},
	{name: "Restore",
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Restored, error) {
			return maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(1)})
		}, func(r *maintain.Restored) idem.Outcome { return r.Outcome }),
		after: func(m *tabletest.Model) {
			m.Rows = tabletest.Of(row("d1", 1, 1, 10), row("d1", 2, 1, 20), row("d1", 3, 1, 30), row("d2", 4, 1, 40), row("d2", 5, 1, 50), row("d3", 6, 1, 60))
		},
		check: func(t *testing.T, ctx context.Context, table *idem.Table) {
			_, err := table.AppendWithTxn(ctx, once(row("d2", 7, 1, 70)), idem.Txn{AppID: "base", Version: 5})
			require.ErrorIs(t, err, idem.ErrRestored, "the rows of the tag are gone")
		}},
	{name: "Vacuum", steps: true, age: 8 * day, whole: vacuumed,
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Vacuumed, error) {
			return maintain.VacuumTable(ctx, t, maintain.Vacuum{})
		}, func(r *maintain.Vacuumed) idem.Outcome { return r.Outcome })},
	{name: "Optimize",
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Optimized, error) {
			return maintain.OptimizeTable(ctx, t, maintain.Optimize{})
		}, func(r *maintain.Optimized) idem.Outcome { return r.Outcome })},
	{name: "Optimize in order",
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Optimized, error) {
			return maintain.OptimizeTable(ctx, t, maintain.Optimize{ZOrderBy: []string{"id", "seq"}})
		}, func(r *maintain.Optimized) idem.Outcome { return r.Outcome })},
	{name: "Checkpoint", none: true, whole: checkpointed,
		run: kept(maintain.Checkpoint, func(r *maintain.Checkpointed) idem.Outcome { return r.Outcome })},
	{name: "CleanUpLog", none: true, age: 40 * day, whole: swept,
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.CleanedUp, error) {
			return maintain.CleanUpLog(ctx, t, maintain.CleanUp{})
		}, func(r *maintain.CleanedUp) idem.Outcome { return r.Outcome })},
	{name: "CompactLog", none: true, whole: compacted,
		run: kept(func(ctx context.Context, t *idem.Table) (*maintain.Compacted, error) {
			return maintain.CompactLog(ctx, t, compactedFrom, compactedTo)
		}, func(r *maintain.Compacted) idem.Outcome { return r.Outcome })},
	{name: "ConvertParquet", made: true, only: "parquet", start: func(t *testing.T, b *base) *store.Mem { return b.directory(t) },
		run: func(ctx context.Context, _ *base, st store.Store, o idem.Options) (idem.Outcome, error) {
			_, res, err := maintain.ConvertParquetStore(ctx, st, maintain.Convert{PartitionBy: arrow.NewSchema(tabletest.Schema.Fields()[:1], nil)}, o)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		}},
	{name: "Clone", made: true, start: nothing,
		run: func(ctx context.Context, b *base, st store.Store, o idem.Options) (idem.Outcome, error) {
			source, err := idem.OpenStore(ctx, b.mem, b.options())
			if err != nil {
				return 0, err
			}
			_, res, err := maintain.CloneTableStore(ctx, source, st, maintain.Clone{}, o)
			if err != nil {
				return 0, err
			}
			return res.Outcome, nil
		}},
}

func enable(feature string) func(context.Context, *base, store.Store, idem.Options) (idem.Outcome, error) {
	return kept(func(ctx context.Context, t *idem.Table) (*maintain.Altered, error) {
		return maintain.EnableFeature(ctx, t, maintain.Enable{Feature: feature})
	}, func(r *maintain.Altered) idem.Outcome { return r.Outcome })
}

func drop(feature string) func(context.Context, *base, store.Store, idem.Options) (idem.Outcome, error) {
	return kept(func(ctx context.Context, t *idem.Table) (*maintain.Dropped, error) {
		return maintain.DropFeature(ctx, t, maintain.Drop{Feature: feature})
	}, func(r *maintain.Dropped) idem.Outcome { return r.Outcome })
}

func supports(feature string, want bool) func(*testing.T, context.Context, *idem.Table) {
	return func(t *testing.T, _ context.Context, table *idem.Table) {
		require.Equal(t, want, table.Snapshot().Protocol().Supports(feature), feature)
	}
}

// stamped is the base with timestamps in its commits.
func stamped(t *testing.T, b *base) *store.Mem {
	mem := b.mem.Clone()
	_, err := enable("inCommitTimestamp")(b.ctx, b, mem, b.options())
	require.NoError(t, err)
	return mem
}

// callsInAll is the number of calls on the flavours of tables that they are made on.
func callsInAll() int {
	n := 0
	for _, fl := range flavours {
		for _, c := range append(append([]call(nil), verbs...), operations...) {
			if fl.has(c) {
				n++
			}
		}
	}
	return n
}

// everyCall gives each call on each flavour of table, with the base made once for each. Without -kill.all it is
// one of three, and with -short, which the race detector runs under, one of six: a call is one goroutine here.
func everyCall(t *testing.T, f func(t *testing.T, b *base, c call)) {
	for _, fl := range flavours {
		b := newBase(t, fl)
		for i, c := range append(append([]call(nil), verbs...), operations...) {
			if !*everything && i%3 != 1 || testing.Short() && i%2 != 0 {
				continue
			}
			if fl.has(c) {
				t.Run(fl.name+"/"+c.name, func(t *testing.T) { f(t, b, c) })
			}
		}
	}
}

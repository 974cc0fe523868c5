package idemtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/idemtest"
)

// printer takes the place of a test in examples. In a test, hand in its t.
type printer struct{ testing.TB }

func (printer) Helper() {}

func (printer) Context() context.Context { return context.Background() }

func (printer) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (p printer) Errorf(format string, args ...any) { p.Logf(format, args...) }

func (p printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

var readings = arrow.NewSchema([]arrow.Field{
	{Name: "sensor", Type: arrow.BinaryTypes.String},
	{Name: "celsius", Type: arrow.PrimitiveTypes.Int64},
}, nil)

// A job that appends once for each batch may come again in every way.
func ExampleProve() {
	t := printer{}
	table := idemtest.NewTable(t, idem.Definition{Schema: readings})
	idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
		rows := idemtest.Rows(t, readings, []any{"roof", 21}, []any{"cellar", 12})
		_, err := table.AppendWithTxn(ctx, rows, idem.Txn{AppID: "readings_loader", Version: 42})
		return err
	}, idemtest.Options{})
	// Output:
	// diff: 0 rows
	// ran 6 ways, 56 runs: twice 2, another day 3, another order 6, faults 24, killed 10, two at once 10
}

// A merge without Newer is repeatable, until an older batch comes late.
func ExampleProve_olderBatch() {
	t := printer{}
	batch := func(celsius int) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			rows := idemtest.Rows(t, readings, []any{"roof", celsius})
			_, err := table.Merge(ctx, rows, idem.Merge{On: []string{"sensor"}, Unguarded: true})
			return err
		}
	}
	table := idemtest.NewTable(t, idem.Definition{Schema: readings})
	idemtest.Prove(t, table, batch(23), idemtest.Options{Older: batch(21)})
	// Output:
	// older batch between: diff: an older batch that came late changed the table: +1 rows, -1 rows, of which 1 are other versions of the same row
	//   after the older batch and the job: rows=1 digest=idem1:a8c76a900273fcc3f55beb239bdebd19
	//   after the older batch once more: rows=1 digest=idem1:e123342cc2557c87d4a97334f0d9ce0e
	//   columns: celsius
	//   ~ sensor="roof": celsius=23 → 21
	//   committed: version 3: MERGE, 1 files added, 1 removed
	//   cause: an unguarded merge: the older batch overwrote newer rows; name the columns that order versions of a row (Merge.Newer), or give both batches a Txn of one app id
}

// What a job does with its source before it calls a verb is tried in other orders when the source
// passes through Source, or List.
func ExampleList() {
	t := printer{}
	type reading struct {
		sensor  string
		celsius int
	}
	source := []reading{{"roof", 21}, {"cellar", 12}, {"roof", 23}}
	table := idemtest.NewTable(t, idem.Definition{Schema: readings})
	idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
		last := map[string]int{}
		for _, r := range idemtest.List(ctx, source) {
			last[r.sensor] = r.celsius // whichever comes last
		}
		rows := idemtest.Rows(t, readings, []any{"cellar", last["cellar"]}, []any{"roof", last["roof"]})
		_, err := table.ReplaceAll(ctx, rows, idem.ReplaceAll{})
		return err
	}, idemtest.Options{})
	// Output:
	// another order: diff: with its input in another order the job makes another table: +1 rows, -1 rows, of which 1 are other versions of the same row
	//   in the order given: rows=2 digest=idem1:b07c057cb9bea9e260e96c5333c294f7
	//   in another order: rows=2 digest=idem1:e8d7cf1979a029a64036f46488bda5ec
	//   columns: celsius
	//   ~ sensor="roof": celsius=23 → 21
	//   committed: version 1: WRITE, 1 files added, 0 removed
	//   cause: a tie without order: column celsius depends on the order in which the input comes, as when the first or the last of several rows is kept; name a total order (Merge.Newer, or sort by a unique key)
}

package maintain_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// example is a table of two small files, of which one was emptied afterwards.
func example(ctx context.Context) (*idem.Table, *clock) {
	c := &clock{now: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}
	st := store.NewMemClock(c.Now)
	t, _, err := idem.CreateStore(ctx, st, idem.Definition{Schema: columns}, idem.Options{Clock: c})
	must(err)
	_, err = t.AppendWithTxn(ctx, rowsOf(row{"a", 1, "x"}), idem.Txn{AppID: "loader", Version: 1})
	must(err)
	_, err = t.AppendWithTxn(ctx, rowsOf(row{"a", 2, "y"}), idem.Txn{AppID: "loader", Version: 2})
	must(err)
	return t, c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleRestoreTable() {
	ctx := context.Background()
	t, _ := example(ctx)
	for range 2 {
		res, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(1)})
		must(err)
		fmt.Println(res)
	}
	_, err := t.AppendWithTxn(ctx, rowsOf(row{"a", 2, "y"}), idem.Txn{AppID: "loader", Version: 2})
	fmt.Println(err)
	// Output:
	// committed, version 3 as version 1 was: 0 files restored, 1 removed, 1 tags taken back
	// unchanged, version 3 as version 1 was: 0 files restored, 0 removed, 0 tags taken back
	// idem: AppendWithTxn mem:/// at version 3: tag loader@2 is recorded (2), but the RESTORE at version 3 took its rows away: set Reapply to write them again, or move the tag back with RewindTxn: the tag is recorded but its rows were restored away
}

func ExampleVacuumTable() {
	ctx := context.Background()
	t, c := example(ctx)
	_, err := t.Delete(ctx, idem.Delete{Where: "id = 1"})
	must(err)
	c.now = c.now.Add(8 * 24 * time.Hour)
	for range 2 {
		res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
		must(err)
		fmt.Printf("%s: %d files\n", res.Outcome, res.Files)
	}
	// Output:
	// committed: 1 files
	// unchanged: 0 files
}

func ExampleOptimizeTable() {
	ctx := context.Background()
	t, _ := example(ctx)
	for range 2 {
		res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
		must(err)
		fmt.Printf("%s: %d files in place of %d, %d rows\n", res.Outcome, res.FilesAdded, res.FilesRemoved, res.RowsCopied)
	}
	// Output:
	// committed: 1 files in place of 2, 2 rows
	// unchanged: 0 files in place of 0, 0 rows
}

func ExampleCheckpoint() {
	ctx := context.Background()
	t, _ := example(ctx)
	for range 2 {
		res, err := maintain.Checkpoint(ctx, t)
		must(err)
		fmt.Printf("%s: version %d\n", res.Outcome, res.Version)
	}
	// Output:
	// committed: version 2
	// unchanged: version 2
}

package maintain_test

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

func ExampleAlterTable() {
	ctx := context.Background()
	t, _ := example(ctx)
	mapping := maintain.SetProperties{Properties: map[string]string{"delta.columnMapping.mode": "name"}}
	for range 2 {
		res, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{
			mapping,
			maintain.RenameColumn{Name: "v", To: "value"},
			maintain.AddColumn{Name: "weight", Type: arrow.PrimitiveTypes.Float64, Comment: "kg", After: "id"},
			maintain.AddConstraint{Name: "positive", Check: "id > 0"},
		}})
		must(err)
		fmt.Println(res)
	}
	fmt.Println(fieldNames(t.Schema()))
	_, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{
		maintain.DropColumn{Name: "weight"}, maintain.AddColumn{Name: "weight", Type: arrow.PrimitiveTypes.Int64},
	}})
	fmt.Println(err)
	// Output:
	// committed, version 3
	// unchanged, version 3
	// [p id weight value]
	// idem: Alter mem:/// at version 3: the rows or the request break a rule: the same call again would change the table again (DROP COLUMNS, ADD COLUMNS): one of its changes undoes another; nothing was changed: make two calls of them
}

func ExampleEnableFeature() {
	ctx := context.Background()
	t, _ := example(ctx)
	for range 2 {
		res, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "rowTracking"})
		must(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 5: the rows of 2 files were given ids
	// unchanged, version 5
}

func ExampleDropFeature() {
	ctx := context.Background()
	t, _ := example(ctx)
	_, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "rowTracking"})
	must(err)
	for range 2 {
		res, err := maintain.DropFeature(ctx, t, maintain.Drop{Feature: "rowTracking"})
		must(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 8: 3 commits, 0 files rewritten, 2 restated
	// unchanged, version 8: 0 commits, 0 files rewritten, 0 restated
}

func ExampleUpdateTable() {
	ctx := context.Background()
	t, _ := example(ctx)
	for range 2 {
		res, err := maintain.UpdateTable(ctx, t, maintain.Update{Where: "id = ?", Args: []any{2}, Set: map[string]string{"v": "upper(v)"}})
		must(err)
		fmt.Println(res)
	}
	// What a second call would do again needs a tag, by which it is skipped.
	for range 2 {
		res, err := maintain.UpdateTable(ctx, t, maintain.Update{
			Where: "TRUE", Set: map[string]string{"id": "id + 10"}, Txn: idem.Txn{AppID: "renumber", Version: 1},
		})
		must(err)
		fmt.Println(res.Outcome, res.Updated)
	}
	// Output:
	// committed, version 3, 1 updated, 1 files added, 1 files removed, 1 files rewritten
	// unchanged, version 3
	// committed 2
	// already applied 0
}

func ExampleOverwritePartitions() {
	ctx := context.Background()
	t, _, err := idem.CreateStore(ctx, store.NewMem(), idem.Definition{Schema: columns, PartitionBy: []string{"p"}}, idem.Options{})
	must(err)
	_, err = t.ReplaceAll(ctx, rowsOf(row{"mon", 1, "x"}, row{"tue", 2, "y"}, row{"tue", 3, "z"}), idem.ReplaceAll{})
	must(err)
	for range 2 {
		res, err := maintain.OverwritePartitions(ctx, t, rowsOf(row{"tue", 4, "w"}), maintain.Overwrite{})
		must(err)
		fmt.Println(res.Outcome, res.Inserted, res.Deleted)
	}
	// Output:
	// committed 1 2
	// unchanged 0 0
}

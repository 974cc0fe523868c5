package changes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/records"
)

type order struct {
	ID     int64  `idem:"id"`
	Status string `idem:"status"`
}

// orderChange is an order as the feed gives it, and as the merge takes it.
type orderChange struct {
	order
	Kind string `idem:"_change_type"`
}

// copyChanges brings a copy up to date: one commit for each version of the table, tagged with that
// version. It begins behind the last tag, and a version that was merged already is skipped.
func copyChanges(ctx context.Context, from, to *idem.Table) error {
	newest, err := from.Refresh(ctx)
	if err != nil {
		return err
	}
	next := int64(0)
	if done, ok := to.Snapshot().Txn("copy of orders"); ok {
		next = done.Version + 1
	}
	for v := next; v <= newest; v++ {
		last := map[int64]orderChange{}
		rows := changes.Rows(ctx, from, changes.Request{From: changes.Version(v), To: changes.Version(v)})
		for c, err := range records.StructsOf[orderChange](rows, records.StructOptions{}) {
			if err != nil {
				return err
			}
			had, seen := last[c.ID]
			if !seen || had.Kind == changes.Delete || had.Kind == changes.UpdatePreimage {
				last[c.ID] = c // within a version, what goes makes room for what comes
			}
		}
		source, err := records.Structs(slices.Collect(maps.Values(last)), records.StructOptions{})
		if err != nil {
			return err
		}
		res, err := to.Merge(ctx, source, idem.Merge{
			On: []string{"id"}, Unguarded: true,
			DeleteWhen: "_change_type IN ('delete', 'update_preimage')",
			Txn:        idem.Txn{AppID: "copy of orders", Version: v},
		})
		source.Release()
		if err != nil {
			return err
		}
		fmt.Println(res)
	}
	return nil
}

// A table is copied by its changes. The copy can be made again, by anybody, at any time.
func ExampleRows() {
	ctx := context.Background()
	definition := idem.Definition{Properties: map[string]string{"delta.enableChangeDataFeed": "true"}, Schema: arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)}
	from, _, err := idem.CreateStore(ctx, store.NewMem(), definition, idem.Options{})
	must(err)
	to, _, err := idem.CreateStore(ctx, store.NewMem(), idem.Definition{Schema: definition.Schema}, idem.Options{})
	must(err)
	merge := func(orders ...order) {
		rows, err := records.Structs(orders, records.StructOptions{})
		must(err)
		defer rows.Release()
		_, err = from.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Unguarded: true})
		must(err)
	}
	merge(order{1, "placed"}, order{2, "placed"}, order{3, "placed"})
	merge(order{2, "paid"}, order{4, "placed"})
	_, err = from.Delete(ctx, idem.Delete{Where: "id = 3"})
	must(err)

	for range 2 {
		must(copyChanges(ctx, from, to))
		fmt.Println("---")
	}
	now := map[int64]string{}
	for o, err := range records.StructsOf[order](to.Scan(ctx, idem.Scan{}), records.StructOptions{}) {
		must(err)
		now[o.ID] = o.Status
	}
	fmt.Println(now)
	// Output:
	// committed, version 1, tag at 0
	// committed, version 2, 3 read, 3 inserted, 1 files added, tag at 1
	// committed, version 3, 2 read, 1 inserted, 1 updated, 2 files added, 1 files removed, 1 files rewritten, tag at 2
	// committed, version 4, 1 read, 1 deleted, 1 files added, 1 files removed, 1 files rewritten, tag at 3
	// ---
	// ---
	// map[1:placed 2:paid 4:placed]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

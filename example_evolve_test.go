package idem_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
)

// A source that has a new column says so once: the column comes with the first rows that have it, and
// the second call finds both.
func ExampleReplaceWhere_evolve() {
	ctx := context.Background()
	t := newOrders(ctx)
	day := idem.ReplaceWhere{Where: "day = ?", Args: []any{aMonday}}
	_, err := t.ReplaceWhere(ctx, orderRows(mondayOrders), day)
	check(err)

	wider := arrow.NewSchema(append(slices.Clone(orderSchema.Fields()), arrow.Field{Name: "channel", Type: arrow.BinaryTypes.String}), nil)
	withChannel := func() array.RecordReader {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, wider, strings.NewReader(`[
			{"day": "2013-01-07", "order_id": 1, "status": "paid", "amount": "19.90", "updated_at": "2013-01-07T09:00:00Z", "channel": "web"}]`))
		check(err)
		rows, err := array.NewRecordReader(wider, []arrow.RecordBatch{batch})
		check(err)
		return rows
	}
	_, err = t.ReplaceWhere(ctx, withChannel(), day)
	fmt.Println("without Evolve:", errorIs(err))
	day.Evolve = true
	for range 2 {
		res, err := t.ReplaceWhere(ctx, withChannel(), day)
		check(err)
		fmt.Println(res)
	}
	// Output:
	// without Evolve: ErrInput
	// committed, version 2, 1 read, 1 inserted, 3 deleted, 1 files added, 1 files removed, columns added: channel
	// unchanged, version 2, 1 read
}

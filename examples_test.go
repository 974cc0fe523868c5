package idem_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// Every example calls its verb twice.

var (
	orderSchema = arrow.NewSchema([]arrow.Field{
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "order_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "amount", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
		{Name: "updated_at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	}, nil)

	aMonday = arrow.Date32FromTime(time.Date(2013, 1, 7, 0, 0, 0, 0, time.UTC))
)

const (
	mondayOrders = `[
		{"day": "2013-01-07", "order_id": 1, "status": "paid", "amount": "19.90", "updated_at": "2013-01-07T09:00:00Z"},
		{"day": "2013-01-07", "order_id": 2, "status": "open", "amount": "5.00", "updated_at": "2013-01-07T10:00:00Z"},
		{"day": "2013-01-07", "order_id": 3, "status": "open", "amount": "7.50", "updated_at": "2013-01-07T11:00:00Z"}]`

	tuesdayOrders = `[
		{"day": "2013-01-08", "order_id": 4, "status": "open", "amount": "12.00", "updated_at": "2013-01-08T09:00:00Z"}]`
)

// newOrders makes an empty table of orders, in memory. A table on disk is made by idem.Create with
// a path.
func newOrders(ctx context.Context) *idem.Table {
	t, _, err := idem.CreateStore(ctx, store.NewMem(), idem.Definition{Schema: orderSchema, PartitionBy: []string{"day"}}, idem.Options{})
	check(err)
	return t
}

// orderRows makes rows from JSON.
func orderRows(text string) array.RecordReader {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, orderSchema, strings.NewReader(text))
	check(err)
	rows, err := array.NewRecordReader(orderSchema, []arrow.RecordBatch{batch})
	check(err)
	return rows
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleCreateStore() {
	ctx := context.Background()
	place := store.NewMem()
	def := idem.Definition{Schema: orderSchema, PartitionBy: []string{"day"}, Constraints: map[string]string{"positive": "amount > 0"}}
	for range 2 {
		t, res, err := idem.CreateStore(ctx, place, def, idem.Options{})
		check(err)
		fmt.Println(t.URL(), res)
	}
	// Output:
	// mem:/// committed, version 0
	// mem:/// unchanged, version 0
}

// A job that owns a day makes the day equal to what the source has, whatever was there.
func ExampleTable_ReplaceWhere() {
	ctx := context.Background()
	t := newOrders(ctx)
	for range 2 {
		res, err := t.ReplaceWhere(ctx, orderRows(mondayOrders), idem.ReplaceWhere{Where: "day = ?", Args: []any{aMonday}})
		check(err)
		fmt.Println(res)
	}
	// Rows outside the slice are refused, so that no run writes what another one owns.
	_, err := t.ReplaceWhere(ctx, orderRows(tuesdayOrders), idem.ReplaceWhere{Where: "day = ?", Args: []any{aMonday}})
	fmt.Println("a row of Tuesday:", errorIs(err))
	// Output:
	// committed, version 1, 3 read, 3 inserted, 1 files added
	// unchanged, version 1, 3 read
	// a row of Tuesday: ErrInput
}

// errorIs names the decision that an error asks for.
func errorIs(err error) string {
	switch {
	case err == nil:
		return "no error"
	case errors.Is(err, idem.ErrInput):
		return "ErrInput"
	}
	return err.Error()
}

// ReplaceAll is for sources that give the full picture each time.
func ExampleTable_ReplaceAll() {
	ctx := context.Background()
	t := newOrders(ctx)
	for _, rows := range []string{mondayOrders, mondayOrders, tuesdayOrders, tuesdayOrders} {
		res, err := t.ReplaceAll(ctx, orderRows(rows), idem.ReplaceAll{})
		check(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 1, 3 read, 3 inserted, 1 files added
	// unchanged, version 1, 3 read
	// committed, version 2, 1 read, 1 inserted, 3 deleted, 1 files added, 1 files removed
	// unchanged, version 2, 1 read
}

// Changes come late, out of order and more than once: the newest version of each order stays.
func ExampleTable_Merge() {
	ctx := context.Background()
	t := newOrders(ctx)
	_, err := t.ReplaceAll(ctx, orderRows(mondayOrders), idem.ReplaceAll{})
	check(err)
	changes := `[
		{"day": "2013-01-07", "order_id": 2, "status": "paid", "amount": "5.00", "updated_at": "2013-01-07T15:00:00Z"},
		{"day": "2013-01-07", "order_id": 2, "status": "billed", "amount": "5.00", "updated_at": "2013-01-07T12:00:00Z"},
		{"day": "2013-01-07", "order_id": 3, "status": "draft", "amount": "7.50", "updated_at": "2013-01-07T08:00:00Z"},
		{"day": "2013-01-08", "order_id": 4, "status": "open", "amount": "12.00", "updated_at": "2013-01-08T09:00:00Z"}]`
	for range 2 {
		res, err := t.Merge(ctx, orderRows(changes), idem.Merge{On: []string{"order_id"}, Newer: []string{"updated_at"}})
		check(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 2, 4 read, 1 inserted, 1 updated, 1 older in the source, 1 skipped as older, 2 files added, 1 files removed, 1 files rewritten
	// unchanged, version 2, 4 read, 1 older in the source, 1 skipped as older, 2 ties
}

// A feed of changes says with each row what happened, and clauses say what becomes of it: the columns
// of the feed are source.x, those of the table target.x.
func ExampleTable_Merge_clauses() {
	ctx := context.Background()
	t := newOrders(ctx)
	_, err := t.ReplaceAll(ctx, orderRows(mondayOrders), idem.ReplaceAll{})
	check(err)
	feed := arrow.NewSchema(append(orderSchema.Fields(), arrow.Field{Name: "op", Type: arrow.BinaryTypes.String}), nil)
	changes := `[
		{"op": "cancel", "day": "2013-01-07", "order_id": 1, "status": null, "amount": null, "updated_at": "2013-01-07T15:00:00Z"},
		{"op": "erase", "day": "2013-01-07", "order_id": 2, "status": null, "amount": null, "updated_at": "2013-01-07T15:00:00Z"},
		{"op": "upsert", "day": "2013-01-08", "order_id": 4, "status": "open", "amount": "12.00", "updated_at": "2013-01-08T09:00:00Z"}]`
	for range 2 {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, feed, strings.NewReader(changes))
		check(err)
		rows, err := array.NewRecordReader(feed, []arrow.RecordBatch{batch})
		check(err)
		res, err := t.Merge(ctx, rows, idem.Merge{
			On: []string{"order_id"}, Newer: []string{"updated_at"},
			Matched: []idem.Clause{
				{When: "source.op = 'erase'", Do: idem.DoDelete},
				{When: "source.op = 'cancel'", Columns: []string{"updated_at"}, Set: map[string]string{"status": "'cancelled'"}},
				{Columns: []string{"day", "status", "amount", "updated_at"}},
			},
			NotMatched: []idem.Clause{
				{When: "op = 'upsert'", Columns: []string{"day", "order_id", "status", "amount", "updated_at"}},
			},
		})
		check(err)
		fmt.Println(res)
	}
	for batch, err := range t.Scan(ctx, idem.Scan{Columns: []string{"order_id", "status"}}) {
		check(err)
		for i := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).ValueStr(i), batch.Column(1).ValueStr(i))
		}
	}
	// Output:
	// committed, version 2, 3 read, 1 inserted, 1 updated, 1 deleted, 2 files added, 1 files removed, 1 files rewritten
	// unchanged, version 2, 3 read, 2 ties
	// 3 open
	// 1 cancelled
	// 4 open
}

// The table itself remembers which batches of an application it has.
func ExampleTable_AppendWithTxn() {
	ctx := context.Background()
	t := newOrders(ctx)
	load := func(batch int64, rows string) {
		res, err := t.AppendWithTxn(ctx, orderRows(rows), idem.Txn{AppID: "orders_loader", Version: batch})
		check(err)
		fmt.Println("batch", batch, res)
	}
	load(0, mondayOrders)
	load(1, tuesdayOrders)
	load(1, tuesdayOrders) // the answer was lost, the loader tries again
	load(0, mondayOrders)  // the loader begins from the start
	// Output:
	// batch 0 committed, version 1, 3 read, 3 inserted, 1 files added, tag at 0
	// batch 1 committed, version 2, 1 read, 1 inserted, 1 files added, tag at 1
	// batch 1 already applied, version 2, tag at 1
	// batch 0 superseded, version 2, tag at 1
}

// A plain append doubles its rows when it is called again. It wants a reason, which the log keeps.
func ExampleTable_Append() {
	ctx := context.Background()
	t := newOrders(ctx)
	for range 2 {
		res, err := t.Append(ctx, orderRows(tuesdayOrders), idem.Append{Reason: "audit trail, duplicates accepted"})
		check(err)
		fmt.Println(res)
	}
	_, err := t.Append(ctx, orderRows(tuesdayOrders), idem.Append{})
	fmt.Println("without a reason:", errorIs(err))
	// Output:
	// committed, version 1, 1 read, 1 inserted, 1 files added
	// committed, version 2, 1 read, 1 inserted, 1 files added
	// without a reason: ErrInput
}

func ExampleTable_Delete() {
	ctx := context.Background()
	t := newOrders(ctx)
	_, err := t.ReplaceAll(ctx, orderRows(mondayOrders), idem.ReplaceAll{})
	check(err)
	for range 2 {
		res, err := t.Delete(ctx, idem.Delete{Where: "day = ? AND status = 'open'", Args: []any{aMonday}})
		check(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 2, 2 deleted, 1 files added, 1 files removed, 1 files rewritten
	// unchanged, version 2
}

// Two tables with equal rows have equal fingerprints, however the rows came there.
func ExampleTable_Fingerprint() {
	ctx := context.Background()
	once, twice := newOrders(ctx), newOrders(ctx)
	_, err := once.ReplaceAll(ctx, orderRows(mondayOrders), idem.ReplaceAll{})
	check(err)
	for range 2 {
		_, err := twice.Merge(ctx, orderRows(mondayOrders), idem.Merge{On: []string{"order_id"}, Newer: []string{"updated_at"}})
		check(err)
	}
	for _, t := range []*idem.Table{once, twice} {
		p, err := t.Fingerprint(ctx, idem.Fingerprint{Keys: []string{"order_id"}, Sums: []string{"amount"}})
		check(err)
		fmt.Println(p, p.Grain())
	}
	// Output:
	// rows=3 keys=3 sum(amount=32.40) digest=idem1:61b07f5d19853ed49a13d4e1a77ace87 true
	// rows=3 keys=3 sum(amount=32.40) digest=idem1:61b07f5d19853ed49a13d4e1a77ace87 true
}

// DedupeRows needs no table.
func ExampleDedupeRows() {
	ctx := context.Background()
	request := idem.Dedupe{On: []string{"order_id"}, Newer: []string{"updated_at"}}
	rows := orderRows(`[
		{"day": "2013-01-07", "order_id": 1, "status": "open", "updated_at": "2013-01-07T09:00:00Z"},
		{"day": "2013-01-07", "order_id": 1, "status": "paid", "updated_at": "2013-01-07T12:00:00Z"},
		{"day": "2013-01-07", "order_id": 1, "status": "paid", "updated_at": "2013-01-07T12:00:00Z"},
		{"day": "2013-01-07", "order_id": 2, "status": "open", "updated_at": "2013-01-07T10:00:00Z"}]`)
	for range 2 {
		kept, stats, err := idem.DedupeRows(ctx, rows, request)
		check(err)
		fmt.Println(stats)
		rows = kept
	}
	for rows.Next() {
		fmt.Println(rows.RecordBatch().Column(1), rows.RecordBatch().Column(2))
	}
	check(rows.Err())
	// Output:
	// read 4, kept 2, identical 1, older 1
	// read 2, kept 2, identical 0, older 0
	// [1 2] ["paid" "open"]
}

// The test that a job needs: run it twice and compare.
func ExampleRunTwice() {
	ctx := context.Background()
	replaces := func(ctx context.Context, t *idem.Table) error {
		_, err := t.ReplaceWhere(ctx, orderRows(mondayOrders), idem.ReplaceWhere{Where: "day = ?", Args: []any{aMonday}})
		return err
	}
	appends := func(ctx context.Context, t *idem.Table) error {
		_, err := t.Append(ctx, orderRows(mondayOrders), idem.Append{Reason: "nobody has looked at retries"})
		return err
	}
	for _, job := range []idem.Job{replaces, appends} {
		diff, err := idem.RunTwice(ctx, newOrders(ctx), job)
		check(err)
		fmt.Println(diff)
	}
	// Output:
	// diff: 0 rows
	// diff: the second run changed the table: +3 rows, -0 rows
	//   after run 1: rows=3 digest=idem1:61b07f5d19853ed49a13d4e1a77ace87
	//   after run 2: rows=6 digest=idem1:c360feba330a7da93427a9c34ef59d0e
	//   + day=2013-01-07, order_id=1, status="paid", amount=19.90, updated_at=2013-01-07T09:00:00Z
	//   + day=2013-01-07, order_id=2, status="open", amount=5.00, updated_at=2013-01-07T10:00:00Z
	//   + day=2013-01-07, order_id=3, status="open", amount=7.50, updated_at=2013-01-07T11:00:00Z
	//   second run made version 2: WRITE, 1 files added, 0 removed
	//   cause: the job appends without a tag: all 3 rows are copies of rows that the first run wrote; use AppendWithTxn, or ReplaceWhere for the slice that the job owns
}

// Every version stays readable.
func ExampleTable_At() {
	ctx := context.Background()
	t := newOrders(ctx)
	for _, rows := range []string{mondayOrders, tuesdayOrders} {
		_, err := t.ReplaceAll(ctx, orderRows(rows), idem.ReplaceAll{})
		check(err)
	}
	for range 2 {
		for _, version := range []int64{0, 1, 2} {
			old, err := t.At(ctx, version)
			check(err)
			p, err := old.Fingerprint(ctx, idem.Fingerprint{Sums: []string{"amount"}})
			check(err)
			fmt.Println("version", old.Version(), "has", p.Rows, "rows,", p.Sums[0])
		}
	}
	// Output:
	// version 0 has 0 rows, amount=0.00
	// version 1 has 3 rows, amount=32.40
	// version 2 has 1 rows, amount=12.00
	// version 0 has 0 rows, amount=0.00
	// version 1 has 3 rows, amount=32.40
	// version 2 has 1 rows, amount=12.00
}

func ExampleTable_Duplicates() {
	ctx := context.Background()
	t := newOrders(ctx)
	for range 2 { // the job was retried
		_, err := t.Append(ctx, orderRows(tuesdayOrders), idem.Append{Reason: "the loader before it had a tag"})
		check(err)
	}
	for range 2 {
		found, err := t.Duplicates(ctx, idem.Duplicates{On: []string{"order_id"}})
		check(err)
		fmt.Println(found.Rows, "rows,", found.Keys, "keys,", found.Extra, "too many")
		for _, s := range found.Samples {
			fmt.Println(s.Key, s.Count, "times")
		}
	}
	// Output:
	// 2 rows, 1 keys, 1 too many
	// order_id=4 2 times
	// 2 rows, 1 keys, 1 too many
	// order_id=4 2 times
}

// Moving a tag back lets batches be written again on purpose.
func ExampleTable_RewindTxn() {
	ctx := context.Background()
	t := newOrders(ctx)
	load := func() {
		res, err := t.AppendWithTxn(ctx, orderRows(tuesdayOrders), idem.Txn{AppID: "orders_loader", Version: 7})
		check(err)
		fmt.Println("load:  ", res)
	}
	load()
	_, err := t.Delete(ctx, idem.Delete{Where: "order_id = 4"})
	check(err)
	load() // the table remembers the batch, and does not ask where its rows are
	for range 2 {
		res, err := t.RewindTxn(ctx, "orders_loader", 6)
		if err != nil {
			fmt.Println(errorIs(err))
			continue
		}
		fmt.Println("rewind:", res)
	}
	load()
	// Output:
	// load:   committed, version 1, 1 read, 1 inserted, 1 files added, tag at 7
	// load:   already applied, version 2, tag at 7
	// rewind: committed, version 3, tag at 6
	// rewind: unchanged, version 3
	// load:   committed, version 4, 1 read, 1 inserted, 1 files added, tag at 7
}

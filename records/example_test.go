package records_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing/fstest"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/records"
)

// order is a row of the examples' table.
type order struct {
	Day     time.Time `idem:"day,date"`
	ID      int64     `idem:"order_id"`
	Status  string    `idem:"status"`
	Amount  *string   `idem:"amount,decimal(9,2)"`
	Updated time.Time `idem:"updated_at"`
}

// newOrders makes an empty table of orders, in memory. A table on disk is made by idem.Create with a
// path.
func newOrders(ctx context.Context) *idem.Table {
	schema, err := records.SchemaOf[order]()
	check(err)
	t, _, err := idem.CreateStore(ctx, store.NewMem(), idem.Definition{Schema: schema, PartitionBy: []string{"day"}}, idem.Options{})
	check(err)
	return t
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// lake is files as they may lie on a disk or in a bucket: two days of orders, packed.
func lake() fstest.MapFS {
	pack := func(text string) *fstest.MapFile {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, text)
		z.Close()
		return &fstest.MapFile{Data: b.Bytes()}
	}
	head := "order_id,day,status,amount,updated_at,clerk\n"
	return fstest.MapFS{
		"orders/2026-10-19.csv.gz":   pack(head + "1,2026-10-19,paid,19.90,2026-10-19T09:00:00Z,ann\n2,2026-10-19,open,NA,2026-10-19T10:00:00Z,bob\n"),
		"orders/2026-10-20-a.csv.gz": pack(head + "3,2026-10-20,open,7.50,2026-10-20T09:00:00Z,ann\n"),
		"orders/2026-10-20-b.csv.gz": pack(head + "4,2026-10-20,open,12.00,2026-10-20T11:00:00Z,bob\n"),
	}
}

// A backfill from files: each day is made equal to its files, however often that is done.
func ExampleCSV() {
	ctx := context.Background()
	t := newOrders(ctx)
	for range 2 {
		for _, day := range []string{"2026-10-19", "2026-10-20"} {
			files := records.Files{FS: lake(), Names: []string{"orders/" + day + "*.csv.gz"}}
			rows, err := records.CSV(t.Schema(), files, records.CSVOptions{NullText: []string{"NA"}, Skip: []string{"clerk"}})
			check(err)
			res, err := t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = ?", Args: []any{day}})
			rows.Release()
			check(err)
			fmt.Println(day, res)
		}
	}
	// Output:
	// 2026-10-19 committed, version 1, 2 read, 2 inserted, 1 files added
	// 2026-10-20 committed, version 2, 2 read, 2 inserted, 1 files added
	// 2026-10-19 unchanged, version 2, 2 read
	// 2026-10-20 unchanged, version 2, 2 read
}

// What is wrong in a file is said by its place, before anything is written.
func ExampleCSVFrom() {
	ctx := context.Background()
	t := newOrders(ctx)
	text := "day,order_id,status,amount,updated_at\n2026-10-20,3,open,7.505,2026-10-20T09:00:00Z\n"
	rows, err := records.CSVFrom(t.Schema(), strings.NewReader(text), records.CSVOptions{})
	check(err)
	defer rows.Release()
	rows.Next()
	fmt.Println(rows.Err())
	// Output:
	// the rows or the request break a rule: line 2, column "amount": the value "7.505" has more than 2 digits behind the point, and the column is a decimal(9,2); round it in the source if that is meant
}

// Structs go into a table, and come out of it.
func ExampleStructs() {
	ctx := context.Background()
	t := newOrders(ctx)
	day := time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
	amount := "12.5"
	orders := []order{
		{Day: day, ID: 3, Status: "open", Updated: day.Add(9 * time.Hour)},
		{Day: day, ID: 3, Status: "paid", Amount: &amount, Updated: day.Add(15 * time.Hour)},
		{Day: day, ID: 4, Status: "open", Updated: day.Add(11 * time.Hour)},
	}
	for range 2 {
		rows, err := records.Structs(orders, records.StructOptions{})
		check(err)
		res, err := t.Merge(ctx, rows, idem.Merge{On: []string{"order_id"}, Newer: []string{"updated_at"}})
		rows.Release()
		check(err)
		fmt.Println(res)
	}
	for o, err := range records.StructsOf[order](t.Scan(ctx, idem.Scan{Where: "status = 'paid'"}), records.StructOptions{}) {
		check(err)
		fmt.Println(o.ID, o.Status, *o.Amount, o.Updated.Format(time.TimeOnly))
	}
	// Output:
	// committed, version 1, 3 read, 2 inserted, 1 older in the source, 1 files added
	// unchanged, version 1, 3 read, 1 older in the source, 2 ties
	// 3 paid 12.50 15:00:00
}

// Changes as JSON lines, from a stream.
func ExampleJSONLinesFrom() {
	ctx := context.Background()
	t := newOrders(ctx)
	changes := `{"order_id": 3, "day": "2026-10-20", "status": "open", "amount": 7.50, "updated_at": "2026-10-20T09:00:00Z"}
{"order_id": 4, "day": "2026-10-20", "status": "open", "updated_at": "2026-10-20T11:00:00Z", "trace": {"host": "a"}}
`
	for range 2 {
		rows, err := records.JSONLinesFrom(t.Schema(), strings.NewReader(changes), records.JSONOptions{Skip: []string{"trace"}})
		check(err)
		res, err := t.AppendWithTxn(ctx, rows, idem.Txn{AppID: "orders_feed", Version: 7})
		rows.Release()
		check(err)
		fmt.Println(res)
	}
	// Output:
	// committed, version 1, 2 read, 2 inserted, 1 files added, tag at 7
	// already applied, version 1, tag at 7
}

// Rows of a table as CSV.
func ExampleWriteCSV() {
	ctx := context.Background()
	t := newOrders(ctx)
	rows, err := records.CSV(t.Schema(), records.Files{FS: lake(), Names: []string{"orders/2026-10-19.csv.gz"}},
		records.CSVOptions{NullText: []string{"NA"}, Skip: []string{"clerk"}})
	check(err)
	defer rows.Release()
	_, err = t.ReplaceAll(ctx, rows, idem.ReplaceAll{})
	check(err)
	n, err := records.WriteCSV(os.Stdout, t.Schema(), t.Scan(ctx, idem.Scan{}), records.CSVOptions{Columns: []string{"order_id", "amount", "updated_at"}})
	check(err)
	fmt.Println(n, "rows")
	// Output:
	// order_id,amount,updated_at
	// 1,19.90,2026-10-19T09:00:00Z
	// 2,,2026-10-19T10:00:00Z
	// 2 rows
}

package records_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/records"
)

// The benchmarks read rows of an order table, beside the shortest code that does the same with the
// standard library and Arrow's builders.

const benchRows = 50_000

type benchOrder struct {
	ID       int64     `idem:"id"`
	Customer int32     `idem:"customer"`
	Currency string    `idem:"currency"`
	Amount   string    `idem:"amount,decimal(12,2)"`
	Note     *string   `idem:"note"`
	At       time.Time `idem:"at"`
}

var benchSchema = schemaOf(field("id", i64), field("customer", i32), field("currency", text), field("amount", decimalOf(12, 2)), field("note", text), field("at", ts))

func benchOrders() []benchOrder {
	out := make([]benchOrder, benchRows)
	note := "left at the door, please ring twice"
	for i := range out {
		out[i] = benchOrder{ID: int64(i) * 7919, Customer: int32(i % 5000), Currency: []string{"EUR", "USD", "GBP"}[i%3],
			Amount: fmt.Sprintf("%d.%02d", i%1000, i%100), At: time.Unix(1357000000+int64(i), int64(i%1000)*1000).UTC()}
		if i%3 == 0 {
			out[i].Note = &note
		}
	}
	return out
}

func benchBatches(b *testing.B) (rows *records.Rereader) {
	rows, err := records.Structs(benchOrders(), records.StructOptions{})
	require.NoError(b, err)
	return rows
}

func benchCSV(b *testing.B) []byte {
	var out bytes.Buffer
	_, err := records.WriteCSV(&out, benchSchema, array.IterFromReader(benchBatches(b)), records.CSVOptions{})
	require.NoError(b, err)
	return out.Bytes()
}

func perRow(b *testing.B) {
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadCSV(b *testing.B) {
	data := benchCSV(b)
	b.Run("reader=records", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			rows, err := records.CSVFrom(benchSchema, bytes.NewReader(data), records.CSVOptions{})
			require.NoError(b, err)
			drain(b, rows)
		}
		perRow(b)
	})
	b.Run("reader=naive", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			require.EqualValues(b, benchRows, naiveCSV(b, data))
		}
		perRow(b)
	})
}

func drain(b *testing.B, rows array.RecordReader) {
	n := int64(0)
	for rows.Next() {
		n += rows.RecordBatch().NumRows()
	}
	rows.Release()
	require.NoError(b, rows.Err())
	require.EqualValues(b, benchRows, n)
}

// naiveCSV is what one writes by hand for these columns: no NULL told from an empty string, no
// position in an error, decimals by way of the library's parser.
func naiveCSV(b *testing.B, data []byte) int64 {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	_, err := r.Read()
	require.NoError(b, err)
	build := array.NewRecordBuilder(memory.DefaultAllocator, benchSchema)
	defer build.Release()
	for {
		f, err := r.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = appendNaive(build, f)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	return batch.NumRows()
}

func appendNaive(build *array.RecordBuilder, f []string) error {
	id, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return err
	}
	customer, err := strconv.ParseInt(f[1], 10, 32)
	if err != nil {
		return err
	}
	amount, err := decimal128.FromString(f[3], 12, 2)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, f[5])
	if err != nil {
		return err
	}
	build.Field(0).(*array.Int64Builder).Append(id)
	build.Field(1).(*array.Int32Builder).Append(int32(customer))
	build.Field(2).(*array.StringBuilder).Append(f[2])
	build.Field(3).(*array.Decimal128Builder).Append(amount)
	if f[4] == "" {
		build.Field(4).AppendNull()
	} else {
		build.Field(4).(*array.StringBuilder).Append(f[4])
	}
	build.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(at.UnixMicro()))
	return nil
}

func BenchmarkReadJSONLines(b *testing.B) {
	var out bytes.Buffer
	_, err := records.WriteJSONLines(&out, benchSchema, array.IterFromReader(benchBatches(b)), records.JSONOptions{})
	require.NoError(b, err)
	b.Run("reader=records", func(b *testing.B) {
		b.SetBytes(int64(out.Len()))
		for b.Loop() {
			rows, err := records.JSONLinesFrom(benchSchema, bytes.NewReader(out.Bytes()), records.JSONOptions{})
			require.NoError(b, err)
			drain(b, rows)
		}
		perRow(b)
	})
	b.Run("reader=naive", func(b *testing.B) { // into structs, not yet into columns
		b.SetBytes(int64(out.Len()))
		type order struct {
			ID       int64       `json:"id"`
			Customer int32       `json:"customer"`
			Currency string      `json:"currency"`
			Amount   json.Number `json:"amount"`
			Note     *string     `json:"note"`
			At       time.Time   `json:"at"`
		}
		for b.Loop() {
			d := json.NewDecoder(bytes.NewReader(out.Bytes()))
			n := 0
			for {
				var o order
				if err := d.Decode(&o); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
				n++
			}
			require.Equal(b, benchRows, n)
		}
		perRow(b)
	})
}

func BenchmarkStructs(b *testing.B) {
	orders := benchOrders()
	b.Run("reader=records", func(b *testing.B) {
		for b.Loop() {
			rows, err := records.Structs(orders, records.StructOptions{})
			require.NoError(b, err)
			drain(b, rows)
		}
		perRow(b)
	})
	b.Run("reader=naive", func(b *testing.B) {
		for b.Loop() {
			require.EqualValues(b, benchRows, naiveStructs(b, orders))
		}
		perRow(b)
	})
}

// naiveStructs is what one writes by hand for this struct.
func naiveStructs(b *testing.B, orders []benchOrder) int64 {
	build := array.NewRecordBuilder(memory.DefaultAllocator, benchSchema)
	defer build.Release()
	for i := range orders {
		o := &orders[i]
		amount, err := decimal128.FromString(o.Amount, 12, 2)
		if err != nil {
			b.Fatal(err)
		}
		build.Field(0).(*array.Int64Builder).Append(o.ID)
		build.Field(1).(*array.Int32Builder).Append(o.Customer)
		build.Field(2).(*array.StringBuilder).Append(o.Currency)
		build.Field(3).(*array.Decimal128Builder).Append(amount)
		if o.Note == nil {
			build.Field(4).AppendNull()
		} else {
			build.Field(4).(*array.StringBuilder).Append(*o.Note)
		}
		build.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(o.At.UnixMicro()))
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	return batch.NumRows()
}

func BenchmarkStructsOf(b *testing.B) {
	rows := benchBatches(b)
	for b.Loop() {
		require.NoError(b, rows.Rewind(b.Context()))
		n := 0
		for _, err := range records.StructsOf[benchOrder](array.IterFromReader(rows), records.StructOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		require.Equal(b, benchRows, n)
	}
	perRow(b)
}

func BenchmarkWriteCSV(b *testing.B) {
	rows := benchBatches(b)
	for b.Loop() {
		require.NoError(b, rows.Rewind(b.Context()))
		n, err := records.WriteCSV(io.Discard, benchSchema, array.IterFromReader(rows), records.CSVOptions{})
		require.NoError(b, err)
		require.EqualValues(b, benchRows, n)
	}
	perRow(b)
}

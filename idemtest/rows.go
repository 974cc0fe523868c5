package idemtest

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Rows makes a reader of rows given as Go values, one value for each field of the schema.
//
// nil is NULL. An integer goes into an integer or float column that holds it, a time.Time into a
// date or timestamp column, []byte into binary; any other value goes by its text, as
// "2013-01-02" for a date and "19.90" for a decimal. What does not fit ends the test and names row
// and column.
//
// The reader can be read again: it implements Rewind, so that verbs may hash before they write. Its
// memory is Go's, releasing it is allowed and not needed.
func Rows(t testing.TB, schema *arrow.Schema, rows ...[]any) array.RecordReader {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, row := range rows {
		if len(row) != schema.NumFields() {
			t.Fatalf("row %d has %d values, the schema has %d fields", i, len(row), schema.NumFields())
		}
		for c, v := range row {
			if err := appendValue(b.Field(c), v); err != nil {
				t.Fatalf("row %d, column %s (%s): %v", i, schema.Field(c).Name, schema.Field(c).Type, err)
			}
		}
	}
	return &reader{schema: schema, batch: b.NewRecordBatch()}
}

// appendValue puts a Go value into a column.
func appendValue(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	if at, ok := v.(time.Time); ok {
		return appendTime(b, at)
	}
	switch b := b.(type) {
	case *array.BinaryBuilder:
		bytes, ok := v.([]byte)
		if !ok {
			return fmt.Errorf("%v is a %T and not bytes", v, v)
		}
		b.Append(bytes)
		return nil
	case array.StringLikeBuilder:
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is a %T and not a string", v, v)
		}
		b.Append(text)
		return nil
	case *array.Decimal128Builder:
		return appendDecimal(b, fmt.Sprint(v))
	}
	return b.AppendValueFromString(fmt.Sprint(v))
}

// appendDecimal refuses what the library would round.
func appendDecimal(b *array.Decimal128Builder, text string) error {
	typ := b.Type().(*arrow.Decimal128Type)
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return fmt.Errorf("%q is not a number", text)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil)
	value.Mul(value, new(big.Rat).SetInt(unit))
	if !value.IsInt() || len(new(big.Int).Abs(value.Num()).String()) > int(typ.Precision) {
		return fmt.Errorf("%s does not fit", text)
	}
	b.Append(decimal128.FromBigInt(value.Num()))
	return nil
}

func appendTime(b array.Builder, at time.Time) error {
	switch b := b.(type) {
	case *array.TimestampBuilder:
		unit := b.Type().(*arrow.TimestampType).Unit
		v, err := arrow.TimestampFromTime(at, unit)
		if err != nil {
			return err
		}
		if !v.ToTime(unit).Equal(at) {
			return fmt.Errorf("%s is finer than %s", at.Format(time.RFC3339Nano), unit)
		}
		b.Append(v)
	case *array.Date32Builder:
		if !at.Equal(at.UTC().Truncate(24 * time.Hour)) {
			return fmt.Errorf("%s is not the midnight of a date in UTC", at.Format(time.RFC3339Nano))
		}
		b.Append(arrow.Date32FromTime(at.UTC()))
	default:
		return fmt.Errorf("a time goes into a date or a timestamp column")
	}
	return nil
}

// reader gives one batch, as often as it is rewound.
type reader struct {
	schema *arrow.Schema
	batch  arrow.RecordBatch
	read   int // calls of Next
}

func (r *reader) Retain() {}

func (r *reader) Release() {}

func (r *reader) Schema() *arrow.Schema { return r.schema }

func (r *reader) Next() bool {
	r.read++
	return r.read == 1
}

// RecordBatch is the batch, nil before Next and at the end.
func (r *reader) RecordBatch() arrow.RecordBatch {
	if r.read != 1 {
		return nil
	}
	return r.batch
}

func (r *reader) Record() arrow.RecordBatch { return r.RecordBatch() }

// Begun says whether Next was called: a verb rewinds the reader then.
func (r *reader) Begun() bool { return r.read > 0 }

func (r *reader) Err() error { return nil }

// Rewind begins again at the first row.
func (r *reader) Rewind(context.Context) error {
	r.read = 0
	return nil
}

package delta

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// CompareScalars orders two values of one type in which idem holds columns: -1, 0 or 1. Strings and binaries are ordered by
// their bytes, false is less than true, -0.0 equals 0.0, and NaN equals NaN and is greater than every number. Decimals need
// equal scales and timestamps equal units. ok is false for NULLs, for two types, and for types without an order.
func CompareScalars(a, b scalar.Scalar) (order int, ok bool) {
	if a == nil || b == nil || !a.IsValid() || !b.IsValid() || a.DataType().ID() != b.DataType().ID() {
		return 0, false
	}
	switch a := a.(type) {
	case *scalar.Int64:
		return cmp.Compare(a.Value, b.(*scalar.Int64).Value), true
	case *scalar.Int32:
		return cmp.Compare(a.Value, b.(*scalar.Int32).Value), true
	case *scalar.Int16:
		return cmp.Compare(a.Value, b.(*scalar.Int16).Value), true
	case *scalar.Int8:
		return cmp.Compare(a.Value, b.(*scalar.Int8).Value), true
	case *scalar.Float64:
		return compareFloats(a.Value, b.(*scalar.Float64).Value), true
	case *scalar.Float32:
		return compareFloats(float64(a.Value), float64(b.(*scalar.Float32).Value)), true
	case *scalar.Date32:
		return cmp.Compare(a.Value, b.(*scalar.Date32).Value), true
	case *scalar.Timestamp:
		ta, tb := a.Type.(*arrow.TimestampType), b.DataType().(*arrow.TimestampType)
		return cmp.Compare(a.Value, b.(*scalar.Timestamp).Value), ta.Unit == tb.Unit && (ta.TimeZone == "") == (tb.TimeZone == "")
	case *scalar.Decimal128:
		ta, tb := a.Type.(*arrow.Decimal128Type), b.DataType().(*arrow.Decimal128Type)
		return a.Value.Cmp(b.(*scalar.Decimal128).Value), ta.Scale == tb.Scale
	case *scalar.Boolean:
		return compareBools(a.Value, b.(*scalar.Boolean).Value), true
	case scalar.BinaryScalar:
		return bytes.Compare(a.Data(), b.(scalar.BinaryScalar).Data()), true
	}
	return 0, false
}

// compareFloats puts NaN last; cmp.Compare puts it first.
func compareFloats(a, b float64) int {
	switch aNaN, bNaN := a != a, b != b; {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return 1
	case bNaN:
		return -1
	}
	return cmp.Compare(a, b)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

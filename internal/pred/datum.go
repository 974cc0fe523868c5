package pred

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
)

// kind is a family of types whose values are compared with each other.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindDecimal
	kindString
	kindBinary
	kindDate
	kindTimestamp
	kindNTZ
	kindOther // nested and other types: only IS NULL is answered
)

// sqlType is the type of an operand.
type sqlType struct {
	kind      kind
	bits      int   // of integers and floats
	precision int32 // of decimals
	scale     int32
}

func typeOf(t arrow.DataType) sqlType {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return sqlType{kind: kindBool}
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return sqlType{kind: kindInt, bits: t.(arrow.FixedWidthDataType).BitWidth()}
	case *arrow.Float32Type, *arrow.Float64Type:
		return sqlType{kind: kindFloat, bits: t.(arrow.FixedWidthDataType).BitWidth()}
	case *arrow.Decimal128Type:
		return sqlType{kind: kindDecimal, precision: t.Precision, scale: t.Scale}
	case *arrow.StringType:
		return sqlType{kind: kindString}
	case *arrow.BinaryType:
		return sqlType{kind: kindBinary}
	case *arrow.Date32Type:
		return sqlType{kind: kindDate}
	case *arrow.TimestampType:
		switch {
		case t.Unit != arrow.Microsecond:
			return sqlType{kind: kindOther}
		case t.TimeZone == "":
			return sqlType{kind: kindNTZ}
		}
		return sqlType{kind: kindTimestamp}
	}
	return sqlType{kind: kindOther}
}

func (t sqlType) numeric() bool {
	return t.kind == kindInt || t.kind == kindFloat || t.kind == kindDecimal
}

// micros tells whether values count microseconds.
func (t sqlType) micros() bool { return t.kind == kindTimestamp || t.kind == kindNTZ }

func (t sqlType) temporal() bool { return t.kind == kindDate || t.micros() }

// datum is a constant.
type datum struct {
	sqlType
	i int64 // integers, booleans, days, microseconds
	f float64
	d decimal128.Num
	s string
}

func (v datum) String() string {
	switch v.kind {
	case kindNull:
		return "NULL"
	case kindFloat:
		return fmt.Sprint(v.f)
	case kindDecimal:
		return v.d.ToString(v.scale)
	case kindDate:
		return expr.FormatDate(arrow.Date32(v.i))
	case kindTimestamp, kindNTZ:
		return expr.FormatTimestamp(arrow.Timestamp(v.i))
	case kindString, kindBinary:
		return fmt.Sprintf("%.60q", v.s)
	}
	return fmt.Sprint(v.i)
}

var errNoConstant = errors.New("the scalar has a type that conditions do not compare")

// datumOf reads a scalar; nil and invalid ones are NULL.
func datumOf(s scalar.Scalar) (datum, error) {
	if s == nil || !s.IsValid() {
		return datum{}, nil
	}
	v := datum{sqlType: typeOf(s.DataType())}
	switch s := s.(type) {
	case *scalar.Boolean:
		if s.Value {
			v.i = 1
		}
	case *scalar.Int8:
		v.i = int64(s.Value)
	case *scalar.Int16:
		v.i = int64(s.Value)
	case *scalar.Int32:
		v.i = int64(s.Value)
	case *scalar.Int64:
		v.i = s.Value
	case *scalar.Float32:
		v.f = float64(s.Value)
	case *scalar.Float64:
		v.f = s.Value
	case *scalar.Decimal128:
		v.d = s.Value
	case *scalar.String:
		v.s = string(s.Value.Bytes())
	case *scalar.Binary:
		v.s = string(s.Value.Bytes())
	case *scalar.Date32:
		v.i = int64(s.Value)
	case *scalar.Timestamp:
		v.i = int64(s.Value)
	default:
		return datum{}, errNoConstant
	}
	if v.kind == kindOther {
		return datum{}, errNoConstant
	}
	return v, nil
}

// unscaled gives an integer or decimal as n / 10^scale.
func (v datum) unscaled() (n *big.Int, scale int32) {
	if v.kind == kindDecimal {
		return v.d.BigInt(), v.scale
	}
	return big.NewInt(v.i), 0
}

// float is the double nearest to a number.
func (v datum) float() float64 {
	if v.kind == kindFloat {
		return v.f
	}
	n, scale := v.unscaled()
	return nearestFloat(n, scale)
}

// nearestFloat is the double nearest to n / 10^scale.
func nearestFloat(n *big.Int, scale int32) float64 {
	f, _ := new(big.Rat).SetFrac(n, pow10(scale)).Float64()
	return f
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

const microsADay = 24 * 60 * 60 * 1_000_000

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

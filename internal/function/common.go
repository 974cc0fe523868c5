package function

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
)

// sqlName is the word for a type in errors.
func sqlName(t arrow.DataType) string { return expr.TypeName(t) }

// Common is the type that values of several types have together, as the branches of a CASE or the
// arguments of greatest have: the wider of two numbers, DOUBLE for a FLOAT with an integer and for a
// decimal with a FLOAT or DOUBLE, a decimal for a decimal with an integer; TIMESTAMP and then
// TIMESTAMP_NTZ before DATE; elements, fields of equal names, keys and values each for themselves. NULL
// takes any type. Of decimals that together need more than 38 digits, digits after the point are given
// up. It is an error if there is none, and between a string and anything else, where Spark would read
// the string.
func Common(types ...arrow.DataType) (arrow.DataType, error) {
	var t arrow.DataType = arrow.Null
	for _, other := range types {
		next := commonOfTwo(t, other)
		if next == nil {
			err := fmt.Errorf("%s and %s have no type in common: CAST one of them", sqlName(t), sqlName(other))
			return nil, err
		}
		t = next
	}
	return t, nil
}

// commonOfTwo is nil if there is none.
func commonOfTwo(a, b arrow.DataType) arrow.DataType {
	switch {
	case isUntyped(a):
		return orNull(b)
	case isUntyped(b) || arrow.TypeEqual(a, b):
		return a
	case isNumber(a) && isNumber(b):
		return commonNumber(a, b)
	case isTemporal(a) && isTemporal(b):
		return commonTime(a, b)
	}
	return commonNested(a, b)
}

func orNull(t arrow.DataType) arrow.DataType {
	if t == nil {
		return arrow.Null
	}
	return t
}

func commonNumber(a, b arrow.DataType) arrow.DataType {
	switch {
	case isInteger(a) && isInteger(b):
		return widerInteger(a, b)
	case isFloat(a) || isFloat(b):
		return arrow.PrimitiveTypes.Float64
	}
	return commonDecimal(decimalFor(Param{}, a), decimalFor(Param{}, b))
}

func commonDecimal(a, b *arrow.Decimal128Type) arrow.DataType {
	scale := max(a.Scale, b.Scale)
	precision := max(a.Precision-a.Scale, b.Precision-b.Scale) + scale
	if over := precision - maxPrecision; over > 0 {
		precision, scale = maxPrecision, max(scale-over, 0)
	}
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

func commonTime(a, b arrow.DataType) arrow.DataType {
	switch {
	case isInstant(a):
		return a
	case isInstant(b) || isMicros(b):
		return b
	}
	return a
}

func commonNested(a, b arrow.DataType) arrow.DataType {
	switch a := a.(type) {
	case *arrow.ListType:
		if b, ok := b.(*arrow.ListType); ok {
			if f, ok := commonField(a.ElemField(), b.ElemField()); ok {
				return arrow.ListOfField(f)
			}
		}
	case *arrow.MapType:
		if b, ok := b.(*arrow.MapType); ok {
			key, okKey := commonField(a.KeyField(), b.KeyField())
			item, okItem := commonField(a.ItemField(), b.ItemField())
			if okKey && okItem {
				return arrow.MapOfFields(key, item)
			}
		}
	case *arrow.StructType:
		if b, ok := b.(*arrow.StructType); ok {
			return commonStruct(a, b)
		}
	}
	return nil
}

func commonField(a, b arrow.Field) (arrow.Field, bool) {
	t := commonOfTwo(a.Type, b.Type)
	return arrow.Field{Name: a.Name, Type: t, Nullable: a.Nullable || b.Nullable}, t != nil
}

func commonStruct(a, b *arrow.StructType) arrow.DataType {
	if a.NumFields() != b.NumFields() {
		return nil
	}
	fields := make([]arrow.Field, a.NumFields())
	for i := range fields {
		f, ok := commonField(a.Field(i), b.Field(i))
		if !ok || !strings.EqualFold(a.Field(i).Name, b.Field(i).Name) {
			return nil
		}
		fields[i] = f
	}
	return arrow.StructOf(fields...)
}

// Implicit says whether values become another type without a CAST: NULL becomes anything, a number a
// wider one in the order TINYINT, SMALLINT, INT, BIGINT, decimal, FLOAT, DOUBLE, a DATE a TIMESTAMP or
// TIMESTAMP_NTZ, a TIMESTAMP_NTZ a TIMESTAMP. Nothing is lost by it but digits that a DOUBLE does not
// hold, of a BIGINT or a decimal: integers become a FLOAT only if it holds all of them, and decimals no
// FLOAT.
func Implicit(from, to arrow.DataType) bool {
	switch {
	case isUntyped(from) || arrow.TypeEqual(from, to):
		return true
	case isUntyped(to):
		return false
	case isNumber(from) && isNumber(to):
		return widerNumber(from, to)
	case isTemporal(from) && isTemporal(to):
		return from.ID() == arrow.DATE32 || isInstant(to)
	}
	return implicitNested(from, to)
}

func widerNumber(from, to arrow.DataType) bool {
	switch {
	case to.ID() == arrow.FLOAT64:
		return true
	case to.ID() == arrow.FLOAT32:
		return from.ID() == arrow.INT8 || from.ID() == arrow.INT16
	case isFloat(from):
		return false
	case isInteger(to):
		return isInteger(from) && bitWidth(from) <= bitWidth(to)
	}
	a, b := decimalFor(Param{}, from), to.(*arrow.Decimal128Type)
	return a.Scale <= b.Scale && a.Precision-a.Scale <= b.Precision-b.Scale
}

func implicitNested(from, to arrow.DataType) bool {
	switch from := from.(type) {
	case *arrow.ListType:
		to, ok := to.(*arrow.ListType)
		return ok && Implicit(from.Elem(), to.Elem())
	case *arrow.MapType:
		to, ok := to.(*arrow.MapType)
		return ok && Implicit(from.KeyType(), to.KeyType()) && Implicit(from.ItemType(), to.ItemType())
	case *arrow.StructType:
		to, ok := to.(*arrow.StructType)
		if !ok || from.NumFields() != to.NumFields() {
			return false
		}
		for i := range from.NumFields() {
			if !strings.EqualFold(from.Field(i).Name, to.Field(i).Name) || !Implicit(from.Field(i).Type, to.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

package parquetio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
)

// schemaElement reads a SchemaElement. A logical type outranks a converted type.
func (r *footerReader) schemaElement() {
	e := element{node: node{rep: parquet.Repetitions.Required}}
	n := &e.node
	converted, logical := int64(-1), false
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			e.hasType = true
			n.phys = parquet.Type(r.enum(7))
		case id == 2 && typ == tI32:
			n.typeLen = int(int32(r.int()))
		case id == 3 && typ == tI32:
			n.rep = parquet.Repetition(r.enum(2))
		case id == 4 && typ == tBinary:
			n.name = r.name()
		case id == 5 && typ == tI32:
			e.children = r.int()
		case id == 6 && typ == tI32:
			converted = r.int()
		case id == 7 && typ == tI32:
			n.scale = int(int32(r.int()))
		case id == 8 && typ == tI32:
			n.precision = int(int32(r.int()))
		case id == 9 && typ == tI32:
			n.id, n.hasID = int32(r.int()), true
		case id == 10 && typ == tStruct:
			logical = true
			r.logicalType(n)
		default:
			r.skip(typ)
		}
	})
	if !logical {
		n.convert(converted)
	}
	r.elems = append(r.elems, e)
}

// enum reads a value of an enumeration from 0 to top.
func (r *footerReader) enum(top int64) int64 {
	v := r.int()
	if v < 0 || v > top {
		r.fail(errThriftType)
		return 0
	}
	return v
}

func (r *footerReader) name() string {
	b := r.binary()
	if len(b) > maxNameBytes {
		r.fail(beyond(fmt.Sprintf("a column name of %d bytes", len(b)), maxNameBytes, "rename the column"))
		return ""
	}
	return string(b)
}

// logicalType reads a LogicalType, a union with one field.
func (r *footerReader) logicalType(n *node) {
	r.fields(func(id int16, typ byte) {
		if typ != tStruct {
			r.skip(typ)
			return
		}
		switch id {
		case 1, 4, 12: // STRING, ENUM, JSON
			n.note = stringType
			r.skip(typ)
		case 2:
			n.note = mapType
			r.skip(typ)
		case 3:
			n.note = listType
			r.skip(typ)
		case 5:
			n.note = decimalType
			r.decimalParams(n)
		case 6:
			n.note = dateType
			r.skip(typ)
		case 7:
			if n.note = otherType; r.timeUnit(n) == unitMicros {
				n.note = timeType
			}
		case 8:
			n.note = timestampNotes[r.timeUnit(n)]
		case 10:
			r.integerParams(n)
		case 14:
			n.note = uuidType
			r.skip(typ)
		case 16:
			n.note = variantType
			r.skip(typ)
		default:
			n.note = otherType
			r.skip(typ)
		}
	})
}

func (r *footerReader) decimalParams(n *node) {
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			n.scale = int(int32(r.int()))
		case id == 2 && typ == tI32:
			n.precision = int(int32(r.int()))
		default:
			r.skip(typ)
		}
	})
}

// The units of a TimeUnit, a union with one field.
const (
	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

var timestampNotes = [...]annotation{otherType, unitMillis: millisType, unitMicros: microsType, unitNanos: nanosType}

// timeUnit reads a TimeType or TimestampType; the unit is 0 for one that is not known.
func (r *footerReader) timeUnit(n *node) (unit int16) {
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && (typ == tTrue || typ == tFalse):
			n.utc = typ == tTrue
		case id == 2 && typ == tStruct:
			r.fields(func(id int16, t byte) {
				if id >= unitMillis && id <= unitNanos {
					unit = id
				}
				r.skip(t)
			})
		default:
			r.skip(typ)
		}
	})
	return unit
}

func (r *footerReader) integerParams(n *node) {
	signed := true
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tByte:
			n.bits = int(r.byte())
		case id == 2 && (typ == tTrue || typ == tFalse):
			signed = typ == tTrue
		default:
			r.skip(typ)
		}
	})
	if n.note = plainType; !signed {
		n.note = unsignedType
	}
}

// convert applies a ConvertedType of the older format.
func (n *node) convert(t int64) {
	switch t {
	case 0, 4, 19: // UTF8, ENUM, JSON
		n.note = stringType
	case 1, 2: // MAP, MAP_KEY_VALUE
		n.note = mapType
	case 3:
		n.note = listType
	case 5:
		n.note = decimalType
	case 6:
		n.note = dateType
	case 9:
		n.note, n.utc = millisType, true
	case 10:
		n.note, n.utc = microsType, true
	case 11, 12, 13, 14: // UINT_8 to UINT_64
		n.note, n.bits = unsignedType, 8<<(t-11)
	case 15, 16, 17, 18: // INT_8 to INT_64
		n.note, n.bits = plainType, 8<<(t-15)
	case 7, 8, 20, 21: // TIME_MILLIS, TIME_MICROS, BSON, INTERVAL
		n.note = otherType
	}
}

package parquetio

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
)

// naturalType is the Arrow type that a file's column is read as when no table says it; nil for what statistics never
// hold.
func naturalType(n *node) arrow.DataType {
	if n.repeated() {
		return nil
	}
	if !n.isLeaf() {
		var fields []arrow.Field
		for _, c := range n.children {
			if t := naturalType(c); t != nil {
				fields = append(fields, arrow.Field{Name: c.name, Type: t, Nullable: true})
			}
		}
		if len(fields) == 0 {
			return nil
		}
		return arrow.StructOf(fields...)
	}
	switch n.note {
	case decimalType:
		return n.decimal()
	case dateType:
		return arrow.FixedWidthTypes.Date32
	case stringType:
		return textType
	case millisType, microsType, nanosType:
		return n.timestamp()
	case plainType:
		return plainNaturalType(n)
	}
	return nil
}

func plainNaturalType(n *node) arrow.DataType {
	switch n.phys {
	case parquet.Types.Int32, parquet.Types.Int64:
		return longType
	case parquet.Types.Float:
		return arrow.PrimitiveTypes.Float32
	case parquet.Types.Double:
		return arrow.PrimitiveTypes.Float64
	case parquet.Types.Int96:
		return n.timestamp()
	case parquet.Types.Boolean:
		return boolType
	case parquet.Types.ByteArray:
		return textType
	}
	return nil
}

// statsJSON rebuilds the text of add.stats from its typed form. What has no text form in statistics is left out.
func statsJSON(s *array.Struct, i int) string {
	return string(appendStruct(nil, s, i))
}

func appendStruct(b []byte, s *array.Struct, i int) []byte {
	b = append(b, '{')
	first := true
	for k, f := range s.DataType().(*arrow.StructType).Fields() {
		mark := len(b)
		if !first {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, f.Name), ':')
		start := len(b)
		if b = appendCell(b, s.Field(k), i); len(b) == start {
			b = b[:mark]
			continue
		}
		first = false
	}
	return append(b, '}')
}

// appendCell appends nothing for NULL, for a struct of nothing and for what statistics do not hold.
func appendCell(b []byte, arr arrow.Array, i int) []byte {
	if arr.IsNull(i) {
		return b
	}
	switch a := arr.(type) {
	case *array.Struct:
		if out := appendStruct(b, a, i); len(out) > len(b)+len("{}") {
			return out
		}
		return b
	case *array.Int64:
		return strconv.AppendInt(b, a.Value(i), 10)
	case *array.Float32:
		return appendFloat(b, float64(a.Value(i)), 32)
	case *array.Float64:
		return appendFloat(b, a.Value(i), 64)
	case *array.Boolean:
		return strconv.AppendBool(b, a.Value(i))
	case *array.String:
		return appendQuoted(b, a.Value(i))
	case *array.Decimal128:
		return append(b, a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)...)
	case *array.Date32:
		return appendTime(b, time.Unix(int64(a.Value(i))*86400, 0), "2006-01-02")
	case *array.Timestamp:
		layout := "2006-01-02T15:04:05.000000"
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			layout += "Z"
		}
		return appendTime(b, time.UnixMicro(int64(a.Value(i))), layout)
	}
	return b
}

func appendFloat(b []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

func appendTime(b []byte, t time.Time, layout string) []byte {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return b
	}
	b = append(b, '"')
	return append(t.UTC().AppendFormat(b, layout), '"')
}

func appendQuoted(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		return b
	}
	return append(b, q...)
}

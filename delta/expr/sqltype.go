package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// sqlTypes are the words for types that CAST takes, beside DECIMAL(p, s).
var sqlTypes = map[string]arrow.DataType{
	"BOOLEAN":       arrow.FixedWidthTypes.Boolean,
	"TINYINT":       arrow.PrimitiveTypes.Int8,
	"BYTE":          arrow.PrimitiveTypes.Int8,
	"SMALLINT":      arrow.PrimitiveTypes.Int16,
	"SHORT":         arrow.PrimitiveTypes.Int16,
	"INT":           arrow.PrimitiveTypes.Int32,
	"INTEGER":       arrow.PrimitiveTypes.Int32,
	"BIGINT":        arrow.PrimitiveTypes.Int64,
	"LONG":          arrow.PrimitiveTypes.Int64,
	"FLOAT":         arrow.PrimitiveTypes.Float32,
	"REAL":          arrow.PrimitiveTypes.Float32,
	"DOUBLE":        arrow.PrimitiveTypes.Float64,
	"STRING":        arrow.BinaryTypes.String,
	"BINARY":        arrow.BinaryTypes.Binary,
	"DATE":          arrow.FixedWidthTypes.Date32,
	"TIMESTAMP":     timestampType,
	"TIMESTAMP_LTZ": timestampType,
	"TIMESTAMP_NTZ": timestampNTZType,
}

// TypeName is the word for a type in Spark SQL. A type that SQL has no word for keeps Arrow's.
func TypeName(t arrow.DataType) string {
	if t == nil {
		return "VOID"
	}
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return "TIMESTAMP_NTZ"
		}
		return "TIMESTAMP"
	case arrow.DecimalType:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.GetPrecision(), t.GetScale())
	}
	switch t.ID() {
	case arrow.BOOL:
		return "BOOLEAN"
	case arrow.INT8:
		return "TINYINT"
	case arrow.INT16:
		return "SMALLINT"
	case arrow.INT32:
		return "INT"
	case arrow.INT64:
		return "BIGINT"
	case arrow.FLOAT32:
		return "FLOAT"
	case arrow.FLOAT64:
		return "DOUBLE"
	case arrow.STRING, arrow.LARGE_STRING:
		return "STRING"
	case arrow.BINARY, arrow.LARGE_BINARY:
		return "BINARY"
	case arrow.DATE32:
		return "DATE"
	case arrow.INTERVAL_MONTH_DAY_NANO:
		return "INTERVAL"
	}
	return t.String()
}

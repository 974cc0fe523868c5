package records

import (
	"database/sql"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// sqlSchema takes the types of columns from what the driver says of them.
func sqlSchema(types []*sql.ColumnType) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(types))
	for i, t := range types {
		typ, why := sqlType(t)
		if why != "" {
			return nil, inputErrorf("column %q of the query (%s): %s; say its type by SQLOptions.Schema, or cast it in the query", t.Name(), t.DatabaseTypeName(), why)
		}
		fields[i] = arrow.Field{Name: t.Name(), Type: typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil), nil
}

// sqlType is the type of a column. A database's own name of it decides where Go's says too little:
// decimals, dates, times, and what is text and what bytes.
func sqlType(c *sql.ColumnType) (t arrow.DataType, why string) {
	name, size := sqlName(c.DatabaseTypeName())
	switch sqlFamily(name) {
	case decimalFamily:
		return sqlDecimal(c, size)
	case dateFamily:
		return arrow.FixedWidthTypes.Date32, ""
	case timestampFamily:
		return arrow.FixedWidthTypes.Timestamp_us, ""
	}
	if t := sqlScanType(c.ScanType()); t != nil {
		return t, ""
	}
	switch sqlFamily(name) {
	case integerFamily:
		return arrow.PrimitiveTypes.Int64, ""
	case floatFamily:
		return arrow.PrimitiveTypes.Float64, ""
	case boolFamily:
		return arrow.FixedWidthTypes.Boolean, ""
	case textFamily:
		return arrow.BinaryTypes.String, ""
	case bytesFamily:
		return arrow.BinaryTypes.Binary, ""
	}
	return nil, "its type is not one that is known"
}

// sqlName takes a name as "decimal(12,2)" or "BIGINT UNSIGNED" apart.
func sqlName(text string) (name, size string) {
	name, size, _ = strings.Cut(strings.ToUpper(text), "(")
	size, _, _ = strings.Cut(size, ")")
	return strings.TrimSpace(name), size
}

type sqlTypeFamily int

const (
	unknownFamily sqlTypeFamily = iota
	decimalFamily
	dateFamily
	timestampFamily
	integerFamily
	floatFamily
	boolFamily
	textFamily
	bytesFamily
)

// sqlFamily finds what databases call a type; the words are those of PostgreSQL, MySQL, SQL Server,
// Oracle and SQLite.
func sqlFamily(name string) sqlTypeFamily {
	switch name {
	case "DECIMAL", "NUMERIC", "NUMBER", "DEC":
		return decimalFamily
	case "DATE":
		return dateFamily
	case "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE",
		"DATETIME", "DATETIME2", "DATETIMEOFFSET", "SMALLDATETIME":
		return timestampFamily
	case "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8", "SERIAL", "BIGSERIAL",
		"UNSIGNED INT", "UNSIGNED BIGINT", "UNSIGNED SMALLINT", "UNSIGNED TINYINT", "UNSIGNED MEDIUMINT":
		return integerFamily
	case "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION", "FLOAT4", "FLOAT8", "BINARY_FLOAT", "BINARY_DOUBLE":
		return floatFamily
	case "BOOL", "BOOLEAN":
		return boolFamily
	case "TEXT", "VARCHAR", "CHAR", "BPCHAR", "NVARCHAR", "NCHAR", "NTEXT", "VARCHAR2", "NVARCHAR2", "CLOB", "NCLOB", "CITEXT", "NAME",
		"TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "SET", "JSON", "JSONB", "UUID", "XML":
		return textFamily
	case "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BYTEA", "BINARY", "VARBINARY", "IMAGE", "RAW":
		return bytesFamily
	}
	return unknownFamily
}

func sqlDecimal(c *sql.ColumnType, size string) (arrow.DataType, string) {
	precision, scale, ok := c.DecimalSize()
	if !ok && size != "" {
		p, s, _ := strings.Cut(size, ",")
		var errP, errS error
		precision, errP = strconv.ParseInt(strings.TrimSpace(p), 10, 32)
		if s != "" {
			scale, errS = strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		}
		ok = errP == nil && errS == nil
	}
	switch {
	case !ok:
		return nil, "the driver does not say the size of the decimal"
	case precision < 1 || precision > 38 || scale < 0 || scale > precision:
		return nil, fmt.Sprintf("a table has no decimal(%d,%d)", precision, scale)
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, ""
}

// sqlScanType is the type of a column for the Go types that say all; nil for others, bytes among
// them, which drivers have for text too.
func sqlScanType(t reflect.Type) arrow.DataType {
	if t == nil {
		return nil
	}
	if isSQLNull(t) {
		t = t.Field(0).Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == timeType {
		return arrow.FixedWidthTypes.Timestamp_us
	}
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		return nil
	}
	if p := planKind(t); p != nil {
		return p.typ
	}
	return nil
}

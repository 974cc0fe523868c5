package delta

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

var (
	arrowTimestamp    = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	arrowTimestampNTZ = &arrow.TimestampType{Unit: arrow.Microsecond}
)

// ArrowType gives the Arrow type in which idem holds a column: utf8, int64 … int8, float32, float64, bool, binary, date32,
// timestamp[us, UTC] for timestamp, timestamp[us] for timestamp_ntz, decimal128, null for void, struct<value: binary,
// metadata: binary> for variant (see IsVariant), struct, list (of "element") and map. A type that idem does not know wraps
// ErrUnsupported.
func ArrowType(t Type) (arrow.DataType, error) {
	switch t := t.(type) {
	case Primitive:
		if dt := arrowPrimitive(t); dt != nil {
			return dt, nil
		}
	case Decimal:
		if t.valid() {
			return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
		}
	case *Struct:
		fields, err := arrowFields(t)
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(fields...), nil
	case *Array:
		element, err := ArrowType(t.Element)
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(arrow.Field{Name: "element", Type: element, Nullable: t.ContainsNull}), nil
	case *Map:
		key, err := ArrowType(t.Key)
		if err != nil {
			return nil, err
		}
		value, err := ArrowType(t.Value)
		if err != nil {
			return nil, err
		}
		entries := arrow.MapOf(key, value)
		entries.SetItemNullable(t.ValueContainsNull)
		return entries, nil
	}
	return nil, fmt.Errorf("type %v is not one that idem holds: %w", t, ErrUnsupported)
}

func arrowPrimitive(p Primitive) arrow.DataType {
	switch p {
	case String:
		return arrow.BinaryTypes.String
	case Long:
		return arrow.PrimitiveTypes.Int64
	case Integer:
		return arrow.PrimitiveTypes.Int32
	case Short:
		return arrow.PrimitiveTypes.Int16
	case Byte:
		return arrow.PrimitiveTypes.Int8
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Binary:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Timestamp:
		return arrowTimestamp
	case TimestampNTZ:
		return arrowTimestampNTZ
	case Void:
		return arrow.Null
	case Variant:
		return variantType
	}
	return nil
}

func arrowFields(s *Struct) ([]arrow.Field, error) {
	fields := make([]arrow.Field, len(s.Fields))
	for i, f := range s.Fields {
		dt, err := ArrowType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		fields[i] = arrow.Field{Name: f.Name, Type: dt, Nullable: f.Nullable}
	}
	return fields, nil
}

// ArrowSchema gives the Arrow schema of rows: all columns in the schema's order, partition columns at their place.
func ArrowSchema(s *Struct) (*arrow.Schema, error) {
	fields, err := arrowFields(s)
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(fields, nil), nil
}

// FromArrow gives the schema that holds rows of an Arrow schema. Strings and binaries of every layout, dictionaries of
// strings, lists of every layout, dates of both widths, decimals up to 38 digits and timestamps of every unit (with a time zone:
// timestamp, without: timestamp_ntz) have a place; so have variants, as ArrowType(Variant) and as Arrow's extension type.
// Nullability is kept, metadata is not. A type that Delta lacks, unsigned integers and half floats among them, wraps
// ErrInput and names the column.
func FromArrow(s *arrow.Schema) (*Struct, error) {
	return fromArrowFields(s.Fields(), "", 0)
}

func fromArrowFields(fields []arrow.Field, path string, depth int) (*Struct, error) {
	s := &Struct{Fields: make([]Field, len(fields))}
	for i, f := range fields {
		t, err := fromArrowType(f.Type, path+f.Name, depth+1)
		if err != nil {
			return nil, err
		}
		s.Fields[i] = Field{Name: f.Name, Type: t, Nullable: f.Nullable}
	}
	return s, nil
}

func fromArrowType(dt arrow.DataType, path string, depth int) (Type, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("column %.80q… is nested deeper than %d levels: %w", path, maxSchemaDepth, ErrInput)
	}
	if IsVariant(dt) || isVariantExtension(dt) {
		return Variant, nil
	}
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		if dt.TimeZone != "" {
			return Timestamp, nil
		}
		return TimestampNTZ, nil
	case arrow.DecimalType:
		d := Decimal{Precision: int(dt.GetPrecision()), Scale: int(dt.GetScale())}
		if !d.valid() {
			return nil, fmt.Errorf("column %q: Delta has no %s (precision 1 to 38, scale 0 to the precision): cast it: %w", path, dt, ErrInput)
		}
		return d, nil
	case *arrow.DictionaryType:
		if fromArrowPrimitive(dt.ValueType) == String {
			return String, nil
		}
		return nil, fmt.Errorf("column %q: a dictionary of %s is not taken, only of strings: cast it to %s: %w", path, dt.ValueType, dt.ValueType, ErrInput)
	case *arrow.MapType:
		return fromArrowMap(dt, path, depth)
	case arrow.ListLikeType:
		element, err := fromArrowType(dt.Elem(), path+".element", depth+1)
		if err != nil {
			return nil, err
		}
		return &Array{Element: element, ContainsNull: dt.ElemField().Nullable}, nil
	case *arrow.StructType:
		return fromArrowFields(dt.Fields(), path+".", depth)
	}
	if p := fromArrowPrimitive(dt); p != "" {
		return p, nil
	}
	return nil, fmt.Errorf("column %q: Delta has no type for %s: %s: %w", path, dt, castAdvice(dt), ErrInput)
}

func fromArrowMap(dt *arrow.MapType, path string, depth int) (Type, error) {
	key, err := fromArrowType(dt.KeyType(), path+".key", depth+1)
	if err != nil {
		return nil, err
	}
	value, err := fromArrowType(dt.ItemType(), path+".value", depth+1)
	if err != nil {
		return nil, err
	}
	return &Map{Key: key, Value: value, ValueContainsNull: dt.ItemField().Nullable}, nil
}

func fromArrowPrimitive(dt arrow.DataType) Primitive {
	switch dt.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return String
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return Binary
	case arrow.INT64:
		return Long
	case arrow.INT32:
		return Integer
	case arrow.INT16:
		return Short
	case arrow.INT8:
		return Byte
	case arrow.FLOAT32:
		return Float
	case arrow.FLOAT64:
		return Double
	case arrow.BOOL:
		return Boolean
	case arrow.DATE32, arrow.DATE64:
		return Date
	case arrow.NULL:
		return Void
	}
	return ""
}

// castAdvice says what to do with a column of a type that Delta lacks.
func castAdvice(dt arrow.DataType) string {
	switch dt.ID() {
	case arrow.UINT8:
		return "cast it to int16"
	case arrow.UINT16:
		return "cast it to int32"
	case arrow.UINT32:
		return "cast it to int64"
	case arrow.UINT64:
		return "cast it to int64 or decimal128(20, 0)"
	case arrow.FLOAT16:
		return "cast it to float32"
	case arrow.EXTENSION:
		return "pass its storage type"
	}
	return "cast it to a type that Delta has"
}

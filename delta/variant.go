package delta

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Limits of a variant value.
const (
	maxVariantDepth = 1000
	maxVariantText  = 128 << 20
)

// variantMark is the metadata of the fields of a variant's Arrow type. It tells the type from a struct of a table that
// happens to have two binary fields of these names. Arrow does not look at it when it compares types.
const variantMark = "DELTA:variant"

var variantType = arrow.StructOf(variantPart("value"), variantPart("metadata"))

func variantPart(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.BinaryTypes.Binary, Metadata: arrow.NewMetadata([]string{variantMark}, []string{name})}
}

// IsVariant says whether an Arrow type is that of a variant column, ArrowType(Variant), and not of a struct with fields
// of the same names and types.
func IsVariant(dt arrow.DataType) bool {
	st, ok := dt.(*arrow.StructType)
	return ok && st != nil && arrow.TypeEqual(st, variantType) && st.Field(0).Metadata.FindKey(variantMark) >= 0
}

// isVariantExtension is true of the extension type by which Arrow knows a variant that is not shredded.
func isVariantExtension(dt arrow.DataType) bool {
	ext, ok := dt.(arrow.ExtensionType)
	if !ok || ext.ExtensionName() != "arrow.parquet.variant" && ext.ExtensionName() != "parquet.variant" {
		return false
	}
	st, ok := ext.StorageType().(*arrow.StructType)
	if !ok || st.NumFields() != 2 {
		return false
	}
	for _, f := range st.Fields() {
		if f.Name != "value" && f.Name != "metadata" || fromArrowPrimitive(f.Type) != Binary {
			return false
		}
	}
	return true
}

// VariantJSON gives a variant, as the two binaries of which a variant column consists, as the JSON text that Spark's to_json
// makes of it: an object's fields in their stored order; decimals without zeros at their end; what JSON has no form for
// (dates, timestamps in UTC, binaries in base64, UUIDs, NaN and infinities) as strings. What is no well-formed variant wraps
// ErrCorrupt; a text of more than 128 MiB wraps ErrUnsupported.
func VariantJSON(metadata, value []byte) (string, error) {
	w := variantWalker{left: len(value), prints: true}
	if err := w.walk(metadata, value); err != nil {
		return "", err
	}
	return string(w.text), nil
}

// CheckVariant is nil if two binaries are a well-formed variant that every reader reads the same: sizes within bounds, an
// object's keys in order and distinct, strings in UTF-8, no byte that belongs to no value. Otherwise the error wraps
// ErrInput.
func CheckVariant(metadata, value []byte) error {
	w := variantWalker{left: len(value), strict: true}
	err := w.walk(metadata, value)
	if err == nil && w.left > 0 {
		err = fmt.Errorf("%d bytes that belong to no value", w.left)
	}
	if err != nil {
		return fmt.Errorf("%w: malformed variant: %v", ErrInput, err)
	}
	return nil
}

// VariantField is a field of a variant object.
type VariantField struct {
	ID    int // of the key in the metadata
	Key   string
	Value []byte // the variant value, without bytes after it
}

// VariantFields gives the fields of a variant object in their stored order. The values are parts of value; what is below
// them is not looked at. What is no object, or whose fields are not within it, wraps ErrCorrupt.
func VariantFields(metadata, value []byte) ([]VariantField, error) {
	dict, err := newVariantDict(metadata)
	if err != nil {
		return nil, malformed(err)
	}
	box, err := openVariantBox(value)
	if err != nil {
		return nil, malformed(err)
	}
	if !box.object {
		return nil, malformed(fmt.Errorf("an array where an object is expected"))
	}
	fields := make([]VariantField, box.n)
	left := len(box.data)
	for i := range fields {
		f := &fields[i]
		f.ID = box.id(i)
		key, err := dict.key(f.ID)
		if err == nil {
			f.Value, err = box.child(i)
		}
		if err == nil {
			f.Value, err = cutVariant(f.Value)
		}
		if left -= len(f.Value); err == nil && left < 0 {
			err = errVariantOverlap
		}
		if err != nil {
			return nil, malformed(err)
		}
		f.Key = string(key)
	}
	return fields, nil
}

// VariantSize is the length of the variant value with which value begins. One that value does not hold wraps ErrCorrupt.
func VariantSize(value []byte) (int, error) {
	v, err := cutVariant(value)
	if err != nil {
		return 0, malformed(err)
	}
	return len(v), nil
}

// VariantKeys calls f with the id and the key of each entry of a variant's metadata, until it returns false. The key is
// valid during the call. Malformed metadata wraps ErrCorrupt.
func VariantKeys(metadata []byte, f func(id int, key []byte) bool) error {
	dict, err := newVariantDict(metadata)
	if err != nil {
		return malformed(err)
	}
	for id := range dict.size {
		key, err := dict.key(id)
		if err != nil {
			return malformed(err)
		}
		if !f(id, key) {
			break
		}
	}
	return nil
}

func malformed(err error) error { return fmt.Errorf("%w: malformed variant: %w", ErrCorrupt, err) }

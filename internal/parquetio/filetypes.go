package parquetio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// Schema gives the columns of a file in their order, in the types of delta.ArrowType in which they can be read: unsigned
// integers in the next wider type, timestamps of every unit in microseconds, lists and maps of every layout. r is a
// Reader that Parquet opened.
//
// A column that no table type holds is left out of the schema and named in others, with what it is. Two columns or
// fields of one name are an error that wraps delta.ErrInput.
func Schema(r Reader) (s *arrow.Schema, others map[string]string, err error) {
	file, ok := r.(*reader)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no reader of Parquet files", r)
	}
	others = map[string]string{}
	var fields []arrow.Field
	if err := distinctNames(file.footer.root); err != nil {
		return nil, nil, fmt.Errorf("read the schema of %s: %w", file.src.Name(), err)
	}
	for _, n := range file.footer.root.children {
		t, why := n.arrowType(0)
		if why != "" {
			others[n.name] = why
			continue
		}
		fields = append(fields, arrow.Field{Name: n.name, Type: t, Nullable: n.rep == parquet.Repetitions.Optional})
	}
	return arrow.NewSchema(fields, nil), others, nil
}

// distinctNames refuses groups in which a name does not say which field is meant.
func distinctNames(n *node) error {
	seen := make(map[string]bool, len(n.children))
	for _, c := range n.children {
		if seen[c.name] {
			return fmt.Errorf("%w: there are two columns %q; columns are found by name", delta.ErrInput, c.path())
		}
		seen[c.name] = true
		if err := distinctNames(c); err != nil {
			return err
		}
	}
	return nil
}

// arrowType is the type in which a column or field can be read. why says that there is none. rev is the repetition
// level around the node.
func (n *node) arrowType(rev int16) (t arrow.DataType, why string) {
	if n.repeated() && n.rev != rev { // a field that is itself repeated
		return n.listType(n, n, false)
	}
	switch {
	case n.isLeaf():
		return n.leafArrow()
	case n.note == variantType:
		return n.variantArrow()
	case n.note == listType:
		if len(n.children) != 1 || !n.children[0].repeated() {
			return nil, n.path() + " is annotated as a list and has not the layout of one"
		}
		item := n.children[0]
		if item.isElement(n) {
			return n.listType(item, item, false)
		}
		element := item.children[0]
		return n.listType(item, element, element.rep == parquet.Repetitions.Optional)
	case n.note == mapType:
		return n.mapType()
	}
	fields := make([]arrow.Field, 0, len(n.children))
	for _, c := range n.children {
		t, why := c.arrowType(n.rev)
		if why != "" {
			return nil, why
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: t, Nullable: c.rep == parquet.Repetitions.Optional})
	}
	return arrow.StructOf(fields...), ""
}

// listType is the type of a list with a repeated node and, at it or below it, an element.
func (n *node) listType(item, element *node, nullable bool) (arrow.DataType, string) {
	t, why := element.arrowType(item.rev)
	if why != "" {
		return nil, why
	}
	return arrow.ListOfField(arrow.Field{Name: "element", Type: t, Nullable: nullable}), ""
}

func (n *node) mapType() (arrow.DataType, string) {
	if len(n.children) != 1 || !n.children[0].repeated() || len(n.children[0].children) != 2 {
		return nil, n.path() + " is annotated as a map and has not the layout of one"
	}
	item := n.children[0]
	key, value := item.keyValue()
	k, why := key.arrowType(item.rev)
	if why != "" {
		return nil, why
	}
	v, why := value.arrowType(item.rev)
	if why != "" {
		return nil, why
	}
	t := arrow.MapOf(k, v)
	t.SetItemNullable(value.rep == parquet.Repetitions.Optional)
	return t, ""
}

// variantArrow is the type of a variant, shredded or not.
func (n *node) variantArrow() (arrow.DataType, string) {
	if _, s, err := n.shredded(); err != nil {
		return nil, err.Error()
	} else if s.metadata < 0 {
		return nil, n.path() + " is annotated as a variant and has no metadata"
	}
	t, err := delta.ArrowType(delta.Variant)
	if err != nil {
		return nil, err.Error()
	}
	return t, ""
}

// leafArrow is the type of a column's values.
func (n *node) leafArrow() (t arrow.DataType, why string) {
	for _, t := range n.candidates() {
		if f, err := leafConverter(t, n, true); err == nil && f != nil {
			return t, ""
		}
	}
	return nil, n.path() + " is " + n.describe()
}

// candidates are the types that a column may be read as, by what it says of itself; leafConverter has the last word.
func (n *node) candidates() []arrow.DataType {
	switch {
	case n.note == decimalType:
		if t := n.decimal(); t != nil {
			return []arrow.DataType{t}
		}
		return nil
	case n.note == stringType:
		return []arrow.DataType{arrow.BinaryTypes.String}
	case n.note == dateType:
		return []arrow.DataType{arrow.FixedWidthTypes.Date32}
	case n.phys == parquet.Types.Int96, n.note == millisType, n.note == microsType, n.note == nanosType:
		return []arrow.DataType{n.timestamp()}
	case n.note == unsignedType && n.bits == 8:
		return []arrow.DataType{arrow.PrimitiveTypes.Int16}
	case n.note == unsignedType && n.bits == 16, n.note == plainType && n.phys == parquet.Types.Int32 && (n.bits == 0 || n.bits == 32):
		return []arrow.DataType{arrow.PrimitiveTypes.Int32}
	case n.note == plainType && n.bits == 8:
		return []arrow.DataType{arrow.PrimitiveTypes.Int8}
	case n.note == plainType && n.bits == 16:
		return []arrow.DataType{arrow.PrimitiveTypes.Int16}
	case n.note == unsignedType, n.note == plainType && n.phys == parquet.Types.Int64:
		return []arrow.DataType{arrow.PrimitiveTypes.Int64}
	case n.note == plainType:
		return []arrow.DataType{arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.Binary}
	}
	return nil
}

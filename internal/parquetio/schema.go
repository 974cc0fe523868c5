package parquetio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/idemtable/idem/delta"
)

// Limits of a file's schema.
const (
	maxSchemaDepth  = 2 * 64 // a table's schema has at most 64 levels, and a list or map takes two in a file
	maxSchemaLeaves = 61_000 // a table's has at most 10,000, of which a variant is two, and a checkpoint has two bounds and a count of each
	maxSchemaNodes  = 2 * maxSchemaLeaves
	maxNameBytes    = 1 << 10
	maxFixedBytes   = 1 << 20
)

// annotation says what a column's or group's physical type stands for.
type annotation int

const (
	plainType annotation = iota
	stringType
	mapType
	listType
	decimalType
	dateType
	millisType // timestamps
	microsType
	nanosType
	unsignedType
	timeType // in microseconds, of a shredded variant
	uuidType // of a shredded variant
	variantType
	otherType // an annotation that no table type is stored as
)

// node is an element of a file's schema.
type node struct {
	name     string
	id       int32 // field_id
	hasID    bool
	parent   *node // nil for the root
	rep      parquet.Repetition
	children []*node // of a group
	leaf     int     // index of the column, -1 for a group

	phys      parquet.Type
	typeLen   int
	note      annotation
	precision int
	scale     int
	utc       bool // of a timestamp: isAdjustedToUTC
	bits      int  // of an integer annotation; 0 if there is none

	// The levels of a value at this node that is not NULL, as in the Dremel encoding.
	def int16
	rev int16 // repetition level
}

func (n *node) isLeaf() bool   { return n.leaf >= 0 }
func (n *node) repeated() bool { return n.rep == parquet.Repetitions.Repeated }

// path is the node's name with those of the groups around it.
func (n *node) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.name
	}
	return n.parent.path() + "." + n.name
}

// child finds a field by name: as spelled, else ignoring case, nil if there is none. other is a second one that has the
// name but for case, where none is spelled so.
func (n *node) child(name string) (found, other *node) {
	for _, c := range n.children {
		if c.name == name {
			return c, nil
		}
	}
	for _, c := range n.children {
		switch {
		case !strings.EqualFold(c.name, name):
		case found == nil:
			found = c
		default:
			return found, c
		}
	}
	return found, nil
}

// childByID finds a field by its id, nil if there is none.
func (n *node) childByID(id int32) (*node, error) {
	var found *node
	for _, c := range n.children {
		if !c.hasID || c.id != id {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: columns %s and %s have both the field_id %d", delta.ErrCorrupt, found.path(), c.path(), id)
		}
		found = c
	}
	return found, nil
}

// anyID says whether a node below n has an id.
func (n *node) anyID() bool {
	return slices.ContainsFunc(n.children, func(c *node) bool { return c.hasID || c.anyID() })
}

// isElement says whether the repeated node of a list is the element itself, by the format's rules for the layouts of
// old writers.
func (n *node) isElement(list *node) bool {
	return n.isLeaf() || len(n.children) > 1 || n.name == "array" || n.name == list.name+"_tuple"
}

// keyValue gives the key and the value of a map's repeated node, whichever comes first. value is nil where there is none.
func (n *node) keyValue() (key, value *node) {
	key = n.children[0]
	if len(n.children) == 1 {
		return key, nil
	}
	value = n.children[1]
	if value.name == "key" || key.name == "value" {
		key, value = value, key
	}
	return key, value
}

// decimal is the type of a column annotated as a decimal, nil if no table has it.
func (n *node) decimal() arrow.DataType {
	if n.precision < 1 || n.precision > 38 || n.scale < 0 || n.scale > n.precision {
		return nil
	}
	return &arrow.Decimal128Type{Precision: int32(n.precision), Scale: int32(n.scale)}
}

// timestamp is the type of a column of timestamps.
func (n *node) timestamp() arrow.DataType {
	if n.utc || n.phys == parquet.Types.Int96 {
		return arrow.FixedWidthTypes.Timestamp_us
	}
	return &arrow.TimestampType{Unit: arrow.Microsecond}
}

// physical says whether the node's values are of one of the types.
func (n *node) physical(types ...parquet.Type) bool { return slices.Contains(types, n.phys) }

// firstLeaf gives a column below the node from which its own levels can be told, the least nested one.
func (n *node) firstLeaf() *node {
	if n.isLeaf() {
		return n
	}
	var best *node
	for _, c := range n.children {
		if l := c.firstLeaf(); best == nil || l.rev < best.rev {
			best = l
		}
	}
	return best
}

// describe is the node's type for messages.
func (n *node) describe() string {
	if !n.isLeaf() {
		return "a group"
	}
	s := n.phys.String()
	if n.phys == parquet.Types.FixedLenByteArray {
		s = fmt.Sprintf("%s(%d)", s, n.typeLen)
	}
	switch n.note {
	case plainType:
	case stringType:
		s += " as string"
	case decimalType:
		s += fmt.Sprintf(" as decimal(%d,%d)", n.precision, n.scale)
	case dateType:
		s += " as date"
	case millisType, microsType, nanosType:
		s += " as timestamp"
	case unsignedType:
		s += " as unsigned integer"
	default:
		s += " with an annotation that no table type has"
	}
	return s
}

// column gives what the library needs to decode the column's pages.
func (n *node) column() (*schema.Column, error) {
	p, err := schema.NewPrimitiveNode(n.name, n.rep, n.phys, -1, int32(n.typeLen))
	if err != nil {
		return nil, err
	}
	return schema.NewColumn(p, n.def, n.rev), nil
}

// schemaBuilder makes the tree from the flat list of a footer.
type schemaBuilder struct {
	elems  []element
	next   int
	leaves []*node
}

// element is a SchemaElement of a footer.
type element struct {
	node     node
	hasType  bool
	children int64
}

func buildSchema(elems []element) (root *node, leaves []*node, err error) {
	if len(elems) == 0 {
		return nil, nil, fmt.Errorf("the footer has no schema")
	}
	b := schemaBuilder{elems: elems}
	elems[0].node.rep = parquet.Repetitions.Required
	root, err = b.build(nil, 0)
	if err != nil {
		return nil, nil, err
	}
	if b.next != len(elems) {
		return nil, nil, fmt.Errorf("the schema has %d elements of which %d belong to no group", len(elems), len(elems)-b.next)
	}
	if root.isLeaf() {
		return nil, nil, fmt.Errorf("the schema's root is a column")
	}
	return root, b.leaves, nil
}

func (b *schemaBuilder) build(parent *node, depth int) (*node, error) {
	if depth > maxSchemaDepth {
		return nil, beyond(fmt.Sprintf("a schema of %d levels", depth), maxSchemaDepth, "write the rows with less nesting")
	}
	if b.next >= len(b.elems) {
		return nil, fmt.Errorf("the schema ends too early")
	}
	e := &b.elems[b.next]
	b.next++
	n := &e.node
	n.leaf = -1
	if parent != nil {
		n.parent, n.def, n.rev = parent, parent.def, parent.rev
	}
	switch n.rep {
	case parquet.Repetitions.Optional:
		n.def++
	case parquet.Repetitions.Repeated:
		n.def++
		n.rev++
	}
	if e.hasType && e.children == 0 {
		return n, b.addLeaf(n)
	}
	return n, b.addGroup(n, e.children, depth)
}

func (b *schemaBuilder) addLeaf(n *node) error {
	if len(b.leaves) >= maxSchemaLeaves {
		return beyond(fmt.Sprintf("%d columns", len(b.leaves)+1), maxSchemaLeaves, fewerColumns)
	}
	if n.phys == parquet.Types.FixedLenByteArray && n.typeLen <= 0 {
		return fmt.Errorf("column %s has values of %d bytes", n.path(), n.typeLen)
	}
	if n.phys == parquet.Types.FixedLenByteArray && n.typeLen > maxFixedBytes {
		return beyond(fmt.Sprintf("column %s has values of %d bytes", n.path(), n.typeLen), maxFixedBytes, "write the column as BYTE_ARRAY")
	}
	n.leaf = len(b.leaves)
	b.leaves = append(b.leaves, n)
	return nil
}

func (b *schemaBuilder) addGroup(n *node, children int64, depth int) error {
	if children < 0 || children > int64(len(b.elems)-b.next) {
		return fmt.Errorf("group %s states %d fields", n.path(), children)
	}
	if children == 0 && depth > 0 {
		return fmt.Errorf("group %s has no fields", n.path())
	}
	n.children = make([]*node, 0, children)
	for range children {
		c, err := b.build(n, depth+1)
		if err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	return nil
}

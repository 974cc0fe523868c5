package records

import (
	"encoding"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/idemtable/idem/delta"
)

// tagKey is the key of struct tags.
const tagKey = "idem"

// form is how a Go value stands for a value of a column.
type form int

const (
	boolForm form = iota
	intForm
	uintForm
	floatForm
	stringForm
	bytesForm  // []byte
	arrayForm  // [n]byte
	markedForm // encoding.TextMarshaler, as a string
	timeForm
	dateForm
	wallForm   // time.Time as a timestamp without time zone
	numForm    // decimal128.Num
	bigForm    // *big.Int
	ratForm    // *big.Rat
	digitsForm // string, as a decimal
	markedDecimalForm
	structForm
	listForm
	mapForm
	pointerForm
	sqlNullForm // database/sql's Null types: a value and Valid
)

// valuePlan says how values of a Go type go into a column and come out of it.
type valuePlan struct {
	form     form
	goType   reflect.Type
	typ      arrow.DataType
	nullable bool

	elem   *valuePlan // of a list, a map's values, a pointer, a Null type
	key    *valuePlan // of a map
	fields []fieldPlan
}

// fieldPlan is a field of a struct that is a column.
type fieldPlan struct {
	name  string
	index []int // through embedded structs
	value *valuePlan
}

func (f *fieldPlan) arrow() arrow.Field {
	return arrow.Field{Name: f.name, Type: f.value.typ, Nullable: f.value.nullable}
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numType      = reflect.TypeFor[decimal128.Num]()
	bigIntType   = reflect.TypeFor[*big.Int]()
	bigRatType   = reflect.TypeFor[*big.Rat]()
	marshaler    = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// SchemaOf is the schema of the rows that T's values are, as [Structs] makes them. It fits an
// idem.Definition.
//
// Errors: [delta.ErrInput] for a T that is no struct and for fields that are no column.
func SchemaOf[T any]() (*arrow.Schema, error) {
	fields, err := planStructOf[T]()
	if err != nil {
		return nil, err
	}
	return schemaOf(fields), nil
}

func schemaOf(fields []fieldPlan) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i := range fields {
		out[i] = fields[i].arrow()
	}
	return arrow.NewSchema(out, nil)
}

func planStructOf[T any]() ([]fieldPlan, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || isValue(t) {
		return nil, inputErrorf("rows are structs with a field for each column, and %s is none", t)
	}
	c := compiler{}
	fields, err := c.structure(t, t.Name())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", delta.ErrInput, err)
	}
	return fields, nil
}

// compiler makes the plan of a type.
type compiler struct {
	open  []reflect.Type // structs around the one at hand
	depth int            // of types in types
}

// maxTypeDepth bounds how deep types nest; some contain themselves without a struct between.
const maxTypeDepth = 64

// structure plans the fields of a struct, those of embedded structs among them.
func (c *compiler) structure(t reflect.Type, path string) ([]fieldPlan, error) {
	for _, around := range c.open {
		if around == t {
			return nil, fmt.Errorf("field %s: %s contains itself, and a column has one depth; tag it `idem:\"-\"`", path, t)
		}
	}
	c.open = append(c.open, t)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	var fields []fieldPlan
	if err := c.flatten(t, nil, path, &fields); err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%s has no field that is a column: none is exported, or all are tagged `idem:\"-\"`", named(path, t))
	}
	seen := map[string]string{}
	for _, f := range fields {
		if first, twice := seen[foldName(f.name)]; twice {
			return nil, fmt.Errorf("%s: two fields are the column %q (also spelled %q; case is ignored); tag one `idem:\"-\"`, or name it otherwise", path, f.name, first)
		}
		seen[foldName(f.name)] = f.name
	}
	return fields, nil
}

// named is a type and where it is; a struct without a name is nowhere but there.
func named(path string, t reflect.Type) string {
	if path == "" {
		return t.String()
	}
	return path + ": " + t.String()
}

// flatten adds the fields of a struct that lies at index.
func (c *compiler) flatten(t reflect.Type, index []int, path string, out *[]fieldPlan) error {
	for i := range t.NumField() {
		f := t.Field(i)
		where := path + "." + f.Name
		tag, err := parseTag(f.Tag.Get(tagKey))
		if err != nil {
			return fmt.Errorf("field %s: %w", where, err)
		}
		at := append(index[:len(index):len(index)], i)
		embedded := f.Anonymous && tag.name == "" && !tag.skip
		switch {
		case tag.skip:
		case embedded && f.Type.Kind() == reflect.Struct && !isValue(f.Type):
			if err := c.flatten(f.Type, at, where, out); err != nil {
				return err
			}
		case embedded && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct && !isValue(f.Type):
			return fmt.Errorf("field %s: a pointer to a struct is embedded; embed the struct itself, or give the field a name", where)
		case !f.IsExported() && f.Tag.Get(tagKey) != "":
			return fmt.Errorf("field %s: it is tagged and not exported, so it cannot be read; export it", where)
		case f.IsExported():
			v, err := c.value(f.Type, tag, where)
			if err != nil {
				return err
			}
			*out = append(*out, fieldPlan{name: tag.nameOr(f.Name), index: at, value: v})
		}
	}
	return nil
}

// isValue says that a struct type is a value, and not its fields.
func isValue(t reflect.Type) bool {
	return t == timeType || t == numType || isSQLNull(t) || isMarked(t)
}

// isSQLNull finds the Null types of database/sql: a value, and whether it is there.
func isSQLNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null") &&
		t.NumField() == 2 && t.Field(1).Name == "Valid"
}

// isMarked finds the types that have a text of their own.
func isMarked(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler))
}

// value plans a type.
func (c *compiler) value(t reflect.Type, tag fieldTag, path string) (*valuePlan, error) {
	if c.depth++; c.depth > maxTypeDepth {
		return nil, fmt.Errorf("field %.80s…: its types contain themselves, or nest deeper than %d; tag it `idem:\"-\"`", path, maxTypeDepth)
	}
	defer func() { c.depth-- }()
	p, err := c.special(t, tag, path)
	if err != nil || p != nil {
		return p, err
	}
	if p = planKind(t); p != nil {
		return p, tag.unused(path, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.wrapped(pointerForm, t, t.Elem(), tag, path)
	case reflect.Struct:
		if isSQLNull(t) {
			return c.wrapped(sqlNullForm, t, t.Field(0).Type, tag, path)
		}
		fields, err := c.structure(t, path)
		if err != nil {
			return nil, err
		}
		return &valuePlan{form: structForm, goType: t, typ: arrow.StructOf(schemaOf(fields).Fields()...), fields: fields}, tag.unused(path, t)
	case reflect.Slice:
		elem, err := c.value(t.Elem(), tag, path+"[]")
		if err != nil {
			return nil, err
		}
		typ := arrow.ListOfField(arrow.Field{Name: "element", Type: elem.typ, Nullable: elem.nullable})
		return &valuePlan{form: listForm, goType: t, typ: typ, nullable: true, elem: elem}, nil
	case reflect.Map:
		return c.mapping(t, tag, path)
	}
	return nil, fmt.Errorf("field %s: %s (%s) is no type of a column; tag it `idem:\"-\"`, or give its value in another type", path, t, t.Kind())
}

// wrapped plans what may be NULL.
func (c *compiler) wrapped(f form, t, inner reflect.Type, tag fieldTag, path string) (*valuePlan, error) {
	elem, err := c.value(inner, tag, path)
	if err != nil {
		return nil, err
	}
	if elem.nullable {
		return nil, fmt.Errorf("field %s: %s can be NULL in two ways, which columns do not tell apart; use %s", path, t, inner)
	}
	return &valuePlan{form: f, goType: t, typ: elem.typ, nullable: true, elem: elem}, nil
}

func (c *compiler) mapping(t reflect.Type, tag fieldTag, path string) (*valuePlan, error) {
	key, err := c.value(t.Key(), fieldTag{}, path+"[key]")
	if err != nil {
		return nil, err
	}
	switch key.form {
	case stringForm, intForm, uintForm, markedForm:
	default:
		return nil, fmt.Errorf("field %s: maps have strings or integers for keys, and not %s", path, t.Key())
	}
	elem, err := c.value(t.Elem(), tag, path+"[value]")
	if err != nil {
		return nil, err
	}
	typ := arrow.MapOf(key.typ, elem.typ)
	typ.SetItemNullable(elem.nullable)
	return &valuePlan{form: mapForm, goType: t, typ: typ, nullable: true, key: key, elem: elem}, nil
}

// special plans the types that are known by name or by their text, and strings that are decimals; nil
// if t is none of them.
func (c *compiler) special(t reflect.Type, tag fieldTag, path string) (*valuePlan, error) {
	p := &valuePlan{goType: t}
	switch {
	case t == durationType:
		return nil, fmt.Errorf("field %s: a time.Duration is no type of a column; store it as an integer whose name says the unit", path)
	case t == bigIntType.Elem(), t == bigRatType.Elem():
		return nil, fmt.Errorf("field %s: a %s cannot be copied; use *%s", path, t, t)
	case t == timeType:
		return p, p.time(tag, path)
	case t == bigIntType:
		p.form, p.nullable = bigForm, true
		return p, p.decimal(tag, &arrow.Decimal128Type{Precision: 38}, path)
	case t == bigRatType:
		p.form, p.nullable = ratForm, true
		return p, p.decimal(tag, nil, path)
	case t == numType:
		p.form = numForm
		return p, p.decimal(tag, nil, path)
	case isSQLNull(t):
		return nil, nil
	case isMarked(t):
		p.nullable = t.Kind() == reflect.Slice || t.Kind() == reflect.Map
		p.form, p.typ = markedForm, arrow.BinaryTypes.String
		if tag.decimal != nil {
			p.form, p.typ = markedDecimalForm, tag.decimal
			return p, nil
		}
		return p, tag.unused(path, t)
	case t.Kind() == reflect.String && tag.decimal != nil:
		p.form, p.typ = digitsForm, tag.decimal
		return p, nil
	}
	return nil, nil
}

func (p *valuePlan) time(tag fieldTag, path string) error {
	switch tag.option {
	case dateOption:
		p.form, p.typ = dateForm, arrow.FixedWidthTypes.Date32
	case wallOption:
		p.form, p.typ = wallForm, &arrow.TimestampType{Unit: arrow.Microsecond}
	case "":
		p.form, p.typ = timeForm, arrow.FixedWidthTypes.Timestamp_us
	default:
		return tag.unused(path, p.goType)
	}
	return nil
}

func (p *valuePlan) decimal(tag fieldTag, otherwise *arrow.Decimal128Type, path string) error {
	switch {
	case tag.decimal != nil:
		p.typ = tag.decimal
	case tag.option != "":
		return tag.unused(path, p.goType)
	case otherwise == nil:
		return fmt.Errorf("field %s: the precision and scale of a %s are not said; tag it as `idem:\",decimal(12,2)\"`", path, p.goType)
	default:
		p.typ = otherwise
	}
	return nil
}

// planKind plans the kinds that are one value; nil for others.
func planKind(t reflect.Type) *valuePlan {
	p := &valuePlan{goType: t}
	switch t.Kind() {
	case reflect.Bool:
		p.form, p.typ = boolForm, arrow.FixedWidthTypes.Boolean
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		p.form, p.typ = intForm, intTypes[intBits(t)]
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		// Tables have no unsigned integers: the next wider type holds them, but for 64 bits.
		p.form, p.typ = uintForm, intTypes[min(2*intBits(t), 64)]
	case reflect.Float32:
		p.form, p.typ = floatForm, arrow.PrimitiveTypes.Float32
	case reflect.Float64:
		p.form, p.typ = floatForm, arrow.PrimitiveTypes.Float64
	case reflect.String:
		p.form, p.typ = stringForm, arrow.BinaryTypes.String
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			return nil
		}
		p.form, p.typ = arrayForm, arrow.BinaryTypes.Binary
		if t.Kind() == reflect.Slice {
			p.form, p.nullable = bytesForm, true
		}
	default:
		return nil
	}
	return p
}

var intTypes = map[int]arrow.DataType{
	8: arrow.PrimitiveTypes.Int8, 16: arrow.PrimitiveTypes.Int16, 32: arrow.PrimitiveTypes.Int32, 64: arrow.PrimitiveTypes.Int64,
}

// intBits is the width of an integer type; int and uint count as 64 on every machine.
func intBits(t reflect.Type) int {
	if t.Kind() == reflect.Int || t.Kind() == reflect.Uint {
		return 64
	}
	return t.Bits()
}

// ---- tags

// fieldTag is what a tag says: `idem:"name,option"`.
type fieldTag struct {
	name    string
	skip    bool
	option  string // as written
	decimal *arrow.Decimal128Type
}

const (
	dateOption = "date"
	wallOption = "timestamp_ntz"
)

func (t fieldTag) nameOr(name string) string {
	if t.name != "" {
		return t.name
	}
	return name
}

// unused refuses an option that says nothing about a type.
func (t fieldTag) unused(path string, goType reflect.Type) error {
	switch {
	case t.option == "":
		return nil
	case t.decimal != nil:
		return fmt.Errorf("field %s: the option %s is for strings, *big.Int, *big.Rat, decimal128.Num and types with a MarshalText, and not for %s", path, t.option, goType)
	}
	return fmt.Errorf("field %s: the option %s is for time.Time, and not for %s", path, t.option, goType)
}

func parseTag(text string) (t fieldTag, err error) {
	if text == "-" {
		return fieldTag{skip: true}, nil
	}
	t.name, t.option, _ = strings.Cut(text, ",")
	switch {
	case t.option == "", t.option == dateOption, t.option == wallOption:
	case strings.HasPrefix(t.option, "decimal(") && strings.HasSuffix(t.option, ")"):
		t.decimal, err = parseDecimalOption(t.option[len("decimal(") : len(t.option)-1])
	default:
		err = fmt.Errorf("the tag %q has the option %q; options, one at a time, are date, timestamp_ntz and decimal(precision,scale)", text, t.option)
	}
	return t, err
}

var errDecimalOption = errors.New("the option decimal is written decimal(precision,scale), with a precision of 1 to 38 and a scale up to it")

func parseDecimalOption(text string) (*arrow.Decimal128Type, error) {
	p, s, _ := strings.Cut(text, ",")
	precision, err := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
	if err != nil {
		return nil, errDecimalOption
	}
	scale, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
	if err != nil || precision < 1 || precision > 38 || scale < 0 || scale > precision {
		return nil, errDecimalOption
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
}

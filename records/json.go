package records

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// JSONOptions are how JSON lines are read and written. The zero JSONOptions are safe.
type JSONOptions struct {
	_ struct{}

	// Skip names keys that are left out, those of nested objects with the names around them, as
	// "customer.note"; lists and maps between them have no name. Any other key that the schema lacks
	// is an error. Reading only.
	Skip []string

	// Format spells dates, timestamps and bytes.
	Format Format

	// MaxLineBytes bounds a line. 0 means 16 MiB; at most 512 MiB.
	MaxLineBytes int

	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch has fewer once
	// their text is 16 MiB.
	BatchRows int

	// Allocator makes Arrow buffers. nil is the Go allocator.
	Allocator memory.Allocator
}

func (o *JSONOptions) check(schema *arrow.Schema) error {
	if err := checkTypes(schema, false, "JSON lines"); err != nil {
		return err
	}
	return cmp.Or(o.Format.check(schema), checkLineBytes(o.MaxLineBytes), checkBatchRows(o.BatchRows), checkKeys(schema))
}

// checkKeys refuses maps whose keys no object has.
func checkKeys(schema *arrow.Schema) (err error) {
	eachType(schema, func(t arrow.DataType) {
		if m, ok := t.(*arrow.MapType); ok {
			if _, nested := m.KeyType().(arrow.NestedType); nested || m.KeyType().ID() == arrow.NULL {
				err = inputErrorf("JSON objects have text for keys, and a map has keys of %s; leave its column out", m.KeyType())
			}
		}
	})
	return err
}

// JSONLines reads files of JSON lines (one object a line) whose keys have the types of a schema, as a
// rule idem's Table.Schema. Files packed with gzip are unpacked.
//
// Keys go by name, ignoring case; a key that is missing, or null, is NULL. To leave columns of a table
// alone in a merge, give a schema without them. Structs are objects, lists arrays, and maps objects
// with the keys as text.
//
// Numbers are read exactly from their text: integers without point or exponent, decimals with no more
// digits than the column has; each may also stand in a string, as many writers put large ones. Floats
// may be "NaN", "Infinity" and "-Infinity". Strings are JSON strings only. Dates, timestamps and
// bytes are strings as [Format] says.
//
// Errors: [delta.ErrInput] for options, files and lines that break these rules, for unknown keys and
// for one key twice, with file, line, path and value; a file that cannot be read is the error of its
// file system.
func JSONLines(schema *arrow.Schema, files Files, o JSONOptions) (*Rereader, error) {
	s, err := newJSONSource(schema, o)
	if err != nil {
		return nil, err
	}
	if s.files, err = files.list(); err != nil {
		return nil, err
	}
	return newRereader(schema, s), nil
}

// JSONLinesFrom reads JSON lines as [JSONLines] does, once and from a stream, which the caller closes.
func JSONLinesFrom(schema *arrow.Schema, r io.Reader, o JSONOptions) (*Reader, error) {
	s, err := newJSONSource(schema, o)
	if err != nil {
		return nil, err
	}
	f, err := openStream(r)
	if err != nil {
		return nil, err
	}
	s.begin(f)
	return newReader(schema, s), nil
}

// jsonSource reads the lines of files into batches.
type jsonSource struct {
	options JSONOptions
	schema  *arrow.Schema
	skip    map[string]bool // by folded path
	*batcher

	files  *fileList // nil for a stream
	opened int
	file   *textFile
	win    window
	line   int64

	scan jsonScanner
	root *jsonObject
}

func newJSONSource(schema *arrow.Schema, o JSONOptions) (*jsonSource, error) {
	if err := o.check(schema); err != nil {
		return nil, err
	}
	s := &jsonSource{options: o, schema: schema, skip: map[string]bool{}}
	for _, name := range o.Skip {
		s.skip[foldName(name)] = true
	}
	s.batcher = newBatcher(schema, o.Allocator, o.BatchRows, s.bind)
	return s, nil
}

func (s *jsonSource) begin(f *textFile) {
	s.file, s.win, s.line = f, newWindow(f, s.options.MaxLineBytes), 0
}

func (s *jsonSource) bind(b *array.RecordBuilder) func() (int, error) {
	binder := jsonBinder{scan: &s.scan, format: s.options.Format, skip: s.skip}
	s.root = binder.object(s.schema.Fields(), b.Field, "")
	return s.row
}

// row appends the next line that is not empty.
func (s *jsonSource) row() (int, error) {
	for {
		line, err := s.nextLine()
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimLeft(line, " \t\r")) == 0 { // what JSON takes for blank, and not all that Unicode does
			continue
		}
		if f := s.value(line); f != nil {
			return 0, &badRow{f.at(s.file.line(s.line))}
		}
		return len(line) + cellBytes*s.schema.NumFields(), nil
	}
}

// value appends the object of a line.
func (s *jsonSource) value(line []byte) *fault {
	if !utf8.Valid(line) {
		return &fault{why: "the line " + notUTF8(line)}
	}
	s.scan.data, s.scan.pos = line, 0
	switch c := s.scan.peek(); {
	case c == '[' && s.line == 1:
		return &fault{why: "it begins a JSON array; JSON lines have one object on each line (jq -c '.[]' makes them)"}
	case c != '{':
		return &fault{value: s.scan.spelled(), why: "is not a JSON object; JSON lines have one on each line"}
	}
	if f := s.root.read(); f != nil {
		return f
	}
	if s.scan.peek(); s.scan.pos < len(line) {
		return s.scan.syntax("the line goes on behind its object with %s", s.scan.found())
	}
	return nil
}

// nextLine gives the next line, io.EOF behind the last of the last file.
func (s *jsonSource) nextLine() ([]byte, error) {
	for {
		if s.file == nil {
			if err := s.open(); err != nil {
				return nil, err
			}
		}
		line, err := s.physical()
		switch {
		case err == errLineTooLong:
			return nil, inputErrorf("%s: the line is longer than %d bytes (MaxLineBytes)", s.file.line(s.line+1), s.win.max)
		case err != io.EOF:
			s.line++
			return line, err
		}
		s.file.close()
		s.file = nil
	}
}

// physical gives the next line of the file at hand.
func (s *jsonSource) physical() ([]byte, error) {
	for {
		data := s.win.held()
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			s.win.r += i + 1
			return data[:i], nil
		}
		if s.win.eof {
			if len(data) == 0 {
				return nil, io.EOF
			}
			s.win.r = s.win.w
			return data, nil
		}
		if err := s.win.more(); err != nil {
			return nil, err
		}
	}
}

func (s *jsonSource) open() error {
	if s.files == nil || s.opened == len(s.files.names) {
		return io.EOF
	}
	f, err := s.files.openText(s.files.names[s.opened])
	if err != nil {
		return err
	}
	s.opened++
	s.begin(f)
	return nil
}

func (s *jsonSource) close() {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
	s.batcher.close()
}

func (s *jsonSource) rewind() error {
	s.opened = 0
	return nil
}

// ---- values

// jsonValue appends the value that comes next to a column.
type jsonValue func() *fault

// jsonBinder makes what appends to the builders of a batch.
type jsonBinder struct {
	scan   *jsonScanner
	format Format
	skip   map[string]bool
}

// jsonObject appends an object to the fields of a struct, or of the row.
type jsonObject struct {
	scan   *jsonScanner
	path   string // of names, with a dot at its end
	skip   map[string]bool
	fields []jsonField
	byName map[string]int // by name, as spelled and folded
	seen   []bool
	next   int // the field that most likely comes next
}

type jsonField struct {
	name  string
	value jsonValue
	null  func() *fault
}

func (b jsonBinder) object(fields []arrow.Field, builder func(int) array.Builder, path string) *jsonObject {
	o := &jsonObject{scan: b.scan, path: path, skip: b.skip, byName: map[string]int{}, seen: make([]bool, len(fields))}
	for i, f := range fields {
		o.fields = append(o.fields, b.field(f, builder(i), path))
		o.byName[foldName(f.Name)] = i
	}
	for i, f := range fields {
		o.byName[f.Name] = i
	}
	return o
}

func (b jsonBinder) field(f arrow.Field, builder array.Builder, path string) jsonField {
	null := func() *fault {
		builder.AppendNull()
		return nil
	}
	if !f.Nullable {
		null = func() *fault { return nullFault("") }
	}
	value := b.value(f.Type, builder, path+f.Name+".")
	return jsonField{name: f.Name, null: null, value: func() *fault {
		if b.scan.kind() != 'n' {
			return value()
		}
		if f := b.scan.literal("null"); f != nil {
			return f
		}
		return null()
	}}
}

// read appends the object that comes next.
func (o *jsonObject) read() *fault {
	clear(o.seen)
	o.next = 0
	if f := o.scan.object(o.member); f != nil {
		return f
	}
	for i, seen := range o.seen {
		if !seen {
			if f := o.fields[i].null(); f != nil {
				return f.inside(o.fields[i].name)
			}
		}
	}
	return nil
}

func (o *jsonObject) member(key []byte) *fault {
	i := o.next
	if i >= len(o.fields) || o.fields[i].name != string(key) {
		var ok bool
		if i, ok = o.byName[string(key)]; !ok {
			if i, ok = o.byName[foldName(string(key))]; !ok {
				return o.unknown(key)
			}
		}
	}
	field := &o.fields[i]
	if o.seen[i] {
		return (&fault{why: "the key is there twice (case is ignored); drop one"}).inside(field.name)
	}
	o.seen[i], o.next = true, i+1
	return field.value().inside(field.name)
}

func (o *jsonObject) unknown(key []byte) *fault {
	name := string(key)
	if o.skip[foldName(o.path+name)] {
		return o.scan.skip(0)
	}
	return (&fault{why: "the schema has no such column; list it in Skip, or add it to the table first"}).inside(shorten(key))
}

func (b jsonBinder) value(t arrow.DataType, builder array.Builder, path string) jsonValue {
	switch t := t.(type) {
	case *arrow.StructType:
		sb := builder.(*array.StructBuilder)
		o := b.object(t.Fields(), sb.FieldBuilder, path)
		return func() *fault {
			if b.scan.kind() != '{' {
				return b.other("an object")
			}
			sb.Append(true)
			return o.read()
		}
	case *arrow.ListType:
		return b.list(t, builder.(*array.ListBuilder), path)
	case *arrow.MapType:
		return b.mapping(t, builder.(*array.MapBuilder), path)
	case *arrow.BooleanType:
		bb := builder.(*array.BooleanBuilder)
		return func() *fault {
			switch b.scan.kind() {
			case 't':
				bb.Append(true)
				return b.scan.literal("true")
			case 'f':
				bb.Append(false)
				return b.scan.literal("false")
			}
			return b.other("true or false")
		}
	}
	return b.flat(t, newTextAppender(builder, b.format))
}

// flat appends values that are text: strings, and numbers for the types that are numbers.
func (b jsonBinder) flat(t arrow.DataType, add textAppender) jsonValue {
	what := "a string"
	numeric := arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID()) || t.ID() == arrow.TIMESTAMP && b.format.unix() != 0
	if numeric {
		what = "a number"
	}
	return func() *fault {
		var text []byte
		var f *fault
		kind := b.scan.kind()
		start := b.scan.pos
		switch {
		case kind == '"':
			text, f = b.scan.text()
		case kind == '0' && numeric:
			text, f = b.scan.number()
		default:
			return b.other(what)
		}
		if f != nil {
			return f
		}
		if why := add(text); why != "" {
			return &fault{value: clip(b.scan.data[start:b.scan.pos]), why: why}
		}
		return nil
	}
}

// other refuses a value of another kind.
func (b jsonBinder) other(what string) *fault {
	if b.scan.kind() == 0 {
		return b.scan.syntax("a value is expected, not %s", b.scan.found())
	}
	return &fault{value: b.scan.spelled(), why: "is not " + what + ", which the column wants"}
}

func (b jsonBinder) list(t *arrow.ListType, lb *array.ListBuilder, path string) jsonValue {
	element := b.field(t.ElemField(), lb.ValueBuilder(), path)
	return func() *fault {
		if b.scan.kind() != '[' {
			return b.other("an array")
		}
		lb.Append(true)
		n := 0
		return b.scan.array(func() *fault {
			f := element.value()
			if f != nil {
				f.inside(fmt.Sprintf("[%d]", n))
			}
			n++
			return f
		})
	}
}

func (b jsonBinder) mapping(t *arrow.MapType, mb *array.MapBuilder, path string) jsonValue {
	key := newTextAppender(mb.KeyBuilder(), b.format)
	item := b.field(t.ItemField(), mb.ItemBuilder(), path)
	return func() *fault {
		if b.scan.kind() != '{' {
			return b.other("an object")
		}
		mb.Append(true)
		seen := map[string]bool{}
		return b.scan.object(func(text []byte) *fault {
			name := string(text)
			if seen[name] {
				return &fault{path: fmt.Sprintf("[%q]", name), why: "the key is there twice; drop one"}
			}
			seen[name] = true
			if why := key(text); why != "" {
				return &fault{value: quote([]byte(name)), why: "is no key of the map: it " + why}
			}
			if f := item.value(); f != nil {
				return f.inside(fmt.Sprintf("[%q]", name))
			}
			return nil
		})
	}
}

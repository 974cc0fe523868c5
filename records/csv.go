package records

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// CSVOptions are how CSV is read and written. The zero CSVOptions read what RFC 4180 describes: a
// header line, fields separated by commas, quotes doubled in quoted fields, lines ended by \n or
// \r\n. An unquoted empty field is NULL, a quoted one ("") is the empty string.
type CSVOptions struct {
	_ struct{}

	// Comma separates fields, e.g. ';' or '\t'. 0 means ','.
	Comma byte

	// NoHeader says that the files have no header line. Their columns are Columns or, if that is
	// nil, those of the schema in its order.
	NoHeader bool

	// Columns names the columns of the files in order: when reading instead of what the header line
	// calls them; when writing, the columns of the schema that are written.
	Columns []string

	// Skip names columns of the files that are left out. Any other column that the schema lacks is
	// an error. Reading only.
	Skip []string

	// SkipLines is the number of lines before the header that are no part of the table. Reading
	// only.
	SkipLines int

	// NullText are the spellings of NULL in unquoted fields. nil means the empty field only; with
	// others an empty field is NULL only if "" is among them. The first is written. Without any
	// (not nil, and empty) no field is NULL.
	NullText []string

	// QuotedNulls says that a quoted field spelled as in NullText is NULL as well, for files that
	// quote every field. The empty string, or what else is in NullText, then cannot be told from
	// NULL: writing it is an error.
	QuotedNulls bool

	// TrimSpace says that spaces and tabs around fields are no part of them, but inside quotes.
	TrimSpace bool

	// Format spells dates, timestamps and bytes.
	Format Format

	// MaxLineBytes bounds a record. 0 means 16 MiB; at most 512 MiB.
	MaxLineBytes int

	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch has fewer once
	// their text is 16 MiB.
	BatchRows int

	// Allocator makes Arrow buffers. nil is the Go allocator.
	Allocator memory.Allocator
}

func (o *CSVOptions) comma() byte {
	if o.Comma == 0 {
		return ','
	}
	return o.Comma
}

func (o *CSVOptions) nulls() []string {
	if o.NullText == nil {
		return []string{""}
	}
	return o.NullText
}

// check looks at the options and at a schema of which the files may have a part.
func (o *CSVOptions) check(schema *arrow.Schema) error {
	if err := checkTypes(schema, false, "CSV"); err != nil {
		return err
	}
	if c := o.comma(); c == '"' || c == '\n' || c == '\r' || c >= utf8.RuneSelf {
		return inputErrorf("CSVOptions.Comma is %q; it is an ASCII character other than a quote or a line break", c)
	}
	for _, text := range o.nulls() {
		if strings.ContainsAny(text, "\"\r\n") || strings.IndexByte(text, o.comma()) >= 0 {
			return inputErrorf("CSVOptions.NullText %q cannot stand in an unquoted field", text)
		}
	}
	if o.SkipLines < 0 {
		return inputErrorf("CSVOptions.SkipLines is negative (%d)", o.SkipLines)
	}
	return cmp.Or(checkLineBytes(o.MaxLineBytes), checkBatchRows(o.BatchRows))
}

// checkColumns looks at the columns that are read or written.
func (o *CSVOptions) checkColumns(schema *arrow.Schema) error {
	return cmp.Or(checkTypes(schema, true, "CSV"), o.Format.check(schema))
}

// CSV reads CSV files whose columns have the types of a schema, as a rule idem's Table.Schema. Files
// packed with gzip are unpacked.
//
// Columns go by the names of the header line, ignoring case, in any order, which may be another one
// in each file. A column that no file has is left out of the rows; idem's verbs make it NULL and
// name it in their result. All files must have the same columns.
//
// Numbers are digits, perhaps with a sign: integers in the range of their column, decimals with a point
// or an exponent and no more digits than the column has, floats (the nearest one) also as NaN and
// Infinity. Booleans are true
// and false in any case; dates, timestamps and bytes are as [Format] says. Strings are UTF-8; a byte
// order mark is passed over. A column that is NOT NULL in the schema takes no NULL. Empty lines are
// passed over, but in files of one column, where each is a row with an empty field.
//
// Errors: [delta.ErrInput] for options, files, headers and values that break these rules, with file,
// physical line, column and value; a file that cannot be read is the error of its file system. The
// header of the first file is read at once, all else by Next.
func CSV(schema *arrow.Schema, files Files, o CSVOptions) (*Rereader, error) {
	s, err := newCSVSource(schema, o)
	if err != nil {
		return nil, err
	}
	if s.files, err = files.list(); err != nil {
		return nil, err
	}
	f, err := s.files.openText(s.files.names[0])
	if err != nil {
		return nil, err
	}
	defer f.close()
	if err := s.begin(f); err != nil {
		return nil, err
	}
	s.file, s.lex = nil, nil
	return newRereader(s.schema, s), nil
}

// CSVFrom reads CSV as [CSV] does, once and from a stream, which the caller closes.
func CSVFrom(schema *arrow.Schema, r io.Reader, o CSVOptions) (*Reader, error) {
	s, err := newCSVSource(schema, o)
	if err != nil {
		return nil, err
	}
	f, err := openStream(r)
	if err != nil {
		return nil, err
	}
	if err := s.begin(f); err != nil {
		return nil, err
	}
	return newReader(s.schema, s), nil
}

// openStream takes a stream that is not ours.
func openStream(r io.Reader) (*textFile, error) {
	if r == nil {
		return nil, inputErrorf("there is nothing to read: the io.Reader is nil")
	}
	name := ""
	if n, ok := r.(interface{ Name() string }); ok {
		name = n.Name()
	}
	return newTextFile(name, r)
}

// csvSource reads the records of files into batches.
type csvSource struct {
	options CSVOptions
	wanted  *arrow.Schema
	nulls   [][]byte
	skip    map[string]bool // by folded name

	schema *arrow.Schema // the columns that the files have, in the order of wanted; nil before the first header
	*batcher
	appenders []csvColumn // one for each column of schema, of the builder at hand

	files  *fileList // nil for a stream
	opened int       // files opened so far
	file   *textFile
	lex    *csvLexer
	fields []int // for each field of the file at hand: its column of schema, or -1
}

// csvColumn appends to a column.
type csvColumn struct {
	name     string
	required bool
	null     func()
	text     textAppender
}

func newCSVSource(schema *arrow.Schema, o CSVOptions) (*csvSource, error) {
	if err := o.check(schema); err != nil {
		return nil, err
	}
	s := &csvSource{options: o, wanted: schema, skip: map[string]bool{}}
	for _, text := range o.nulls() {
		s.nulls = append(s.nulls, []byte(text))
	}
	for _, name := range o.Skip {
		s.skip[foldName(name)] = true
	}
	return s, nil
}

// begin starts on a file: it reads what comes before the first record.
func (s *csvSource) begin(f *textFile) error {
	s.file, s.lex = f, newCSVLexer(f, &s.options)
	for range s.options.SkipLines {
		if err := s.lex.skipLine(); err != nil {
			return s.broken(err)
		}
	}
	names, line, err := s.header()
	if err != nil {
		return err
	}
	fields, schema, err := bindNames(names, s.wanted, s.skip, "list it in Skip")
	if err != nil {
		return inputErrorf("%s: %w", f.line(line), err)
	}
	s.lex.single = len(names) == 1
	if s.schema == nil {
		if err := s.options.checkColumns(schema); err != nil {
			return err
		}
		s.schema = schema
		s.batcher = newBatcher(schema, s.options.Allocator, s.options.BatchRows, s.bind)
	} else if !s.schema.Equal(schema) {
		return inputErrorf("%sit has the columns %s, and %s has %s; files that are read together have the same columns, in any order",
			f.prefix(), columnNames(schema), s.files.names[0], columnNames(s.schema))
	}
	s.fields = fields
	return nil
}

// header gives the names of the file's columns, and the line that they stand on.
func (s *csvSource) header() (names []string, line int64, err error) {
	o := &s.options
	if o.NoHeader {
		if names = o.Columns; names == nil {
			for _, f := range s.wanted.Fields() {
				names = append(names, f.Name)
			}
		}
		return names, s.lex.line, nil
	}
	ok, err := s.lex.next()
	switch {
	case err != nil:
		return nil, 0, s.broken(err)
	case !ok:
		return nil, 0, inputErrorf("%sit is empty and has not even a header line; fetch it again, or set CSVOptions.NoHeader", s.file.prefix())
	case s.lex.excess > 0:
		return nil, 0, inputErrorf("%s: the header has more than %d fields", s.file.line(s.lex.line), mostFields)
	case !utf8.Valid(s.lex.record[:s.lex.size()]):
		return nil, 0, inputErrorf("%s: the header %s", s.file.line(s.lex.line), notUTF8(s.lex.record))
	}
	names = s.lex.texts()
	if o.Columns != nil && len(o.Columns) != len(names) {
		return nil, 0, inputErrorf("%s: the header has %d fields, and CSVOptions.Columns names %d", s.file.line(s.lex.line), len(names), len(o.Columns))
	} else if o.Columns != nil {
		names = o.Columns
	}
	return names, s.lex.line, nil
}

// bind makes the appenders of a builder.
func (s *csvSource) bind(b *array.RecordBuilder) func() (int, error) {
	s.appenders = nil
	for i, f := range s.schema.Fields() {
		s.appenders = append(s.appenders, csvColumn{
			name: f.Name, required: !f.Nullable, null: b.Field(i).AppendNull, text: newTextAppender(b.Field(i), s.options.Format),
		})
	}
	return s.row
}

// row appends the next record.
func (s *csvSource) row() (int, error) {
	for {
		if s.file == nil {
			if err := s.open(); err != nil {
				return 0, err
			}
		}
		ok, err := s.lex.next()
		if err != nil {
			return 0, s.broken(err)
		}
		if ok {
			break
		}
		s.file.close()
		s.file = nil
	}
	if n := s.lex.count(); n != len(s.fields) {
		return 0, &badRow{inputErrorf("%s: the record has %d fields, and the file has %d columns; is a separator or a quote missing?",
			s.file.line(s.lex.line), n, len(s.fields))}
	}
	valid := utf8.Valid(s.lex.record[:s.lex.size()])
	for i, column := range s.fields {
		if column < 0 {
			continue
		}
		if f := s.field(i, &s.appenders[column], valid); f != nil {
			return 0, &badRow{f.at(s.file.line(s.lex.lineOf(i)))}
		}
	}
	return s.lex.size() + cellBytes*len(s.fields), nil
}

// field appends a field of the record. valid says that all of the record is UTF-8.
func (s *csvSource) field(i int, c *csvColumn, valid bool) *fault {
	text := s.lex.field(i)
	if s.isNull(text, s.lex.fields[i].quoted) {
		if c.required {
			return nullFault(c.name)
		}
		c.null()
		return nil
	}
	if !valid && !utf8.Valid(text) {
		return badText(c.name, text, notUTF8(text))
	}
	if why := c.text(text); why != "" {
		return badText(c.name, text, why)
	}
	return nil
}

func (s *csvSource) isNull(text []byte, quoted bool) bool {
	if quoted && !s.options.QuotedNulls {
		return false
	}
	for _, n := range s.nulls {
		if bytes.Equal(n, text) {
			return true
		}
	}
	return false
}

// open goes to the next file, io.EOF if there is none.
func (s *csvSource) open() error {
	if s.files == nil || s.opened == len(s.files.names) {
		return io.EOF
	}
	f, err := s.files.openText(s.files.names[s.opened])
	if err != nil {
		return err
	}
	s.opened++
	if err := s.begin(f); err != nil {
		f.close()
		s.file = nil
		return err
	}
	return nil
}

// broken puts the file before an error of the lexer.
func (s *csvSource) broken(err error) error {
	var syntax *csvSyntax
	if errors.As(err, &syntax) {
		return inputErrorf("%s: %s", s.file.line(syntax.line), syntax.why)
	}
	return err
}

func (s *csvSource) close() {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
	s.batcher.close()
}

func (s *csvSource) rewind() error {
	s.opened = 0
	return nil
}

// ---- names

// foldName maps names that Delta takes for one to one text.
func foldName(name string) string { return strings.ToLower(name) }

// bindNames finds for each name the column of the schema that is there; -1 for names that are to be
// left out. have is the columns that were found, in the order of the schema, and the numbers are
// theirs. without says how a column is left out.
func bindNames(names []string, wanted *arrow.Schema, skip map[string]bool, without string) (bound []int, have *arrow.Schema, err error) {
	columns := map[string]int{}
	for i, f := range wanted.Fields() {
		columns[foldName(f.Name)] = i
	}
	seen := map[string]string{}
	var found []int
	for _, name := range names {
		key := foldName(name)
		column, ok := columns[key]
		switch first, twice := seen[key]; {
		case skip[key]:
			column = -1
		case !ok:
			return nil, nil, fmt.Errorf("the schema has no column %s; %s, or add it to the table first (columns: %s)", quote([]byte(name)), without, columnNames(wanted))
		case twice:
			return nil, nil, fmt.Errorf("the columns %q and %q are one name to Delta (it ignores case); rename one, or %s", first, name, without)
		default:
			seen[key] = name
			found = append(found, column)
		}
		bound = append(bound, column)
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("none of the columns %q is wanted; the schema has %s", names, columnNames(wanted))
	}
	slices.Sort(found)
	fields := make([]arrow.Field, len(found))
	for i, column := range found {
		fields[i] = wanted.Field(column)
	}
	for i, column := range bound {
		if column >= 0 {
			bound[i], _ = slices.BinarySearch(found, column)
		}
	}
	return bound, arrow.NewSchema(fields, nil), nil
}

// columnNames lists the columns of a schema for a message.
func columnNames(s *arrow.Schema) string {
	const most = 20
	var b strings.Builder
	for i, f := range s.Fields() {
		if i == most {
			fmt.Fprintf(&b, " and %d more", s.NumFields()-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
	}
	return b.String()
}

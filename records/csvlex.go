package records

import (
	"bytes"
	"errors"
	"fmt"
)

// csvLexer cuts CSV text (RFC 4180) into records of fields, in place. It knows what encoding/csv
// does not tell: which fields were quoted; and it never holds more than one record and a window.
type csvLexer struct {
	win   window
	comma byte
	trim  bool // spaces around a field are no part of it

	// single says that records have one field, so that an empty line is one: otherwise empty lines
	// are passed over.
	single bool

	line   int64 // on which the record at hand begins, from 1
	behind int64 // physical lines of the record at hand

	record []byte
	fields []csvField
	excess int    // fields beyond mostFields
	text   []byte // of the last field with doubled quotes
}

// mostFields bounds what is remembered of a record, whose fields may all be empty.
const mostFields = 1 << 16

// csvField is a part of the record.
type csvField struct {
	start, end int
	quoted     bool
	doubled    bool // quotes in it are doubled
	line       int  // line breaks of the record before it
}

// csvSyntax says that what follows cannot be cut into records.
type csvSyntax struct {
	line int64
	why  string
}

func (e *csvSyntax) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.why) }

// errShort says that the record may go on behind the window.
var errShort = errors.New("the window is too short")

func newCSVLexer(src *textFile, o *CSVOptions) *csvLexer {
	return &csvLexer{win: newWindow(src, o.MaxLineBytes), comma: o.comma(), trim: o.TrimSpace, line: 1}
}

// next goes to the next record; false at the end of the text.
func (l *csvLexer) next() (bool, error) {
	l.line += l.behind
	l.behind = 0
	for {
		data := l.win.held()
		if n := l.empty(data); n > 0 {
			l.win.r += n
			l.line++
			continue
		}
		if len(data) == 0 && l.win.eof {
			return false, nil
		}
		n, err := 0, errShort
		if len(data) > 0 {
			n, err = l.split(data)
		}
		switch {
		case err == nil:
			l.win.r += n
			return true, nil
		case err != errShort:
			return false, err
		}
		if err := l.win.more(); err == errLineTooLong {
			return false, l.tooLong()
		} else if err != nil {
			return false, err
		}
	}
}

func (l *csvLexer) tooLong() error {
	return &csvSyntax{l.line, fmt.Sprintf("the record is longer than %d bytes (MaxLineBytes); is a quote in it never closed?", l.win.max)}
}

// empty is the length of an empty line that is no record.
func (l *csvLexer) empty(data []byte) int {
	switch {
	case l.single:
	case bytes.HasPrefix(data, []byte("\n")):
		return 1
	case bytes.HasPrefix(data, []byte("\r\n")):
		return 2
	case l.win.eof && string(data) == "\r":
		return 1
	}
	return 0
}

// skipLine passes over a physical line, whatever is in it.
func (l *csvLexer) skipLine() error {
	for {
		data := l.win.held()
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			l.win.r += i + 1
			l.line++
			return nil
		}
		if l.win.eof {
			l.win.r = l.win.w
			return nil
		}
		if err := l.win.more(); err == errLineTooLong {
			return l.tooLong()
		} else if err != nil {
			return err
		}
	}
}

// split cuts the record with which data begins, and gives its length with the line break.
func (l *csvLexer) split(data []byte) (int, error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 && !l.win.eof {
		return 0, errShort
	}
	line, n := data, len(data)
	if end >= 0 {
		line, n = data[:end], end+1
	}
	l.fields, l.excess = l.fields[:0], 0
	if bytes.IndexByte(line, '"') >= 0 {
		return l.splitQuoted(data)
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if bytes.IndexByte(line, '\r') >= 0 {
		return 0, l.loneReturn(0)
	}
	l.record, l.behind = line, 1
	for start := 0; ; {
		i := bytes.IndexByte(line[start:], l.comma)
		if i < 0 {
			l.add(csvField{start: start, end: len(line)})
			return n, nil
		}
		l.add(csvField{start: start, end: start + i})
		start += i + 1
	}
}

func (l *csvLexer) loneReturn(line int) error {
	return &csvSyntax{l.line + int64(line), `a carriage return stands alone; end lines with \n or \r\n, and quote fields that hold line breaks`}
}

// add takes a field of the record, an unquoted one without the spaces around it if they are trimmed.
func (l *csvLexer) add(f csvField) {
	if l.trim && !f.quoted {
		for f.start < f.end && l.isSpace(l.record[f.start]) {
			f.start++
		}
		for f.start < f.end && l.isSpace(l.record[f.end-1]) {
			f.end--
		}
	}
	if len(l.fields) == mostFields {
		l.excess++
		return
	}
	l.fields = append(l.fields, f)
}

// count is the number of fields of the record.
func (l *csvLexer) count() int { return len(l.fields) + l.excess }

func (l *csvLexer) isSpace(c byte) bool { return (c == ' ' || c == '\t') && c != l.comma }

// splitQuoted is split for records that hold quotes, and so perhaps line breaks.
func (l *csvLexer) splitQuoted(data []byte) (int, error) {
	l.record = data
	pos, lines := 0, 0
	for {
		f := csvField{start: pos, line: lines}
		var err error
		start := pos
		for l.trim && start < len(data) && l.isSpace(data[start]) {
			start++
		}
		if start < len(data) && data[start] == '"' {
			pos, err = l.quoted(data, start, &f)
		} else {
			pos, err = l.unquoted(data, pos, &f)
		}
		if err != nil {
			return 0, err
		}
		if f.quoted {
			lines += bytes.Count(data[f.start:f.end], []byte("\n"))
		}
		l.add(f)
		if pos < len(data) && data[pos] == l.comma {
			pos++
			if pos == len(data) && !l.win.eof {
				return 0, errShort
			}
			continue
		}
		l.behind = int64(lines) + 1
		return l.lineEnd(data, pos, lines)
	}
}

// quoted cuts the field whose opening quote is at pos.
func (l *csvLexer) quoted(data []byte, pos int, f *csvField) (int, error) {
	pos++
	f.start, f.quoted = pos, true
	for {
		i := bytes.IndexByte(data[pos:], '"')
		switch {
		case i < 0 && l.win.eof:
			return 0, &csvSyntax{l.line + int64(f.line), "a quote is opened here and never closed"}
		case i < 0:
			return 0, errShort
		}
		pos += i + 1
		if pos == len(data) && !l.win.eof {
			return 0, errShort // it may be doubled
		}
		if pos == len(data) || data[pos] != '"' {
			break
		}
		f.doubled = true
		pos++
	}
	f.end = pos - 1
	for l.trim && pos < len(data) && l.isSpace(data[pos]) {
		pos++
	}
	return pos, nil
}

// unquoted cuts the field that begins at pos, up to a comma or the end of the line.
func (l *csvLexer) unquoted(data []byte, pos int, f *csvField) (int, error) {
	for ; pos < len(data); pos++ {
		switch c := data[pos]; c {
		case l.comma, '\n':
			f.end = pos
			return pos, nil
		case '\r':
			if pos+1 == len(data) && !l.win.eof {
				return 0, errShort
			}
			if pos+1 == len(data) || data[pos+1] == '\n' {
				f.end = pos
				return pos, nil
			}
			return 0, l.loneReturn(f.line)
		case '"':
			return 0, &csvSyntax{l.line + int64(f.line), `a quote stands in a field that does not begin with one; quote the field and double the quotes in it`}
		}
	}
	if !l.win.eof {
		return 0, errShort
	}
	f.end = pos
	return pos, nil
}

// lineEnd checks that the record ends at pos, and gives the length with its line break.
func (l *csvLexer) lineEnd(data []byte, pos, lines int) (int, error) {
	rest := data[pos:]
	switch {
	case len(rest) == 0 && l.win.eof, len(rest) == 1 && rest[0] == '\r' && l.win.eof:
		return len(data), nil
	case len(rest) == 0, len(rest) == 1 && rest[0] == '\r':
		return 0, errShort
	case rest[0] == '\n':
		return pos + 1, nil
	case rest[0] == '\r' && rest[1] == '\n':
		return pos + 2, nil
	}
	return 0, &csvSyntax{l.line + int64(lines), "a quoted field goes on behind its closing quote; quotes in a field are written twice"}
}

// field gives the text of a field. It is valid until the next call.
func (l *csvLexer) field(i int) []byte {
	f := l.fields[i]
	text := l.record[f.start:f.end]
	if !f.doubled {
		return text
	}
	l.text = l.text[:0]
	for {
		q := bytes.IndexByte(text, '"')
		if q < 0 {
			l.text = append(l.text, text...)
			return l.text
		}
		l.text = append(l.text, text[:q+1]...)
		text = text[q+2:]
	}
}

// lineOf is the physical line on which a field begins.
func (l *csvLexer) lineOf(i int) int64 { return l.line + int64(l.fields[i].line) }

// texts copies the fields of the record.
func (l *csvLexer) texts() []string {
	out := make([]string, 0, len(l.fields))
	for i := range l.fields {
		out = append(out, string(l.field(i)))
	}
	return out
}

// size is the bytes of the record, without its line break.
func (l *csvLexer) size() int {
	if len(l.fields) == 0 {
		return 0
	}
	return l.fields[len(l.fields)-1].end
}

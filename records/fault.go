package records

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fault says what is wrong with a value, or with the row as a whole.
type fault struct {
	path  string // the column, with what is below it: "address.street", "lines[2].price"; "" for the row
	value string // "" for the row, and for a NULL
	why   string // goes on after "the value V "
}

// inside puts a step before the path of a fault.
func (f *fault) inside(step string) *fault {
	if f != nil {
		if f.path != "" && f.path[0] != '[' {
			step += "."
		}
		f.path = step + f.path
	}
	return f
}

// at makes the error for the place in which the fault lies, e.g. "file a.csv, line 3".
func (f *fault) at(place string) error {
	var b strings.Builder
	b.WriteString(place)
	if f.path != "" {
		fmt.Fprintf(&b, ", column %q", f.path)
	}
	if f.value != "" {
		b.WriteString(": the value " + f.value)
	} else {
		b.WriteString(":")
	}
	return inputErrorf("%s %s", b.String(), f.why)
}

// badText refuses a value that is text.
func badText(path string, text []byte, why string) *fault {
	return &fault{path: path, value: quote(text), why: why}
}

// nullFault refuses NULL.
func nullFault(path string) *fault {
	return &fault{path: path, why: "it is NULL, and the column is NOT NULL; give it a value in every row"}
}

// shownBytes is how much of a value a message shows.
const shownBytes = 60

// quote spells text for a message, cut if it is long.
func quote(text []byte) string {
	if len(text) <= shownBytes {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(string(text[:cutAt(text)])) + "…"
}

// cutAt is where a long text is cut, not within a character.
func cutAt(text []byte) int {
	cut := shownBytes
	for cut > shownBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return cut
}

// clip cuts text that a message shows as it is, but for text that no line of a message can hold.
func clip(text []byte) string {
	if bytes.ContainsFunc(text[:min(len(text), shownBytes)], func(r rune) bool { return !strconv.IsPrint(r) }) {
		return quote(text)
	}
	return shorten(text)
}

// shorten cuts text that is long.
func shorten(text []byte) string {
	if len(text) <= shownBytes {
		return string(text)
	}
	return string(text[:cutAt(text)]) + "…"
}

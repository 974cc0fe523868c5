package function

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// concat is NULL if one of its arguments is.
func concat(types []arrow.DataType) *Function {
	result := arrow.DataType(typeText)
	if len(types) > 0 {
		result = types[0]
	}
	return &Function{Result: result, Eval: func(c *Call) arrow.Array {
		var parts []texts
		for _, a := range c.Args {
			parts = append(parts, textsOf(a))
		}
		return buildText(nullsOf(c, c.Args...), result, func(dst []byte, row int) ([]byte, error) {
			for _, p := range parts {
				v := p.at(row)
				if len(dst)+len(v) > maxText && len(parts) > 1 {
					return nil, errTooLong("concat")
				}
				dst = append(dst, v...)
			}
			return dst, nil
		})
	}}
}

// wantTexts is a STRING or an array of them.
var wantTexts = want{words: "a STRING or an array of STRING", takes: func(p Param) arrow.DataType {
	t := p.Type
	if list, ok := t.(*arrow.ListType); ok {
		t = list.Elem()
	}
	if t.ID() != arrow.STRING {
		return nil
	}
	return p.Type
}, null: typeText}

// joiner puts texts behind each other with a separator between them.
type joiner struct {
	dst       []byte
	separator string
	begun     bool
}

func (j *joiner) add(s string) error {
	if len(j.dst)+len(j.separator)+len(s) > maxText {
		return errTooLong("concat_ws")
	}
	if j.begun {
		j.dst = append(j.dst, j.separator...)
	}
	j.dst, j.begun = append(j.dst, s...), true
	return nil
}

// concatWithSeparator leaves out NULLs, also within arrays; only a separator that is NULL makes NULL.
func concatWithSeparator(c *Call) arrow.Array {
	separator := textsOf(c.Args[0])
	var adds []func(j *joiner, row int) error
	for _, a := range c.Args[1:] {
		adds = append(adds, adder(a))
	}
	return buildText(nullsOf(c, c.Args[0]), typeText, func(dst []byte, row int) ([]byte, error) {
		j := joiner{dst: dst, separator: separator.at(row)}
		for _, add := range adds {
			if err := add(&j, row); err != nil {
				return nil, err
			}
		}
		return j.dst, nil
	})
}

// adder adds the texts of an argument to a joiner.
func adder(a Arg) func(j *joiner, row int) error {
	list, ok := a.Array.(*array.List)
	if !ok {
		s := textsOf(a)
		return func(j *joiner, row int) error {
			if a.IsNull(a.At(row)) {
				return nil
			}
			return j.add(s.at(row))
		}
	}
	values := list.ListValues().(*array.String)
	return func(j *joiner, row int) error {
		if list.IsNull(a.At(row)) {
			return nil
		}
		start, end := list.ValueOffsets(a.At(row))
		for i := int(start); i < int(end); i++ {
			if values.IsNull(i) {
				continue
			}
			if err := j.add(values.Value(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func repeat(c *Call) arrow.Array {
	s, times := textsOf(c.Args[0]), intsOf(c.Args[1])
	return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
		v := s.at(row)
		n, err := times.at(row)
		switch {
		case err != nil || v == "":
			return dst, err
		case n[0] > maxText/int64(len(v)):
			return nil, errTooLong("repeat")
		}
		for range n[0] {
			dst = append(dst, v...)
		}
		return dst, nil
	})
}

// pad brings texts to a length, at the start or at the end, by cutting them or by what is given, which
// is spaces, or in a BINARY zeros, if it is not.
func pad(atStart bool) func([]arrow.DataType) *Function {
	return func(types []arrow.DataType) *Function {
		isBytes := types[0].ID() == arrow.BINARY
		p := padding{atStart: atStart, isBytes: isBytes}
		return &Function{Result: types[0], Eval: func(c *Call) arrow.Array {
			s, length := textsOf(c.Args[0]), intsOf(c.Args[1])
			with := func(int) string { return " " }
			if isBytes {
				with = func(int) string { return "\x00" }
			}
			if len(c.Args) == 3 {
				with = textsOf(c.Args[2]).at
			}
			return buildText(nullsOf(c, c.Args...), types[0], func(dst []byte, row int) ([]byte, error) {
				n, err := length.at(row)
				if err != nil {
					return nil, err
				}
				return p.appendTo(dst, s.at(row), n[0], with(row))
			})
		}}
	}
}

type padding struct{ atStart, isBytes bool }

func (p padding) appendTo(dst []byte, s string, length int64, with string) ([]byte, error) {
	if p.isBytes && length < 0 {
		return nil, fmt.Errorf("a BINARY cannot be brought to the length %d", length)
	}
	missing := length - characters(s, p.isBytes)
	if missing <= 0 || with == "" {
		return append(dst, part(s, p.isBytes, 0, length)...), nil
	}
	times, rest := missing/characters(with, p.isBytes), missing%characters(with, p.isBytes)
	if times > maxText/int64(len(with)) || len(s)+int(times)*len(with) > maxText {
		return nil, errTooLong("padding")
	}
	if !p.atStart {
		dst = append(dst, s...)
	}
	for range times {
		dst = append(dst, with...)
	}
	dst = append(dst, part(with, p.isBytes, 0, rest)...)
	if p.atStart {
		dst = append(dst, s...)
	}
	return dst, nil
}

// replace replaces every place where a text is found, from the left; an empty one is found nowhere.
func replace(c *Call) arrow.Array {
	s, what := textsOf(c.Args[0]), textsOf(c.Args[1])
	by := func(int) string { return "" }
	if len(c.Args) == 3 {
		by = textsOf(c.Args[2]).at
	}
	return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
		v, old, new := s.at(row), what.at(row), by(row)
		for old != "" {
			before, after, found := strings.Cut(v, old)
			if !found {
				break
			}
			if len(dst)+len(before)+len(new) > maxText && len(new) > len(old) {
				return nil, errTooLong("replace")
			}
			dst = append(append(dst, before...), new...)
			v = after
		}
		return append(dst, v...), nil
	})
}

// remove is what a character is translated to that is taken away: Spark takes a NUL for that.
const remove = 0

// translate replaces characters by others of the same place, or takes them away.
func translate(c *Call) arrow.Array {
	s, from, to := textsOf(c.Args[0]), textsOf(c.Args[1]), textsOf(c.Args[2])
	var table map[rune]rune
	constant := from.arg.Constant && to.arg.Constant
	return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
		for _, v := range []string{s.at(row), from.at(row), to.at(row)} {
			if !utf8.ValidString(v) {
				return nil, errNoUTF8("translate", v)
			}
		}
		if table == nil || !constant {
			table = translation(from.at(row), to.at(row))
		}
		for _, r := range s.at(row) {
			if by, ok := table[r]; !ok {
				dst = utf8.AppendRune(dst, r)
			} else if by != remove {
				dst = utf8.AppendRune(dst, by)
			}
		}
		return dst, nil
	})
}

// translation pairs characters; of one that occurs twice the first counts.
func translation(from, to string) map[rune]rune {
	table := map[rune]rune{}
	for _, r := range from {
		by, n := rune(remove), 0
		if to != "" {
			by, n = utf8.DecodeRuneInString(to)
		}
		to = to[n:]
		if _, ok := table[r]; !ok {
			table[r] = by
		}
	}
	return table
}

// overlay replaces what is at a position by a text, as many characters as are given, or as the text has
// if none or a negative number is given.
func overlay(types []arrow.DataType) *Function {
	isBytes := types[0].ID() == arrow.BINARY
	return &Function{Result: types[0], Eval: func(c *Call) arrow.Array {
		s, by, where := textsOf(c.Args[0]), textsOf(c.Args[1]), intsOf(c.Args[2:]...)
		return buildText(nullsOf(c, c.Args...), types[0], func(dst []byte, row int) ([]byte, error) {
			v, new := s.at(row), by.at(row)
			n, err := where.at(row)
			if err != nil {
				return nil, err
			}
			length := characters(new, isBytes)
			if len(n) == 2 && n[1] >= 0 {
				length = n[1]
			}
			before, after := cut(v, isBytes, 1, n[0]-1), cut(v, isBytes, n[0]+length, allOf)
			if len(before)+len(new)+len(after) > maxText {
				return nil, errTooLong("overlay")
			}
			return append(append(append(dst, before...), new...), after...), nil
		})
	}}
}

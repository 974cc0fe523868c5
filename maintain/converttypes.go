package maintain

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
)

// partitions gives the partition columns, and every file its values as the log writes them.
func (p *convert) partitions() (*delta.Struct, error) {
	var s *delta.Struct
	var err error
	if p.request.PartitionBy != nil {
		s, err = p.given()
	} else {
		s, err = p.inferred()
	}
	if err != nil {
		return nil, err
	}
	for i := range p.files {
		f := &p.files[i]
		f.add = &delta.Add{
			Path: delta.EncodePath(f.key), Key: f.key, Size: f.size, ModificationTime: f.at.UnixMilli(), DataChange: true,
			PartitionValues: map[string]*string{},
		}
		for c, field := range s.Fields {
			text, err := partitionText(field.Type, f.values[c])
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %v", idem.ErrInput, f.key, err)
			}
			f.add.PartitionValues[field.Name] = text
		}
	}
	return s, nil
}

// partitionText is a value in the one spelling of its type.
func partitionText(t delta.Type, text *string) (*string, error) {
	if text != nil && !utf8.ValidString(*text) {
		return nil, fmt.Errorf("the partition value %q is not UTF-8", *text)
	}
	v, err := delta.ParsePartitionValue(t, text)
	if err != nil {
		return nil, err
	}
	return delta.FormatPartitionValue(t, v)
}

// given are the partition columns of the request, which the directories must have.
func (p *convert) given() (*delta.Struct, error) {
	s, err := delta.FromArrow(p.request.PartitionBy)
	if err != nil {
		return nil, fmt.Errorf("Convert.PartitionBy: %w", err)
	}
	first := p.files[0]
	same := len(s.Fields) == len(first.names)
	for i := 0; same && i < len(s.Fields); i++ {
		same = strings.EqualFold(s.Fields[i].Name, first.names[i])
		s.Fields[i].Nullable = true
	}
	if !same {
		return nil, fmt.Errorf("%w: Convert.PartitionBy is %v, and %s is partitioned by %v", idem.ErrInput, p.request.PartitionBy.Fields(), first.key, first.names)
	}
	return s, nil
}

// kind is what the values of a partition column look like.
type kind int

const (
	nothing kind = iota // NULL only
	whole               // digits: the type is by their number
	float
	date
	moment
	words
)

// guess is what is known of a partition column.
type guess struct {
	kind  kind
	wide  delta.Type // of whole numbers
	shown string     // a value of the kind
}

var (
	wholeText  = regexp.MustCompile(`^[+-]?[0-9]+$`)
	floatText  = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$|^[+-]?(NaN|Infinity)$`)
	dateText   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	momentText = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?$`)
)

// guessOf is what one value looks like.
func guessOf(text string) guess {
	switch {
	case wholeText.MatchString(text):
		if t := wholeType(text); t != nil {
			return guess{whole, t, text}
		}
		return guess{float, nil, text}
	case floatText.MatchString(text):
		return guess{float, nil, text}
	case dateText.MatchString(text):
		if _, err := delta.ParsePartitionValue(delta.Date, &text); err == nil {
			return guess{date, nil, text}
		}
	case momentText.MatchString(text):
		if _, err := delta.ParsePartitionValue(delta.Timestamp, &text); err == nil {
			return guess{moment, nil, text}
		}
	}
	return guess{words, nil, text}
}

// maxDigits is the number of digits of the widest decimal.
const maxDigits = 38

// wholeType is the narrowest type of a whole number, nil if there is none.
func wholeType(text string) delta.Type {
	if _, err := strconv.ParseInt(text, 10, 32); err == nil {
		return delta.Integer
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return delta.Long
	}
	if n := len(strings.TrimLeft(text, "+-0")); n <= maxDigits {
		return delta.Decimal{Precision: n}
	}
	return nil
}

// with is what two values of one column are together, as Spark has it: a type that holds both without
// loss, else string.
func (g guess) with(o guess) guess {
	if g.kind > o.kind {
		g, o = o, g
	}
	switch {
	case g.kind == nothing:
		return o
	case g.kind == whole && o.kind == whole:
		return guess{whole, wider(g.wide, o.wide), g.shown}
	case g.kind == whole && o.kind == float && g.wide == delta.Integer, g.kind == date && o.kind == moment:
		return o
	case g.kind != o.kind:
		return guess{kind: words}
	}
	return g
}

// wider holds the whole numbers of two types.
func wider(a, b delta.Type) delta.Type {
	_, one := a.(delta.Decimal)
	_, two := b.(delta.Decimal)
	switch {
	case one || two:
		return delta.Decimal{Precision: max(digits(a), digits(b))}
	case a == delta.Long:
		return a
	}
	return b
}

// digits are those of the decimal that holds a type, as Spark counts.
func digits(t delta.Type) int {
	switch t {
	case delta.Integer:
		return 10
	case delta.Long:
		return 20
	}
	return t.(delta.Decimal).Precision
}

// inferred are partition columns by their values.
func (p *convert) inferred() (*delta.Struct, error) {
	s := &delta.Struct{}
	for c, name := range p.files[0].names {
		var g guess
		for _, f := range p.files {
			if v := f.values[c]; v != nil {
				g = g.with(guessOf(*v))
			}
		}
		t, err := g.typ()
		if err != nil {
			return nil, fmt.Errorf("partition column %q: %w", name, err)
		}
		s.Fields = append(s.Fields, delta.Field{Name: name, Type: t, Nullable: true})
	}
	return s, nil
}

func (g guess) typ() (delta.Type, error) {
	switch g.kind {
	case whole:
		return g.wide, nil
	case float:
		return nil, fmt.Errorf("%w: its values are floats, such as %s, by which no table is partitioned: say in Convert.PartitionBy whether they are decimals or strings", idem.ErrInput, g.shown)
	case date:
		return delta.Date, nil
	case moment:
		return delta.Timestamp, nil
	}
	return delta.String, nil
}

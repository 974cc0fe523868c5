package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
)

// want is what an argument may be.
type want struct {
	words string // as errors name it: "a STRING"

	// takes is the type that an argument is converted to; nil if it is refused. The argument's type is
	// never that of NULL.
	takes func(p Param) arrow.DataType

	null arrow.DataType // the type of a NULL without one
}

// What arguments may be. An integer may have any width, and is computed with as BIGINT. A constant
// string is read as the day or the time that is wanted; nothing else is converted: a number is no text.
var (
	wantText = want{words: "a STRING", takes: only(arrow.STRING), null: arrow.BinaryTypes.String}

	wantTextOrBytes = want{words: "a STRING or BINARY", takes: only(arrow.STRING, arrow.BINARY), null: arrow.BinaryTypes.String}

	wantInt = want{words: "an INT", takes: func(p Param) arrow.DataType {
		if arrow.IsSignedInteger(p.Type.ID()) {
			return arrow.PrimitiveTypes.Int64
		}
		return nil
	}, null: arrow.PrimitiveTypes.Int64}

	wantBool = want{words: "a BOOLEAN", takes: only(arrow.BOOL), null: arrow.FixedWidthTypes.Boolean}

	wantDay = want{words: "a DATE, TIMESTAMP or TIMESTAMP_NTZ", takes: temporalOr(arrow.FixedWidthTypes.Date32), null: arrow.FixedWidthTypes.Date32}

	wantTime = want{words: "a TIMESTAMP, TIMESTAMP_NTZ or DATE", takes: temporalOr(timestampType), null: timestampType}

	wantDate = want{words: "a DATE", takes: only(arrow.DATE32), null: arrow.FixedWidthTypes.Date32}

	wantTimestamp = want{words: "a TIMESTAMP", takes: func(p Param) arrow.DataType {
		if isInstant(p.Type) {
			return p.Type
		}
		return nil
	}, null: timestampType}
)

// only takes the types of certain ids as they are.
func only(ids ...arrow.Type) func(Param) arrow.DataType {
	return func(p Param) arrow.DataType {
		for _, id := range ids {
			if p.Type.ID() == id {
				return p.Type
			}
		}
		return nil
	}
}

// temporalOr takes days and times as they are, and reads a constant string as a t.
func temporalOr(t arrow.DataType) func(Param) arrow.DataType {
	return func(p Param) arrow.DataType {
		switch {
		case isTemporal(p.Type):
			return p.Type
		case p.Value != nil && p.Type.ID() == arrow.STRING:
			return t
		}
		return nil
	}
}

func isUntyped(t arrow.DataType) bool { return t == nil || t.ID() == arrow.NULL }

// isTemporal says whether t is DATE, TIMESTAMP or TIMESTAMP_NTZ.
func isTemporal(t arrow.DataType) bool {
	return t.ID() == arrow.DATE32 || isMicros(t)
}

func isMicros(t arrow.DataType) bool {
	ts, ok := t.(*arrow.TimestampType)
	return ok && ts.Unit == arrow.Microsecond
}

// isInstant says whether t is TIMESTAMP.
func isInstant(t arrow.DataType) bool {
	return isMicros(t) && t.(*arrow.TimestampType).TimeZone != ""
}

// signature is what a function takes.
type signature struct {
	wants []want
	least int  // the arguments that cannot be left out
	more  bool // the last may be given any number of times, also never
}

// args is the signature of a function that needs every argument.
func args(wants ...want) signature { return signature{wants: wants, least: len(wants)} }

// optional makes all arguments from the n-th on optional.
func (s signature) optional(n int) signature {
	s.least = n
	return s
}

// String lists what is taken: "a STRING, an INT and perhaps an INT".
func (s signature) String() string {
	var b strings.Builder
	for i, w := range s.wants {
		last := i == len(s.wants)-1
		switch {
		case i > 0 && last:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		switch {
		case last && s.more:
			b.WriteString("any number of arguments, each " + w.words)
		case i >= s.least:
			b.WriteString("perhaps " + w.words)
		default:
			b.WriteString(w.words)
		}
	}
	if len(s.wants) == 0 {
		return "no argument"
	}
	return b.String()
}

// bind gives the types that arguments are converted to.
func (s signature) bind(name string, list []Param) ([]arrow.DataType, error) {
	if len(list) < s.least || len(list) > len(s.wants) && !s.more {
		return nil, fmt.Errorf("%s takes %s; %s", name, s, given(len(list)))
	}
	types := make([]arrow.DataType, len(list))
	for i, p := range list {
		w := s.wants[min(i, len(s.wants)-1)]
		if isUntyped(p.Type) {
			types[i] = w.null
		} else if types[i] = w.takes(p); types[i] == nil {
			return nil, fmt.Errorf("%s takes %s; the %s argument is %s%s", name, s, ordinal(i), expr.TypeName(p.Type), wayOut(p.Type))
		}
	}
	return types, nil
}

// wayOut is what to do with a value of a type that is not taken.
func wayOut(t arrow.DataType) string {
	if isNumber(t) || isTemporal(t) || t.ID() == arrow.STRING || t.ID() == arrow.BINARY || t.ID() == arrow.BOOL {
		return ": CAST it"
	}
	return ""
}

func given(n int) string {
	switch n {
	case 0:
		return "no argument is given"
	case 1:
		return "1 argument is given"
	}
	return fmt.Sprintf("%d arguments are given", n)
}

func ordinal(i int) string {
	if names := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh"}; i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d.", i+1)
}

// gives resolves to a function with a result of one type.
func (s signature) gives(result arrow.DataType, eval func(*Call) arrow.Array) resolver {
	return func(name string, list []Param) (*Function, error) {
		types, err := s.bind(name, list)
		if err != nil {
			return nil, err
		}
		return &Function{Name: name, Params: types, Result: result, Eval: eval}, nil
	}
}

// keeps resolves to a function with a result of the type of its first argument.
func (s signature) keeps(eval func(*Call) arrow.Array) resolver {
	return func(name string, list []Param) (*Function, error) {
		types, err := s.bind(name, list)
		if err != nil {
			return nil, err
		}
		return &Function{Name: name, Params: types, Result: types[0], Eval: eval}, nil
	}
}

// sameText makes a resolver of functions whose arguments are all STRING or all BINARY, but for
// integers among them.
func (s signature) sameText(resolve func(types []arrow.DataType) *Function) resolver {
	return func(name string, list []Param) (*Function, error) {
		types, err := s.bind(name, list)
		if err != nil {
			return nil, err
		}
		var texts, bytes bool
		for i, t := range types {
			texts = texts || t.ID() == arrow.STRING && !isUntyped(list[i].Type)
			bytes = bytes || t.ID() == arrow.BINARY
		}
		if texts && bytes {
			return nil, fmt.Errorf("%s takes STRINGs or BINARYs, not one of each: CAST one of them", name)
		}
		for i, t := range types {
			if bytes && t.ID() == arrow.STRING {
				types[i] = typeBytes
			}
		}
		f := resolve(types)
		f.Name, f.Params = name, types
		return f, nil
	}
}

// errNotConstant says that an argument has to be known before there are rows.
var errNotConstant = errors.New("it has to be a constant STRING")

// constantText is an argument that has to be a constant string.
func constantText(p Param) (string, error) {
	if p.Value != nil && p.Value.IsValid() {
		if v, ok := p.Value.(*scalar.String); ok {
			return string(v.Value.Bytes()), nil
		}
	}
	return "", errNotConstant
}

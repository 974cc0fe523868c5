package delta

import (
	"encoding/json"
	"fmt"
	"strings"
)

const typeChangesKey = "delta.typeChanges"

// Widens says whether the table feature typeWidening lets a column of type from become one of type to, in one step or in
// several: byte to short, integer, long, double or decimal(10+k,k); short and integer likewise; long to decimal(20+k,k);
// float to double; date to timestamp_ntz; a decimal to one with as many digits or more on both sides of the point. Files
// written before hold the old type, and every value of it is one of the new type. A type does not widen to itself.
func Widens(from, to Type) bool {
	if d, ok := to.(Decimal); ok {
		return widensToDecimal(from, d)
	}
	switch from {
	case Byte:
		return to == Short || to == Integer || to == Long || to == Double
	case Short:
		return to == Integer || to == Long || to == Double
	case Integer:
		return to == Long || to == Double
	case Float:
		return to == Double
	case Date:
		return to == TimestampNTZ
	}
	return false
}

// holdsInteger is true of a decimal that has the digits of every integer of a type. Tables from before the protocol settled
// on ten digits for the narrow ones have been widened to such.
func holdsInteger(from, to Type) bool {
	d, ok := to.(Decimal)
	digits, integer := map[Type]int{Byte: 3, Short: 5, Integer: 10, Long: 19}[from]
	return ok && integer && d.Precision-d.Scale >= digits
}

func widensToDecimal(from Type, to Decimal) bool {
	whole := to.Precision - to.Scale
	switch from := from.(type) {
	case Decimal:
		return from != to && from.Scale <= to.Scale && from.Precision-from.Scale <= whole
	case Primitive:
		switch from {
		case Byte, Short, Integer:
			return whole >= 10
		case Long:
			return whole >= 20
		}
	}
	return false
}

// typeChange is an entry of a field's delta.typeChanges. The version of the table that older ones carry says nothing to
// a reader.
type typeChange struct {
	From *string `json:"fromType"`
	To   *string `json:"toType"`
}

// checkTypeChanges refuses a schema that records a change of type after which idem could not read the older files.
// Without the table feature what a schema records is inert.
func checkTypeChanges(p *Protocol, s *Struct) error {
	if !supportsAny(p, "typeWidening") {
		return nil
	}
	var broken error
	findField(s, "", func(f *Field) bool {
		raw, ok := f.Metadata[typeChangesKey]
		if ok {
			broken = checkChanges(raw)
		}
		if broken != nil {
			broken = fmt.Errorf("column %q: %s: %w", f.Name, typeChangesKey, broken)
		}
		return broken != nil
	})
	return broken
}

func checkChanges(raw json.RawMessage) error {
	var changes []typeChange
	if err := json.Unmarshal(raw, &changes); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for _, c := range changes {
		if c.From == nil || c.To == nil {
			return fmt.Errorf("%w: a change of type without fromType or toType", ErrCorrupt)
		}
		if strings.EqualFold(*c.From, *c.To) {
			continue // of a string's collation
		}
		from, err := parseTypeName(*c.From)
		if err != nil {
			return err
		}
		to, err := parseTypeName(*c.To)
		if err != nil {
			return err
		}
		if from != Void && !Widens(from, to) && !holdsInteger(from, to) {
			return fmt.Errorf("%w: the type was changed from %s to %s, which is no widening that idem knows: its older files cannot be read as %s",
				ErrUnsupported, from, to, to)
		}
	}
	return nil
}

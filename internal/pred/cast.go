package pred

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/idemtable/idem/delta/expr"
)

// castDatum converts a constant as Spark does in ANSI mode, but refuses what would lose something
// of it in silence.
func castDatum(v datum, to sqlType) (datum, error) {
	if v.kind == kindNull || v.sqlType == to {
		return v, nil
	}
	c, err := convert(v, to)
	if err != nil {
		return datum{}, err
	}
	c.sqlType = to
	return c, nil
}

func convert(v datum, to sqlType) (datum, error) {
	if v.kind == kindString {
		return parseDatum(strings.TrimSpace(v.s), v.s, to)
	}
	switch {
	case to.kind == kindInt && v.numeric():
		return toInt(v, to.bits)
	case to.kind == kindFloat && v.numeric():
		return toFloat(v, to.bits), nil
	case to.kind == kindDecimal && v.numeric():
		return toDecimal(v, to)
	case to.kind == kindString && v.kind != kindFloat && v.kind != kindBinary:
		return datum{s: text(v)}, nil
	case to.kind == kindDate && v.micros():
		return datum{i: floorDiv(v.i, microsADay)}, nil
	case to.micros() && v.micros():
		return datum{i: v.i}, nil
	case to.micros() && v.kind == kindDate:
		start := dayStart(v.i)
		if start.beyond || v.i < math.MinInt64/microsADay {
			return datum{}, fmt.Errorf("the day %s is beyond what %s holds", v, to)
		}
		return datum{i: v.i * microsADay}, nil
	}
	return datum{}, fmt.Errorf("a CAST from %s to %s is not supported in a condition", v.sqlType, to)
}

// text is a constant as CAST(… AS STRING) writes it.
func text(v datum) string {
	if v.kind == kindBool {
		return strconv.FormatBool(v.i != 0)
	}
	return v.String()
}

// parseDatum reads a string as a constant of a type; trimmed is the text without space around it.
func parseDatum(trimmed, whole string, to sqlType) (datum, error) {
	bad := fmt.Errorf("%.60q cannot be read as %s", whole, to)
	switch to.kind {
	case kindBool:
		switch strings.ToLower(trimmed) {
		case "true", "t", "yes", "y", "1":
			return datum{i: 1}, nil
		case "false", "f", "no", "n", "0":
			return datum{}, nil
		}
	case kindInt:
		if i, err := strconv.ParseInt(trimmed, 10, to.bits); err == nil {
			return datum{i: i}, nil
		}
	case kindFloat:
		if f, err := strconv.ParseFloat(trimmed, to.bits); err == nil && !strings.ContainsAny(trimmed, "xX_") {
			return datum{f: f}, nil
		}
	case kindDecimal:
		if l, ok := expr.Decimal(trimmed).(*expr.Literal); ok {
			if d, err := datumOf(l.Value); err == nil {
				return toDecimal(d, to)
			}
		}
	case kindBinary:
		return datum{s: whole}, nil
	case kindDate:
		d, err := expr.ParseDate(whole)
		return datum{i: int64(d)}, err
	case kindTimestamp:
		t, _, err := expr.ParseTimestamp(whole)
		return datum{i: int64(t)}, err
	case kindNTZ:
		t, zoned, err := expr.ParseTimestamp(whole)
		if err == nil && zoned {
			err = fmt.Errorf("%q has a zone, a TIMESTAMP_NTZ has none", whole)
		}
		return datum{i: int64(t)}, err
	}
	return datum{}, bad
}

func toInt(v datum, bits int) (datum, error) {
	lossy := fmt.Errorf("%s is no integer of %d bits", v, bits)
	least := int64(math.MinInt64) >> (64 - bits)
	var i int64
	switch v.kind {
	case kindInt:
		i = v.i
	case kindFloat:
		if v.f != math.Trunc(v.f) || v.f >= 1<<63 || v.f < -1<<63 {
			return datum{}, lossy
		}
		i = int64(v.f)
	default:
		whole, rest := new(big.Int).DivMod(v.d.BigInt(), pow10(v.scale), new(big.Int))
		if rest.Sign() != 0 || !whole.IsInt64() {
			return datum{}, lossy
		}
		i = whole.Int64()
	}
	if i < least || i > ^least {
		return datum{}, lossy
	}
	return datum{i: i}, nil
}

func toFloat(v datum, bits int) datum {
	f := v.float()
	if bits == 32 {
		f = float64(float32(f))
	}
	return datum{f: f}
}

// toDecimal keeps the digits or refuses.
func toDecimal(v datum, to sqlType) (datum, error) {
	if v.kind == kindFloat {
		l, ok := expr.Decimal(strconv.FormatFloat(v.f, 'g', -1, max(v.bits, 32))).(*expr.Literal)
		if !ok {
			return datum{}, fmt.Errorf("%s is no %s", v, to)
		}
		d, err := datumOf(l.Value)
		if err != nil {
			return datum{}, err
		}
		v = d
	}
	n, scale := v.unscaled()
	if scale > to.scale {
		rest := new(big.Int)
		if n.DivMod(n, pow10(scale-to.scale), rest); rest.Sign() != 0 {
			return datum{}, fmt.Errorf("%s has more than %d digits after the point", v, to.scale)
		}
	} else {
		n.Mul(n, pow10(to.scale-scale))
	}
	if n.CmpAbs(pow10(to.precision)) >= 0 {
		return datum{}, fmt.Errorf("%s does not fit into %s", v, to)
	}
	return datum{d: decimal128.FromBigInt(n)}, nil
}

package function_test

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/fuzzing"
)

var decimalText = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// FuzzCastText casts any text to every type: nothing panics or takes more than it may, what is read is written and read again as
// the same, and integers and decimals are what big numbers say.
func FuzzCastText(f *testing.F) {
	for _, s := range []string{"", " 12\t", "-9223372036854775808", "1e400", "0x1p-3d", "NaN", "+inf", ".5e1", "5.", "1e-2147483648", "0e38",
		"99999999999999999999999999999999999999.5", "2020-02-29", "-0001-1-1 x", "2020-02-29T23:59:59.9999999+01:3", "12:00", "true", "\x00y\x7f", "ä"} {
		f.Add(s)
	}
	types := append([]arrow.DataType{&arrow.Decimal128Type{Precision: 38, Scale: 10}, &arrow.Decimal128Type{Precision: 38, Scale: 38}}, everyType...)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		b := array.NewStringBuilder(mem)
		b.Append(s)
		in := b.NewArray()
		b.Release()
		defer in.Release()
		cast := func(in arrow.Array, to arrow.DataType) (out arrow.Array, err error) {
			fuzzing.Bounded(t, len(s), func() {
				if out != nil { // it took long, and is done again
					out.Release()
				}
				out, err = recast(t, mem, in, to)
			})
			return out, err
		}
		for _, to := range types {
			v, err := cast(in, to)
			checkBig(t, s, to, v, err)
			if err == nil && to.ID() != arrow.BINARY {
				text, err := cast(v, arrow.BinaryTypes.String)
				require.NoError(t, err)
				again, err := cast(text, to)
				require.NoError(t, err, "%s as %s", text, to)
				require.True(t, v.ValueStr(0) == again.ValueStr(0), "%q as %s: %s, %s, %s", s, to, v, text, again)
				again.Release()
				text.Release()
			}
			v.Release()
		}
	})
}

// checkBig holds an integer or a decimal against a big number.
func checkBig(t *testing.T, s string, to arrow.DataType, v arrow.Array, err error) {
	trimmed := strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	switch {
	case arrow.IsSignedInteger(to.ID()):
		trimmed = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
		n, ok := new(big.Int).SetString(trimmed, 10)
		ok = ok && !strings.Contains(trimmed, "_")
		least, most, _ := bounds(to)
		require.Equal(t, ok && n.Cmp(least) >= 0 && n.Cmp(most) <= 0, err == nil, "%q as %s", s, to)
		if err == nil {
			require.Equal(t, n.String(), unscaledAt(v, 0).String())
		}
	case to.ID() == arrow.DECIMAL128:
		n, ok := new(big.Rat), decimalText.MatchString(trimmed) && exponentIsShort(trimmed)
		if ok {
			n, ok = n.SetString(trimmed)
		}
		if err != nil {
			if ok && n.Sign() != 0 { // Spark refuses some zeros
				_, twinErr := roundedTo(n, to)
				require.Error(t, twinErr, "%q as %s: %s", s, to, err)
			}
			return
		}
		if exponentIsShort(trimmed) {
			require.True(t, ok, "%q is no %s", s, to)
			want, twinErr := roundedTo(n, to)
			require.NoError(t, twinErr, "%q as %s", s, to)
			require.Equal(t, want, unscaledAt(v, 0).String(), "%q as %s", s, to)
		}
	}
}

// exponentIsShort keeps numbers of millions of digits from the twin.
func exponentIsShort(s string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	return len(exponent) < 5
}

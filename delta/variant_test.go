package delta_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

// sparkVariants are variants that Spark 4.1 wrote, each as metadata, value and its to_json text.
func sparkVariants(t testing.TB) (out [][3]string) {
	data, err := os.ReadFile("testdata/variants.txt")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		parts := strings.SplitN(line, " ", 3)
		require.Len(t, parts, 3)
		for i := range 2 {
			b, err := hex.DecodeString(parts[i])
			require.NoError(t, err)
			parts[i] = string(b)
		}
		out = append(out, [3]string(parts))
	}
	require.Greater(t, len(out), 50)
	return out
}

func TestVariantsOfSpark(t *testing.T) {
	for _, v := range sparkVariants(t) {
		text, err := delta.VariantJSON([]byte(v[0]), []byte(v[1]))
		require.NoError(t, err, v[2])
		require.Equal(t, v[2], text)
		require.NoError(t, delta.CheckVariant([]byte(v[0]), []byte(v[1])), v[2])
		n, err := delta.VariantSize([]byte(v[1] + "rest"))
		require.NoError(t, err, v[2])
		require.Equal(t, len(v[1]), n, v[2])
	}
}

// TestVariantTypesBesideSpark has the types of the format that Spark does not write.
func TestVariantTypesBesideSpark(t *testing.T) {
	number := func(header byte, n int64) string {
		return string(binary.LittleEndian.AppendUint64([]byte{header}, uint64(n)))
	}
	for value, want := range map[string]string{
		number(17<<2, 3_723_000_001):           `"01:02:03.000001"`,
		number(18<<2, 1):                       `"1970-01-01 00:00:00.000000001+00:00"`,
		number(19<<2, -1):                      `"1969-12-31 23:59:59.999999999"`,
		number(13<<2, 253_402_300_800_000_000): `"+10000-01-01 00:00:00"`,
		number(13<<2, -62_198_755_200_000_000): `"-0001-01-01 00:00:00"`,
		"\x50\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff": `"00112233-4455-6677-8899-aabbccddeeff"`,
		"\x40\x00\x00\x00\x00": `""`,
	} {
		text, err := delta.VariantJSON([]byte{1, 0, 0}, []byte(value))
		require.NoError(t, err, want)
		require.Equal(t, want, text)
	}
}

func TestMalformedVariants(t *testing.T) {
	const none = "\x01\x00\x00"
	tests := []struct {
		why, metadata, value string
		read                 bool // a reader gets through, a writer refuses it
	}{
		{"no metadata", "", "\x00", false},
		{"another version", "\x02\x00\x00", "\x00", false},
		{"metadata that ends early", "\xc1\x00", "\x00", false},
		{"a dictionary larger than the metadata", "\x01\xff\x00", "\x00", false},
		{"no value", none, "", false},
		{"a type that nobody defined", none, "\x54", false},
		{"a number that ends early", none, "\x14\x01\x02\x03", false},
		{"a short string that ends early", none, "\x0da", false},
		{"a long string beyond the value", none, "\x40\xff\xff\xff\xffa", false},
		{"a decimal of more digits than its type", none, "\x20\x02\xff\xff\xff\x7f", false},
		{"a decimal with a scale beyond its digits", none, "\x20\x0a\x01\x00\x00\x00", false},
		{"an array that states more elements than it has bytes", none, "\x13\xff\xff\xff\xff\x00", false},
		{"an array whose end is beyond the value", none, "\x03\x01\x00\x09\x00", false},
		{"an array with an element at its end", none, "\x03\x02\x00\x01\x01\x00", false},
		{"an object whose key is not in the dictionary", none, "\x02\x01\x00\x00\x01\x00", false},
		{"a key that ends before it begins", "\x01\x01\x01\x00a", "\x02\x01\x00\x00\x01\x00", false},
		{"a key beyond the metadata", "\x01\x01\x00\x09a", "\x02\x01\x00\x00\x01\x00", false},
		{"elements that share their bytes", none, "\x03\x02\x00\x00\x02\x0c\x01", false},
		{"bytes behind the value", none, "\x00\x00", true},
		{"bytes between elements", none, "\x03\x02\x00\x02\x03\x00\x00\x00", true},
		{"keys out of order", "\x01\x02\x00\x01\x02ab", "\x02\x02\x01\x00\x00\x01\x02\x00\x00", true},
		{"a key twice", "\x01\x01\x00\x01a", "\x02\x02\x00\x00\x00\x01\x02\x00\x00", true},
		{"a string that is not UTF-8", none, "\x05\xff", true},
		{"an array in disorder", none, "\x03\x02\x01\x00\x02\x00\x00", true},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			_, err := delta.VariantJSON([]byte(tt.metadata), []byte(tt.value))
			if tt.read {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, delta.ErrCorrupt)
			}
			require.ErrorIs(t, delta.CheckVariant([]byte(tt.metadata), []byte(tt.value)), delta.ErrInput)
		})
	}
}

// bomb is a value of so many levels, each an object of many fields that all are the next level.
func bomb(levels int) []byte {
	value := []byte{0}
	for range levels {
		const n = 100
		out := []byte{1<<2 | 2, n}
		for i := range n {
			out = append(out, byte(i))
		}
		for range n {
			out = append(out, 0, 0)
		}
		value = append(binary.LittleEndian.AppendUint16(out, uint16(len(value))), value...)
	}
	return value
}

func TestVariantsThatStandForMuch(t *testing.T) {
	metadata := []byte{1, 100}
	for range 101 {
		metadata = append(metadata, 0)
	}
	_, err := delta.VariantJSON(metadata, bomb(20))
	require.ErrorIs(t, err, delta.ErrCorrupt, "shared values")
	_, err = delta.VariantFields(metadata, bomb(2))
	require.ErrorIs(t, err, delta.ErrCorrupt, "shared values")

	deep := []byte{0}
	for range 1001 {
		deep = append(binary.LittleEndian.AppendUint32([]byte{3<<2 | 3, 1, 0, 0, 0, 0}, uint32(len(deep))), deep...)
	}
	_, err = delta.VariantJSON(metadata, deep)
	require.ErrorIs(t, err, delta.ErrUnsupported, "levels")
	require.ErrorIs(t, delta.CheckVariant(metadata, deep), delta.ErrInput)

	// One long key, which each of many small objects has.
	const n, long = 1 << 16, 1 << 16
	metadata = binary.LittleEndian.AppendUint32([]byte{0xc1, 1, 0, 0, 0, 0, 0, 0, 0}, long)
	metadata = append(metadata, strings.Repeat("x", long)...)
	value := binary.LittleEndian.AppendUint32([]byte{1<<4 | 3<<2 | 3}, n)
	for i := range n + 1 {
		value = binary.LittleEndian.AppendUint32(value, uint32(6*i))
	}
	for range n {
		value = append(value, 2, 1, 0, 0, 1, 0)
	}
	_, err = delta.VariantJSON(metadata, value)
	require.ErrorIs(t, err, delta.ErrUnsupported, "text")
}

func TestVariantFields(t *testing.T) {
	for _, v := range sparkVariants(t) {
		fields, err := delta.VariantFields([]byte(v[0]), []byte(v[1]))
		if !strings.HasPrefix(v[2], "{") {
			require.ErrorIs(t, err, delta.ErrCorrupt, v[2])
			continue
		}
		require.NoError(t, err, v[2])
		var parts []string
		for _, f := range fields {
			text, err := delta.VariantJSON([]byte(v[0]), f.Value)
			require.NoError(t, err, v[2])
			key, err := json.Marshal(f.Key)
			require.NoError(t, err)
			parts = append(parts, string(key)+":"+text)
			require.NoError(t, delta.VariantKeys([]byte(v[0]), func(id int, key []byte) bool {
				require.Equal(t, id == f.ID, string(key) == f.Key)
				return true
			}))
		}
		require.Equal(t, v[2], "{"+strings.Join(parts, ",")+"}")
	}
}

// TestVariantsOfAnotherLibrary: variants that arrow-go encodes read as the JSON that they were made of.
func TestVariantsOfAnotherLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, err := json.Marshal(drawJSON(t, 3))
		require.NoError(t, err)
		v, err := variant.ParseJSONBytes(want, false)
		require.NoError(t, err)
		require.NoError(t, delta.CheckVariant(v.Metadata().Bytes(), v.Bytes()))
		got, err := delta.VariantJSON(v.Metadata().Bytes(), v.Bytes())
		require.NoError(t, err)
		require.JSONEq(t, string(want), got)
	})
}

func drawJSON(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 5+2*min(1, depth)).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int32().Draw(t, "int")
	case 3:
		return rapid.StringN(0, 80, -1).Draw(t, "text")
	case 4:
		return float64(rapid.IntRange(-1000, 1000).Draw(t, "eighths")) / 8
	case 5:
		return "é\u2028\"\\\n"
	case 6:
		out := make([]any, rapid.IntRange(0, 5).Draw(t, "elements"))
		for i := range out {
			out[i] = drawJSON(t, depth-1)
		}
		return out
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		out[rapid.StringN(0, 5, -1).Draw(t, "key")] = drawJSON(t, depth-1)
	}
	return out
}

func TestVariantArrowType(t *testing.T) {
	dt, err := delta.ArrowType(delta.Variant)
	require.NoError(t, err)
	require.True(t, delta.IsVariant(dt))
	same := arrow.StructOf(arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary})
	require.True(t, arrow.TypeEqual(dt, same), "batches of the one are taken for the other")
	require.False(t, delta.IsVariant(same), "a table's own struct is none")
	s, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "v", Type: dt}, {Name: "s", Type: same}, {Name: "l", Type: arrow.ListOf(dt)}}, nil))
	require.NoError(t, err)
	require.Equal(t, delta.Variant, s.Fields[0].Type)
	require.IsType(t, &delta.Struct{}, s.Fields[1].Type)
	require.Equal(t, delta.Variant, s.Fields[2].Type.(*delta.Array).Element)
}

// FuzzVariant: no bytes make the readers panic or write what is not JSON, and what a writer takes, a reader reads.
func FuzzVariant(f *testing.F) {
	for _, v := range sparkVariants(f) {
		f.Add([]byte(v[0]), []byte(v[1]))
	}
	f.Add([]byte{1, 0, 0}, bomb(3))
	f.Fuzz(func(t *testing.T, metadata, value []byte) {
		text, err := fuzzing.Read(t, len(metadata)+len(value), func() (string, error) { return delta.VariantJSON(metadata, value) })
		if err == nil && !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
		if delta.CheckVariant(metadata, value) == nil && err != nil {
			t.Fatalf("taken and not read: %v", err)
		}
		if n, err := delta.VariantSize(value); err == nil && (n < 1 || n > len(value)) {
			t.Fatalf("%d bytes of %d", n, len(value))
		}
		fields, err := delta.VariantFields(metadata, value)
		for _, field := range fields {
			if _, sized := delta.VariantSize(field.Value); err == nil && sized != nil {
				t.Fatal(base64.StdEncoding.EncodeToString(field.Value))
			}
		}
	})
}

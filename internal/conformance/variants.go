package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
)

// showsShredding is true of expected rows that have variants as the columns into which files split them. Such a line's
// hashes are of those columns, which no reader gives.
func showsShredding(data json.RawMessage) bool { return bytes.Contains(data, []byte(`"typed_value"`)) }

// variantRows compares rows with each variant as the JSON value that it is.
func (c *check) variantRows(ctx context.Context, snap *delta.Snapshot, want claim) error {
	var got []string
	var broken error
	err := eachRow(scan.Rows(ctx, c.table(snap), scan.Request{}), func(row []byte) {
		text, err := withVariants(row, joined)
		if got = append(got, text); err != nil {
			broken = err
		}
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return err
	}
	if want.rows != nil && int64(len(got)) != *want.rows {
		c.fault("version %d has %d rows, not %d", snap.Version(), len(got), *want.rows)
		return nil
	}
	if len(want.data) == 0 {
		c.note("version %d: only the number of rows can be compared", snap.Version())
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(want.data, &list); err != nil {
		return err
	}
	expected := make([]string, len(list))
	for i := range list {
		if expected[i], err = withVariants(list[i], split); err != nil {
			return err
		}
	}
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		c.fault("version %d: the rows are %s, not %s", snap.Version(), got, expected)
	}
	return nil
}

// withVariants gives a row's JSON with keys in order, and with what plain makes of each object.
func withVariants(row []byte, plain func(map[string]any) (any, bool, error)) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(row))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	v, err := replaced(v, plain)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func replaced(v any, plain func(map[string]any) (any, bool, error)) (out any, err error) {
	switch v := v.(type) {
	case map[string]any:
		if out, ok, err := plain(v); ok || err != nil {
			return out, err
		}
		for key := range v {
			if v[key], err = replaced(v[key], plain); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = replaced(v[i], plain); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// joined reads a variant of two binaries.
func joined(v map[string]any) (any, bool, error) {
	value, isValue := v["value"].(string)
	metadata, isMetadata := v["metadata"].(string)
	if len(v) != 2 || !isValue || !isMetadata {
		return nil, false, nil
	}
	var parts [2][]byte
	for i, text := range []string{metadata, value} {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "base64:"))
		if err != nil {
			return nil, true, err
		}
		parts[i] = b
	}
	text, err := delta.VariantJSON(parts[0], parts[1])
	return json.RawMessage(text), true, err
}

// split reads a variant whose columns are all typed.
func split(v map[string]any) (any, bool, error) {
	typed, ok := v["typed_value"]
	if !ok {
		return nil, false, nil
	}
	if v["value"] != nil {
		return nil, true, fmt.Errorf("expected rows with a variant of which only a part is typed")
	}
	fields, ok := typed.(map[string]any)
	if !ok {
		return typed, true, nil
	}
	out := map[string]any{}
	for key, f := range fields {
		field, isGroup := f.(map[string]any)
		if !isGroup || field["typed_value"] == nil {
			return nil, true, fmt.Errorf("expected rows with the field %s of a variant, which is not typed", key)
		}
		plain, _, err := split(field)
		if err != nil {
			return nil, true, err
		}
		out[key] = plain
	}
	return out, true, nil
}

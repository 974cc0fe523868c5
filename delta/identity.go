package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The keys of a field's metadata under which the rules stand by which a table makes values.
const (
	GenerationKey = "delta.generationExpression"
	DefaultKey    = "CURRENT_DEFAULT"
	CharTypeKey   = "__CHAR_VARCHAR_TYPE_STRING" // a char or varchar type, or a nested one that holds such
	CommentKey    = "comment"

	IdentityStartKey    = "delta.identity.start"
	IdentityStepKey     = "delta.identity.step"
	IdentityMarkKey     = "delta.identity.highWaterMark"
	IdentityExplicitKey = "delta.identity.allowExplicitInsert"
)

// Features under which the rules hold; without them they are inert.
const (
	generatedFeature = "generatedColumns"
	defaultsFeature  = "allowColumnDefaults"
	identityFeature  = "identityColumns"
)

// Text reads a value of the field's metadata that is a JSON string. A value of another kind wraps
// ErrCorrupt.
func (f Field) Text(key string) (text string, ok bool, err error) {
	raw, ok := f.Metadata[key]
	if !ok {
		return "", false, nil
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", true, fmt.Errorf("%w: column %q: %s is %.60s and not a text", ErrCorrupt, f.Name, key, raw)
	}
	return text, true, nil
}

// setText puts a text into the field's metadata; "" puts none. What is not UTF-8 would be another text in the
// log and wraps ErrInput.
func (f *Field) setText(key, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s of column %q is not UTF-8, and would be another text in the log: %.200q: %w", key, f.Name, text, ErrInput)
	}
	if text != "" {
		f.Metadata[key] = appendQuoted(nil, text)
	}
	return nil
}

// Generation is the expression of which a top-level column is the value; ok is false for one that
// is not generated. Errors wrap ErrCorrupt.
func (s *Snapshot) Generation(column int) (text string, ok bool, err error) {
	return s.rule(column, generatedFeature, GenerationKey)
}

// Default is the expression whose value a top-level column has in rows that lack the column; ok is
// false if that is NULL. Errors wrap ErrCorrupt.
func (s *Snapshot) Default(column int) (text string, ok bool, err error) {
	return s.rule(column, defaultsFeature, DefaultKey)
}

func (s *Snapshot) rule(column int, feature, key string) (string, bool, error) {
	if !s.Protocol().Supports(feature) {
		return "", false, nil
	}
	return s.Schema().Fields[column].Text(key)
}

// Identity is the rule by which a column of the type long is numbered: Start, Start+Step and so on,
// in the direction of Step.
type Identity struct {
	Start, Step int64

	// Mark is the last number that was given, which stands in the log as highWaterMark; nil if there
	// was none. It may be none of the rule's numbers.
	Mark *int64

	// AllowExplicit lets rows bring numbers of their own. They do not move the mark.
	AllowExplicit bool
}

// Identity is the rule of a top-level column, nil if it has none. What cannot be one wraps
// ErrCorrupt.
func (s *Snapshot) Identity(column int) (*Identity, error) {
	if !s.Protocol().Supports(identityFeature) {
		return nil, nil
	}
	return s.Schema().Fields[column].Identity()
}

// Identity is the rule that stands in the field's metadata, nil if there is none. What cannot be one
// wraps ErrCorrupt.
func (f Field) Identity() (*Identity, error) {
	_, start := f.Metadata[IdentityStartKey]
	_, step := f.Metadata[IdentityStepKey]
	if !start && !step {
		return nil, nil
	}
	var id Identity
	for key, to := range map[string]any{
		IdentityStartKey: &id.Start, IdentityStepKey: &id.Step, IdentityMarkKey: &id.Mark, IdentityExplicitKey: &id.AllowExplicit,
	} {
		raw, ok := f.Metadata[key]
		if !ok && (key == IdentityStartKey || key == IdentityStepKey) {
			return nil, fmt.Errorf("%w: the identity column %q lacks %s", ErrCorrupt, f.Name, key)
		}
		if ok && json.Unmarshal(raw, to) != nil {
			return nil, fmt.Errorf("%w: the identity column %q: %s is %.60s", ErrCorrupt, f.Name, key, raw)
		}
	}
	if id.Step == 0 || f.Type != Long {
		return nil, fmt.Errorf("%w: the identity column %q is %s with the step %d; it is a long, and its step not 0", ErrCorrupt, f.Name, f.Type, id.Step)
	}
	return &id, nil
}

// Metadata gives the entries of a field's metadata that say so.
func (i *Identity) Metadata() map[string]json.RawMessage {
	m := map[string]json.RawMessage{
		IdentityStartKey:    json.RawMessage(strconv.FormatInt(i.Start, 10)),
		IdentityStepKey:     json.RawMessage(strconv.FormatInt(i.Step, 10)),
		IdentityExplicitKey: json.RawMessage(strconv.FormatBool(i.AllowExplicit)),
	}
	if i.Mark != nil {
		m[IdentityMarkKey] = json.RawMessage(strconv.FormatInt(*i.Mark, 10))
	}
	return m
}

// Next is the first number that was not given yet: of Start, Start+Step and so on the first one
// beyond the mark. ok is false if no long is.
func (i *Identity) Next() (n int64, ok bool) {
	if i.Mark == nil {
		return i.Start, true
	}
	start, step, mark := big.NewInt(i.Start), big.NewInt(i.Step), big.NewInt(*i.Mark)
	ahead := new(big.Int).Sub(mark, start)
	if ahead.Sign() != 0 && ahead.Sign() != step.Sign() {
		return i.Start, true
	}
	steps := ahead.Quo(ahead, step)
	steps.Add(steps, big.NewInt(1))
	next := steps.Mul(steps, step)
	next.Add(next, start)
	return next.Int64(), next.IsInt64()
}

// Ahead is the last of count numbers from first on, in steps. ok is false if it is beyond a long.
func (i *Identity) Ahead(first, count int64) (last int64, ok bool) {
	n := new(big.Int).Mul(big.NewInt(i.Step), big.NewInt(count-1))
	n.Add(n, big.NewInt(first))
	return n.Int64(), n.IsInt64()
}

// Marked is the snapshot's metadata with other high-water marks, by the names of top-level columns as
// the schema spells them. A definition that idem would not write back unharmed wraps ErrUnsupported.
func (s *Snapshot) Marked(marks map[string]int64) (*Metadata, error) {
	m := *s.Metadata()
	if !writesBack(m.SchemaString) {
		return nil, fmt.Errorf("number the rows of the identity column %s: the table's schema holds what idem would not write back, such as a user-defined type; "+
			"write with the engine that made it: %w", slices.Sorted(maps.Keys(marks))[0], ErrUnsupported)
	}
	schema := &Struct{Fields: slices.Clone(s.Schema().Fields)}
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if mark, ok := marks[f.Name]; ok {
			f.Metadata = maps.Clone(f.Metadata)
			f.Metadata[IdentityMarkKey] = json.RawMessage(strconv.FormatInt(mark, 10))
		}
	}
	m.SchemaString = schema.JSON()
	return &m, nil
}

package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// AddConstraint adds a CHECK constraint: a SQL condition that is TRUE of every row. Names ignore case
// and are kept in lower case. That the condition can be evaluated, and that it holds for the rows
// there are, is for the caller to check first. A constraint of the name that says something else
// wraps [ErrConflict].
func (s *Snapshot) AddConstraint(name, condition string) (*Edit, error) {
	what := fmt.Sprintf("add the constraint %q", name)
	key, err := constraintKey(name, condition)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	d := s.draft(Fresh{})
	for _, k := range d.constraintKeys(name) {
		if old := d.meta.Configuration[k]; old != condition {
			return nil, fmt.Errorf("%s: the table has it as %q and not as %q; drop the old one first: %w", what, old, condition, ErrDiffers)
		}
		key = k
	}
	d.meta.Configuration[key] = condition
	d.features = []string{"checkConstraints"}
	return d.finish(what)
}

func constraintKey(name, condition string) (string, error) {
	switch {
	case strings.TrimSpace(name) == "":
		return "", fmt.Errorf("a constraint needs a name: %w", ErrInput)
	case strings.TrimSpace(condition) == "":
		return "", fmt.Errorf("the condition is empty: %w", ErrInput)
	case !utf8.ValidString(name): // before its letters are made small ones, which would make it another
		return "", fmt.Errorf("the constraint's name %q is not UTF-8: %w", name, ErrInput)
	}
	return constraintPrefix + strings.ToLower(name), nil
}

// DropConstraint takes a CHECK constraint away, by its name ignoring case. Nothing is done if there
// is none.
func (s *Snapshot) DropConstraint(name string) (*Edit, error) {
	d := s.draft(Fresh{})
	for _, key := range d.constraintKeys(name) {
		delete(d.meta.Configuration, key)
	}
	return d.finish(fmt.Sprintf("drop the constraint %q", name))
}

// constraintKeys are the properties that hold a constraint of a name: one, unless another engine
// kept several that differ in case.
func (d *draft) constraintKeys(name string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(d.meta.Configuration)) {
		if of, ok := strings.CutPrefix(key, constraintPrefix); ok && strings.EqualFold(of, name) {
			keys = append(keys, key)
		}
	}
	return keys
}

// refuseUsed refuses to change a column, as it was named, that a constraint or a generated column
// may depend on.
func (d *draft) refuseUsed(path []string, name string) error {
	path = slices.Concat(path[:len(path)-1], []string{name})
	if d.protocol.Supports("checkConstraints") {
		for _, key := range slices.Sorted(maps.Keys(d.meta.Configuration)) {
			if of, ok := strings.CutPrefix(key, constraintPrefix); ok && mentions(d.meta.Configuration[key], path) {
				return fmt.Errorf("the constraint %s names it (%s): drop the constraint first: %w", of, d.meta.Configuration[key], ErrInput)
			}
		}
	}
	return d.refuseGenerating(path)
}

// refuseGenerating refuses to change a column that a generated column or an invariant names.
func (d *draft) refuseGenerating(path []string) error {
	rules := map[string]string{"generatedColumns": GenerationKey, "invariants": "delta.invariants"}
	for _, feature := range slices.Sorted(maps.Keys(rules)) {
		if !d.protocol.Supports(feature) {
			continue
		}
		expression := ""
		column := findField(d.was.Schema(), "", func(f *Field) bool {
			raw, ok := f.Metadata[rules[feature]]
			if text, isText, err := f.Text(rules[feature]); isText && err == nil {
				expression = text
			} else {
				expression = string(raw)
			}
			return ok && mentions(unwrapInvariant(expression), path)
		})
		if column != "" {
			return fmt.Errorf("the rule of the column %s names it (%s): it must stay as it is while that rule stands: %w", column, expression, ErrInput)
		}
	}
	return nil
}

// mentions says whether a SQL expression may speak of a column: whether it has a name, or names joined
// by dots, with which the column's path begins or which begins with it. It errs towards yes: a keyword
// or a function that is called as the column counts.
func mentions(sql string, path []string) bool {
	raw := false // the last name makes what is in quotes a text without escapes
	for len(sql) > 0 {
		names, rest := joinedNames(sql)
		switch {
		case len(names) == 0:
			rest = skipToken(sql, raw)
		case samePrefix(names, path):
			return true
		}
		raw = len(names) == 1 && strings.EqualFold(names[0], "r")
		sql = rest
	}
	return false
}

// joinedNames reads names joined by dots at the beginning of an expression, none if it begins
// otherwise.
func joinedNames(sql string) (names []string, rest string) {
	for {
		name, after := nextName(sql)
		if name == "" {
			return names, sql
		}
		names = append(names, name)
		if sql = after; !strings.HasPrefix(sql, ".") {
			return names, sql
		}
		sql = sql[1:]
	}
}

// nextName reads a name at the beginning, in backticks or plain; "" if none begins there.
func nextName(sql string) (name, rest string) {
	if strings.HasPrefix(sql, "`") {
		for end := 1; end < len(sql); end++ {
			if sql[end] != '`' {
				continue
			}
			if end+1 < len(sql) && sql[end+1] == '`' {
				end++
				continue
			}
			return strings.ReplaceAll(sql[1:end], "``", "`"), sql[end+1:]
		}
		return "", sql
	}
	end := strings.IndexFunc(sql, func(r rune) bool {
		return r < 0x80 && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(sql)
	}
	return sql[:end], sql[end:]
}

// skipToken leaves a text in quotes out, or one character.
func skipToken(sql string, raw bool) string {
	quote := sql[0]
	if quote != '\'' && quote != '"' {
		return sql[1:]
	}
	for i := 1; i < len(sql); i++ {
		switch {
		case sql[i] == '\\' && !raw:
			i++
		case sql[i] == quote:
			return sql[i+1:]
		}
	}
	return ""
}

// unwrapInvariant gives the SQL of an invariant, and any other text as it is.
func unwrapInvariant(text string) string {
	var v struct{ Expression struct{ Expression string } }
	if json.Unmarshal([]byte(text), &v) == nil && v.Expression.Expression != "" {
		return v.Expression.Expression
	}
	return text
}

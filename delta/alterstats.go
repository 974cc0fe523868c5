package delta

import (
	"fmt"
	"strings"
)

// checkStatsColumns refuses a list of columns for statistics that names what is no column, or a column
// below an array or a map, of which none are kept.
func checkStatsColumns(s *Struct, list string) error {
	paths, ok := splitColumnList(list)
	if !ok {
		return fmt.Errorf("%s=%q is no list of names separated by commas: %w", propStatsColumns, list, ErrInput)
	}
	for _, path := range paths {
		if _, _, err := storedPath(s, path, false); err != nil {
			return fmt.Errorf("%s: %w", propStatsColumns, err)
		}
	}
	return nil
}

// followStatsColumns keeps the list of columns for statistics true when a column was renamed or, with an
// empty name, dropped.
func (d *draft) followStatsColumns(path []string, to string) {
	list, set := d.meta.Configuration[propStatsColumns]
	paths, ok := splitColumnList(list)
	if !set || !ok {
		return
	}
	var kept []string
	changed := false
	for _, p := range paths {
		if len(p) >= len(path) && samePrefix(p, path) {
			changed = true
			if to == "" {
				continue
			}
			p[len(path)-1] = to
		}
		kept = append(kept, joinName(p))
	}
	if changed {
		d.meta.Configuration[propStatsColumns] = strings.Join(kept, ",")
	}
}

// joinName writes a name as lists of columns have it, each part in backticks if it needs them.
func joinName(path []string) string {
	parts := make([]string, len(path))
	for i, part := range path {
		if parts[i] = part; !isPlainName(part) {
			parts[i] = "`" + strings.ReplaceAll(part, "`", "``") + "`"
		}
	}
	return strings.Join(parts, ".")
}

// isPlainName is true of letters, digits and underscores.
func isPlainName(name string) bool {
	word, rest := nextName(name)
	return word != "" && rest == "" && name[0] != '`'
}

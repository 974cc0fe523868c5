package pred

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// find looks a field up by name, ignoring case. A name that is spelled exactly wins over others.
func find(fields []arrow.Field, name string) (int, error) {
	found := -1
	for i, f := range fields {
		if f.Name == name {
			return i, nil
		}
		if strings.EqualFold(f.Name, name) {
			if found >= 0 {
				return 0, fmt.Errorf("the column %q could be %q or %q", name, fields[found].Name, f.Name)
			}
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	return 0, fmt.Errorf("there is no column %q%s", name, Suggest(fields, name))
}

// Suggest names the columns whose names are nearest, or all if they are few, as the end of a message.
func Suggest(fields []arrow.Field, name string) string {
	const most, widest = 3, 200
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	if len(name) > widest {
		return ""
	}
	for _, f := range fields {
		if len(f.Name) > widest {
			continue
		}
		if d := distance(strings.ToLower(f.Name), strings.ToLower(name)); d <= max(2, len(name)/3) {
			near = append(near, candidate{f.Name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	names := make([]string, 0, most)
	for _, c := range near[:min(most, len(near))] {
		names = append(names, fmt.Sprintf("%q", c.name))
	}
	switch {
	case len(names) > 0:
		return ", is it " + strings.Join(names, " or ") + "?"
	case len(fields) > 12:
		return ""
	}
	for _, f := range fields {
		names = append(names, fmt.Sprintf("%.40q", f.Name))
	}
	return "; the columns are " + strings.Join(names, ", ")
}

// distance is the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

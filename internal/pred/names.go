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
	if len(name) > widest {
		return ""
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	near := nearest(names, name)
	switch {
	case len(near) > 0:
		return ", is it " + quoted("%q", near, " or ") + "?"
	case len(fields) > 12 || len(fields) == 0:
		return ""
	}
	return "; the columns are " + quoted("%.40q", names, ", ")
}

// widest is the longest name that is compared with others.
const widest = 200

// nearest are the names that differ least from one that is none of them, at most three.
func nearest(names []string, name string) []string {
	const most = 3
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	if len(name) > widest {
		return nil
	}
	for _, n := range names {
		if len(n) > widest {
			continue
		}
		if d := distance(strings.ToLower(n), strings.ToLower(name)); d <= max(2, len(name)/3) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var found []string
	for _, c := range near[:min(most, len(near))] {
		found = append(found, c.name)
	}
	return found
}

// quoted joins names in a format.
func quoted(format string, names []string, by string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf(format, n)
	}
	return strings.Join(list, by)
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

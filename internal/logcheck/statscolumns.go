package logcheck

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/idemtable/idem/delta"
)

// joined is a path as a key of a map.
func joined(path []string) string { return strings.Join(path, "\x00") }

// chosen are the leaves of which a table wants statistics, by their paths in them.
func chosen(snap *delta.Snapshot, conf map[string]string) map[string]leaf {
	out := map[string]leaf{}
	listed, isList := conf["delta.dataSkippingStatsColumns"]
	left, err := strconv.Atoi(conf["delta.dataSkippingNumIndexedCols"])
	if err != nil {
		left = 32
	}
	paths, clustered := columnList(listed), clusters(snap)
	for _, l := range leaves(snap) {
		want := slices.ContainsFunc(paths, func(p []string) bool { return leads(p, l.logical) })
		if !isList {
			want, left = left != 0, max(left-1, min(left, 0))
		}
		want = want || slices.ContainsFunc(clustered, func(p []string) bool { return leads(p, l.path) })
		if want && l.typ != delta.Void {
			out[joined(l.path)] = l
		}
	}
	return out
}

// leads says whether a path is that of a column or of a struct around it, ignoring case.
func leads(path, column []string) bool {
	return len(path) <= len(column) && slices.EqualFunc(path, column[:len(path)], strings.EqualFold)
}

// columnList reads names with commas between, of parts with dots between, which may be in backticks.
func columnList(text string) (paths [][]string) {
	var path []string
	var part strings.Builder
	quoted := false
	end := func() {
		path = append(path, strings.TrimSpace(part.String()))
		part.Reset()
	}
	for _, r := range text {
		switch {
		case r == '`':
			quoted = !quoted
		case r == '.' && !quoted:
			end()
		case r == ',' && !quoted:
			end()
			paths, path = append(paths, path), nil
		default:
			part.WriteRune(r)
		}
	}
	if end(); len(path) > 1 || path[0] != "" {
		paths = append(paths, path)
	}
	return paths
}

// clusters are the paths, in physical names, of the columns that a table is clustered by.
func clusters(snap *delta.Snapshot) (paths [][]string) {
	d, ok := snap.Domain("delta.clustering")
	var is struct {
		Columns []any `json:"clusteringColumns"`
	}
	if !ok || json.Unmarshal([]byte(d.Configuration), &is) != nil {
		return nil
	}
	for _, column := range is.Columns {
		switch column := column.(type) {
		case string:
			paths = append(paths, []string{column})
		case []any:
			var path []string
			for _, part := range column {
				name, _ := part.(string)
				path = append(path, name)
			}
			paths = append(paths, path)
		}
	}
	return paths
}

// clustering holds the columns of the domain against the schema.
func (c *checker) clustering(s *step) {
	told := slices.ContainsFunc(s.actions, func(a delta.Action) bool { return a.Domain != nil && a.Domain.Domain == "delta.clustering" })
	paths := clusters(s.after)
	if !told && !s.defined || len(paths) == 0 {
		return
	}
	if len(s.after.PartitionColumns()) > 0 {
		c.find(ClusterColumns, s.v, s.key, "the table is partitioned")
	}
	for _, path := range paths {
		if !slices.ContainsFunc(leaves(s.after), func(l leaf) bool { return slices.Equal(l.path, path) }) {
			c.find(ClusterColumns, s.v, s.key, "there is no column %s", strings.Join(path, "."))
		}
	}
}

// members are the leaves of a part of statistics, by their paths.
func members(raw json.RawMessage) map[string]any {
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	out := map[string]any{}
	if len(raw) == 0 || d.Decode(&tree) != nil {
		return out
	}
	var flat func(path []string, tree map[string]any)
	flat = func(path []string, tree map[string]any) {
		for name, v := range tree {
			under := append(path[:len(path):len(path)], name)
			if inner, ok := v.(map[string]any); ok {
				flat(under, inner)
			} else {
				out[joined(under)] = v
			}
		}
	}
	flat(nil, tree)
	return out
}

// addStats looks at which statistics a new file of idem has.
func (c *checker) addStats(s *step, f *delta.Add) {
	if !s.ours || s.returns() || s.was(f.Key) != nil || !s.after.HasSchema() {
		return
	}
	var st struct {
		Rows  *int64          `json:"numRecords"`
		Mins  json.RawMessage `json:"minValues"`
		Maxs  json.RawMessage `json:"maxValues"`
		Nulls json.RawMessage `json:"nullCount"`
	}
	if json.Unmarshal([]byte(f.Stats), &st) != nil || st.Rows == nil {
		return // told where the rows are counted
	}
	if *st.Rows == 0 {
		c.find(AddEmpty, s.v, f.Path, "it has none")
		return
	}
	mins, maxs := members(st.Mins), members(st.Maxs)
	c.choice(s, f, *st.Rows, members(st.Nulls), mins, maxs)
	c.lengths(s, f, mins, maxs)
}

// lack is a column without statistics. That is right in a file which does not have the column, since
// it was written when the table did not.
type lack struct {
	rule    Rule
	version int64
	path    []string
}

// wanted are the columns of which the table wants statistics after a commit, and those of which it
// wanted them when the commit was planned.
func (c *checker) wanted(s *step) (now, then map[string]leaf) {
	if s.now == nil {
		s.now = chosen(s.after, s.after.Metadata().Configuration)
		s.then = s.now
		if read := s.info.ReadVersion; read != nil && *read < s.v-1 && c.snaps[*read] != nil {
			s.then = chosen(c.snaps[*read], c.snaps[*read].Metadata().Configuration)
		}
	}
	return s.now, s.then
}

// choice holds the columns that have statistics against those that shall have them. A commit that was
// overtaken has those of the definition that its files were written for.
func (c *checker) choice(s *step, f *delta.Add, n int64, nulls, mins, maxs map[string]any) {
	now, then := c.wanted(s)
	clustered := clusters(s.after)
	for path, l := range now {
		if _, ok := then[path]; !ok {
			continue
		}
		rule := StatsColumns
		if slices.ContainsFunc(clustered, func(p []string) bool { return leads(p, l.path) }) {
			rule = ClusterColumns
		}
		count, ok := nulls[path].(json.Number)
		if !ok {
			c.lacking[f.Key] = append(c.lacking[f.Key], lack{rule, s.v, l.path})
			continue
		}
		if whole(l.typ) && count.String() != strconv.FormatInt(n, 10) && (mins[path] == nil || maxs[path] == nil) {
			c.find(rule, s.v, f.Path, "%s has values, and no bounds", strings.Join(l.path, "."))
		}
	}
	for _, part := range []map[string]any{nulls, mins, maxs} {
		for path := range part {
			_, now := now[path]
			if _, then := then[path]; !now && !then {
				c.find(StatsColumns, s.v, f.Path, "there are statistics of %s", show(path))
				return
			}
		}
	}
}

// whole is true of the types whose bounds are always written, and exact.
func whole(t delta.Type) bool {
	return t == delta.Byte || t == delta.Short || t == delta.Integer || t == delta.Long || t == delta.Date
}

// lengths looks at the bounds that are texts. The upper one may go twice as far, with one more
// character.
func (c *checker) lengths(s *step, f *delta.Add, mins, maxs map[string]any) {
	text, _ := s.after.Property("delta.dataSkippingStringPrefixLength")
	limit, err := strconv.Atoi(text)
	if err != nil {
		limit = 32
	}
	for _, l := range leaves(s.after) {
		if l.typ != delta.String {
			continue
		}
		least, _ := mins[joined(l.path)].(string)
		most, _ := maxs[joined(l.path)].(string)
		if n, m := len(utf16.Encode([]rune(least))), len(utf16.Encode([]rune(most))); n > limit+1 || m > 2*limit+2 {
			c.find(StatsLength, s.v, f.Path, "the bounds of %s have %d and %d units, the limit is %d", strings.Join(l.path, "."), n, m, limit)
		}
	}
}

package delta

import (
	"encoding/json"
	"strconv"
	"strings"
)

// chooseStats marks the leaves of which statistics are gathered.
func chooseStats(columns []*statsNode, configuration map[string]string) {
	if list, ok := configuration[propStatsColumns]; ok {
		if paths, ok := splitColumnList(list); ok {
			for _, path := range paths {
				for _, n := range columns {
					n.choosePath(path, func(n *statsNode, part string) bool { return foldName(part) == foldName(n.logical) })
				}
			}
			return
		}
	}
	left := defaultIndexedCols
	if n, err := strconv.Atoi(configuration[propIndexedCols]); err == nil {
		left = n
	}
	if left < 0 {
		left = maxSchemaLeaves
	}
	for _, n := range columns {
		n.chooseFirst(&left)
	}
}

// chooseFirst marks leaves while some are left.
func (n *statsNode) chooseFirst(left *int) {
	if !n.isStruct {
		if *left > 0 {
			n.gather = n.stored()
			*left--
		}
		return
	}
	for _, child := range n.children {
		child.chooseFirst(left)
		n.gather = n.gather || child.gather
	}
}

// choosePath marks what a path names, and all below it. is says whether a part of the path names a node.
func (n *statsNode) choosePath(path []string, is func(n *statsNode, part string) bool) {
	if !is(n, path[0]) {
		return
	}
	if path = path[1:]; len(path) == 0 {
		all := maxSchemaLeaves
		n.chooseFirst(&all)
		return
	}
	for _, child := range n.children {
		child.choosePath(path, is)
		n.gather = n.gather || child.gather
	}
}

// stored says whether files hold the leaf at all; void is nowhere stored.
func (n *statsNode) stored() bool { return n.dt != nil && n.dt != arrowPrimitive(Void) }

// splitColumnList reads names separated by commas, a name being parts separated by dots; a part in backticks may hold any
// character, a backtick doubled. ok is false for what is no such list.
func splitColumnList(list string) (paths [][]string, ok bool) {
	if strings.TrimSpace(list) == "" {
		return nil, true
	}
	var path []string
	for rest := list; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		var part string
		if part, rest, ok = cutNamePart(rest); !ok {
			return nil, false
		}
		path = append(path, part)
		rest = strings.TrimLeft(rest, " \t\r\n")
		if rest != "" && rest[0] == '.' {
			rest = rest[1:]
			continue
		}
		paths, path = append(paths, path), nil
		if rest == "" {
			return paths, true
		}
		if rest[0] != ',' {
			return nil, false
		}
		rest = rest[1:]
	}
}

func cutNamePart(text string) (part, rest string, ok bool) {
	if !strings.HasPrefix(text, "`") {
		end := strings.IndexAny(text, ".,")
		if end < 0 {
			end = len(text)
		}
		part = strings.TrimSpace(text[:end])
		return part, text[end:], part != "" && !strings.Contains(part, "`")
	}
	var b strings.Builder
	for text = text[1:]; ; {
		end := strings.IndexByte(text, '`')
		if end < 0 {
			return "", "", false
		}
		b.WriteString(text[:end])
		text = text[end+1:]
		if !strings.HasPrefix(text, "`") {
			return b.String(), text, b.Len() > 0
		}
		b.WriteByte('`')
		text = text[1:]
	}
}

// clusteringPaths are the paths, in physical names, of the columns that the table is clustered by; nil if it is by none, or
// if the domain is not what it should be.
func (s *Snapshot) clusteringPaths() [][]string {
	var domain struct {
		Columns []json.RawMessage `json:"clusteringColumns"`
	}
	d, ok := s.state.domains.get(ClusteringDomain)
	if !ok || json.Unmarshal([]byte(d.Configuration), &domain) != nil {
		return nil
	}
	var paths [][]string
	for _, raw := range domain.Columns {
		var path []string
		if json.Unmarshal(raw, &path) != nil {
			path = make([]string, 1) // some writers name a column by its name alone
			if json.Unmarshal(raw, &path[0]) != nil {
				continue
			}
		}
		if len(path) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// ClusteringDomain names the columns that a table is clustered by.
const ClusteringDomain = "delta.clustering"

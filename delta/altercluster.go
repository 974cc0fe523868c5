package delta

import (
	"encoding/json"
	"fmt"
)

// ClusterBy says by which columns OPTIMIZE shall bring rows together, the files that exist being
// left as they are; none ends it. Paths lead through structs only. A partitioned table, a column
// without an order (in an array or a map, or a boolean, binary, variant or nested one), a column named twice
// and more than [MostClusteringColumns] wrap [ErrInput].
func (s *Snapshot) ClusterBy(columns ...[]string) (*Edit, error) {
	d := s.draft(Fresh{})
	if _, clustered := s.state.domains.get(ClusteringDomain); len(columns) == 0 && !clustered {
		return nil, nil
	}
	if err := d.clusterBy(columns, len(s.PartitionColumns()) > 0); err != nil {
		return nil, fmt.Errorf("cluster the table: %w", err)
	}
	return d.finish("cluster the table")
}

// MostClusteringColumns is the number of columns by which rows can be ordered at once: with more, each would have so
// little weight that they are ordered by none.
const MostClusteringColumns = 16

// clusterBy sets the domain; the draft's schema must have its physical names.
func (d *draft) clusterBy(columns [][]string, partitioned bool) error {
	if partitioned && len(columns) > 0 {
		return fmt.Errorf("it is partitioned, which excludes clustering: %w", ErrInput)
	}
	if len(columns) > MostClusteringColumns {
		return fmt.Errorf("%d columns are named, and rows can be ordered by at most %d at once: %w", len(columns), MostClusteringColumns, ErrInput)
	}
	stored := make([][]string, 0, len(columns))
	for i, c := range columns {
		for _, other := range columns[:i] {
			if len(other) == len(c) && samePrefix(other, c) {
				return fmt.Errorf("the column %s is named twice: %w", showPath(c), ErrInput)
			}
		}
		path, t, err := storedPath(d.schema, c, d.mapped())
		if err != nil {
			return err
		}
		if !ordersRows(t) {
			return fmt.Errorf("the column %s is of type %s, of which no minimum and maximum are kept: %w", showPath(c), t, ErrInput)
		}
		stored = append(stored, path)
	}
	text, err := json.Marshal(struct {
		Columns [][]string `json:"clusteringColumns"`
		Domain  string     `json:"domainName"`
	}{stored, ClusteringDomain})
	if err != nil {
		return err
	}
	d.domains = append(d.domains, DomainMetadata{Domain: ClusteringDomain, Configuration: string(text)})
	d.features = append(d.features, "clustering")
	return nil
}

// storedPath finds a column below structs and gives its path as files have it.
func storedPath(s *Struct, path []string, mapped bool) ([]string, Type, error) {
	var t Type = s
	out := make([]string, 0, len(path))
	for _, name := range path {
		at, ok := t.(*Struct)
		if !ok {
			return nil, nil, noColumn(path)
		}
		i := at.Index(name)
		if i < 0 {
			return nil, nil, noColumn(path)
		}
		stored := at.Fields[i].Name
		if mapped {
			stored = at.Fields[i].PhysicalName()
		}
		out, t = append(out, stored), at.Fields[i].Type
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("no column is named: %w", ErrInput)
	}
	return out, t, nil
}

// ordersRows says whether statistics hold the bounds of a type.
func ordersRows(t Type) bool {
	switch t := t.(type) {
	case Decimal:
		return true
	case Primitive:
		return t != Boolean && t != Binary && t != Void && t != Variant
	}
	return false
}

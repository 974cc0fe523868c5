package maintain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// orderingOf is how the rows of a table are to be ordered, nil if they stay as they are.
func orderingOf(snap *delta.Snapshot, r Optimize) (*ordering, error) {
	clustering := snap.Clustering()
	switch {
	case len(clustering) > 0 && len(r.ZOrderBy) > 0:
		return nil, fmt.Errorf("%w: the table is clustered, and ordered by its clustering columns: leave Optimize.ZOrderBy empty", idem.ErrInput)
	case len(clustering) > 0 && (r.Where != "" || r.Condition != nil):
		return nil, fmt.Errorf("%w: the table is clustered, and ordered as a whole: leave Optimize.Where empty", idem.ErrInput)
	case len(clustering) > 0:
		return storedOrdering(snap, clustering)
	case len(r.ZOrderBy) > 0:
		return namedOrdering(snap, r.ZOrderBy)
	}
	return nil, nil
}

// storedOrdering finds clustering columns, which the log names as files do. Of more than rows can be ordered by, which
// other engines may name, it takes the first.
func storedOrdering(snap *delta.Snapshot, clustering [][]string) (*ordering, error) {
	mapped := snap.Mapping() != delta.MappingNone
	o := &ordering{clustered: true, name: columnsName(clustering)}
	for _, path := range clustering[:min(len(clustering), delta.MostClusteringColumns)] {
		found, ok := walk(snap.Schema(), path, func(f *delta.Field, name string) bool {
			if mapped {
				return f.PhysicalName() == name
			}
			return f.Name == name
		})
		if !ok {
			return nil, fmt.Errorf("%w: the table is clustered by %s, which its schema does not have", idem.ErrCorrupt, strings.Join(path, "."))
		}
		if err := o.add(snap, found); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// namedOrdering finds columns that the caller names.
func namedOrdering(snap *delta.Snapshot, columns []string) (*ordering, error) {
	o := &ordering{}
	var stored [][]string
	for _, c := range columns {
		if c == "" {
			return nil, fmt.Errorf("%w: Optimize.ZOrderBy names a column without a name", idem.ErrInput)
		}
		path, err := pred.PathIn(snap.Schema(), c)
		if err != nil {
			return nil, err
		}
		found, ok := walk(snap.Schema(), path, func(f *delta.Field, name string) bool { return strings.EqualFold(f.Name, name) })
		if !ok {
			return nil, fmt.Errorf("%w: Optimize.ZOrderBy names %s, which the table does not have", idem.ErrInput, c)
		}
		if err := o.add(snap, found); err != nil {
			return nil, err
		}
		names, _ := snap.StoredPath(o.columns[len(o.columns)-1])
		stored = append(stored, names)
	}
	o.name = columnsName(stored)
	return o, nil
}

// walk follows a path through structs.
func walk(t delta.Type, path []string, is func(*delta.Field, string) bool) (place []int, ok bool) {
	for _, name := range path {
		s, struc := t.(*delta.Struct)
		if !struc {
			return nil, false
		}
		i := slices.IndexFunc(s.Fields, func(f delta.Field) bool { return is(&f, name) })
		if i < 0 {
			return nil, false
		}
		place, t = append(place, i), s.Fields[i].Type
	}
	return place, len(place) > 0
}

// add takes a column in, if rows can be ordered by it.
func (o *ordering) add(snap *delta.Snapshot, place []int) error {
	var path []string
	var t delta.Type = snap.Schema()
	for _, i := range place {
		f := t.(*delta.Struct).Fields[i]
		path, t = append(path, f.Name), f.Type
	}
	name := strings.Join(path, ".")
	switch {
	case slices.Contains(snap.PartitionColumns(), path[0]):
		return fmt.Errorf("%w: Optimize.ZOrderBy names the partition column %s: files have one value of it already", idem.ErrInput, name)
	case !hasOrder(t):
		return fmt.Errorf("%w: rows cannot be ordered by %s, which is %s", idem.ErrInput, name, t)
	case slices.ContainsFunc(o.places, func(p []int) bool { return slices.Equal(p, place) }):
		return fmt.Errorf("%w: rows are to be ordered by %s twice", idem.ErrInput, name)
	case len(o.places) == delta.MostClusteringColumns:
		return fmt.Errorf("%w: rows are ordered by at most %d columns at once", idem.ErrInput, delta.MostClusteringColumns)
	}
	o.columns, o.places = append(o.columns, path), append(o.places, place)
	return nil
}

func hasOrder(t delta.Type) bool {
	switch t := t.(type) {
	case *delta.Struct, *delta.Array, *delta.Map:
		return false
	case delta.Primitive:
		return t != delta.Void && t != delta.Variant
	}
	return true
}

// top are the names of the top-level columns that hold the columns, each once.
func (o *ordering) top() []string {
	var out []string
	for _, c := range o.columns {
		if !slices.Contains(out, c[0]) {
			out = append(out, c[0])
		}
	}
	return out
}

// of gives the columns of a batch that has them. A field of a struct that is NULL may have any value:
// an order of rows is all that is made of it.
func (o *ordering) of(batch arrow.RecordBatch) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(o.places))
	for i, place := range o.places {
		at := batch.Schema().FieldIndices(o.columns[i][0])
		if len(at) != 1 {
			return nil, fmt.Errorf("order rows: the column %s was not read", o.columns[i][0])
		}
		a := batch.Column(at[0])
		for _, field := range place[1:] {
			s, ok := a.(*array.Struct)
			if !ok {
				return nil, fmt.Errorf("order rows: %s is not in a struct", strings.Join(o.columns[i], "."))
			}
			a = s.Field(field)
		}
		out[i] = a
	}
	return out, nil
}

package pred

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
)

// Facts is what is known about the rows of a file. Facts of FileFacts look statistics up when a
// predicate asks; they are for one goroutine.
type Facts struct {
	// Rows is the number of rows, deleted ones included; -1 is unknown.
	Rows int64

	// Columns are the facts by top-level column name as the schema spells it; nested leaves by
	// dotted path.
	Columns map[string]ColumnFacts

	file *fileFacts
}

// ColumnFacts bounds a column. A nil bound is unknown. A partition column has Min = Max = its value,
// or AllNull.
type ColumnFacts struct {
	// Min and Max bound the values. Of a string Max may be no value of the file; beyond the Max of
	// a float there may be NaN, unless Exact.
	Min, Max scalar.Scalar

	// Nulls is the number of NULLs; -1 is unknown.
	Nulls int64

	// AllNull says that the column has no value.
	AllNull bool

	// Exact says that each row has the value Min, which is Max: a partition column.
	Exact bool
}

// FileFacts gathers the facts of a file from its partition values and statistics (stats "" = none).
// What is proven of all rows holds of the live ones: a deletion vector makes bounds wider than they
// need be, never narrower, and a count of NULLs that may count deleted rows is used as none or all.
// A partition value that is none of its column's type is an error; statistics that cannot be read
// are none.
func FileFacts(snap *delta.Snapshot, add *delta.Add, stats string) (Facts, error) {
	f := Facts{Rows: -1, Columns: map[string]ColumnFacts{}, file: &fileFacts{snap: snap, text: stats}}
	for _, name := range snap.PartitionColumns() {
		c, err := partitionFacts(snap, add, name)
		if err != nil {
			return Facts{}, fmt.Errorf("file %s: column %q: %w", add.Path, name, err)
		}
		f.Columns[name] = c
	}
	return f, nil
}

func partitionFacts(snap *delta.Snapshot, add *delta.Add, name string) (ColumnFacts, error) {
	text, err := snap.PartitionValue(add, name)
	if err != nil {
		return ColumnFacts{}, err
	}
	i := snap.Schema().Index(name)
	if i < 0 {
		return ColumnFacts{Nulls: -1}, nil
	}
	t := snap.Schema().Fields[i].Type
	v, err := delta.ParsePartitionValue(t, text)
	if err != nil {
		return ColumnFacts{}, err
	}
	switch {
	case !v.IsValid():
		return ColumnFacts{Nulls: -1, AllNull: true}, nil
	case t == delta.Timestamp && delta.AmbiguousTimestamp(*text):
		return ColumnFacts{}, nil // not NULL, but in a zone that the log does not tell
	}
	return ColumnFacts{Min: v, Max: v, Exact: true}, nil
}

// fileFacts are the statistics of a file, read when first asked for.
type fileFacts struct {
	snap  *delta.Snapshot
	text  string
	read  bool
	stats *delta.Stats
}

func (f *fileFacts) parsed() *delta.Stats {
	if !f.read {
		f.read = true
		if st, ok := delta.ParseStats(f.text); f.text != "" && ok {
			f.stats = st
		}
	}
	return f.stats
}

func (f *Facts) rows() int64 {
	if f.Rows >= 0 || f.file == nil {
		return f.Rows
	}
	if st := f.file.parsed(); st != nil && st.NumRecords != nil {
		return *st.NumRecords
	}
	return -1
}

// column finds the facts of a leaf.
func (f *Facts) column(path []string) (ColumnFacts, bool) {
	if c, ok := f.Columns[strings.Join(path, ".")]; ok && (f.file == nil || len(path) == 1) {
		return c, true
	}
	if f.file == nil {
		return ColumnFacts{}, false
	}
	st := f.file.parsed()
	if st == nil {
		return ColumnFacts{}, false
	}
	physical, t, ok := f.file.physical(path)
	if !ok {
		return ColumnFacts{}, false
	}
	var c ColumnFacts
	c.Min, c.Max, c.Nulls = st.Column(physical, t)
	return c, true
}

// physical finds the names under which statistics have a leaf, and its type.
func (f *fileFacts) physical(path []string) (physical []string, t delta.Type, ok bool) {
	if physical, ok = f.snap.StoredPath(path); !ok {
		return nil, nil, false
	}
	t = f.snap.Schema()
	for _, name := range path {
		s := t.(*delta.Struct)
		t = s.Fields[s.Index(name)].Type
	}
	_, nested := t.(*delta.Struct)
	return physical, t, !nested
}

package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// place is a column of a schema or, with more than one number, a field of a struct.
type place []int

// locate finds a column, or a field of a struct, by the name that a request gives, ignoring case: see
// [pred.Path]. Only a name that may be either wraps delta.ErrInput.
func locate(s *arrow.Schema, name string) (place, error) {
	path, err := pred.Path(name, func(path []string) bool {
		_, err := follow(s, path)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return follow(s, path)
}

// lacking is the error of a name that is not found; that of one which may be two is its own.
func lacking(err error, format string, args ...any) error {
	if errors.Is(err, delta.ErrInput) {
		return err
	}
	return fmt.Errorf(format, args...)
}

// follow finds what a path leads to.
func follow(s *arrow.Schema, path []string) (place, error) {
	var at place
	fields := s.Fields()
	for depth, part := range path {
		i := fieldNamed(fields, part)
		if i < 0 {
			return nil, fmt.Errorf("there is no %q%s", strings.Join(path[:depth+1], "."), pred.Suggest(fields, part))
		}
		at = append(at, i)
		if depth == len(path)-1 {
			break
		}
		st, ok := fields[i].Type.(*arrow.StructType)
		switch {
		case delta.IsVariant(st):
			return nil, fmt.Errorf("%q is a variant, whose parts are no columns", strings.Join(path[:depth+1], "."))
		case !ok:
			return nil, fmt.Errorf("%q is %s and has no fields", strings.Join(path[:depth+1], "."), expr.TypeName(fields[i].Type))
		}
		fields = st.Fields()
	}
	return at, nil
}

// field gives the field at a place; that of a struct has its path as its name, and is nullable where
// a struct above it is.
func (p place) field(s *arrow.Schema) arrow.Field {
	f := s.Field(p[0])
	for _, i := range p[1:] {
		below := f.Type.(*arrow.StructType).Field(i)
		f = arrow.Field{Name: f.Name, Type: below.Type, Nullable: f.Nullable || below.Nullable}
	}
	f.Name = p.name(s)
	return f
}

// path is the names on the way to a place.
func (p place) path(s *arrow.Schema) []string {
	f := s.Field(p[0])
	out := []string{f.Name}
	for _, i := range p[1:] {
		f = f.Type.(*arrow.StructType).Field(i)
		out = append(out, f.Name)
	}
	return out
}

// name is the name of a column as it is, and the path to a field as SQL text.
func (p place) name(s *arrow.Schema) string {
	if len(p) == 1 {
		return s.Field(p[0]).Name
	}
	return expr.Field(p.path(s)...).String()
}

// lifter puts fields of structs behind the columns of a batch, as columns of their own that can be
// keys: in a row where a struct above it is NULL, a field is NULL.
type lifter struct {
	schema *arrow.Schema // of what it gives
	fields []place
}

// newLifter lifts what lies below the top level, and gives the column of each place.
func newLifter(s *arrow.Schema, places []place) (*lifter, []int) {
	l := &lifter{}
	all := s.Fields()
	columns := make([]int, len(places))
	for i, p := range places {
		if len(p) == 1 {
			columns[i] = p[0]
			continue
		}
		columns[i] = len(all)
		all = append(all[:len(all):len(all)], p.field(s))
		l.fields = append(l.fields, p)
	}
	meta := s.Metadata()
	l.schema = arrow.NewSchema(all, &meta)
	return l, columns
}

// batch gives a batch with the lifted columns. The caller releases it.
func (l *lifter) batch(mem memory.Allocator, b arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(l.fields) == 0 {
		b.Retain()
		return b, nil
	}
	columns := append([]arrow.Array(nil), b.Columns()...)
	lifted := make([]arrow.Array, len(l.fields))
	defer release(lifted)
	for i, p := range l.fields {
		a, err := p.of(mem, b)
		if err != nil {
			return nil, err
		}
		lifted[i] = a
	}
	return array.NewRecordBatch(l.schema, append(columns, lifted...), b.NumRows()), nil
}

// of gives the values at a place. The caller releases them.
func (p place) of(mem memory.Allocator, b arrow.RecordBatch) (arrow.Array, error) {
	a := b.Column(p[0])
	a.Retain()
	for _, i := range p[1:] {
		s, ok := a.(*array.Struct)
		if !ok {
			a.Release()
			return nil, fmt.Errorf("%w: %s is no struct", delta.ErrInput, a.DataType())
		}
		f := fieldOf(mem, s, i)
		a.Release()
		a = f
	}
	return a, nil
}

// fieldOf gives a field of a struct, NULL where the struct is. The caller releases it.
func fieldOf(mem memory.Allocator, s *array.Struct, i int) arrow.Array {
	f := s.Field(i)
	if s.NullN() == 0 {
		f.Retain()
		return f
	}
	return masked(mem, f, s.IsValid)
}

func fieldNamed(fields []arrow.Field, name string) int {
	for i, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return i
		}
	}
	return -1
}

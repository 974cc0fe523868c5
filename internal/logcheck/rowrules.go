package logcheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// rowRules are what the definition asks of every row, bound once.
type rowRules struct {
	constraints map[string]*pred.Predicate
	generated   map[string]*pred.Predicate
	numbers     map[int]*numbers // of identity columns, by column
}

// numbers are those of an identity column.
type numbers struct {
	identity
	seen map[int64]bool
}

// rowRules binds the conditions that idem can evaluate; it writes to no table with others.
func (c *checker) rowRules() *rowRules {
	r := &rowRules{constraints: map[string]*pred.Predicate{}, generated: map[string]*pred.Predicate{}, numbers: map[int]*numbers{}}
	has := supported(c.snap.Protocol())
	for key, text := range c.snap.Metadata().Configuration {
		if name, ok := strings.CutPrefix(key, constraintPrefix); ok && has["checkConstraints"] {
			c.bind(r.constraints, name, text)
		}
	}
	for i, f := range c.snap.Schema().Fields {
		var text string
		if has["generatedColumns"] && json.Unmarshal(f.Metadata["delta.generationExpression"], &text) == nil {
			c.bind(r.generated, f.Name, fmt.Sprintf("`%s` <=> (%s)", strings.ReplaceAll(f.Name, "`", "``"), text))
		}
		if id, ok := identityOf(&f); ok && has["identityColumns"] {
			r.numbers[i] = &numbers{identity: id, seen: map[int64]bool{}}
		}
	}
	walk(c.snap.Schema(), nil, func(path []string, f *delta.Field, _ delta.Type) {
		var text string
		var is struct {
			Expression struct {
				Expression string `json:"expression"`
			} `json:"expression"`
		}
		if f != nil && has["invariants"] && json.Unmarshal(f.Metadata["delta.invariants"], &text) == nil && json.Unmarshal([]byte(text), &is) == nil {
			c.bind(r.constraints, "the invariant of "+strings.Join(path, "."), is.Expression.Expression)
		}
	})
	return r
}

func (c *checker) bind(to map[string]*pred.Predicate, name, text string) {
	tree, err := expr.Parse(text)
	if err != nil {
		return
	}
	if p, err := pred.Bind(tree, c.snap.ArrowSchema()); err == nil {
		to[name] = p
	}
}

// number looks at the numbers of an identity column. Rows may bring their own where the column allows
// it, so that nothing is known of them.
func (s *sums) number(name string, n *numbers, column arrow.Array) {
	values, ok := column.(*array.Int64)
	if !ok || n.explicit {
		return
	}
	for i := range values.Len() {
		v := values.Value(i)
		wrong := ""
		switch {
		case values.IsNull(i):
			wrong = "it is NULL"
		case (v-n.start)%n.step != 0 || (v-n.start)/n.step < 0:
			wrong = fmt.Sprintf("%d is no step from %d by %d", v, n.start, n.step)
		case n.mark == nil || n.step > 0 && v > *n.mark || n.step < 0 && v < *n.mark:
			wrong = fmt.Sprintf("%d is beyond the mark", v)
		case n.seen[v]:
			wrong = fmt.Sprintf("%d is there twice", v)
		}
		n.seen[v] = true
		if wrong != "" && s.misnumbered == "" {
			s.misnumbered = name + ": " + wrong
		}
	}
}

// overlong counts the texts that are longer than their types.
func overlong(column arrow.Array, limit *delta.CharType) (n int64) {
	if limit == nil {
		return 0
	}
	switch a := column.(type) {
	case *array.String:
		for i := range a.Len() {
			if limit.Length > 0 && a.IsValid(i) && utf8.RuneCountInString(a.Value(i)) > limit.Length {
				n++
			}
		}
	case *array.Struct:
		for i, f := range a.DataType().(*arrow.StructType).Fields() {
			n += overlong(a.Field(i), limit.Field(f.Name))
		}
	case *array.Map:
		n = overlong(a.Keys(), limit.Key()) + overlong(a.Items(), limit.Value())
	case *array.List:
		n = overlong(a.ListValues(), limit.Element())
	}
	return n
}

// variants tells what is wrong with the first malformed variant, "" if none is.
func variants(column arrow.Array) string {
	switch a := column.(type) {
	case *array.Struct:
		if delta.IsVariant(a.DataType()) {
			return malformed(a)
		}
		for i := range a.NumField() {
			if wrong := variants(a.Field(i)); wrong != "" {
				return wrong
			}
		}
	case *array.Map:
		return variants(a.Items())
	case *array.List:
		return variants(a.ListValues())
	}
	return ""
}

func malformed(a *array.Struct) string {
	value, ok := a.Field(0).(*array.Binary)
	metadata, ok2 := a.Field(1).(*array.Binary)
	if !ok || !ok2 {
		return ""
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		if err := delta.CheckVariant(metadata.Value(i), value.Value(i)); err != nil {
			return err.Error()
		}
	}
	return ""
}

package maintain

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/idemtable/idem/delta"
)

// numbers are the last numbers that the identity columns of a version gave, in it or since. A column is known by its
// place in files, so that one of its name that was added since is none of it; where column mapping comes or goes
// its place changes, and its name stays.
type numbers struct {
	mapped  bool // the schema that was looked at last
	columns []*numbered
}

type numbered struct {
	field delta.Field     // in the version
	rule  *delta.Identity // with the last number as its Mark
	last  delta.Field     // as it was seen last
	gone  bool            // it was dropped since
}

// numbersOf are those of a version itself. A rule that cannot be read gave no numbers.
func numbersOf(then *delta.Snapshot) *numbers {
	n := &numbers{mapped: then.Mapping() != delta.MappingNone}
	for _, f := range then.Schema().Fields {
		if rule, err := f.Identity(); err == nil && rule != nil {
			n.columns = append(n.columns, &numbered{field: f, rule: rule, last: f})
		}
	}
	return n
}

// take looks for greater numbers in the next schema that the table had.
func (n *numbers) take(schema *delta.Struct, mapped bool) {
	for _, c := range n.columns {
		i := slices.IndexFunc(schema.Fields, func(f delta.Field) bool { return c.is(&f, mapped != n.mapped) })
		if c.gone = i < 0; c.gone {
			continue
		}
		c.last = schema.Fields[i]
		rule, err := c.last.Identity()
		if err == nil && rule != nil && rule.Mark != nil && (c.rule.Mark == nil || (c.rule.Step > 0) == (*rule.Mark > *c.rule.Mark)) {
			c.rule.Mark = rule.Mark
		}
	}
	n.mapped = mapped
}

// is says whether a field of the next schema is the column. moved says that places in files have changed.
func (c *numbered) is(f *delta.Field, moved bool) bool {
	if moved && !c.gone {
		return f.Name == c.last.Name
	}
	return physical(f) == physical(&c.last)
}

// stand puts the numbers into the schema of the version, and says whether any is another.
func (n *numbers) stand(schema *delta.Struct) bool {
	changed := false
	for _, c := range n.columns {
		i := slices.IndexFunc(schema.Fields, func(f delta.Field) bool { return f.Name == c.field.Name })
		if i < 0 || c.rule.Mark == nil {
			continue
		}
		mark := json.RawMessage(strconv.FormatInt(*c.rule.Mark, 10))
		if string(schema.Fields[i].Metadata[delta.IdentityMarkKey]) != string(mark) {
			setField(&schema.Fields[i], delta.IdentityMarkKey, mark)
			changed = true
		}
	}
	return changed
}

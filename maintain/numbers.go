package maintain

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/idemtable/idem/delta"
)

// numbers are the last numbers that the identity columns of a version gave, in it or since. A column is known by its
// place in files, so that one of its name that was added since is none of it.
type numbers struct {
	mapped  bool
	columns []*numbered
}

type numbered struct {
	field delta.Field
	rule  *delta.Identity // with the last number as its Mark
}

// numbersOf are those of a version itself. A rule that cannot be read gave no numbers.
func numbersOf(then *delta.Snapshot) *numbers {
	n := &numbers{mapped: then.Mapping() != delta.MappingNone}
	for _, f := range then.Schema().Fields {
		if rule, err := f.Identity(); err == nil && rule != nil {
			n.columns = append(n.columns, &numbered{f, rule})
		}
	}
	return n
}

// take looks for greater numbers in another schema of the table.
func (n *numbers) take(schema *delta.Struct, mapped bool) {
	for _, c := range n.columns {
		for i := range schema.Fields {
			f := &schema.Fields[i]
			same := physical(f) == physical(&c.field) || mapped != n.mapped && f.Name == c.field.Name
			rule, err := f.Identity()
			if !same || err != nil || rule == nil || rule.Mark == nil {
				continue
			}
			if c.rule.Mark == nil || (c.rule.Step > 0) == (*rule.Mark > *c.rule.Mark) {
				c.rule.Mark = rule.Mark
			}
		}
	}
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

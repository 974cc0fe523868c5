package parquetio

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
)

// plan says how a wanted column or field is made from a file's columns.
type plan struct {
	want  arrow.DataType
	file  *node // nil: the file lacks it and every value is NULL
	level *node // the column whose levels tell this plan's own; nil if file is nil

	// The levels of the nearest list or map around: an entry of the level column is a slot of this plan if its
	// repetition level is at most slotRev and its definition level at least slotDef.
	slotRev, slotDef int16

	// validDef is the definition level from which on a slot is not NULL.
	validDef int16

	item     *node           // of a list or map: the repeated node
	shredded *shredded       // of a variant
	names    map[string]bool // of a variant: its shredded fields
	children []*plan         // fields; the element; key and value
	convert  leafFunc
}

// planner makes plans for one file.
type planner struct {
	name  string
	exact bool // as in ReadOptions
	byID  bool // as in ReadOptions
	days  *calendar
	used  map[int]bool // columns that are read

	shredded bool // what is planned is a part of a variant
}

// columns plans the columns of want.
func (pl *planner) columns(root *node, want *arrow.Schema) ([]*plan, error) {
	if pl.byID && asksForID(want) && !root.anyID() {
		return nil, fmt.Errorf("read %s: %w: the table finds columns by the field_id of its files (column mapping mode id), "+
			"and no column of the file has one: write the file again with ids, or remove it from the table", pl.name, delta.ErrCorrupt)
	}
	out := make([]*plan, want.NumFields())
	for i, f := range want.Fields() {
		p, err := pl.field(root, f, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("read column %s of %s: %w", f.Name, pl.name, err)
		}
		out[i] = p
	}
	return out, nil
}

// field plans a column or a field of a group.
func (pl *planner) field(group *node, f arrow.Field, slotRev, slotDef int16) (*plan, error) {
	id, ok := fieldID(f)
	if !pl.byID || !ok {
		n, other := group.child(f.Name)
		if other != nil {
			return nil, fmt.Errorf("%w: the file has columns %s and %s, and either may be it", delta.ErrCorrupt, n.path(), other.path())
		}
		return pl.plan(f.Type, n, slotRev, slotDef)
	}
	n, err := group.childByID(id)
	if err != nil {
		return nil, err
	}
	return pl.plan(f.Type, n, slotRev, slotDef)
}

// asksForID says whether a column is to be found by its id.
func asksForID(want *arrow.Schema) bool {
	return slices.ContainsFunc(want.Fields(), func(f arrow.Field) bool {
		_, ok := fieldID(f)
		return ok
	})
}

func (pl *planner) plan(want arrow.DataType, n *node, slotRev, slotDef int16) (*plan, error) {
	p := &plan{want: want, file: n, slotRev: slotRev, slotDef: slotDef}
	if n == nil || want.ID() == arrow.NULL {
		p.file = nil
		return p, nil
	}
	p.validDef = n.def
	var err error
	switch t := want.(type) {
	case *arrow.StructType:
		if delta.IsVariant(t) {
			err = pl.variant(p)
			break
		}
		err = pl.structure(p, t)
	case *arrow.MapType:
		err = pl.entries(p, t)
	case *arrow.ListType:
		err = pl.list(p, t)
	default:
		err = pl.leaf(p)
	}
	if err != nil {
		return nil, err
	}
	if p.level == nil {
		p.level = levelColumn(p)
		pl.used[p.level.leaf] = true
	}
	return p, nil
}

// levelColumn chooses a column that is read anyway, else the least nested one.
func levelColumn(p *plan) *node {
	for _, c := range p.children {
		if c.level != nil {
			return c.level
		}
	}
	return p.file.firstLeaf()
}

func (pl *planner) leaf(p *plan) error {
	n := p.file
	if !n.isLeaf() || n.repeated() && n.rev != p.slotRev {
		return mismatch(p)
	}
	f, err := leafConverter(p.want, n, pl.exact)
	if pl.shredded && n.rawVariant() {
		f, err = convertFixed(8, copyValues[int64]), nil
	}
	if err != nil {
		return err
	}
	if !pl.shredded {
		f = pl.days.rebase(f, p.want, n)
	}
	p.convert, p.level = f, n
	pl.used[n.leaf] = true
	return nil
}

func mismatch(p *plan) error {
	return fmt.Errorf("%w: the file holds %s, the table says %s", delta.ErrCorrupt, p.file.describe(), p.want)
}

func (pl *planner) structure(p *plan, t *arrow.StructType) error {
	n := p.file
	if n.isLeaf() || n.repeated() && n.rev != p.slotRev {
		return mismatch(p)
	}
	for _, f := range t.Fields() {
		c, err := pl.field(n, f, p.slotRev, p.slotDef)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		p.children = append(p.children, c)
	}
	return nil
}

func (pl *planner) list(p *plan, t *arrow.ListType) error {
	item, elem, err := listNodes(p, t)
	if err != nil {
		return err
	}
	p.item, p.validDef = item, item.def-1
	c, err := pl.plan(t.Elem(), elem, item.rev, item.def)
	if err != nil {
		return fmt.Errorf("element: %w", err)
	}
	p.children = []*plan{c}
	return nil
}

// listNodes finds a list's repeated node and its element, by the format's rules for the layouts of old writers.
func listNodes(p *plan, t *arrow.ListType) (item, elem *node, err error) {
	n := p.file
	if n.repeated() && n.rev != p.slotRev { // a field that is itself repeated
		return n, n, nil
	}
	if n.isLeaf() || len(n.children) != 1 || !n.children[0].repeated() {
		return nil, nil, mismatch(p)
	}
	item = n.children[0]
	_, wantStruct := t.Elem().(*arrow.StructType)
	if item.isElement(n) || wantStruct && item.children[0].isLeaf() {
		return item, item, nil
	}
	return item, item.children[0], nil
}

func (pl *planner) entries(p *plan, t *arrow.MapType) error {
	n := p.file
	item := n
	if !n.repeated() || n.rev == p.slotRev {
		if n.isLeaf() || len(n.children) != 1 || !n.children[0].repeated() {
			return mismatch(p)
		}
		item = n.children[0]
	}
	if item.isLeaf() || len(item.children) > 2 {
		return mismatch(p)
	}
	p.item, p.validDef = item, item.def-1
	key, value := item.keyValue()
	k, err := pl.plan(t.KeyType(), key, item.rev, item.def)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	v, err := pl.plan(t.ItemType(), value, item.rev, item.def)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	p.children = []*plan{k, v}
	return nil
}

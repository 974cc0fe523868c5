package parquetio

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// sub binds a struct field of a group, once a batch.
func (g *group) sub(name string, arr *array.Struct) *group {
	s := g.subs[name]
	if s == nil {
		if g.subs == nil {
			g.subs = map[string]*group{}
		}
		s = bindGroup(arr)
		g.subs[name] = s
	}
	return s
}

// text is "" for NULL. The text may be kept.
func (g *group) text(name string, i int) string {
	t := g.texts[name]
	if t == nil {
		return ""
	}
	return t.at(i)
}

func (g *group) long(name string, i int) int64 {
	a, ok := g.fields[name].(*array.Int64)
	if !ok || a.IsNull(i) {
		return 0
	}
	return a.Value(i)
}

func (g *group) optional(name string, i int) *int64 {
	a, ok := g.fields[name].(*array.Int64)
	if !ok || a.IsNull(i) {
		return nil
	}
	v := a.Value(i)
	return &v
}

func (g *group) flag(name string, i int) bool {
	a, ok := g.fields[name].(*array.Boolean)
	return ok && a.IsValid(i) && a.Value(i)
}

func (g *group) entries(name string) *array.Map {
	m, _ := g.fields[name].(*array.Map)
	return m
}

// list is nil for NULL and not nil for a list without elements.
func (g *group) list(name string, i int) []string {
	a, ok := g.fields[name].(*array.List)
	if !ok || a.IsNull(i) {
		return nil
	}
	values := a.ListValues().(*array.String)
	from, to := a.ValueOffsets(i)
	out := make([]string, 0, to-from)
	for k := from; k < to; k++ {
		out = append(out, strings.Clone(values.Value(int(k))))
	}
	return out
}

// texts gives the strings of a column of which most are kept: they share one copy of the column's bytes.
type texts struct {
	arr  *array.String
	all  string
	base int
}

func newTexts(arr *array.String) *texts {
	t := &texts{arr: arr}
	if arr.Len() > 0 {
		t.base = arr.ValueOffset(0)
		t.all = string(arr.ValueBytes())
	}
	return t
}

func (t *texts) at(i int) string {
	if t.arr.IsNull(i) {
		return ""
	}
	from := t.arr.ValueOffset(i) - t.base
	return t.all[from : from+t.arr.ValueLen(i)]
}

// interner lets equal maps and strings share memory: a table has few partitions and many files.
type interner struct {
	strings map[string]string
	valued  map[string]map[string]*string
	plain   map[string]map[string]string
	key     []byte
}

// internLimit bounds what an interner remembers of each kind.
const internLimit = 1 << 16

func newInterner() *interner {
	return &interner{strings: map[string]string{}, valued: map[string]map[string]*string{}, plain: map[string]map[string]string{}}
}

func (n *interner) text(s string) string {
	if s == "" {
		return ""
	}
	if t, ok := n.strings[s]; ok {
		return t
	}
	t := strings.Clone(s)
	if len(n.strings) < internLimit {
		n.strings[t] = t
	}
	return t
}

// encode sets n.key to a form of the map's entries that tells NULL from "" and keeps entries apart.
func (n *interner) encode(m *array.Map, i int) (from, to int, keys, values *array.String) {
	f, t := m.ValueOffsets(i)
	keys, values = m.Keys().(*array.String), m.Items().(*array.String)
	n.key = n.key[:0]
	for k := int(f); k < int(t); k++ {
		n.key = appendText(n.key, keys.Value(k))
		if values.IsNull(k) {
			n.key = append(n.key, 0)
			continue
		}
		n.key = append(n.key, 1)
		n.key = appendText(n.key, values.Value(k))
	}
	return int(f), int(t), keys, values
}

func appendText(b []byte, s string) []byte {
	b = append(b, byte(len(s)), byte(len(s)>>8), byte(len(s)>>16), byte(len(s)>>24))
	return append(b, s...)
}

// values is a map whose values may be NULL; nil for a NULL map.
func (n *interner) values(m *array.Map, i int) map[string]*string {
	if m == nil || m.IsNull(i) {
		return nil
	}
	from, to, keys, values := n.encode(m, i)
	if out, ok := n.valued[string(n.key)]; ok {
		return out
	}
	out := make(map[string]*string, to-from)
	for k := from; k < to; k++ {
		var v *string
		if values.IsValid(k) {
			s := n.text(values.Value(k))
			v = &s
		}
		out[n.text(keys.Value(k))] = v
	}
	if len(n.valued) < internLimit {
		n.valued[string(n.key)] = out
	}
	return out
}

// texts is a map of strings; a NULL value counts as "".
func (n *interner) texts(m *array.Map, i int) map[string]string {
	if m == nil || m.IsNull(i) {
		return nil
	}
	from, to, keys, values := n.encode(m, i)
	if out, ok := n.plain[string(n.key)]; ok {
		return out
	}
	out := make(map[string]string, to-from)
	for k := from; k < to; k++ {
		v := ""
		if values.IsValid(k) {
			v = n.text(values.Value(k))
		}
		out[n.text(keys.Value(k))] = v
	}
	if len(n.plain) < internLimit {
		n.plain[string(n.key)] = out
	}
	return out
}

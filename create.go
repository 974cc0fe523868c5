package idem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/redact"
)

const opCreate = "Create"

// Definition is what a table is.
type Definition struct {
	_ struct{}

	// Schema is the rows' schema. Arrow types become Delta types: signed integers, float32 and
	// float64, decimals to 38 digits, utf8, binary, boolean, date, timestamps (with a zone:
	// timestamp, an instant; without: timestamp_ntz), struct, list, map. Delta has no unsigned
	// integers, float16, time or duration. Nullability is kept. Names must differ by more than case
	// and hold none of space , ; { } ( ) = tab and newline, unless the table has column mapping.
	Schema *arrow.Schema

	// Columns says more of columns than their types do, by name; a field of a struct is
	// "address.city".
	Columns map[string]Column

	// PartitionBy are partition columns, in order: not all columns, and no floats or nested ones.
	// In a partition column '' becomes NULL, and binary values must be UTF-8.
	PartitionBy []string

	// ClusterBy are the columns, or fields of structs ("address.city"), by whose values compaction
	// brings rows together. Not beside PartitionBy.
	ClusterBy []string

	// Properties are the table's properties, e.g. "delta.appendOnly": "true". Names under "delta."
	// that Delta does not have are refused. What they need is added: "delta.columnMapping.mode":
	// "name" gives the columns ids and physical names, "delta.enableRowTracking": "true" the table
	// its features. "delta.feature.NAME": "supported" adds a table feature by name.
	Properties map[string]string

	// Constraints are CHECK constraints by name: SQL conditions that every row must satisfy (NULL
	// does not).
	Constraints map[string]string

	// Name and Description are kept in the log.
	Name        string
	Description string
}

// Column is what a table says of a column beside its type and whether it may be NULL. A column has one
// of Default, Generated and Identity at most, and a field of a struct none.
type Column struct {
	_ struct{}

	// Comment is for people.
	Comment string

	// Type is the SQL type of strings with a length, "varchar(10)", "char(2)", "array<varchar(5)>": rows
	// with longer texts are refused. "" is no such type. Texts of a char are stored, compared and given back
	// as they came, without padding, as Delta stores them; Spark pads them when it reads, so that there 'ab' in a
	// char(4) equals 'ab  '.
	Type string

	// Default is the SQL expression of the value in rows that lack the column; a NULL in rows that have
	// it stays. It names no column. current_timestamp() and current_date() are those of the call.
	Default string

	// Generated is the SQL expression, of columns that rows bring, that the column is computed by in
	// rows that lack it. In rows that have it no other value is taken.
	Generated string

	// Identity has the table number its rows in the column, an int64.
	Identity *Identity
}

// Identity says how rows are numbered. A number is given once, to whichever writer commits it first;
// between numbers there may be gaps.
type Identity struct {
	_ struct{}

	// Start is the first number.
	Start int64

	// Step is what each number is ahead of the one before, perhaps below 0. 0 means 1.
	Step int64

	// AllowExplicit takes rows that bring numbers of their own, which the table does not check.
	AllowExplicit bool
}

// Create makes a table at a URL, or opens the one that is there if it has the same definition or a
// compatible one: then the result is Unchanged. Another definition is [ErrConflict] that names the
// difference. Of several creators at once one makes version 0, and all get the table.
//
// These are the same: the columns of the definition by name, in any order, and the fields of their structs,
// in order, with their types, with NOT NULL, and with a [Column]'s Type, Default, Generated and Identity or
// with none; PartitionBy and ClusterBy, in order or empty; the Properties and Constraints that are given; and
// comments and Name if given. What the table has beyond is compatible: other properties and constraints,
// its description, and columns and fields of structs that may be NULL and have no default or other rule, such
// as [ReplaceWhere.Evolve] adds them. A property that is given as what holds without it, "false" of a switch,
// need not be set in the table. Whether elements of lists and values of maps may be NULL is not compared.
func Create(ctx context.Context, url string, d Definition, o Options) (*Table, *Result, error) {
	s, err := store.OpenURL(url)
	if err != nil {
		return nil, nil, wrap(opCreate, redact.URL(url), -1, 0, inputError(err))
	}
	return CreateStore(ctx, s, d, o)
}

// CreateStore makes, or opens, the table whose root is the store's. A store without put-if-absent
// is refused.
func CreateStore(ctx context.Context, s store.Store, d Definition, o Options) (*Table, *Result, error) {
	t, err := newTable(ctx, s, o)
	if err != nil {
		return nil, nil, wrap(opCreate, urlOf(s), -1, 0, err)
	}
	want, err := d.definition(&t.env)
	if err != nil {
		return nil, nil, t.fail(opCreate, err)
	}
	found, err := t.begin(ctx)
	switch {
	case err != nil:
		return nil, nil, t.fail(opCreate, err)
	case found:
		if err := want.matches(t.snap); err != nil {
			return nil, nil, t.fail(opCreate, err)
		}
		return t, &Result{Outcome: Unchanged, Version: t.snap.Version(), Recorded: -1, TxnHorizon: -1}, nil
	}
	want.newID = t.opts.newUUID
	want.created = t.opts.Clock.Now().UnixMilli()
	res, err := t.write(ctx, &call{op: opCreate, planner: want, report: func(*Result) {}})
	if err != nil {
		return nil, nil, err
	}
	return t, res, nil
}

// begin loads the table, or makes sure that it can be made: that the store puts if absent.
func (t *Table) begin(ctx context.Context) (found bool, err error) {
	snap, err := t.log.Load(ctx)
	switch {
	case err == nil:
		t.saw(snap)
		return true, nil
	case !errors.Is(err, ErrNotTable):
		return false, err
	}
	if strings.Contains(t.store.URL(), "/"+delta.LogDir) {
		return false, fmt.Errorf("%w: the place is within the log of a table: choose another", ErrInput)
	}
	return false, store.Probe(ctx, t.store, t.opts.newUUID())
}

// Tables are also made by packages that take a table: see package inside.
func init() {
	inside.BindBegin(func(ctx context.Context, s store.Store, options any) (any, bool, error) {
		t, err := newTable(ctx, s, options.(Options))
		if err != nil {
			return nil, false, err
		}
		found, err := t.begin(ctx)
		return t, found, err
	}, func(op, url string, err error) error { return wrap(op, url, -1, 0, err) }, urlOf)
}

// definition is what a table shall be, as the log says it.
type definition struct {
	spec  delta.CreateSpec
	would *delta.Snapshot // version 0, but for its ids

	newID   func() string
	created int64 // milliseconds
}

// definition checks what was given, before anything is looked at.
func (d Definition) definition(env *plan.Env) (*definition, error) {
	if d.Schema == nil {
		return nil, fmt.Errorf("%w: Definition.Schema is nil", ErrInput)
	}
	schema, err := delta.FromArrow(d.Schema)
	if err != nil {
		return nil, err
	}
	w := &definition{spec: delta.CreateSpec{
		Schema: schema, PartitionBy: d.PartitionBy, Properties: d.Properties, Constraints: d.Constraints, Name: d.Name, Description: d.Description,
	}}
	for _, name := range d.PartitionBy {
		if schema.Index(name) < 0 {
			return nil, fmt.Errorf("%w: Definition.PartitionBy names %q, which the schema lacks", ErrInput, name)
		}
	}
	for _, name := range d.ClusterBy {
		path, err := pred.PathIn(schema, name)
		if err != nil {
			return nil, err
		}
		w.spec.ClusterBy = append(w.spec.ClusterBy, path)
	}
	if w.spec.Rules, err = d.rules(schema); err != nil {
		return nil, err
	}
	if w.would, err = w.trial(); err != nil {
		return nil, err
	}
	return w, canKeep(env, w.would)
}

// rules gives what is said of columns.
func (d Definition) rules(schema *delta.Struct) ([]delta.ColumnRule, error) {
	var out []delta.ColumnRule
	said := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(d.Columns)) {
		c := d.Columns[name]
		path, err := pred.PathIn(schema, name)
		if err != nil {
			return nil, err
		}
		id := strings.ToLower(strings.Join(path, "\x00"))
		if other, twice := said[id]; twice {
			return nil, fmt.Errorf("%w: Definition.Columns: %q and %q are one column: say what there is to say of it once", ErrInput, other, name)
		}
		said[id] = name
		r := delta.ColumnRule{Path: path, Comment: c.Comment, Declared: c.Type, Default: c.Default, Generated: c.Generated}
		if id := c.Identity; id != nil {
			r.Identity = &delta.Identity{Start: id.Start, Step: id.Step, AllowExplicit: id.AllowExplicit}
			if id.Step == 0 {
				r.Identity.Step = 1
			}
			if slices.ContainsFunc(d.PartitionBy, func(p string) bool { return strings.EqualFold(p, name) }) {
				return nil, fmt.Errorf("%w: Definition.Columns: %q numbers rows, so it cannot partition them", ErrInput, name)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// trial is version 0 with ids that stand for those that it would get.
func (d *definition) trial() (*delta.Snapshot, error) {
	n := 0
	e, err := d.spec.Build(delta.Fresh{ID: func() string { n++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }})
	if err != nil {
		return nil, err
	}
	r := delta.NewReplay("")
	if err := r.Commit(0, e.Actions()); err != nil {
		return nil, err
	}
	return r.Snapshot(0)
}

// canKeep makes sure that every rule can be kept before it is in the log.
func canKeep(env *plan.Env, snap *delta.Snapshot) error {
	err := plan.CheckRules(env, snap)
	if u := (*plan.UncheckedError)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w: Definition.Constraints: %v", ErrInput, u)
	}
	if u := (*plan.UncomputedError)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w: Definition.Columns: %v", ErrInput, u)
	}
	return err
}

// Plan proposes version 0, or finds the table that another creator made.
func (d *definition) Plan(_ context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	if snap != nil {
		return nil, d.matches(snap)
	}
	e, err := d.spec.Build(delta.Fresh{ID: d.newID, Timestamp: d.created})
	if err != nil {
		return nil, err
	}
	e.Metadata.CreatedTime = &d.created
	parameters := map[string]any{
		"isManaged": "false", "partitionBy": plan.NamesParameter(e.Metadata.PartitionColumns), "properties": plan.PropertiesParameter(e.Metadata.Configuration),
	}
	if len(d.spec.ClusterBy) > 0 {
		var names []string
		for _, path := range d.spec.ClusterBy {
			names = append(names, expr.Field(path...).String())
		}
		parameters["clusterBy"] = plan.NamesParameter(names)
	}
	return &plan.Proposal{Operation: "CREATE TABLE", Parameters: parameters, Actions: e.Actions()}, nil
}

// difference names what a table has in another way.
type difference struct {
	what       string
	have, want any
}

// matches says how a table differs from the definition.
func (d *definition) matches(snap *delta.Snapshot) error {
	for _, differs := range []func(*delta.Snapshot) *difference{d.otherColumns, d.otherLayout, d.otherProperties} {
		if x := differs(snap); x != nil {
			return fmt.Errorf("%w: there is a table at version %d with another definition: %s is %v there, and %v here; open it with Open, or choose another place",
				delta.ErrDiffers, snap.Version(), x.what, x.have, x.want)
		}
	}
	return nil
}

func (d *definition) otherColumns(snap *delta.Snapshot) *difference {
	return otherFields(d.would.Schema(), snap.Schema(), "")
}

// otherFields compares the columns of two tables, or the fields of two structs. What a table has beyond,
// such as the columns that Evolve adds, leaves those alone who know nothing of it.
func otherFields(want, have *delta.Struct, path string) *difference {
	known, last := make([]bool, len(have.Fields)), -1
	for i := range want.Fields {
		f := &want.Fields[i]
		at := have.Index(f.Name)
		if at < 0 {
			return &difference{"column " + path + f.Name, "absent", f.Type}
		}
		g := &have.Fields[at]
		switch {
		case path != "" && g.Name != f.Name:
			return &difference{"column " + path + f.Name, "spelled " + g.Name, f.Name}
		case path != "" && at < last:
			return &difference{"the place of column " + path + f.Name, "before " + have.Fields[last].Name, "after it"}
		}
		if x := otherField(f, g, path+f.Name); x != nil {
			return x
		}
		known[at], last = true, at
	}
	for i := range have.Fields {
		if g := &have.Fields[i]; !known[i] && (!g.Nullable || filled(g)) {
			return &difference{"column " + path + g.Name, describeField(g), "absent"}
		}
	}
	return nil
}

func otherField(want, have *delta.Field, path string) *difference {
	if want.Nullable != have.Nullable {
		return &difference{"column " + path, describeField(have), describeField(want)}
	}
	if x := otherType(want.Type, have.Type, path); x != nil {
		return x
	}
	return otherRules(want, have, path)
}

func otherType(want, have delta.Type, path string) *difference {
	switch w := want.(type) {
	case *delta.Struct:
		if h, ok := have.(*delta.Struct); ok {
			return otherFields(w, h, path+".")
		}
	case *delta.Array:
		if h, ok := have.(*delta.Array); ok {
			return otherType(w.Element, h.Element, path+".element")
		}
	case *delta.Map: // no column is added to keys
		if h, ok := have.(*delta.Map); ok && h.Key.String() == w.Key.String() {
			return otherType(w.Value, h.Value, path+".value")
		}
	}
	if want.String() != have.String() {
		return &difference{"column " + path, have, want}
	}
	return nil
}

// ruled are the metadata of fields that say how they get their values; the last number that was given
// is not a matter of definition.
var ruled = []string{delta.GenerationKey, delta.DefaultKey, delta.CharTypeKey, delta.IdentityStartKey, delta.IdentityStepKey, delta.IdentityExplicitKey}

// filling are the metadata of fields that say what stands in rows that lack them, or may stand there.
var filling = []string{delta.GenerationKey, delta.DefaultKey, delta.IdentityStartKey, "delta.invariants"}

func filled(f *delta.Field) bool {
	return slices.ContainsFunc(filling, func(key string) bool { return f.Metadata[key] != nil })
}

// otherRules compares what fields say beside their types. A comment counts if the definition has one.
func otherRules(want, have *delta.Field, path string) *difference {
	keys := ruled
	if _, ok := want.Metadata[delta.CommentKey]; ok {
		keys = append(slices.Clone(keys), delta.CommentKey)
	}
	for _, key := range keys {
		w, h := plainJSON(want.Metadata[key]), plainJSON(have.Metadata[key])
		if w != h {
			return &difference{fmt.Sprintf("%s of column %s", key, path), h, w}
		}
	}
	return nil
}

// plainJSON is a value as it is compared and shown.
func plainJSON(raw json.RawMessage) string {
	var v any
	switch {
	case raw == nil:
		return "not set"
	case json.Unmarshal(raw, &v) != nil:
		return string(raw)
	}
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSpace(string(raw))
}

func (d *definition) otherLayout(snap *delta.Snapshot) *difference {
	if want := d.would.PartitionColumns(); !slices.Equal(snap.PartitionColumns(), want) {
		return &difference{"partitioning", snap.PartitionColumns(), want}
	}
	var want, have []string
	for _, path := range d.spec.ClusterBy {
		want = append(want, expr.Field(stored(snap, path)...).String())
	}
	for _, path := range snap.Clustering() {
		have = append(have, expr.Field(path...).String())
	}
	if !slices.Equal(want, have) {
		return &difference{"clustering", have, want}
	}
	return nil
}

// stored is a path in the names that a table's files have.
func stored(snap *delta.Snapshot, path []string) []string {
	var out []string
	var t delta.Type = snap.Schema()
	for _, name := range path {
		s, ok := t.(*delta.Struct)
		if !ok {
			return path
		}
		i := s.Index(name)
		if i < 0 {
			return path
		}
		if snap.Mapping() == delta.MappingNone {
			out = append(out, s.Fields[i].Name)
		} else {
			out = append(out, s.Fields[i].PhysicalName())
		}
		t = s.Fields[i].Type
	}
	return out
}

// otherProperties compares the properties that were given, and those that constraints stand in.
func (d *definition) otherProperties(snap *delta.Snapshot) *difference {
	want := maps.Clone(d.spec.Properties)
	if want == nil {
		want = map[string]string{}
	}
	for key, condition := range d.would.Metadata().Configuration {
		if strings.HasPrefix(key, constraintProperty) {
			want[key] = condition
		}
	}
	if what, has, wants, differs := snap.PropertyDifference(want); differs {
		return &difference{what, has, wants}
	}
	if name := snap.Metadata().Name; d.spec.Name != "" && d.spec.Name != name {
		return &difference{"the name", name, d.spec.Name}
	}
	return nil
}

// constraintProperty begins the names of properties in which CHECK constraints stand.
const constraintProperty = "delta.constraints."

// describeField is a column's type, and what makes it more than a type.
func describeField(f *delta.Field) string {
	out := f.Type.String()
	for _, key := range filling {
		if raw := f.Metadata[key]; raw != nil {
			out += fmt.Sprintf(" with %s %s", key, plainJSON(raw))
		}
	}
	if !f.Nullable {
		out += " NOT NULL"
	}
	return out
}

// rewind moves a tag back.
type rewind struct {
	appID string
	to    int64
}

// standsAt is the version of an application's tag, -1 if it has none, or if there is no table.
func standsAt(snap *delta.Snapshot, appID string) int64 {
	if snap == nil {
		return -1
	}
	if x, ok := snap.Txn(appID); ok {
		return x.Version
	}
	return -1
}

// Plan checks that there is something to move.
func (r *rewind) Plan(_ context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	at, is := standsAt(snap, r.appID), commit.RecordsOf(snap, r.appID)
	undone := is.Undone != commit.Cleared || len(is.Gaps) > 0
	switch {
	case at == r.to && !undone:
		return nil, nil
	case at < r.to:
		return nil, fmt.Errorf("%w: the tag of %q stands at %d; RewindTxn moves it back, not forward to %d", ErrInput, r.appID, at, r.to)
	}
	return &plan.Proposal{Operation: "REWIND TXN", Parameters: map[string]any{"appId": r.appID, "from": at, "to": r.to}}, nil
}

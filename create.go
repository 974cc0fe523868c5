package idem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/plan"
)

const opCreate = "Create"

// Definition is what a table is.
type Definition struct {
	_ struct{}

	// Schema is the rows' schema. Arrow types become Delta types: signed integers, float32 and
	// float64, decimals to 38 digits, utf8, binary, boolean, date, timestamps (with a zone:
	// timestamp, an instant; without: timestamp_ntz), struct, list, map. Delta has no unsigned
	// integers, float16, time or duration. Nullability is kept. Names must differ by more than case
	// and hold none of space , ; { } ( ) = tab and newline.
	Schema *arrow.Schema

	// PartitionBy are partition columns, in order: not all columns, and no floats or nested ones.
	// In a partition column '' becomes NULL, and binary values must be UTF-8.
	PartitionBy []string

	// Properties are the table's properties, e.g. "delta.appendOnly": "true". Names under "delta."
	// that Delta does not have are refused.
	Properties map[string]string

	// Constraints are CHECK constraints by name: SQL conditions that every row must satisfy (NULL
	// does not).
	Constraints map[string]string

	// Name and Description are kept in the log.
	Name        string
	Description string
}

// Create makes a table at a URL, or opens the one that is there if it has the same definition: then
// the result is Unchanged. Another definition (columns, partitioning, the properties given, a name
// given) is [ErrConflict] that names the difference. Of
// several creators at once one makes version 0, and all get the table.
func Create(ctx context.Context, url string, d Definition, o Options) (*Table, *Result, error) {
	s, err := store.OpenURL(url)
	if err != nil {
		return nil, nil, wrap(opCreate, redact(url), -1, 0, inputError(err))
	}
	return CreateStore(ctx, s, d, o)
}

// CreateStore makes, or opens, the table whose root is the store's. A store without put-if-absent
// is refused.
func CreateStore(ctx context.Context, s store.Store, d Definition, o Options) (*Table, *Result, error) {
	t, err := newTable(s, o)
	if err != nil {
		return nil, nil, wrap(opCreate, s.URL(), -1, 0, err)
	}
	want, err := d.metadata()
	if err != nil {
		return nil, nil, t.fail(opCreate, err)
	}
	snap, err := t.log.Load(ctx)
	switch {
	case err == nil:
		t.saw(snap)
		if err := want.matches(snap); err != nil {
			return nil, nil, t.fail(opCreate, err)
		}
		return t, &Result{Outcome: Unchanged, Version: snap.Version(), Recorded: -1, TxnHorizon: -1}, nil
	case !errors.Is(err, ErrNotTable):
		return nil, nil, t.fail(opCreate, err)
	}
	if err := store.Probe(ctx, s, t.opts.newUUID()); err != nil {
		return nil, nil, t.fail(opCreate, err)
	}
	want.meta.ID = t.opts.newUUID()
	created := t.opts.Clock.Now().UnixMilli()
	want.meta.CreatedTime = &created
	res, err := t.write(ctx, &call{op: opCreate, planner: want, report: func(*Result) {}})
	if err != nil {
		return nil, nil, err
	}
	return t, res, nil
}

// definition is what a table shall be, as the log says it.
type definition struct {
	meta   *delta.Metadata
	schema *delta.Struct
}

// constraintProperty is the prefix under which CHECK constraints stand in the table's properties.
const constraintProperty = "delta.constraints."

func (d Definition) metadata() (*definition, error) {
	if d.Schema == nil {
		return nil, fmt.Errorf("%w: Definition.Schema is nil", ErrInput)
	}
	schema, err := delta.FromArrow(d.Schema)
	if err != nil {
		return nil, err
	}
	partition := make([]string, len(d.PartitionBy))
	for i, name := range d.PartitionBy {
		c := schema.Index(name)
		if c < 0 {
			return nil, fmt.Errorf("%w: Definition.PartitionBy names %q, which the schema lacks", ErrInput, name)
		}
		partition[i] = schema.Fields[c].Name
	}
	if err := delta.ValidateNew(schema, partition); err != nil {
		return nil, err
	}
	if err := delta.RefuseUnknownProperties(d.Properties); err != nil {
		return nil, err
	}
	conf := maps.Clone(d.Properties)
	if conf == nil {
		conf = map[string]string{}
	}
	for name, text := range d.Constraints {
		key := constraintProperty + strings.ToLower(name)
		if _, twice := conf[key]; twice || name == "" {
			return nil, fmt.Errorf("%w: Definition.Constraints: the name %q is empty, or given twice but for case", ErrInput, name)
		}
		conf[key] = text
	}
	m := &delta.Metadata{
		Name: d.Name, Description: d.Description, Provider: "parquet", FormatOptions: map[string]string{},
		SchemaString: schema.JSON(), PartitionColumns: partition, Configuration: conf,
	}
	p := delta.ProtocolFor(m, schema)
	if err := delta.GateWrite(&p, m, schema); err != nil {
		return nil, err
	}
	return &definition{meta: m, schema: schema}, checkConstraints(&p, m)
}

// checkConstraints makes sure that every constraint can be evaluated before it is in the log.
func checkConstraints(p *delta.Protocol, m *delta.Metadata) error {
	r := delta.NewReplay("")
	if err := r.Commit(0, []delta.Action{{Protocol: p}, {Metadata: m}}); err != nil {
		return err
	}
	snap, err := r.Snapshot(0)
	if err != nil {
		return err
	}
	_, err = plan.NewValidator(snap)
	if u := (*plan.UncheckedError)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w: Definition.Constraints: %v", ErrInput, u)
	}
	return err
}

// Plan proposes version 0, or finds the table that another creator made.
func (d *definition) Plan(_ context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	if snap != nil {
		return nil, d.matches(snap)
	}
	p := delta.ProtocolFor(d.meta, d.schema)
	return &plan.Proposal{
		Operation:  "CREATE TABLE",
		Parameters: map[string]any{"isManaged": "false", "partitionBy": plan.NamesParameter(d.meta.PartitionColumns), "properties": plan.PropertiesParameter(d.meta.Configuration)},
		Actions:    []delta.Action{{Protocol: &p}, {Metadata: d.meta}},
	}, nil
}

// matches says how a table differs from the definition.
func (d *definition) matches(snap *delta.Snapshot) error {
	is := snap.Metadata()
	differ := func(what string, want, have any) error {
		return fmt.Errorf("%w: there is a table at version %d with another definition: %s is %v and not %v; open it with Open, or choose another place", ErrConflict, snap.Version(), what, have, want)
	}
	have := snap.Schema()
	for _, f := range d.schema.Fields {
		i := have.Index(f.Name)
		if i < 0 {
			return differ("column "+f.Name, f.Type, "absent")
		}
		g := have.Fields[i]
		if g.Type.String() != f.Type.String() || g.Nullable != f.Nullable {
			return differ("column "+f.Name, describeField(f), describeField(g))
		}
	}
	if len(have.Fields) != len(d.schema.Fields) {
		return differ("the number of columns", len(d.schema.Fields), len(have.Fields))
	}
	if !slices.Equal(snap.PartitionColumns(), d.meta.PartitionColumns) {
		return differ("partitioning", d.meta.PartitionColumns, snap.PartitionColumns())
	}
	for _, k := range slices.Sorted(maps.Keys(d.meta.Configuration)) {
		if v, ok := is.Configuration[k]; !ok {
			return differ("property "+k, d.meta.Configuration[k], "not set")
		} else if v != d.meta.Configuration[k] {
			return differ("property "+k, d.meta.Configuration[k], v)
		}
	}
	if d.meta.Name != "" && d.meta.Name != is.Name {
		return differ("the name", d.meta.Name, is.Name)
	}
	return nil
}

func describeField(f delta.Field) string {
	if f.Nullable {
		return f.Type.String()
	}
	return f.Type.String() + " NOT NULL"
}

// rewind moves a tag back.
type rewind struct {
	appID string
	to    int64
}

// Plan checks that there is something to move.
func (r *rewind) Plan(_ context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	at := int64(-1)
	if x, ok := snap.Txn(r.appID); ok {
		at = x.Version
	}
	undone := commit.RecordsOf(snap, r.appID).Undone != commit.Cleared
	switch {
	case at == r.to && !undone:
		return nil, nil
	case at < r.to:
		return nil, fmt.Errorf("%w: the tag of %q stands at %d; RewindTxn moves it back, not forward to %d", ErrInput, r.appID, at, r.to)
	}
	return &plan.Proposal{Operation: "REWIND TXN", Parameters: map[string]any{"appId": r.appID, "from": at, "to": r.to}}, nil
}

package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/plan"
)

// schema merges the columns of all files, and puts the partition columns in: where a file has one, or at
// the end.
func (p *convert) schema(ctx context.Context, partitions *delta.Struct) (*delta.Struct, error) {
	schemas := make([]*delta.Struct, len(p.files))
	err := plan.ForEach(ctx, p.in.Env.Parallelism, len(p.files), func(ctx context.Context, i int) (err error) {
		schemas[i], err = p.footer(ctx, &p.files[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	m := &mergedColumns{partitions: partitions, in: map[string]fileColumn{}}
	for i, s := range schemas {
		for _, f := range s.Fields {
			if err := m.take(f, p.files[i].key); err != nil {
				return nil, err
			}
		}
	}
	for i := range partitions.Fields {
		if f := partitions.Fields[i]; m.out.Index(f.Name) < 0 {
			m.out.Fields = append(m.out.Fields, f)
		}
	}
	return &m.out, nil
}

// footer gives the columns that a file has, and notes its number of rows.
func (p *convert) footer(ctx context.Context, f *parquetFile) (*delta.Struct, error) {
	r, err := parquetio.From(ctx).Open(ctx, parquetio.Object(ctx, p.in.Env.Store, f.key, f.size), parquetio.ReadOptions{Allocator: p.in.Env.Allocator})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.key, err)
	}
	defer r.Close()
	f.rows = r.NumRows()
	columns, others, err := parquetio.Schema(r)
	if err != nil {
		return nil, err
	}
	for name, what := range others {
		return nil, fmt.Errorf("%w: %s: the column %q is of a type that no table has: %s", idem.ErrInput, f.key, name, what)
	}
	s, err := delta.FromArrow(columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.key, err)
	}
	return s, nil
}

// fileColumn is a column of a merged schema: its field, and the first file that has it.
type fileColumn struct {
	field delta.Field
	file  string
}

// mergedColumns gathers the columns of files.
type mergedColumns struct {
	partitions *delta.Struct
	out        delta.Struct
	in         map[string]fileColumn // by name in lower case
}

func (m *mergedColumns) take(f delta.Field, file string) error {
	folded := strings.ToLower(f.Name)
	if c, ok := m.in[folded]; ok {
		switch {
		case c.field.Name != f.Name:
			return fmt.Errorf("%w: the column %q of %s is spelled %q in %s: names differ by more than case; write one of the files anew", idem.ErrInput, c.field.Name, c.file, f.Name, file)
		case c.field.Type.String() != f.Type.String():
			return fmt.Errorf("%w: the column %q is of type %s in %s and of type %s in %s: a column has one type; write one of the files anew",
				idem.ErrInput, f.Name, c.field.Type, c.file, f.Type, file)
		}
		return nil
	}
	m.in[folded] = fileColumn{f, file}
	if i := slices.IndexFunc(m.partitions.Fields, func(p delta.Field) bool { return strings.EqualFold(p.Name, f.Name) }); i >= 0 {
		m.out.Fields = append(m.out.Fields, m.partitions.Fields[i])
		return nil
	}
	f.Type, f.Nullable = loose(f.Type), true
	m.out.Fields = append(m.out.Fields, f)
	return nil
}

// loose is a type all of whose parts may be NULL: files that come later need not keep the promises of
// these. Keys of maps are never NULL.
func loose(t delta.Type) delta.Type {
	switch t := t.(type) {
	case *delta.Struct:
		out := &delta.Struct{Fields: slices.Clone(t.Fields)}
		for i := range out.Fields {
			out.Fields[i].Type, out.Fields[i].Nullable = loose(out.Fields[i].Type), true
		}
		return out
	case *delta.Array:
		return &delta.Array{Element: loose(t.Element), ContainsNull: true}
	case *delta.Map:
		return &delta.Map{Key: loose(t.Key), Value: loose(t.Value), ValueContainsNull: true}
	}
	return t
}

// describe gives the adds their statistics.
func (p *convert) describe(ctx context.Context) error {
	if err := p.refuseProperties(); err != nil {
		return err
	}
	snap, err := p.trial()
	if err != nil {
		return err
	}
	err = plan.ForEach(ctx, p.in.Env.Parallelism, len(p.files), func(ctx context.Context, i int) error {
		return p.measure(ctx, snap, &p.files[i])
	})
	for i := range p.files {
		p.out.Files, p.out.Bytes, p.out.Rows = p.out.Files+1, p.out.Bytes+p.files[i].size, p.out.Rows+p.files[i].rows
	}
	return err
}

// refuseProperties are errors for those that the files as they are cannot keep.
func (p *convert) refuseProperties() error {
	for name := range p.request.Properties {
		if strings.HasPrefix(strings.ToLower(name), "delta.constraints.") {
			return fmt.Errorf("%w: Convert.Properties: %s: nobody has checked the rows against it: convert first, then add the constraint with AlterTable", idem.ErrInput, name)
		}
	}
	return nil
}

// trial is version 0 without files, with ids that stand for those that it would get.
func (p *convert) trial() (*delta.Snapshot, error) {
	n := 0
	e, err := p.spec.Build(delta.Fresh{ID: func() string { n++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }})
	if err != nil {
		return nil, err
	}
	r := delta.NewReplay("")
	if err := r.Commit(0, e.Actions()); err != nil {
		return nil, err
	}
	snap, err := r.Snapshot(0)
	if err == nil && snap.Mapping() != delta.MappingNone {
		err = fmt.Errorf("%w: Convert.Properties turns column mapping on, and the files have the columns by their names: convert first, then set the property", idem.ErrInput)
	}
	if err == nil {
		err = delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema())
	}
	return snap, err
}

// measure reads a file for its statistics, or takes its number of rows alone.
func (p *convert) measure(ctx context.Context, snap *delta.Snapshot, f *parquetFile) error {
	if p.request.SkipStats {
		f.add.Stats = fmt.Sprintf(`{"numRecords":%d}`, f.rows)
		return nil
	}
	stats := snap.StatsBuilder()
	var columns []string
	for _, c := range snap.DataSchema().Fields() {
		columns = append(columns, c.Name)
	}
	read := int64(0)
	for batch, err := range scan.File(ctx, p.in.Env.Table(snap), f.add, columns) {
		if err != nil {
			return err
		}
		read += batch.NumRows()
		if err := stats.Add(batch); err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
	}
	if read != f.rows {
		return fmt.Errorf("%w: %s has %d rows by its footer, and %d were read: nothing was committed", idem.ErrCorrupt, f.key, f.rows, read)
	}
	f.add.Stats = stats.JSON()
	return nil
}

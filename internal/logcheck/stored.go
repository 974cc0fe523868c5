package logcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
)

// stored looks at the columns of a live file itself, where the table's are not simply those. Only
// Parquet can tell.
func (c *checker) stored(ctx context.Context, f *delta.Add, v int64) error {
	codec, ok := parquetio.From(ctx).(parquetio.Parquet)
	mapped := c.origins[f.Key].mapped && c.snap.Mapping() != delta.MappingNone
	voids := map[string]bool{}
	for _, field := range c.snap.Schema().Fields {
		if field.Type == delta.Void {
			path, _ := c.snap.StoredPath([]string{field.Name})
			voids[joined(path)] = true
		}
	}
	within := c.partitionsWithin(f)
	since, narrowed := c.goneSince["typeWidening"]
	narrowed = narrowed && c.authors[f.Key].version < since
	if !ok || !mapped && !narrowed && len(voids)+len(within)+len(c.lacking[f.Key]) == 0 {
		return nil
	}
	schema, names, err := c.fileColumns(ctx, codec, f)
	if err != nil {
		return c.unreadable(f, v, err)
	}
	for _, l := range c.lacking[f.Key] {
		if holds(schema.Fields(), l.path) {
			c.find(l.rule, l.version, f.Path, "there are no statistics of %s", strings.Join(l.path, "."))
		}
	}
	if name := narrower(schema.Fields(), c.snap.Stored(c.snap.DataSchema()).Fields()); narrowed && name != "" {
		c.find(FeatureLeft, since, f.Path, "typeWidening is dropped, and the file has the column %s in a narrower type", name)
	}
	for _, name := range names {
		if voids[name] {
			c.find(FileColumns, v, f.Path, "it has the column %s, which is void", name)
		}
	}
	for _, name := range within {
		if !slices.Contains(names, name) {
			c.find(IcebergCompat, v, f.Path, "it lacks the partition column %s", name)
		}
	}
	if !mapped || !c.origins[f.Key].ours {
		return nil
	}
	byName, err := c.direct(ctx, codec, f, false)
	if err != nil {
		return c.unreadable(f, v, err)
	}
	byID, err := c.direct(ctx, codec, f, true)
	if broken(err) || err == nil && byName != byID {
		c.find(FileColumns, v, f.Path, "its columns by field id are not those by physical name (%v)", err)
		return nil
	}
	return err
}

// partitionsWithin are the partition columns that the files of a table must hold themselves, those
// that were added before the table asked for it excepted.
func (c *checker) partitionsWithin(f *delta.Add) (names []string) {
	then := c.snaps[c.authors[f.Key].version]
	if then == nil || !enabled(then, "delta.enableIcebergCompatV1") && !enabled(then, "delta.enableIcebergCompatV2") {
		return nil
	}
	for _, name := range c.snap.PartitionColumns() {
		names = append(names, c.snap.PartitionKey(name))
	}
	return names
}

// narrower gives the first column of a file that was widened since, "" if there is none.
func narrower(stored, now []arrow.Field) string {
	for _, f := range now {
		i := slices.IndexFunc(stored, func(s arrow.Field) bool { return s.Name == f.Name })
		if i >= 0 && narrowerType(stored[i].Type, f.Type) {
			return f.Name
		}
	}
	return ""
}

func narrowerType(stored, now arrow.DataType) bool {
	within, nested := now.(arrow.NestedType)
	old, same := stored.(arrow.NestedType)
	switch {
	case nested && same && len(old.Fields()) == len(within.Fields()) && now.ID() != arrow.STRUCT:
		for i, f := range within.Fields() { // elements, keys and values have other names in files
			if narrowerType(old.Fields()[i].Type, f.Type) {
				return true
			}
		}
		return false
	case nested && same:
		return narrower(old.Fields(), within.Fields()) != ""
	case nested || same:
		return false
	}
	a, sized := stored.(arrow.DecimalType)
	b, is := now.(arrow.DecimalType)
	switch {
	case sized && is:
		return a.GetPrecision() < b.GetPrecision() || a.GetScale() < b.GetScale()
	case arrow.IsInteger(stored.ID()) && arrow.IsInteger(now.ID()), arrow.IsFloating(stored.ID()) && arrow.IsFloating(now.ID()):
		return stored.(arrow.FixedWidthDataType).BitWidth() < now.(arrow.FixedWidthDataType).BitWidth()
	}
	return arrow.IsInteger(stored.ID()) && (arrow.IsFloating(now.ID()) || is) || stored.ID() == arrow.DATE32 && now.ID() == arrow.TIMESTAMP
}

func (c *checker) unreadable(f *delta.Add, v int64, err error) error {
	if !broken(err) && !errors.Is(err, delta.ErrInput) {
		return fmt.Errorf("look at %s: %w", f.Path, err)
	}
	c.find(FileUnreadable, v, f.Path, "%v", err)
	return nil
}

// holds says whether a path leads through structs to a field.
func holds(fields []arrow.Field, path []string) bool {
	i := slices.IndexFunc(fields, func(f arrow.Field) bool { return f.Name == path[0] })
	if i < 0 || len(path) == 1 {
		return i >= 0
	}
	inner, ok := fields[i].Type.(*arrow.StructType)
	return ok && holds(inner.Fields(), path[1:])
}

// fileColumns are the columns of a file, and all their names.
func (c *checker) fileColumns(ctx context.Context, codec parquetio.Parquet, f *delta.Add) (schema *arrow.Schema, names []string, err error) {
	r, err := codec.Open(ctx, parquetio.Object(ctx, c.store, f.Key, f.Size), parquetio.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	schema, others, err := parquetio.Schema(r)
	if err != nil {
		return nil, nil, err
	}
	for _, field := range schema.Fields() {
		names = append(names, field.Name)
	}
	for name := range others {
		names = append(names, strings.Split(name, ".")[0])
	}
	return schema, names, nil
}

// direct is the multiset of all rows of a file, its columns found by name or by field id.
func (c *checker) direct(ctx context.Context, codec parquetio.Parquet, f *delta.Add, byID bool) (total sum, err error) {
	want := c.snap.Stored(c.snap.DataSchema())
	r, err := codec.Open(ctx, parquetio.Object(ctx, c.store, f.Key, f.Size), parquetio.ReadOptions{ByID: byID})
	if err != nil {
		return total, err
	}
	defer r.Close()
	fields := want.Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	for batch, err := range r.Batches(ctx, arrow.NewSchema(fields, nil)) {
		if err != nil {
			return total, err
		}
		d, err := rows.DigestRows(batch, nil)
		if err != nil {
			return total, err
		}
		total = total.plus(sum{batch.NumRows(), d})
	}
	return total, nil
}

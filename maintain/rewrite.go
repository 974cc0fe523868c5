package maintain

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/plan"
)

// rewriter plans a commit that puts new files in the place of old ones, one for one and with the same
// rows.
type rewriter struct {
	env *plan.Env

	// due says which files; nil is all.
	due func(ctx context.Context, snap *delta.Snapshot, f *delta.Add) (bool, error)

	files    int64 // that the last plan rewrites
	base     *delta.Snapshot
	done     map[string]*rewritten // by file and vector
	stale    []*delta.Add          // written for a definition that is none any more
	proposed bool
}

// Plan implements inside.Planner: a REORG, as Spark calls it.
func (w *rewriter) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	actions, err := w.rewrite(ctx, snap, snap)
	if err != nil || len(actions) == 0 {
		return nil, err
	}
	reads := commit.Reads{Files: map[string]struct{}{}}
	removed := 0
	for _, a := range actions {
		if a.Remove != nil {
			reads.Files[a.Remove.Key] = struct{}{}
			removed++
		}
	}
	return &plan.Proposal{
		Operation: "REORG", Parameters: map[string]any{"predicate": "[]", "applyPurge": true}, Rearranges: true, Actions: actions, Reads: reads, Tags: preserved(snap),
		Metrics: map[string]string{"numRemovedFiles": strconv.Itoa(removed), "numAddedFiles": strconv.Itoa(len(actions) - removed)},
	}, nil
}

// rewrite copies the rows of the files that are due into files for a definition, and gives the actions. What
// was written for an earlier snapshot serves again, if the definition is the same and the file is
// live.
func (w *rewriter) rewrite(ctx context.Context, snap, to *delta.Snapshot) ([]delta.Action, error) {
	if w.base == nil || w.base.Metadata() != snap.Metadata() || w.base.Protocol() != snap.Protocol() {
		for _, r := range w.done {
			w.stale = append(w.stale, r.adds...)
		}
		w.done = map[string]*rewritten{}
	}
	w.base = snap
	var files []*delta.Add
	for f := range snap.Files() {
		if w.due != nil {
			due, err := w.due(ctx, snap, f)
			if err != nil {
				return nil, err
			}
			if !due {
				continue
			}
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *delta.Add) int { return cmp.Compare(a.Key, b.Key) })
	if err := w.write(ctx, snap, to, files); err != nil {
		return nil, err
	}
	var out []delta.Action
	for _, f := range files {
		out = append(out, w.env.Remove(f, false))
		for _, add := range w.done[fileID(f)].adds {
			out = append(out, delta.Action{Add: add})
		}
	}
	w.files, w.proposed = int64(len(files)), w.proposed || len(files) > 0
	return out, nil
}

// fileID names a file as it is: its rows change with its vector.
func fileID(f *delta.Add) string { return delta.LogicalFile(f.Key, f.DeletionVector) }

// write copies the files that were not copied yet, some at a time.
func (w *rewriter) write(ctx context.Context, snap, to *delta.Snapshot, files []*delta.Add) error {
	files = slices.DeleteFunc(slices.Clone(files), func(f *delta.Add) bool { return w.done[fileID(f)] != nil })
	side := max(min(w.env.Parallelism, len(files)), 1)
	env := *w.env
	env.MemoryBytes, env.TargetFileBytes = max(memoryBytes(w.env)/int64(side), 1), 1<<60 // each becomes one file
	if side > 1 {
		env.Parallelism = 1
	}
	written := make([]*rewritten, len(files))
	err := plan.ForEach(ctx, side, len(files), func(ctx context.Context, i int) error {
		c := &copier{ctx: ctx, env: &env, snap: snap, bin: &bin{files: files[i : i+1 : i+1], size: files[i].Size}}
		var err error
		written[i], err = c.into(to)
		return err
	})
	for i, r := range written {
		if r == nil {
			continue
		}
		w.done[fileID(files[i])] = r
		for _, add := range r.adds {
			add.DataChange = false
			if snap == to {
				keepLayout(files[i], add)
			}
		}
	}
	return err
}

// keepLayout tells the next optimize what it knew of the old file.
func keepLayout(old, add *delta.Add) {
	add.ClusteredBy = old.ClusteredBy
	add.Tags = maps.Clone(add.Tags)
	for _, tag := range []string{tagTarget, tagCube, tagCubeBy} {
		if v, ok := old.Tags[tag]; ok {
			if add.Tags == nil {
				add.Tags = map[string]string{}
			}
			add.Tags[tag] = v
		}
	}
}

// close removes the files that no commit can name.
func (w *rewriter) close(ctx context.Context) {
	if w.proposed {
		return
	}
	files := w.stale
	for _, r := range w.done {
		files = append(files, r.adds...)
	}
	discard(ctx, w.env, files)
}

// pastTypes finds the files that hold columns with types from before a change of type. Their footers
// tell; the log does not.
type pastTypes struct {
	env   *plan.Env
	known map[[2]string]bool // by key, which a file never changes under, and the schema that it is held against
}

func (p *pastTypes) has(ctx context.Context, snap *delta.Snapshot, f *delta.Add) (bool, error) {
	id := [2]string{f.Key, snap.Metadata().SchemaString}
	if past, ok := p.known[id]; ok {
		return past, nil
	}
	r, err := parquetio.From(ctx).Open(ctx, parquetio.Object(ctx, p.env.Store, f.Key, f.Size), parquetio.ReadOptions{Allocator: p.env.Allocator})
	if err != nil {
		return false, err
	}
	defer r.Close()
	file, _, err := parquetio.Schema(r)
	if err != nil {
		return false, err
	}
	past := false
	stored := snap.Stored(snap.DataSchema())
	for i, field := range snap.DataSchema().Fields() {
		if !widened(snap.Schema().Fields[snap.Schema().Index(field.Name)]) {
			continue
		}
		at := file.FieldIndices(stored.Field(i).Name)
		switch {
		case len(at) > 0:
			past = past || !sameLeaves(file.Field(at[0]).Type, stored.Field(i).Type)
		case snap.Mapping() == delta.MappingID: // the file may have it under another name
			past = true
		}
	}
	p.known[id] = past
	return past, nil
}

// widened says whether a column has a record of changes of type, at any depth.
func widened(f delta.Field) bool {
	return strings.Contains((&delta.Struct{Fields: []delta.Field{f}}).JSON(), `"delta.typeChanges"`)
}

// sameLeaves compares types as far as a file has the fields.
func sameLeaves(file, table arrow.DataType) bool {
	switch t := table.(type) {
	case *arrow.StructType:
		s, ok := file.(*arrow.StructType)
		if !ok {
			return false
		}
		for _, field := range t.Fields() {
			if has, ok := s.FieldByName(field.Name); ok && !sameLeaves(has.Type, field.Type) {
				return false
			}
		}
		return true
	case *arrow.MapType:
		m, ok := file.(*arrow.MapType)
		return ok && sameLeaves(m.KeyType(), t.KeyType()) && sameLeaves(m.ItemType(), t.ItemType())
	case *arrow.ListType:
		l, ok := file.(*arrow.ListType)
		return ok && sameLeaves(l.Elem(), t.Elem())
	}
	return arrow.TypeEqual(file, table)
}

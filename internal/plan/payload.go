package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/rows"
)

// Payload is the number and the digest of the rows given. It reads them if Plan did not.
func (p *Append) Payload(ctx context.Context, snap *delta.Snapshot) (int64, rows.Digest, error) {
	if p.base != nil {
		return p.out.rows, p.out.sum, nil
	}
	return payload(ctx, p.Env, snap, p.Input, p.Evolve, &p.Counts)
}

// Payload is the number and the digest of the rows given. It reads them if Plan did not.
func (p *Replace) Payload(ctx context.Context, snap *delta.Snapshot) (int64, rows.Digest, error) {
	if p.base != nil {
		return p.in.rows, p.in.sum, nil
	}
	return payload(ctx, p.Env, snap, p.Input, p.Evolve, &p.Counts)
}

func payload(ctx context.Context, env *Env, snap *delta.Snapshot, given Input, evolves bool, c *Counts) (int64, rows.Digest, error) {
	if given.Reader == nil {
		return 0, rows.Digest{}, nil
	}
	to, err := evolve(snap, given.brings(evolves))
	if err != nil {
		return 0, rows.Digest{}, err
	}
	in, err := newIntake(env, to.snap, given, evolves)
	if err != nil {
		return 0, rows.Digest{}, err
	}
	w, err := in.hash(ctx, nil)
	c.Read = w.rows
	return w.rows, w.sum, err
}

// Payload is the number and the digest of the source rows, before they are deduplicated. It reads
// them if Plan did not.
func (p *Merge) Payload(ctx context.Context, snap *delta.Snapshot) (int64, rows.Digest, error) {
	if p.base == nil {
		if _, err := p.begin(ctx, snap); err != nil {
			return 0, rows.Digest{}, err
		}
	}
	return p.Counts.Read, p.sum, nil
}

// TakesAlike says whether a table takes rows as it did at a version before: whether their digests compare. Columns that
// came since, and are NULL where rows lack them, take the same rows.
func TakesAlike(then, now *delta.Snapshot) (bool, error) {
	makes, err := makings(now)
	if err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(slices.Clone(now.Schema().Fields), func(f delta.Field) bool {
		return then.Schema().Index(f.Name) < 0 && f.Nullable && makes[foldName(f.Name)] == makesNothing
	})
	return commit.DefinitionChange(rowRules(then, then.Schema()), rowRules(now, &delta.Struct{Fields: kept})) == "", nil
}

// rowRules are what of a definition decides how rows are taken: columns and constraints.
func rowRules(snap *delta.Snapshot, columns *delta.Struct) *delta.Metadata {
	m := &delta.Metadata{SchemaString: columns.JSON(), PartitionColumns: snap.PartitionColumns(), Configuration: map[string]string{}}
	for key, text := range snap.Metadata().Configuration {
		if strings.HasPrefix(key, constraintPrefix) {
			m.Configuration[key] = text
		}
	}
	return m
}

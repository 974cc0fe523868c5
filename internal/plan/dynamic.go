package plan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
)

// tuples is a set of partitions: of values of all partition columns, by type, NULL being equal to
// NULL.
type tuples struct {
	split *partitioner
	ids   map[string]bool
}

func newTuples(snap *delta.Snapshot) *tuples {
	return &tuples{split: newPartitioner(snap), ids: map[string]bool{}}
}

// note adds the partitions of rows.
func (t *tuples) note(batch arrow.RecordBatch) error {
	groups, err := t.split.split(batch)
	for _, g := range groups {
		t.ids[g.id] = true
	}
	return err
}

// has says whether a file is of one of the partitions.
func (t *tuples) has(snap *delta.Snapshot, f *delta.Add) (bool, error) {
	id, err := t.split.of(snap, f)
	return err == nil && t.ids[id], err
}

// of is the id of a file's partition, equal to that of its rows as they are written: other engines
// spell one value in other ways. A value that is none of the column's type is its text.
func (p *partitioner) of(snap *delta.Snapshot, f *delta.Add) (string, error) {
	texts := make([]*string, len(p.fields))
	for i, field := range p.fields {
		text, err := snap.PartitionValue(f, field.Name)
		if err != nil {
			return "", err
		}
		texts[i] = text
		v, err := delta.ParsePartitionValue(field.Type, text)
		if err != nil {
			continue
		}
		if spelt, err := delta.FormatPartitionValue(field.Type, positiveZero(v)); err == nil {
			texts[i] = spelt
		}
	}
	return tupleID(texts), nil
}

// dynamic refuses what a replacement of whole partitions cannot be.
func (p *Replace) dynamic(snap *delta.Snapshot, in *intake) error {
	columns := snap.PartitionColumns()
	switch {
	case p.deletes() || p.Where != nil:
		return fmt.Errorf("%w: a replacement of the partitions of the rows takes rows and no condition", delta.ErrInput)
	case len(columns) == 0:
		return fmt.Errorf("%w: the table has no partition columns, so that there are no partitions to replace; use ReplaceAll for the whole table, or ReplaceWhere", delta.ErrInput)
	}
	for _, name := range in.fill.steady().without {
		if slices.Contains(columns, name) {
			return fmt.Errorf("%w: the partition column %q differs from run to run, so that the rows are never twice of one partition; use ReplaceWhere", delta.ErrInput, name)
		}
	}
	return placed(snap, in.conform.Missing())
}

// placed refuses rows that lack a partition column which the table does not fill: they would all be of the
// partition NULL, and replace it.
func placed(snap *delta.Snapshot, missing []string) error {
	for _, name := range snap.PartitionColumns() {
		if !slices.Contains(missing, name) {
			continue
		}
		_, filled, err := snap.Default(snap.Schema().Index(name))
		if err != nil {
			return err
		}
		if !filled {
			return fmt.Errorf("%w: the rows lack the partition column %q, so that they do not say which partitions to replace: give them the column, with NULL for the partition NULL", delta.ErrInput, name)
		}
	}
	return nil
}

// inPartitions are the files of the partitions of the rows: all of each.
func (p *Replace) inPartitions(snap *delta.Snapshot) (scan.Pruned, error) {
	var out scan.Pruned
	for f := range snap.Files() {
		in, err := p.partitions.has(snap, f)
		switch {
		case err != nil:
			return out, err
		case in:
			out.Inside = append(out.Inside, f)
		default:
			out.Outside++
		}
	}
	return out, nil
}

// readsPartitions: a file that another writer adds to one of the partitions disturbs.
func (p *Replace) readsPartitions(snap *delta.Snapshot, examined []*delta.Add) commit.Reads {
	return commit.Reads{Files: keys(examined), Touches: func(f *delta.Add) bool {
		in, err := p.partitions.has(snap, f)
		return err != nil || in
	}}
}

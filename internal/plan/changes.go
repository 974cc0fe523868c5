package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// feedsChanges says whether the table has a change data feed: commits that copy rows tell it what
// changed.
func feedsChanges(snap *delta.Snapshot) bool {
	return snap.Protocol().Supports("changeDataFeed") && isSet(snap, "delta.enableChangeDataFeed")
}

// Changes are the actions of files that a [FileSet] of ChangeRows finished.
func Changes(files []*delta.Add) []delta.Action {
	out := make([]delta.Action, len(files))
	for i, f := range files {
		out[i] = delta.Action{CDC: &delta.CDC{Path: f.Path, PartitionValues: f.PartitionValues, Size: f.Size}}
	}
	return out
}

// toldAs are rows of the table with what became of all of them, as a set of ChangeRows takes them.
// The caller releases the result.
func toldAs(mem memory.Allocator, batch arrow.RecordBatch, schema *arrow.Schema, change string) arrow.RecordBatch {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	n := int(batch.NumRows())
	b.Reserve(n)
	b.ReserveData(n * len(change))
	for range n {
		b.Append(change)
	}
	column := b.NewArray()
	defer column.Release()
	return array.NewRecordBatch(schema, append(slices.Clone(batch.Columns()), column), batch.NumRows())
}

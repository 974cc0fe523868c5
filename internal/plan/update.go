package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// Update sets columns of the rows for which Where is TRUE. Rows that would be as they are count for
// nothing and are left where they are. It is the merge of a source without rows, whose one clause is
// for rows that no source row matches: so it reads, writes and gives way as merges do. Close ends its
// use.
type Update struct {
	Env *Env

	// Where says which rows. nil is every row.
	Where expr.Expr

	// Set gives columns, or fields of structs, values computed of the row as it was. What it sets
	// must be what it is after a second call too: SET n = n + 1 wraps [delta.ErrInput] unless Once
	// says that something else keeps the call from being repeated.
	Set  []MergeAssignment
	Once bool

	Counts Counts

	merge *Merge
}

// Plan finds the rows that change, and proposes their new versions; no action if none changes.
func (p *Update) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	if err := p.begin(snap); err != nil {
		return nil, err
	}
	proposal, err := p.merge.Plan(ctx, snap)
	p.Counts = p.merge.Counts
	p.Counts.UpdatedBySource = 0 // all of them, and there is no source
	if err != nil || proposal == nil {
		return nil, err
	}
	proposal.Operation, proposal.Parameters, proposal.Metrics = "UPDATE", p.parameters(), p.metrics(proposal.Metrics)
	return proposal, nil
}

// begin makes the merge, the first time.
func (p *Update) begin(snap *delta.Snapshot) error {
	if p.merge != nil {
		return nil
	}
	key, err := p.check(snap)
	if err != nil {
		return err
	}
	none, err := array.NewRecordReader(arrow.NewSchema([]arrow.Field{key}, nil), nil)
	if err != nil {
		return err
	}
	nothing := []MergeClause{{Do: MergeNothing}}
	p.merge = &Merge{Env: p.Env, Input: Input{Reader: none}, Request: MergeRequest{
		On: []string{expr.Field(key.Name).String()}, Matched: nothing, NotMatched: nothing,
		BySource: []MergeClause{{When: p.Where, Set: p.Set, called: "Update"}}, AllowEmpty: true, Once: p.Once, keyless: true,
	}}
	return nil
}

// Fits says, without reading a row, whether the call goes with a table.
func (p *Update) Fits(snap *delta.Snapshot) error {
	_, err := p.check(snap)
	return err
}

// check gives the column that stands for a key.
func (p *Update) check(snap *delta.Snapshot) (arrow.Field, error) {
	if err := mutable(snap, "Update"); err != nil {
		return arrow.Field{}, err
	}
	if len(p.Set) == 0 {
		return arrow.Field{}, fmt.Errorf("%w: Update sets no column; name at least one and give it a value", delta.ErrInput)
	}
	var read []string
	if p.Where != nil {
		where, err := pred.Bind(p.Where, snap.ArrowSchema())
		if err != nil {
			return arrow.Field{}, err
		}
		read = where.ColumnNames()
	}
	return p.key(snap.ArrowSchema(), read)
}

// key is a column that stands for a key, better one that is read anyway: with no row in the source it
// decides nothing.
func (p *Update) key(table *arrow.Schema, read []string) (arrow.Field, error) {
	best, found := -1, arrow.Field{}
	for _, f := range table.Fields() {
		if comparable("", f) != nil {
			continue
		}
		rank := 0
		if slices.Contains(read, f.Name) {
			rank = 1
		}
		if rank > best {
			best, found = rank, f
		}
	}
	if best < 0 {
		return found, fmt.Errorf("%w: the table has no column of a type with an order, by which rows could be named in an update", delta.ErrUnsupported)
	}
	return found, nil
}

// Close removes what was spilled, and the files that were written if no commit was proposed.
func (p *Update) Close() error {
	if p.merge == nil {
		return nil
	}
	return p.merge.Close()
}

func (p *Update) parameters() map[string]any {
	if p.Where == nil {
		return map[string]any{}
	}
	return map[string]any{"predicate": jsonText([]string{p.Where.String()})}
}

// metrics are those of the merge, by the names that updates have.
func (p *Update) metrics(of map[string]string) map[string]string {
	out := map[string]string{}
	for name, merge := range map[string]string{
		"numUpdatedRows": "numTargetRowsUpdated", "numCopiedRows": "numTargetRowsCopied",
		"numAddedFiles": "numTargetFilesAdded", "numRemovedFiles": "numTargetFilesRemoved", "numAddedBytes": "numTargetBytesAdded",
		"numDeletionVectorsAdded": "numTargetDeletionVectorsAdded", "numDeletionVectorsUpdated": "numTargetDeletionVectorsUpdated",
		"numDeletionVectorsRemoved": "numTargetDeletionVectorsRemoved",
	} {
		if n, ok := of[merge]; ok {
			out[name] = n
		}
	}
	return out
}

package conformance

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
)

// RowTrackingLine is what is claimed of the rows of a version together with their ids.
type RowTrackingLine struct {
	Version int64           `json:"version"`
	Hash    string          `json:"rows_sha256"`
	Rows    json.RawMessage `json:"rows"`
}

// corpusNames are the names under which a corpus has the columns of row tracking.
var corpusNames = map[string]string{delta.RowIDColumn: "_row_id", delta.RowCommitVersionColumn: "_row_commit_version"}

// rowTracking compares rows and their ids.
func (c *check) rowTracking(ctx context.Context) {
	for _, want := range c.line.RowTracking {
		snap, err := c.log.LoadAt(ctx, want.Version)
		if err == nil {
			err = c.rowIDs(ctx, snap, want)
		}
		c.excuse(err, "the row ids of version %d", want.Version)
	}
}

func (c *check) rowIDs(ctx context.Context, snap *delta.Snapshot, want RowTrackingLine) error {
	var canonical [][]byte
	var sum multiset
	batches := scan.Rows(ctx, c.table(snap), scan.Request{RowIDs: true})
	err := eachRow(inCorpusNames(batches), func(row []byte) {
		sum.add(row)
		canonical = append(canonical, slices.Clone(row))
	})
	if err != nil {
		return err
	}
	if got := Hash(canonical); want.Hash != "" && got != want.Hash {
		c.fault("version %d: the rows with their ids hash to %s, not %s; the first is %s", want.Version, got, want.Hash, firstOf(canonical))
	}
	if len(want.Rows) > 0 {
		c.compareData(ctx, snap, sum, want.Rows)
	}
	return nil
}

func inCorpusNames(batches scan.Batches) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if err == nil {
				batch, err = renamed(batch)
			}
			if !yield(batch, err) || err != nil {
				return
			}
			batch.Release()
		}
	}
}

func renamed(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields := slices.Clone(batch.Schema().Fields())
	for i, f := range fields {
		if name, ok := corpusNames[f.Name]; ok {
			fields[i].Name = name
		}
	}
	return rows.Rename(batch, arrow.NewSchema(fields, nil))
}

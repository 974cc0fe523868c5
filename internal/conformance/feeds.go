package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
)

// feeds compares the change data feed.
func (c *check) feeds(ctx context.Context) {
	if len(c.line.Feeds)+len(c.line.FeedRanges.Ok)+len(c.line.FeedRanges.Refuse) == 0 {
		return
	}
	t, err := idem.OpenStore(ctx, c.store, idem.Options{Parallelism: 1})
	if err != nil {
		c.fault("open the table for its feed: %v", err)
		return
	}
	for i := range c.line.Feeds {
		c.feed(ctx, t, &c.line.Feeds[i])
	}
	for _, r := range c.line.FeedRanges.Ok { // files need not be there
		if err := drain(changed(ctx, t, r[0], &r[1])); errors.Is(err, idem.ErrInput) {
			c.fault("the changes of versions %d to %d must be read: %v", r[0], r[1], err)
		}
	}
	for _, r := range c.line.FeedRanges.Refuse {
		if err := drain(changed(ctx, t, r[0], &r[1])); !errors.Is(err, idem.ErrInput) {
			c.fault("the changes of versions %d to %d must be refused; the error is %v", r[0], r[1], err)
		}
	}
}

func changed(ctx context.Context, t *idem.Table, from int64, to *int64) iter.Seq2[arrow.RecordBatch, error] {
	r := changes.Request{From: changes.Version(from)}
	if to != nil {
		r.To = changes.Version(*to)
	}
	return changes.Rows(ctx, t, r)
}

func drain(batches iter.Seq2[arrow.RecordBatch, error]) error {
	for _, err := range batches {
		if err != nil {
			return err
		}
	}
	return nil
}

// feed holds one range against its claims.
func (c *check) feed(ctx context.Context, t *idem.Table, want *FeedLine) {
	var got feedRows
	for batch, err := range changed(ctx, t, want.Start, want.End) {
		if err == nil {
			err = got.add(batch)
		}
		switch {
		case err == nil:
		case want.Own != nil && !*want.Own && errors.Is(err, idem.ErrCorrupt):
			c.note("the changes from version %d on, of which the corpus is not sure: %v", want.Start, err)
			return
		default:
			c.excuse(err, "the changes from version %d on", want.Start)
			return
		}
	}
	what := fmt.Sprintf("the changes from version %d on", want.Start)
	if want.Count != nil && int64(len(got.rows)) != *want.Count {
		c.fault("%s are %d rows, not %d", what, len(got.rows), *want.Count)
	}
	if want.ByType != nil && !maps.Equal(got.byType, want.ByType) {
		c.fault("%s are %v, not %v", what, got.byType, want.ByType)
	}
	if want.ByVersion != nil && !maps.Equal(got.byVersion, want.ByVersion) {
		c.fault("%s are by version %v, not %v", what, got.byVersion, want.ByVersion)
	}
	if hash := Hash(got.rows); want.Hash != "" && hash != want.Hash {
		c.fault("%s hash to %s, not %s; the first is %s", what, hash, want.Hash, firstOf(got.rows))
	}
	if err := got.same(want.Rows); err != nil {
		c.fault("%s: %v", what, err)
	}
}

// feedRows are the changes that were read: canonical rows with their kind and version behind them.
type feedRows struct {
	rows              [][]byte
	byType, byVersion map[string]int64
}

func (f *feedRows) add(batch arrow.RecordBatch) error {
	if f.byType == nil {
		f.byType, f.byVersion = map[string]int64{}, map[string]int64{}
	}
	n := int(batch.NumCols()) - 1 // the time is no claim
	shown := array.NewRecordBatch(arrow.NewSchema(batch.Schema().Fields()[:n], nil), batch.Columns()[:n], batch.NumRows())
	defer shown.Release()
	kinds, versions := batch.Column(n-2).(*array.String), batch.Column(n-1).(*array.Int64)
	for i := range int(batch.NumRows()) {
		row, err := AppendRow(nil, shown, i)
		if err != nil {
			return err
		}
		f.rows = append(f.rows, row)
		f.byType[kinds.Value(i)]++
		f.byVersion[strconv.FormatInt(versions.Value(i), 10)]++
	}
	return nil
}

// same compares with rows that are given as JSON.
func (f *feedRows) same(data json.RawMessage) error {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	var got, want [][]byte
	for _, text := range list {
		row, err := canonicalJSON(text)
		if err != nil {
			return err
		}
		want = append(want, row)
	}
	for _, text := range f.rows {
		row, err := canonicalJSON(text)
		if err != nil {
			return err
		}
		got = append(got, row)
	}
	slices.SortFunc(got, bytes.Compare)
	slices.SortFunc(want, bytes.Compare)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		return fmt.Errorf("the rows differ: %d are read, %d expected", len(got), len(want))
	}
	return nil
}

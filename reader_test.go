package idem_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
	"github.com/idemtable/idem/records"
)

// takers are the calls that write the rows given.
var takers = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error)
}{
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rows, tagged)
	}},
	{"Append", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Append(ctx, rows, idem.Append{Reason: "test"})
	}},
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "id > 0", AllowEmpty: true})
	}},
	{"ReplaceAll", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rows, idem.ReplaceAll{AllowEmpty: true, Txn: tagged})
	}},
	{"Merge", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Txn: tagged})
	}},
	{"OverwritePartitions", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return maintain.OverwritePartitions(ctx, t, rows, maintain.Overwrite{Txn: tagged})
	}},
	{"DedupeRows", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		one, _, err := idem.DedupeRows(ctx, rows, idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}})
		if err != nil {
			return nil, err
		}
		defer one.Release()
		return t.AppendWithTxn(ctx, one, tagged)
	}},
}

// TestRowsThatWereReadAreNotTakenForNone: a caller that tries again with the same reader, as
// SafeToRunAgain says it may, loses no row: what can be read again is, and what cannot is refused.
func TestRowsThatWereReadAreNotTakenForNone(t *testing.T) {
	for _, v := range takers {
		interrupted := func(t *testing.T, rows array.RecordReader) *fixture {
			f := newFixture(t)
			f.store.Reset(storetest.Rule{Op: storetest.OpCreate, Fault: storetest.Fault{Kind: storetest.Denied}})
			_, err := v.run(t.Context(), f.table, rows)
			require.ErrorIs(t, err, idem.ErrInterrupted)
			require.True(t, idem.SafeToRunAgain(err))
			f.store.Reset()
			return f
		}
		t.Run(v.name+"/rows that can be read again", func(t *testing.T) {
			rows := again(r1, r2, r3)
			f := interrupted(t, rows)
			res, err := v.run(t.Context(), f.other(), rows)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.Len(t, f.rows(), 3, "with another handle too")
		})
		t.Run(v.name+"/rows that cannot", func(t *testing.T) {
			rows := rowsOf(r1, r2, r3)
			f := interrupted(t, rows)
			_, err := v.run(t.Context(), f.other(), rows)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "make the reader anew")
			classified(t, err)
			require.Empty(t, f.rows())
			require.EqualValues(t, 0, f.other().Version(), "and no tag says that they were written")
			runtime.KeepAlive(rows)
		})
	}
}

// lists is a reader of arrow-go for each way in which one can be begun, in batches of one row.
var lists = map[string]func(t *testing.T, list []order) array.RecordReader{
	"batches of arrow-go": func(t *testing.T, list []order) array.RecordReader {
		var batches []arrow.RecordBatch
		for _, o := range list {
			batches = append(batches, batchOf([]order{o}))
		}
		r, err := array.NewRecordReader(orders, batches)
		require.NoError(t, err)
		return r
	},
	"a table of arrow-go": func(t *testing.T, list []order) array.RecordReader {
		return array.NewTableReader(array.NewTableFromRecords(orders, []arrow.RecordBatch{batchOf(list)}), 1)
	},
	"JSON of arrow-go": func(t *testing.T, list []order) array.RecordReader {
		return array.NewJSONReader(strings.NewReader(jsonOf(list)), orders)
	},
	"a sequence of arrow-go": func(t *testing.T, list []order) array.RecordReader {
		return array.ReaderFromIter(orders, oneByOne(list))
	},
	"a stream of JSON": func(t *testing.T, list []order) array.RecordReader {
		r, err := records.JSONLinesFrom(orders, strings.NewReader(jsonOf(list)), records.JSONOptions{BatchRows: 1})
		require.NoError(t, err)
		return r
	},
	"files of JSON": func(t *testing.T, list []order) array.RecordReader {
		files := fstest.MapFS{"a.jsonl": &fstest.MapFile{Data: []byte(jsonOf(list))}}
		r, err := records.JSONLines(orders, records.Files{FS: files, Names: []string{"a.jsonl"}}, records.JSONOptions{BatchRows: 1})
		require.NoError(t, err)
		return r
	},
	"rows that can be read again": func(t *testing.T, list []order) array.RecordReader {
		return &rewound{RecordReader: array.ReaderFromIter(orders, oneByOne(list)), list: list}
	},
	"rows kept by a dedupe": func(t *testing.T, list []order) array.RecordReader {
		r, _, err := idem.DedupeRows(t.Context(), rowsOf(list...), idem.Dedupe{On: []string{"id"}})
		require.NoError(t, err)
		return r
	},
	"a batch shown before Next": func(t *testing.T, list []order) array.RecordReader {
		return &shown{one: batchOf(list)}
	},
	"a list that panics before Next": func(t *testing.T, list []order) array.RecordReader {
		return &indexed{list: list}
	},
}

// oneByOne gives every row as a batch.
func oneByOne(list []order) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, o := range list {
			if !yield(batchOf([]order{o}), nil) {
				return
			}
		}
	}
}

func jsonOf(list []order) string {
	var b strings.Builder
	for _, o := range list {
		fmt.Fprintf(&b, "{\"day\":%q,\"id\":%d,\"seq\":%d,\"v\":%q}\n", o.day, o.id, o.seq, o.v)
	}
	return b.String()
}

// shown has its one batch at hand all the time.
type shown struct {
	one  arrow.RecordBatch
	done bool
}

func (r *shown) Retain()                        {}
func (r *shown) Release()                       {}
func (r *shown) Schema() *arrow.Schema          { return orders }
func (r *shown) RecordBatch() arrow.RecordBatch { return r.one }
func (r *shown) Record() arrow.RecordBatch      { return r.one }
func (r *shown) Err() error                     { return nil }

func (r *shown) Next() bool {
	more := !r.done
	r.done = true
	return more
}

// indexed looks for its batch where there is none before Next.
type indexed struct {
	list []order
	at   int
}

func (r *indexed) Retain()                        {}
func (r *indexed) Release()                       {}
func (r *indexed) Schema() *arrow.Schema          { return orders }
func (r *indexed) RecordBatch() arrow.RecordBatch { return batchOf(r.list[r.at-1 : r.at]) }
func (r *indexed) Record() arrow.RecordBatch      { return r.RecordBatch() }
func (r *indexed) Err() error                     { return nil }

func (r *indexed) Next() bool {
	r.at++
	return r.at <= len(r.list)
}

// TestRowsThatTheCallerBeganAreNotTakenForAll: of a reader that was begun, or read to its end, before it
// was given to a call all rows are written or none, and no tag says that some were. A reader that was not is
// taken.
func TestRowsThatTheCallerBeganAreNotTakenForAll(t *testing.T) {
	list := []order{r1, r2, r3}
	atEnd := map[string]bool{"JSON of arrow-go": true, "a sequence of arrow-go": true, "a list that panics before Next": true} // cannot be told from none
	for name, open := range lists {
		for _, v := range takers {
			for _, read := range []int{0, 1, len(list) + 1} {
				if read > len(list) && atEnd[name] {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d read", name, v.name, read), func(t *testing.T) {
					f := newFixture(t)
					_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 7, 1, "there"}), idem.Append{Reason: "test"})
					require.NoError(t, err)
					rows := open(t, list)
					defer rows.Release()
					for range read {
						rows.Next()
					}
					res, err := v.run(t.Context(), f.table, rows)
					if _, again := rows.(idem.Rewinder); again || read == 0 {
						require.NoError(t, err)
						require.Equal(t, idem.Committed, res.Outcome)
						require.Subset(t, f.rows(), scannedOf(list))
						return
					}
					require.ErrorIs(t, err, idem.ErrInput)
					require.ErrorContains(t, err, "begun to be read before the call")
					classified(t, err)
					require.Equal(t, []string{"d1/7/1/there"}, f.rows())
					require.EqualValues(t, 1, f.other().Version(), "and no tag says that they were written")
				})
			}
		}
	}
}

func scannedOf(list []order) (out []string) {
	for _, o := range list {
		out = append(out, fmt.Sprintf("%s/%d/%d/%s", o.day, o.id, o.seq, o.v))
	}
	return out
}

// noBatch says that it has a batch and gives none.
type noBatch struct {
	array.RecordReader
	none arrow.RecordBatch
}

func (r noBatch) Next() bool                     { return true }
func (r noBatch) RecordBatch() arrow.RecordBatch { return r.none }

// noSchema has no schema, and may say why.
type noSchema struct {
	array.RecordReader
	err error
}

func (r noSchema) Schema() *arrow.Schema { return nil }
func (r noSchema) Err() error            { return r.err }

// pointed is a batch behind a pointer, which may be nil.
type pointed struct{ arrow.RecordBatch }

// TestReadersThatAreNone: no call panics, and each says what is wrong.
func TestReadersThatAreNone(t *testing.T) {
	var none *rewound
	for _, c := range []struct {
		name string
		rows func() array.RecordReader
		want error
		says string
	}{
		{"nil", func() array.RecordReader { return nil }, idem.ErrInput, "the rows are nil"},
		{"a nil pointer", func() array.RecordReader { return none }, idem.ErrInput, "the rows are nil"},
		{"no schema", func() array.RecordReader { return noSchema{rowsOf(r1), nil} }, idem.ErrInput, "the rows have no schema"},
		{"a schema that cannot be read", func() array.RecordReader { return noSchema{rowsOf(r1), errBroken} }, idem.ErrInterrupted, errBroken.Error()},
		{"released", func() array.RecordReader {
			r := array.ReaderFromIter(orders, func(func(arrow.RecordBatch, error) bool) {})
			r.Release()
			return r
		}, idem.ErrInput, "was the reader released"},
		{"no batch", func() array.RecordReader { return noBatch{rowsOf(r1), nil} }, idem.ErrInput, "its RecordBatch is nil"},
		{"a nil pointer to a batch", func() array.RecordReader { return noBatch{rowsOf(r1), (*pointed)(nil)} }, idem.ErrInput, "its RecordBatch is nil"},
	} {
		for _, v := range takers {
			t.Run(c.name+"/"+v.name, func(t *testing.T) {
				f := newFixture(t)
				_, err := v.run(t.Context(), f.table, c.rows())
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, c.says)
				classified(t, err)
				require.EqualValues(t, 0, f.other().Version())
				require.Zero(t, f.dataFiles())
			})
		}
	}
}

package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// typed is a reader of one batch of any schema.
func typed(fields []arrow.Field, fill func(*array.RecordBuilder)) array.RecordReader {
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b)
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return r
}

// failing is a reader that breaks half-way.
type failing struct {
	array.RecordReader
	left int
}

var errBroken = errors.New("the connection to the source broke")

func (f *failing) Next() bool {
	f.left--
	return f.left >= 0 && f.RecordReader.Next()
}

func (f *failing) Err() error { return errBroken }

// TestBadRowsAreRefusedAndNothingChanges holds, for each way to hold a verb wrong, the sentinel and
// what the text must tell.
func TestBadRowsAreRefusedAndNothingChanges(t *testing.T) {
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, t *idem.Table) error
		says []string
	}{
		{"rows outside the slice", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(order{"d1", 1, 1, "a"}, order{"d2", 2, 1, "b"}, order{"d3", 3, 1, "c"}), idem.ReplaceWhere{Where: "day = 'd1'"})
			return err
		}, []string{"2 of 3 rows", "row 2", `day="d2"`}},
		{"a NULL in the slice's column is outside", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(order{"d1", 1, -1, "a"}), idem.ReplaceWhere{Where: "seq < 5"})
			return err
		}, []string{"1 of 1 rows", "seq=NULL"}},
		{"NULL key", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(order{"d1", 1, -1, "a"}), idem.Merge{On: []string{"id", "seq"}, Unguarded: true})
			return err
		}, []string{"seq", "1"}},
		{"NULL in a column that orders", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(order{"d1", 1, -1, "a"}), byID)
			return err
		}, []string{"seq"}},
		{"ties that differ", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 1, 1, "b"}), byID)
			return err
		}, []string{"id=1"}},
		{"two rows of a key without an order", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 1, 2, "b"}), idem.Merge{On: []string{"id"}, Unguarded: true})
			return err
		}, []string{"id=1"}},
		{"duplicate keys in the table", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(order{"d1", 50, 9, "z"}), byID)
			return err
		}, []string{"id=50", "Duplicates", "AllowTargetDuplicates"}},
		{"NullKeys that are none", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(), idem.Merge{On: []string{"id"}, Unguarded: true, NullKeys: 7})
			return err
		}, []string{"Merge.NullKeys is 7"}},
		{"NullKeys of a dedupe that are none", func(ctx context.Context, t *idem.Table) error {
			_, _, err := idem.DedupeRows(ctx, rowsOf(), idem.Dedupe{On: []string{"id"}, NullKeys: -1})
			return err
		}, []string{"Dedupe.NullKeys is -1"}},
		{"arguments of a condition that is not there", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(), idem.Merge{On: []string{"id"}, Unguarded: true, DeleteArgs: []any{1}})
			return err
		}, []string{"DeleteWhen is empty, and there are 1 arguments for it"}},
		{"arguments of a slice that is not there", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(), idem.ReplaceWhere{Args: []any{1, 2}})
			return err
		}, []string{"Where is empty, and there are 2 arguments for it"}},
		{"neither Newer nor Unguarded", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(), idem.Merge{On: []string{"id"}})
			return err
		}, []string{"Newer", "Unguarded"}},
		{"a key column that is not there", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Merge(ctx, rowsOf(), idem.Merge{On: []string{"nosuch"}, Unguarded: true})
			return err
		}, []string{"nosuch"}},
		{"unknown column", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("idd", arrow.PrimitiveTypes.Int64)}, func(*array.RecordBuilder) {}), idem.Append{Reason: "test"})
			return err
		}, []string{"idd"}},
		{"two columns that differ only by case", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("ID", arrow.PrimitiveTypes.Int64)}, func(*array.RecordBuilder) {}), idem.Append{Reason: "test"})
			return err
		}, []string{"ID"}},
		{"a column of another type", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.BinaryTypes.String)}, func(*array.RecordBuilder) {}), idem.Append{Reason: "test"})
			return err
		}, []string{"id", "utf8"}},
		{"decimal overflow", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("price", &arrow.Decimal128Type{Precision: 20, Scale: 2})}, func(b *array.RecordBuilder) {
				b.Field(0).(*array.Int64Builder).Append(1)
				b.Field(1).(*array.Decimal128Builder).Append(decimal128.FromI64(123_456_789))
			}), idem.Append{Reason: "test"})
			return err
		}, []string{"price", "1234567.89"}},
		{"nanoseconds that would be cut", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("at", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})}, func(b *array.RecordBuilder) {
				b.Field(0).(*array.Int64Builder).Append(1)
				b.Field(1).(*array.TimestampBuilder).Append(1_001)
			}), idem.Append{Reason: "test"})
			return err
		}, []string{"at"}},
		{"NULL in NOT NULL", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64)}, func(b *array.RecordBuilder) {
				b.Field(0).AppendNull()
			}), idem.Append{Reason: "test"})
			return err
		}, []string{"id"}},
		{"a column that must be there", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, typed([]arrow.Field{field("v", arrow.BinaryTypes.String)}, func(b *array.RecordBuilder) {
				b.Field(0).(*array.StringBuilder).Append("x")
			}), idem.Append{Reason: "test"})
			return err
		}, []string{"id", "NOT NULL"}},
		{"a constraint broken", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, rowsOf(order{"d1", 1, 1_000_000, "a"}), idem.Append{Reason: "test"})
			return err
		}, []string{"small", "seq=1000000"}},
		{"a constraint that is NULL is broken", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Append(ctx, rowsOf(order{"d1", 1, -1, "a"}), idem.Append{Reason: "test"})
			return err
		}, []string{"small"}},
		{"empty replacement", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(), idem.ReplaceWhere{Where: "day = 'd1'"})
			return err
		}, []string{"AllowEmpty"}},
		{"half a tag, no app", func(ctx context.Context, t *idem.Table) error {
			_, err := t.AppendWithTxn(ctx, rowsOf(), idem.Txn{Version: 3})
			return err
		}, []string{"AppID"}},
		{"half a tag, in a merge", func(ctx context.Context, t *idem.Table) error {
			m := byID
			m.Txn = idem.Txn{Version: 3}
			_, err := t.Merge(ctx, rowsOf(), m)
			return err
		}, []string{"AppID"}},
		{"a negative version", func(ctx context.Context, t *idem.Table) error {
			_, err := t.AppendWithTxn(ctx, rowsOf(), idem.Txn{AppID: "a", Version: -1})
			return err
		}, []string{"-1"}},
		{"a name of our own", func(ctx context.Context, t *idem.Table) error {
			_, err := t.AppendWithTxn(ctx, rowsOf(), idem.Txn{AppID: "idem/v1/at/x", Version: 1})
			return err
		}, []string{"idem/v1/"}},
		{"a condition that is not boolean", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "id"})
			return err
		}, []string{"TRUE or FALSE", "id"}},
		{"a condition that is not deterministic", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "id < rand()"})
			return err
		}, []string{"rand"}},
		{"a condition that is misspelt", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "id <> AND 3"})
			return err
		}, []string{"AND"}},
		{"a column in the condition that is not there", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "nosuch = 3"})
			return err
		}, []string{"nosuch"}},
		{"a condition without a column", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(order{"d1", 1, 1, "a"}), idem.ReplaceWhere{Where: "true"})
			return err
		}, []string{"ReplaceAll"}},
		{"an empty condition", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(), idem.ReplaceWhere{})
			return err
		}, []string{"ReplaceAll"}},
		{"an argument too many", func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "id = ?", Args: []any{1, 2}})
			return err
		}, nil},
		{"a new slice that is suspiciously small", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(order{"d1", 1, 1, "a"}), idem.ReplaceWhere{Where: "id >= 1", MaxShrink: 0.5})
			return err
		}, []string{"MaxShrink", "partial"}},
		{"a new table that is suspiciously small", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceAll(ctx, rowsOf(order{"d1", 1, 1, "a"}), idem.ReplaceAll{MaxShrink: 0.5})
			return err
		}, []string{"MaxShrink", "partial"}},
		{"a fraction of a slice that is no number", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(order{"d1", 1, 1, "a"}), idem.ReplaceWhere{Where: "id >= 1", MaxShrink: math.NaN()})
			return err
		}, []string{"MaxShrink is NaN"}},
		{"a fraction of the table that is no number", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceAll(ctx, rowsOf(order{"d1", 1, 1, "a"}), idem.ReplaceAll{MaxShrink: math.NaN()})
			return err
		}, []string{"MaxShrink is NaN"}},
		{"no rows for a slice, under a tag", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceWhere(ctx, rowsOf(), idem.ReplaceWhere{Where: "id >= 1", Txn: tagged})
			return err
		}, []string{"AllowEmpty"}},
		{"no rows for the table, under a tag", func(ctx context.Context, t *idem.Table) error {
			_, err := t.ReplaceAll(ctx, rowsOf(), idem.ReplaceAll{Txn: tagged})
			return err
		}, []string{"AllowEmpty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem, table := strict(t)
			before := scanned(t, table)
			err := c.run(t.Context(), table)
			require.ErrorIs(t, err, idem.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			classified(t, err)
			require.False(t, idem.SafeToRunAgain(err))
			require.EqualValues(t, 1, opened(t, mem).Version(), "no version is made")
			require.Equal(t, before, scanned(t, opened(t, mem)))
			checkLog(t, mem)
		})
	}
}

// strict is a table with every kind of rule, and one key that it holds twice.
func strict(t *testing.T) (*store.Mem, *idem.Table) {
	mem := store.NewMem()
	fields := append(orders.Fields(), arrow.Field{Name: "price", Type: &arrow.Decimal128Type{Precision: 8, Scale: 2}, Nullable: true},
		arrow.Field{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true})
	fields[1].Nullable = false
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{
		Schema: arrow.NewSchema(fields, nil), PartitionBy: []string{"day"}, Constraints: map[string]string{"small": "seq < 1000"},
	}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), rowsOf(order{"d1", 50, 1, "a"}, order{"d2", 50, 2, "b"}, order{"d1", 51, 2, "c"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	return mem, table
}

func TestAReaderThatFailsHalfWayLeavesNothing(t *testing.T) {
	mem, table := strict(t)
	f := &fixture{t: t, mem: mem}
	files := f.dataFiles()
	broken := func() array.RecordReader {
		r, err := array.NewRecordReader(orders, []arrow.RecordBatch{batchOf([]order{{"d1", 1, 1, "a"}}), batchOf([]order{{"d1", 2, 1, "b"}})})
		require.NoError(t, err)
		return &failing{RecordReader: r, left: 1}
	}
	for name, run := range map[string]func() (*idem.Result, error){
		"Append":        func() (*idem.Result, error) { return table.Append(t.Context(), broken(), idem.Append{Reason: "test"}) },
		"AppendWithTxn": func() (*idem.Result, error) { return table.AppendWithTxn(t.Context(), broken(), tagged) },
		"ReplaceAll":    func() (*idem.Result, error) { return table.ReplaceAll(t.Context(), broken(), idem.ReplaceAll{}) },
		"Merge": func() (*idem.Result, error) {
			return table.Merge(t.Context(), broken(), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		},
	} {
		_, err := run()
		require.ErrorIs(t, err, errBroken, name)
		require.ErrorIs(t, err, idem.ErrInterrupted, name)
		classified(t, err)
		require.EqualValues(t, 1, opened(t, mem).Version(), name)
		require.Equal(t, files, f.dataFiles(), "%s: what was written is removed", name)
	}
}

// halfBad is a reader that hands out the batch in which it failed, as Arrow's CSV reader does.
type halfBad struct{ array.RecordReader }

func (halfBad) Err() error { return errBroken }

func TestABatchInWhichItsReaderFailedIsNotLookedAt(t *testing.T) {
	mem, table := strict(t)
	_, err := table.Append(t.Context(), halfBad{rowsOf(order{"d1", 1, -1, "breaks the constraint"})}, idem.Append{Reason: "test"})
	require.ErrorIs(t, err, errBroken, "the cause, and not what follows from it")
	require.EqualValues(t, 1, opened(t, mem).Version())
}

func TestNestedColumnsAreNoKeys(t *testing.T) {
	nested := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: nested}, idem.Options{})
	require.NoError(t, err)
	none := func() array.RecordReader { return typed(nested.Fields(), func(*array.RecordBuilder) {}) }
	for name, run := range map[string]func() error{
		"Merge.On": func() error {
			_, err := table.Merge(t.Context(), none(), idem.Merge{On: []string{"tags"}, Unguarded: true})
			return err
		},
		"Merge.Newer": func() error {
			_, err := table.Merge(t.Context(), none(), idem.Merge{On: []string{"id"}, Newer: []string{"tags"}})
			return err
		},
		"Duplicates": func() error {
			_, err := table.Duplicates(t.Context(), idem.Duplicates{On: []string{"tags"}})
			return err
		},
		"Fingerprint": func() error {
			_, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"tags"}})
			return err
		},
		"DedupeRows": func() error {
			_, _, err := idem.DedupeRows(t.Context(), none(), idem.Dedupe{On: []string{"tags"}})
			return err
		},
	} {
		err := run()
		require.ErrorIs(t, err, idem.ErrInput, name)
		require.ErrorContains(t, err, "tags", name)
	}
}

func TestTablesThatAreNone(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		_, err := idem.Open(t.Context(), t.TempDir()+"/nothing", idem.Options{})
		require.ErrorIs(t, err, idem.ErrNotTable)
	})
	t.Run("half created: a log directory without a commit", func(t *testing.T) {
		mem := store.NewMem()
		require.NoError(t, mem.Put(t.Context(), delta.LogDir+".tmp", []byte("x")))
		_, err := idem.OpenStore(t.Context(), mem, idem.Options{})
		require.ErrorIs(t, err, idem.ErrNotTable)
		_, res, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{})
		require.NoError(t, err, "and Create finishes it")
		require.Equal(t, idem.Committed, res.Outcome)
	})
	t.Run("a URL that nobody opens, without its secrets", func(t *testing.T) {
		_, err := idem.Open(t.Context(), "s3://user:secret@bucket/x?X-Amz-Signature=secret", idem.Options{})
		require.ErrorIs(t, err, idem.ErrInput)
		require.NotContains(t, err.Error(), "secret")
	})
}

// TestDamagedLogs holds what a broken or newer log gives: the sentinel, and words that name it.
func TestDamagedLogs(t *testing.T) {
	replace := func(t *testing.T, mem *store.Mem, version int64, old, now string) {
		data, err := mem.Get(t.Context(), delta.CommitKey(version), 0)
		require.NoError(t, err)
		require.Contains(t, string(data), old)
		require.NoError(t, mem.Put(t.Context(), delta.CommitKey(version), []byte(strings.Replace(string(data), old, now, 1))))
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, mem *store.Mem)
		want   error
		says   string
	}{
		{"a gap", func(t *testing.T, mem *store.Mem) { require.NoError(t, mem.Delete(t.Context(), delta.CommitKey(1))) }, idem.ErrCorrupt, "1"},
		{"a torn line", func(t *testing.T, mem *store.Mem) {
			data, err := mem.Get(t.Context(), delta.CommitKey(2), 0)
			require.NoError(t, err)
			require.NoError(t, mem.Put(t.Context(), delta.CommitKey(2), data[:len(data)-9]))
		}, idem.ErrCorrupt, "00000000000000000002.json"},
		{"a path that leaves the root", func(t *testing.T, mem *store.Mem) {
			replace(t, mem, 2, `"path":"day=d1/`, `"path":"../../etc/`)
		}, idem.ErrCorrupt, "etc"},
		{"a path that leaves the root, encoded", func(t *testing.T, mem *store.Mem) {
			replace(t, mem, 2, `"path":"day=d1/`, `"path":"%2e%2e/etc/`)
		}, idem.ErrCorrupt, "etc"},
		{"a path elsewhere", func(t *testing.T, mem *store.Mem) {
			replace(t, mem, 2, `"add":{"path":"day=d1/`, `"add":{"path":"s3://other/`)
		}, idem.ErrUnsupported, "s3://other/"},
		{"a newer reader version", func(t *testing.T, mem *store.Mem) {
			replace(t, mem, 0, `"minReaderVersion":1`, `"minReaderVersion":9`)
		}, idem.ErrUnsupported, "9"},
		{"a feature that nobody knows", func(t *testing.T, mem *store.Mem) {
			replace(t, mem, 0, `"minReaderVersion":1,"minWriterVersion":2`, `"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["telepathy"],"writerFeatures":["telepathy"]`)
		}, idem.ErrUnsupported, "telepathy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := threeVersions(t)
			c.damage(t, mem)
			_, err := idem.OpenStore(t.Context(), mem, idem.Options{Clock: &patient{}})
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
	t.Run("a writer feature that idem lacks is read and not written", func(t *testing.T) {
		mem := threeVersions(t)
		replace(t, mem, 0, `"minWriterVersion":2`, `"minWriterVersion":7,"writerFeatures":["collations","domainMetadata"]`)
		table := opened(t, mem)
		require.Len(t, scanned(t, table), 3)
		_, err := table.Delete(t.Context(), idem.Delete{Where: "id = 1"})
		require.ErrorIs(t, err, idem.ErrUnsupported)
		require.ErrorContains(t, err, "collations")
	})
	t.Run("strangers' files in the log are ignored", func(t *testing.T) {
		mem := threeVersions(t)
		for _, name := range []string{"1.json", "00000000000000000009.json.tmp", "._00000000000000000003.json", ".00000000000000000002.json.crc", "_commits/x", "00000000000000000003.checkpoint.parquet.tmp"} {
			require.NoError(t, mem.Put(t.Context(), delta.LogDir+name, []byte("junk")))
		}
		require.NoError(t, mem.Put(t.Context(), delta.LastCheckpointKey, []byte("{torn")))
		table := opened(t, mem)
		require.EqualValues(t, 2, table.Version())
		require.Len(t, scanned(t, table), 3)
	})
}

// TestDamagedDataFiles holds that a bad file is an error that names it, for reads and for writes
// that must read it.
func TestDamagedDataFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(mem *store.Mem, key string, data []byte) error
	}{
		{"missing", func(mem *store.Mem, key string, _ []byte) error { return mem.Delete(context.Background(), key) }},
		{"short", func(mem *store.Mem, key string, data []byte) error {
			return mem.Put(context.Background(), key, data[:len(data)/2])
		}},
		{"swapped", func(mem *store.Mem, key string, data []byte) error {
			return mem.Put(context.Background(), key, []byte(strings.Repeat("x", len(data))))
		}},
		{"empty", func(mem *store.Mem, key string, _ []byte) error { return mem.Put(context.Background(), key, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := threeVersions(t)
			table := opened(t, mem)
			var key string
			for f := range table.Snapshot().Files() {
				key = f.Key
				break
			}
			data, err := mem.Get(t.Context(), key, 0)
			require.NoError(t, err)
			require.NoError(t, c.damage(mem, key, data))
			var failed error
			for _, err := range table.Scan(t.Context(), idem.Scan{}) {
				failed = err
			}
			require.ErrorIs(t, failed, idem.ErrCorrupt)
			require.ErrorContains(t, failed, key)
			_, err = table.Delete(t.Context(), idem.Delete{Where: "v = 'a'"})
			require.ErrorIs(t, err, idem.ErrCorrupt, "a write never steps over a file that it must read")
			require.EqualValues(t, 2, opened(t, mem).Version())
		})
	}
}

func threeVersions(t *testing.T) *store.Mem {
	mem, _, table := swept(t)
	_, err := table.ReplaceWhere(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "z"}), idem.ReplaceWhere{Where: "day = 'd1'"})
	require.NoError(t, err)
	return mem
}

func TestDiskFullAtEveryWriteLeavesTheTableAsItWas(t *testing.T) {
	for _, v := range verbs {
		for _, op := range []storetest.Op{storetest.OpCreate, storetest.OpWrite, storetest.OpClose, storetest.OpPutIfAbsent} {
			t.Run(v.name+"/"+string(op), func(t *testing.T) {
				mem, st, table := swept(t)
				st.Reset(storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.DiskFull}})
				_, err := v.run(t.Context(), table)
				require.Error(t, err)
				require.EqualValues(t, 1, opened(t, mem).Version())
				require.Len(t, scanned(t, opened(t, mem)), 3)
			})
		}
	}
}

func TestViewsOfOlderVersions(t *testing.T) {
	mem := store.NewMemClock((&ticking{now: time.Unix(1_700_000_000, 0)}).next)
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{})
	require.NoError(t, err)
	for i := range int64(12) { // over a checkpoint
		_, err := table.Append(t.Context(), rowsOf(order{"d1", i, i, "x"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	for v := range int64(13) {
		old, err := table.At(t.Context(), v)
		require.NoError(t, err)
		require.Len(t, scanned(t, old), int(v))
		_, err = old.Append(t.Context(), rowsOf(order{"d1", 1, 1, "x"}), idem.Append{Reason: "test"})
		require.ErrorIs(t, err, idem.ErrInput, "a view is read-only")
		writes := tries(t, t.Context(), old, idem.Txn{AppID: "a", Version: 1}, "")
		writes["RewindTxn"] = func() error { _, err := old.RewindTxn(t.Context(), "a", -1); return err }
		for name, verb := range writes {
			err := verb()
			require.ErrorIs(t, err, idem.ErrInput, name)
			require.ErrorContains(t, err, fmt.Sprintf("this is a view of version %d", v), name)
		}
	}
	_, err = table.At(t.Context(), 13)
	require.ErrorIs(t, err, idem.ErrInput)
	var commits []idem.Commit
	for c, err := range table.History(t.Context()) {
		require.NoError(t, err)
		commits = append(commits, c)
	}
	require.Len(t, commits, 13)
	for i, c := range commits {
		require.EqualValues(t, 12-i, c.Version, "newest first")
		old, err := table.AtTime(t.Context(), c.Timestamp)
		require.NoError(t, err)
		require.Equal(t, c.Version, old.Version())
	}
	_, err = table.AtTime(t.Context(), commits[12].Timestamp.Add(-time.Hour))
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = table.AtTime(t.Context(), commits[0].Timestamp.Add(time.Hour))
	require.ErrorIs(t, err, idem.ErrInput)
	checkLog(t, mem)
}

// ticking is a clock that goes on by a second each time that it is read.
type ticking struct{ now time.Time }

func (c *ticking) next() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

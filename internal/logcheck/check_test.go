package logcheck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	. "github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/parquetio"
)

func TestACleanTableKeepsEveryRule(t *testing.T) {
	b := clean(t)
	b.write(t)
	report, err := Check(t.Context(), b.store)
	require.NoError(t, err)
	require.NoError(t, report.Err())
	require.Equal(t, &Report{Version: 3, Files: 3, Rows: 6}, report)
}

// twin is the clean table with one rule broken: in its actions, or in what was written.
type twin struct {
	rule    Rule
	why     string
	actions func(*testing.T, *table)
	written func(*testing.T, *table)
}

func replaceStats(old, new string) func(*testing.T, *table) {
	return func(t *testing.T, b *table) {
		require.Contains(t, b.last().Stats, old)
		b.last().Stats = strings.Replace(b.last().Stats, old, new, 1)
	}
}

// dropCheckpoint removes checkpoint and hint.
func dropCheckpoint(t *testing.T, b *table) {
	require.NoError(t, b.store.Delete(t.Context(), delta.CheckpointKey(2), delta.LastCheckpointKey))
}

var logTwins = []twin{
	{LogName, "a version with too few digits", nil, func(t *testing.T, b *table) {
		b.put(t, "_delta_log/4.json", nil)
	}},
	{LogName, "a copy by hand", nil, func(t *testing.T, b *table) {
		b.put(t, "_delta_log/00000000000000000003.json.bak", nil)
	}},
	{LogGap, "a commit is gone and no checkpoint stands in", nil, func(t *testing.T, b *table) {
		dropCheckpoint(t, b)
		require.NoError(t, b.store.Delete(t.Context(), delta.CommitKey(1)))
	}},
	{LogHint, "bytes that are no hint", nil, func(t *testing.T, b *table) {
		b.put(t, delta.LastCheckpointKey, []byte("{"))
	}},
	{LogHint, "a hint to nowhere", nil, func(t *testing.T, b *table) {
		b.put(t, delta.LastCheckpointKey, delta.LastCheckpoint{Version: 3, Size: 1}.Encode())
	}},
	{LogChecksum, "of another table", nil, func(t *testing.T, b *table) {
		b.put(t, delta.ChecksumKey(3), []byte(`{"numFiles":77}`))
	}},
	{LogChecksum, "bytes that are none", nil, func(t *testing.T, b *table) {
		b.put(t, delta.ChecksumKey(3), []byte(`{`))
	}},
	{CommitDecode, "a torn line", nil, func(t *testing.T, b *table) {
		data := b.get(t, delta.CommitKey(3))
		b.put(t, delta.CommitKey(3), data[:len(data)-20])
	}},
	{CommitInfo, "it comes last", nil, func(t *testing.T, b *table) {
		first, rest, _ := bytes.Cut(b.get(t, delta.CommitKey(3)), []byte("\n"))
		b.put(t, delta.CommitKey(3), append(append(rest, first...), '\n'))
	}},
	{CommitInfo, "there is none", func(_ *testing.T, b *table) { b.commits[3] = b.commits[3][1:] }, nil},
	{CommitForm, "its last line is not ended", nil, func(t *testing.T, b *table) {
		b.put(t, delta.CommitKey(3), bytes.TrimSuffix(b.get(t, delta.CommitKey(3)), []byte("\n")))
	}},
	{CommitForm, "what only checkpoints have", nil, func(t *testing.T, b *table) {
		b.put(t, delta.CommitKey(3), append(b.get(t, delta.CommitKey(3)), `{"sidecar":{"path":"a","sizeInBytes":1,"modificationTime":1}}`+"\n"...))
	}},
	{SchemaPartition, "a list", func(_ *testing.T, b *table) {
		other := *b.commits[0][2].Metadata
		other.PartitionColumns = []string{"tags"}
		b.commits = append(b.commits, []delta.Action{b.info("TEST", "t4"), {Metadata: &other}})
	}, nil},
	{FeedMissing, "a row on both sides", func(_ *testing.T, b *table) {
		b.commits[0][2].Metadata.Configuration["delta.enableChangeDataFeed"] = "true"
		b.commits[0][1].Protocol.MinWriterVersion = 4
		b.commits[2][0].CommitInfo.Operation = "DELETE"
	}, nil},
	{DataKept, "a row less", func(_ *testing.T, b *table) {
		b.commits[2][1].Remove.DataChange, b.commits[2][2].Add.DataChange = false, false
	}, nil},
	{ProtocolLists, "a list where none belongs", func(_ *testing.T, b *table) {
		b.commits[0][1].Protocol.WriterFeatures = []string{"appendOnly"}
	}, dropCheckpoint},
	{ProtocolLists, "no list", func(_ *testing.T, b *table) { b.commits[0][1].Protocol.MinWriterVersion = 7 }, nil},
	{ProtocolLowered, "a lower version", func(_ *testing.T, b *table) {
		b.commits[3] = append(b.commits[3], delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}})
	}, nil},
	{FeatureUsed, "row ids", func(_ *testing.T, b *table) {
		first := int64(0)
		b.last().BaseRowID, b.last().CommitVersion = &first, &first
	}, nil},
	{FeatureUsed, "a domain", func(_ *testing.T, b *table) {
		b.commits[3] = append(b.commits[3], delta.Action{Domain: &delta.DomainMetadata{Domain: "mine", Configuration: "{}"}})
	}, nil},
	{TxnRecords, "a negative version", func(_ *testing.T, b *table) { b.commits[1][3].Txn.Version = -5 }, nil},
	{TxnRecords, "a tag moved below -1", func(_ *testing.T, b *table) {
		b.commits[1][0].CommitInfo.Operation, b.commits[1][3].Txn.Version = "REWIND TXN", -2
	}, nil},
	{TxnRecords, "a record of nothing", func(_ *testing.T, b *table) {
		at := int64(now)
		b.commits[3] = append(b.commits[3], delta.Action{Txn: &delta.Txn{AppID: "idem/v1/undone/nobody", Version: 1, LastUpdated: &at}})
	}, nil},
	{CommitTxnID, "one write at two versions", func(_ *testing.T, b *table) { b.commits[3][0].CommitInfo.TxnID = "t1" }, nil},
	{CommitTxnID, "none in a commit of idem", func(_ *testing.T, b *table) { b.commits[3][0].CommitInfo.TxnID = "" }, nil},
	{CommitZero, "no protocol", func(_ *testing.T, b *table) { b.commits[0] = slices.Delete(b.commits[0], 1, 2) }, nil},
	{CommitUnique, "a txn twice", nil, func(t *testing.T, b *table) {
		data := b.get(t, delta.CommitKey(1))
		lines := bytes.SplitAfter(data, []byte("\n"))
		b.put(t, delta.CommitKey(1), append(data, lines[3]...))
	}},
	{CommitReplay, "a schema that is none", func(_ *testing.T, b *table) {
		broken := *b.commits[0][2].Metadata
		broken.SchemaString = "{"
		b.commits[3] = append(b.commits[3], delta.Action{Metadata: &broken})
	}, nil},
	{CommitReplay, "one path spelled in two ways in one commit", func(_ *testing.T, b *table) {
		again := *b.last()
		again.Path = strings.Replace(again.Path, "d.parquet", "%64.parquet", 1)
		b.commits[3] = append(b.commits[3], delta.Action{Add: &again})
	}, nil},
	{CommitTableID, "another table", func(_ *testing.T, b *table) {
		other := *b.commits[0][2].Metadata
		other.ID = "99999999-2222-3333-4444-555555555555"
		b.commits[3] = append(b.commits[3], delta.Action{Metadata: &other})
	}, nil},
	{CommitAppend, "a remove where none may be", func(_ *testing.T, b *table) {
		b.commits[0][2].Metadata.Configuration["delta.appendOnly"] = "true"
	}, nil},
	{TxnUpdated, "a txn without time", func(_ *testing.T, b *table) { b.commits[1][3].Txn.LastUpdated = nil }, nil},
	{CheckpointEqual, "the state of the version before", nil, func(t *testing.T, b *table) {
		b.putCheckpoint(t, b.snapshot(t, 1), 2)
	}},
	{CheckpointEqual, "a property more", nil, func(t *testing.T, b *table) {
		other := *b.commits[0][2].Metadata
		other.Configuration = map[string]string{"a": "b"}
		b.commits[0][2].Metadata = &other
		b.putCheckpoint(t, b.snapshot(t, 2), 2)
	}},
	{CheckpointEqual, "other statistics", nil, func(t *testing.T, b *table) {
		b.commits[1][2].Add.Stats = strings.Replace(b.commits[1][2].Add.Stats, `"numRecords":2`, `"numRecords":4`, 1)
		b.putCheckpoint(t, b.snapshot(t, 2), 2)
	}},
	{CheckpointEqual, "a txn further on", nil, func(t *testing.T, b *table) {
		b.commits[1][3].Txn.Version = 9
		b.putCheckpoint(t, b.snapshot(t, 2), 2)
	}},
	{CheckpointEqual, "a tombstone forgotten too early", nil, func(t *testing.T, b *table) {
		b.taken = b.taken.Add(1000 * time.Hour)
		b.putCheckpoint(t, b.snapshot(t, 2), 2)
	}},
	{LogHint, "another number of files", nil, func(t *testing.T, b *table) {
		b.put(t, delta.LastCheckpointKey, delta.LastCheckpoint{Version: 2, Size: 1, NumOfAddFiles: 77}.Encode())
	}},
	{CheckpointForm, "of V2 where that is not supported", nil, func(t *testing.T, b *table) {
		b.putJSON(t, slices.Collect(b.snapshot(t, 2).CheckpointActions(b.taken)), `{"checkpointMetadata":{"version":2}}`)
	}},
	{CheckpointForm, "with some file actions in a sidecar", func(_ *testing.T, b *table) {
		*b.commits[0][1].Protocol = delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"v2Checkpoint"},
			WriterFeatures: []string{"checkConstraints", "v2Checkpoint"}}
	}, func(t *testing.T, b *table) {
		var inline, aside []delta.Action
		for a := range b.snapshot(t, 2).CheckpointActions(b.taken) {
			if a.Add != nil {
				aside = append(aside, a)
			} else {
				inline = append(inline, a)
			}
		}
		var buf bytes.Buffer
		_, _, err := parquetio.Parquet{}.WriteCheckpoint(&buf, slices.Values(aside), parquetio.CheckpointLayout{Content: parquetio.CheckpointSidecar})
		require.NoError(t, err)
		b.put(t, delta.SidecarDir+"a.parquet", buf.Bytes())
		b.putJSON(t, inline, `{"checkpointMetadata":{"version":2}}`, fmt.Sprintf(`{"sidecar":{"path":"a.parquet","sizeInBytes":%d,"modificationTime":1}}`, buf.Len()))
	}},
	{CheckpointEqual, "a sidecar is missing", nil, func(t *testing.T, b *table) {
		b.putJSON(t, slices.Collect(b.snapshot(t, 2).CheckpointActions(b.taken)), `{"checkpointMetadata":{"version":2}}`,
			`{"sidecar":{"path":"a.parquet","sizeInBytes":1,"modificationTime":1}}`)
	}},
	{CheckpointForm, "without a checkpointMetadata", nil, func(t *testing.T, b *table) {
		b.putJSON(t, slices.Collect(b.snapshot(t, 2).CheckpointActions(b.taken)))
	}},
	{CheckpointTyped, "of another type", nil, func(t *testing.T, b *table) {
		snap := b.snapshot(t, 2)
		other := *b.commits[0][2].Metadata
		other.SchemaString = strings.Replace(other.SchemaString, `"day","type":"date"`, `"day","type":"string"`, 1)
		b.commits[0][2].Metadata = &other
		b.putCheckpointAs(t, snap, 2, parquetio.CheckpointLayout{Typed: b.snapshot(t, 2).TypedColumns()})
	}},
	{CheckpointEqual, "no Parquet", nil, func(t *testing.T, b *table) {
		b.put(t, delta.CheckpointKey(2), []byte("PAR1"))
	}},
}

var fileTwins = []twin{
	{AddPartitions, "no value", func(_ *testing.T, b *table) { b.last().PartitionValues = map[string]*string{} }, nil},
	{AddPartitions, "a value too many", func(_ *testing.T, b *table) { b.last().PartitionValues["k"] = nil }, nil},
	{AddValue, "no date", func(_ *testing.T, b *table) {
		text := "yesterday"
		b.last().PartitionValues["day"] = &text
	}, nil},
	{AddValue, "an empty string in place of NULL", func(_ *testing.T, b *table) {
		b.last().PartitionValues["day"] = new(string)
	}, nil},
	{AddAgain, "a lost answer, committed again", func(_ *testing.T, b *table) {
		b.commits[3] = append(b.commits[3], b.commits[1][2])
	}, nil},
	{RemoveLive, "a file that never was", func(_ *testing.T, b *table) {
		never := removeOf(b.commits[3][1])
		never.Remove.Path = "never.parquet"
		b.commits[3] = append(b.commits[3], never)
	}, nil},
	{RemoveLive, "a file removed before", func(_ *testing.T, b *table) {
		b.commits[3] = append(b.commits[3], b.commits[2][1])
	}, nil},
	{RemoveMetadata, "without extended metadata", func(_ *testing.T, b *table) { b.commits[2][1].Remove.ExtendedMetadata = false }, nil},
	{RemoveMetadata, "of another size", func(_ *testing.T, b *table) { *b.commits[2][1].Remove.Size++ }, nil},
	{RemoveMetadata, "without a time", func(_ *testing.T, b *table) { b.commits[2][1].Remove.DeletionTimestamp = nil }, nil},
	{FileMissing, "deleted", nil, func(t *testing.T, b *table) {
		require.NoError(t, b.store.Delete(t.Context(), "day=2013-01-02/d.parquet"))
	}},
	{FileSize, "another in the log", func(_ *testing.T, b *table) { b.last().Size++ }, nil},
	{FileUnreadable, "other bytes", nil, func(t *testing.T, b *table) {
		b.put(t, "day=2013-01-02/d.parquet", make([]byte, b.last().Size))
	}},
	{StatsRows, "one too many", replaceStats(`"numRecords":2`, `"numRecords":3`), nil},
	{StatsRows, "none", func(_ *testing.T, b *table) { b.last().Stats = "" }, nil},
	{StatsBounds, "a least value that is not", replaceStats(`"minValues":{"id":8`, `"minValues":{"id":9`), nil},
	{StatsBounds, "a greatest value that is not", replaceStats(`"maxValues":{"id":9`, `"maxValues":{"id":8`), nil},
	{StatsBounds, "bounds that contradict each other", replaceStats(`"minValues":{"id":8`, `"minValues":{"id":80`), nil},
	{StatsBounds, "in a struct", replaceStats(`"s":{"x":2`, `"s":{"x":3`), nil},
	{StatsNulls, "one too few", replaceStats(`"name":1`, `"name":0`), nil},
	{StatsNulls, "more than rows", replaceStats(`"name":1`, `"name":7`), nil},
	{StatsTight, "a least value that none has", replaceStats(`"minValues":{"id":8`, `"minValues":{"id":7`), nil},
	{StatsTight, "a greatest value that none has", replaceStats(`"maxValues":{"id":9`, `"maxValues":{"id":10`), nil},
	{StatsColumns, "more than the table wants", func(_ *testing.T, b *table) {
		b.commits[0][2].Metadata.Configuration["delta.dataSkippingNumIndexedCols"] = "1"
	}, nil},
	{StatsColumns, "others than the table wants", func(_ *testing.T, b *table) {
		b.commits[0][2].Metadata.Configuration["delta.dataSkippingStatsColumns"] = "id, `name`"
	}, nil},
	{StatsColumns, "no bound", replaceStats(`"minValues":{"id":8,`, `"minValues":{`), nil},
	{StatsLength, "longer texts than the table wants", func(_ *testing.T, b *table) {
		b.commits[0][2].Metadata.Configuration["delta.dataSkippingStringPrefixLength"] = "1"
	}, nil},
	{AddEmpty, "of no rows", func(t *testing.T, b *table) { b.commits[3][1] = b.file(t, "day=2013-01-02/e.parquet", "2013-01-02") }, nil},
	{FileName, "hidden", func(t *testing.T, b *table) {
		b.commits[3][1] = b.file(t, "_e.parquet", "2013-01-02", row{id(1), 1})
	}, nil},
	{FileName, "that of a file of vectors", func(t *testing.T, b *table) {
		b.commits[3][1] = b.file(t, "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", "2013-01-02", row{id(1), 1})
	}, nil},
	{RowConstraint, "a row that does not satisfy an invariant", func(_ *testing.T, b *table) {
		old := `{"name":"id","type":"long","nullable":false,"metadata":{}}`
		m := b.commits[0][2].Metadata
		m.SchemaString = strings.Replace(m.SchemaString, old, `{"name":"id","type":"long","nullable":false,"metadata":{"delta.invariants":"{\"expression\":{\"expression\":\"id <> 8\"}}"}}`, 1)
	}, nil},
	{TagFingerprint, "that of other rows", func(_ *testing.T, b *table) { b.last().Tags = b.commits[2][2].Add.Tags }, nil},
	{TagFingerprint, "no number of rows", func(_ *testing.T, b *table) {
		b.last().Tags["idem.fingerprint"] = strings.Replace(b.last().Tags["idem.fingerprint"], "idem1:2:", "idem1:x:", 1)
	}, nil},
	{RowNull, "in a column that must have a value", func(t *testing.T, b *table) {
		b.commits[3][1] = b.file(t, "day=2013-01-02/e.parquet", "2013-01-02", row{nil, 1}, row{id(2), 2})
	}, nil},
	{RowConstraint, "a row that does not satisfy one", func(t *testing.T, b *table) {
		b.commits[3][1] = b.file(t, "day=2013-01-02/e.parquet", "2013-01-02", row{id(1), -1}, row{id(2), 2})
	}, nil},
}

func TestEachBrokenRuleIsCaughtByThatRule(t *testing.T) {
	for _, c := range slices.Concat(logTwins, fileTwins) {
		t.Run(string(c.rule)+"/"+c.why, func(t *testing.T) {
			b := clean(t)
			if c.actions != nil {
				c.actions(t, b)
			}
			b.write(t)
			if c.written != nil {
				c.written(t, b)
			}
			report, err := Check(t.Context(), b.store)
			require.NoError(t, err)
			require.NotEmpty(t, report.Findings)
			for _, f := range report.Findings {
				require.Equal(t, c.rule, f.Rule, "%s", f)
				require.NotEmpty(t, f.File)
				require.NotEmpty(t, f.Detail)
			}
			require.ErrorIs(t, report.Err(), delta.ErrCorrupt)
			require.ErrorContains(t, report.Err(), Rules()[c.rule])
		})
	}
}

func TestEveryRuleHasABrokenTwin(t *testing.T) {
	covered := map[Rule]bool{RowVariant: true} // in a test of its own
	for _, c := range slices.Concat(logTwins, fileTwins) {
		covered[c.rule] = true
	}
	for _, c := range slices.Concat(protocolTwins, rowTwins, dropTwins) {
		covered[c.rule] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(Rules())), slices.Sorted(maps.Keys(covered)))
	require.GreaterOrEqual(t, len(logTwins)+len(fileTwins)+len(protocolTwins)+len(rowTwins), 60)
}

func TestWhatOthersMayDo(t *testing.T) {
	for _, c := range []struct {
		why     string
		actions func(*testing.T, *table)
		written func(*testing.T, *table)
	}{
		{"another engine leaves out what only idem promises", func(_ *testing.T, b *table) {
			b.commits[3][0].CommitInfo.EngineInfo, b.commits[3][0].CommitInfo.TxnID = "Apache-Spark/4.1.0", ""
			b.commits[3] = append(b.commits[3], b.commits[1][2], delta.Action{Txn: &delta.Txn{AppID: "spark", Version: 1}})
			b.last().Stats, b.last().Tags = "", nil
			b.commits[2][0].CommitInfo.EngineInfo = "Apache-Spark/4.1.0"
			b.commits[2][1].Remove.ExtendedMetadata = false
		}, nil},
		{"a tag for another vector than the file's is no claim", func(_ *testing.T, b *table) {
			b.last().Tags = map[string]string{"idem.fingerprint": "idem1:9:00000000000000000000000000000000:uabc@1"}
		}, nil},
		{"a tag of a later format is no claim", func(_ *testing.T, b *table) {
			b.last().Tags = map[string]string{"idem.fingerprint": "idem2:9"}
		}, nil},
		{"names that every engine ignores", nil, func(t *testing.T, b *table) {
			for _, name := range []string{".00000000000000000003.json.crc", "_last_vacuum_info", "_staged_commits/x.json", store.TempName("7")} {
				b.put(t, delta.LogDir+name, []byte("x"))
			}
		}},
		{"a log that was cleaned up to a checkpoint", nil, func(t *testing.T, b *table) {
			require.NoError(t, b.store.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1)))
		}},
		{"and to the checkpoint's own commit", nil, func(t *testing.T, b *table) {
			require.NoError(t, b.store.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2)))
		}},
		{"part of a checkpoint that is not complete", nil, func(t *testing.T, b *table) {
			b.put(t, delta.CheckpointPartKey(3, 1, 2), []byte("x"))
		}},
		{"no checkpoint", nil, dropCheckpoint},
		{"a checkpoint without statistics, as the table wants it", func(_ *testing.T, b *table) {
			b.commits[0][2].Metadata.Configuration["delta.checkpoint.writeStatsAsJson"] = "false"
		}, func(t *testing.T, b *table) {
			for _, a := range []*delta.Add{b.commits[1][2].Add, b.commits[2][2].Add} {
				a.Stats = ""
			}
			b.putCheckpoint(t, b.snapshot(t, 2), 2)
		}},
		{"a checkpoint without a tombstone that has expired", func(_ *testing.T, b *table) {
			old := int64(now - 1000*3600*1000)
			b.commits[2][1].Remove.DeletionTimestamp = &old
		}, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := clean(t)
			if c.actions != nil {
				c.actions(t, b)
			}
			b.write(t)
			if c.written != nil {
				c.written(t, b)
			}
			report, err := Check(t.Context(), b.store)
			require.NoError(t, err)
			require.NoError(t, report.Err())
			require.Equal(t, int64(3), report.Version)
		})
	}
}

func TestWhatKeepsItFromLooking(t *testing.T) {
	_, err := Check(t.Context(), store.NewMem())
	require.ErrorIs(t, err, delta.ErrNotTable)

	b := clean(t)
	b.commits[0][1].Protocol = &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"farFuture"}, WriterFeatures: []string{"farFuture"}}
	b.write(t)
	_, err = Check(t.Context(), b.store)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorContains(t, err, "farFuture")

	b = clean(t)
	b.write(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Check(ctx, b.store)
	require.ErrorIs(t, err, context.Canceled)

	failed := 0
	for i := range 40 { // the i-th answer of the store is lost: an error, or it was not asked so often
		s := &failing{Mem: b.store, left: i}
		report, err := Check(t.Context(), s)
		if s.left >= 0 {
			require.NoError(t, err)
			require.NoError(t, report.Err())
			continue
		}
		failed++
		require.ErrorIs(t, err, errLost, "a store that does not answer is no finding")
	}
	require.Greater(t, failed, 8, "commits, hint, checkpoint and files are read")
	require.Less(t, failed, 40, "every read was lost once")
}

// marked is a store that lists its directories too, as some do that have none.
type marked struct{ *store.Mem }

func (m marked) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if !yield(store.Info{Key: prefix}, nil) {
			return
		}
		m.Mem.List(ctx, prefix, after)(yield)
	}
}

func TestADirectoryThatIsListedIsNoFinding(t *testing.T) {
	b := clean(t)
	b.write(t)
	report, err := Check(t.Context(), marked{b.store})
	require.NoError(t, err)
	require.NoError(t, report.Err())
}

var errLost = errors.New("no answer")

// failing fails the reading of objects after some.
type failing struct {
	*store.Mem
	left int
}

func (f *failing) fail() bool {
	f.left--
	return f.left == -1
}

func (f *failing) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if f.fail() {
		return nil, errLost
	}
	return f.Mem.Get(ctx, key, limit)
}

func (f *failing) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	if f.fail() {
		return errLost
	}
	return f.Mem.GetRange(ctx, key, off, p)
}

func (f *failing) Head(ctx context.Context, key string) (store.Info, error) {
	if f.fail() {
		return store.Info{}, errLost
	}
	return f.Mem.Head(ctx, key)
}

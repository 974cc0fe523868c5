package delta_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

// summed is a table with one of everything that a checksum tells.
func summed(t require.TestingT) *delta.Snapshot {
	at, expired := int64(1700), int64(1)
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{CommitInfo: &delta.CommitInfo{TxnID: "T", InCommitTimestamp: &at}},
		{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"}, WriterFeatures: []string{"deletionVectors", "domainMetadata"}}},
		{Metadata: &delta.Metadata{ID: "id", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`, Configuration: map[string]string{"a": "b"}}},
		{Txn: &delta.Txn{AppID: "app", Version: 7, LastUpdated: &expired}},
		{Domain: &delta.DomainMetadata{Domain: "x", Configuration: "{}"}},
		{Add: &delta.Add{Path: "a", Size: 10}},
		{Add: &delta.Add{Path: "b", Size: 5, DeletionVector: &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "v", Cardinality: 3}}},
	}))
	s, err := r.Snapshot(0)
	require.NoError(t, err)
	return s
}

func TestChecksumOfASnapshot(t *testing.T) {
	s := summed(t)
	data, err := s.Checksum().Encode()
	require.NoError(t, err)
	require.JSONEq(t, `{"txnId":"T","tableSizeBytes":15,"numFiles":2,"numDeletedRecordsOpt":3,"numDeletionVectorsOpt":1,"numMetadata":1,"numProtocol":1,
		"inCommitTimestampOpt":1700,"setTransactions":[{"appId":"app","version":7,"lastUpdated":1}],
		"domainMetadata":[{"domain":"x","configuration":"{}","removed":false}],
		"metadata":{"id":"id","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{"a":"b"}},
		"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors","domainMetadata"]}}`, string(data))
	read, err := delta.DecodeChecksum("c", data)
	require.NoError(t, err)
	require.Empty(t, read.Differences(s))
}

// What cannot be told exactly is left out.
func TestChecksumLeavesOut(t *testing.T) {
	s := summed(t)
	m := *s.Metadata()
	m.Configuration = map[string]string{"delta.setTransactionRetentionDuration": "interval 1 day"}
	s, err := s.Advance(1, []delta.Action{{Metadata: &m}})
	require.NoError(t, err)
	require.Nil(t, s.Checksum().Txns, "who reads it later cannot tell which ones have expired")
	require.Empty(t, s.Checksum().TxnID)
	require.Nil(t, s.Checksum().InCommitTimestamp)

	var txns, domains []delta.Action
	for i := range 101 {
		txns = append(txns, delta.Action{Txn: &delta.Txn{AppID: fmt.Sprint(i)}})
	}
	for i := range 11 {
		domains = append(domains, delta.Action{Domain: &delta.DomainMetadata{Domain: fmt.Sprint(i)}})
	}
	s, err = summed(t).Advance(1, append(txns, domains...))
	require.NoError(t, err)
	require.Nil(t, s.Checksum().Txns)
	require.Nil(t, s.Checksum().Domains)

	s, err = summed(t).Advance(1, []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}})
	require.NoError(t, err)
	require.Nil(t, s.Checksum().NumDeletionVectors)
}

func TestChecksumDifferences(t *testing.T) {
	s := summed(t)
	for _, c := range []struct{ why, text, says string }{
		{"nothing said", `{}`, ""},
		{"an old writer's file", `{"tableSizeBytes":15,"numFiles":2,"numMetadata":1,"numProtocol":1}`, ""},
		{"lists of files are skipped", `{"numFiles":2,"allFiles":[{"path":"zzz"}],"fileSizeHistogram":{"fileCounts":[9]}}`, ""},
		{"null is absent", `{"numFiles":null,"setTransactions":null,"metadata":null}`, ""},
		{"features in another order", `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["domainMetadata","deletionVectors"]}}`, ""},
		{"size", `{"tableSizeBytes":16}`, "tableSizeBytes is 16 in the checksum and 15 in the log"},
		{"files", `{"numFiles":3}`, "numFiles is 3"},
		{"vectors", `{"numDeletionVectorsOpt":0}`, "numDeletionVectors is 0"},
		{"rows", `{"numDeletedRecordsOpt":0}`, "numDeletedRecords is 0"},
		{"time", `{"inCommitTimestampOpt":1}`, "inCommitTimestamp is 1"},
		{"a txn at another version", `{"setTransactions":[{"appId":"app","version":8}]}`, `txn of "app"`},
		{"no txns", `{"setTransactions":[]}`, `txn of "app"`},
		{"a txn more", `{"setTransactions":[{"appId":"app","version":7},{"appId":"p","version":1}]}`, `no txn of "p"`},
		{"another domain", `{"domainMetadata":[{"domain":"x","configuration":"","removed":false}]}`, `domain "x"`},
		{"a domain more", `{"domainMetadata":[{"domain":"x","configuration":"{}","removed":false},{"domain":"y","configuration":"","removed":false}]}`, `no domain "y"`},
		{"another schema", `{"metadata":{"id":"id","format":{"provider":"parquet"},"schemaString":"","partitionColumns":[],"configuration":{"a":"b"}}}`, "metadata"},
		{"a property", `{"metadata":{"id":"id","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}`, "metadata"},
		{"another protocol", `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`, "protocol"},
	} {
		read, err := delta.DecodeChecksum("c", []byte(c.text))
		require.NoError(t, err, c.why)
		got := read.Differences(s)
		if c.says == "" {
			require.Empty(t, got, c.why)
			continue
		}
		require.Len(t, got, 1, c.why)
		require.Contains(t, got[0], c.says, c.why)
	}
}

func TestChecksumsThatAreNone(t *testing.T) {
	for why, text := range map[string]string{
		"empty": ``, "torn": `{"numFiles":2`, "a list": `[]`, "mistyped": `{"numFiles":"2"}`, "two protocols": `{"numProtocol":2}`,
		"not UTF-8": "{\"txnId\":\"\xff\"}", "twice": `{"numFiles":2,"numFiles":2}`, "a txn without a version": `{"setTransactions":[{"appId":"a"}]}`,
	} {
		_, err := delta.DecodeChecksum("c.crc", []byte(text))
		require.ErrorIs(t, err, delta.ErrCorrupt, why)
		require.ErrorContains(t, err, "c.crc", why)
	}
	_, err := delta.VersionChecksum{}.Encode()
	require.Error(t, err)
}

// Whatever commits do, the totals that a snapshot carries along are those of its files.
func TestTotalsAreThoseOfTheFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := summed(t)
		for v := int64(1); v <= 8; v++ {
			var actions []delta.Action
			for _, path := range []string{"a", "b", "c"} {
				live, isLive := s.Live(path)
				if isLive && rapid.Bool().Draw(t, "remove") {
					actions = append(actions, delta.Action{Remove: &delta.Remove{Path: path, DeletionVector: live.DeletionVector}})
				}
				if rapid.Bool().Draw(t, "add") {
					a := &delta.Add{Path: path, Size: rapid.Int64Range(0, 9).Draw(t, "size")}
					a.DeletionVector = &delta.DeletionVector{StorageType: "u", PathOrInlineDV: fmt.Sprint(path, v), Cardinality: rapid.Int64Range(0, 9).Draw(t, "rows")}
					actions = append(actions, delta.Action{Add: a})
				}
			}
			var err error
			s, err = s.Advance(v, actions)
			require.NoError(t, err)
			var size, vectors, deleted int64
			for f := range s.Files() {
				size += f.Size
				if f.DeletionVector != nil {
					vectors, deleted = vectors+1, deleted+f.DeletionVector.Cardinality
				}
			}
			require.Equal(t, []int64{size, vectors, deleted}, []int64{s.SizeInBytes(), s.NumDeletionVectors(), s.NumDeletedRows()})
		}
	})
}

func FuzzDecodeChecksum(f *testing.F) {
	data, err := summed(f).Checksum().Encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"numFiles":2,"allFiles":[{"path":"zzz"}],"setTransactions":[]}`))
	for _, data := range fuzzing.Seeds(f, 20, 4<<10, func(path string) bool { return delta.ParseLogFile(logName(path)).Kind == delta.Checksum }) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := fuzzing.Read(t, len(data), func() (delta.VersionChecksum, error) { return delta.DecodeChecksum("c", data) })
		if err != nil {
			return
		}
		_ = c.Differences(summed(t))
		again, err := c.Encode()
		if c.TableSizeBytes == nil || c.NumFiles == nil || c.Metadata == nil || c.Protocol == nil {
			require.Error(t, err, "files of older writers lack what the protocol asks for now; they are read, and never written")
			return
		}
		require.NoError(t, err, "what is accepted is written")
		back, err := delta.DecodeChecksum("c", again)
		require.NoError(t, err)
		encoded, err := back.Encode()
		require.NoError(t, err)
		require.Equal(t, string(again), string(encoded))
	})
}

package delta_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func ptr[T any](v T) *T { return &v }

const addLine = `{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true}}`

// fullCommit has every field of every action that a commit may hold.
const fullCommit = `{"commitInfo":{"inCommitTimestamp":5,"timestamp":4,"operation":"MERGE","operationParameters":{"a":["<b>",9007199254740993],"z":"[]"},"readVersion":3,"isolationLevel":"Serializable","isBlindAppend":false,"operationMetrics":{"n":"1"},"engineInfo":"e","txnId":"t","userMetadata":"u","tags":{"k":"v"}}}
{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["appendOnly"]}}
{"metaData":{"id":"i","name":"n","description":"d","format":{"provider":"parquet","options":{"o":"p"}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":["p","q"],"configuration":{"b":"2","c":"<&>"},"createdTime":7}}
{"txn":{"appId":"","version":-1,"lastUpdated":8}}
{"domainMetadata":{"domain":"x","configuration":"{}","removed":true}}
{"add":{"path":"a%20b","partitionValues":{"p":null,"q":""},"size":9223372036854775807,"modificationTime":-1,"dataChange":true,"stats":"{\"numRecords\":1}","tags":{"t":"1"},"deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1,"sizeInBytes":2,"cardinality":3},"baseRowId":4,"defaultRowCommitVersion":5,"clusteringProvider":"liquid"}}
{"remove":{"path":"a%20b","deletionTimestamp":6,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{"p":null,"q":""},"size":9,"stats":"{}","tags":{"t":"1"},"deletionVector":{"storageType":"i","pathOrInlineDv":"y","sizeInBytes":2,"cardinality":3},"baseRowId":4,"defaultRowCommitVersion":5}}
{"cdc":{"path":"_change_data/c","partitionValues":{"p":"1"},"size":3,"dataChange":false,"tags":{"t":"1"}}}
`

func TestEveryFieldSurvives(t *testing.T) {
	actions, err := delta.DecodeCommit("c", []byte(fullCommit))
	require.NoError(t, err)
	require.Len(t, actions, 8)
	add := actions[5].Add
	require.EqualValues(t, 9223372036854775807, add.Size, "64 bits do not pass through a float")
	require.Equal(t, map[string]*string{"p": nil, "q": ptr("")}, add.PartitionValues)
	require.Equal(t, "u"+"x@1", add.DeletionVector.ID())
	require.Equal(t, json.Number("9007199254740993"), actions[0].CommitInfo.OperationParameters["a"].([]any)[1])
	encoded, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.Equal(t, fullCommit, string(encoded), "byte for byte: maps are sorted and nothing is escaped for HTML")
}

func TestDecodeTolerates(t *testing.T) {
	for _, c := range []struct {
		why, text string
		actions   int
	}{
		{"an empty file is a version without actions", "", 0},
		{"blank lines and CR LF", "\r\n" + addLine + "\r\n \n\n", 1},
		{"no newline at the end", addLine, 1},
		{"an unknown action", `{"hologram":{"a":[1,{"b":null}]}}` + "\n" + addLine, 1},
		{"an unknown member beside the action", `{"hologram":1,` + addLine[1:], 1},
		{"null members are absent", `{"remove":null,` + addLine[1:], 1},
		{"unknown fields of any type", strings.Replace(addLine, `"size"`, `"new":[{"x":1e9}],"size"`, 1), 1},
		{"many values side by side are not deep", `{"x":[` + strings.Repeat("[],", 100) + `{}]}` + "\n" + addLine, 1},
		{"null for an optional field", strings.Replace(addLine, `"size"`, `"stats":null,"tags":null,"size"`, 1), 1},
		{"numbers without quotes in tags", strings.Replace(addLine, `"size"`, `"tags":{"a":1,"b":true},"size"`, 1), 1},
		{"what belongs in checkpoints is ignored", `{"sidecar":{"path":"s","sizeInBytes":1,"modificationTime":2}}` + "\n" + addLine, 1},
		{"any type in commitInfo", `{"commitInfo":{"timestamp":"12","operation":7,"operationParameters":[1],"operationMetrics":{"n":{"x":1},"m":2},"isBlindAppend":"no","readVersion":1.5,"txnId":null}}`, 1},
		{"one path with two vectors", addLine + "\n" + `{"remove":{"path":"a","dataChange":true,"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":2,"cardinality":3}}}`, 2},
		{"one metaData and one protocol, each said twice", strings.Repeat(`{"metaData":{"id":"i","format":{"provider":"parquet"},"partitionColumns":[],"schemaString":"{}","configuration":{"a":"b"}}}`+"\n"+`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"]}}`+"\n", 2), 2},
		{"an empty app id and a negative version, as others write", `{"txn":{"appId":"","version":-5}}`, 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			actions, err := delta.DecodeCommit("c", []byte(c.text))
			require.NoError(t, err)
			require.Len(t, actions, c.actions)
		})
	}
}

// What is said beside the work is said as its writer likes: of two values of one key the last counts.
func TestRepeatedKeysInCommitInfo(t *testing.T) {
	actions, err := delta.DecodeCommit("c", []byte(`{"commitInfo":{"operation":"WRITE","timestamp":1,"operationParameters":{"a":"1","a":{"b":1,"b":2}},"operation":"MERGE","timestamp":7,"more":{"x":1,"x":2},"operationMetrics":{"n":"1","n":"2"}}}`))
	require.NoError(t, err)
	info := actions[0].CommitInfo
	require.Equal(t, "MERGE", info.Operation)
	require.EqualValues(t, 7, info.Timestamp)
	require.Equal(t, map[string]any{"a": map[string]any{"b": json.Number("2")}}, info.OperationParameters)
	require.Equal(t, map[string]string{"n": "2"}, info.OperationMetrics)
	actions, err = delta.DecodeCommit("c", []byte(`{"commitInfo":{"operation":"WRITE","operationParameters":{"a":"1"},"operationParameters":"none"}}`))
	require.NoError(t, err)
	require.Nil(t, actions[0].CommitInfo.OperationParameters)
}

func TestDecodeRefuses(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(addLine, old, new, 1) }
	vector := `"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":2,"cardinality":3}`
	meta := `{"metaData":{"id":"i","format":{"provider":"parquet"},"partitionColumns":[]}}`
	for _, c := range []struct{ why, text, says string }{
		{"a torn line is never skipped", addLine + "\n" + addLine[:40], "line 2"},
		{"two actions on one line", `{"txn":{"appId":"a","version":1},` + addLine[1:], "two actions"},
		{"two values on one line", addLine + addLine, "after the end"},
		{"not an object", `[]`, "object expected"},
		{"a missing field", edit(`"size":1,`, ``), "add.size is missing"},
		{"a required null", edit(`"size":1`, `"size":null`), "add.size is missing"},
		{"a long in quotes", edit(`"size":1`, `"size":"1"`), "add.size"},
		{"a fraction", edit(`"size":1`, `"size":1.0`), "not an integer"},
		{"beyond 64 bits", edit(`"size":1`, `"size":9223372036854775808`), "64 bits"},
		{"a negative size", edit(`"size":1`, `"size":-1`), "add.size"},
		{"a leading zero", edit(`"size":1`, `"size":01`), "expected"},
		{"a number for a path", edit(`"a"`, `1`), "add.path"},
		{"an empty path", edit(`"a"`, `""`), "add.path"},
		{"a partition value that is no string", edit(`{}`, `{"p":1}`), "partitionValues"},
		{"a repeated field", edit(`"size":1`, `"size":1,"size":2`), "add.size twice"},
		{"a repeated key of a map", edit(`{}`, `{"p":"1","p":"2"}`), "twice"},
		{"a vector without its cardinality", edit(`"size"`, strings.Replace(vector, `,"cardinality":3`, ``, 1)+`,"size"`), "cardinality is missing"},
		{"invalid UTF-8", edit(`"a"`, "\"\xff\""), "UTF-8"},
		{"a bare control character", edit(`"a"`, "\"\x01\""), "control"},
		{"an unknown escape", edit(`"a"`, `"\x"`), "escape"},
		{"a version beyond 32 bits", `{"protocol":{"minReaderVersion":4294967297,"minWriterVersion":2}}`, "32 bits"},
		{"two adds of a path", addLine + "\n" + addLine, "adds a path twice"},
		{"two adds of a path with different vectors", addLine + "\n" + edit(`"size"`, vector+`,"size"`), "adds a path twice"},
		{"two removes of a path", strings.Repeat(`{"remove":{"path":"a","dataChange":true}}`+"\n", 2), "removes a path twice"},
		{"add and remove of one file", addLine + "\n" + `{"remove":{"path":"a","dataChange":true}}`, "adds and removes"},
		{"two txns of an app id", strings.Repeat(`{"txn":{"appId":"a","version":1}}`+"\n", 2), "two txn"},
		{"two of a domain", strings.Repeat(`{"domainMetadata":{"domain":"d","configuration":"","removed":false}}`+"\n", 2), "two domainMetadata"},
		{"two metaData", meta + "\n" + strings.Replace(meta, `"i"`, `"j"`, 1), "two metaData"},
		{"two protocols", `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + `{"protocol":{"minReaderVersion":1,"minWriterVersion":3}}`, "two protocol"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := delta.DecodeCommit("00000000000000000007.json", []byte(c.text))
			require.ErrorIs(t, err, delta.ErrCorrupt)
			require.NotErrorIs(t, err, delta.ErrUnsupported)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "00000000000000000007.json")
		})
	}
}

func TestDecodeLimits(t *testing.T) {
	for _, c := range []struct{ why, text string }{
		{"depth", `{"x":` + strings.Repeat("[", 66) + strings.Repeat("]", 66) + `}`},
		{"a long line", `{"x":"` + strings.Repeat("x", 16<<20) + `"}`},
	} {
		_, err := delta.DecodeCommit("c", []byte(c.text))
		require.ErrorIs(t, err, delta.ErrUnsupported, "well formed but too large is not corrupt: "+c.why)
		require.NotErrorIs(t, err, delta.ErrCorrupt)
	}
	_, err := delta.DecodeCommit("c", []byte(`{"x":`+strings.Repeat("[", 65)+strings.Repeat("]", 65)+`}`))
	require.NoError(t, err, "a depth of 66 is allowed")
}

func TestDecodeActionsKeepsCheckpointsActions(t *testing.T) {
	removes := `{"remove":{"path":"a","dataChange":true}}` + "\n" +
		`{"remove":{"path":"a","dataChange":true,"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":2,"cardinality":3}}}`
	actions, err := delta.DecodeActions("c", []byte(`{"checkpointMetadata":{"version":4,"tags":{"a":1}}}`+"\n"+
		`{"sidecar":{"path":"s","sizeInBytes":1,"modificationTime":2}}`+"\n"+removes))
	require.NoError(t, err)
	require.Len(t, actions, 4, "a compaction may hold tombstones of one path under several vectors")
	require.EqualValues(t, 4, actions[0].CheckpointMetadata.Version)
	require.Equal(t, "s", actions[1].Sidecar.Path)
}

func TestPartitionValuesAreShared(t *testing.T) {
	text := ""
	for _, path := range []string{"a", "b", "c"} {
		text += `{"add":{"path":"` + path + `","partitionValues":{"p":"1"},"size":1,"modificationTime":2,"dataChange":true}}` + "\n"
	}
	actions, err := delta.DecodeCommit("c", []byte(text))
	require.NoError(t, err)
	actions[0].Add.PartitionValues["mark"] = nil
	require.Contains(t, actions[2].Add.PartitionValues, "mark", "equal partition values are one map")
}

func TestTxnID(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"first line", fullCommit, "t"},
		{"a later line", addLine + "\n" + `{"commitInfo":{"txnId":"x"}}`, "x"},
		{"the word in another action", strings.Replace(addLine, `{}`, `{"commitInfo":"txnId"}`, 1), ""},
		{"none", addLine, ""},
		{"of another type", `{"commitInfo":{"txnId":5}}`, ""},
		{"what follows is torn", `{"commitInfo":{"txnId":"x"}}` + "\n{", "x"},
		{"garbage", `{"commitInfo"`, ""},
		{"nothing", "", ""},
	} {
		require.Equal(t, c.want, delta.TxnID([]byte(c.text)), c.why)
	}
}

// TestInfoOf: it need not come first, and need not be there.
func TestInfoOf(t *testing.T) {
	info := &delta.CommitInfo{Operation: "WRITE"}
	require.Same(t, info, delta.InfoOf([]delta.Action{{Txn: &delta.Txn{AppID: "a"}}, {CommitInfo: info}}))
	require.Nil(t, delta.InfoOf([]delta.Action{{Txn: &delta.Txn{AppID: "a"}}}))
}

func TestEncodeOrdersAndRefuses(t *testing.T) {
	add := delta.Action{Add: &delta.Add{Path: "a"}}
	info := delta.Action{CommitInfo: &delta.CommitInfo{Operation: "WRITE"}}
	protocol := delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}
	data, err := delta.EncodeCommit([]delta.Action{add, {}, protocol, info})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, lines, 3, "the zero action is skipped")
	require.Contains(t, lines[0], "commitInfo")
	require.Contains(t, lines[1], "protocol")
	require.Contains(t, lines[2], `"partitionValues":{}`)

	for why, actions := range map[string][]delta.Action{
		"one path twice":      {add, add},
		"two members":         {{Add: add.Add, CommitInfo: info.CommitInfo}},
		"a sidecar":           {{Sidecar: &delta.Sidecar{Path: "s"}}},
		"an empty path":       {{Add: &delta.Add{}}},
		"a parameter no JSON": {{CommitInfo: &delta.CommitInfo{OperationParameters: map[string]any{"f": func() {}}}}},
	} {
		_, err := delta.EncodeCommit(actions)
		require.ErrorIs(t, err, delta.ErrCorrupt, why)
	}
}

func TestEncodedTextIsJSON(t *testing.T) {
	odd := "quote\" back\\ nl\n cr\r tab\t nul\x00 bell\x07 del\x7f <&> \u2028 é 😀."
	data, err := delta.EncodeCommit([]delta.Action{{Add: &delta.Add{Path: odd}}})
	require.NoError(t, err)
	var line struct{ Add struct{ Path string } }
	require.NoError(t, json.Unmarshal(data, &line))
	require.Equal(t, odd, line.Add.Path)
	_, err = delta.EncodeCommit([]delta.Action{{Add: &delta.Add{Path: "bad\xff."}}})
	require.ErrorIs(t, err, delta.ErrInput, "it would be another text in the log")
}

func FuzzDecodeCommit(f *testing.F) {
	f.Add([]byte(fullCommit))
	f.Add([]byte(addLine + "\r\n\n{}"))
	f.Add([]byte(`{"txn":{"appId":"a","version":1}}`))
	f.Add([]byte(`{"remove":{"path":"a","dataChange":true}}`))
	f.Add([]byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`))
	f.Add([]byte(`{"cdc":{"path":"a","partitionValues":{},"size":0}}`))
	f.Add([]byte(`{"domainMetadata":{"domain":"d","configuration":"","removed":false}}`))
	f.Add([]byte(`{"commitInfo":{"operationParameters":{"a":[null,true,-1.5e+3,"\ud83d\ude00\ud800"]}}}`))
	f.Add([]byte(`{"add":{"path":"a","partitionValues":{"p":"1"},"size":1,"modificationTime":2,"dataChange":true,"tags":{}}}`))
	for _, data := range fuzzing.Seeds(f, 40, 4<<10, isCommit) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		delta.TxnID(data)
		first, err := fuzzing.Read(t, len(data), func() ([]delta.Action, error) { return delta.DecodeCommit("f", data) })
		if err != nil {
			return
		}
		once, err := delta.EncodeCommit(first)
		require.NoError(t, err, "what is accepted can be written")
		second, err := delta.DecodeCommit("f", once)
		require.NoError(t, err)
		require.ElementsMatch(t, first, second)
		twice, err := delta.EncodeCommit(second)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
		for line := range strings.SplitSeq(string(data), "\n") {
			require.True(t, strings.TrimSpace(line) == "" || json.Valid([]byte(line)), "only JSON is accepted")
		}
	})
}

// isCommit says whether a file of the corpus is a commit.
func isCommit(path string) bool { return delta.ParseLogFile(logName(path)).Kind == delta.Commit }

// logName is the name of a file in a log, "" of one that is elsewhere.
func logName(path string) string {
	_, name, _ := strings.Cut(path, "/"+delta.LogDir)
	return name
}

// FuzzDecodeLine: one line is one action or none, the same one wherever it stands in its file, and is written as one
// line that reads as the same.
func FuzzDecodeLine(f *testing.F) {
	for line := range strings.Lines(fullCommit) {
		f.Add(line)
	}
	f.Add(`{"checkpointMetadata":{"version":3,"tags":{"a":"b"}}}`)
	f.Add(`{"sidecar":{"path":"one.parquet","sizeInBytes":1,"modificationTime":1,"tags":{}}}`)
	for _, data := range fuzzing.Seeds(f, 40, 4<<10, isCommit) {
		for line := range strings.Lines(string(data)) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.ReplaceAll(line, "\n", " ")
		alone, err := fuzzing.Read(t, len(line), func() ([]delta.Action, error) { return delta.DecodeActions("f", []byte(line)) })
		among, errAmong := delta.DecodeActions("f", []byte(addLine+"\n"+line+"\r\n"+addLine))
		require.Equal(t, err == nil, errAmong == nil, "%v, %v", err, errAmong)
		if err != nil {
			require.True(t, isEither(err, delta.ErrCorrupt, delta.ErrUnsupported), "%v", err)
			require.ErrorContains(t, err, "f line 1")
			require.ErrorContains(t, errAmong, "f line 2")
			return
		}
		require.LessOrEqual(t, len(alone), 1)
		require.Len(t, among, len(alone)+2)
		require.ElementsMatch(t, alone, among[1:len(among)-1])
		if len(alone) == 1 && (alone[0].CheckpointMetadata != nil || alone[0].Sidecar != nil) {
			return // these stand in checkpoints only
		}
		text, err := delta.EncodeCommit(alone)
		require.NoError(t, err)
		require.Equal(t, len(alone), strings.Count(string(text), "\n"))
		again, err := delta.DecodeActions("f", text)
		require.NoError(t, err)
		require.ElementsMatch(t, alone, again)
	})
}

func BenchmarkDecodeCommit(b *testing.B) {
	line := `{"add":{"path":"day=2024-01-01/part-00000-8a390218-e4ee-4341-b6de-4920e27d3f78.c000.snappy.parquet","partitionValues":{"day":"2024-01-01"},"size":123456,"modificationTime":1700000000000,"dataChange":true,"stats":"{\"numRecords\":1000,\"minValues\":{\"id\":1,\"name\":\"a\"},\"maxValues\":{\"id\":1000,\"name\":\"z\"},\"nullCount\":{\"id\":0,\"name\":3}}"}}` + "\n"
	data := []byte(strings.Repeat(line, 1000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = delta.DecodeActions("b", data)
	}
}

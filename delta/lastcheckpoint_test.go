package delta_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

// The sample of the protocol document with a version put in front: the checksum covers nested
// objects and arrays, and leaves itself out.
const hintSample = `{"version":1,"checksum":"SUM","k0":"'v 0'","k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}`

// hintSampleSum is the MD5 of the canonical form written out by hand.
const hintSampleSum = "aa3a28d16663c575a14ce61f9c5d100f"

func TestLastCheckpointChecksum(t *testing.T) {
	good := strings.Replace(hintSample, "SUM", hintSampleSum, 1)
	c, err := delta.DecodeLastCheckpoint([]byte(good))
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Version)
	_, err = delta.DecodeLastCheckpoint([]byte(strings.Replace(good, `"k2": 2`, `"k2": 3`, 1)))
	require.ErrorContains(t, err, "checksum", "a nested value counts")
	_, err = delta.DecodeLastCheckpoint([]byte(strings.Replace(good, `"k2": 2`, `"k2": 2,"k2": 2`, 1)))
	require.ErrorContains(t, err, "twice", "repeated keys have no canonical form")
}

func TestChecksumOfTheProtocolsSample(t *testing.T) {
	sum, err := delta.HintChecksum([]byte(strings.Replace(hintSample, `"version":1,`, ``, 1)))
	require.NoError(t, err)
	require.Equal(t, "6a92d155a59bf2eecbd4b4ec7fd1f875", sum)

	one, err := delta.HintChecksum([]byte(`{"a":{"checksum":"1"}}`))
	require.NoError(t, err)
	two, err := delta.HintChecksum([]byte(`{"a":{"checksum":"2"}}`))
	require.NoError(t, err)
	require.NotEqual(t, one, two, "only the file's own checksum is left out")
}

func TestLastCheckpointRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<62)
		c := delta.LastCheckpoint{
			Version: n.Draw(t, "version"), Size: n.Draw(t, "size"), Parts: rapid.IntRange(0, 1000).Draw(t, "parts"),
			SizeInBytes: n.Draw(t, "bytes"), NumOfAddFiles: n.Draw(t, "adds"),
		}
		if rapid.Bool().Draw(t, "v2") {
			c.V2 = &delta.CheckpointFile{Path: rapid.String().Draw(t, "path"), SizeInBytes: n.Draw(t, "size"), ModificationTime: n.Draw(t, "time")}
		}
		data := c.Encode()
		require.Contains(t, string(data), `"checksum"`)
		got, err := delta.DecodeLastCheckpoint(data)
		require.NoError(t, err)
		require.Equal(t, c, got)
	})
}

func TestLastCheckpointOddities(t *testing.T) {
	for _, c := range []struct {
		why, text string
		ok        bool
	}{
		{"no checksum", `{"version":3,"size":4}`, true},
		{"unknown fields", `{"version":3,"v2Checkpoint":{"path":"p"},"tags":{}}`, true},
		{"a v2Checkpoint of another form", `{"version":3,"v2Checkpoint":{"path":3}}`, true},
		{"null parts", `{"version":3,"size":4,"parts":null}`, true},
		{"empty", ``, false},
		{"no version", `{"size":4}`, false},
		{"negative version", `{"version":-1,"size":4}`, false},
		{"torn", `{"version":3,`, false},
		{"garbage behind", `{"version":3}{}`, false},
		{"quoted version", `{"version":"3"}`, false},
		{"not UTF-8", "{\"version\":3,\"x\":\"\xff\"}", false},
		{"a canonical form far larger than the text", `{"version":1,"checksum":"x","` + strings.Repeat("k", 500_000) + `":[` + strings.Repeat("1,", 100) + `1]}`, false},
		{"too large", `{"version":3,"x":"` + strings.Repeat("x", 1<<20) + `"}`, false},
	} {
		_, err := delta.DecodeLastCheckpoint([]byte(c.text))
		if c.ok {
			require.NoError(t, err, c.why)
		} else {
			require.Error(t, err, c.why)
		}
	}
}

func FuzzDecodeLastCheckpoint(f *testing.F) {
	f.Add([]byte(strings.Replace(hintSample, "SUM", hintSampleSum, 1)))
	f.Add(delta.LastCheckpoint{Version: 4, Size: 5, Parts: 2}.Encode())
	for _, data := range fuzzing.Seeds(f, 20, 4<<10, func(path string) bool { return strings.HasSuffix(path, "/"+delta.LastCheckpointKey) }) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := fuzzing.Read(t, len(data), func() (delta.LastCheckpoint, error) { return delta.DecodeLastCheckpoint(data) })
		if err != nil {
			return
		}
		again, err := delta.DecodeLastCheckpoint(c.Encode())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

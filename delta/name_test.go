package delta_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func TestParseLogFile(t *testing.T) {
	const v, w = "00000000000000000012", "00000000000000000020"
	const uuid = "80a083e8-7026-4e79-81be-64bd76c43a11"
	for _, c := range []struct {
		why, name string
		want      delta.LogFile
	}{
		{"commit", v + ".json", delta.LogFile{Kind: delta.Commit, Version: 12}},
		{"checksum", v + ".crc", delta.LogFile{Kind: delta.Checksum, Version: 12}},
		{"classic checkpoint", v + ".checkpoint.parquet", delta.LogFile{Kind: delta.Checkpoint, Version: 12}},
		{"part", v + ".checkpoint.0000000002.0000000003.parquet", delta.LogFile{Kind: delta.CheckpointPart, Version: 12, Part: 2, Parts: 3}},
		{"UUID parquet", v + ".checkpoint." + uuid + ".parquet", delta.LogFile{Kind: delta.CheckpointUUID, Version: 12, Ext: "parquet"}},
		{"UUID JSON", v + ".checkpoint." + uuid + ".json", delta.LogFile{Kind: delta.CheckpointUUID, Version: 12, Ext: "json"}},
		{"compaction", v + "." + w + ".compacted.json", delta.LogFile{Kind: delta.Compaction, Version: 12, End: 20}},
		{"the greatest version", "09223372036854775807.json", delta.LogFile{Kind: delta.Commit, Version: math.MaxInt64}},
		{"a version beyond 63 bits", "09223372036854775808.json", delta.LogFile{}},
		{"a short number", "1.json", delta.LogFile{}},
		{"a long number", "0" + v + ".json", delta.LogFile{}},
		{"a sign is no digit", "+0000000000000000012.json", delta.LogFile{}},
		{"no part 0", v + ".checkpoint.0000000000.0000000003.parquet", delta.LogFile{}},
		{"a part beyond the parts", v + ".checkpoint.0000000004.0000000003.parquet", delta.LogFile{}},
		{"one part is not multi-part", v + ".checkpoint.0000000001.0000000001.parquet", delta.LogFile{}},
		{"no UUID", v + ".checkpoint.80a083e8.parquet", delta.LogFile{}},
		{"a UUID with a foreign letter", v + ".checkpoint.80a083g8-7026-4e79-81be-64bd76c43a11.parquet", delta.LogFile{}},
		{"unfinished checkpoint", v + ".checkpoint.parquet.tmp.1", delta.LogFile{}},
		{"compaction backwards", w + "." + v + ".compacted.json", delta.LogFile{}},
		{"compaction of one", v + "." + v + ".compacted.json", delta.LogFile{}},
		{"compaction without its last version", v + ".compacted.json", delta.LogFile{}},
		{"Hadoop's side file", "." + v + ".json.crc", delta.LogFile{}},
		{"Apple's side file", "._" + v + ".json", delta.LogFile{}},
		{"a commit that a catalog holds", "_staged_commits/" + v + "." + uuid + ".json", delta.LogFile{}},
		{"the hint", "_last_checkpoint", delta.LogFile{}},
		{"nothing", "", delta.LogFile{}},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.want.Name = c.name
			require.Equal(t, c.want, delta.ParseLogFile(c.name))
			require.Equal(t, c.want, delta.ParseLogFile(delta.LogDir+c.name), "a key is understood as its base name")
		})
	}
}

// FuzzParseLogFile: a name is that of one file alone: what is understood is written as the same name.
func FuzzParseLogFile(f *testing.F) {
	const uuid = "80a083e8-7026-4e79-81be-64bd76c43a11"
	for _, key := range []string{delta.CommitKey(12), delta.ChecksumKey(0), delta.CheckpointKey(math.MaxInt64), delta.CheckpointPartKey(3, 2, 3), delta.CompactionKey(1, 2),
		"00000000000000000012.checkpoint." + uuid + ".json", "_delta_log/_delta_log/00000000000000000012.json", "00000000000000000012.json/"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := fuzzing.Read(t, len(name), func() (delta.LogFile, error) { return delta.ParseLogFile(name), nil })
		require.NoError(t, err)
		base := strings.TrimPrefix(name, delta.LogDir)
		require.Equal(t, base, got.Name)
		var key string
		switch got.Kind {
		case delta.Other:
			require.Equal(t, delta.LogFile{Name: base}, got)
			return
		case delta.Commit:
			key = delta.CommitKey(got.Version)
		case delta.Checksum:
			key = delta.ChecksumKey(got.Version)
		case delta.Checkpoint:
			key = delta.CheckpointKey(got.Version)
		case delta.CheckpointPart:
			require.True(t, 1 <= got.Part && got.Part <= got.Parts, got)
			key = delta.CheckpointPartKey(got.Version, got.Part, got.Parts)
		case delta.Compaction:
			require.Less(t, got.Version, got.End)
			key = delta.CompactionKey(got.Version, got.End)
		case delta.CheckpointUUID:
			head := strings.TrimSuffix(delta.CheckpointKey(got.Version), "parquet")
			id := strings.TrimSuffix(strings.TrimPrefix(delta.LogDir+base, head), "."+got.Ext)
			require.Len(t, id, len(uuid))
			key = head + id + "." + got.Ext
		}
		require.Equal(t, key, delta.LogDir+base)
		require.GreaterOrEqual(t, got.Version, int64(0))
	})
}

func TestKeysAreUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "version")
		end := rapid.Int64Range(v+1, math.MaxInt64).Draw(t, "end")
		parts := rapid.IntRange(2, 10_000).Draw(t, "parts")
		part := rapid.IntRange(1, parts).Draw(t, "part")
		for key, want := range map[string]delta.LogFile{
			delta.CommitKey(v):                      {Kind: delta.Commit, Version: v},
			delta.CheckpointKey(v):                  {Kind: delta.Checkpoint, Version: v},
			delta.CheckpointPartKey(v, part, parts): {Kind: delta.CheckpointPart, Version: v, Part: part, Parts: parts},
			delta.CompactionKey(v, end):             {Kind: delta.Compaction, Version: v, End: end},
			delta.ChecksumKey(v):                    {Kind: delta.Checksum, Version: v},
		} {
			got := delta.ParseLogFile(key)
			require.Equal(t, key, delta.LogDir+got.Name)
			want.Name = got.Name
			require.Equal(t, want, got)
		}
	})
}

package delta_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

func TestParseInterval(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"interval 1 week":                7 * day,
		"INTERVAL 30 Days":               30 * day,
		"interval 2 days 12 hours":       60 * time.Hour,
		"3 minutes":                      3 * time.Minute,
		"interval 5 milliseconds":        5 * time.Millisecond,
		"interval 7 microseconds":        7 * time.Microsecond,
		"interval 0 seconds":             0,
		"interval 99999999 weeks 1 week": math.MaxInt64, // longer than a Duration: that long
	} {
		got, err := delta.ParseInterval(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "interval", "interval 1", "interval week", "interval 1 month", "interval 1 year", "interval -1 day", "interval 1.5 days", "1 fortnight", "interval 1 s"} {
		_, err := delta.ParseInterval(text)
		require.ErrorIs(t, err, delta.ErrInput, text)
	}
}

func TestProperties(t *testing.T) {
	plain := snapshotWith(t, nil)
	require.False(t, plain.AppendOnly())
	require.EqualValues(t, 10, plain.CheckpointInterval())
	require.Equal(t, 7*24*time.Hour, plain.TombstoneRetention())
	require.Equal(t, 30*24*time.Hour, plain.LogRetention())
	_, ok := plain.TxnRetention()
	require.False(t, ok, "txns are kept forever unless the table says otherwise")
	require.Equal(t, "Serializable", plain.Isolation())
	require.Zero(t, plain.TargetFileSize())
	require.Empty(t, plain.Codec())
	require.Empty(t, plain.Constraints())

	set := snapshotWith(t, map[string]string{
		"delta.appendOnly": "True", "delta.checkpointInterval": "3", "delta.deletedFileRetentionDuration": "interval 2 days",
		"delta.logRetentionDuration": "interval 3 days", "delta.setTransactionRetentionDuration": "interval 4 days",
		"delta.isolationLevel": "writeserializable", "delta.targetFileSize": "128mb", "delta.parquet.compression.codec": "ZSTD",
		"delta.constraints.positive": "c > 0", "mine": "x",
	})
	require.True(t, set.AppendOnly())
	require.EqualValues(t, 3, set.CheckpointInterval())
	require.Equal(t, 48*time.Hour, set.TombstoneRetention())
	require.Equal(t, 72*time.Hour, set.LogRetention())
	d, ok := set.TxnRetention()
	require.True(t, ok)
	require.Equal(t, 96*time.Hour, d)
	require.Equal(t, "WriteSerializable", set.Isolation())
	require.EqualValues(t, 128<<20, set.TargetFileSize())
	require.Equal(t, "zstd", set.Codec())
	require.Empty(t, set.Constraints(), "inert: writer version 2 does not support them")
	v, ok := set.Property("mine")
	require.True(t, ok)
	require.Equal(t, "x", v)

	bad := snapshotWith(t, map[string]string{"delta.deletedFileRetentionDuration": "soon", "delta.setTransactionRetentionDuration": "soon", "delta.checkpointInterval": "0"})
	require.Equal(t, time.Duration(math.MaxInt64), bad.TombstoneRetention(), "in doubt nothing is forgotten")
	_, ok = bad.TxnRetention()
	require.False(t, ok)
	require.EqualValues(t, 10, bad.CheckpointInterval())

	supported, err := set.Advance(1, []delta.Action{{Protocol: ptr(versions(1, 3))}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"positive": "c > 0"}, supported.Constraints())
}

func TestValidateProperties(t *testing.T) {
	good := map[string]string{
		"delta.targetFileSize": "1024", "delta.parquet.compression.codec": "snappy", "delta.unknown": "??", "mine": "??",
		"delta.constraints.c": "a > 1", "delta.dataSkippingNumIndexedCols": "-1", "delta.checkpointPolicy": "classic",
	}
	require.NoError(t, delta.ValidateProperties(&delta.Metadata{Configuration: good}))
	for key, value := range map[string]string{
		"delta.appendOnly": "yes", "delta.checkpointInterval": "0", "delta.deletedFileRetentionDuration": "interval 1 month",
		"delta.setTransactionRetentionDuration": "", "delta.isolationLevel": "Chaos", "delta.targetFileSize": "0",
		"delta.parquet.compression.codec": "middle-out", "delta.constraints.c": " ", "delta.dataSkippingNumIndexedCols": "-2",
	} {
		err := delta.ValidateProperties(&delta.Metadata{Configuration: map[string]string{key: value}})
		require.ErrorIs(t, err, delta.ErrUnsupported, key)
		require.ErrorContains(t, err, key)
	}
}

func TestRefuseUnknownProperties(t *testing.T) {
	require.NoError(t, delta.RefuseUnknownProperties(map[string]string{
		"delta.appendOnly": "true", "delta.constraints.small": "a < 1", "delta.dataSkippingStatsColumns": "a", "delta.feature.appendOnly": "supported", "owner": "x",
	}))
	for _, name := range []string{"delta.appendOnyl", "delta.APPENDONLY", "delta.foo", "delta."} {
		err := delta.RefuseUnknownProperties(map[string]string{name: "true"})
		require.ErrorIs(t, err, delta.ErrInput, name)
		require.ErrorContains(t, err, name)
	}
}

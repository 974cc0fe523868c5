package delta

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The keys of the properties that idem acts on, and the values that stand when they are absent.
const (
	keyAppendOnly           = "delta.appendOnly"
	keyCheckpointInterval   = "delta.checkpointInterval"
	keyTombstoneRetention   = "delta.deletedFileRetentionDuration"
	keyLogRetention         = "delta.logRetentionDuration"
	keyTxnRetention         = "delta.setTransactionRetentionDuration"
	keyIsolation            = "delta.isolationLevel"
	keyTargetFileSize       = "delta.targetFileSize"
	keyCodec                = "delta.parquet.compression.codec"
	keyInCommitTimestamps   = "delta.enableInCommitTimestamps"
	keyRowTrackingSuspended = "delta.rowTrackingSuspended"
	keyEnablementVersion    = "delta.inCommitTimestampEnablementVersion"
	keyEnablementTimestamp  = "delta.inCommitTimestampEnablementTimestamp"
	// keyCheckpointProtection is the version before which checkpoints must not be removed one by one.
	keyCheckpointProtection = "delta.requireCheckpointProtectionBeforeVersion"
	defaultCheckpointEvery  = 10
	defaultTombstoneAge     = 7 * 24 * time.Hour
	defaultLogAge           = 30 * 24 * time.Hour
	defaultIsolation        = "Serializable"
	forever                 = time.Duration(math.MaxInt64)
)

// properties are the checks of the properties that idem acts on.
var properties = map[string]func(value string) bool{
	keyAppendOnly:                          isBoolean,
	"delta.enableChangeDataFeed":           isBoolean,
	"delta.enableDeletionVectors":          isBoolean,
	"delta.checkpoint.writeStatsAsJson":    isBoolean,
	"delta.enableExpiredLogCleanup":        isBoolean,
	keyInCommitTimestamps:                  isBoolean,
	keyRowTracking:                         isBoolean,
	keyRowTrackingSuspended:                isBoolean,
	"delta.enableTypeWidening":             isBoolean,
	"delta.enableVariantShredding":         isBoolean,
	"delta.enableIcebergCompatV1":          isBoolean,
	"delta.enableIcebergCompatV2":          isBoolean,
	"delta.checkpointPolicy":               isOneOf("classic", "v2"),
	"delta.columnMapping.mode":             isOneOf("none", "name", "id"),
	"delta.dataSkippingNumIndexedCols":     isIntegerFrom(-1),
	keyCheckpointInterval:                  isIntegerFrom(1),
	keyTombstoneRetention:                  isInterval,
	keyLogRetention:                        isInterval,
	keyTxnRetention:                        isInterval,
	keyIsolation:                           isOneOf("Serializable", "WriteSerializable", "SnapshotIsolation"),
	keyTargetFileSize:                      func(v string) bool { n, ok := parseBytes(v); return ok && n > 0 },
	keyCodec:                               isOneOf("uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli", "lzo"),
	"delta.dataSkippingStringPrefixLength": isIntegerFrom(0),
}

// otherProperties are the checks of the properties that Delta has beside: those that idem keeps for
// others.
var otherProperties = map[string]func(value string) bool{
	"delta.autoOptimize":                                       isBoolean,
	"delta.autoOptimize.autoCompact":                           isBoolean,
	"delta.autoOptimize.optimizeWrite":                         isBoolean,
	"delta.castIcebergTimeType":                                isBoolean,
	"delta.checkpoint.writeStatsAsStruct":                      isBoolean,
	"delta.checkpointRetentionDuration":                        isInterval,
	"delta.compatibility.symlinkFormatManifest.enabled":        isBoolean,
	"delta.dataSkippingStatsColumns":                           isColumnList,
	"delta.dropFeatureTruncateHistory.retentionDuration":       isInterval,
	"delta.enableFullRetentionRollback":                        isBoolean,
	"delta.enableIcebergCompatV3":                              isBoolean,
	"delta.enableMaterializePartitionColumnsFeature":           isBoolean,
	"delta.ignoreIcebergBucketPartition":                       isBoolean,
	"delta.ignoreProtocolDefaults":                             isBoolean,
	"delta.parquet.format.version":                             isAnything,
	"delta.randomPrefixLength":                                 isIntegerFrom(1),
	"delta.randomizeFilePrefixes":                              isBoolean,
	"delta.sampleRetentionDuration":                            isInterval,
	"delta.sampling.enabled":                                   isBoolean,
	"delta.tuneFileSizesForRewrites":                           isBoolean,
	"delta.universalFormat.enabledFormats":                     isAnything,
	"delta.universalFormat.iceberg.atomicConversion.supported": isBoolean,
	"delta.writePartitionColumnsToParquet":                     isBoolean,
}

// managedProperties are those that follow from other edits, with what to do instead of setting them.
var managedProperties = map[string]string{
	keyMaxColumnID:              "it counts the columns under column mapping",
	keyEnablementVersion:        "it is set with delta.enableInCommitTimestamps",
	keyEnablementTimestamp:      "it is set with delta.enableInCommitTimestamps",
	keyRowIDs:                   "it is set with delta.enableRowTracking",
	keyCommitVersions:           "it is set with delta.enableRowTracking",
	keyCheckpointProtection:     "it is set when a feature is dropped",
	"delta.lastCommitTimestamp": "it is a catalog's",
	"delta.lastUpdateVersion":   "it is a catalog's",
}

// RefuseUnknownProperties refuses names under "delta." that Delta does not have: a misspelt property of
// a new table would do nothing. The error wraps ErrInput. Tables that exist keep
// whatever they have.
func RefuseUnknownProperties(conf map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		if !strings.HasPrefix(key, "delta.") || strings.HasPrefix(key, constraintPrefix) || strings.HasPrefix(key, featureProperty) {
			continue
		}
		if _, managed := managedProperties[key]; !managed && propertyCheck(key) == nil && !slices.Contains(versionProperties, key) {
			return fmt.Errorf("%w: Delta has no table property %q; names are spelled exactly, and those of your own do not begin with \"delta.\"", ErrInput, key)
		}
	}
	return nil
}

// propertyCheck is the check of the values of a property that may be set, nil for any other.
func propertyCheck(key string) func(string) bool {
	if valid := properties[key]; valid != nil {
		return valid
	}
	return otherProperties[key]
}

// ValidateProperties refuses, by name and wrapping ErrUnsupported, a property that idem acts on and
// cannot read: to guess would be to ignore it.
func ValidateProperties(m *Metadata) error {
	for _, key := range slices.Sorted(maps.Keys(m.Configuration)) {
		value := m.Configuration[key]
		if valid := properties[key]; valid != nil && !valid(value) {
			return fmt.Errorf("%w: the table property %s has the value %q, which idem does not understand; set or unset it", ErrUnsupported, key, value)
		}
		if strings.HasPrefix(key, constraintPrefix) && strings.TrimSpace(value) == "" {
			return fmt.Errorf("%w: the table property %s is an empty condition; drop the constraint or state it", ErrUnsupported, key)
		}
	}
	return nil
}

func isAnything(string) bool { return true }

func isColumnList(v string) bool { _, ok := splitColumnList(v); return ok }

func isBoolean(v string) bool { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }

func isInterval(v string) bool { _, err := ParseInterval(v); return err == nil }

func isIntegerFrom(least int64) func(string) bool {
	return func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		return err == nil && n >= least
	}
}

func isOneOf(words ...string) func(string) bool {
	return func(v string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(v, w) })
	}
}

// units are the lengths that an interval may count.
var units = map[string]time.Duration{
	"microsecond": time.Microsecond, "millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute,
	"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// ParseInterval reads an interval as table properties hold it: "interval 1 week", "interval 2 days
// 12 hours". Months and years have no fixed length and are refused, and so is a negative count. An
// interval beyond 292 years is that long. Errors wrap ErrInput.
func ParseInterval(text string) (time.Duration, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) == 0 || len(words)%2 != 0 {
		return 0, fmt.Errorf("%w: the interval %.60q; write it as 'interval 1 week'", ErrInput, text)
	}
	var sum time.Duration
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		unit := units[strings.TrimSuffix(words[i+1], "s")]
		if err != nil || n < 0 || unit == 0 {
			return 0, fmt.Errorf("%w: the interval %.60q: %.20q; counts are whole and positive, units are microseconds to weeks",
				ErrInput, text, words[i]+" "+words[i+1])
		}
		if n > int64((forever-sum)/unit) {
			return forever, nil
		}
		sum += time.Duration(n) * unit
	}
	return sum, nil
}

// parseBytes reads a size: bytes, or with a unit as in "128mb", "128 MiB", "1g".
func parseBytes(text string) (int64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	shift := 0
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	switch strings.TrimSpace(text[len(digits):]) {
	case "", "b":
	case "k", "kb", "kib":
		shift = 10
	case "m", "mb", "mib":
		shift = 20
	case "g", "gb", "gib":
		shift = 30
	case "t", "tb", "tib":
		shift = 40
	default:
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// Property gives a table property by its exact key, e.g. "delta.appendOnly".
func (s *Snapshot) Property(key string) (string, bool) {
	v, ok := s.state.metadata.Configuration[key]
	return v, ok
}

// AppendOnly says that no commit may remove data. It holds whatever the protocol supports.
func (s *Snapshot) AppendOnly() bool { return isTrue(s.state.metadata, keyAppendOnly) }

// CheckpointInterval is the number of commits between checkpoints.
func (s *Snapshot) CheckpointInterval() int64 {
	if n, err := strconv.ParseInt(s.state.metadata.Configuration[keyCheckpointInterval], 10, 64); err == nil && n > 0 {
		return n
	}
	return defaultCheckpointEvery
}

// TombstoneRetention is how long the log remembers a removed file. A value that cannot be read
// counts as forever.
func (s *Snapshot) TombstoneRetention() time.Duration {
	return s.retention(keyTombstoneRetention, defaultTombstoneAge)
}

// LogRetention is how long commits are kept. A value that cannot be read counts as forever.
func (s *Snapshot) LogRetention() time.Duration { return s.retention(keyLogRetention, defaultLogAge) }

func (s *Snapshot) retention(key string, absent time.Duration) time.Duration {
	text, ok := s.Property(key)
	if !ok {
		return absent
	}
	d, err := ParseInterval(text)
	if err != nil {
		return forever
	}
	return d
}

// TxnRetention is how long a txn is kept after its lastUpdated; ok is false if txns are kept forever.
func (s *Snapshot) TxnRetention() (d time.Duration, ok bool) {
	text, set := s.Property(keyTxnRetention)
	if !set {
		return 0, false
	}
	d, err := ParseInterval(text)
	if err != nil || d == forever {
		return 0, false
	}
	return d, true
}

// Isolation is the table's isolation level, "Serializable" unless the table sets another.
func (s *Snapshot) Isolation() string {
	for _, level := range []string{"WriteSerializable", "SnapshotIsolation"} {
		if strings.EqualFold(s.state.metadata.Configuration[keyIsolation], level) {
			return level
		}
	}
	return defaultIsolation
}

// TargetFileSize is the size in bytes that the table sets for data files, 0 if it sets none.
func (s *Snapshot) TargetFileSize() int64 {
	n, _ := parseBytes(s.state.metadata.Configuration[keyTargetFileSize])
	return n
}

// Codec is the compression that the table sets for data files, in lower case, "" if it sets none.
func (s *Snapshot) Codec() string {
	return strings.ToLower(s.state.metadata.Configuration[keyCodec])
}

// Constraints are the table's CHECK constraints: SQL conditions by name. There are none unless the
// protocol supports them.
func (s *Snapshot) Constraints() map[string]string {
	found := map[string]string{}
	if !s.state.protocol.Supports("checkConstraints") {
		return found
	}
	for key, condition := range s.state.metadata.Configuration {
		if name, ok := strings.CutPrefix(key, constraintPrefix); ok {
			found[name] = condition
		}
	}
	return found
}

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

// property is what is to know of a table property.
type property struct {
	values
	standard string // the value that holds where a table sets none; "" if there is none
}

// properties are the properties that idem acts on.
var properties = map[string]property{
	keyAppendOnly:                          {boolean, "false"},
	"delta.enableChangeDataFeed":           {boolean, "false"},
	"delta.enableDeletionVectors":          {boolean, "false"},
	"delta.checkpoint.writeStatsAsJson":    {boolean, "true"},
	"delta.enableExpiredLogCleanup":        {boolean, "true"},
	keyInCommitTimestamps:                  {boolean, "false"},
	keyRowTracking:                         {boolean, "false"},
	keyRowTrackingSuspended:                {boolean, "false"},
	"delta.enableTypeWidening":             {boolean, "false"},
	"delta.enableVariantShredding":         {boolean, "false"},
	"delta.enableIcebergCompatV1":          {boolean, "false"},
	"delta.enableIcebergCompatV2":          {boolean, "false"},
	"delta.checkpointPolicy":               {oneOf("classic", "v2"), "classic"},
	"delta.columnMapping.mode":             {oneOf("none", "name", "id"), "none"},
	"delta.dataSkippingNumIndexedCols":     {integerFrom(-1), "32"},
	keyCheckpointInterval:                  {integerFrom(1), "10"},
	keyTombstoneRetention:                  {interval, "interval 1 week"},
	keyLogRetention:                        {interval, "interval 30 days"},
	keyTxnRetention:                        {interval, ""},
	keyIsolation:                           {isolationLevel, "Serializable"},
	keyTargetFileSize:                      {size, ""},
	keyCodec:                               {oneOf("uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli", "lzo"), "snappy"},
	"delta.dataSkippingStringPrefixLength": {integerFrom(0), "32"},
}

// otherProperties are the properties that Delta has beside: those that idem keeps for
// others.
var otherProperties = map[string]property{
	"delta.autoOptimize":                                       {boolean, "false"},
	"delta.autoOptimize.autoCompact":                           {boolean, ""},
	"delta.autoOptimize.optimizeWrite":                         {boolean, ""},
	"delta.castIcebergTimeType":                                {boolean, "false"},
	"delta.checkpoint.writeStatsAsStruct":                      {boolean, "false"},
	"delta.checkpointRetentionDuration":                        {interval, "interval 2 days"},
	"delta.compatibility.symlinkFormatManifest.enabled":        {boolean, "false"},
	"delta.dataSkippingStatsColumns":                           {columnList, ""},
	"delta.dropFeatureTruncateHistory.retentionDuration":       {interval, "interval 24 hours"},
	"delta.enableFullRetentionRollback":                        {boolean, "true"},
	"delta.enableIcebergCompatV3":                              {boolean, "false"},
	"delta.enableMaterializePartitionColumnsFeature":           {boolean, ""},
	"delta.ignoreIcebergBucketPartition":                       {boolean, "false"},
	"delta.ignoreProtocolDefaults":                             {boolean, "false"},
	"delta.parquet.format.version":                             {anything, "1.0.0"},
	"delta.randomPrefixLength":                                 {integerFrom(1), "2"},
	"delta.randomizeFilePrefixes":                              {boolean, "false"},
	"delta.sampleRetentionDuration":                            {interval, "interval 7 days"},
	"delta.sampling.enabled":                                   {boolean, "false"},
	"delta.tuneFileSizesForRewrites":                           {boolean, ""},
	"delta.universalFormat.enabledFormats":                     {anything, ""},
	"delta.universalFormat.iceberg.atomicConversion.supported": {boolean, ""},
	"delta.writePartitionColumnsToParquet":                     {boolean, ""},
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
		if _, managed := managedProperties[key]; !managed && !known(key) && !slices.Contains(versionProperties, key) {
			return fmt.Errorf("%w: Delta has no table property %q; names are spelled exactly, and those of your own do not begin with \"delta.\"", ErrInput, key)
		}
	}
	return nil
}

// propertyOf is a property that may be set; ok is false for any other name.
func propertyOf(key string) (p property, ok bool) {
	if p, ok = properties[key]; !ok {
		p, ok = otherProperties[key]
	}
	return p, ok
}

func known(key string) bool { _, ok := propertyOf(key); return ok }

// IsDefault is true of a value of a property that holds just the same where a table does not set the
// property.
func IsDefault(key, value string) bool {
	p, _ := propertyOf(key)
	if p.standard == "" {
		return false
	}
	if long, err := ParseInterval(value); err == nil {
		standard, err := ParseInterval(p.standard)
		return err == nil && long == standard
	}
	return strings.EqualFold(value, p.standard)
}

// ValidateProperties refuses, by name and wrapping ErrUnsupported, a property that idem acts on and
// cannot read: to guess would be to ignore it.
func ValidateProperties(m *Metadata) error {
	for _, key := range slices.Sorted(maps.Keys(m.Configuration)) {
		value := m.Configuration[key]
		if p, ok := properties[key]; ok && !p.valid(value) {
			return fmt.Errorf("%w: the table property %s has the value %q, which idem does not understand; set it to %s, or unset it", ErrUnsupported, key, value, p.are)
		}
		if strings.HasPrefix(key, constraintPrefix) && strings.TrimSpace(value) == "" {
			return fmt.Errorf("%w: the table property %s is an empty condition; drop the constraint or state it", ErrUnsupported, key)
		}
	}
	return nil
}

// values are those that a property can have.
type values struct {
	valid func(value string) bool
	are   string // in words
}

var (
	anything = values{func(string) bool { return true }, "any text"}
	boolean  = values{isBoolean, "true or false"}
	interval = values{func(v string) bool { _, err := ParseInterval(v); return err == nil },
		`"interval 30 days" or the like: whole numbers, of microseconds to weeks, since months and years have no fixed length`}
	columnList = values{func(v string) bool { _, ok := splitColumnList(v); return ok }, `names of columns with commas between, "id, address.city"`}
	size       = values{func(v string) bool { n, ok := parseBytes(v); return ok && n > 0 }, `a number of bytes above 0, or one with a unit, "128mb"`}

	// isolationLevel is also the third of the protocol, where another engine set it.
	isolationLevel = values{isOneOf("Serializable", "WriteSerializable", "SnapshotIsolation"), "Serializable or WriteSerializable"}
)

func isBoolean(v string) bool { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }

func integerFrom(least int64) values {
	return values{func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		return err == nil && n >= least
	}, fmt.Sprintf("a whole number from %d on", least)}
}

func oneOf(words ...string) values {
	last := len(words) - 1
	return values{isOneOf(words...), strings.Join(words[:last], ", ") + " or " + words[last]}
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

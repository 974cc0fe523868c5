package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// harmless are the properties of the protocol that change neither which rows are valid nor how
// they are written, so that a plan made under other values still holds.
var harmless = map[string]struct{}{
	"delta.autoOptimize":                             {},
	"delta.autoOptimize.autoCompact":                 {},
	"delta.autoOptimize.optimizeWrite":               {},
	"delta.checkpoint.writeStatsAsJson":              {},
	"delta.checkpoint.writeStatsAsStruct":            {},
	"delta.checkpointInterval":                       {},
	"delta.checkpointPolicy":                         {},
	"delta.checkpointRetentionDuration":              {},
	"delta.dataSkippingNumIndexedCols":               {},
	"delta.dataSkippingStatsColumns":                 {},
	"delta.dataSkippingStringPrefixLength":           {},
	"delta.deletedFileRetentionDuration":             {},
	"delta.enableTypeWidening":                       {},
	"delta.enableExpiredLogCleanup":                  {},
	"delta.logRetentionDuration":                     {},
	"delta.parquet.compression.codec":                {},
	"delta.randomizeFilePrefixes":                    {},
	"delta.requireCheckpointProtectionBeforeVersion": {},
	"delta.randomPrefixLength":                       {},
	"delta.sampleRetentionDuration":                  {},
	"delta.setTransactionRetentionDuration":          {},
	"delta.targetFileSize":                           {},
	"delta.tuneFileSizesForRewrites":                 {},
}

// timestamps are the properties by which commits get timestamps of their own: where a commit lands, it
// gets one.
var timestamps = []string{timestampsKey, timestampsFrom, timestampsFromTime}

// tracking are the properties that turn row tracking on. New files get their ids where the commit
// lands; files of copied rows must have been written with the old ids.
var tracking = []string{
	"delta.enableRowTracking", "delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName",
}

const (
	mappingModeKey  = "delta.columnMapping.mode"
	mappingMaxIDKey = "delta.columnMapping.maxColumnId"
	mappingPrefix   = "delta.columnMapping."
)

// tolerant are the features whose support alone demands nothing of a commit that was planned without:
// what they do is for a property or a column to say, or for the place where a commit lands. Under a
// property that was there before, without effect, such a feature is none of them.
var tolerant = map[string]string{
	"appendOnly":           "", // holds without the feature, too
	"changeDataFeed":       "delta.enableChangeDataFeed",
	"checkpointProtection": "",
	"columnMapping":        mappingModeKey,
	"deletionVectors":      "",
	"domainMetadata":       "",
	"icebergCompatV1":      "delta.enableIcebergCompatV1",
	"icebergCompatV2":      "delta.enableIcebergCompatV2",
	"inCommitTimestamp":    "",
	"rowTracking":          "delta.enableRowTracking",
	"timestampNtz":         "",
	"typeWidening":         "",
	"typeWidening-preview": "",
	"v2Checkpoint":         "",
	"vacuumProtocolCheck":  "",
}

func sameProtocol(a, b *delta.Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		sameSet(a.ReaderFeatures, b.ReaderFeatures) && sameSet(a.WriterFeatures, b.WriterFeatures)
}

// protocolChange says in words what a plan made under a protocol and a metadata cannot stand of another
// protocol, "" if it stands: if features that demand nothing were added, and none was dropped.
func protocolChange(old, now *delta.Protocol, m *delta.Metadata) string {
	if name := dropped(old, now); name != "" {
		return fmt.Sprintf("the feature %s was dropped", name)
	}
	return added(old, now, m)
}

// added says in words which feature a protocol lacks and the other has that asks something of a commit which was
// planned without, "" if there is none.
func added(old, now *delta.Protocol, m *delta.Metadata, but ...string) string {
	for _, name := range now.Features() {
		if old.Supports(name) || slices.Contains(but, name) {
			continue
		}
		key, known := tolerant[name]
		if !known || key != "" && wakes(m.Configuration[key]) {
			return fmt.Sprintf("the feature %s was added", name)
		}
	}
	return ""
}

// FeatureChange says in words which feature was added so that rows must be validated, or files written, anew,
// though the definition of the table is what it was; "" if none was. Rows that were written before the table
// was clustered, or had a variant, are as good as those that it had then.
func FeatureChange(old, now *delta.Protocol, m *delta.Metadata) string {
	return added(old, now, m, "clustering", "variantType", "variantType-preview")
}

// dropped names a feature that a protocol has and the other has not, "" if there is none.
func dropped(old, now *delta.Protocol) string {
	for _, name := range old.Features() {
		if !now.Supports(name) {
			return name
		}
	}
	return ""
}

// wakes says whether the value of a property that had no effect has one with the feature.
func wakes(value string) bool {
	return value != "" && !strings.EqualFold(value, "false") && !strings.EqualFold(value, "none")
}

func sameSet(a, b []string) bool {
	set := func(s []string) []string {
		s = slices.Clone(s)
		slices.Sort(s)
		return slices.Compact(s)
	}
	return slices.Equal(set(a), set(b))
}

// DefinitionChange says in words what changed so that rows must be validated anew, "" if nothing
// did. Another name or description, other harmless properties, added nullable columns, numbers
// that identity columns have given, deletion vectors that may be written now and timestamps in
// commits are no such change. Column mapping that is turned on is one, though columns keep their names in
// files: files must have the ids of their columns from then on, and tell of which columns their digests are.
func DefinitionChange(old, now *delta.Metadata) string {
	return definitionChange(old, now, false)
}

// DefinitionChangeForAppend is [DefinitionChange] for rows that are added, none being read or taken away: row
// tracking may be turned on as well, and deletion vectors, timestamps in commits and the taking away of rows
// may be turned off.
func DefinitionChangeForAppend(old, now *delta.Metadata) string {
	return definitionChange(old, now, true)
}

func definitionChange(old, now *delta.Metadata, copiesNone bool) string {
	switch {
	case old.Provider != now.Provider || !maps.Equal(old.FormatOptions, now.FormatOptions):
		return "the file format changed"
	case !slices.Equal(old.PartitionColumns, now.PartitionColumns):
		return fmt.Sprintf("the partition columns changed from %v to %v", old.PartitionColumns, now.PartitionColumns)
	}
	if key := changedProperty(old.Configuration, now.Configuration, copiesNone); key != "" {
		return fmt.Sprintf("the property %s changed", key)
	}
	if old.SchemaString == now.SchemaString {
		return ""
	}
	before, err := delta.ParseSchema(old.SchemaString)
	if err != nil {
		return "the schema changed"
	}
	after, err := delta.ParseSchema(now.SchemaString)
	if err != nil {
		return "the schema changed"
	}
	return structChange(before, after)
}

func changedProperty(old, now map[string]string, copiesNone bool) string {
	keys := make(map[string]struct{})
	for k, v := range old {
		if w, ok := now[k]; !ok || v != w {
			keys[k] = struct{}{}
		}
	}
	for k := range now {
		if _, ok := old[k]; !ok {
			keys[k] = struct{}{}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		_, known := harmless[k]
		if !known && strings.HasPrefix(strings.ToLower(k), "delta.") && !harmlessFrom(k, old, now, copiesNone) {
			return k
		}
	}
	return ""
}

// harmlessFrom knows the changes of properties that are harmless in one direction: a plan made without
// them stands with them; and those that are nothing to a commit which copies and takes away no rows.
func harmlessFrom(key string, old, now map[string]string, copiesNone bool) bool {
	was, is := old[key], now[key]
	switch {
	case key == "delta.enableDeletionVectors":
		return copiesNone || !wakes(was)
	case key == "delta.appendOnly":
		return copiesNone
	case key == mappingMaxIDKey:
		before, errBefore := strconv.ParseInt("0"+was, 10, 64)
		after, errAfter := strconv.ParseInt(is, 10, 64)
		return errBefore == nil && errAfter == nil && after >= before
	case slices.Contains(timestamps, key):
		return copiesNone || !wakes(was) || key == timestampsKey && strings.EqualFold(was, is)
	case slices.Contains(tracking, key):
		return copiesNone && !wakes(was)
	}
	return false
}

// structChange compares two structs by the names of their fields.
func structChange(old, now *delta.Struct) string {
	after := make(map[string]*delta.Field, len(now.Fields))
	for i := range now.Fields {
		after[now.Fields[i].Name] = &now.Fields[i]
	}
	for i := range old.Fields {
		f := &old.Fields[i]
		g, ok := after[f.Name]
		if !ok {
			return gone(f.Name, now)
		}
		if why := fieldChange(f, g); why != "" {
			return why
		}
		delete(after, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if f := after[name]; !f.Nullable || ruledByMetadata(f) {
			return fmt.Sprintf("column %s was added and must be filled", name)
		}
	}
	return ""
}

// gone says what became of a column: names that differ in case are one column, but files, digests
// and statistics have it as it is spelled.
func gone(name string, now *delta.Struct) string {
	if i := now.Index(name); i >= 0 {
		return fmt.Sprintf("column %s is spelled %s now", name, now.Fields[i].Name)
	}
	return fmt.Sprintf("column %s is gone", name)
}

func fieldChange(old, now *delta.Field) string {
	if old.Nullable != now.Nullable {
		return fmt.Sprintf("the nullability of column %s changed", old.Name)
	}
	if !sameMetadata(old, now) {
		return fmt.Sprintf("the metadata of column %s changed", old.Name)
	}
	return typeChange(old.Name, old.Type, now.Type)
}

func typeChange(name string, old, now delta.Type) string {
	changed := fmt.Sprintf("the type of column %s changed", name)
	switch a := old.(type) {
	case *delta.Struct:
		b, ok := now.(*delta.Struct)
		if !ok {
			return changed
		}
		return structChange(a, b)
	case *delta.Array:
		b, ok := now.(*delta.Array)
		if !ok || a.ContainsNull != b.ContainsNull {
			return changed
		}
		return typeChange(name, a.Element, b.Element)
	case *delta.Map:
		b, ok := now.(*delta.Map)
		if !ok || a.ValueContainsNull != b.ValueContainsNull {
			return changed
		}
		if why := typeChange(name, a.Key, b.Key); why != "" {
			return why
		}
		return typeChange(name, a.Value, b.Value)
	}
	switch now.(type) {
	case *delta.Struct, *delta.Array, *delta.Map:
		return changed
	}
	if old != now {
		return changed
	}
	return ""
}

// sameMetadata compares what a column's metadata demands; a comment demands nothing, and the last
// number that an identity column has given only of those who give numbers: their commits hold a
// definition too. A record of changes of type speaks of files that are there.
func sameMetadata(a, b *delta.Field) bool {
	demands := func(f *delta.Field) map[string]json.RawMessage {
		m := maps.Clone(f.Metadata)
		for _, key := range []string{delta.CommentKey, delta.IdentityMarkKey, "delta.typeChanges"} {
			delete(m, key)
		}
		return m
	}
	return maps.EqualFunc(demands(a), demands(b), func(x, y json.RawMessage) bool {
		return bytes.Equal(bytes.TrimSpace(x), bytes.TrimSpace(y))
	})
}

// ruledByMetadata says whether a new column has a rule beyond its type which a row without a value may
// break: a default, an expression, an invariant.
func ruledByMetadata(f *delta.Field) bool {
	for key := range f.Metadata {
		if key != delta.CommentKey && key != delta.CharTypeKey && key != "delta.typeChanges" && !strings.HasPrefix(key, mappingPrefix) {
			return true
		}
	}
	return false
}

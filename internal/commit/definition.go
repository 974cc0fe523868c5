package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
)

// harmless are the properties of the protocol that change neither which rows are valid nor how
// they are written, so that a plan made under other values still holds.
var harmless = map[string]struct{}{
	"delta.autoOptimize":                    {},
	"delta.autoOptimize.autoCompact":        {},
	"delta.autoOptimize.optimizeWrite":      {},
	"delta.checkpoint.writeStatsAsJson":     {},
	"delta.checkpoint.writeStatsAsStruct":   {},
	"delta.checkpointInterval":              {},
	"delta.checkpointPolicy":                {},
	"delta.checkpointRetentionDuration":     {},
	"delta.dataSkippingNumIndexedCols":      {},
	"delta.dataSkippingStatsColumns":        {},
	"delta.dataSkippingStringPrefixLength":  {},
	"delta.deletedFileRetentionDuration":    {},
	"delta.enableExpiredLogCleanup":         {},
	"delta.logRetentionDuration":            {},
	"delta.parquet.compression.codec":       {},
	"delta.randomizeFilePrefixes":           {},
	"delta.randomPrefixLength":              {},
	"delta.sampleRetentionDuration":         {},
	"delta.setTransactionRetentionDuration": {},
	"delta.targetFileSize":                  {},
	"delta.tuneFileSizesForRewrites":        {},
}

func sameProtocol(a, b *delta.Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		sameSet(a.ReaderFeatures, b.ReaderFeatures) && sameSet(a.WriterFeatures, b.WriterFeatures)
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
// did. Another name or description, other harmless properties, added nullable columns and numbers
// that identity columns have given are no such change.
func DefinitionChange(old, now *delta.Metadata) string {
	switch {
	case old.Provider != now.Provider || !maps.Equal(old.FormatOptions, now.FormatOptions):
		return "the file format changed"
	case !slices.Equal(old.PartitionColumns, now.PartitionColumns):
		return fmt.Sprintf("the partition columns changed from %v to %v", old.PartitionColumns, now.PartitionColumns)
	}
	if key := changedProperty(old.Configuration, now.Configuration); key != "" {
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

func changedProperty(old, now map[string]string) string {
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
		if !known && strings.HasPrefix(strings.ToLower(k), "delta.") {
			return k
		}
	}
	return ""
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
// definition too.
func sameMetadata(a, b *delta.Field) bool {
	demands := func(f *delta.Field) map[string]json.RawMessage {
		m := maps.Clone(f.Metadata)
		delete(m, delta.CommentKey)
		delete(m, delta.IdentityMarkKey)
		return m
	}
	return maps.EqualFunc(demands(a), demands(b), func(x, y json.RawMessage) bool {
		return bytes.Equal(bytes.TrimSpace(x), bytes.TrimSpace(y))
	})
}

// ruledByMetadata says whether a new column has a rule beyond its type: a default, an expression,
// an invariant.
func ruledByMetadata(f *delta.Field) bool {
	for key := range f.Metadata {
		if key != "comment" && !strings.HasPrefix(key, "delta.columnMapping.") {
			return true
		}
	}
	return false
}

package delta

import "strings"

// feature is a row of the one table of table features.
type feature struct {
	name         string
	reader       bool     // a reader must know it: it stands in both lists
	legacyReader int      // the reader version that implies it, 0 if none
	legacyWriter int      // the writer version that implies it, 0 if none
	read         bool     // idem reads tables with it
	write        bool     // idem writes tables with it
	idle         bool     // it obliges nobody while not in use
	needs        []string // features that it cannot be without
	// inUse says whether the definition makes use of it; nil if a definition cannot say.
	inUse func(m *Metadata, s *Struct) bool
}

// features are the table features that the protocol and its engines name.
var features = []feature{
	{name: "appendOnly", legacyWriter: 2, write: true, idle: true, inUse: flag("delta.appendOnly")},
	{name: "invariants", legacyWriter: 2, write: true, idle: true, inUse: fieldKey("delta.invariants")},
	{name: "checkConstraints", legacyWriter: 3, write: true, idle: true, inUse: hasConstraints},
	{name: "changeDataFeed", write: true, legacyWriter: 4, idle: true, inUse: flag("delta.enableChangeDataFeed")},
	{name: "generatedColumns", write: true, legacyWriter: 4, idle: true, inUse: fieldKey("delta.generationExpression")},
	{name: "columnMapping", reader: true, legacyReader: 2, legacyWriter: 5, read: true, write: true, idle: true, inUse: columnMappingOn},
	{name: "identityColumns", write: true, legacyWriter: 6, idle: true, inUse: fieldKey("delta.identity.")},
	{name: "deletionVectors", reader: true, read: true, write: true, inUse: flag("delta.enableDeletionVectors")},
	{name: "timestampNtz", reader: true, read: true, write: true, inUse: hasType(TimestampNTZ)},
	{name: "v2Checkpoint", reader: true, read: true, write: true, inUse: checkpointPolicyV2},
	{name: "typeWidening", reader: true, read: true, write: true, inUse: typeWideningUsed},
	{name: "typeWidening-preview", reader: true, read: true, write: true},
	{name: "variantType", reader: true, read: true, write: true, inUse: hasType(Variant)},
	{name: "variantType-preview", reader: true, read: true, write: true},
	{name: "variantShredding", reader: true, read: true, write: true, needs: []string{"variantType"}, inUse: flag("delta.enableVariantShredding")},
	{name: "variantShredding-preview", reader: true, read: true, write: true},
	{name: "vacuumProtocolCheck", reader: true, read: true, write: true}, // a reader has nothing to do for it
	{name: "catalogManaged", reader: true, needs: []string{"inCommitTimestamp", "vacuumProtocolCheck"}},
	{name: "domainMetadata", write: true},
	{name: "rowTracking", write: true, needs: []string{"domainMetadata"}, inUse: flag("delta.enableRowTracking")},
	{name: "clustering", write: true, needs: []string{"domainMetadata"}},
	{name: "inCommitTimestamp", write: true, idle: true, inUse: flag("delta.enableInCommitTimestamps")},
	{name: "allowColumnDefaults", write: true, idle: true, inUse: fieldKey("CURRENT_DEFAULT")},
	{name: "icebergCompatV1", write: true, idle: true, needs: []string{"columnMapping"}, inUse: flag("delta.enableIcebergCompatV1")},
	{name: "icebergCompatV2", write: true, idle: true, needs: []string{"columnMapping"}, inUse: flag("delta.enableIcebergCompatV2")},
	{name: "icebergCompatV3", needs: []string{"columnMapping", "rowTracking"}, inUse: flag("delta.enableIcebergCompatV3")},
	{name: "icebergWriterCompatV1", needs: []string{"icebergCompatV2"}},
	{name: "materializePartitionColumns", write: true, inUse: flag("delta.enableMaterializePartitionColumnsFeature")},
	{name: "checkpointProtection", write: true},
	{name: "collations", needs: []string{"domainMetadata"}},
	{name: "collations-preview", needs: []string{"domainMetadata"}},
	{name: "columnMappingUsageTracking", needs: []string{"columnMapping"}},
	{name: "geospatial", reader: true},
	{name: "geospatial-dev", reader: true},
	{name: "redirectReaderWriter-preview", reader: true},
	{name: "redirectWriterOnly-preview"},
	{name: "coordinatedCommits-preview", needs: []string{"inCommitTimestamp", "vacuumProtocolCheck"}},
	{name: "adaptiveMetadata-preview", reader: true},
}

// findFeature gives the row of a name, nil for a name that idem does not know.
func findFeature(name string) *feature {
	for i := range features {
		if features[i].name == name {
			return &features[i]
		}
	}
	return nil
}

// used is true unless the definition proves that the feature is idle.
func (f *feature) used(m *Metadata, s *Struct) bool {
	return !f.idle || f.inUse(m, s)
}

// ownedByCatalog is true of the feature, under any of its names, that takes the log's authority to
// a catalog.
func ownedByCatalog(name string) bool {
	return name == "catalogManaged" || strings.HasPrefix(name, "catalogOwned")
}

// isTrue reads a boolean property.
func isTrue(m *Metadata, key string) bool { return strings.EqualFold(m.Configuration[key], "true") }

func flag(key string) func(*Metadata, *Struct) bool {
	return func(m *Metadata, _ *Struct) bool { return isTrue(m, key) }
}

const constraintPrefix = "delta.constraints."

func hasConstraints(m *Metadata, _ *Struct) bool {
	for key := range m.Configuration {
		if strings.HasPrefix(key, constraintPrefix) {
			return true
		}
	}
	return false
}

func columnMappingOn(m *Metadata, _ *Struct) bool {
	mode, ok := m.Configuration["delta.columnMapping.mode"]
	return ok && !strings.EqualFold(mode, "none")
}

func checkpointPolicyV2(m *Metadata, _ *Struct) bool {
	return strings.EqualFold(m.Configuration["delta.checkpointPolicy"], "v2")
}

func typeWideningUsed(m *Metadata, s *Struct) bool {
	return isTrue(m, "delta.enableTypeWidening") || fieldKey("delta.typeChanges")(m, s)
}

// fieldKey is true of a schema in which a field at any depth has a metadata key; a key that ends
// in a dot stands for all keys that begin so.
func fieldKey(key string) func(*Metadata, *Struct) bool {
	has := func(f *Field) bool {
		if !strings.HasSuffix(key, ".") {
			_, ok := f.Metadata[key]
			return ok
		}
		for k := range f.Metadata {
			if strings.HasPrefix(k, key) {
				return true
			}
		}
		return false
	}
	return func(_ *Metadata, s *Struct) bool { return findField(s, "", has) != "" }
}

// hasType is true of a schema that holds the type at any depth.
func hasType(p Primitive) func(*Metadata, *Struct) bool {
	return func(_ *Metadata, s *Struct) bool { return columnOfType(s, p) != "" }
}

// columnOfType names the first column, at any depth, of a type; "" if there is none.
func columnOfType(s *Struct, p Primitive) string {
	return findField(s, "", func(f *Field) bool { return holdsPrimitive(f.Type, p) })
}

// holdsPrimitive looks through arrays and maps, not into the fields of structs.
func holdsPrimitive(t Type, p Primitive) bool {
	switch t := t.(type) {
	case Primitive:
		return t == p
	case *Array:
		return holdsPrimitive(t.Element, p)
	case *Map:
		return holdsPrimitive(t.Key, p) || holdsPrimitive(t.Value, p)
	}
	return false
}

// findField gives the dotted path of the first field, at any depth, that ok accepts.
func findField(t Type, path string, ok func(*Field) bool) string {
	switch t := t.(type) {
	case *Struct:
		if t == nil {
			return ""
		}
		for i := range t.Fields {
			f := &t.Fields[i]
			if ok(f) {
				return path + f.Name
			}
			if found := findField(f.Type, path+f.Name+".", ok); found != "" {
				return found
			}
		}
	case *Array:
		return findField(t.Element, path+"element.", ok)
	case *Map:
		if found := findField(t.Key, path+"key.", ok); found != "" {
			return found
		}
		return findField(t.Value, path+"value.", ok)
	}
	return ""
}

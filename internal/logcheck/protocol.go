package logcheck

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
)

// The features that the protocol names, by who must know them.
var (
	readersToo = set("columnMapping deletionVectors timestampNtz v2Checkpoint typeWidening typeWidening-preview variantType variantType-preview " +
		"variantShredding variantShredding-preview vacuumProtocolCheck catalogManaged")
	writersOnly = set("appendOnly invariants checkConstraints changeDataFeed generatedColumns identityColumns domainMetadata rowTracking clustering " +
		"inCommitTimestamp allowColumnDefaults icebergCompatV1 icebergCompatV2 icebergCompatV3 materializePartitionColumns checkpointProtection")

	// legacy are the features that a writer version stands for, and those below it.
	legacy = map[int][]string{2: {"appendOnly", "invariants"}, 3: {"checkConstraints"}, 4: {"changeDataFeed", "generatedColumns"}, 5: {"columnMapping"}, 6: {"identityColumns"}}

	// needs are the features that another cannot be without.
	needs = map[string]string{"rowTracking": "domainMetadata", "clustering": "domainMetadata", "icebergCompatV1": "columnMapping",
		"icebergCompatV2": "columnMapping", "variantShredding": "variantType", "catalogManaged": "inCommitTimestamp"}
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// supported are the features that a protocol gives effect to.
func supported(p *delta.Protocol) map[string]bool {
	out := map[string]bool{}
	if p.MinWriterVersion >= 7 {
		for _, name := range p.WriterFeatures {
			out[name] = true
		}
		return out
	}
	for version, names := range legacy {
		for _, name := range names {
			if version <= p.MinWriterVersion && (name != "columnMapping" || p.MinReaderVersion >= 2) {
				out[name] = true
			}
		}
	}
	return out
}

// protocol looks at the protocol that a commit leaves.
func (c *checker) protocol(s *step) {
	is := s.after.Protocol()
	if s.before != nil && is == s.before.Protocol() {
		return
	}
	for _, wrong := range lists(is) {
		c.find(ProtocolLists, s.v, s.key, "%s", wrong)
	}
	if s.before == nil {
		return
	}
	was := s.before.Protocol()
	lower := is.MinReaderVersion < was.MinReaderVersion || is.MinWriterVersion < was.MinWriterVersion
	if dropped := c.dropped(s); lower && !dropped {
		c.find(ProtocolLowered, s.v, s.key, "(%d,%d) follows (%d,%d)", is.MinReaderVersion, is.MinWriterVersion, was.MinReaderVersion, was.MinWriterVersion)
	}
}

// lists tells what is wrong with the lists of features.
func lists(p *delta.Protocol) (wrong []string) {
	readers, writers := p.MinReaderVersion >= 3, p.MinWriterVersion >= 7
	in := func(list []string, name string) bool { return slices.Contains(list, name) }
	say := func(is bool, what string) {
		if is {
			wrong = append(wrong, what)
		}
	}
	say(readers && !writers, "reader version 3 goes with writer version 7")
	say(readers && p.ReaderFeatures == nil || writers && p.WriterFeatures == nil, "a list is missing")
	say(!readers && len(p.ReaderFeatures) > 0 || !writers && len(p.WriterFeatures) > 0, "there is a list where none belongs")
	for _, name := range p.ReaderFeatures {
		say(!in(p.WriterFeatures, name), name+" is missing among the writers' features")
		say(writersOnly[name], name+" is none for readers")
	}
	for _, name := range p.WriterFeatures {
		mapped := name == "columnMapping" && p.MinReaderVersion >= 2 // a shape that is found, and read
		say(readersToo[name] && !mapped && !in(p.ReaderFeatures, name), name+" is missing among the readers' features")
		say(needs[name] != "" && !in(p.WriterFeatures, needs[name]), name+" needs "+needs[name])
	}
	return wrong
}

// used looks for what a commit uses and the protocol does not support.
func (c *checker) used(s *step) {
	has := supported(s.after.Protocol())
	missing := map[string]string{} // where, by feature
	need := func(feature, where string) {
		if !has[feature] {
			missing[feature] = where
		}
	}
	for _, a := range s.actions {
		switch {
		case a.Domain != nil:
			need("domainMetadata", s.key)
		case a.CDC != nil:
			need("changeDataFeed", a.CDC.Path)
			if !enabled(s.after, "delta.enableChangeDataFeed") && (s.before == nil || !enabled(s.before, "delta.enableChangeDataFeed")) {
				missing["delta.enableChangeDataFeed"] = a.CDC.Path
			}
		case a.Add != nil && a.Add.DeletionVector != nil:
			need("deletionVectors", a.Add.Path)
			if s.ours && !s.returns() && !c.hadVector[a.Add.DeletionVector.ID()] && !enabled(s.after, "delta.enableDeletionVectors") {
				missing["delta.enableDeletionVectors"] = a.Add.Path
			}
			c.hadVector[a.Add.DeletionVector.ID()] = true
		}
		if a.Add != nil && a.Add.BaseRowID != nil {
			need("rowTracking", a.Add.Path)
		}
	}
	if s.defined {
		c.usedBySchema(s, has, missing)
	}
	for _, feature := range slices.Sorted(maps.Keys(missing)) {
		c.find(FeatureUsed, s.v, missing[feature], "%s is used, and the protocol or the properties do not say so", feature)
	}
}

func (c *checker) usedBySchema(s *step, has map[string]bool, missing map[string]string) {
	use := func(is bool, path []string, features ...string) {
		if is && !slices.ContainsFunc(features, func(f string) bool { return has[f] }) {
			missing[features[0]] = strings.Join(path, ".")
		}
	}
	walk(s.after.Schema(), nil, func(path []string, f *delta.Field, t delta.Type) {
		use(t == delta.TimestampNTZ, path, "timestampNtz")
		use(t == delta.Variant, path, "variantType", "variantType-preview")
		if f != nil {
			_, changed := f.Metadata[typeChangesKey]
			use(changed, path, "typeWidening", "typeWidening-preview")
		}
	})
}

// walk visits all types of a schema: of fields together with the field, of elements, keys and values
// without.
func walk(t delta.Type, path []string, visit func(path []string, f *delta.Field, t delta.Type)) {
	under := func(name string) []string { return append(path[:len(path):len(path)], name) }
	inner := func(name string, t delta.Type) {
		visit(under(name), nil, t)
		walk(t, under(name), visit)
	}
	switch t := t.(type) {
	case *delta.Struct:
		for i := range t.Fields {
			f := &t.Fields[i]
			visit(under(f.Name), f, f.Type)
			walk(f.Type, under(f.Name), visit)
		}
	case *delta.Array:
		inner("element", t.Element)
	case *delta.Map:
		inner("key", t.Key)
		inner("value", t.Value)
	}
}

// schema looks at the partition columns. It is false for ones of which no file can tell values.
func (c *checker) schema(s *step) bool {
	schema, seen, n := s.after.Schema(), map[int]bool{}, len(c.report.Findings)
	if !s.after.HasSchema() {
		return true
	}
	for _, name := range s.after.Metadata().PartitionColumns {
		i := schema.Index(name)
		if i < 0 || seen[i] {
			c.find(SchemaPartition, s.v, s.key, "%s is no column, or named twice", name)
			continue
		}
		seen[i] = true
		switch t := schema.Fields[i].Type.(type) {
		case *delta.Struct, *delta.Array, *delta.Map:
			c.find(SchemaPartition, s.v, s.key, "%s is %s", name, t)
		case delta.Primitive:
			if t == delta.Void || t == delta.Variant {
				c.find(SchemaPartition, s.v, s.key, "%s is %s", name, t)
			}
		}
	}
	if len(seen) > 0 && len(seen) == len(schema.Fields) {
		c.find(SchemaPartition, s.v, s.key, "all columns are partition columns")
	}
	return len(c.report.Findings) == n
}

// marks looks at the high-water marks of identity columns.
func (c *checker) marks(s *step) {
	if s.before == nil || s.returns() || s.replaces() {
		return
	}
	was := map[string]identity{}
	for _, f := range s.before.Schema().Fields {
		if id, ok := identityOf(&f); ok {
			was[f.Name] = id
		}
	}
	for _, f := range s.after.Schema().Fields {
		is, ok := identityOf(&f)
		old := was[f.Name]
		if !ok || old.mark == nil || old.step != is.step || old.start != is.start {
			continue
		}
		if is.mark == nil || is.step > 0 && *is.mark < *old.mark || is.step < 0 && *is.mark > *old.mark {
			c.find(IdentityMark, s.v, s.key, "column %s: it was %d", f.Name, *old.mark)
		}
	}
}

// identity is the rule of an identity column.
type identity struct {
	start, step int64
	mark        *int64
	explicit    bool
}

func identityOf(f *delta.Field) (id identity, ok bool) {
	number := func(key string, to any) bool {
		raw, is := f.Metadata["delta.identity."+key]
		return is && json.Unmarshal(raw, to) == nil
	}
	ok = number("start", &id.start) && number("step", &id.step) && id.step != 0
	number("highWaterMark", &id.mark)
	number("allowExplicitInsert", &id.explicit)
	return id, ok
}

// iceberg looks at what icebergCompat promises.
func (c *checker) iceberg(s *step) {
	v1, v2 := enabled(s.after, "delta.enableIcebergCompatV1"), enabled(s.after, "delta.enableIcebergCompatV2")
	if !v1 && !v2 {
		return
	}
	has := supported(s.after.Protocol())
	switch {
	case !s.defined:
	case v1 && !has["icebergCompatV1"] || v2 && !has["icebergCompatV2"]:
		c.find(IcebergCompat, s.v, s.key, "the protocol does not support it")
	case s.after.Mapping() == delta.MappingNone:
		c.find(IcebergCompat, s.v, s.key, "there is no column mapping")
	case v1 && has["deletionVectors"]:
		c.find(IcebergCompat, s.v, s.key, "deletion vectors are supported")
	}
	for _, f := range s.adds {
		if st, ok := delta.ParseStats(f.Stats); !ok || st.NumRecords == nil {
			c.find(IcebergCompat, s.v, f.Path, "numRecords is missing")
		}
		if f.DeletionVector != nil {
			c.find(IcebergCompat, s.v, f.Path, "it has a deletion vector")
		}
	}
}

package delta

import (
	"fmt"
	"slices"
	"strings"
)

// The versions up to which the protocol is defined; at these, lists of features decide.
const (
	listReader = 3
	listWriter = 7
)

// GateRead is nil if idem may read a table with this protocol, metadata and schema. Otherwise it
// wraps ErrUnsupported, naming the features that idem does not read, or ErrCorrupt if the protocol
// contradicts itself or the metadata has no schema.
func GateRead(p *Protocol, m *Metadata, s *Struct) error {
	if p == nil || m == nil {
		return fmt.Errorf("%w: no protocol or no metaData stands", ErrCorrupt)
	}
	if err := gateReader(p, m, s); err != nil {
		return err
	}
	if !strings.EqualFold(m.Provider, "parquet") {
		return fmt.Errorf("%w: data files of the format %q; idem reads parquet", ErrUnsupported, m.Provider)
	}
	if m.SchemaString == "" {
		return fmt.Errorf("%w: the metaData has no schemaString, so rows cannot be read", ErrCorrupt)
	}
	if err := checkMapping(p, m, s); err != nil {
		return err
	}
	if err := checkTypeChanges(p, s); err != nil {
		return err
	}
	if c := columnOfType(s, Variant); c != "" && !supportsAny(p, "variantType") {
		return fmt.Errorf("%w: reading needs the table feature variantType: the column %s is a variant", ErrUnsupported, c)
	}
	return nil
}

// gateReader looks at the protocol alone, but for features that the metadata proves idle.
func gateReader(p *Protocol, m *Metadata, s *Struct) error {
	if p.MinReaderVersion < 1 || p.MinWriterVersion < 1 {
		return fmt.Errorf("%w: protocol versions (%d,%d); they begin at 1", ErrCorrupt, p.MinReaderVersion, p.MinWriterVersion)
	}
	if name := catalogFeature(p); name != "" {
		return fmt.Errorf("%w: a catalog owns this table (feature %s%s): its commits are known to the catalog only. Use a client of that catalog",
			ErrUnsupported, name, catalogOf(m))
	}
	if p.MinReaderVersion > listReader {
		return fmt.Errorf("%w: the table needs reader version %d; idem reads up to %d", ErrUnsupported, p.MinReaderVersion, listReader)
	}
	if err := checkLists(p); err != nil {
		return fmt.Errorf("%w: protocol (%d,%d): %w", ErrCorrupt, p.MinReaderVersion, p.MinWriterVersion, err)
	}
	var missing []string
	for _, name := range readerNames(p) {
		if f := findFeature(name); f == nil || !f.read && f.used(m, s) {
			missing = append(missing, name)
		}
	}
	return lacking("reading", missing)
}

// readerNames are the features that a reader of the protocol must know. columnMapping counts when
// it stands in the writers' list alone, as some tables of version 3 have it: to ignore the mapping
// would read every column as NULL.
func readerNames(p *Protocol) []string {
	switch p.MinReaderVersion {
	case 2:
		return []string{"columnMapping"}
	case listReader:
		names := slices.Clone(p.ReaderFeatures)
		if slices.Contains(p.WriterFeatures, "columnMapping") && !slices.Contains(names, "columnMapping") {
			names = append(names, "columnMapping")
		}
		return names
	}
	return nil
}

func lacking(what string, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%w: %s needs the table features %s", ErrUnsupported, what, strings.Join(slices.Compact(missing), ", "))
}

func catalogFeature(p *Protocol) string {
	for _, list := range [][]string{p.ReaderFeatures, p.WriterFeatures} {
		if i := slices.IndexFunc(list, ownedByCatalog); i >= 0 {
			return list[i]
		}
	}
	return ""
}

// catalogOf says which catalog owns a table, as far as its properties tell: "" or text with a comma.
func catalogOf(m *Metadata) string {
	for _, key := range []string{"io.unitycatalog.tableId", "ucTableId"} {
		if id := m.Configuration[key]; id != "" {
			return fmt.Sprintf(", in Unity Catalog the table %.80q", id)
		}
	}
	if name := m.Configuration["delta.coordinatedCommits.commitCoordinator-preview"]; name != "" {
		return fmt.Sprintf(", commit coordinator %.80q", name)
	}
	return ""
}

// checkLists says how the lists of features break the protocol. An empty list where none belongs
// says nothing and is let pass.
func checkLists(p *Protocol) error {
	if p.MinWriterVersion > listWriter {
		return nil // a shape not defined yet
	}
	switch readers, writers := p.MinReaderVersion == listReader, p.MinWriterVersion == listWriter; {
	case readers && !writers:
		return fmt.Errorf("reader version 3 goes with writer version 7")
	case readers && p.ReaderFeatures == nil:
		return fmt.Errorf("reader version 3 without readerFeatures")
	case writers && p.WriterFeatures == nil:
		return fmt.Errorf("writer version 7 without writerFeatures")
	case !readers && len(p.ReaderFeatures) > 0:
		return fmt.Errorf("readerFeatures below reader version 3")
	case !writers && len(p.WriterFeatures) > 0:
		return fmt.Errorf("writerFeatures below writer version 7")
	}
	for _, name := range p.ReaderFeatures {
		if !slices.Contains(p.WriterFeatures, name) {
			return fmt.Errorf("%s is in readerFeatures but not in writerFeatures", name)
		}
		if f := findFeature(name); f != nil && !f.reader {
			return fmt.Errorf("%s is a writer's feature but stands in readerFeatures", name)
		}
	}
	for _, name := range p.WriterFeatures {
		f := findFeature(name)
		if f == nil || !f.reader || slices.Contains(p.ReaderFeatures, name) {
			continue
		}
		if name == "columnMapping" && p.MinReaderVersion >= 2 {
			continue
		}
		return fmt.Errorf("%s is a reader's feature but stands in writerFeatures only", name)
	}
	return nil
}

// GateWrite is nil if idem may write to a table with this protocol, metadata and schema; it implies
// GateRead. A feature that idem does not write stops it only while it is in use, where that can be
// told from the definition. It wraps ErrUnsupported or ErrCorrupt as GateRead does.
func GateWrite(p *Protocol, m *Metadata, s *Struct) error {
	if err := GateRead(p, m, s); err != nil {
		return err
	}
	if p.MinWriterVersion > listWriter {
		return fmt.Errorf("%w: the table needs writer version %d; idem writes up to %d", ErrUnsupported, p.MinWriterVersion, listWriter)
	}
	var missing []string
	for _, name := range writerNames(p) {
		if f := findFeature(name); f == nil || !f.write && f.used(m, s) {
			missing = append(missing, name)
		}
	}
	if err := lacking("writing", missing); err != nil {
		return err
	}
	if err := checkVoid(m, s); err != nil {
		return err
	}
	for _, of := range []struct {
		t       Primitive
		feature string
	}{{TimestampNTZ, "timestampNtz"}, {Variant, "variantType"}} {
		if c := columnOfType(s, of.t); c != "" && !supportsAny(p, of.feature) {
			return fmt.Errorf("%w: the column %s is %s but the protocol does not list %s; add the feature before writing", ErrUnsupported, c, of.t, of.feature)
		}
	}
	return ValidateProperties(m)
}

// writerNames are the features that a writer of the protocol must honour. Versions stand for a feature
// that readers must know only if both say so.
func writerNames(p *Protocol) []string {
	if p.MinWriterVersion >= listWriter {
		return p.WriterFeatures
	}
	var names []string
	for _, f := range features {
		if f.legacyWriter > 0 && f.legacyWriter <= p.MinWriterVersion && f.legacyReader <= p.MinReaderVersion {
			names = append(names, f.name)
		}
	}
	return names
}

// Supports says whether the protocol gives effect to a feature. What it does not support is inert,
// whatever the metadata says.
func (p *Protocol) Supports(feature string) bool { return slices.Contains(writerNames(p), feature) }

// Features are the names of the features that the protocol gives effect to: those listed or, without
// lists, those that its writer version stands for. The slice is the caller's.
func (p *Protocol) Features() []string { return slices.Clone(writerNames(p)) }

// ProtocolFor is the lowest protocol that expresses what the definition uses: (1,2) by default, a
// higher pair for features that have one, (1,7), (2,7) or (3,7) with lists for the others. Whether
// idem writes the features is for GateWrite to say.
func ProtocolFor(m *Metadata, s *Struct) Protocol {
	var used []string
	for i := range features {
		if f := &features[i]; f.inUse != nil && f.inUse(m, s) {
			used = append(used, f.name)
		}
	}
	p, err := upgraded(&Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, used, m, s)
	if err != nil {
		panic("delta: a feature needs one that is not in the table of features: " + err.Error())
	}
	return p
}

package delta

import (
	"fmt"
	"slices"
	"strings"
)

// upgraded is the lowest protocol that supports what p does and the features named, with those that
// they need ([PROT-9]): a pair of versions where one says it, lists otherwise. m and s are the
// definition that it shall hold for: versions would also give effect to what stands in them without
// effect, and lists then keep it so ([PROT-8]). An unknown name wraps ErrUnsupported.
func upgraded(p *Protocol, names []string, m *Metadata, s *Struct) (Protocol, error) {
	missing, err := missingFeatures(p, names)
	if err != nil || len(missing) == 0 {
		return *p, err
	}
	if pair, ok := byVersions(p, missing, m, s); ok {
		return pair, nil
	}
	return byLists(p, missing), nil
}

// missingFeatures are the features named, and those that they need, which p does not support.
func missingFeatures(p *Protocol, names []string) ([]*feature, error) {
	var missing []*feature
	names = slices.Clone(names)
	for i := 0; i < len(names); i++ {
		f := findFeature(names[i])
		if f == nil {
			return nil, fmt.Errorf("%w: idem does not know the table feature %q", ErrUnsupported, names[i])
		}
		for _, need := range f.needs {
			if !slices.Contains(names, need) {
				names = append(names, need)
			}
		}
		if !p.Supports(f.name) && !slices.Contains(missing, f) {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// byVersions raises the versions of a protocol without lists. It is false if no pair says just this.
func byVersions(p *Protocol, missing []*feature, m *Metadata, s *Struct) (Protocol, bool) {
	pair := Protocol{MinReaderVersion: p.MinReaderVersion, MinWriterVersion: p.MinWriterVersion}
	for _, f := range missing {
		if f.legacyWriter == 0 {
			return pair, false
		}
		pair.MinReaderVersion = max(pair.MinReaderVersion, f.legacyReader)
		pair.MinWriterVersion = max(pair.MinWriterVersion, f.legacyWriter)
	}
	if pair.MinWriterVersion >= listWriter {
		return pair, false
	}
	for _, name := range writerNames(&pair) {
		f := findFeature(name)
		if !p.Supports(name) && !slices.Contains(missing, f) && f.inUse(m, s) {
			return pair, false
		}
	}
	return pair, true
}

// byLists spells a protocol out. Readers get a list only for a feature that no version says.
func byLists(p *Protocol, missing []*feature) Protocol {
	out := Protocol{MinReaderVersion: p.MinReaderVersion, MinWriterVersion: listWriter, WriterFeatures: p.Features()}
	for _, f := range missing {
		out.WriterFeatures = append(out.WriterFeatures, f.name)
		switch {
		case f.legacyReader > 0:
			out.MinReaderVersion = max(out.MinReaderVersion, f.legacyReader)
		case f.reader:
			out.MinReaderVersion = listReader
		}
	}
	slices.Sort(out.WriterFeatures)
	out.WriterFeatures = slices.Compact(out.WriterFeatures)
	if out.MinReaderVersion == listReader {
		out.ReaderFeatures = readersOf(out.WriterFeatures, p.ReaderFeatures)
	}
	return out
}

// readersOf are those of a writers' list that a reader must know too, and those that stand in the
// readers' list already.
func readersOf(writers, already []string) []string {
	out := append([]string{}, already...)
	for _, name := range writers {
		if f := findFeature(name); f != nil && f.reader && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// supportsAny is true of a feature that the protocol supports, under its own name or that of its
// preview.
func supportsAny(p *Protocol, name string) bool {
	return p.Supports(name) || p.Supports(name+"-preview")
}

// featureProperty is the prefix of the names that Delta has for "support this feature", which are
// never stored.
const featureProperty = "delta.feature."

// EnableFeature supports a table feature, and those that it needs, in the protocol. Whether the
// feature then acts is for properties and columns to say: a property that was set without effect takes
// effect, with what follows from it (see [Snapshot.SetProperties]). A feature that idem does not know, does
// not write, or must leave to a catalog wraps [ErrUnsupported].
func (s *Snapshot) EnableFeature(fresh Fresh, name string) (*Edit, error) {
	if ownedByCatalog(name) {
		return nil, fmt.Errorf("enable the feature %s: the table would belong to a catalog; use a client of that catalog: %w", name, ErrUnsupported)
	}
	f := findFeature(name)
	if f == nil {
		return nil, fmt.Errorf("enable the feature %q: idem does not know it; names are spelled exactly, e.g. deletionVectors: %w", name, ErrUnsupported)
	}
	if !f.write {
		return nil, fmt.Errorf("enable the feature %s: idem does not write tables with it: %w", name, ErrUnsupported)
	}
	if strings.HasSuffix(name, "-preview") && s.Protocol().Supports(strings.TrimSuffix(name, "-preview")) {
		return nil, nil // the same feature, under its final name
	}
	d, what := s.draft(fresh), "enable the feature "+name
	d.features = []string{name}
	if err := d.follow(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

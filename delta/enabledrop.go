package delta

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Drop is how a table feature leaves a table. The parts that are set are carried out in order, and
// the question is asked again on what stands then, until Last is set alone.
type Drop struct {
	// First ends the use of the feature: to be committed at once, so that no writer goes on using it.
	First *Edit

	// Needs are what must become true of the table's files after that, by commits that change no data.
	Needs []Need

	// Last takes the feature out of the protocol. It must be committed as a write that read the whole
	// table: whatever another writer commits meanwhile may use the feature again. nil while something
	// else is to be done.
	Last *Edit

	// History is what the log needs before Last.
	History History
}

// Need is something that must be true of a table's files before a feature is dropped.
type Need string

// The needs.
const (
	// NeedNoVectors: no live file has a deletion vector; rewrite those that have.
	NeedNoVectors Need = "no vectors"
	// NeedNoRowIDs: no live file has a BaseRowID; commit those that have again without.
	NeedNoRowIDs Need = "no row ids"
	// NeedPresentTypes: every live file holds the columns with the types that they have now; rewrite
	// those that were written before a change of type.
	NeedPresentTypes Need = "present types"
)

// History is what the log needs before a feature is dropped.
type History string

// The rules for the history of a table.
const (
	// HistoryAny: older versions may use the feature; only writers had to know it.
	HistoryAny History = ""
	// HistoryCheckpoint: a checkpoint of the present version, in the classic form, stands behind the
	// versions that use the feature: readers that do not know it begin there. Last adds the feature
	// checkpointProtection, by which the checkpoint is kept.
	HistoryCheckpoint History = "checkpoint"
	// HistoryTruncated: no version that uses the feature can be read any more; clean the log up to
	// the present version, when older versions are no longer wanted.
	HistoryTruncated History = "truncated"
)

// DropRequest says which feature is to be dropped, and what the snapshot cannot tell.
type DropRequest struct {
	_ struct{}

	Feature string

	// TruncateHistory wants older versions removed rather than protected.
	TruncateHistory bool

	// Version is the version at which Last will be committed, Oldest the oldest version that can
	// still be read.
	Version, Oldest int64

	// Met are the needs that the caller has seen to since First was committed.
	Met []Need
}

// droppable are the features that can be dropped, which are those that Delta 4.2 can drop and that
// are not a catalog's, with what ends their use.
var droppable = map[string]func(d *draft, r *DropRequest) ([]Need, error){
	"checkConstraints":     dropConstraints,
	"checkpointProtection": dropProtection,
	"columnMapping":        dropMapping,
	"deletionVectors":      dropVectors,
	"domainMetadata":       dropDomains,
	"inCommitTimestamp":    dropTimestamps,
	"rowTracking":          dropRowTracking,
	"typeWidening":         dropWidening,
	"typeWidening-preview": dropWidening,
	"v2Checkpoint":         dropV2Checkpoint,
	"vacuumProtocolCheck":  func(*draft, *DropRequest) ([]Need, error) { return nil, nil },
}

// DropFeature says what to do to take a feature out of a table's protocol. It is nil if the protocol
// does not support the feature. A feature that idem does not know wraps [ErrUnsupported]; one that Delta lets no
// table lose, or that another feature or a constraint needs, wraps [ErrInput] with what can be done.
func (s *Snapshot) DropFeature(r DropRequest) (*Drop, error) {
	drop, err := s.dropFeature(&r)
	if err != nil {
		return nil, fmt.Errorf("drop the feature %s: %w", r.Feature, err)
	}
	return drop, nil
}

func (s *Snapshot) dropFeature(r *DropRequest) (*Drop, error) {
	f, end := findFeature(r.Feature), droppable[r.Feature]
	switch {
	case f == nil:
		return nil, fmt.Errorf("idem does not know it; names are spelled exactly, e.g. deletionVectors: %w", ErrUnsupported)
	case !s.Protocol().Supports(f.name):
		return nil, nil
	case end == nil:
		return nil, fmt.Errorf("it is none that Delta takes out of a table again: %s: %w", s.endOfUse(f.name), ErrInput)
	case !f.write:
		return nil, fmt.Errorf("idem does not write tables with it: %w", ErrUnsupported)
	}
	for i := range features {
		if other := &features[i]; slices.Contains(other.needs, f.name) && s.Protocol().Supports(other.name) {
			return nil, fmt.Errorf("the feature %s, which the table has, needs it: drop that first: %w", other.name, ErrInput)
		}
	}
	d := s.draft(Fresh{})
	needs, err := end(d, r)
	if err != nil {
		return nil, err
	}
	drop := &Drop{Needs: slices.DeleteFunc(needs, func(n Need) bool { return slices.Contains(r.Met, n) })}
	if drop.First, err = d.changes(); err != nil {
		return nil, err
	}
	return drop, s.complete(drop, f, r)
}

// endOfUse says what can be done instead of dropping a feature for which Delta has no such step.
func (s *Snapshot) endOfUse(name string) string {
	for _, key := range slices.Sorted(maps.Keys(featureOf)) {
		if featureOf[key] != name {
			continue
		}
		if isTrue(s.Metadata(), key) {
			return fmt.Sprintf("set %s to false, which ends its use", key)
		}
		return fmt.Sprintf("%s is not true, so it is not in use", key)
	}
	if f := findFeature(name); f.idle && !f.inUse(s.Metadata(), s.Schema()) {
		return "the table makes no use of it, so it asks nothing of a writer"
	}
	return "to have the rows without it, write them to a new table"
}

// complete adds the last step, if it is the next one.
func (s *Snapshot) complete(drop *Drop, f *feature, r *DropRequest) error {
	last := s.draft(Fresh{})
	last.protocol = downgraded(s.Protocol(), f.name)
	tidyUp(last, f.name)
	switch {
	case f.name == "checkpointProtection":
		drop.History = HistoryTruncated
	case f.reader && r.TruncateHistory:
		drop.History = HistoryTruncated
	case f.reader:
		drop.History = HistoryCheckpoint
		if err := last.protect(r.Version); err != nil {
			return err
		}
	}
	if drop.First != nil || len(drop.Needs) > 0 {
		return nil
	}
	last.settled = true
	var err error
	drop.Last, err = last.changes()
	return err
}

// protect keeps the checkpoints before a version.
func (d *draft) protect(version int64) error {
	var err error
	d.protocol, err = upgraded(&d.protocol, []string{"checkpointProtection"}, &d.meta, d.schema)
	before, _ := strconv.ParseInt(d.meta.Configuration[keyCheckpointProtection], 10, 64)
	d.meta.Configuration[keyCheckpointProtection] = strconv.FormatInt(max(before, version), 10)
	return err
}

// tidyUp takes out of a definition what says nothing without the feature.
func tidyUp(d *draft, name string) {
	conf := d.meta.Configuration
	switch name {
	case "rowTracking":
		for _, key := range []string{keyRowTracking, keyRowIDs, keyCommitVersions, keyRowTrackingSuspended} {
			delete(conf, key)
		}
		d.domains = append(d.domains, removedDomains(d.was, "delta.rowTracking")...)
	case "checkpointProtection":
		delete(conf, keyCheckpointProtection)
	case "typeWidening", "typeWidening-preview":
		if !supportsAny(&d.protocol, "typeWidening") {
			d.schema = withoutKeys(d.schema, typeChangesKey).(*Struct)
		}
	}
}

// downgraded is a protocol without a feature: a pair of versions where one says just the rest.
func downgraded(p *Protocol, name string) Protocol {
	rest := slices.DeleteFunc(p.Features(), func(n string) bool { return n == name })
	slices.Sort(rest)
	reader := 1
	if slices.Contains(rest, mappingFeature) {
		reader = 2
	}
	for w := 1; w < listWriter; w++ {
		pair := Protocol{MinReaderVersion: reader, MinWriterVersion: w}
		names := pair.Features()
		if slices.Sort(names); slices.Equal(names, rest) {
			return pair
		}
	}
	out := Protocol{MinReaderVersion: 1, MinWriterVersion: listWriter, WriterFeatures: rest}
	for _, n := range rest {
		switch f := findFeature(n); {
		case f == nil || !f.reader:
		case f.legacyReader > 0:
			out.MinReaderVersion = max(out.MinReaderVersion, f.legacyReader)
		default:
			out.MinReaderVersion = listReader
		}
	}
	if out.MinReaderVersion == listReader {
		out.ReaderFeatures = readersOf(rest, nil)
	}
	return out
}

func dropConstraints(d *draft, _ *DropRequest) ([]Need, error) {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(d.meta.Configuration)) {
		if name, ok := strings.CutPrefix(key, constraintPrefix); ok {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("the table has the constraints %s: drop them first: %w", strings.Join(names, ", "), ErrInput)
	}
	return nil, nil
}

func dropProtection(d *draft, r *DropRequest) ([]Need, error) {
	before, _ := strconv.ParseInt(d.meta.Configuration[keyCheckpointProtection], 10, 64)
	switch {
	case !r.TruncateHistory:
		return nil, fmt.Errorf("it goes only together with the history that it protects: ask for the history to be truncated: %w", ErrInput)
	case r.Oldest < before:
		return nil, fmt.Errorf("version %d can still be read, and the versions before %d need the protection: clean the log up first, when they have expired: %w",
			r.Oldest, before, ErrInput)
	}
	return nil, nil
}

func dropVectors(d *draft, _ *DropRequest) ([]Need, error) {
	delete(d.meta.Configuration, "delta.enableDeletionVectors")
	return needOf(d.was, NeedNoVectors, func(f *Add) bool { return f.DeletionVector != nil }), nil
}

// needOf is a need that some file of the table has.
func needOf(s *Snapshot, n Need, has func(*Add) bool) []Need {
	for f := range s.Files() {
		if has(f) {
			return []Need{n}
		}
	}
	return nil
}

// dropMapping gives files their columns' names. Where every file has them already, which is when no
// column was ever renamed or dropped, files stay.
func dropMapping(d *draft, _ *DropRequest) ([]Need, error) {
	if mode, _ := effectiveMapping(d.was.Protocol(), d.was.Metadata()); mode == MappingNone {
		return nil, nil
	}
	leaves := 0
	if err := (newRules{}).structure(d.schema, "", 0, &leaves); err != nil {
		return nil, err
	}
	d.rewrite = d.was.NumFiles() > 0 && !neverRenamed(d.schema, d.meta.Configuration)
	if d.rewrite && isTrue(&d.meta, "delta.enableChangeDataFeed") {
		return nil, fmt.Errorf("columns were renamed or dropped, so that every file has to be rewritten, which goes with no change data feed: "+
			"set delta.enableChangeDataFeed to false first: %w", ErrInput)
	}
	d.schema = withoutMapping(d.schema).(*Struct)
	delete(d.meta.Configuration, propMappingMode)
	delete(d.meta.Configuration, keyMaxColumnID)
	d.settled = true
	return nil, d.clusterByNames()
}

// clusterByNames says by their own names what columns cluster the table, which the log had as files have
// them: another column may bear such a name by now.
func (d *draft) clusterByNames() error {
	stored := d.was.clusteringPaths()
	if len(stored) == 0 {
		return nil
	}
	named := make([][]string, len(stored))
	for i, path := range stored {
		var t Type = d.was.Schema()
		for _, name := range path {
			at, ok := t.(*Struct)
			j := -1
			if ok {
				j = slices.IndexFunc(at.Fields, func(f Field) bool { return f.PhysicalName() == name })
			}
			if j < 0 {
				return fmt.Errorf("the table is clustered by %s, which its schema does not have: %w", showPath(path), ErrCorrupt)
			}
			named[i], t = append(named[i], at.Fields[j].Name), at.Fields[j].Type
		}
	}
	return d.clusterBy(named, false)
}

// neverRenamed is true if every column has its own name in files, and none was ever dropped: ids
// count the columns that there were.
func neverRenamed(s *Struct, conf map[string]string) bool {
	columns := int64(0)
	other := findField(s, "", func(f *Field) bool {
		columns++
		_, nested := f.Metadata[nestedIDsKey]
		return f.PhysicalName() != f.Name || nested
	})
	return other == "" && highestID(s, conf) == columns
}

func dropDomains(d *draft, _ *DropRequest) ([]Need, error) {
	d.domains = removedDomains(d.was)
	return nil, nil
}

// removedDomains are the tombstones of domains that stand: of those named, or of all.
func removedDomains(s *Snapshot, names ...string) []DomainMetadata {
	var out []DomainMetadata
	for x := range s.Domains() {
		if len(names) == 0 || slices.Contains(names, x.Domain) {
			x.Removed = true
			out = append(out, x)
		}
	}
	return out
}

func dropTimestamps(d *draft, _ *DropRequest) ([]Need, error) {
	for _, key := range []string{keyInCommitTimestamps, keyEnablementVersion, keyEnablementTimestamp} {
		delete(d.meta.Configuration, key)
	}
	return nil, nil
}

// dropRowTracking suspends it first, so that no commit gives ids while those there are go.
func dropRowTracking(d *draft, _ *DropRequest) ([]Need, error) {
	needs := needOf(d.was, NeedNoRowIDs, func(f *Add) bool { return f.BaseRowID != nil })
	if len(needs) == 0 && !isTrue(&d.meta, keyRowTracking) {
		return nil, nil
	}
	delete(d.meta.Configuration, keyRowTracking)
	d.meta.Configuration[keyRowTrackingSuspended] = "true"
	return needs, nil
}

func dropWidening(d *draft, _ *DropRequest) ([]Need, error) {
	delete(d.meta.Configuration, "delta.enableTypeWidening")
	if d.was.NumFiles() > 0 && fieldKey(typeChangesKey)(nil, d.schema) {
		return []Need{NeedPresentTypes}, nil
	}
	return nil, nil
}

func dropV2Checkpoint(d *draft, _ *DropRequest) ([]Need, error) {
	if checkpointPolicyV2(&d.meta, nil) {
		d.meta.Configuration["delta.checkpointPolicy"] = "classic"
	}
	return nil, nil
}

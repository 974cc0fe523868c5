package delta

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// versionProperties are the names under which a protocol is asked for by its versions. They are never
// stored.
var versionProperties = []string{"delta.minReaderVersion", "delta.minWriterVersion"}

// unkeptProperties are those whose promise idem does not keep when they are true, or not empty,
// with what it would have to do.
var unkeptProperties = map[string]string{
	"delta.compatibility.symlinkFormatManifest.enabled": "write a manifest beside each commit",
	"delta.universalFormat.enabledFormats":              "write the metadata of other formats beside each commit",
}

// SetProperties sets table properties, with what follows from them: the features that they use are
// supported, column mapping (from none to name) gives every column its id, in-commit timestamps
// have it noted since when they are (fresh.Version and fresh.Timestamp), row tracking names its hidden
// columns and asks for a backfill. "delta.feature.NAME": "supported" supports a feature and is not
// stored, and so are delta.minReaderVersion and delta.minWriterVersion.
//
// A name under "delta." that Delta does not have, a value that the property cannot have, constraints
// (see [Snapshot.AddConstraint]) and properties that follow from others wrap [ErrInput]. Properties
// whose promise idem does not keep wrap [ErrUnsupported].
func (s *Snapshot) SetProperties(fresh Fresh, properties map[string]string) (*Edit, error) {
	d := s.draft(fresh)
	if err := d.setProperties(properties); err != nil {
		return nil, fmt.Errorf("set properties: %w", err)
	}
	if err := d.follow(); err != nil {
		return nil, fmt.Errorf("set properties: %w", err)
	}
	return d.finish("set properties")
}

func (d *draft) setProperties(properties map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		value := properties[key]
		if name, ok := strings.CutPrefix(key, featureProperty); ok {
			if err := d.ask(name, value); err != nil {
				return err
			}
			continue
		}
		if slices.Contains(versionProperties, key) {
			if err := d.askVersion(key, value); err != nil {
				return err
			}
			continue
		}
		if err := checkSettable(key, value); err != nil {
			return err
		}
		d.meta.Configuration[key] = value
		if name, ok := featureOf[key]; ok && findFeature(name).inUse(&d.meta, d.schema) && !supportsAny(d.was.Protocol(), name) {
			d.features = append(d.features, name) // also where the value stood there without effect
		}
	}
	return nil
}

// featureOf are the features that a property uses.
var featureOf = map[string]string{
	keyAppendOnly:                  "appendOnly",
	keyInCommitTimestamps:          "inCommitTimestamp",
	keyRowTracking:                 "rowTracking",
	propMappingMode:                mappingFeature,
	"delta.checkpointPolicy":       "v2Checkpoint",
	"delta.enableChangeDataFeed":   "changeDataFeed",
	"delta.enableDeletionVectors":  "deletionVectors",
	"delta.enableIcebergCompatV1":  "icebergCompatV1",
	"delta.enableIcebergCompatV2":  "icebergCompatV2",
	"delta.enableIcebergCompatV3":  "icebergCompatV3",
	"delta.enableTypeWidening":     "typeWidening",
	"delta.enableVariantShredding": "variantShredding",
}

// acts says whether a property that is a flag has effect before the edit, and whether it will have.
func (d *draft) acts(key string) (before, after bool) {
	name := featureOf[key]
	supported := d.was.Protocol().Supports(name)
	before = supported && isTrue(d.was.Metadata(), key)
	after = isTrue(&d.meta, key) && (supported || d.creating || slices.Contains(d.features, name))
	return before, after
}

func checkSettable(key, value string) error {
	if !strings.HasPrefix(key, "delta.") {
		return checkOwnName(key)
	}
	if strings.HasPrefix(key, constraintPrefix) {
		return fmt.Errorf("%s is a constraint: add it as one, so that the rows are checked: %w", key, ErrInput)
	}
	if why, managed := managedProperties[key]; managed {
		return fmt.Errorf("%s cannot be set: %s: %w", key, why, ErrInput)
	}
	p, ok := propertyOf(key)
	if !ok {
		return RefuseUnknownProperties(map[string]string{key: value})
	}
	if !p.valid(value) {
		return fmt.Errorf("%s cannot have the value %q: it is %s: %w", key, value, p.are, ErrInput)
	}
	if key == keyIsolation && strings.EqualFold(value, "SnapshotIsolation") {
		return fmt.Errorf("%s is Serializable or WriteSerializable; %s is what commits have that change no data: %w", key, value, ErrInput)
	}
	if what, promised := unkeptProperties[key]; promised && value != "" && !strings.EqualFold(value, "false") {
		return fmt.Errorf("%s=%s would have every writer %s, which idem does not: %w", key, value, what, ErrUnsupported)
	}
	return nil
}

// checkOwnName refuses names of properties that are nobody's: none at all, and what reads like one of Delta's.
func checkOwnName(key string) error {
	switch name := strings.TrimSpace(key); {
	case name == "":
		return fmt.Errorf("a table property has the name %q: give it one: %w", key, ErrInput)
	case len(name) >= len(deltaPrefix) && strings.EqualFold(name[:len(deltaPrefix)], deltaPrefix):
		return fmt.Errorf("the table property %q: names that begin with \"delta.\" are Delta's and are spelled exactly: write %q: %w",
			key, deltaPrefix+name[len(deltaPrefix):], ErrInput)
	}
	return nil
}

// deltaPrefix begins the names of the properties that are Delta's.
const deltaPrefix = "delta."

// ask takes delta.feature.NAME.
func (d *draft) ask(name, value string) error {
	if !isOneOf("supported", "enabled")(value) {
		return fmt.Errorf("%s%s has the value supported, or is left out, and not %q: %w", featureProperty, name, value, ErrInput)
	}
	if ownedByCatalog(name) {
		return fmt.Errorf("the feature %s gives the table to a catalog; use a client of that catalog: %w", name, ErrUnsupported)
	}
	if findFeature(name) == nil {
		return fmt.Errorf("idem does not know the table feature %q: %w", name, ErrUnsupported)
	}
	d.features = append(d.features, name)
	return nil
}

// askVersion takes a version of the protocol: for the features that it stands for. Those of lists, 3 and 7, stand
// for none.
func (d *draft) askVersion(key, value string) error {
	n, err := strconv.Atoi(value)
	reader := key == versionProperties[0]
	if highest := map[bool]int{true: listReader, false: listWriter}[reader]; err != nil || n < 1 || n > highest {
		return fmt.Errorf("%s is 1 to %d, not %q: %w", key, highest, value, ErrInput)
	}
	d.versions[key] = n
	for i := range features {
		f := &features[i]
		if reader && f.legacyReader > 0 && f.legacyReader <= n && n < listReader || !reader && f.legacyWriter > 0 && f.legacyWriter <= n && n < listWriter {
			d.features = append(d.features, f.name)
		}
	}
	return nil
}

// checkVersions refuses a version that was asked for and that nothing brings about.
func (d *draft) checkVersions() error {
	for _, key := range versionProperties {
		if n := d.protocol.version(key); n < d.versions[key] {
			return fmt.Errorf("%s=%d says only that features are listed, and the table would have %d for those that it uses: "+
				"leave it out, and name the features that it shall have, %sNAME=supported: %w", key, d.versions[key], n, featureProperty, ErrInput)
		}
	}
	return nil
}

// version is that of the two which a property asks for.
func (p *Protocol) version(key string) int {
	if key == versionProperties[0] {
		return int(p.MinReaderVersion)
	}
	return int(p.MinWriterVersion)
}

// PropertyDifference names a property of which a table has not what a new table that is given it would
// have: the property or the feature that it asks for, and what the table has and a new one would have. A property
// that is given as what holds without it makes no difference where it is not set.
func (s *Snapshot) PropertyDifference(given map[string]string) (what, have, want string, differs bool) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		want := given[key]
		feature, asks := strings.CutPrefix(key, featureProperty)
		asked, _ := strconv.Atoi(want)
		have, set := s.Property(key)
		switch {
		case asks:
			if !s.Protocol().Supports(feature) {
				return "the feature " + feature, "not supported", "supported", true
			}
		case slices.Contains(versionProperties, key):
			if n := s.Protocol().version(key); n < asked {
				return "the version " + key, strconv.Itoa(n), want, true
			}
		case !set && !IsDefault(key, want):
			return "property " + key, "not set", want, true
		case set && have != want:
			return "property " + key, have, want, true
		}
	}
	return "", "", "", false
}

// follow brings the rest of a definition into line with its properties.
func (d *draft) follow() error {
	d.followTimestamps()
	if err := d.followRowTracking(); err != nil {
		return err
	}
	if on := isTrue(&d.meta, "delta.enableChangeDataFeed"); on {
		for i := range d.schema.Fields {
			if err := refuseReserved(d.schema.Fields[i].Name); err != nil {
				return err
			}
		}
	}
	if list, set := d.meta.Configuration[propStatsColumns]; set && list != d.was.Metadata().Configuration[propStatsColumns] {
		if err := checkStatsColumns(d.schema, list); err != nil {
			return err
		}
	}
	if isTrue(&d.meta, icebergCompat[1]) && !isTrue(d.was.Metadata(), icebergCompat[1]) {
		return d.was.refuseVectors(icebergCompat[1] + " does not go with deletion vectors")
	}
	return nil
}

// followTimestamps notes since when commits have timestamps of their own: from the first commit on if
// nothing is noted.
func (d *draft) followTimestamps() {
	before, after := d.acts(keyInCommitTimestamps)
	switch {
	case d.creating: // every commit has one, or none
	case after && !before:
		d.meta.Configuration[keyEnablementVersion] = strconv.FormatInt(d.fresh.Version, 10)
		d.meta.Configuration[keyEnablementTimestamp] = strconv.FormatInt(d.fresh.Timestamp, 10)
	case before && !after:
		delete(d.meta.Configuration, keyEnablementVersion)
		delete(d.meta.Configuration, keyEnablementTimestamp)
	}
}

// followRowTracking names the hidden columns of row ids, and says whether files lack ids.
func (d *draft) followRowTracking() error {
	before, after := d.acts(keyRowTracking)
	if !after {
		return nil
	}
	if isTrue(&d.meta, keyRowTrackingSuspended) {
		return fmt.Errorf("%s=true does not go with %s=true: %w", keyRowTracking, keyRowTrackingSuspended, ErrInput)
	}
	if before {
		return nil
	}
	if err := d.nameRowIDs(); err != nil {
		return err
	}
	for f := range d.was.Files() {
		if f.BaseRowID == nil {
			d.backfill = true
			break
		}
	}
	return nil
}

// HiddenColumns are the properties that name the columns in which files hold the ids of rows that were copied into
// them and their versions, and how such a name begins.
var HiddenColumns = []struct{ Property, Prefix string }{
	{keyRowIDs, "_row-id-col-"}, {keyCommitVersions, "_row-commit-version-col-"},
}

func (d *draft) nameRowIDs() error {
	for _, hidden := range HiddenColumns {
		if d.meta.Configuration[hidden.Property] != "" {
			continue
		}
		if d.fresh.ID == nil {
			return fmt.Errorf("%s needs names for hidden columns, and no source of ids was given: %w", keyRowTracking, ErrInput)
		}
		d.meta.Configuration[hidden.Property] = hidden.Prefix + d.fresh.ID()
	}
	return nil
}

// SetName gives the table a name, which says nothing to engines; "" takes the name away.
func (s *Snapshot) SetName(name string) (*Edit, error) {
	d := s.draft(Fresh{})
	d.meta.Name = name
	return d.finish("name the table")
}

// SetDescription describes the table in words; "" takes the description away.
func (s *Snapshot) SetDescription(text string) (*Edit, error) {
	d := s.draft(Fresh{})
	d.meta.Description = text
	return d.finish("describe the table")
}

// UnsetProperties takes properties away, so that their defaults hold. Those that are not set are passed
// over. Constraints, and properties that follow from others, wrap [ErrInput].
func (s *Snapshot) UnsetProperties(keys ...string) (*Edit, error) {
	d := s.draft(Fresh{})
	for _, key := range keys {
		if _, set := d.meta.Configuration[key]; !set {
			continue
		}
		if strings.HasPrefix(key, constraintPrefix) {
			return nil, fmt.Errorf("unset properties: %s is a constraint: drop it as one: %w", key, ErrInput)
		}
		if why, managed := managedProperties[key]; managed {
			return nil, fmt.Errorf("unset properties: %s cannot be unset: %s: %w", key, why, ErrInput)
		}
		delete(d.meta.Configuration, key)
	}
	if err := d.follow(); err != nil {
		return nil, fmt.Errorf("unset properties: %w", err)
	}
	return d.finish("unset properties")
}

package logcheck

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// leftover says of a feature what stays behind when the protocol no longer has it: the metadata would
// mean nothing, and mean something again when the feature comes back; a reader that does not know the
// feature would misread files.
type leftover struct {
	properties []string // which say nothing else
	switches   []string // which must not be on
	domains    []string // "" is any
	field      []string // keys of the metadata of a field
	file       func(*delta.Add) bool
}

// leftovers are of the features that can be told from a table.
var leftovers = map[string]leftover{
	"appendOnly":       {switches: []string{"delta.appendOnly"}},
	"invariants":       {field: []string{"delta.invariants"}},
	"checkConstraints": {properties: []string{constraintPrefix}},
	"changeDataFeed":   {switches: []string{"delta.enableChangeDataFeed"}},
	"generatedColumns": {field: []string{"delta.generationExpression"}},
	"identityColumns":  {field: []string{"delta.identity.start", "delta.identity.step", "delta.identity.highWaterMark"}},
	"columnMapping": {properties: []string{"delta.columnMapping.mode", "delta.columnMapping.maxColumnId"},
		field: []string{"delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.columnMapping.nested.ids"}},
	"deletionVectors": {switches: []string{"delta.enableDeletionVectors"}, file: func(f *delta.Add) bool { return f.DeletionVector != nil }},
	"typeWidening":    {switches: []string{"delta.enableTypeWidening"}, field: []string{typeChangesKey}},
	"domainMetadata":  {domains: []string{""}},
	"rowTracking": {switches: []string{"delta.enableRowTracking"}, domains: []string{"delta.rowTracking"},
		properties: []string{"delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"},
		file:       func(f *delta.Add) bool { return f.BaseRowID != nil || f.CommitVersion != nil }},
	"clustering": {domains: []string{"delta.clustering"}},
	"inCommitTimestamp": {switches: []string{"delta.enableInCommitTimestamps"},
		properties: []string{"delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"}},
	"allowColumnDefaults":  {field: []string{"CURRENT_DEFAULT"}},
	"icebergCompatV1":      {switches: []string{"delta.enableIcebergCompatV1"}},
	"icebergCompatV2":      {switches: []string{"delta.enableIcebergCompatV2"}},
	"v2Checkpoint":         {},
	"checkpointProtection": {properties: []string{protectedBefore}},
}

const (
	constraintPrefix = "delta.constraints."
	typeChangesKey   = "delta.typeChanges"
	protectedBefore  = "delta.requireCheckpointProtectionBeforeVersion"
)

// family is a feature without what tells a preview from what became of it.
func family(feature string) string { return strings.TrimSuffix(feature, "-preview") }

// dropped looks at the features that a commit takes out of the protocol, and says whether there are such. By
// its name DROP FEATURE drops one, which idem does by no other; another engine may call it something else where
// nothing shows of the feature any more.
func (c *checker) dropped(s *step) (any bool) {
	now := map[string]bool{}
	for name := range supported(s.after.Protocol()) {
		now[family(name)] = true
		delete(c.goneSince, family(name))
	}
	for _, name := range slices.Sorted(maps.Keys(supported(s.before.Protocol()))) {
		if now[family(name)] {
			continue
		}
		any = true
		c.goneSince[family(name)] = s.v
		left, readable := strings.Join(append(switchedOn(family(name), s.after), c.leftBy(family(name), s.after)...), ", "), ""
		if readersToo[name] {
			readable = c.readable(s, name)
		}
		switch named := s.info.Operation == "DROP FEATURE" && s.info.OperationParameters["featureName"] == name; {
		case !named && (s.ours || left+readable != ""):
			c.find(ProtocolLowered, s.v, s.key, "%s is gone (%s%s)", name, left, readable)
		case left != "":
			c.find(FeatureLeft, s.v, s.key, "%s is dropped, and there is still %s", name, left)
		case readable != "":
			c.find(FeatureHistory, s.v, s.key, "%s is dropped: %s", name, readable)
		}
	}
	return any
}

// switchedOn names the properties that still turn a feature on.
func switchedOn(feature string, snap *delta.Snapshot) (left []string) {
	for _, key := range leftovers[feature].switches {
		if enabled(snap, key) {
			left = append(left, "the property "+key)
		}
	}
	if feature == "v2Checkpoint" && strings.EqualFold(property(snap, "delta.checkpointPolicy"), "v2") {
		left = append(left, "the property delta.checkpointPolicy")
	}
	return left
}

// leftBy names what a feature left in a table.
func (c *checker) leftBy(feature string, snap *delta.Snapshot) (left []string) {
	l := leftovers[feature]
	for key := range snap.Metadata().Configuration {
		if slices.Contains(l.properties, key) || slices.Contains(l.properties, constraintPrefix) && strings.HasPrefix(key, constraintPrefix) {
			left = append(left, "the property "+key)
		}
	}
	for d := range snap.Domains() {
		if slices.Contains(l.domains, "") || slices.Contains(l.domains, d.Domain) {
			left = append(left, "the domain "+d.Domain)
		}
	}
	if snap.HasSchema() && len(l.field) > 0 {
		walk(snap.Schema(), nil, func(path []string, f *delta.Field, _ delta.Type) {
			for _, key := range l.field {
				if f != nil && f.Metadata[key] != nil {
					left = append(left, key+" of "+strings.Join(path, "."))
				}
			}
		})
	}
	if l.file != nil {
		for f := range snap.Files() {
			if l.file(f) {
				left = append(left, "its mark on "+f.Path)
				break
			}
		}
	}
	slices.Sort(left)
	return left
}

// readable says what is wrong with the versions before one that drops a feature of readers, "" if nothing is.
// Readers that do not know it must be able to begin behind the last version that uses it: that is gone, or there
// is a checkpoint that they know, which checkpointProtection keeps.
func (c *checker) readable(s *step, feature string) string {
	last := int64(-1)
	for v := s.v - 1; last < 0 && c.snaps[v] != nil; v-- {
		if c.uses(c.snaps[v], feature) {
			last = v
		}
	}
	if last < 0 {
		return ""
	}
	before, _ := strconv.ParseInt(property(s.after, protectedBefore), 10, 64)
	if !supported(s.after.Protocol())["checkpointProtection"] || before < s.v {
		return fmt.Sprintf("version %d uses it and can be read, and nothing protects the checkpoints before version %d", last, s.v)
	}
	v2 := supported(s.after.Protocol())["v2Checkpoint"]
	for v := last + 1; v < s.v; v++ {
		if slices.ContainsFunc(c.checkpoints[v], func(cp checkpoint) bool { return v2 || cp.kind != delta.CheckpointUUID }) {
			return ""
		}
	}
	return fmt.Sprintf("version %d uses it, and no checkpoint stands between it and version %d", last, s.v)
}

func property(snap *delta.Snapshot, key string) string {
	text, _ := snap.Property(key)
	return text
}

// uses says whether a version makes use of a feature that readers must know. What its metadata say beside does
// not matter: that of the commit that drops the feature stands in for it.
func (c *checker) uses(snap *delta.Snapshot, feature string) bool {
	switch feature {
	case "columnMapping":
		return snap.Mapping() != delta.MappingNone
	case "v2Checkpoint":
		return slices.ContainsFunc(c.checkpoints[snap.Version()], func(cp checkpoint) bool { return cp.kind == delta.CheckpointUUID })
	case "deletionVectors":
		return len(c.leftBy(feature, snap)) > 0
	}
	return len(switchedOn(family(feature), snap)) > 0
}

// protection looks at the checkpoints that must stay. They go only together with all versions before
// the one that the property names.
func (c *checker) protection() {
	before, _ := strconv.ParseInt(property(c.snap, protectedBefore), 10, 64)
	if !supported(c.snap.Protocol())["checkpointProtection"] || before <= 0 {
		return
	}
	oldest, newest := int64(-1), c.snap.Version()
	for v := range newest + 1 {
		if c.commits[v] {
			oldest = v
			break
		}
	}
	if oldest <= 0 || oldest >= before {
		return // all of them are there, or none
	}
	for v := range oldest + 1 {
		if len(c.checkpoints[v]) > 0 {
			return
		}
	}
	c.find(CheckpointKept, oldest, delta.CommitKey(oldest), "versions from %d on are there, which are before version %d, and no checkpoint to read them from", oldest, before)
}

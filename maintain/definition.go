package maintain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/idemtable/idem/delta"
)

// Properties of a table that tell of its past and therefore do not go back with its definition.
const (
	mappingMode  = "delta.columnMapping.mode"
	mappingMaxID = "delta.columnMapping.maxColumnId"
	fieldID      = "delta.columnMapping.id"
	fieldName    = "delta.columnMapping.physicalName"
)

// ofTheLog are properties by which the log is read: they stay as they are.
var ofTheLog = []string{
	"delta.enableInCommitTimestamps", "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp",
	"delta.requireCheckpointProtectionBeforeVersion",
}

// definitionBack are the actions that give a table the definition that it had, with the numbers that its
// identity columns gave since, and the ids that columns got. anew says that the row ids that it had are not those of now;
// fresh gives ids. What the features that the table has since do not go with wraps [idem.ErrInput].
func definitionBack(now, then *delta.Snapshot, given *given, anew bool, fresh func() string) ([]delta.Action, error) {
	var out []delta.Action
	p := united(now.Protocol(), then.Protocol())
	if p != now.Protocol() {
		out = append(out, delta.Action{Protocol: p})
	}
	m, schema, err := metadataBack(now, then, given)
	if err != nil {
		return nil, err
	}
	if err := goesTogether(p, m, schema, then); err != nil {
		return nil, err
	}
	hide(m, now, anew, fresh)
	if !sameMetadata(m, now.Metadata()) {
		out = append(out, delta.Action{Metadata: m})
	}
	if d, ok := clusteringBack(now, then); ok {
		out = append(out, delta.Action{Domain: &d})
	}
	return out, nil
}

func sameMetadata(a, b *delta.Metadata) bool {
	return a.Name == b.Name && a.Description == b.Description && a.SchemaString == b.SchemaString &&
		slices.Equal(a.PartitionColumns, b.PartitionColumns) && maps.Equal(a.Configuration, b.Configuration)
}

// metadataBack is the metadata that then had, with what must not go back, and its schema.
func metadataBack(now, then *delta.Snapshot, given *given) (*delta.Metadata, *delta.Struct, error) {
	is, m := now.Metadata(), *then.Metadata()
	m.ID, m.CreatedTime = is.ID, is.CreatedTime
	m.Configuration = maps.Clone(m.Configuration)
	if m.Configuration == nil {
		m.Configuration = map[string]string{}
	}
	for _, key := range ofTheLog {
		delete(m.Configuration, key)
		if v, ok := is.Configuration[key]; ok {
			m.Configuration[key] = v
		}
	}
	schema, err := delta.ParseSchema(m.SchemaString)
	if err != nil {
		return nil, nil, err
	}
	b := &schemaBack{next: max(maxID(is), maxID(&m)), given: given.columns}
	b.mapped = now.Mapping() != delta.MappingNone && then.Mapping() == delta.MappingNone
	changed := b.fields("", schema, now.Schema())
	changed = given.numbers.stand(schema) || changed
	if b.mapped {
		m.Configuration[mappingMode] = string(delta.MappingName) // files from before it have no field ids
	}
	if b.next > 0 {
		m.Configuration[mappingMaxID] = strconv.FormatInt(b.next, 10)
	}
	if changed {
		m.SchemaString = schema.JSON()
	}
	return &m, schema, nil
}

// goesTogether refuses a definition that does not go with the features that the table has since, while it did with those
// of then.
func goesTogether(p *delta.Protocol, m *delta.Metadata, schema *delta.Struct, then *delta.Snapshot) error {
	if delta.CheckIcebergCompat(then.Protocol(), then.Metadata(), then.Schema()) != nil {
		return nil
	}
	if err := delta.CheckIcebergCompat(p, m, schema); err != nil {
		return fmt.Errorf("the definition of version %d does not go with what the table has since: %w", then.Version(), err)
	}
	return nil
}

// hide keeps the names of hidden columns while row tracking stays: those that the table has now where it did not have any,
// and where those in older files hold ids that count no more. There a table that has none gets others.
func hide(m *delta.Metadata, now *delta.Snapshot, anew bool, fresh func() string) {
	if !now.Protocol().Supports(trackingFeature) {
		return
	}
	for _, hidden := range delta.HiddenColumns {
		key := hidden.Property
		name, ok := now.Property(key)
		switch was := m.Configuration[key]; {
		case ok && (anew || was == ""):
			m.Configuration[key] = name
		case !ok && anew && was != "":
			m.Configuration[key] = hidden.Prefix + fresh()
		}
	}
}

func maxID(m *delta.Metadata) int64 {
	n, _ := strconv.ParseInt(m.Configuration[mappingMaxID], 10, 64)
	return n
}

// schemaBack carries over to an old schema what stands in the new one.
type schemaBack struct {
	mapped bool                       // the table has column mapping since: fields get their old names as physical ones
	next   int64                      // the greatest column id given
	given  map[string]json.RawMessage // the ids that columns got before, by their place in files
}

// fields changes the fields of a struct that was parsed for it. is is the struct that the table has
// now; nil if it has none in its place.
func (b *schemaBack) fields(place string, was, is *delta.Struct) bool {
	changed := false
	for i := range was.Fields {
		f := &was.Fields[i]
		at := place + "\x00" + physical(f)
		since := counterpart(f, is)
		if b.mapped {
			b.name(at, f, since)
			changed = true
		}
		var next delta.Type
		if since != nil {
			next = since.Type
		}
		changed = b.within(at, f.Type, next) || changed
	}
	return changed
}

func (b *schemaBack) within(place string, was, is delta.Type) bool {
	switch t := was.(type) {
	case *delta.Struct:
		s, _ := is.(*delta.Struct)
		return b.fields(place, t, s)
	case *delta.Array:
		s, ok := is.(*delta.Array)
		if !ok {
			s = &delta.Array{}
		}
		return b.within(place+"\x00element", t.Element, s.Element)
	case *delta.Map:
		s, ok := is.(*delta.Map)
		if !ok {
			s = &delta.Map{}
		}
		key := b.within(place+"\x00key", t.Key, s.Key)
		return b.within(place+"\x00value", t.Value, s.Value) || key
	}
	return false
}

// columnIDs notes the ids that the fields of a type have, by their place in files. A field has its id for good.
func columnIDs(place string, t delta.Type, out map[string]json.RawMessage) {
	switch t := t.(type) {
	case *delta.Struct:
		for i := range t.Fields {
			at := place + "\x00" + physical(&t.Fields[i])
			if id := t.Fields[i].Metadata[fieldID]; id != nil {
				out[at] = id
			}
			columnIDs(at, t.Fields[i].Type, out)
		}
	case *delta.Array:
		columnIDs(place+"\x00element", t.Element, out)
	case *delta.Map:
		columnIDs(place+"\x00key", t.Key, out)
		columnIDs(place+"\x00value", t.Value, out)
	}
}

// counterpart is the field that has the same data in files: by its physical name.
func counterpart(f *delta.Field, in *delta.Struct) *delta.Field {
	if in == nil {
		return nil
	}
	for i := range in.Fields {
		if physical(&in.Fields[i]) == physical(f) {
			return &in.Fields[i]
		}
	}
	return nil
}

func physical(f *delta.Field) string {
	var name string
	if json.Unmarshal(f.Metadata[fieldName], &name) == nil && name != "" {
		return name
	}
	return f.Name
}

// name gives a field its place in files under column mapping.
func (b *schemaBack) name(place string, f, since *delta.Field) {
	name, _ := json.Marshal(physical(f))
	id := b.given[place]
	if since != nil && since.Metadata[fieldID] != nil {
		id = since.Metadata[fieldID]
	}
	if id == nil {
		b.next++
		id = json.RawMessage(strconv.FormatInt(b.next, 10))
	}
	setField(f, fieldName, name)
	setField(f, fieldID, id)
}

func setField(f *delta.Field, key string, value json.RawMessage) {
	f.Metadata = maps.Clone(f.Metadata)
	if f.Metadata == nil {
		f.Metadata = map[string]json.RawMessage{}
	}
	f.Metadata[key] = value
}

// clusteringBack gives the clustering columns that the table had, if they are others.
func clusteringBack(now, then *delta.Snapshot) (delta.DomainMetadata, bool) {
	is, clustered := now.Domain(delta.ClusteringDomain)
	was, ok := then.Domain(delta.ClusteringDomain)
	switch {
	case ok && clustered && is.Configuration == was.Configuration, !ok && !clustered:
		return delta.DomainMetadata{}, false
	case ok:
		return was, true
	}
	none := `{"clusteringColumns":[],"domainName":"` + delta.ClusteringDomain + `"}`
	return delta.DomainMetadata{Domain: delta.ClusteringDomain, Configuration: none}, is.Configuration != none
}

// united is the protocol that a table has, raised by what it had: now itself if nothing is missing.
func united(now, then *delta.Protocol) *delta.Protocol {
	missing := slices.DeleteFunc(then.Features(), now.Supports)
	if len(missing) == 0 {
		return now
	}
	if now.MinWriterVersion < 7 && then.MinWriterVersion < 7 {
		return &delta.Protocol{
			MinReaderVersion: max(now.MinReaderVersion, then.MinReaderVersion), MinWriterVersion: max(now.MinWriterVersion, then.MinWriterVersion),
		}
	}
	p := &delta.Protocol{MinReaderVersion: max(now.MinReaderVersion, then.MinReaderVersion), MinWriterVersion: 7}
	p.WriterFeatures = append(now.Features(), missing...)
	if p.MinReaderVersion == 3 {
		p.ReaderFeatures = slices.Concat([]string{}, now.ReaderFeatures, then.ReaderFeatures)
		if slices.Contains(p.WriterFeatures, "columnMapping") {
			p.ReaderFeatures = append(p.ReaderFeatures, "columnMapping")
		}
	}
	for _, list := range []*[]string{&p.ReaderFeatures, &p.WriterFeatures} {
		if *list != nil {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return p
}

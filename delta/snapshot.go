package delta

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Snapshot is a table at a version: immutable, and free for any number of goroutines. What it
// gives out is shared and must not be changed.
type Snapshot struct {
	version    int64
	state      state
	definition *definition
}

// definition is what follows from the metadata, worked out once.
type definition struct {
	metadata   *Metadata
	schema     *Struct
	partitions []string // as the schema spells them
	rows, data *arrow.Schema
	mapping    *mapping // nil: names are what they are
}

// define works out a definition, or shares the old one's parts that still hold.
func define(m *Metadata, old *definition) (*definition, error) {
	if old != nil && old.metadata.SchemaString == m.SchemaString && slices.Equal(old.metadata.PartitionColumns, m.PartitionColumns) {
		shared := *old
		shared.metadata = m
		return &shared, nil
	}
	d := &definition{metadata: m, schema: &Struct{}}
	if m.SchemaString == "" {
		d.partitions = slices.Clone(m.PartitionColumns)
		d.rows, d.data = arrow.NewSchema(nil, nil), arrow.NewSchema(nil, nil)
		return d, nil
	}
	var err error
	if d.schema, err = ParseSchema(m.SchemaString); err != nil {
		return nil, fmt.Errorf("schemaString: %w", err)
	}
	partition := make([]bool, len(d.schema.Fields))
	for _, name := range m.PartitionColumns {
		i := d.schema.Index(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the partition column %q is not in the schema", ErrCorrupt, name)
		}
		if partition[i] {
			return nil, fmt.Errorf("%w: the partition column %q stands twice", ErrCorrupt, name)
		}
		partition[i] = true
		d.partitions = append(d.partitions, d.schema.Fields[i].Name)
	}
	if d.rows, err = ArrowSchema(d.schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var fields []arrow.Field
	for i, f := range d.rows.Fields() {
		if !partition[i] {
			fields = append(fields, f)
		}
	}
	d.data = arrow.NewSchema(fields, nil)
	return d, nil
}

// Version is the table's version.
func (s *Snapshot) Version() int64 { return s.version }

// Protocol is the protocol in effect.
func (s *Snapshot) Protocol() *Protocol { return s.state.protocol }

// Metadata is the definition in effect, as in the log.
func (s *Snapshot) Metadata() *Metadata { return s.state.metadata }

// HasSchema is false for a table whose metadata lacks a schema: its state stands, its rows cannot
// be read, and Schema is empty.
func (s *Snapshot) HasSchema() bool { return s.state.metadata.SchemaString != "" }

// Schema is the table's schema.
func (s *Snapshot) Schema() *Struct { return s.definition.schema }

// ArrowSchema is the schema of the table's rows.
func (s *Snapshot) ArrowSchema() *arrow.Schema { return s.definition.rows }

// DataSchema is ArrowSchema without the partition columns: what data files hold.
func (s *Snapshot) DataSchema() *arrow.Schema { return s.definition.data }

// PartitionColumns are the partition columns in their order, spelled as in the schema.
func (s *Snapshot) PartitionColumns() []string { return s.definition.partitions }

// PartitionValue is a file's value of a partition column, which is named as the schema spells it. It
// is text, nil for NULL; an empty string is NULL for every type. A file that says nothing about the
// column wraps ErrCorrupt.
func (s *Snapshot) PartitionValue(add *Add, column string) (*string, error) {
	v, ok := add.PartitionValues[s.PartitionKey(column)]
	if !ok && s.definition.mapping == nil { // perhaps as the metadata spells it
		if i := slices.Index(s.definition.partitions, column); i >= 0 {
			v, ok = add.PartitionValues[s.state.metadata.PartitionColumns[i]]
		}
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: the file %s has no value for the partition column %q", ErrCorrupt, add.Path, column)
	case v != nil && *v == "":
		return nil, nil
	}
	return v, nil
}

// Files yields the live files, sorted by key.
func (s *Snapshot) Files() iter.Seq[*Add] { return s.state.files.values() }

// NumFiles is the number of live files.
func (s *Snapshot) NumFiles() int { return s.state.files.n }

// SizeInBytes is the size of the live files.
func (s *Snapshot) SizeInBytes() int64 { return s.state.totals.size }

// NumDeletionVectors is the number of live files that have a deletion vector.
func (s *Snapshot) NumDeletionVectors() int64 { return s.state.totals.vectors }

// NumDeletedRows is the number of rows that the deletion vectors of the live files delete.
func (s *Snapshot) NumDeletedRows() int64 { return s.state.totals.deleted }

// HasOutside says whether live files are outside the table's root.
func (s *Snapshot) HasOutside() bool { return s.state.elsewhere.n > 0 }

// Live gives the live file of a key.
func (s *Snapshot) Live(key string) (*Add, bool) { return s.state.files.get(key) }

// Tombstones yields the removed files that the log still knows, sorted by key and vector, expired
// ones included. Key is empty for a file outside the root: it is not the table's to delete.
func (s *Snapshot) Tombstones() iter.Seq[*Remove] { return s.state.tombstones.values() }

// Txn gives the last record of an app id, which need not be the highest.
func (s *Snapshot) Txn(appID string) (Txn, bool) { return s.state.txns.get(appID) }

// Txns yields the last record of each app id, sorted by app id.
func (s *Snapshot) Txns() iter.Seq[Txn] { return s.state.txns.values() }

// CommitInfo is what the writer of this very version said of it. nil if it said nothing, or if the
// version was read from a checkpoint or a compaction, which do not keep it.
func (s *Snapshot) CommitInfo() *CommitInfo { return s.state.info }

// Domain gives the domain metadata that stands under a name.
func (s *Snapshot) Domain(name string) (DomainMetadata, bool) { return s.state.domains.get(name) }

// Clustering are the paths, in physical names, of the columns that the table is clustered by; nil if it
// is by none.
func (s *Snapshot) Clustering() [][]string { return s.clusteringPaths() }

// Domains yields the domain metadata that stands, sorted by domain.
func (s *Snapshot) Domains() iter.Seq[DomainMetadata] { return s.state.domains.values() }

// Advance applies the next commit, s.Version()+1, and shares what did not change: it costs what the
// commit holds, not what the table holds. Errors are as in Replay.
func (s *Snapshot) Advance(version int64, actions []Action) (*Snapshot, error) {
	if version != s.version+1 {
		return nil, fmt.Errorf("%w: the log goes on with commit %d where commit %d should be", ErrCorrupt, version, s.version+1)
	}
	t := s.state
	if err := t.apply(actions, false); err != nil {
		return nil, inCommit(version, version, err)
	}
	t.info = InfoOf(actions)
	return newSnapshot(version, t, s.definition)
}

// CheckpointActions yields the actions of a checkpoint of s: protocol, metadata, txns and domains
// that stand, live files, and the tombstones younger at now than the table's retention. A txn whose
// lastUpdated is older than the table's retention for txns is left out; one without lastUpdated is
// kept. File actions say that they change no data.
func (s *Snapshot) CheckpointActions(now time.Time) iter.Seq[Action] {
	return func(yield func(Action) bool) {
		if !yield(Action{Protocol: s.Protocol()}) || !yield(Action{Metadata: s.Metadata()}) {
			return
		}
		retention, expires := s.TxnRetention()
		horizon := now.Add(-retention).UnixMilli()
		for t := range s.Txns() {
			if expires && t.LastUpdated != nil && *t.LastUpdated <= horizon {
				continue
			}
			if !yield(Action{Txn: &t}) {
				return
			}
		}
		for d := range s.Domains() {
			if !yield(Action{Domain: &d}) {
				return
			}
		}
		for a := range s.Files() {
			if a.DataChange {
				copied := *a
				copied.DataChange = false
				a = &copied
			}
			if !yield(Action{Add: a}) {
				return
			}
		}
		s.yieldTombstones(now.Add(-s.TombstoneRetention()).UnixMilli(), yield)
	}
}

// yieldTombstones yields those that were removed after a time in milliseconds.
func (s *Snapshot) yieldTombstones(after int64, yield func(Action) bool) {
	for r := range s.Tombstones() {
		if r.DeletionTimestamp == nil || *r.DeletionTimestamp <= after {
			continue
		}
		copied := *r
		copied.DataChange = false
		if !yield(Action{Remove: &copied}) {
			return
		}
	}
}

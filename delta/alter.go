package delta

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Edit is a change of a table's definition: actions for one commit, together with what the commit
// does beside. A nil *Edit is the answer "the table is so already".
//
// Edits are made by methods of [Snapshot] (and by [CreateSpec]), which are pure: they look at the
// snapshot and the request only, and refuse what idem could not write to afterwards. A request that
// breaks a rule wraps [ErrInput], one that the table answers differently already wraps
// [ErrConflict], and one that needs what idem lacks wraps [ErrUnsupported].
type Edit struct {
	Protocol *Protocol        // nil if it stays
	Metadata *Metadata        // nil if it stays
	Domains  []DomainMetadata // to set or, with Removed, to remove

	// Backfill says that live files lack a row id: the edit turns row tracking on and may be
	// committed only when no file lacks one. Enable the feature rowTracking first, commit each such
	// file again with a BaseRowID, and ask again.
	Backfill bool

	// Rewrite says that files hold what the edited definition would read otherwise: the commit must
	// also replace every live file by one with the same rows, written for the edited definition, and
	// change no data by it.
	Rewrite bool
}

// Actions are the lines of the edit. None of a nil edit.
func (e *Edit) Actions() []Action {
	var out []Action
	if e == nil {
		return nil
	}
	if e.Protocol != nil {
		out = append(out, Action{Protocol: e.Protocol})
	}
	if e.Metadata != nil {
		out = append(out, Action{Metadata: e.Metadata})
	}
	for i := range e.Domains {
		out = append(out, Action{Domain: &e.Domains[i]})
	}
	return out
}

// Fresh is what an edit takes from outside this package.
type Fresh struct {
	// ID gives a new random UUID at each call: for the physical names of new columns.
	ID func() string
	// Version is the version at which the edit will be committed, Timestamp that commit's in-commit
	// timestamp in milliseconds. Only an edit that turns in-commit timestamps on has them written
	// down; a commit that lands elsewhere corrects them.
	Version, Timestamp int64
}

// Place says where among the fields of its struct a column goes: at the end, unless told otherwise.
type Place struct {
	First bool
	After string // the name of a field of the same struct
}

// draft is a definition while it is edited.
type draft struct {
	was      *Snapshot
	meta     Metadata
	schema   *Struct
	protocol Protocol
	domains  []DomainMetadata
	features []string       // to support beside those that the definition uses
	versions map[string]int // of the protocol that were asked for, by property
	fresh    Fresh
	backfill bool
	rewrite  bool
	creating bool // there is no table yet
	settled  bool // protocol and column ids are as they shall be
}

func (s *Snapshot) draft(fresh Fresh) *draft {
	d := &draft{was: s, meta: *s.Metadata(), schema: s.Schema(), protocol: *s.Protocol(), fresh: fresh, versions: map[string]int{}}
	d.meta.Configuration = maps.Clone(d.meta.Configuration)
	if d.meta.Configuration == nil {
		d.meta.Configuration = map[string]string{}
	}
	return d
}

// finish makes the edit, nil if it would change nothing. what says for errors what was asked for.
func (d *draft) finish(what string) (*Edit, error) {
	e, err := d.changes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return e, nil
}

func (d *draft) changes() (*Edit, error) {
	for _, step := range []func() error{d.upgrade, d.checkVersions, d.numberColumns, d.writeSchema} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	e := &Edit{Domains: d.changedDomains(), Backfill: d.backfill, Rewrite: d.rewrite}
	if !sameProtocols(&d.protocol, d.was.Protocol()) {
		e.Protocol = &d.protocol
	}
	if !sameDefinitions(&d.meta, d.was.Metadata()) {
		e.Metadata = &d.meta
	}
	if e.Protocol == nil && e.Metadata == nil && len(e.Domains) == 0 {
		return nil, nil
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return e, nil
}

// writeSchema puts the schema into the metadata.
func (d *draft) writeSchema() error {
	if d.schema == d.was.Schema() {
		return nil
	}
	if !d.creating && !writesBack(d.was.Metadata().SchemaString) {
		return fmt.Errorf("the table's schema holds what idem would not write back, such as a user-defined type; "+
			"change it with the engine that made it: %w", ErrUnsupported)
	}
	if d.meta.SchemaString = d.schema.JSON(); len(d.meta.SchemaString) > maxSchemaBytes {
		return fmt.Errorf("the schema would have more than %d bytes: %w", maxSchemaBytes, ErrInput)
	}
	return nil
}

// upgrade gives the protocol what the definition uses and did not use before. What was in the
// metadata all along without the protocol's support stays without effect.
func (d *draft) upgrade() error {
	if d.settled {
		return nil
	}
	names := slices.Clone(d.features)
	for i := range features {
		f := &features[i]
		if f.inUse != nil && f.inUse(&d.meta, d.schema) && !f.inUse(d.was.Metadata(), d.was.Schema()) && !supportsAny(d.was.Protocol(), f.name) {
			names = append(names, f.name)
		}
	}
	var err error
	d.protocol, err = upgraded(d.was.Protocol(), names, &d.meta, d.schema)
	return err
}

// check holds the rules of a whole definition against the draft.
func (d *draft) check() error {
	if err := d.checkText(); err != nil {
		return err
	}
	if err := CheckIcebergCompat(&d.protocol, &d.meta, d.schema); err != nil {
		return err
	}
	return GateWrite(&d.protocol, &d.meta, d.schema)
}

// checkText demands UTF-8 of every text that a definition keeps in the log.
func (d *draft) checkText() error {
	refuse := func(what, text string) error {
		if utf8.ValidString(text) {
			return nil
		}
		return fmt.Errorf("%s is not UTF-8, and would be another text in the log: %.200q: %w", what, text, ErrInput)
	}
	err := errors.Join(refuse("the table's name", d.meta.Name), refuse("the table's description", d.meta.Description))
	for _, key := range slices.Sorted(maps.Keys(d.meta.Configuration)) {
		err = errors.Join(err, refuse("the name of a property or constraint", key), refuse("the value of the property "+key, d.meta.Configuration[key]))
	}
	for _, column := range d.meta.PartitionColumns {
		err = errors.Join(err, refuse("the name of a partition column", column))
	}
	return errors.Join(err, refuse("what the schema says of a column (a name, comment, type or expression)", d.meta.SchemaString))
}

func (d *draft) changedDomains() []DomainMetadata {
	return slices.DeleteFunc(slices.Clone(d.domains), func(x DomainMetadata) bool {
		old, ok := d.was.state.domains.get(x.Domain)
		if !ok {
			return x.Removed
		}
		return !x.Removed && old.Configuration == x.Configuration
	})
}

func sameProtocols(a, b *Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		slices.Equal(a.ReaderFeatures, b.ReaderFeatures) && slices.Equal(a.WriterFeatures, b.WriterFeatures)
}

func sameDefinitions(a, b *Metadata) bool {
	return a.SchemaString == b.SchemaString && a.Name == b.Name && a.Description == b.Description &&
		slices.Equal(a.PartitionColumns, b.PartitionColumns) && maps.Equal(a.Configuration, b.Configuration)
}

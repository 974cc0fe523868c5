package delta

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// What a commit file may hold. Beyond it the table is refused, not called corrupt.
const (
	maxCommitBytes   = 256 << 20
	maxLineBytes     = 16 << 20
	maxCommitActions = 5_000_000
)

// DecodeCommit reads a commit file. name is used in errors. Actions, members and fields that idem
// does not know, blank lines, CR LF and a file without a byte are fine, and so are in commitInfo,
// which is free text, values of a wrong type and repeated keys, of which the last counts, and a protocol
// or metaData that is said twice in the same words, which is given once. All else that breaks the
// protocol wraps [ErrCorrupt] and names file and line: a torn line, two actions on one line, a missing or
// mistyped field, a repeated key, and what one commit must not hold twice. What is only too large
// wraps [ErrUnsupported]. Equal partition values are shared between the actions.
func DecodeCommit(name string, data []byte) ([]Action, error) {
	actions, err := DecodeActions(name, data)
	if err != nil {
		return nil, err
	}
	kept := actions[:0]
	var said repeated
	for _, a := range actions {
		if a.CheckpointMetadata == nil && a.Sidecar == nil && !said.before(a) {
			kept = append(kept, a)
		}
	}
	if err := checkCommit(kept); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return kept, nil
}

// repeated are the definitions that a commit has said. Some writers say one twice in the same words (delta-rs 1.1 when it
// overwrites and merges schemas), which leaves no doubt.
type repeated struct {
	protocol *Protocol
	metadata *Metadata
}

func (r *repeated) before(a Action) bool {
	switch {
	case a.Protocol != nil && r.protocol != nil:
		return reflect.DeepEqual(a.Protocol, r.protocol)
	case a.Metadata != nil && r.metadata != nil:
		return reflect.DeepEqual(a.Metadata, r.metadata)
	case a.Protocol != nil:
		r.protocol = a.Protocol
	case a.Metadata != nil:
		r.metadata = a.Metadata
	}
	return false
}

// DecodeActions reads the lines of a compaction or of a V2 checkpoint in JSON: as DecodeCommit,
// but for the rules that hold within one commit only.
func DecodeActions(name string, data []byte) ([]Action, error) {
	if len(data) > maxCommitBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes; idem reads at most %d", ErrUnsupported, name, len(data), maxCommitBytes)
	}
	d := decoder{shared: map[string]map[string]*string{}}
	var actions []Action
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data = cutLine(data)
		if len(text) == 0 {
			continue
		}
		if len(actions) == maxCommitActions {
			return nil, fmt.Errorf("%w: %s has more than %d actions", ErrUnsupported, name, maxCommitActions)
		}
		a, err := d.line(text)
		if err != nil {
			return nil, lineError(name, line, err)
		}
		if a != (Action{}) {
			actions = append(actions, a)
		}
	}
	return actions, nil
}

// TxnID reads only the commitInfo.txnId of a commit file ("" if it has none), cheaply: one line
// where commitInfo comes first, as it does in what idem writes.
func TxnID(data []byte) string {
	for len(data) > 0 {
		var text []byte
		text, data = cutLine(data)
		if !bytes.Contains(text, []byte(`"commitInfo"`)) {
			continue
		}
		d := decoder{}
		if a, err := d.line(text); err == nil && a.CommitInfo != nil {
			return a.CommitInfo.TxnID
		}
	}
	return ""
}

// cutLine takes the first line, without the white space around it, off the front.
func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte{'\n'})
	return bytes.Trim(line, " \t\r"), rest
}

func lineError(name string, line int, err error) error {
	if errors.Is(err, errLimit) {
		return fmt.Errorf("%w: %s line %d: %w", ErrUnsupported, name, line, err)
	}
	return fmt.Errorf("%w: %s line %d: %w", ErrCorrupt, name, line, err)
}

// decoder reads actions, a line at a time.
type decoder struct {
	scanner
	shared map[string]map[string]*string // partition values by their text in the log; nil: not shared
}

// line reads one line. Unknown members are skipped: the result may be the zero Action.
func (d *decoder) line(text []byte) (a Action, err error) {
	if len(text) > maxLineBytes {
		return a, fmt.Errorf("%d bytes: %w of %d", len(text), errLimit, maxLineBytes)
	}
	if !utf8.Valid(text) {
		return a, errors.New("not UTF-8")
	}
	d.data, d.pos, d.depth = text, 0, 0
	found := ""
	err = d.object(func(key []byte) error {
		name := string(key)
		if d.null() {
			return nil
		}
		read := d.reader(name, &a)
		if read == nil {
			return d.skip()
		}
		if found != "" {
			return d.fault("two actions on one line: %s and %s", found, name)
		}
		found = name
		return read()
	})
	if err == nil {
		err = d.end()
	}
	return a, err
}

// reader gives what reads the action of a name, nil for a name that idem does not know.
func (d *decoder) reader(name string, a *Action) func() error {
	switch name {
	case "add":
		a.Add = &Add{}
		return func() error { return d.add(a.Add) }
	case "remove":
		a.Remove = &Remove{}
		return func() error { return d.remove(a.Remove) }
	case "commitInfo":
		a.CommitInfo = &CommitInfo{}
		return func() error { return d.commitInfo(a.CommitInfo) }
	case "metaData":
		a.Metadata = &Metadata{}
		return func() error { return d.metadata(a.Metadata) }
	case "protocol":
		a.Protocol = &Protocol{}
		return func() error { return d.protocol(a.Protocol) }
	case "txn":
		a.Txn = &Txn{}
		return func() error { return d.txn(a.Txn) }
	case "domainMetadata":
		a.Domain = &DomainMetadata{}
		return func() error { return d.domain(a.Domain) }
	case "cdc":
		a.CDC = &CDC{}
		return func() error { return d.cdc(a.CDC) }
	case "checkpointMetadata":
		a.CheckpointMetadata = &CheckpointMetadata{}
		return func() error { return d.checkpointMetadata(a.CheckpointMetadata) }
	case "sidecar":
		a.Sidecar = &Sidecar{}
		return func() error { return d.sidecar(a.Sidecar) }
	}
	return nil
}

// layout names the fields of a record. The first required ones must be present.
type layout struct {
	kind     string
	required int
	names    []string
	repeats  bool // a field may be given several times: the last counts
}

// record reads an object. visit is called with the index of each field that is present and not
// null; fields that the layout lacks are skipped.
func (s *scanner) record(l *layout, visit func(field int) error) error {
	var seen, present uint32
	err := s.object(func(key []byte) error {
		for i, name := range l.names {
			if string(key) != name {
				continue
			}
			if seen&(1<<i) != 0 && !l.repeats {
				return s.fault("%s.%s twice", l.kind, name)
			}
			seen |= 1 << i
			if s.null() {
				return nil
			}
			present |= 1 << i
			if err := visit(i); err != nil {
				return fmt.Errorf("%s.%s: %w", l.kind, name, err)
			}
			return nil
		}
		return s.skip()
	})
	if err != nil {
		return err
	}
	for i, name := range l.names[:l.required] {
		if present&(1<<i) == 0 {
			return s.fault("%s.%s is missing", l.kind, name)
		}
	}
	return nil
}

// partitionValues reads partition values, or shares those of the same text that were read before.
func (d *decoder) partitionValues() (map[string]*string, error) {
	d.peek()
	start := d.pos
	text, err := d.raw()
	if err != nil {
		return nil, err
	}
	if m, ok := d.shared[string(text)]; ok {
		return m, nil
	}
	d.pos = start
	m, err := d.nullableMap()
	if err == nil && d.shared != nil {
		d.shared[string(text)] = m
	}
	return m, err
}

var addLayout = layout{kind: "add", required: 5, names: []string{
	"path", "partitionValues", "size", "modificationTime", "dataChange",
	"stats", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider",
}}

func (d *decoder) add(a *Add) error {
	err := d.record(&addLayout, func(field int) (err error) {
		switch field {
		case 0:
			a.Path, err = d.str()
		case 1:
			a.PartitionValues, err = d.partitionValues()
		case 2:
			a.Size, err = d.long()
		case 3:
			a.ModificationTime, err = d.long()
		case 4:
			a.DataChange, err = d.boolean()
		case 5:
			a.Stats, err = d.str()
		case 6:
			a.Tags, err = d.stringMap()
		case 7:
			a.DeletionVector, err = d.vector()
		case 8:
			a.BaseRowID, err = d.longPtr()
		case 9:
			a.CommitVersion, err = d.longPtr()
		case 10:
			a.ClusteredBy, err = d.str()
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.validate()
}

var removeLayout = layout{kind: "remove", required: 2, names: []string{
	"path", "dataChange", "deletionTimestamp", "extendedFileMetadata", "partitionValues", "size",
	"stats", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion",
}}

func (d *decoder) remove(r *Remove) error {
	err := d.record(&removeLayout, func(field int) (err error) {
		switch field {
		case 0:
			r.Path, err = d.str()
		case 1:
			r.DataChange, err = d.boolean()
		case 2:
			r.DeletionTimestamp, err = d.longPtr()
		case 3:
			r.ExtendedMetadata, err = d.boolean()
		case 4:
			r.PartitionValues, err = d.partitionValues()
		case 5:
			r.Size, err = d.longPtr()
		case 6:
			r.Stats, err = d.str()
		case 7:
			r.Tags, err = d.stringMap()
		case 8:
			r.DeletionVector, err = d.vector()
		case 9:
			r.BaseRowID, err = d.longPtr()
		case 10:
			r.CommitVersion, err = d.longPtr()
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.validate()
}

var vectorLayout = layout{kind: "deletionVector", required: 4, names: []string{"storageType", "pathOrInlineDv", "sizeInBytes", "cardinality", "offset"}}

func (d *decoder) vector() (*DeletionVector, error) {
	v := &DeletionVector{}
	err := d.record(&vectorLayout, func(field int) (err error) {
		var n int64
		switch field {
		case 0:
			v.StorageType, err = d.str()
		case 1:
			v.PathOrInlineDV, err = d.str()
		case 2:
			n, err = d.integer(32)
			v.SizeInBytes = int32(n)
		case 3:
			v.Cardinality, err = d.long()
		case 4:
			n, err = d.integer(32)
			offset := int32(n)
			v.Offset = &offset
		}
		return err
	})
	return v, err
}

var cdcLayout = layout{kind: "cdc", required: 3, names: []string{"path", "partitionValues", "size", "tags"}}

func (d *decoder) cdc(c *CDC) error {
	return d.record(&cdcLayout, func(field int) (err error) {
		switch field {
		case 0:
			c.Path, err = d.str()
		case 1:
			c.PartitionValues, err = d.partitionValues()
		case 2:
			c.Size, err = d.long()
		case 3:
			c.Tags, err = d.stringMap()
		}
		return err
	})
}

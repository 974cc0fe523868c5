package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// EncodeCommit writes a commit file, one action a line: commitInfo first, then protocol and
// metaData, then the rest in the order given. The same actions give the same bytes. The zero
// Action is skipped; actions that one commit must not hold wrap [ErrCorrupt].
func EncodeCommit(actions []Action) ([]byte, error) {
	if err := checkCommit(actions); err != nil {
		return nil, err
	}
	var w writer
	for rank := range 4 {
		for _, a := range actions {
			if a.rank() != rank {
				continue
			}
			if err := w.action(a); err != nil {
				return nil, err
			}
		}
	}
	if w.bad != "" {
		return nil, fmt.Errorf("text in a commit is not UTF-8, and would be another in the log: %.200q: %w", w.bad, ErrInput)
	}
	return w.b, nil
}

// rank is the place of an action in a commit; actions that are not written have none.
func (a Action) rank() int {
	switch {
	case a == Action{}:
		return -1
	case a.CommitInfo != nil:
		return 0
	case a.Protocol != nil:
		return 1
	case a.Metadata != nil:
		return 2
	}
	return 3
}

// writer appends JSON text. Members are written in order; the caller opens and closes objects.
type writer struct {
	b     []byte
	comma bool   // a member came before in this object
	bad   string // the first string that is not UTF-8

	actions int
	members int // the most entries of a list or map
}

func (w *writer) open(brace byte) {
	w.b = append(w.b, brace)
	w.comma = false
}

func (w *writer) close(brace byte) {
	w.b = append(w.b, brace)
	w.comma = true
}

// element puts a comma before an element that is not the first.
func (w *writer) element() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
}

func (w *writer) key(name string) {
	w.element()
	w.string(name)
	w.b = append(w.b, ':')
}

const hexDigits = "0123456789abcdef"

// string writes a string and escapes only what JSON demands; bytes that are not UTF-8 become U+FFFD.
func (w *writer) string(s string) {
	w.b = append(w.b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				if w.bad == "" {
					w.bad = s
				}
				w.b = utf8.AppendRune(append(w.b, s[from:i]...), utf8.RuneError)
				from = i + 1
			}
			i += size
			continue
		}
		w.b = append(w.b, s[from:i]...)
		switch c {
		case '"', '\\':
			w.b = append(w.b, '\\', c)
		case '\n':
			w.b = append(w.b, '\\', 'n')
		case '\r':
			w.b = append(w.b, '\\', 'r')
		case '\t':
			w.b = append(w.b, '\\', 't')
		default:
			w.b = append(w.b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	w.b = append(append(w.b, s[from:]...), '"')
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.string(value)
}

// optional leaves an empty string out.
func (w *writer) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) long(name string, value int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

func (w *writer) longPtr(name string, value *int64) {
	if value != nil {
		w.long(name, *value)
	}
}

func (w *writer) boolean(name string, value bool) {
	w.key(name)
	w.b = strconv.AppendBool(w.b, value)
}

// collection opens a list or map of so many entries.
func (w *writer) collection(name string, brace byte, entries int) {
	w.key(name)
	w.open(brace)
	w.members = max(w.members, entries)
}

func (w *writer) list(name string, items []string) {
	w.collection(name, '[', len(items))
	for _, item := range items {
		w.element()
		w.string(item)
	}
	w.close(']')
}

func (w *writer) stringMap(name string, m map[string]string) {
	w.collection(name, '{', len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k, m[k])
	}
	w.close('}')
}

// tags leaves an empty map out.
func (w *writer) tags(name string, m map[string]string) {
	if len(m) > 0 {
		w.stringMap(name, m)
	}
}

func (w *writer) partitionValues(m map[string]*string) {
	w.collection("partitionValues", '{', len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.key(k)
		if v := m[k]; v != nil {
			w.string(*v)
		} else {
			w.b = append(w.b, "null"...)
		}
	}
	w.close('}')
}

// action writes one line.
func (w *writer) action(a Action) (err error) {
	w.open('{')
	start, one := len(w.b), Action{}
	switch {
	case a.CommitInfo != nil:
		one.CommitInfo = a.CommitInfo
		err = w.commitInfo(a.CommitInfo)
	case a.Protocol != nil:
		one.Protocol = a.Protocol
		w.protocol(a.Protocol)
	case a.Metadata != nil:
		one.Metadata = a.Metadata
		w.metadata(a.Metadata)
	case a.Txn != nil:
		one.Txn = a.Txn
		w.txn(a.Txn)
	case a.Domain != nil:
		one.Domain = a.Domain
		w.domain(a.Domain)
	case a.Add != nil:
		one.Add = a.Add
		err = a.Add.validate()
		w.add(a.Add)
	case a.Remove != nil:
		one.Remove = a.Remove
		err = a.Remove.validate()
		w.remove(a.Remove)
	case a.CDC != nil:
		one.CDC = a.CDC
		w.cdc(a.CDC)
	}
	switch {
	case err != nil:
		return fmt.Errorf("encode a commit: %w: %w", ErrCorrupt, err)
	case one != a:
		return fmt.Errorf("encode a commit: %w: an action with several members, or one that belongs in checkpoints only", ErrCorrupt)
	}
	w.b = append(w.b, '}', '}', '\n')
	w.actions++
	return w.checkSize(len(w.b) - start - 1)
}

// checkSize refuses what could not be read back: line is the length of the last one.
func (w *writer) checkSize(line int) error {
	switch {
	case line > maxLineBytes:
		return fmt.Errorf("encode a commit: %w: an action of %d bytes; idem writes at most %d", ErrInput, line, maxLineBytes)
	case w.members > maxMembers:
		return fmt.Errorf("encode a commit: %w: an action with a list or map of %d entries; idem writes at most %d", ErrInput, w.members, maxMembers)
	case len(w.b) > maxCommitBytes || w.actions > maxCommitActions:
		return fmt.Errorf("encode a commit: %w: it would have more than the %d bytes or %d actions that idem writes; do the work in several commits",
			ErrInput, maxCommitBytes, maxCommitActions)
	}
	return nil
}

func (w *writer) begin(kind string) {
	w.key(kind)
	w.open('{')
}

func (w *writer) add(a *Add) {
	w.begin("add")
	w.text("path", a.Path)
	w.partitionValues(a.PartitionValues)
	w.long("size", a.Size)
	w.long("modificationTime", a.ModificationTime)
	w.boolean("dataChange", a.DataChange)
	w.optional("stats", a.Stats)
	w.tags("tags", a.Tags)
	w.vector(a.DeletionVector)
	w.longPtr("baseRowId", a.BaseRowID)
	w.longPtr("defaultRowCommitVersion", a.CommitVersion)
	w.optional("clusteringProvider", a.ClusteredBy)
}

func (w *writer) remove(r *Remove) {
	w.begin("remove")
	w.text("path", r.Path)
	w.longPtr("deletionTimestamp", r.DeletionTimestamp)
	w.boolean("dataChange", r.DataChange)
	if r.ExtendedMetadata {
		w.boolean("extendedFileMetadata", true)
	}
	if r.PartitionValues != nil {
		w.partitionValues(r.PartitionValues)
	}
	w.longPtr("size", r.Size)
	w.optional("stats", r.Stats)
	w.tags("tags", r.Tags)
	w.vector(r.DeletionVector)
	w.longPtr("baseRowId", r.BaseRowID)
	w.longPtr("defaultRowCommitVersion", r.CommitVersion)
}

func (w *writer) vector(v *DeletionVector) {
	if v == nil {
		return
	}
	w.begin("deletionVector")
	w.text("storageType", v.StorageType)
	w.text("pathOrInlineDv", v.PathOrInlineDV)
	if v.Offset != nil {
		w.long("offset", int64(*v.Offset))
	}
	w.long("sizeInBytes", int64(v.SizeInBytes))
	w.long("cardinality", v.Cardinality)
	w.close('}')
}

func (w *writer) cdc(c *CDC) {
	w.begin("cdc")
	w.text("path", c.Path)
	w.partitionValues(c.PartitionValues)
	w.long("size", c.Size)
	w.boolean("dataChange", false)
	w.tags("tags", c.Tags)
}

func (w *writer) protocol(p *Protocol) {
	w.begin("protocol")
	w.long("minReaderVersion", int64(p.MinReaderVersion))
	w.long("minWriterVersion", int64(p.MinWriterVersion))
	if p.ReaderFeatures != nil {
		w.list("readerFeatures", p.ReaderFeatures)
	}
	if p.WriterFeatures != nil {
		w.list("writerFeatures", p.WriterFeatures)
	}
}

func (w *writer) metadata(m *Metadata) {
	w.begin("metaData")
	w.metadataFields(m)
}

func (w *writer) metadataFields(m *Metadata) {
	w.text("id", m.ID)
	w.optional("name", m.Name)
	w.optional("description", m.Description)
	w.begin("format")
	w.text("provider", m.Provider)
	w.stringMap("options", m.FormatOptions)
	w.close('}')
	w.optional("schemaString", m.SchemaString)
	w.list("partitionColumns", m.PartitionColumns)
	w.stringMap("configuration", m.Configuration)
	w.longPtr("createdTime", m.CreatedTime)
}

func (w *writer) txn(t *Txn) {
	w.begin("txn")
	w.txnFields(t)
}

func (w *writer) txnFields(t *Txn) {
	w.text("appId", t.AppID)
	w.long("version", t.Version)
	w.longPtr("lastUpdated", t.LastUpdated)
}

func (w *writer) domain(d *DomainMetadata) {
	w.begin("domainMetadata")
	w.domainFields(d)
}

func (w *writer) domainFields(d *DomainMetadata) {
	w.text("domain", d.Domain)
	w.text("configuration", d.Configuration)
	w.boolean("removed", d.Removed)
}

func (w *writer) commitInfo(c *CommitInfo) error {
	w.begin("commitInfo")
	w.longPtr("inCommitTimestamp", c.InCommitTimestamp)
	w.long("timestamp", c.Timestamp)
	w.optional("operation", c.Operation)
	if c.OperationParameters != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(c.OperationParameters); err != nil {
			return fmt.Errorf("commitInfo.operationParameters: %w", err)
		}
		w.key("operationParameters")
		w.b = append(w.b, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
	}
	w.longPtr("readVersion", c.ReadVersion)
	w.optional("isolationLevel", c.IsolationLevel)
	if c.IsBlindAppend != nil {
		w.boolean("isBlindAppend", *c.IsBlindAppend)
	}
	w.tags("operationMetrics", c.OperationMetrics)
	w.optional("engineInfo", c.EngineInfo)
	w.optional("txnId", c.TxnID)
	w.optional("userMetadata", c.UserMetadata)
	w.tags("tags", c.Tags)
	return nil
}

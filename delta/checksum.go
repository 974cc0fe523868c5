package delta

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"
)

const (
	// maxChecksumBytes bounds a checksum file; it may list every file of a small table.
	maxChecksumBytes = 64 << 20

	// What a checksum file holds at most of each, as Spark has it: more are left out, all of them.
	maxChecksumTxns    = 100
	maxChecksumDomains = 10
)

// VersionChecksum is the content of the checksum file of a version: what the state of the table came to
// for its writer. It is advisory. A field that is absent is nil.
type VersionChecksum struct {
	TxnID              string // commitInfo.txnId of the version
	TableSizeBytes     *int64
	NumFiles           *int64
	NumDeletedRecords  *int64
	NumDeletionVectors *int64
	InCommitTimestamp  *int64
	Txns               []Txn            // nil: absent; not nil: all of them
	Domains            []DomainMetadata // nil: absent; not nil: all that stand
	Metadata           *Metadata
	Protocol           *Protocol
}

// Checksum is the checksum of the snapshot, in a time that does not grow with the number of files.
// Transactions are left out where they may expire, since nobody can tell then which ones still
// stand, and so are more of them, or more domains, than other engines read.
func (s *Snapshot) Checksum() VersionChecksum {
	files, size := int64(s.NumFiles()), s.SizeInBytes()
	c := VersionChecksum{TableSizeBytes: &size, NumFiles: &files, Metadata: s.Metadata(), Protocol: s.Protocol()}
	if info := s.CommitInfo(); info != nil {
		c.TxnID, c.InCommitTimestamp = info.TxnID, info.InCommitTimestamp
	}
	if s.Protocol().Supports("deletionVectors") {
		vectors, deleted := s.NumDeletionVectors(), s.NumDeletedRows()
		c.NumDeletionVectors, c.NumDeletedRecords = &vectors, &deleted
	}
	if _, expires := s.TxnRetention(); !expires {
		c.Txns = atMost(s.Txns(), maxChecksumTxns)
	}
	c.Domains = atMost(s.Domains(), maxChecksumDomains)
	return c
}

// atMost gathers a sequence; nil if it has more than n elements.
func atMost[T any](seq iter.Seq[T], n int) []T {
	all := []T{}
	for v := range seq {
		if len(all) == n {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// Encode writes the checksum file. What the protocol requires must be there.
func (c VersionChecksum) Encode() ([]byte, error) {
	if c.TableSizeBytes == nil || c.NumFiles == nil || c.Metadata == nil || c.Protocol == nil {
		return nil, errors.New("encode a checksum: size, files, metadata and protocol must be set")
	}
	var w writer
	w.open('{')
	w.optional("txnId", c.TxnID)
	w.long("tableSizeBytes", *c.TableSizeBytes)
	w.long("numFiles", *c.NumFiles)
	w.longPtr("numDeletedRecordsOpt", c.NumDeletedRecords)
	w.longPtr("numDeletionVectorsOpt", c.NumDeletionVectors)
	w.long("numMetadata", 1)
	w.long("numProtocol", 1)
	w.longPtr("inCommitTimestampOpt", c.InCommitTimestamp)
	if c.Txns != nil {
		writeObjects(&w, "setTransactions", c.Txns, w.txnFields)
	}
	if c.Domains != nil {
		writeObjects(&w, "domainMetadata", c.Domains, w.domainFields)
	}
	w.begin("metadata")
	w.metadataFields(c.Metadata)
	w.close('}')
	w.protocol(c.Protocol)
	w.close('}')
	w.close('}')
	return append(w.b, '\n'), nil
}

func writeObjects[T any](w *writer, name string, all []T, fields func(*T)) {
	w.key(name)
	w.open('[')
	for i := range all {
		w.element()
		w.open('{')
		fields(&all[i])
		w.close('}')
	}
	w.close(']')
}

var checksumLayout = layout{kind: "checksum", names: []string{
	"txnId", "tableSizeBytes", "numFiles", "numDeletedRecordsOpt", "numDeletionVectorsOpt", "numMetadata", "numProtocol",
	"inCommitTimestampOpt", "setTransactions", "domainMetadata", "metadata", "protocol",
}}

// DecodeChecksum reads a checksum file; name is used in errors, which wrap ErrCorrupt. Whatever the
// error, the table is read as if there were no such file. Fields may be missing, as in files of
// older writers; what is not about the state (histograms, lists of files) is skipped.
func DecodeChecksum(name string, data []byte) (VersionChecksum, error) {
	c, err := decodeChecksum(data)
	if err != nil {
		return VersionChecksum{}, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	return c, nil
}

func decodeChecksum(data []byte) (c VersionChecksum, err error) {
	switch {
	case len(data) > maxChecksumBytes:
		return c, fmt.Errorf("%d bytes: %w of %d", len(data), errLimit, maxChecksumBytes)
	case !utf8.Valid(data):
		return c, errors.New("not UTF-8")
	}
	d := decoder{scanner: scanner{data: data}}
	err = d.record(&checksumLayout, func(field int) error { return d.checksumField(&c, field) })
	if err == nil {
		err = d.end()
	}
	return c, err
}

func (d *decoder) checksumField(c *VersionChecksum, field int) (err error) {
	switch field {
	case 0:
		c.TxnID, err = d.str()
	case 1:
		c.TableSizeBytes, err = d.longPtr()
	case 2:
		c.NumFiles, err = d.longPtr()
	case 3:
		c.NumDeletedRecords, err = d.longPtr()
	case 4:
		c.NumDeletionVectors, err = d.longPtr()
	case 5, 6:
		var n int64
		if n, err = d.long(); err == nil && n != 1 {
			err = fmt.Errorf("is %d, not 1", n)
		}
	case 7:
		c.InCommitTimestamp, err = d.longPtr()
	case 8:
		c.Txns = []Txn{}
		err = d.array(func() error {
			c.Txns = append(c.Txns, Txn{})
			return d.txn(&c.Txns[len(c.Txns)-1])
		})
	case 9:
		c.Domains = []DomainMetadata{}
		err = d.array(func() error {
			c.Domains = append(c.Domains, DomainMetadata{})
			return d.domain(&c.Domains[len(c.Domains)-1])
		})
	case 10:
		c.Metadata = &Metadata{}
		err = d.metadata(c.Metadata)
	case 11:
		c.Protocol = &Protocol{}
		err = d.protocol(c.Protocol)
	}
	return err
}

// Differences says in words where the checksum file of its version and a snapshot disagree; nil if
// they do not. What the file does not tell agrees, and so does what the snapshot cannot know.
func (c VersionChecksum) Differences(s *Snapshot) []string {
	var out []string
	number := func(name string, said *int64, is int64) {
		if said != nil && *said != is {
			out = append(out, fmt.Sprintf("%s is %d in the checksum and %d in the log", name, *said, is))
		}
	}
	number("tableSizeBytes", c.TableSizeBytes, s.SizeInBytes())
	number("numFiles", c.NumFiles, int64(s.NumFiles()))
	number("numDeletionVectors", c.NumDeletionVectors, s.NumDeletionVectors())
	number("numDeletedRecords", c.NumDeletedRecords, s.NumDeletedRows())
	if info := s.CommitInfo(); info != nil && info.InCommitTimestamp != nil {
		number("inCommitTimestamp", c.InCommitTimestamp, *info.InCommitTimestamp)
	}
	if c.Metadata != nil && !sameMetadata(c.Metadata, s.Metadata()) {
		out = append(out, "the metadata is another one")
	}
	if c.Protocol != nil && !sameProtocol(c.Protocol, s.Protocol()) {
		out = append(out, "the protocol is another one")
	}
	out = append(out, c.differentTxns(s)...)
	return append(out, c.differentDomains(s)...)
}

// differentTxns counts what the log has of transactions that expire as known to nobody else.
func (c VersionChecksum) differentTxns(s *Snapshot) (out []string) {
	if c.Txns == nil {
		return nil
	}
	said := make(map[string]int64, len(c.Txns))
	for _, t := range c.Txns {
		said[t.AppID] = t.Version
	}
	_, expires := s.TxnRetention()
	for t := range s.Txns() {
		version, ok := said[t.AppID]
		delete(said, t.AppID)
		if ok && version != t.Version || !ok && !expires {
			out = append(out, fmt.Sprintf("the txn of %q is another one", t.AppID))
		}
	}
	for _, app := range slices.Sorted(maps.Keys(said)) {
		out = append(out, fmt.Sprintf("the log has no txn of %q", app))
	}
	return out
}

func (c VersionChecksum) differentDomains(s *Snapshot) (out []string) {
	if c.Domains == nil {
		return nil
	}
	said := make(map[string]string, len(c.Domains))
	for _, d := range c.Domains {
		if !d.Removed {
			said[d.Domain] = d.Configuration
		}
	}
	for d := range s.Domains() {
		text, ok := said[d.Domain]
		delete(said, d.Domain)
		if !ok || text != d.Configuration {
			out = append(out, fmt.Sprintf("the domain %q is another one", d.Domain))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		out = append(out, fmt.Sprintf("the log has no domain %q", name))
	}
	return out
}

func sameMetadata(a, b *Metadata) bool {
	return a.ID == b.ID && a.SchemaString == b.SchemaString && slices.Equal(a.PartitionColumns, b.PartitionColumns) &&
		maps.Equal(a.Configuration, b.Configuration) && a.Name == b.Name && a.Description == b.Description
}

// sameProtocol ignores the order of features.
func sameProtocol(a, b *Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		sameNames(a.ReaderFeatures, b.ReaderFeatures) && sameNames(a.WriterFeatures, b.WriterFeatures)
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

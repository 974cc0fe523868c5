package logcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// versionSums is a checksum file, as far as it is about the state.
type versionSums struct {
	Size      *int64  `json:"tableSizeBytes"`
	Files     *int64  `json:"numFiles"`
	Metadatas *int64  `json:"numMetadata"`
	Protocols *int64  `json:"numProtocol"`
	Vectors   *int64  `json:"numDeletionVectorsOpt"`
	Deleted   *int64  `json:"numDeletedRecordsOpt"`
	Stamp     *int64  `json:"inCommitTimestampOpt"`
	TxnID     *string `json:"txnId"`
	Txns      *[]struct {
		AppID   string `json:"appId"`
		Version int64  `json:"version"`
	} `json:"setTransactions"`
	Domains *[]struct {
		Domain        string `json:"domain"`
		Configuration string `json:"configuration"`
		Removed       bool   `json:"removed"`
	} `json:"domainMetadata"`
	Metadata *struct {
		ID               string            `json:"id"`
		SchemaString     string            `json:"schemaString"`
		PartitionColumns []string          `json:"partitionColumns"`
		Configuration    map[string]string `json:"configuration"`
	} `json:"metadata"`
	Protocol *struct {
		Reader  int      `json:"minReaderVersion"`
		Writer  int      `json:"minWriterVersion"`
		Readers []string `json:"readerFeatures"`
		Writers []string `json:"writerFeatures"`
	} `json:"protocol"`
	Histogram *struct {
		Counts []int64 `json:"fileCounts"`
		Bytes  []int64 `json:"totalBytes"`
	} `json:"fileSizeHistogram"`
}

// checksum holds the checksum file of a version against the state.
func (c *checker) checksum(ctx context.Context, v int64) error {
	if !slices.Contains(c.checksums, v) {
		return nil
	}
	key := delta.ChecksumKey(v)
	data, err := c.store.Get(ctx, key, maxObject)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	var said versionSums
	if err := json.Unmarshal(data, &said); err != nil {
		c.find(LogChecksum, v, key, "%v", err)
		return nil
	}
	for _, what := range c.unequal(&said) {
		c.find(LogChecksum, v, key, "%s is another", what)
	}
	return nil
}

// unequal names the parts of a checksum file in which it departs from the state.
func (c *checker) unequal(said *versionSums) (what []string) {
	var size, files, vectors, gone int64
	for f := range c.snap.Files() {
		size, files = size+f.Size, files+1
		if f.DeletionVector != nil {
			vectors++
			gone += deleted(f)
		}
	}
	equal := func(name string, same bool) {
		if !same {
			what = append(what, name)
		}
	}
	number := func(name string, said *int64, is int64, required bool) {
		equal(name, said == nil && !required || said != nil && *said == is)
	}
	number("tableSizeBytes", said.Size, size, true)
	number("numFiles", said.Files, files, true)
	number("numMetadata", said.Metadatas, 1, true)
	number("numProtocol", said.Protocols, 1, true)
	number("numDeletionVectorsOpt", said.Vectors, vectors, false)
	number("numDeletedRecordsOpt", said.Deleted, gone, false)
	if info := c.snap.CommitInfo(); info != nil {
		equal("txnId", said.TxnID == nil || *said.TxnID == info.TxnID)
		equal("inCommitTimestampOpt", said.Stamp == nil || info.InCommitTimestamp != nil && *said.Stamp == *info.InCommitTimestamp)
	}
	if h := said.Histogram; h != nil {
		number("fileCounts", total(h.Counts), files, true)
		number("totalBytes", total(h.Bytes), size, true)
	}
	p, m := said.Protocol, said.Metadata
	old := !madeByUs(c.snap.CommitInfo()) // writers did not always tell all
	equal("protocol", p == nil && old || p != nil && sameProtocol(&delta.Protocol{MinReaderVersion: p.Reader, MinWriterVersion: p.Writer, ReaderFeatures: p.Readers, WriterFeatures: p.Writers}, c.snap.Protocol()))
	is := c.snap.Metadata()
	equal("metadata", m == nil && old || m != nil && m.ID == is.ID && m.SchemaString == is.SchemaString && slices.Equal(m.PartitionColumns, is.PartitionColumns) &&
		(len(m.Configuration)+len(is.Configuration) == 0 || reflect.DeepEqual(m.Configuration, is.Configuration)))
	return append(what, c.unequalNames(said)...)
}

func total(of []int64) *int64 {
	var n int64
	for _, one := range of {
		n += one
	}
	return &n
}

// unequalNames looks at the txns, of which some may have expired, and at the domains.
func (c *checker) unequalNames(said *versionSums) (what []string) {
	if said.Txns != nil {
		_, expires := c.snap.TxnRetention()
		told := map[string]int64{}
		for _, t := range *said.Txns {
			told[t.AppID] = t.Version
			if is, ok := c.snap.Txn(t.AppID); !ok || is.Version != t.Version {
				what = append(what, "the txn of "+t.AppID)
			}
		}
		for t := range c.snap.Txns() {
			if _, ok := told[t.AppID]; !ok && !expires {
				what = append(what, "the txn of "+t.AppID)
			}
		}
	}
	if said.Domains != nil {
		told := map[string]bool{}
		for _, d := range *said.Domains {
			if is, ok := c.snap.Domain(d.Domain); !d.Removed && (!ok || is.Configuration != d.Configuration) {
				what = append(what, "the domain "+d.Domain)
			}
			told[d.Domain] = !d.Removed
		}
		for d := range c.snap.Domains() {
			if !told[d.Domain] {
				what = append(what, "the domain "+d.Domain)
			}
		}
	}
	return what
}

// compaction holds the compactions that end in a version against the state that its commits left.
func (c *checker) compaction(ctx context.Context, v int64) error {
	for _, f := range c.compactions {
		before := c.snaps[f.Version-1]
		if f.End != v || f.Version > 0 && before == nil {
			continue
		}
		key := delta.CompactionKey(f.Version, f.End)
		data, err := c.store.Get(ctx, key, maxObject)
		if errors.Is(err, store.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		got, err := c.compacted(before, f, data)
		if err != nil {
			c.find(CompactionEqual, v, key, "%v", err)
			continue
		}
		for _, difference := range c.differences(got) {
			c.find(CompactionEqual, v, key, "%s", difference)
		}
	}
	return nil
}

// compacted is the state that a compaction leaves.
func (c *checker) compacted(before *delta.Snapshot, f delta.LogFile, data []byte) (*delta.Snapshot, error) {
	actions, err := delta.DecodeActions(f.Name, data)
	if err != nil {
		return nil, err
	}
	for _, a := range actions {
		if a.CommitInfo != nil || a.CDC != nil {
			return nil, errors.New("it holds what is of one commit only")
		}
	}
	r := c.newReplay()
	if before != nil {
		r.CheckpointAt(before.Version())
		for a := range before.CheckpointActions(time.Time{}) { // so early that nothing has expired
			if err := r.Checkpoint(a); err != nil {
				return nil, err
			}
		}
	}
	if err := r.CommitRange(f.Version, f.End, actions); err != nil {
		return nil, err
	}
	return r.Snapshot(f.End)
}

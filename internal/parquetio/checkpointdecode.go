package parquetio

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
)

func (d *checkpointDecoder) decodeAdd(i int) (delta.Action, error) {
	g := d.add
	a := &delta.Add{
		Path:             g.text("path", i),
		PartitionValues:  d.share.values(g.entries("partitionValues"), i),
		Size:             g.long("size", i),
		ModificationTime: g.long("modificationTime", i),
		DataChange:       g.flag("dataChange", i),
		Stats:            g.text("stats", i),
		StatsDeferred:    d.deferred,
		Tags:             d.share.texts(g.entries("tags"), i),
		BaseRowID:        g.optional("baseRowId", i),
		CommitVersion:    g.optional("defaultRowCommitVersion", i),
		ClusteredBy:      d.share.text(g.text("clusteringProvider", i)),
	}
	if a.Stats == "" {
		if parsed, ok := g.fields["stats_parsed"].(*array.Struct); ok && parsed.IsValid(i) {
			a.Stats = statsJSON(parsed, i)
		}
	}
	var err error
	if a.DeletionVector, err = d.vector(g, i); err == nil && a.Path == "" {
		err = fmt.Errorf("an add without a path")
	}
	return delta.Action{Add: a}, err
}

func (d *checkpointDecoder) decodeRemove(i int) (delta.Action, error) {
	g := d.remove
	r := &delta.Remove{
		Path:              g.text("path", i),
		DeletionTimestamp: g.optional("deletionTimestamp", i),
		DataChange:        g.flag("dataChange", i),
		ExtendedMetadata:  g.flag("extendedFileMetadata", i),
		PartitionValues:   d.share.values(g.entries("partitionValues"), i),
		Size:              g.optional("size", i),
		Tags:              d.share.texts(g.entries("tags"), i),
		BaseRowID:         g.optional("baseRowId", i),
		CommitVersion:     g.optional("defaultRowCommitVersion", i),
	}
	var err error
	if r.DeletionVector, err = d.vector(g, i); err == nil && r.Path == "" {
		err = fmt.Errorf("a remove without a path")
	}
	return delta.Action{Remove: r}, err
}

// vector reads the deletionVector of an add or a remove.
func (d *checkpointDecoder) vector(parent *group, i int) (*delta.DeletionVector, error) {
	arr, ok := parent.fields["deletionVector"].(*array.Struct)
	if !ok || !arr.IsValid(i) {
		return nil, nil
	}
	g := parent.sub("deletionVector", arr)
	size, err := narrow("deletionVector.sizeInBytes", g.long("sizeInBytes", i))
	if err != nil {
		return nil, err
	}
	v := &delta.DeletionVector{
		StorageType:    d.share.text(g.text("storageType", i)),
		PathOrInlineDV: strings.Clone(g.text("pathOrInlineDv", i)),
		SizeInBytes:    size,
		Cardinality:    g.long("cardinality", i),
	}
	if off := g.optional("offset", i); off != nil {
		n, err := narrow("deletionVector.offset", *off)
		if err != nil {
			return nil, err
		}
		v.Offset = &n
	}
	if v.StorageType == "" {
		return nil, fmt.Errorf("a deletion vector without a storage type")
	}
	return v, nil
}

func narrow(name string, v int64) (int32, error) {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%s is %d", name, v)
	}
	return int32(v), nil
}

func (d *checkpointDecoder) decodeTxn(i int) (delta.Action, error) {
	g := d.txn
	return delta.Action{Txn: &delta.Txn{
		AppID:       strings.Clone(g.text("appId", i)),
		Version:     g.long("version", i),
		LastUpdated: g.optional("lastUpdated", i),
	}}, nil
}

func (d *checkpointDecoder) decodeDomain(i int) (delta.Action, error) {
	g := d.domain
	m := &delta.DomainMetadata{
		Domain:        strings.Clone(g.text("domain", i)),
		Configuration: strings.Clone(g.text("configuration", i)),
		Removed:       g.flag("removed", i),
	}
	if m.Domain == "" {
		return delta.Action{}, fmt.Errorf("a domainMetadata without a domain")
	}
	return delta.Action{Domain: m}, nil
}

func (d *checkpointDecoder) decodeMetadata(i int) (delta.Action, error) {
	g := d.metadata
	m := &delta.Metadata{
		ID:               strings.Clone(g.text("id", i)),
		Name:             strings.Clone(g.text("name", i)),
		Description:      strings.Clone(g.text("description", i)),
		SchemaString:     strings.Clone(g.text("schemaString", i)),
		PartitionColumns: g.list("partitionColumns", i),
		Configuration:    d.share.texts(g.entries("configuration"), i),
		CreatedTime:      g.optional("createdTime", i),
	}
	if arr, ok := g.fields["format"].(*array.Struct); ok && arr.IsValid(i) {
		f := g.sub("format", arr)
		m.Provider = strings.Clone(f.text("provider", i))
		m.FormatOptions = d.share.texts(f.entries("options"), i)
	}
	return delta.Action{Metadata: m}, nil
}

func (d *checkpointDecoder) decodeProtocol(i int) (delta.Action, error) {
	g := d.protocol
	reader, err := narrow("minReaderVersion", g.long("minReaderVersion", i))
	if err != nil {
		return delta.Action{}, err
	}
	writer, err := narrow("minWriterVersion", g.long("minWriterVersion", i))
	return delta.Action{Protocol: &delta.Protocol{
		MinReaderVersion: int(reader),
		MinWriterVersion: int(writer),
		ReaderFeatures:   g.list("readerFeatures", i),
		WriterFeatures:   g.list("writerFeatures", i),
	}}, err
}

func (d *checkpointDecoder) decodeManifest(i int) (delta.Action, error) {
	g := d.manifest
	return delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{
		Version: g.long("version", i),
		Tags:    d.share.texts(g.entries("tags"), i),
	}}, nil
}

func (d *checkpointDecoder) decodeSidecar(i int) (delta.Action, error) {
	g := d.sidecar
	s := &delta.Sidecar{
		Path:             strings.Clone(g.text("path", i)),
		SizeInBytes:      g.long("sizeInBytes", i),
		ModificationTime: g.long("modificationTime", i),
		Tags:             d.share.texts(g.entries("tags"), i),
	}
	if s.Path == "" {
		return delta.Action{}, fmt.Errorf("a sidecar without a path")
	}
	return delta.Action{Sidecar: s}, nil
}

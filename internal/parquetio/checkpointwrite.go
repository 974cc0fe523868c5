package parquetio

import (
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"

	"github.com/idemtable/idem/delta"
)

const (
	checkpointBatch     = 512     // rows handed to the library at once
	checkpointGroupRows = 100_000 // rows of a row group
)

// The columns of a classic checkpoint. A field that is not optional always has a value where its struct has one, also
// 0, false and "": the library stores the zero value of an optional field as NULL.
type checkpointRow struct {
	Txn      *checkpointTxn      `parquet:"txn"`
	Add      *checkpointAdd      `parquet:"add"`
	Remove   *checkpointRemove   `parquet:"remove"`
	Metadata *checkpointMetadata `parquet:"metaData"`
	Protocol *checkpointProtocol `parquet:"protocol"`
	Domain   *checkpointDomain   `parquet:"domainMetadata"`
}

type checkpointTxn struct {
	AppID       string `parquet:"appId"`
	Version     int64  `parquet:"version"`
	LastUpdated *int64 `parquet:"lastUpdated"`
}

type checkpointAdd struct {
	Path               string             `parquet:"path"`
	PartitionValues    map[string]*string `parquet:"partitionValues"`
	Size               int64              `parquet:"size"`
	ModificationTime   int64              `parquet:"modificationTime"`
	DataChange         bool               `parquet:"dataChange"`
	Stats              string             `parquet:"stats,optional"`
	Tags               map[string]string  `parquet:"tags,optional"`
	DeletionVector     *checkpointVector  `parquet:"deletionVector"`
	BaseRowID          *int64             `parquet:"baseRowId"`
	CommitVersion      *int64             `parquet:"defaultRowCommitVersion"`
	ClusteringProvider string             `parquet:"clusteringProvider,optional"`
}

type checkpointVector struct {
	StorageType    string `parquet:"storageType"`
	PathOrInlineDV string `parquet:"pathOrInlineDv"`
	Offset         *int32 `parquet:"offset"`
	SizeInBytes    int32  `parquet:"sizeInBytes"`
	Cardinality    int64  `parquet:"cardinality"`
}

type checkpointRemove struct {
	Path                 string             `parquet:"path"`
	DeletionTimestamp    *int64             `parquet:"deletionTimestamp"`
	DataChange           bool               `parquet:"dataChange"`
	ExtendedFileMetadata bool               `parquet:"extendedFileMetadata"`
	PartitionValues      map[string]*string `parquet:"partitionValues,optional"`
	Size                 *int64             `parquet:"size"`
	DeletionVector       *checkpointVector  `parquet:"deletionVector"`
	BaseRowID            *int64             `parquet:"baseRowId"`
	CommitVersion        *int64             `parquet:"defaultRowCommitVersion"`
}

type checkpointFormat struct {
	Provider string            `parquet:"provider"`
	Options  map[string]string `parquet:"options"`
}

type checkpointMetadata struct {
	ID               string            `parquet:"id"`
	Name             string            `parquet:"name,optional"`
	Description      string            `parquet:"description,optional"`
	Format           checkpointFormat  `parquet:"format"`
	SchemaString     string            `parquet:"schemaString"`
	PartitionColumns []string          `parquet:"partitionColumns,list"`
	Configuration    map[string]string `parquet:"configuration"`
	CreatedTime      *int64            `parquet:"createdTime"`
}

type checkpointProtocol struct {
	MinReaderVersion int32    `parquet:"minReaderVersion"`
	MinWriterVersion int32    `parquet:"minWriterVersion"`
	ReaderFeatures   []string `parquet:"readerFeatures,list,optional"`
	WriterFeatures   []string `parquet:"writerFeatures,list,optional"`
}

type checkpointDomain struct {
	Domain        string `parquet:"domain"`
	Configuration string `parquet:"configuration"`
	Removed       bool   `parquet:"removed"`
}

// WriteCheckpoint writes a classic checkpoint with the actions in the order given. Actions that no checkpoint holds are
// an error. Statistics and tags of removes are left out, as the protocol has it.
func (Parquet) WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action]) (rows, adds int64, err error) {
	s := &sink{w: w}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if s.err != nil {
			err = s.err
		}
		if err != nil {
			rows, adds, err = 0, 0, fmt.Errorf("write a checkpoint: %w", err)
		}
	}()
	c := newCheckpointWriter(s)
	for a := range actions {
		if err := c.write(a); err != nil {
			return 0, 0, err
		}
	}
	if err := c.flush(); err != nil {
		return 0, 0, err
	}
	return c.rows, c.adds, c.file.Close()
}

// checkpointWriter hands rows to the library, many at once.
type checkpointWriter struct {
	file       *parquet.GenericWriter[checkpointRow]
	batch      []checkpointRow
	rows, adds int64
}

func newCheckpointWriter(w io.Writer) *checkpointWriter {
	return &checkpointWriter{
		// The library puts no space behind the version; with it the text is that of createdBy.
		file: parquet.NewGenericWriter[checkpointRow](w, parquet.Compression(&parquet.Snappy),
			parquet.CreatedBy("idem", "1 ", "0"), parquet.MaxRowsPerRowGroup(checkpointGroupRows)),
		batch: make([]checkpointRow, 0, checkpointBatch),
	}
}

func (c *checkpointWriter) write(a delta.Action) error {
	row, err := checkpointRowOf(a)
	if err != nil {
		return err
	}
	c.batch = append(c.batch, row)
	c.rows++
	if a.Add != nil {
		c.adds++
	}
	if len(c.batch) < cap(c.batch) {
		return nil
	}
	return c.flush()
}

func (c *checkpointWriter) flush() error {
	_, err := c.file.Write(c.batch)
	clear(c.batch)
	c.batch = c.batch[:0]
	return err
}

func checkpointRowOf(a delta.Action) (checkpointRow, error) {
	switch {
	case a.Add != nil:
		return checkpointRow{Add: checkpointAddOf(a.Add)}, nil
	case a.Remove != nil:
		return checkpointRow{Remove: checkpointRemoveOf(a.Remove)}, nil
	case a.Txn != nil:
		return checkpointRow{Txn: &checkpointTxn{AppID: a.Txn.AppID, Version: a.Txn.Version, LastUpdated: a.Txn.LastUpdated}}, nil
	case a.Domain != nil:
		return checkpointRow{Domain: &checkpointDomain{Domain: a.Domain.Domain, Configuration: a.Domain.Configuration, Removed: a.Domain.Removed}}, nil
	case a.Metadata != nil:
		return checkpointRow{Metadata: checkpointMetadataOf(a.Metadata)}, nil
	case a.Protocol != nil:
		return checkpointRow{Protocol: checkpointProtocolOf(a.Protocol)}, nil
	}
	return checkpointRow{}, fmt.Errorf("an action that no classic checkpoint holds: %+v", a)
}

func checkpointAddOf(a *delta.Add) *checkpointAdd {
	return &checkpointAdd{
		Path: a.Path, PartitionValues: a.PartitionValues, Size: a.Size, ModificationTime: a.ModificationTime,
		DataChange: a.DataChange, Stats: a.Stats, Tags: a.Tags, DeletionVector: checkpointVectorOf(a.DeletionVector),
		BaseRowID: a.BaseRowID, CommitVersion: a.CommitVersion, ClusteringProvider: a.ClusteredBy,
	}
}

func checkpointRemoveOf(r *delta.Remove) *checkpointRemove {
	out := &checkpointRemove{
		Path: r.Path, DeletionTimestamp: r.DeletionTimestamp, DataChange: r.DataChange, ExtendedFileMetadata: r.ExtendedMetadata,
		Size: r.Size, DeletionVector: checkpointVectorOf(r.DeletionVector), BaseRowID: r.BaseRowID, CommitVersion: r.CommitVersion,
	}
	if r.ExtendedMetadata {
		out.PartitionValues = r.PartitionValues
	}
	return out
}

func checkpointVectorOf(v *delta.DeletionVector) *checkpointVector {
	if v == nil {
		return nil
	}
	return &checkpointVector{StorageType: v.StorageType, PathOrInlineDV: v.PathOrInlineDV, Offset: v.Offset,
		SizeInBytes: v.SizeInBytes, Cardinality: v.Cardinality}
}

func checkpointMetadataOf(m *delta.Metadata) *checkpointMetadata {
	return &checkpointMetadata{
		ID: m.ID, Name: m.Name, Description: m.Description,
		Format:       checkpointFormat{Provider: m.Provider, Options: m.FormatOptions},
		SchemaString: m.SchemaString, PartitionColumns: m.PartitionColumns, Configuration: m.Configuration, CreatedTime: m.CreatedTime,
	}
}

// checkpointProtocolOf writes the lists of features exactly where the versions demand them.
func checkpointProtocolOf(p *delta.Protocol) *checkpointProtocol {
	out := &checkpointProtocol{MinReaderVersion: int32(p.MinReaderVersion), MinWriterVersion: int32(p.MinWriterVersion)}
	if p.MinReaderVersion >= 3 {
		out.ReaderFeatures = append([]string{}, p.ReaderFeatures...)
	}
	if p.MinWriterVersion >= 7 {
		out.WriterFeatures = append([]string{}, p.WriterFeatures...)
	}
	return out
}

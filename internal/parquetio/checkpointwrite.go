package parquetio

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"sort"

	"github.com/parquet-go/parquet-go"

	"github.com/idemtable/idem/delta"
)

const (
	checkpointBatch     = 512     // rows handed to the library at once
	checkpointGroupRows = 100_000 // rows of a row group
)

// The columns of checkpoints. A field that is not optional always has a value where its struct has one, also
// 0, false and "": the library stores the zero value of an optional field as NULL.
type checkpointRow struct {
	Txn      *checkpointTxn      `parquet:"txn"`
	Add      *checkpointAdd      `parquet:"add"`
	Remove   *checkpointRemove   `parquet:"remove"`
	Metadata *checkpointMetadata `parquet:"metaData"`
	Protocol *checkpointProtocol `parquet:"protocol"`
	Domain   *checkpointDomain   `parquet:"domainMetadata"`
	Head     *checkpointHead     `parquet:"checkpointMetadata"`
	Sidecar  *checkpointSidecar  `parquet:"sidecar"`
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

type checkpointHead struct {
	Version int64             `parquet:"version"`
	Tags    map[string]string `parquet:"tags,optional"`
}

type checkpointSidecar struct {
	Path             string            `parquet:"path"`
	SizeInBytes      int64             `parquet:"sizeInBytes"`
	ModificationTime int64             `parquet:"modificationTime"`
	Tags             map[string]string `parquet:"tags,optional"`
}

// WriteCheckpoint writes a checkpoint file with the actions in the order given. Actions that the
// layout does not hold are an error. Statistics and tags of removes are left out, as the protocol has it.
func (Parquet) WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action], l CheckpointLayout) (rows, adds int64, err error) {
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
	c := newCheckpointWriter(s, l)
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

// fileColumn is where the values of a column of the file come from: a column of baseSchema, or a
// typed form.
type fileColumn struct {
	base  int
	typed *typedLeaf
}

// checkpointWriter hands rows to the library, many at once.
type checkpointWriter struct {
	layout     CheckpointLayout
	file       *parquet.GenericWriter[any]
	columns    []fileColumn
	base       parquet.Row
	starts     []int // in base, of each column of baseSchema, and its end
	batch      []parquet.Row
	rows, adds int64
}

func newCheckpointWriter(w io.Writer, l CheckpointLayout) *checkpointWriter {
	schema := l.schema()
	if len(schema.Columns()) > maxSchemaLeaves || countElements(schema) > maxSchemaNodes {
		l.Typed, l.SkipText = nil, false // a file of them would have more columns than are read
		schema = l.schema()
	}
	c := &checkpointWriter{
		layout: l, columns: make([]fileColumn, len(schema.Columns())),
		// The library puts no space behind the version; with it the text is that of createdBy.
		file: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy),
			parquet.CreatedBy("idem", "1 ", "0"), parquet.MaxRowsPerRowGroup(checkpointGroupRows),
			parquet.DataPageStatistics(false)), // the header of a page would hold its longest text four times
		batch:  make([]parquet.Row, 0, checkpointBatch),
		starts: make([]int, len(baseSchema.Columns())+1),
	}
	for i, path := range baseSchema.Columns() {
		if leaf, ok := schema.Lookup(path...); ok {
			c.columns[leaf.ColumnIndex].base = i
		}
	}
	for _, leaf := range l.leaves(schema) {
		c.columns[leaf.column].typed = &leaf
	}
	return c
}

func (c *checkpointWriter) write(a delta.Action) error {
	row, err := checkpointRowOf(a, c.layout.Content)
	if err != nil {
		return err
	}
	if a.Add != nil {
		c.adds++
		if c.layout.SkipText {
			row.Add.Stats = ""
		}
	}
	c.rows++
	n := len(c.batch)
	c.batch = c.batch[:n+1]
	if c.batch[n], err = c.values(c.batch[n][:0], &row, a.Add); err != nil {
		return err
	}
	if len(c.batch) < cap(c.batch) {
		return nil
	}
	return c.flush()
}

// values are those of a row, in the order of the file's columns.
func (c *checkpointWriter) values(to parquet.Row, row *checkpointRow, add *delta.Add) (parquet.Row, error) {
	c.base = baseSchema.Deconstruct(c.base[:0], row)
	sortEntries(c.base)
	for i := len(c.base) - 1; i >= 0; i-- {
		c.starts[c.base[i].Column()] = i
	}
	c.starts[len(c.starts)-1] = len(c.base)
	var typed delta.TypedValues
	if add != nil && c.layout.Typed != nil {
		var err error
		if typed, err = c.layout.Typed.Values(add); err != nil {
			return to, err
		}
	}
	for i, column := range c.columns {
		if column.typed == nil {
			for _, v := range c.base[c.starts[column.base]:c.starts[column.base+1]] {
				to = append(to, v.Level(v.RepetitionLevel(), v.DefinitionLevel(), i))
			}
			continue
		}
		v, err := column.typed.value(&typed, add != nil)
		if err != nil {
			return to, err
		}
		to = append(to, v)
	}
	return to, nil
}

// mapKeys are the columns of baseSchema that hold the keys of maps; the next one holds the values.
var mapKeys = func() map[int]bool {
	keys := map[int]bool{}
	for i, path := range baseSchema.Columns() {
		keys[i] = len(path) > 2 && path[len(path)-1] == "key"
	}
	return keys
}()

// sortEntries puts the entries of maps, which the library takes in any order, into that of their
// keys.
func sortEntries(row parquet.Row) {
	for from := 0; from < len(row); {
		column := row[from].Column()
		to := from + 1
		for to < len(row) && row[to].Column() == column {
			to++
		}
		if n := to - from; mapKeys[column] && n > 1 {
			sort.Sort(entries{row[from:to], row[to : to+n]})
			for i := range n {
				row[from+i] = row[from+i].Level(min(i, 1), row[from+i].DefinitionLevel(), column)
				row[to+i] = row[to+i].Level(min(i, 1), row[to+i].DefinitionLevel(), column+1)
			}
		}
		from = to
	}
}

type entries struct{ keys, values []parquet.Value }

func (e entries) Len() int { return len(e.keys) }

func (e entries) Less(i, j int) bool {
	return bytes.Compare(e.keys[i].ByteArray(), e.keys[j].ByteArray()) < 0
}

func (e entries) Swap(i, j int) {
	e.keys[i], e.keys[j] = e.keys[j], e.keys[i]
	e.values[i], e.values[j] = e.values[j], e.values[i]
}

func (c *checkpointWriter) flush() error {
	_, err := c.file.WriteRows(c.batch)
	c.batch = c.batch[:0]
	return err
}

func checkpointRowOf(a delta.Action, content CheckpointContent) (checkpointRow, error) {
	switch other := a.Add == nil && a.Remove == nil; {
	case content == CheckpointSidecar && other:
	case content == CheckpointManifest && a.CheckpointMetadata != nil:
		return checkpointRow{Head: &checkpointHead{Version: a.CheckpointMetadata.Version, Tags: a.CheckpointMetadata.Tags}}, nil
	case content == CheckpointManifest && a.Sidecar != nil:
		return checkpointRow{Sidecar: &checkpointSidecar{
			Path: a.Sidecar.Path, SizeInBytes: a.Sidecar.SizeInBytes, ModificationTime: a.Sidecar.ModificationTime, Tags: a.Sidecar.Tags}}, nil
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
	return checkpointRow{}, fmt.Errorf("an action that this file of a checkpoint does not hold: %+v", a)
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

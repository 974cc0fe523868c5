package plan

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// FileKind says what rows the files of a [FileSet] hold.
type FileKind int

const (
	// NewRows are rows that the table did not have. Batches have the table's columns.
	NewRows FileKind = iota

	// CopiedRows are rows that the table has, or other versions of them. In a table that tracks rows
	// (delta.Snapshot.TracksRows) batches have two columns more, delta.RowIDColumn and
	// delta.RowCommitVersionColumn (int64): a NULL stands for what the commit will give. In other
	// tables they are as NewRows.
	CopiedRows

	// ChangeRows are rows of the change data feed. Batches have one column more, ChangeTypeColumn
	// (string). Their files are no part of the table: see [Changes].
	ChangeRows
)

// ChangeTypeColumn is the column of a change data file that says what became of the row, with its
// values.
const (
	ChangeTypeColumn = "_change_type"

	changeInsert    = "insert"
	changeDelete    = "delete"
	changePreimage  = "update_preimage"
	changePostimage = "update_postimage"

	changeDir = "_change_data/"
)

// Names of table properties that decide how files are laid out.
const (
	randomPrefixProperty  = "delta.randomizeFilePrefixes"
	prefixLengthProperty  = "delta.randomPrefixLength"
	keepPartitionProperty = "delta.writePartitionColumnsToParquet"
	formatVersionProperty = "delta.parquet.format.version"

	defaultPrefixLength = 2
	mostPrefixLength    = 32 // characters of an id
)

// fileLayout says how the rows of a table lie in its files: which columns, under which names, in
// which directory.
type fileLayout struct {
	kind   FileKind
	rows   *arrow.Schema // of the batches that are given
	table  *arrow.Schema // their first columns: those of the table
	from   []int         // for each column of the files, that of the batches
	picked *arrow.Schema // those columns as the batches have them
	stored *arrow.Schema // as the files do
	data   *arrow.Schema // the columns that statistics are gathered of
	dataOf []int         // for each of them, that of the batches

	prefix int // characters of the random directory of a file; 0 means directories by partition
}

func newFileLayout(snap *delta.Snapshot, kind FileKind, partition []int) *fileLayout {
	l := &fileLayout{kind: kind, rows: snap.ArrowSchema(), table: snap.ArrowSchema(), data: snap.DataSchema(), prefix: prefixLength(snap)}
	isPartition := make([]bool, l.table.NumFields())
	for _, c := range partition {
		isPartition[c] = true
	}
	for i := range isPartition {
		if !isPartition[i] {
			l.dataOf = append(l.dataOf, i)
		}
	}
	l.from = l.dataOf
	if keepsPartitionColumns(snap) {
		l.from = append(l.from[:len(l.from):len(l.from)], partition...)
	}
	switch {
	case kind == ChangeRows:
		l.also(arrow.Field{Name: ChangeTypeColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	case kind == CopiedRows && snap.TracksRows():
		l.also(arrow.Field{Name: delta.RowIDColumn, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
		l.also(arrow.Field{Name: delta.RowCommitVersionColumn, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	}
	l.picked = l.given()
	l.stored = snap.Stored(l.picked)
	return l
}

// also adds a column that the table's schema lacks.
func (l *fileLayout) also(f arrow.Field) {
	l.from = append(l.from[:len(l.from):len(l.from)], l.rows.NumFields())
	l.rows = arrow.NewSchema(append(l.rows.Fields()[:l.rows.NumFields():l.rows.NumFields()], f), nil)
}

// given is the schema of the columns that files hold, as batches have them.
func (l *fileLayout) given() *arrow.Schema {
	fields := make([]arrow.Field, len(l.from))
	for i, c := range l.from {
		fields[i] = l.rows.Field(c)
	}
	return arrow.NewSchema(fields, nil)
}

// file gives the rows as the files have them. The caller releases the result.
func (l *fileLayout) file(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	part := array.NewRecordBatch(l.picked, pick(batch, l.from), batch.NumRows())
	defer part.Release()
	return rows.Rename(part, l.stored)
}

// described gives the columns of which statistics are gathered. The caller releases the result.
func (l *fileLayout) described(batch arrow.RecordBatch) arrow.RecordBatch {
	return array.NewRecordBatch(l.data, pick(batch, l.dataOf), batch.NumRows())
}

// own gives the table's columns, which the digest is of. The caller releases the result.
func (l *fileLayout) own(batch arrow.RecordBatch) arrow.RecordBatch {
	return array.NewRecordBatch(l.table, batch.Columns()[:l.table.NumFields()], batch.NumRows())
}

// dir is the directory of a file, with its slash: of its partition or, where names of partitions
// must not show or one directory would be too hot, of a random name.
func (l *fileLayout) dir(partition, id string) string {
	dir := partition
	if l.prefix > 0 {
		dir = strings.ReplaceAll(id, "-", "")
		dir = dir[:min(l.prefix, len(dir))] + "/"
	}
	if l.kind == ChangeRows {
		return changeDir + dir
	}
	return dir
}

// prefixLength is how long the random names of directories are; 0 means that they are named by
// partition. Under column mapping the logical names of partition columns stay out of paths.
func prefixLength(snap *delta.Snapshot) int {
	if snap.Mapping() == delta.MappingNone && !isSet(snap, randomPrefixProperty) {
		return 0
	}
	text, _ := snap.Property(prefixLengthProperty)
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(n, mostPrefixLength)
	}
	return defaultPrefixLength
}

// keepsPartitionColumns says whether files hold the partition columns too, behind the others.
// Readers take the log's values all the same.
func keepsPartitionColumns(snap *delta.Snapshot) bool {
	return snap.Protocol().Supports("materializePartitionColumns") || isSet(snap, keepPartitionProperty) ||
		isSet(snap, "delta.enableIcebergCompatV1") || isSet(snap, "delta.enableIcebergCompatV2") || isSet(snap, "delta.enableIcebergCompatV3")
}

// isSet says whether a boolean property of the table is true.
func isSet(snap *delta.Snapshot, key string) bool {
	v, _ := snap.Property(key)
	return strings.EqualFold(v, "true")
}

package parquetio

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
)

// checkpointRows is the number of rows of a batch of a checkpoint: statistics make rows wide.
const checkpointRows = 8 << 10

var (
	textType   = arrow.BinaryTypes.String
	longType   = arrow.PrimitiveTypes.Int64
	boolType   = arrow.FixedWidthTypes.Boolean
	textsType  = arrow.MapOf(textType, textType)
	vectorType = structOf("storageType", textType, "pathOrInlineDv", textType, "offset", longType, "sizeInBytes", longType, "cardinality", longType)
)

// structOf makes a type of nullable fields from names and types in turn.
func structOf(pairs ...any) *arrow.StructType {
	fields := make([]arrow.Field, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, arrow.Field{Name: pairs[i].(string), Type: pairs[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.StructOf(fields...)
}

// checkpointColumns are the columns of any checkpoint. Integers are asked for as long, which reads every width.
func checkpointColumns(add *arrow.StructType) *arrow.Schema {
	cols := structOf(
		"txn", structOf("appId", textType, "version", longType, "lastUpdated", longType),
		"add", add,
		"remove", structOf("path", textType, "deletionTimestamp", longType, "dataChange", boolType, "extendedFileMetadata", boolType,
			"partitionValues", textsType, "size", longType, "tags", textsType, "deletionVector", vectorType,
			"baseRowId", longType, "defaultRowCommitVersion", longType),
		"metaData", structOf("id", textType, "name", textType, "description", textType,
			"format", structOf("provider", textType, "options", textsType), "schemaString", textType,
			"partitionColumns", arrow.ListOf(textType), "configuration", textsType, "createdTime", longType),
		"protocol", structOf("minReaderVersion", longType, "minWriterVersion", longType,
			"readerFeatures", arrow.ListOf(textType), "writerFeatures", arrow.ListOf(textType)),
		"domainMetadata", structOf("domain", textType, "configuration", textType, "removed", boolType),
		"checkpointMetadata", structOf("version", longType, "tags", textsType),
		"sidecar", structOf("path", textType, "sizeInBytes", longType, "modificationTime", longType, "tags", textsType),
	)
	return arrow.NewSchema(cols.Fields(), nil)
}

// addColumns is the type of add for a file: with statistics if they are asked for, in the typed form if the file has it.
func addColumns(file *node, stats bool) *arrow.StructType {
	fields := structOf("path", textType, "partitionValues", textsType, "size", longType, "modificationTime", longType,
		"dataChange", boolType, "tags", textsType, "deletionVector", vectorType, "baseRowId", longType,
		"defaultRowCommitVersion", longType, "clusteringProvider", textType).Fields()
	if stats {
		fields = append(fields, arrow.Field{Name: "stats", Type: textType, Nullable: true})
		if file != nil {
			if parsed, _ := file.child("stats_parsed"); parsed != nil {
				if t := naturalType(parsed); t != nil {
					fields = append(fields, arrow.Field{Name: "stats_parsed", Type: t, Nullable: true})
				}
			}
		}
	}
	return arrow.StructOf(fields...)
}

// ReadCheckpoint reads a checkpoint, a part of one, or a sidecar of any writer.
func (c Parquet) ReadCheckpoint(ctx context.Context, src Source, o CheckpointOptions, f func(delta.Action) error) error {
	opened, err := c.Open(ctx, src, ReadOptions{BatchRows: checkpointRows, Allocator: o.Allocator})
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	defer opened.Close()
	r := opened.(*reader)
	add, _ := r.footer.root.child("add")
	d := &checkpointDecoder{share: newInterner()}
	if add != nil && o.SkipStats {
		text, _ := add.child("stats")
		parsed, _ := add.child("stats_parsed")
		d.deferred = text != nil || parsed != nil
	}
	want := checkpointColumns(addColumns(add, !o.SkipStats))
	row := int64(0)
	for batch, err := range r.Batches(ctx, want) {
		if err != nil {
			return fmt.Errorf("read checkpoint: %w", err)
		}
		d.bind(batch)
		for i := range int(batch.NumRows()) {
			if err := d.row(i, f); err != nil {
				if d.bad {
					return fmt.Errorf("%w: read checkpoint %s, row %d: %w", delta.ErrCorrupt, src.Name(), row+int64(i), err)
				}
				return err
			}
		}
		row += batch.NumRows()
	}
	return nil
}

// checkpointDecoder turns the rows of batches into actions.
type checkpointDecoder struct {
	deferred bool
	bad      bool // the error is about the row, not from the caller
	share    *interner

	txn, add, remove, metadata, protocol, domain, manifest, sidecar *group
}

// group is a struct column with its fields by name.
type group struct {
	arr    *array.Struct
	fields map[string]arrow.Array
	texts  map[string]*texts
	subs   map[string]*group
}

func (d *checkpointDecoder) bind(batch arrow.RecordBatch) {
	for i, g := range []**group{&d.txn, &d.add, &d.remove, &d.metadata, &d.protocol, &d.domain, &d.manifest, &d.sidecar} {
		*g = bindGroup(batch.Column(i).(*array.Struct))
	}
}

func bindGroup(arr *array.Struct) *group {
	g := &group{arr: arr, fields: map[string]arrow.Array{}, texts: map[string]*texts{}}
	if arr.NullN() == arr.Len() {
		return g
	}
	for i, f := range arr.DataType().(*arrow.StructType).Fields() {
		g.fields[f.Name] = arr.Field(i)
		if s, ok := arr.Field(i).(*array.String); ok {
			g.texts[f.Name] = newTexts(s)
		}
	}
	return g
}

func (g *group) has(i int) bool { return len(g.fields) > 0 && g.arr.IsValid(i) }

// row calls f for the actions of a row, of which a sound file has one. A row without any is skipped.
func (d *checkpointDecoder) row(i int, f func(delta.Action) error) error {
	for _, part := range [...]struct {
		g      *group
		decode func(i int) (delta.Action, error)
	}{
		{d.add, d.decodeAdd}, {d.remove, d.decodeRemove}, {d.txn, d.decodeTxn}, {d.metadata, d.decodeMetadata},
		{d.protocol, d.decodeProtocol}, {d.domain, d.decodeDomain}, {d.manifest, d.decodeManifest}, {d.sidecar, d.decodeSidecar},
	} {
		if !part.g.has(i) {
			continue
		}
		a, err := part.decode(i)
		if err != nil {
			d.bad = true
			return err
		}
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

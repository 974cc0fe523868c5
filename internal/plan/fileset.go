package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
)

const (
	defaultTargetFileBytes = 128 << 20
	compressionProperty    = "delta.parquet.compression.codec"

	pieceRows = 65_536 // most rows that are given to a file at once

	// openBytes is how many bytes of rows a partition gathers before a file is opened for it: an
	// open file costs memory of its own, and a load may touch thousands of partitions.
	openBytes = 1 << 20

	// writerBytes is what an open file costs beside its rows.
	writerBytes = 256 << 10
)

// FileSet writes rows into new data files: one or more a partition, each closed at a target size.
// Write returns when the rows are encoded or set aside, so a fast reader waits for a slow store.
// What is held is bounded: above a quarter of Env.MemoryBytes the partition that holds most is
// written out and its file closed, though it is small.
//
// A FileSet is used by one goroutine. With Env.Parallelism above 1 it encodes different files, and
// the statistics beside them, on others while Write or Finish runs.
type FileSet struct {
	ctx    context.Context
	env    *Env
	snap   *delta.Snapshot
	split  *partitioner
	layout *fileLayout
	codec  parquetio.Codec
	option parquetio.WriteOptions
	target int64
	budget int64

	columnsText string // see ColumnsTag

	byID  map[string]*filePart
	parts []*filePart // in order of their first rows
	files []*dataFile // every file that was begun, in order
	rows  int64
	sum   rows.Digest
	err   error // the first failure; nothing more is written
	ended bool
}

// filePart is a partition: the file that is open for it and the rows that wait for one.
type filePart struct {
	dir     string
	values  map[string]*string
	open    *dataFile
	pending []arrow.RecordBatch
	waiting int64 // bytes of pending
}

// NewFileSet prepares to write files of a kind for the table as snap has it. The codec is that of
// ctx. A compression or a version of the format that idem lacks wraps [delta.ErrUnsupported].
func NewFileSet(ctx context.Context, env *Env, snap *delta.Snapshot, kind FileKind) (*FileSet, error) {
	if kind == CopiedRows {
		if err := keepsIDs(snap); err != nil {
			return nil, err
		}
	}
	split := newPartitioner(snap)
	f := &FileSet{
		ctx: ctx, env: env, snap: snap, split: split, layout: newFileLayout(snap, kind, split.columns),
		codec: parquetio.From(ctx), target: targetBytes(env, snap), budget: env.memoryBytes() / 4,
		columnsText: columnsText(snap), byID: map[string]*filePart{},
	}
	f.option.Allocator = env.Allocator
	if c, ok := snap.Property(compressionProperty); ok {
		f.option.Codec = strings.ToLower(c)
		if !slices.Contains([]string{"snappy", "zstd", "gzip", "none", "uncompressed", "lz4", "lz4_raw"}, f.option.Codec) {
			return nil, fmt.Errorf("%w: the table property %s is %q; set it to snappy, zstd, gzip, lz4_raw or none",
				delta.ErrUnsupported, compressionProperty, c)
		}
	}
	if v, ok := snap.Property(formatVersionProperty); ok {
		if f.option.PageV2, ok = parquetio.FormatVersion(v); !ok {
			return nil, fmt.Errorf("%w: the table property %s is %q; set it to 1.0.0 or to a version 2.x.y", delta.ErrUnsupported, formatVersionProperty, v)
		}
	}
	return f, nil
}

// Schema is that of the batches that Write takes: the table's columns, then those of the kind.
func (f *FileSet) Schema() *arrow.Schema { return f.layout.rows }

// targetBytes is what the caller asks for, else what the table says, else the default.
func targetBytes(env *Env, snap *delta.Snapshot) int64 {
	if env.TargetFileBytes > 0 {
		return env.TargetFileBytes
	}
	if n := snap.TargetFileSize(); n > 0 {
		return n
	}
	return defaultTargetFileBytes
}

// Write takes a batch of Schema, conformed and checked. The batch stays the caller's. After an error everything that was written is removed, as
// far as the store allows, and the set is spent.
func (f *FileSet) Write(batch arrow.RecordBatch) error {
	if f.err == nil {
		f.fail(f.write(batch))
	}
	return f.err
}

// fail keeps the first failure and removes what was written.
func (f *FileSet) fail(err error) {
	if err != nil {
		f.err = err
		f.Abort()
	}
}

func (f *FileSet) write(batch arrow.RecordBatch) error {
	if f.ended {
		return errors.New("write rows: the set of files is finished")
	}
	if !batch.Schema().Equal(f.layout.rows) {
		if err := f.sameTypes(batch); err != nil {
			return err
		}
	}
	n := batch.NumRows()
	if n == 0 {
		return f.ctx.Err()
	}
	perRow := max(1, rows.Bytes(batch)/n)
	step := min(pieceRows, max(1, min(f.target, f.budget)/4/perRow))
	for from := int64(0); from < n; from += step {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		piece := batch.NewSlice(from, min(n, from+step))
		err := f.writePiece(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	f.rows += n
	return nil
}

func (f *FileSet) sameTypes(batch arrow.RecordBatch) error {
	all := f.layout.rows
	if int(batch.NumCols()) != all.NumFields() {
		return fmt.Errorf("write rows: a batch has %d columns, the files %d", batch.NumCols(), all.NumFields())
	}
	for i, want := range all.Fields() {
		if batch.ColumnName(i) != want.Name || !arrow.TypeEqual(batch.Column(i).DataType(), want.Type) {
			return fmt.Errorf("write rows: column %d is %s %s, the files have %s %s", i+1, batch.ColumnName(i), batch.Column(i).DataType(), want.Name, want.Type)
		}
	}
	return nil
}

// job is rows that go into a file now.
type job struct {
	file    *dataFile
	batches []arrow.RecordBatch
}

func (f *FileSet) writePiece(piece arrow.RecordBatch) error {
	jobs, err := f.assign(piece)
	defer releaseJobs(jobs)
	if err != nil {
		return err
	}
	if err := f.encode(jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.file.size() >= f.target {
			if err := f.closeFile(j.file); err != nil {
				return err
			}
		}
	}
	return f.relieve()
}

// assign gives each partition its rows. Those that have gathered enough come back as jobs on open
// files, also with an error.
func (f *FileSet) assign(piece arrow.RecordBatch) ([]job, error) {
	groups := []group{{}}
	if len(f.split.columns) > 0 {
		var err error
		if groups, err = f.split.split(piece); err != nil {
			return nil, err
		}
	}
	var jobs []job
	for i := range groups {
		part := f.part(&groups[i])
		own, err := f.rowsOf(piece, &groups[i], len(groups) == 1)
		if err != nil {
			return jobs, err
		}
		size := rows.Bytes(own)
		if part.open == nil && part.waiting+size < min(openBytes, f.target) {
			err = f.setAside(part, own, size)
			own.Release()
			if err != nil {
				return jobs, err
			}
			continue
		}
		jobs = append(jobs, job{batches: append(part.take(), own)})
		if jobs[len(jobs)-1].file, err = f.openFile(part); err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

func releaseJobs(jobs []job) {
	for _, j := range jobs {
		for _, b := range j.batches {
			b.Release()
		}
	}
}

func (f *FileSet) part(g *group) *filePart {
	p := f.byID[g.id]
	if p == nil {
		p = &filePart{values: g.values, dir: delta.PartitionDir(f.split.keys, g.values)}
		if p.values == nil {
			p.values = map[string]*string{}
		}
		f.byID[g.id] = p
		f.parts = append(f.parts, p)
	}
	return p
}

// rowsOf gives the rows of a group, shared where they lie together.
func (f *FileSet) rowsOf(piece arrow.RecordBatch, g *group, whole bool) (arrow.RecordBatch, error) {
	switch {
	case whole:
		piece.Retain()
		return piece, nil
	case g.contiguous():
		first := int64(g.rows[0])
		return piece.NewSlice(first, first+int64(len(g.rows))), nil
	}
	return rows.Take(f.env.Allocator, piece, g.rows)
}

// setAside keeps a copy: a slice would hold the memory of all the batch it was cut from.
func (f *FileSet) setAside(part *filePart, batch arrow.RecordBatch, size int64) error {
	every := make([]int32, batch.NumRows())
	for i := range every {
		every[i] = int32(i)
	}
	own, err := rows.Take(f.env.Allocator, batch, every)
	if err != nil {
		return err
	}
	part.pending = append(part.pending, own)
	part.waiting += size
	return nil
}

// take hands over the waiting rows.
func (p *filePart) take() []arrow.RecordBatch {
	out := p.pending
	p.pending, p.waiting = nil, 0
	return out
}

// encode writes rows into files and gathers what the log says about them, side by side.
func (f *FileSet) encode(jobs []job) error {
	for _, j := range jobs {
		for _, b := range j.batches {
			rows.CountNulls(b)
		}
	}
	return f.env.forEach(f.ctx, 2*len(jobs), func(_ context.Context, i int) error {
		j := jobs[i/2]
		for _, b := range j.batches {
			var err error
			if i%2 == 0 {
				err = j.file.write(f.layout, b)
			} else {
				err = j.file.describe(f.layout, b)
			}
			if err != nil {
				return fmt.Errorf("write %s: %w", j.file.key, err)
			}
		}
		return nil
	})
}

// relieve closes files until what is held is within the budget.
func (f *FileSet) relieve() error {
	for {
		var most *filePart
		held := int64(0)
		for _, p := range f.parts {
			held += p.held()
			if most == nil || p.held() > most.held() {
				most = p
			}
		}
		if held <= f.budget || most.held() == 0 {
			return nil
		}
		if err := f.finishPart(most, f.begin(most)); err != nil {
			return err
		}
	}
}

// held is the memory of a partition's rows.
func (p *filePart) held() int64 {
	if p.open == nil {
		return p.waiting
	}
	return p.waiting + p.open.buffered() + writerBytes
}

// finishPart writes what waits and closes the partition's file. file is the one to open if none is.
func (f *FileSet) finishPart(p *filePart, file *dataFile) error {
	if p.open == nil && len(p.pending) == 0 {
		return nil
	}
	if len(p.pending) > 0 {
		jobs := []job{{file: file, batches: p.take()}}
		defer releaseJobs(jobs)
		if err := f.start(p, file); err != nil {
			return err
		}
		if err := f.encode(jobs); err != nil {
			return err
		}
	}
	return f.closeFile(p.open)
}

// Finish closes every file and gives their adds, in the order in which they were begun; of change
// rows they are what [Changes] takes. No rows make no file. After an error everything is removed as after one of Write.
func (f *FileSet) Finish() ([]*delta.Add, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.ended {
		return nil, errors.New("finish: the set of files is finished")
	}
	begun := make([]*dataFile, len(f.parts))
	for i, p := range f.parts {
		begun[i] = f.begin(p)
	}
	f.fail(f.env.forEach(f.ctx, len(f.parts), func(_ context.Context, i int) error {
		return f.finishPart(f.parts[i], begun[i])
	}))
	if f.err != nil {
		return nil, f.err
	}
	f.ended = true
	var adds []*delta.Add
	for _, file := range f.files {
		if file.add != nil {
			adds = append(adds, file.add)
			f.sum = f.sum.Add(file.sum)
		}
	}
	return adds, nil
}

// Abort drops open files and deletes finished ones, as far as the store allows. It is called only
// while no commit that names a file was proposed. It may be called again, and after Finish.
func (f *FileSet) Abort() {
	var visible []*delta.Add
	for _, file := range f.files {
		if file.abort() {
			visible = append(visible, &delta.Add{Key: file.key})
		}
	}
	for _, p := range f.parts {
		releaseJobs([]job{{batches: p.take()}})
		p.open = nil
	}
	f.files, f.ended = nil, true
	if len(visible) > 0 {
		f.env.discard(visible)
	}
}

// Rows is the number of rows taken.
func (f *FileSet) Rows() int64 { return f.rows }

// Digest is that of all rows, all columns of the table, but 0 of change rows; it stands once Finish has returned.
func (f *FileSet) Digest() rows.Digest { return f.sum }

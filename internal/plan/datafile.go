package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
)

// dataFile is one new file, from its name to its add.
type dataFile struct {
	key  string
	part *filePart

	out    *countedWriter // nil until the file is opened
	writer parquetio.Writer
	stats  *delta.StatsBuilder
	rows   int64
	sum    rows.Digest

	closing bool       // Close was called: the object may be visible
	add     *delta.Add // once closed
}

// countedWriter counts the bytes on their way to the store, and stops when the context ends.
type countedWriter struct {
	ctx context.Context
	w   store.Writer
	n   int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// begin names the file that the partition's next rows go to. It costs nothing if none is needed.
func (f *FileSet) begin(p *filePart) *dataFile {
	if p.open != nil || len(p.pending) == 0 {
		return p.open
	}
	return f.newFile(p)
}

func (f *FileSet) newFile(p *filePart) *dataFile {
	file := &dataFile{part: p}
	id, name := f.env.NewID(), "part"
	if f.layout.kind == ChangeRows {
		name = "cdc"
	}
	file.key = fmt.Sprintf("%s%s-%05d-%s.c000%s", f.layout.dir(p.dir, id), name, len(f.files), id, f.codec.Ext(f.option))
	f.files = append(f.files, file)
	return file
}

// openFile gives the partition's open file, a new one if there is none.
func (f *FileSet) openFile(p *filePart) (*dataFile, error) {
	if p.open != nil {
		return p.open, nil
	}
	file := f.newFile(p)
	return file, f.start(p, file)
}

// start opens a file in the store unless it is open already.
func (f *FileSet) start(p *filePart, file *dataFile) error {
	if file.out != nil {
		return nil
	}
	w, err := f.env.Store.Create(f.ctx, file.key)
	if err != nil {
		return fmt.Errorf("write %s: %w", file.key, err)
	}
	out := &countedWriter{ctx: f.ctx, w: w}
	if file.writer, err = f.codec.NewWriter(out, f.layout.stored, f.option); err != nil {
		w.Abort()
		return fmt.Errorf("write %s: %w", file.key, err)
	}
	file.out = out
	if f.layout.kind != ChangeRows {
		file.stats = f.snap.StatsBuilder()
	}
	p.open = file
	return nil
}

func (d *dataFile) write(l *fileLayout, batch arrow.RecordBatch) error {
	stored, err := l.file(batch)
	if err != nil {
		return err
	}
	defer stored.Release()
	d.rows += batch.NumRows()
	return d.writer.Write(stored)
}

// describe gathers statistics and digest; a file of changes has neither. It shares nothing with
// write.
func (d *dataFile) describe(l *fileLayout, batch arrow.RecordBatch) error {
	if d.stats == nil {
		return nil
	}
	data, own := l.described(batch), l.own(batch)
	defer data.Release()
	defer own.Release()
	if err := d.stats.Add(data); err != nil {
		return err
	}
	sum, err := rows.DigestRows(own, nil)
	if err != nil {
		return err
	}
	d.sum = d.sum.Add(sum)
	return nil
}

// size is the file's, before compression of what is not in the store yet.
func (d *dataFile) size() int64 { return d.writer.Bytes() }

// buffered is what the encoder holds.
func (d *dataFile) buffered() int64 { return max(0, d.writer.Bytes()-d.out.n) }

// closeFile makes the file visible and says what the log needs to know of it.
func (f *FileSet) closeFile(d *dataFile) error {
	if err := f.ctx.Err(); err != nil {
		return fmt.Errorf("write %s: %w", d.key, err)
	}
	if err := d.writer.Close(); err != nil {
		return fmt.Errorf("write %s: %w", d.key, err)
	}
	d.closing = true
	if err := d.out.w.Close(); err != nil && !f.ours(d, err) {
		return fmt.Errorf("write %s: %w", d.key, err)
	}
	d.add = &delta.Add{
		Path: delta.EncodePath(d.key), Key: d.key,
		PartitionValues:  d.part.values,
		Size:             d.out.n,
		ModificationTime: f.env.Now().UnixMilli(),
		DataChange:       d.stats != nil,
	}
	if d.stats != nil {
		d.add.Stats, d.add.Tags = d.stats.JSON(), map[string]string{TagName: FormatFingerprint(d.rows, d.sum, nil)}
		if f.columnsText != "" {
			d.add.Tags[ColumnsTag] = f.columnsText
		}
	}
	d.part.open = nil
	d.writer, d.stats = nil, nil
	return nil
}

// ours says whether a file that exists already is the one being closed: a layer in between sent it
// twice. Nobody else uses its name, which holds a random id.
func (f *FileSet) ours(d *dataFile, err error) bool {
	if !errors.Is(err, store.ErrExist) {
		return false
	}
	info, err := f.env.Store.Head(f.ctx, d.key)
	return err == nil && info.Size == d.out.n
}

// abort drops the file and says whether it may be visible all the same.
func (d *dataFile) abort() (visible bool) {
	switch {
	case d.out == nil:
		return false
	case d.closing:
		return true
	}
	d.writer.Abort()
	d.out.w.Abort()
	return false
}

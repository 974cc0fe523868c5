package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/tabletest"
)

// summed is the stub codec with a checksum at the end of every file, so that wrong bytes show.
type summed struct{ tabletest.Stub }

var _ parquetio.Codec = summed{}

// Codec is the codec of most histories; the others use Parquet.
func Codec() parquetio.Codec { return summed{} }

func (s summed) NewWriter(w io.Writer, schema *arrow.Schema, o parquetio.WriteOptions) (parquetio.Writer, error) {
	sum := &summing{w: w}
	inner, err := s.Stub.NewWriter(sum, schema, o)
	if err != nil {
		return nil, err
	}
	return &summedWriter{Writer: inner, sum: sum}, nil
}

// summing adds up what goes through.
type summing struct {
	w   io.Writer
	sum uint32
}

func (s *summing) Write(p []byte) (int, error) {
	s.sum = crc32.Update(s.sum, crc32.IEEETable, p)
	return s.w.Write(p)
}

func (s *summing) end() error {
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(nil, s.sum))
	return err
}

type summedWriter struct {
	parquetio.Writer
	sum *summing
}

func (w *summedWriter) Close() error {
	if err := w.Writer.Close(); err != nil {
		return err
	}
	return w.sum.end()
}

// verified is a file whose checksum was found right, without the checksum.
type verified struct {
	name string
	*bytes.Reader
}

func (v verified) Name() string { return v.name }

func verify(src parquetio.Source) (parquetio.Source, error) {
	data := make([]byte, src.Size())
	n, err := src.ReadAt(data, 0)
	if err != nil && !(n == len(data) && errors.Is(err, io.EOF)) {
		return nil, err
	}
	body := len(data) - 4
	if body < 0 || crc32.ChecksumIEEE(data[:body]) != binary.LittleEndian.Uint32(data[body:]) {
		return nil, fmt.Errorf("%w: %s: the checksum is wrong", delta.ErrCorrupt, src.Name())
	}
	return verified{src.Name(), bytes.NewReader(data[:body])}, nil
}

func (s summed) Open(ctx context.Context, src parquetio.Source, o parquetio.ReadOptions) (parquetio.Reader, error) {
	inner, err := verify(src)
	if err != nil {
		return nil, err
	}
	return s.Stub.Open(ctx, inner, o)
}

// WriteCheckpoint writes lines of JSON or, of what belongs in checkpoints of the second kind only and has
// no place in a commit, Parquet.
func (s summed) WriteCheckpoint(w io.Writer, actions iter.Seq[delta.Action], l parquetio.CheckpointLayout) (rows, adds int64, err error) {
	sum := &summing{w: w}
	write := s.Stub.WriteCheckpoint
	all := slices.Collect(actions) // they come once
	if slices.ContainsFunc(all, func(a delta.Action) bool { return a.Sidecar != nil || a.CheckpointMetadata != nil }) {
		write = parquetio.Parquet{}.WriteCheckpoint
	}
	if rows, adds, err = write(sum, slices.Values(all), l); err != nil {
		return rows, adds, err
	}
	return rows, adds, sum.end()
}

func (s summed) ReadCheckpoint(ctx context.Context, src parquetio.Source, o parquetio.CheckpointOptions, f func(delta.Action) error) error {
	inner, err := verify(src)
	if err != nil {
		return err
	}
	head := make([]byte, 4)
	if n, _ := inner.ReadAt(head, 0); n == 4 && string(head) == "PAR1" {
		return parquetio.Parquet{}.ReadCheckpoint(ctx, inner, o, f)
	}
	return s.Stub.ReadCheckpoint(ctx, inner, o, f)
}

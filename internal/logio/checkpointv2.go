package logio

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// sidecarRows is the number of file actions in one sidecar.
const sidecarRows = 200_000

// writeV2 writes the sidecars of a V2 checkpoint and then the file that names them. Until that is
// there nobody looks at the sidecars; those of an attempt that failed before are taken away again.
func (l *Log) writeV2(ctx context.Context, s *checkpointSource) (delta.LastCheckpoint, error) {
	w := &v2Writer{l: l, source: s, layout: s.layout}
	data, err := w.write(ctx)
	if err != nil {
		w.discard(ctx)
		return delta.LastCheckpoint{}, err
	}
	id, err := l.newUUID()
	if err != nil {
		w.discard(ctx)
		return delta.LastCheckpoint{}, err
	}
	key := delta.CheckpointUUIDKey(s.snap.Version(), id)
	if err := l.st.PutIfAbsent(ctx, key, data); err != nil && !errors.Is(err, store.ErrExist) {
		return delta.LastCheckpoint{}, err // it may be there: its sidecars stay
	}
	return delta.LastCheckpoint{
		Version: s.snap.Version(), Size: s.yielded, NumOfAddFiles: int64(s.snap.NumFiles()), SizeInBytes: w.bytes + int64(len(data)),
		V2: &delta.CheckpointFile{Path: strings.TrimPrefix(key, delta.LogDir), SizeInBytes: int64(len(data)), ModificationTime: s.now.UnixMilli()},
	}, nil
}

// v2Writer writes one V2 checkpoint.
type v2Writer struct {
	l      *Log
	source *checkpointSource
	layout parquetio.CheckpointLayout
	top    []delta.Action // the actions of the top-level file
	keys   []string       // of the sidecars
	bytes  int64          // in the sidecars
	rows   int64          // in all files but for what is about the checkpoint itself
	adds   int64
}

// write writes the sidecars and gives the bytes of the top-level file.
func (w *v2Writer) write(ctx context.Context) ([]byte, error) {
	next, stop := iter.Pull(w.source.actions())
	defer stop()
	w.top = []delta.Action{{CheckpointMetadata: &delta.CheckpointMetadata{Version: w.source.snap.Version()}}}
	a, more := next()
	for ; more && a.Add == nil && a.Remove == nil; a, more = next() {
		w.top = append(w.top, a)
		w.rows++
	}
	for more {
		var err error
		if a, more, err = w.sidecar(ctx, a, next); err != nil {
			return nil, err
		}
	}
	if err := w.source.check(w.rows, w.adds); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	_, _, err := parquetio.From(ctx).WriteCheckpoint(&buf, slices.Values(w.top), parquetio.CheckpointLayout{Content: parquetio.CheckpointManifest})
	return buf.Bytes(), err
}

// sidecar writes one sidecar from an action on and gives the first action of the next one.
func (w *v2Writer) sidecar(ctx context.Context, first delta.Action, next func() (delta.Action, bool)) (after delta.Action, more bool, err error) {
	id, err := w.l.newUUID()
	if err != nil {
		return after, false, err
	}
	name := fmt.Sprintf("%020d.checkpoint.%010d.%s.parquet", w.source.snap.Version(), len(w.keys)+1, id)
	out, err := w.l.st.Create(ctx, delta.SidecarDir+name)
	if err != nil {
		return after, false, err
	}
	w.keys = append(w.keys, delta.SidecarDir+name)
	after, more = first, true
	some := func(yield func(delta.Action) bool) {
		for n := 0; more && n < w.l.sidecarRows && yield(after); n++ {
			after, more = next()
		}
	}
	layout := w.layout
	layout.Content = parquetio.CheckpointSidecar
	counted := &counter{w: out}
	rows, adds, err := parquetio.From(ctx).WriteCheckpoint(counted, some, layout)
	if err != nil {
		out.Abort()
		return after, false, err
	}
	w.rows, w.adds, w.bytes = w.rows+rows, w.adds+adds, w.bytes+counted.n
	w.top = append(w.top, delta.Action{Sidecar: &delta.Sidecar{Path: name, SizeInBytes: counted.n, ModificationTime: w.source.now.UnixMilli()}})
	return after, more, out.Close()
}

// discard takes the sidecars away, as far as it can: what stays is what clean-up takes later.
func (w *v2Writer) discard(ctx context.Context) {
	if len(w.keys) == 0 {
		return
	}
	if err := w.l.st.Delete(ctx, w.keys...); err != nil {
		w.l.opts.Logger.Debug("idem: sidecars of no checkpoint stay until the log is cleaned up", "table", w.l.st.URL(), "error", err)
	}
}

// counter counts the bytes that go through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// newUUID is a random UUID of version 4.
func (l *Log) newUUID() (string, error) {
	random := l.opts.Random
	if random == nil {
		random = rand.Reader
	}
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random name: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

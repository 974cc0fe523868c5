package sim

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// probeKeys begin the keys of the probe of a store, which is made from several goroutines: they go
// to the store directly, and nothing of it shows in the history.
const probeKeys = delta.LogDir + "_idem_probe."

// view is the store as one process sees it: its faults come from before, what it is told goes into
// the history, and a process that has crashed does not get an answer.
type view struct {
	wr *writer
	f  *storetest.Faulty
}

func (wr *writer) view() store.Store { return &view{wr: wr, f: wr.faulty} }

// after is what follows each operation.
func (v *view) after(op storetest.Op, key string, err error) error {
	t := v.wr.trust
	v.wr.w.logOp(v.wr.name, string(op), key, word(err), t.name)
	if errors.Is(err, storetest.ErrCrashed) {
		v.wr.die()
	}
	if t.hangs() {
		at := v.wr.at
		at.run += 1000 // what is thrown here is apart from what befalls the operation
		v.wr.sleep(time.Duration(v.wr.w.dice.at(at).Int64N(int64(15 * time.Second))))
	}
	return err
}

func word(err error) string {
	for _, k := range []struct {
		err  error
		text string
	}{
		{nil, "ok"}, {store.ErrExist, "exists"}, {store.ErrNotExist, "not found"}, {storetest.ErrCrashed, "crashed"},
		{context.DeadlineExceeded, "timeout"}, {context.Canceled, "canceled"},
	} {
		if err == k.err || k.err != nil && errors.Is(err, k.err) {
			return k.text
		}
	}
	return "error"
}

func (v *view) URL() string { return v.f.URL() }

func (v *view) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if strings.HasPrefix(key, probeKeys) {
		return v.wr.w.shared.PutIfAbsent(ctx, key, data)
	}
	if f := logFile(key); f.Kind == delta.Commit {
		v.propose(f.Version, data)
	}
	return v.after(storetest.OpPutIfAbsent, key, v.f.PutIfAbsent(ctx, key, data))
}

// propose holds a proposal against the rules of the commit protocol.
func (v *view) propose(version int64, data []byte) {
	w, c := v.wr.w, v.wr.call
	if c == nil {
		w.fail("%s proposes version %d outside of a call", v.wr.name, version)
		return
	}
	id := delta.TxnID(data)
	h := fnv.New32a()
	h.Write(data)
	w.log(v.wr.name, "call %d proposes version %d: %d bytes, %08x", c.n, version, len(data), h.Sum32())
	if id == "" {
		w.fail("call %d proposes version %d without a transaction id", c.n, version)
		return
	}
	known := c.proposed[id]
	if known == nil {
		w.begins(c, version)
		known = map[int64][]byte{}
		c.proposed[id], c.txnIDs = known, append(c.txnIDs, id)
	}
	if was, ok := known[version]; ok && !bytes.Equal(was, data) {
		w.fail("call %d proposes other bytes for version %d than before", c.n, version)
	}
	for v := range known {
		if v > version {
			w.fail("call %d proposes version %d after version %d", c.n, version, v)
		}
	}
	if known[version] == nil {
		c.madeAt[version] = w.now
	}
	known[version] = bytes.Clone(data)
	if version > 0 && !w.has(version-1) {
		w.fail("call %d proposes version %d while version %d is vacant", c.n, version, version-1)
	}
}

// begins holds a further commit of one call against the rules: few verbs make more than one, and none
// begins one while it does not know what became of the one before.
func (w *world) begins(c *call, version int64) {
	if len(c.txnIDs) == 0 {
		return
	}
	if !c.job.kind.does().some {
		w.fail("call %d proposes under two transaction ids", c.n)
		return
	}
	last := c.txnIDs[len(c.txnIDs)-1]
	for v := range c.proposed[last] {
		if v >= version && !w.has(v) {
			w.fail("call %d proposes version %d while it is not known what became of its commit before", c.n, version)
		}
	}
}

func (v *view) Put(ctx context.Context, key string, data []byte) error {
	return v.after(storetest.OpPut, key, v.f.Put(ctx, key, data))
}

func (v *view) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if strings.HasPrefix(key, probeKeys) {
		return v.wr.w.shared.Get(ctx, key, limit)
	}
	data, err := v.f.Get(ctx, key, limit)
	if v.wr.trust.kind == storetest.ShortRead && err == nil {
		data = insideALine(data)
	}
	return data, v.after(storetest.OpGet, key, err)
}

// insideALine cuts what was cut at the end of a line of JSON a little shorter: a commit that lost whole
// lines is a commit.
func insideALine(data []byte) []byte {
	return bytes.TrimRight(data, "}\r\n")
}

func (v *view) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	return v.after(storetest.OpGetRange, key, v.f.GetRange(ctx, key, off, p))
}

func (v *view) Head(ctx context.Context, key string) (store.Info, error) {
	info, err := v.f.Head(ctx, key)
	return info, v.after(storetest.OpHead, key, err)
}

func (v *view) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		var last error
		stopped := false
		for info, err := range v.f.List(ctx, prefix, after) {
			if last = err; err != nil {
				break
			}
			if !yield(info, nil) {
				stopped = true
				break
			}
		}
		if err := v.after(storetest.OpList, prefix, last); err != nil && !stopped {
			yield(store.Info{}, err)
		}
	}
}

func (v *view) Delete(ctx context.Context, keys ...string) error {
	if len(keys) > 0 && strings.HasPrefix(keys[0], probeKeys) {
		return v.wr.w.shared.Delete(ctx, keys...)
	}
	return v.after(storetest.OpDelete, strings.Join(keys, " "), v.f.Delete(ctx, keys...))
}

func (v *view) Create(ctx context.Context, key string) (store.Writer, error) {
	w, err := v.f.Create(ctx, key)
	if err := v.after(storetest.OpCreate, key, err); err != nil {
		return nil, err
	}
	return &viewWriter{Writer: w, v: v, key: key}, nil
}

type viewWriter struct {
	store.Writer
	v   *view
	key string
}

func (w *viewWriter) Close() error { return w.v.after(storetest.OpClose, w.key, w.Writer.Close()) }

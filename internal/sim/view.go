package sim

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"path"
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

// before is the hook ahead of each operation: the others go on, time passes, and the dice say what
// goes wrong.
func (wr *writer) before(c storetest.Call) storetest.Fault {
	wr.hit = storetest.Fault{}
	if wr.quiet {
		return wr.hit
	}
	wr.pause()
	w := wr.w
	if w.over {
		return storetest.Fault{Kind: storetest.CrashBefore}
	}
	w.now = w.now.Add(time.Duration(1+w.dice.IntN(30)) * time.Millisecond)
	if wr.call != nil && w.chance(w.plan.cancels) {
		wr.cancel()
		wr.call.cancelled = true
		w.faults["cancel"]++
		w.log(wr.name, "the context ends")
	}
	wr.hit = wr.fate(c)
	if wr.hit.Kind == storetest.None {
		return wr.hit
	}
	w.faults[string(wr.hit.Kind)]++
	if wr.hit.Kind == storetest.LateEffect {
		wr.late++
	}
	if wr.call != nil {
		wr.call.suffer(wr.hit.Kind)
	}
	return wr.hit
}

// fate says what goes wrong with an operation.
func (wr *writer) fate(c storetest.Call) storetest.Fault {
	w := wr.w
	if w.now.Before(wr.cutOff) && c.Op != storetest.OpAbort {
		return storetest.Fault{Kind: storetest.Timeout}
	}
	if w.plan.outages > 0 && isCommitPut(c) && w.chance(w.plan.outages) {
		d, f := w.plan.outage(w.dice)
		wr.cutOff = w.now.Add(d)
		w.faults["outage"]++
		w.log(wr.name, "is cut off for %s", d)
		return f
	}
	return w.plan.fault(w.dice, c)
}

// after is what follows each operation.
func (v *view) after(op storetest.Op, key string, err error) error {
	fault := string(v.wr.hit.Kind)
	if fault != "" {
		fault = " (" + fault + ")"
	}
	v.wr.w.log(v.wr.name, "%s %s -> %s%s", op, path.Base(key), word(err), fault)
	if errors.Is(err, storetest.ErrCrashed) {
		panic(crash{})
	}
	switch v.wr.hit.Kind {
	case storetest.Timeout, storetest.LostAnswer, storetest.LateEffect:
		v.wr.sleep(time.Duration(v.wr.w.dice.Int64N(int64(15 * time.Second))))
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

func logFile(key string) delta.LogFile {
	name, ok := strings.CutPrefix(key, delta.LogDir)
	if !ok {
		return delta.LogFile{}
	}
	return delta.ParseLogFile(name)
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
	switch {
	case id == "":
		w.fail("call %d proposes version %d without a transaction id", c.n, version)
	case c.txnID != "" && c.txnID != id:
		w.fail("call %d proposes under two transaction ids", c.n)
	}
	c.txnID = id
	if was, ok := c.proposed[version]; ok && !bytes.Equal(was, data) {
		w.fail("call %d proposes other bytes for version %d than before", c.n, version)
	}
	for v := range c.proposed {
		if v > version {
			w.fail("call %d proposes version %d after version %d", c.n, version, v)
		}
	}
	c.proposed[version] = bytes.Clone(data)
	if version > 0 && !w.has(version-1) {
		w.fail("call %d proposes version %d while version %d is vacant", c.n, version, version-1)
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
	return data, v.after(storetest.OpGet, key, err)
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

package smallscope

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// ending is what a caller was told.
type ending struct {
	outcome idem.Outcome
	version int64
	err     error
	panics  string
	untold  bool                // whether the rows are those that the tag was recorded with
	cleaned *maintain.CleanedUp // of the log
}

func (e *ending) String() string {
	switch {
	case e.panics != "":
		return "panics: " + e.panics
	case e.err != nil:
		return e.err.Error()
	}
	text := fmt.Sprintf("%s, version %d", e.outcome, e.version)
	if e.untold {
		text += ", payload unknown"
	}
	if e.cleaned != nil {
		text += fmt.Sprintf("; %s, the log begins at %d", e.cleaned, e.cleaned.Oldest)
	}
	return text
}

// process is one life of a writer: a coroutine that stops at every store operation. It is also the
// store, the clock and the source of ids of what runs in it.
type process struct {
	by     author
	job    *job
	hooks  *Hooks
	now    time.Time
	opened bool
	ids    uint64
	reply  *answer
	end    *ending

	yield  func(*op) bool
	resume func() (*op, bool)
	stop   func()
	over   bool
}

// stopped unwinds a process that nobody goes on with.
type stopped struct{}

// start runs a process to its first operation.
func start(by author, j *job, stale bool, hooks *Hooks) (*process, *op) {
	p := &process{by: by, job: j, hooks: hooks, now: now}
	if stale && by.life == 0 {
		p.now = staleSince
	}
	p.resume, p.stop = iter.Pull(p.live)
	o, _ := p.resume()
	return p, o
}

// answer goes on to the next operation; nil says that the call has ended.
func (p *process) answer(a *answer) *op {
	p.reply = a
	o, _ := p.resume()
	return o
}

func (p *process) live(yield func(*op) bool) {
	p.yield = yield
	defer func() {
		switch r := recover(); r {
		case nil, stopped{}:
		default:
			p.end = &ending{panics: fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	ctx := tabletest.Codec(context.Background())
	t, err := idem.OpenStore(ctx, p, p.options())
	if err != nil {
		p.end = &ending{err: fmt.Errorf("open the table: %w", err)}
		return
	}
	p.opened, p.now = true, maxTime(p.now, now)
	p.end = p.job.do(ctx, p, t, p.hooks)
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Budgets are short, so that two faults are enough to make an outcome unknown.
const (
	answerTakes  = 5 * time.Second // one that does not come
	commitBudget = 8 * time.Second
	readBack     = 4 * time.Second
)

func (p *process) options() idem.Options {
	return idem.Options{Parallelism: 1, Clock: p, Random: p, CommitBudget: commitBudget, ReadBackTimeout: readBack}
}

func (p *process) ask(o *op) *answer {
	o.opening = !p.opened
	if p.over || !p.yield(o) {
		p.over = true
		panic(stopped{})
	}
	p.now = p.now.Add(p.reply.takes)
	return p.reply
}

// Read gives ids that can be read: who, which life, a number. What paces is the same every time.
func (p *process) Read(b []byte) (int, error) {
	clear(b)
	if len(b) == 16 {
		p.ids++
		b[0], b[1] = byte(p.by.writer+1)<<4|byte(p.by.life), 0xaa
		binary.BigEndian.PutUint32(b[12:], uint32(p.ids))
	}
	return len(b), nil
}

// Now implements idem.Clock.
func (p *process) Now() time.Time { return p.now }

// Sleep implements idem.Clock.
func (p *process) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok {
		d = max(0, min(d, at.Sub(p.now)))
	}
	p.now = p.now.Add(d)
	return ctx.Err()
}

// WithTimeout ends a context by the process's clock.
func (p *process) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return tabletest.WithDeadline(ctx, p.Now, p.now.Add(d))
}

// URL implements store.Store.
func (p *process) URL() string { return "mem:///" }

func (p *process) do(ctx context.Context, o *op) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := p.ask(o)
	return a, a.err
}

// PutIfAbsent implements store.Store.
func (p *process) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	_, err := p.do(ctx, &op{kind: storetest.OpPutIfAbsent, key: key, data: bytes.Clone(data)})
	return err
}

// Put implements store.Store.
func (p *process) Put(ctx context.Context, key string, data []byte) error {
	_, err := p.do(ctx, &op{kind: storetest.OpPut, key: key, data: bytes.Clone(data)})
	return err
}

// Get implements store.Store.
func (p *process) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	a, err := p.do(ctx, &op{kind: storetest.OpGet, key: key, limit: limit})
	if err != nil {
		return nil, err
	}
	return bytes.Clone(a.data), nil
}

// GetRange implements store.Store.
func (p *process) GetRange(ctx context.Context, key string, off int64, b []byte) error {
	a, err := p.do(ctx, &op{kind: storetest.OpGetRange, key: key, off: off, size: len(b)})
	if err == nil {
		copy(b, a.data)
	}
	return err
}

// Head implements store.Store.
func (p *process) Head(ctx context.Context, key string) (store.Info, error) {
	a, err := p.do(ctx, &op{kind: storetest.OpHead, key: key})
	if err != nil {
		return store.Info{}, err
	}
	return a.infos[0], nil
}

// List implements store.Store: it is one operation, made when the sequence begins.
func (p *process) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		a, err := p.do(ctx, &op{kind: storetest.OpList, key: prefix, after: after})
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		for _, i := range a.infos {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// Delete implements store.Store.
func (p *process) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return ctx.Err()
	}
	_, err := p.do(ctx, &op{kind: storetest.OpDelete, key: keys[0], keys: slices.Clone(keys)})
	return err
}

// Create implements store.Store. What is written is with the process until it is closed: that is
// the one operation.
func (p *process) Create(ctx context.Context, key string) (store.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &upload{ctx: ctx, p: p, key: key}, nil
}

type upload struct {
	ctx context.Context
	p   *process
	key string
	bytes.Buffer
}

func (u *upload) Close() error {
	_, err := u.p.do(u.ctx, &op{kind: storetest.OpClose, key: u.key, data: bytes.Clone(u.Bytes())})
	return err
}

func (u *upload) Abort() {}

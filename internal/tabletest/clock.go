package tabletest

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Epoch is when every Clock begins.
var Epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is a clock that stands still unless it is told to go on. Sleep moves it, and so never
// waits. It may be used by several goroutines at once.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock at Epoch.
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep moves the clock on by d, or to the deadline of a context of WithTimeout.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Value(deadlineKey{}).(time.Time); ok {
		d = min(d, at.Sub(c.Now()))
	}
	c.Advance(d)
	return ctx.Err()
}

// WithTimeout is a context that ends by this clock.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithDeadline(ctx, c.Now, c.Now().Add(d))
}

type deadlineKey struct{}

// WithDeadline is a context that has ended once now says that it is at. Its Done channel is its
// parent's: it does not wake those who wait, which nobody does under a simulated clock.
func WithDeadline(ctx context.Context, now func() time.Time, at time.Time) (context.Context, context.CancelFunc) {
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(at) {
		at = earlier
	}
	inner, cancel := context.WithCancel(ctx)
	return &deadline{Context: inner, now: now, at: at}, cancel
}

type deadline struct {
	context.Context
	now func() time.Time
	at  time.Time
}

func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

func (d *deadline) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if !d.now().Before(d.at) {
		return context.DeadlineExceeded
	}
	return nil
}

func (d *deadline) Value(key any) any {
	if key == (deadlineKey{}) {
		return d.at
	}
	return d.Context.Value(key)
}

// Random gives the bytes of a seed, the same on every run and every machine.
func Random(seed uint64) io.Reader { return &random{src: rand.NewPCG(seed, 0x1de3)} }

type random struct {
	mu  sync.Mutex
	src *rand.PCG
}

func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var word [8]byte
	for i := 0; i < len(p); i += len(word) {
		binary.LittleEndian.PutUint64(word[:], r.src.Uint64())
		copy(p[i:], word[:])
	}
	return len(p), nil
}

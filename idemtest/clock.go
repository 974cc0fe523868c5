package idemtest

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
)

// clock is the tables' clock in all runs but the first. It stands still but for waiting, which costs
// nothing. Several goroutines may use it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now implements idem.Clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep implements idem.Clock.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.set(c.Now().Add(d))
	return ctx.Err()
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// chance gives the same random bytes in every test, so that a failure comes again.
type chance struct {
	mu  sync.Mutex
	src *rand.PCG
}

// Read implements io.Reader.
func (c *chance) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var word [8]byte
	for i := 0; i < len(p); i += len(word) {
		binary.LittleEndian.PutUint64(word[:], c.src.Uint64())
		copy(p[i:], word[:])
	}
	return len(p), nil
}

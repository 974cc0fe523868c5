package parquetio

import (
	"fmt"

	"github.com/idemtable/idem/delta"
)

// chunkInput reads the bytes of a column chunk once, in order, through a window.
type chunkInput struct {
	src      Source
	pos, end int64
	window   int // bytes to fetch at once
	buf      []byte
	off      int64 // where buf begins
}

func (c *chunkInput) left() int64 { return c.end - c.pos }
func (c *chunkInput) skip(n int)  { c.pos += int64(n) }

// take gives the next n bytes and passes over them. They are valid until the next call.
func (c *chunkInput) take(n int) ([]byte, error) {
	b, err := c.peek(n)
	c.skip(n)
	return b, err
}

func (c *chunkInput) peek(n int) ([]byte, error) {
	if int64(n) > c.left() {
		return nil, fmt.Errorf("%w: %d bytes of a page where %d are left", delta.ErrCorrupt, n, c.left())
	}
	if i := c.pos - c.off; c.buf != nil && i >= 0 && i+int64(n) <= int64(len(c.buf)) {
		return c.buf[i : i+int64(n) : i+int64(n)], nil
	}
	want := min(max(int64(n), int64(c.window)), c.left())
	if v, ok := c.src.(interface {
		view(off, n int64) ([]byte, error)
	}); ok {
		if b, err := v.view(c.pos, want); b != nil || err != nil {
			c.buf, c.off = nil, 0
			if err != nil {
				return nil, &readError{err}
			}
			return b[:n], nil
		}
	}
	if c.off, c.buf = c.pos, c.buf[:0]; int64(cap(c.buf)) < want {
		c.buf = make([]byte, want)
	}
	c.buf = c.buf[:want]
	if err := readFull(c.src, c.buf, c.pos); err != nil {
		return nil, &readError{err}
	}
	return c.buf[:n], nil
}

// readError is an error of the source, not of the bytes in it.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

package store

import (
	"context"
	"fmt"
	"strings"
)

// ValidKey tells whether key may name an object: it is not empty, not absolute, has no empty, "."
// or ".." element, no NUL and does not end in a slash. Everything else is a plain byte: a key is
// never decoded.
func ValidKey(key string) bool {
	if strings.IndexByte(key, 0) >= 0 {
		return false
	}
	for element := range strings.SplitSeq(key, "/") {
		if element == "" || element == "." || element == ".." {
			return false
		}
	}
	return true
}

// ready is what every operation on one key asks first.
func ready(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !ValidKey(key) {
		return fmt.Errorf("invalid key %q: a key is relative to the table and has no empty, \".\" or \"..\" element", key)
	}
	return nil
}

// readyList is what a list asks first.
func readyList(ctx context.Context, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if prefix == "" {
		return nil
	}
	if dir, ok := strings.CutSuffix(prefix, "/"); !ok || !ValidKey(dir) {
		return fmt.Errorf("invalid prefix %q: it is empty, or a key followed by a slash", prefix)
	}
	return nil
}

// readyRange is what a ranged get asks first.
func readyRange(ctx context.Context, key string, off int64) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	if off < 0 {
		return fmt.Errorf("negative offset %d", off)
	}
	return nil
}

// fail puts the operation and the key before an error.
func fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, key, err)
}

// tooLarge is the error of a get that met its limit.
func tooLarge(size, limit int64) error {
	return fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, limit)
}

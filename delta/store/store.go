// Package store is the contract between idem and an object store.
//
// A Store holds the objects of one table. Keys are slash-separated, relative to the table's root
// ("_delta_log/00000000000000000000.json"), never empty, never absolute, and hold no "." or ".."
// element. Methods may be called by several goroutines at once.
//
// What a caller relies on:
//
//  1. PutIfAbsent is atomic among all processes: of any number of calls for one key at most one
//     ever creates it, and an object becomes visible whole or not at all.
//  2. A nil error of PutIfAbsent, Put or Writer.Close means durable.
//  3. After a nil error, Get and List by anybody see the object.
//  4. An error that wraps neither ErrExist nor ErrNotExist decides nothing: the operation may have
//     had its effect, or may have it later.
//  5. A store never retries PutIfAbsent by itself.
//
// Mem keeps objects in memory, Dir in a directory of a file system. Probe finds out whether a
// store keeps rule 1. The package storetest holds the suite that every store passes and the
// faults that a caller must survive.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

var (
	// ErrExist says that the key was taken and that this call did not create it, as far as the
	// store can tell. A layer in between may have sent the call twice, so it proves nothing about
	// who created the object: read it.
	ErrExist = errors.New("object exists")

	// ErrNotExist says that no object has the key.
	ErrNotExist = errors.New("object does not exist")

	// ErrUnfit says that the store cannot keep the contract (no put-if-absent, no hard links) and
	// must not be written to.
	ErrUnfit = errors.New("store cannot put if absent")

	// ErrTooLarge says that an object is larger than the limit of a Get.
	ErrTooLarge = errors.New("object is larger than the limit")
)

// Info describes an object.
type Info struct {
	Key     string
	Size    int64
	ModTime time.Time

	// Target is the key of the object that a list shows under Key because Key is a symbolic link to it; ""
	// for an object that stands there itself, as every one in an object store.
	Target string
}

// LinkError is the error of a List that meets a symbolic link that it does not follow: to a directory, or out of
// the root. A list after its Key goes on behind it.
type LinkError struct {
	Key    string
	Target string // the key of what it leads to; "" if that is not below the root
	Err    error
}

func (e *LinkError) Error() string { return fmt.Sprintf("%q: %v", e.Key, e.Err) }
func (e *LinkError) Unwrap() error { return e.Err }

// Store is an object store rooted at one table.
type Store interface {
	// URL names the root, without secrets, for messages and to recognise absolute paths. It ends
	// in a slash, so that an object's URL is URL followed by its escaped key.
	URL() string

	// PutIfAbsent creates key with data, one attempt. A nil error means that this call created
	// the object. An error wrapping ErrExist means that it did not. Any other error means that
	// the outcome is unknown, also when ctx ended.
	PutIfAbsent(ctx context.Context, key string, data []byte) error

	// Put creates or replaces key. It is for advisory files only.
	Put(ctx context.Context, key string, data []byte) error

	// Create starts a new object under a key that nobody else uses (its name holds a random id).
	// The object becomes visible, whole and durable, when Close returns nil. ctx covers the
	// Writer too: when it ends, Write and Close return its error.
	Create(ctx context.Context, key string) (Writer, error)

	// Get returns the whole object, at most limit bytes: a larger one is an error wrapping
	// ErrTooLarge. limit 0 means no limit.
	Get(ctx context.Context, key string, limit int64) ([]byte, error)

	// GetRange fills p from byte off on. Fewer bytes than len(p) come with an error wrapping
	// io.ErrUnexpectedEOF.
	GetRange(ctx context.Context, key string, off int64, p []byte) error

	// Head describes one object.
	Head(ctx context.Context, key string) (Info, error)

	// List yields the objects whose key starts with prefix and is greater than after, in byte
	// order of keys. prefix ends in "/" or is empty. Directories are not objects. A prefix under
	// which nothing exists yields nothing. An error ends the sequence.
	// A list need not be of one moment: of objects that are made while it runs it may show one and
	// not another that was made before.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]

	// Delete removes the keys. A key that does not exist is no error. It stops at the first
	// failure; what was removed until then stays removed.
	Delete(ctx context.Context, keys ...string) error
}

// Writer is an object being written. One goroutine uses it. Exactly one of Close and Abort is
// called; Abort after Close does nothing.
type Writer interface {
	io.Writer

	// Close makes the object visible and durable. After an error the outcome is unknown, as with
	// PutIfAbsent; nothing is left to abort.
	Close() error

	// Abort drops what was written. The object never becomes visible.
	Abort()
}

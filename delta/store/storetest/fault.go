package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Op is an operation on a store. Its text is what transcripts say.
type Op string

const (
	OpPutIfAbsent Op = "PUT-IF-ABSENT"
	OpPut         Op = "PUT"
	OpCreate      Op = "CREATE" // opens a Writer
	OpWrite       Op = "WRITE"  // Writer.Write
	OpClose       Op = "CLOSE"  // Writer.Close
	OpAbort       Op = "ABORT"  // Writer.Abort
	OpGet         Op = "GET"
	OpGetRange    Op = "GET-RANGE"
	OpHead        Op = "HEAD"
	OpList        Op = "LIST"
	OpDelete      Op = "DELETE"
)

// Ops returns every operation.
func Ops() []Op {
	return []Op{OpPutIfAbsent, OpPut, OpCreate, OpWrite, OpClose, OpAbort, OpGet, OpGetRange, OpHead, OpList, OpDelete}
}

// Kind is a way for an operation to go wrong. Its text is what transcripts say.
type Kind string

const (
	// None is no fault.
	None Kind = ""

	FailBefore Kind = "fail-before" // an error, no effect
	FailAfter  Kind = "fail-after"  // an error, and the effect took place
	Timeout    Kind = "timeout"     // the deadline passed, no effect
	LostAnswer Kind = "lost-answer" // the deadline passed, and the effect took place
	LateEffect Kind = "late-effect" // the deadline passed; the effect takes place just before the K-th later operation
	Duplicate  Kind = "duplicate"   // a layer in between sent it twice: the answer is that of the second
	Conflict   Kind = "conflict"    // S3's 409: decides nothing, no effect
	Throttle   Kind = "throttle"    // 429 or 503, no effect
	Denied     Kind = "denied"      // credentials ran out, no effect

	TornRead      Kind = "torn-read"      // half of the bytes and an error
	ShortRead     Kind = "short-read"     // half of the bytes and no error: the store breaks its contract
	BitFlip       Kind = "bit-flip"       // bit K of the bytes is wrong: the store breaks its contract
	StaleList     Kind = "stale-list"     // the K newest objects are not listed
	DuplicateList Kind = "duplicate-list" // the last K objects are listed twice
	StaleMissing  Kind = "stale-missing"  // an object that exists is not found

	DiskFull    Kind = "disk-full"    // no space left, no effect
	TornUpload  Kind = "torn-upload"  // the connection broke in the upload, which never becomes visible
	CrashBefore Kind = "crash-before" // the process died before the operation
	CrashAfter  Kind = "crash-after"  // the process died after the operation
)

var (
	puts    = []Op{OpPutIfAbsent, OpPut, OpClose}
	changes = append([]Op{OpDelete}, puts...)
	uploads = append([]Op{OpCreate, OpWrite}, puts...)
	gets    = []Op{OpGet, OpGetRange}
)

// applies says to which operations a kind applies; a kind that is not here applies to all.
var applies = map[Kind][]Op{
	LateEffect:    changes,
	Duplicate:     changes,
	Conflict:      puts,
	TornRead:      gets,
	ShortRead:     gets,
	BitFlip:       gets,
	StaleList:     {OpList},
	DuplicateList: {OpList},
	StaleMissing:  {OpHead, OpGet, OpGetRange},
	DiskFull:      uploads,
	TornUpload:    uploads,
}

// Kinds returns every kind of fault but None.
func Kinds() []Kind {
	return []Kind{FailBefore, FailAfter, Timeout, LostAnswer, LateEffect, Duplicate, Conflict, Throttle, Denied,
		TornRead, ShortRead, BitFlip, StaleList, DuplicateList, StaleMissing, DiskFull, TornUpload, CrashBefore, CrashAfter}
}

// AppliesTo tells whether an operation can go wrong in this way. Abort can only crash, since it
// has no answer.
func (k Kind) AppliesTo(op Op) bool {
	if op == OpAbort {
		return k == CrashBefore || k == CrashAfter
	}
	ops, some := applies[k]
	return k != None && (!some || slices.Contains(ops, op))
}

var (
	// ErrInjected is wrapped by every error that a Faulty or a MemFS makes up, but for a
	// StaleMissing and the second answer of a Duplicate.
	ErrInjected = errors.New("injected fault")

	// ErrCrashed says that the process is dead until Restart.
	ErrCrashed = fmt.Errorf("%w: the process has crashed", ErrInjected)

	// ErrConflict is S3's answer 409 ConditionalRequestConflict.
	ErrConflict = fmt.Errorf("%w: 409 conditional request conflict", ErrInjected)

	// ErrThrottled is the answer 429 or 503.
	ErrThrottled = fmt.Errorf("%w: 503 slow down", ErrInjected)
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind Kind

	// K counts what the kind says: operations, objects, or a bit's position (taken modulo the
	// length). 0 counts as 1 operation, 1 object for StaleList, all objects for DuplicateList.
	K int

	// Err is wrapped by the error in place of the kind's own, if set.
	Err error
}

// error is what the caller gets to see.
func (f Fault) error(c Call) error {
	cause := f.Err
	if cause == nil {
		cause = f.Kind.cause()
	}
	return fmt.Errorf("%s %q (%s): %w", c.Op, c.Key, f.Kind, injected(cause))
}

// injected makes err wrap ErrInjected.
func injected(err error) error {
	if errors.Is(err, ErrInjected) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInjected, err)
}

func (k Kind) cause() error {
	switch k {
	case Timeout, LostAnswer, LateEffect:
		return context.DeadlineExceeded
	case Conflict:
		return ErrConflict
	case Throttle:
		return ErrThrottled
	case Denied:
		return fs.ErrPermission
	case TornRead, TornUpload:
		return io.ErrUnexpectedEOF
	case DiskFull:
		return syscall.ENOSPC
	case CrashBefore, CrashAfter:
		return ErrCrashed
	default:
		return errors.New("internal error 500")
	}
}

// Call is one operation that was asked for.
type Call struct {
	// Index counts the operations of a Faulty from 1. Writes are not counted: their number is
	// the encoder's business.
	Index int

	Op Op

	// Key is the key, the prefix of a list, or the first of several keys to delete.
	Key string

	// Keys are all the keys to delete.
	Keys []string

	// After is where a list starts.
	After string
}

// String is the call's part of its line in the transcript.
func (c Call) String() string {
	what := c.Key
	switch {
	case c.Op == OpDelete:
		what = strings.Join(c.Keys, " ")
	case c.Op == OpList && c.After != "":
		what = strings.TrimSpace(what + " after " + c.After)
	}
	return strings.TrimSpace(string(c.Op) + " " + what)
}

// Rule says which operations go wrong, and how. It matches only operations to which the fault's
// kind applies. The zero value of each condition matches everything, but for Write: a rule must
// name it.
type Rule struct {
	// Op is the operation.
	Op Op

	// Key is a pattern as in path.Match, for the whole key or for its last element.
	Key string

	// KeyMatch decides on the key by a function, in addition to Key.
	KeyMatch func(key string) bool

	// Nth is which of the operations that match goes wrong, from 1. 0 means each.
	Nth int

	// Times bounds how many go wrong when Nth is 0. 0 means no bound.
	Times int

	Fault Fault
}

func (r Rule) matches(c Call) bool {
	if !r.Fault.Kind.AppliesTo(c.Op) || r.Op != c.Op && (r.Op != "" || c.Op == OpWrite) {
		return false
	}
	if c.Op == OpDelete {
		return len(c.Keys) == 0 && r.Key == "" && r.KeyMatch == nil || slices.ContainsFunc(c.Keys, r.matchesKey)
	}
	return r.matchesKey(c.Key)
}

func (r Rule) matchesKey(key string) bool {
	if r.KeyMatch != nil && !r.KeyMatch(key) {
		return false
	}
	if r.Key == "" || r.Key == key {
		return true
	}
	whole, _ := path.Match(r.Key, key)
	last, _ := path.Match(r.Key, path.Base(key))
	return whole || last
}

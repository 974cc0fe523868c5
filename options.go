package idem

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/redact"
)

// Options are how a table is worked on. The zero Options are safe.
type Options struct {
	_ struct{}

	// Logger takes warnings and what was decided, without secrets of URLs. nil discards.
	Logger *slog.Logger

	// Allocator makes Arrow buffers. nil is the Go allocator. One that panics when it has nothing left
	// ends the call by that panic, as it would where memory ends: the table stays whole, as after a
	// killed process. With Parallelism 1 the panic is on the caller's goroutine and can be recovered;
	// otherwise it may end the process. Bound the memory of a call by MemoryBytes.
	Allocator memory.Allocator

	// MemoryBytes is the budget of one call for rows; what exceeds it is spilled to TempDir. Data files
	// that are written side by side share it too, so that a small budget makes smaller files. 0 means
	// 512 MiB.
	MemoryBytes int64

	// Parallelism is the number of goroutines of one call. 0 means the number of processors; with
	// 1 every verb runs on the caller's goroutine.
	Parallelism int

	// TempDir is the directory for spill files. "" means the system's.
	TempDir string

	// TargetFileBytes is the size at which a data file is closed, before compression. 0 means the
	// table's delta.targetFileSize, or 128 MiB.
	TargetFileBytes int64

	// Isolation is the level at which writes are ordered. The zero value is Serializable.
	Isolation Isolation

	// CommitBudget ends the attempts of one commit. 0 means 2 minutes.
	CommitBudget time.Duration

	// ReadBackTimeout bounds looking for the outcome of a commit whose answer was lost, also when
	// the caller's context has ended. 0 means 10 seconds.
	ReadBackTimeout time.Duration

	// Outside opens the directory of a file that the log has outside the table's root, as a shallow
	// clone has its source's files: url is the directory's, ends in a slash and names the scheme
	// "s3" for s3a and s3n. It gives a store whose root is the directory or one above it, which is kept
	// for the table's lifetime and only read from; an error refuses. A log is written by others and may name any file that this process can read, so say which
	// directories are meant: [OutsideBelow] does for local ones. nil means that a table with such files is
	// [ErrUnsupported].
	//
	// Verbs may take such files out of the table and put their rows into files of its own; they are
	// never written or deleted.
	Outside func(ctx context.Context, url string) (store.Store, error)

	// Clock tells the time and waits. nil is the machine's.
	Clock Clock

	// Random gives the bytes of ids. nil is crypto/rand.
	Random io.Reader
}

// Clock tells the time and waits: a seam for tests.
type Clock interface {
	Now() time.Time

	// Sleep waits for d, or until ctx ends and gives its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// Isolation says which commits of others a write must be ordered after.
type Isolation int

const (
	// Serializable orders a write after every commit that it did not see, as open-source Delta does.
	Serializable Isolation = iota

	// WriteSerializable lets blind appends of others be ordered after a write that did not see them.
	WriteSerializable
)

func (i Isolation) level() commit.Isolation {
	if i == WriteSerializable {
		return commit.WriteSerializable
	}
	return commit.Serializable
}

func (o Options) validate() error {
	for name, v := range map[string]int64{
		"MemoryBytes": o.MemoryBytes, "Parallelism": int64(o.Parallelism), "TargetFileBytes": o.TargetFileBytes,
		"CommitBudget": int64(o.CommitBudget), "ReadBackTimeout": int64(o.ReadBackTimeout),
	} {
		if v < 0 {
			return fmt.Errorf("%w: Options.%s is negative", ErrInput, name)
		}
	}
	if o.Isolation != Serializable && o.Isolation != WriteSerializable {
		return fmt.Errorf("%w: Options.Isolation is %d; it is Serializable or WriteSerializable", ErrInput, o.Isolation)
	}
	return nil
}

// filled gives the options with every seam set.
func (o Options) filled() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = redact.Logger(o.Logger)
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.Parallelism == 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.Clock == nil {
		o.Clock = logio.SystemClock{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

// random gives 16 random bytes.
func (o Options) random() [16]byte {
	var b [16]byte
	if _, err := io.ReadFull(o.Random, b[:]); err != nil {
		panic(fmt.Sprintf("idem: Options.Random gave no bytes: %v", err))
	}
	return b
}

// newTxnID gives a 128-bit id as 32 hexadecimal digits.
func (o Options) newTxnID() string {
	b := o.random()
	return hex.EncodeToString(b[:])
}

// newUUID gives a random UUID (version 4).
func (o Options) newUUID() string {
	b := o.random()
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// OutsideBelow is an Options.Outside for files on the local disk that are in one of some directories, or
// below one: paths or file URLs, of tables that this one is a shallow clone of. Symbolic links that lead
// out of a directory are not followed.
func OutsideBelow(directories ...string) func(ctx context.Context, url string) (store.Store, error) {
	return func(_ context.Context, url string) (store.Store, error) {
		for _, d := range directories {
			home, err := store.OpenURL(d)
			if err != nil {
				return nil, fmt.Errorf("OutsideBelow: %w", inputError(err))
			}
			if _, err := delta.ResolvePath(home.URL(), url+"any"); err == nil {
				return home, nil
			}
		}
		return nil, fmt.Errorf("%w: %s is in none of the directories that OutsideBelow allows: %q", ErrUnsupported, url, directories)
	}
}

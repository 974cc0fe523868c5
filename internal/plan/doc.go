// Package plan turns a request and a snapshot into new files and actions.
//
// A planner is made for one call of a verb and asked once for each attempt: the first time it reads
// the rows, later it builds on what it kept (files already written, a spilled source) and never
// reads the rows again. It writes data files, deletion vectors and files of changes; it never touches
// the log.
//
// Invariants:
//
//  1. Every row that is written has passed conform and validate.
//  2. Files are removed by a planner only while no commit that names them was ever proposed.
//  3. With Env.Parallelism 1 everything runs on the caller's goroutine.
package plan

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/spill"
)

// Stats finds the statistics of files whose snapshot did not keep them; element i is that of
// files[i], "" if it has none.
type Stats interface {
	Stats(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]string, error)
}

// Env is what the planners of one table share.
type Env struct {
	Store           store.Store
	Stats           Stats
	Allocator       memory.Allocator
	MemoryBytes     int64      // for rows, of one call; 0 means 512 MiB
	Parallelism     int        // goroutines of one call; at least 1
	TempDir         string     // of spill files; "" means the system's
	Disk            spill.Disk // that TempDir is on; nil means the machine's
	TargetFileBytes int64      // 0 means 128 MiB
	Now             func() time.Time
	NewID           func() string // 36 characters, unique, for file names
	Logger          *slog.Logger
}

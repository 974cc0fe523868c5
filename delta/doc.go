// Package delta is the Delta log as data: file names, actions, schema, statistics, partition
// values, protocol and table features, deletion vectors, the replay of commits and checkpoints
// into a Snapshot, and the edits of a table's definition ([Edit]).
//
// It is pure. It reads no clock, disk, network, environment or random number and starts no
// goroutine: bytes come in, values go out, and the same bytes always give the same values.
//
// Invariants:
//
//  1. What breaks the protocol is an error that wraps [ErrCorrupt]; a feature that idem lacks is an
//     error that wraps [ErrUnsupported] and names it. The one is never reported as the other.
//  2. What a newer writer may add (unknown actions, unknown fields) is skipped, not refused.
//  3. A path is decoded exactly once and never leaves the table's root.
//  4. Actions, schemas and snapshots are immutable once made; they may be shared by goroutines.
//
// The rules are those of the Delta transaction log protocol (PROTOCOL.md of delta-io/delta).
package delta

import "errors"

var (
	// ErrCorrupt says that the log or a file breaks the protocol. The text names file and position.
	ErrCorrupt = errors.New("the table breaks the Delta protocol")

	// ErrUnsupported says that the table uses a feature that idem does not read or does not write.
	// The text names the feature.
	ErrUnsupported = errors.New("the table needs a feature that idem lacks")

	// ErrInput says that the rows or the request break a rule: fix them and call again.
	ErrInput = errors.New("the rows or the request break a rule")

	// ErrConflict says that the table is, or has become, other than the request supposes: it was not
	// carried out. Look again and decide anew.
	ErrConflict = errors.New("conflict")

	// ErrDiffers is the [ErrConflict] of a table that says something else than the request, so that calling
	// again cannot help.
	ErrDiffers error = differs{}

	// ErrNotTable says that there is no Delta table at the place.
	ErrNotTable = errors.New("not a Delta table")
)

type differs struct{}

func (differs) Error() string { return ErrConflict.Error() }
func (differs) Unwrap() error { return ErrConflict }

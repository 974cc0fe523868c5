// Package logio lists and reads the log of a table, loads snapshots of it, and keeps it: it writes
// checkpoints, checksum files and compactions, and deletes what has expired.
//
// It never writes a commit. What it reads is advisory or checked: the hint file, checksum files and compactions may
// be missing or broken, a checkpoint that cannot be read is replaced by an older one or by the
// commits, and a commit that cannot be read is an error that names it, never a shorter table.
//
// Invariants:
//
//  1. A snapshot is complete or it is an error: no gap in the log is stepped over.
//  2. A snapshot that is handed out has passed delta.GateRead, but that a table without a schema
//     passes: its files can be listed, its rows not read.
//  3. Reads are tried again, with a pause, when the store gives an answer that decides nothing.
//  4. A checkpoint is whole or it is not used: its parts, and every sidecar that it names.
//  5. What is deleted of the log is older than an hour, and a checkpoint that was read stands in for it.
//  6. With Options.Parallelism 1 everything runs on the caller's goroutine.
//
// A Log may be used by several goroutines at once.
package logio

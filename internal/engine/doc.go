// Package engine carries out the steps of package commit: the only loop with a clock.
//
// It plans, proposes, reads back, judges winners and plans again until there is a definite answer
// or the budget is spent. It never deletes a file, never retries a put by itself, and never takes
// an answer that it does not know for a yes or a no.
//
// Invariants, beside those of package commit:
//
//  1. A commit that meets nobody is one short read, whether the log is the one that was read, and
//     exactly one PutIfAbsent; its checksum file is one more.
//  2. Before bytes are proposed they were replayed on the snapshot that they follow, by the rules
//     that readers apply. They follow the log that was read: one that was dropped, or made anew at
//     its place, takes no commit, and no answer is given from it. What cannot be told is a drop
//     between that read and the put.
//  3. Reading back has a deadline of its own, also when the caller's context has ended.
//  4. What comes after a commit (checksum, checkpoint, clean-up) never turns it into an error.
//
// An Engine may be used by several goroutines at once; it starts none.
package engine

// Package smallscope goes through every interleaving of two writers with at most two faults, and
// checks what must hold in each.
//
// A pair is two calls on one small table ([Pair]): the first writer has opened the table at its
// newest version; the handle of the second is from when the table was two versions younger. Two
// calls of one operation are the same job, run twice at once, but for operations on a slice, on keys or
// under a tag of the writer's own. Beside these, two calls want different things: one slice has two contents,
// one key two rows, one tag two payloads (with and without the wish to have them verified) or two versions. One
// goroutine, virtual clocks, no disk and no random numbers: a pair and a bound on faults give the
// same states every time.
//
// # Why this ends
//
//  1. A writer is a function of the answers of the store. It runs as a coroutine that stops at every
//     store operation; its clock is its own and moves when it sleeps or an answer is late, and its
//     ids are counted. So what it does next is known from the answers so far ([node]): a writer is
//     run once for each list of answers, not once for each interleaving. When the same answers do not
//     lead to the same operation, that is reported.
//  2. A state is what is in the store, the answers that each writer has had, the effects still on
//     their way, and the number of faults. A state that was seen before is not entered again.
//  3. Writers take turns only at operations that do not commute with some operation of the other one
//     (or with an effect that comes late): both touch a name and one of them changes it, a list touching
//     every name that it could give. Any other operation gives the same answer, and leaves the same
//     store, before as after whatever the other does meanwhile, so each interleaving ends as the one
//     does in which it directly follows the operation before it. Which names these are is learned:
//     the operations met in one round decide the next one, until a round meets nothing that would have
//     changed it. A test compares the end states with those of all interleavings of all operations.
//
// # Faults
//
// They befall what a commit hangs on: the put of a commit (it fails before or after its effect, takes
// effect later, or the process dies before or after it), reading back a version that was proposed (it
// fails), the files of data and of deletion vectors as they are closed (that fails and they are not there, or the
// process dies and they are), the deletions of vacuum, of the
// clean-up of the log and of files that no commit names, and the file of a checkpoint (all
// but the late effect: a deletion that a store carries out after it was given up may take a file that
// has come back meanwhile, and nothing that is in the log prevents it). A process that died is started
// again with the same input, but for a plain append, which nobody may repeat.
//
// # What must hold where both have ended
//
//   - No commit is lost, replaced, made twice, or comes before its predecessor; the bytes proposed for
//     a version never change.
//   - What each caller was told is what the log says, before anything is run again, while effects are
//     still on their way and after they have landed. Without a fault no call ends in an error.
//   - What maintenance was told is what the table says, too: who had nothing to do finds no files to make one of, none
//     to delete, and no commit that has expired.
//   - Every commit does to a map of rows what its call asks for, in the order of versions.
//   - No file is missing, no rule of the log is broken.
//   - Calls that did not end are run again: they end, a second run finds nothing to do, and the table
//     is as one run of each would leave it, in the order of the log; two of the same are one.
package smallscope

// Package sim runs whole jobs of several writers against one store, in one goroutine, in virtual
// time, with faults, and checks what the writers were told against what is in the log.
//
// A seed decides everything: the table, the jobs, who goes on at every store operation, what goes
// wrong. The same seed gives the same history, line by line. It never uses a disk, a network, the
// machine's clock or its random numbers: spill files are in memory, too.
//
// One history, [Run]:
//
//  1. Writers run their jobs (rows, maintenance, changes of definition, restores) as coroutines. Each
//     yields before every store operation, and sleeps in virtual time. Answers are lost, effects come
//     late, calls are sent twice, lists are stale, bytes are wrong, clocks differ and step, processes
//     crash, or sleep for days, and are started again with the same input; memory is short, so that rows
//     are set aside, and the disk for them fails; foreign engines commit between. [Faults] lists all that
//     goes wrong.
//  2. Every claim that a call made is checked against the log before anything else is run, and
//     again once all that was on its way has landed; every deletion against the retentions. An error is
//     a claim, too: it must have its reason in what the call suffered, a conflict in what others did.
//  3. Every commit is replayed, in the order of versions, on a model. Each version of the table must
//     hold the model's rows, tags and definition, and rows keep their ids, and the numbers that the table gave them.
//  4. The jobs that did not end are run to their end over a quiet store, twice, and the table must
//     equal one run of each, by every rule of the log and by its change data feed.
//
// What is thrown at a place depends on the seed and the place, not on what came before, so that parts
// of a history can be left out: [Shrink] makes one that fails short enough to be read.
package sim

// Package maintain is what is done to a table as a whole: bring back an earlier version, delete
// files that nothing needs, make small files into large ones, look after the log.
//
//	res, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(12)})
//	res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
//	res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
//	res, err := maintain.Checkpoint(ctx, t) // CleanUpLog, CompactLog
//
// Every operation may be repeated: a second call finds nothing to do and is Unchanged. Whatever
// commits goes the way of idem's verbs, so that a lost answer of the store is resolved by looking,
// and two calls at once end as one after the other would. Errors wrap idem's sentinels.
//
// Invariants:
//
//  1. The rows of a table are changed by Restore alone.
//  2. A file is deleted by Vacuum and by the clean-up of the log alone, and never one that the newest
//     version, or a removal younger than the retention, refers to; nor one outside the table's root.
//  3. With Options.Parallelism 1 everything runs on the caller's goroutine.
//
// An idem.Table that is a view of one version is refused with idem.ErrInput.
package maintain

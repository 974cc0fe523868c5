// Package maintain is what is done to a table as a whole: bring back an earlier version, delete
// files that nothing needs, make small files into large ones, look after the log, change the definition,
// turn table features on and off, and two ways of changing rows that come from SQL and from Parquet.
//
//	res, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(12)})
//	res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
//	res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
//	res, err := maintain.Checkpoint(ctx, t) // CleanUpLog, CompactLog
//	t, res, err := maintain.ConvertParquet(ctx, "/lake/orders", maintain.Convert{}, idem.Options{})
//	c, res, err := maintain.CloneTable(ctx, t, "/lake/copy", maintain.Clone{}, idem.Options{})
//	res, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{
//		maintain.AddColumn{Name: "vat", Type: arrow.PrimitiveTypes.Int64}, maintain.SetComment{Name: "id", Comment: "of the order"},
//	}})
//	res, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "rowTracking"}) // DropFeature
//	res, err := maintain.UpdateTable(ctx, t, maintain.Update{Where: "day < ?", Args: []any{day}, Set: map[string]string{"state": "'closed'"}})
//	res, err := maintain.OverwritePartitions(ctx, t, rows, maintain.Overwrite{})
//
// Every operation may be repeated: a second call finds nothing to do and is Unchanged. Whatever
// commits goes the way of idem's verbs, so that a lost answer of the store is resolved by looking,
// and two calls at once end as one after the other would. Errors wrap idem's sentinels.
//
// What a second call does, and two at once:
//
//	AlterTable           Unchanged when the table is as asked; changes that a second call would make
//	                     again are an error. At once: the later is worked out on what the earlier left
//	EnableFeature        Unchanged when it is on. At once: one commits, the other is Unchanged
//	DropFeature          Unchanged when it is gone; one that was cut short goes on. At once: each does
//	                     what the other has not
//	UpdateTable          Unchanged: no row would change. An update that would change its own rows again
//	                     is an error without a Txn, and AlreadyApplied with one
//	OverwritePartitions  Unchanged when the partitions hold exactly these rows, and for rows that are none
//	ConvertParquet       Unchanged when the directory was converted. At once: one makes version 0
//	CloneTable           Unchanged when the copy is of that version. At once: one commits
//	After RestoreTable   each works on what is there then; a call with a Txn that was taken back is
//	                     idem.ErrRestored
//
// Invariants:
//
//  1. The rows of a table are changed by Restore, Update and OverwritePartitions alone, and those of a
//     copy by Clone.
//  2. A file is deleted by Vacuum and by the clean-up of the log alone, and never one that the newest
//     version, or a removal younger than the retention, refers to; nor one outside the table's root.
//  3. With Options.Parallelism 1 everything runs on the caller's goroutine.
//
// An idem.Table that is a view of one version is refused with idem.ErrInput.
package maintain

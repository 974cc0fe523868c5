// Package records makes record batches from what people have (iterators, structs, SQL rows, CSV,
// JSON lines, Parquet files) and gives them back in the same forms.
//
//	rows, err := records.CSV(t.Schema(), records.Files{Names: []string{"orders/2026-10-20*.csv.gz"}}, records.CSVOptions{})
//	if err != nil {
//		return err
//	}
//	defer rows.Release()
//	res, err := t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = ?", Args: []any{"2026-10-20"}})
//
// A [Reader] gives its rows once. A [Rereader] can be rewound: idem's verbs hash such rows before
// they write anything, so that a repeated load writes no file. Both are array.RecordReader. One that was
// begun before it is given to a verb is rewound or, if it is a Reader, refused.
//
// # Invariants
//
//  1. A value is taken as it is or refused. Nothing is rounded, cut, guessed or replaced; what text
//     means is said by the schema given, never by a look at the values.
//  2. The first bad value is an error that wraps [delta.ErrInput] and names the file and line or the
//     row, the column, the value and what to do. An error of the source itself (a file that cannot
//     be read, a query that broke off) is handed on as it is, with the file's name. After an error
//     Next is false, and the batch in which it lies is never handed out.
//  3. No bytes make a reader panic, and memory is bounded by a batch: BatchRows rows or 16 MiB of
//     values, whichever comes first, and one line of at most MaxLineBytes.
//  4. What a Write function wrote its reader reads as equal rows, under the same options.
//
// Columns go by name, ignoring case. Types are those of Delta tables as [delta.ArrowSchema] gives
// them.
//
// A reader is used by one goroutine at a time; Retain and Release may be called by any. The package
// starts no goroutine and keeps no state of its own.
package records

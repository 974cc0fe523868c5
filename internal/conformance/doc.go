// Package conformance runs a corpus of Delta tables, each with what a reader must make of it.
//
// A corpus is a directory of tables with a file expected.jsonl, one JSON object a table: whether
// the table is to be read or refused, and what holds of it (version, files, rows, schema, earlier
// versions, transactions, conditions and the rows that satisfy them). Tables are read where they
// are and never written to; what needs unpacking goes to a directory of the caller's.
//
// A line comes to one of three verdicts. Right: the table was read and all that the line claims of
// reading holds. Refused: idem said by the right sentinel why it does not read the table, and the
// line wants or allows that, or needs a table feature that idem does not read yet and that the error
// names. Wrong: anything else. Claims about writing, change feeds and row ids are passed over.
package conformance

// Package rows is vectorised kernels over Arrow columns: hash, group, join, take, compare.
//
// It never keeps a value in an interface, never allocates per row, reads no clock and starts no goroutine.
//
// Types. Columns have the canonical types: int8, int16, int32, int64, float32, float64, bool, utf8, binary, date32,
// timestamp[us] with and without zone, decimal128, null; where columns are compared, digested or taken also struct, list and map of these to
// any depth. Any other type is an error that names it.
//
// Invariants:
//  1. Key equality is one relation, that of Equality, and HashKeys agrees with it: equal rows have equal hashes.
//     Integers, floats and decimals are equal by value whatever their width, precision and scale; -0.0 is 0.0; every NaN is one value;
//     timestamps with a zone are equal by instant and are never compared with those without; strings and binary by bytes; NULL equals NULL. What a NULL
//     key means is for the caller to decide.
//  2. Order agrees with Equality: it is total, and 0 exactly where the rows are equal.
//  3. No answer relies on hashes being different: rows are compared wherever their hashes agree.
//  4. Slices are honoured: an array and a copy of it give the same answers.
//
// Ownership: an Equality, an Order and an Index read the arrays that they were made from and do not retain them; the arrays
// must outlive them. What Take, TakeFrom and Concat return is the caller's to release.
//
// Concurrency: values are safe for concurrent readers once made.
package rows

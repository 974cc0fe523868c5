// Package vectors holds deletion vectors in a store: it reads one, and writes those of a commit to one file.
//
// It never lists or deletes objects, and reads nothing outside the table's root, unless the
// store is one that does.
//
// Invariants:
//
//  1. A vector is given out whole or not at all: length, checksum, layout, cardinality and the range of its rows agree
//     with each other and with the log. Whatever does not is an error that names the file and the position; rows that
//     were deleted are never taken for live ones.
//  2. Memory is taken for bytes that are there, not for those that a descriptor promises.
//
// Read is for any number of goroutines at once, a Writer for one.
package vectors

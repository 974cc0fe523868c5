// Package rows is vectorised kernels over Arrow columns: hash, group, join, take, compare.
package rows

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// HashKeys writes one 64-bit hash a row by key equality: integers by value whatever their width, -0.0 = 0.0, NaN = NaN, timestamps
// by instant, strings by bytes, NULL = NULL. Columns have equal length, which is len(out).
func HashKeys(cols []arrow.Array, out []uint64) { panic("skeleton") }

// Equality compares rows i of a and j of b by key equality. a and b have equal, or losslessly widened, types.
type Equality struct{}

func NewEquality(a, b []arrow.Array) (*Equality, error) { panic("skeleton") }
func (e *Equality) Equal(i, j int) bool                 { panic("skeleton") }

// Order compares rows by columns, most significant first: NULL is least, NaN greatest, -0.0 = 0.0.
type Order struct{}

func NewOrder(a, b []arrow.Array) (*Order, error) { panic("skeleton") }
func (o *Order) Compare(i, j int) int             { panic("skeleton") }

// Index maps keys to rows of one batch. Several rows may have one key: First and Next walk them.
type Index struct{}

// NewIndex indexes the key columns of a batch (radix-partitioned, open addressing, no pointers).
func NewIndex(cols []arrow.Array, rows int) (*Index, error) { panic("skeleton") }

// Probe writes for each row of cols the first indexed row with an equal key, or -1. The types may be losslessly wider or
// narrower than the indexed ones.
func (x *Index) Probe(cols []arrow.Array, out []int32) error { panic("skeleton") }

// Next is the next indexed row with the same key as row, or -1.
func (x *Index) Next(row int32) int32 { panic("skeleton") }

// Distinct is the number of keys.
func (x *Index) Distinct() int { panic("skeleton") }

// Latest picks one row a key.
type Latest struct {
	Keep      []int32    // ascending row numbers
	Identical int        // rows dropped because an equal row is kept
	Older     int        // rows dropped because a newer row is kept
	Ties      [][2]int32 // pairs of rows that tie on the order columns (or have none) and differ elsewhere; at most 10
	TieCount  int        // keys with such a tie
}

// LatestByKey keeps for each key the row greatest on the order columns. With no order columns every group must be identical rows.
// compare are the columns in which identical rows must agree (NULL = NULL). The answer does not depend on row order but for which
// of identical rows is kept: the first.
func LatestByKey(batch arrow.RecordBatch, key, order, compare []int) (*Latest, error) {
	panic("skeleton")
}

// Digest is a 128-bit multiset digest: a sum modulo 2^128.
type Digest struct{ Hi, Lo uint64 }

func (d Digest) Add(e Digest) Digest       { panic("skeleton") }
func (d Digest) Sub(e Digest) Digest       { panic("skeleton") }
func (d Digest) String() string            { panic("skeleton") } // 32 lower-case hex digits
func ParseDigest(s string) (Digest, error) { panic("skeleton") }

// DigestRows is the sum of the rows' digests by docs/fingerprint.md. Columns are bound by name. keep nil means all rows.
func DigestRows(batch arrow.RecordBatch, keep []bool) (Digest, error) { panic("skeleton") }

// RowDigests writes the digest of each row.
func RowDigests(batch arrow.RecordBatch, out []Digest) error { panic("skeleton") }

// Take gives the rows of a batch by number; -1 gives a row of NULLs.
func Take(mem memory.Allocator, batch arrow.RecordBatch, index []int32) (arrow.RecordBatch, error) {
	panic("skeleton")
}

// TakeFrom gives rows of several batches with one schema: row index[i] of batches[which[i]].
func TakeFrom(mem memory.Allocator, batches []arrow.RecordBatch, which, index []int32) (arrow.RecordBatch, error) {
	panic("skeleton")
}

// Concat joins batches of one schema into one.
func Concat(mem memory.Allocator, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	panic("skeleton")
}

// Bytes is the memory that a batch's buffers hold for its rows.
func Bytes(batch arrow.RecordBatch) int64 { panic("skeleton") }

// Text is row i of a column for a message: quoted strings, ISO dates and instants, NULL.
func Text(col arrow.Array, i int) string { panic("skeleton") }

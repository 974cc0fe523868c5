package rows

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
)

// DigestFormat names the encoding of docs/fingerprint.md. A digest is compared only with one of the same format.
const DigestFormat = "idem1"

// Digest is a 128-bit multiset digest: a sum modulo 2^128.
type Digest struct{ Hi, Lo uint64 }

// Add is the digest of the rows of both.
func (d Digest) Add(e Digest) Digest {
	lo, carry := bits.Add64(d.Lo, e.Lo, 0)
	hi, _ := bits.Add64(d.Hi, e.Hi, carry)
	return Digest{hi, lo}
}

// Sub is the digest without the rows of e.
func (d Digest) Sub(e Digest) Digest {
	lo, borrow := bits.Sub64(d.Lo, e.Lo, 0)
	hi, _ := bits.Sub64(d.Hi, e.Hi, borrow)
	return Digest{hi, lo}
}

// String is 32 lower-case hex digits, the most significant first.
func (d Digest) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], d.Hi)
	binary.BigEndian.PutUint64(b[8:], d.Lo)
	return hex.EncodeToString(b[:])
}

// ParseDigest reads what String writes, and nothing else.
func ParseDigest(s string) (Digest, error) {
	var b [16]byte
	if len(s) != 2*len(b) {
		return Digest{}, fmt.Errorf("digest of %d characters: want 32 lower-case hex digits", len(s))
	}
	if _, err := hex.Decode(b[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("digest %q: want 32 lower-case hex digits: %w", s, err)
	}
	d := Digest{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
	if d.String() != s {
		return Digest{}, fmt.Errorf("digest %q: want 32 lower-case hex digits", s)
	}
	return d, nil
}

// digestBlock is how many rows are digested column by column before the next: their sums stay in the cache.
const digestBlock = 1024

// DigestRows is the sum of the rows' digests by docs/fingerprint.md. Columns are bound by name. keep nil means all rows.
func DigestRows(batch arrow.RecordBatch, keep []bool) (Digest, error) {
	n := int(batch.NumRows())
	if keep != nil && len(keep) != n {
		return Digest{}, fmt.Errorf("digest rows: keep has %d rows, the batch %d", len(keep), n)
	}
	cells, err := batchCells(batch)
	if err != nil {
		return Digest{}, err
	}
	var sum Digest
	var block [digestBlock]Digest
	for lo := 0; lo < n; lo += digestBlock {
		out := block[:min(digestBlock, n-lo)]
		digestRange(cells, lo, out)
		for i, d := range out {
			if keep == nil || keep[lo+i] {
				sum = sum.Add(d)
			}
		}
	}
	return sum, nil
}

// RowDigests writes the digest of each row. The length of out is the batch's.
func RowDigests(batch arrow.RecordBatch, out []Digest) error {
	n := int(batch.NumRows())
	if len(out) != n {
		return fmt.Errorf("digest rows: room for %d digests, the batch has %d rows", len(out), n)
	}
	cells, err := batchCells(batch)
	if err != nil {
		return err
	}
	for lo := 0; lo < n; lo += digestBlock {
		digestRange(cells, lo, out[lo:min(lo+digestBlock, n)])
	}
	return nil
}

func batchCells(batch arrow.RecordBatch) ([]*cells, error) {
	out := make([]*cells, batch.NumCols())
	seen := make(map[string]struct{}, len(out))
	for i := range out {
		name := batch.ColumnName(i)
		if _, twice := seen[name]; twice {
			return nil, fmt.Errorf("digest rows: two columns are named %q: their values could be swapped unseen", name)
		}
		seen[name] = struct{}{}
		c, err := newColumn(batch.Column(i))
		if err != nil {
			return nil, fmt.Errorf("digest column %s: %w", name, err)
		}
		out[i] = newCells(&c, fieldPath(nil, name))
	}
	return out, nil
}

func digestRange(cols []*cells, lo int, out []Digest) {
	clear(out)
	for _, c := range cols {
		c.add(lo, out)
	}
	for i, d := range out {
		out[i] = finish(d, rowSeed)
	}
}

package idem

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// Fingerprint asks for the identity of a multiset of rows.
type Fingerprint struct {
	_ struct{}

	// Where keeps the rows for which it is TRUE. Empty means all.
	Where string
	Args  []any

	// Condition is the same as a tree, instead of Where.
	Condition expr.Expr

	// Keys are columns whose distinct values are counted. A field of a struct is "a.b"; backticks
	// keep a name with dots together.
	Keys []string

	// Sums are integer or decimal columns that are summed exactly.
	Sums []string

	// Verify reads every row, also of files whose digest stands in the log.
	Verify bool
}

// Print is a fingerprint: two tables with equal rows have equal prints, however the rows are
// ordered, spread over files, or stored.
type Print struct {
	_ struct{}

	// Rows is the number of rows.
	Rows int64

	// Keys is the number of distinct values of the key columns, -1 if none were asked for.
	Keys int64

	// Digest is "idem1:" and 32 hexadecimal digits: a 128-bit multiset digest of the rows, specified
	// in docs/fingerprint.md.
	Digest string

	// Sums are exact, in the order asked for.
	Sums []Sum
}

// Sum is an exact sum of a column, NULLs left out.
type Sum struct {
	Column string
	Value  *big.Rat
	scale  int32
}

func (s Sum) String() string { return s.Column + "=" + s.Value.FloatString(int(s.scale)) }

// Grain says whether the key is unique: as many rows as keys.
func (p *Print) Grain() bool { return p.Keys == p.Rows }

// Equal says whether two prints are the same.
func (p *Print) Equal(q *Print) bool {
	return p.String() == q.String()
}

func (p *Print) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rows=%d", p.Rows)
	if p.Keys >= 0 {
		fmt.Fprintf(&b, " keys=%d", p.Keys)
	}
	for _, s := range p.Sums {
		fmt.Fprintf(&b, " sum(%s)", s)
	}
	b.WriteString(" digest=" + p.Digest)
	return b.String()
}

// Fingerprint identifies the rows of the newest version. Rows and digest cost no data read where
// the files carry them and lie wholly in the slice; distinct keys and sums are read.
func (t *Table) Fingerprint(ctx context.Context, r Fingerprint) (*Print, error) {
	const op = "Fingerprint"
	where, snap, err := t.reads(ctx, r.Where, r.Args, r.Condition)
	if err != nil {
		return nil, t.fail(op, err)
	}
	if err := refuseCollated(snap, r.Keys); err != nil {
		return nil, t.fail(op, err)
	}
	p, err := t.print(ctx, snap, r, where)
	return p, t.failIf(op, err)
}

// refuseCollated refuses keys that are not compared by their bytes. Names of no column are for others to refuse.
func refuseCollated(snap *delta.Snapshot, keys []string) error {
	for _, name := range keys {
		if path, err := pred.PathIn(snap.Schema(), name); err == nil {
			if err := snap.RefuseCollated(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) print(ctx context.Context, snap *delta.Snapshot, r Fingerprint, where expr.Expr) (*Print, error) {
	f := plan.Fingerprint{Env: &t.env, Where: where, Keys: r.Keys, Sums: r.Sums, Verify: r.Verify}
	p, err := f.Of(ctx, snap)
	if err != nil {
		return nil, err
	}
	out := &Print{Rows: p.Rows, Keys: p.Distinct, Digest: digestText(p.Digest)}
	for _, s := range p.Sums {
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.Scale)), nil)
		out.Sums = append(out.Sums, Sum{Column: s.Column, Value: new(big.Rat).SetFrac(s.Unscaled, unit), scale: s.Scale})
	}
	return out, nil
}

func digestText(d rows.Digest) string { return "idem1:" + d.String() }

// Duplicates asks for keys that occur more than once.
type Duplicates struct {
	_ struct{}

	// On are the key columns. NULL equals NULL. A field of a struct is "a.b"; in a NULL struct it is
	// NULL.
	On []string

	Where     string
	Args      []any
	Condition expr.Expr

	// Samples is the number of keys shown. 0 means 10.
	Samples int
}

// DuplicateKeys is what [Table.Duplicates] finds.
type DuplicateKeys struct {
	_ struct{}

	Rows  int64
	Keys  int64
	Extra int64 // rows beyond the first of their key

	// Samples are some of the keys, "id=7, day=2013-01-02", and how often each occurs.
	Samples []DuplicateKey
}

// DuplicateKey is a key that occurs Count times.
type DuplicateKey struct {
	Key   string
	Count int64
}

// Duplicates counts the keys of the newest version that occur more than once.
func (t *Table) Duplicates(ctx context.Context, r Duplicates) (*DuplicateKeys, error) {
	const op = "Duplicates"
	where, snap, err := t.reads(ctx, r.Where, r.Args, r.Condition)
	if err != nil {
		return nil, t.fail(op, err)
	}
	if err := refuseCollated(snap, r.On); err != nil {
		return nil, t.fail(op, err)
	}
	d := plan.Duplicates{Env: &t.env, On: r.On, Where: where, Samples: r.Samples}
	found, err := d.Find(ctx, snap)
	if err != nil {
		return nil, t.fail(op, err)
	}
	out := &DuplicateKeys{Rows: found.Rows, Keys: found.Distinct, Extra: found.Extra}
	for _, s := range found.Samples {
		out.Samples = append(out.Samples, DuplicateKey{Key: s.Key, Count: s.Count})
	}
	return out, nil
}

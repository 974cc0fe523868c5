package idem

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

// Dedupe asks for one row a key.
type Dedupe struct {
	_ struct{}

	// On are the key columns. A field of a struct is "a.b"; in a NULL struct it is NULL.
	On []string

	// Newer orders the rows of a key, most significant first: the greatest is kept. Without it all
	// rows of a key must be identical.
	Newer []string

	// NullKeys says what NULL in a key means. The zero value refuses it.
	NullKeys NullKeys

	// Options gives the budget, the directory for what is spilled, and the seams.
	Options Options
}

// DedupeStats counts the rows of a stream.
type DedupeStats struct {
	Read      int64
	Kept      int64
	Identical int64 // dropped because an equal row is kept
	Older     int64 // dropped because a newer row is kept
}

func (s DedupeStats) String() string {
	return fmt.Sprintf("read %d, kept %d, identical %d, older %d", s.Read, s.Kept, s.Identical, s.Older)
}

// DedupeRows keeps one row a key of a stream, by the rules of [Merge]: which row is kept does not
// depend on order or batching. It touches no table. Rows that tie on Newer and differ elsewhere,
// NULL keys and NULL in a Newer column are [ErrInput].
//
// The caller releases both readers; the result's spill files go with its last reference or the end
// of the stream.
func DedupeRows(ctx context.Context, rows array.RecordReader, r Dedupe) (array.RecordReader, DedupeStats, error) {
	const op = "DedupeRows"
	in, err := taken(rows)
	if err != nil {
		return nil, DedupeStats{}, wrap(op, "stream", -1, 0, err)
	}
	if err := r.Options.validate(); err != nil {
		return nil, DedupeStats{}, wrap(op, "stream", -1, 0, err)
	}
	if err := r.NullKeys.validate("Dedupe"); err != nil {
		return nil, DedupeStats{}, wrap(op, "stream", -1, 0, err)
	}
	schema, err := delta.FromArrow(rows.Schema())
	if err != nil {
		return nil, DedupeStats{}, wrap(op, "stream", -1, 0, err)
	}
	env := newEnv(nil, nil, r.Options.filled())
	out, d, err := plan.DedupeStream(ctx, &env, schema, in, r.On, r.Newer, r.NullKeys == MatchNulls)
	if err != nil {
		return nil, DedupeStats{}, wrap(op, "stream", -1, 0, err)
	}
	return out, DedupeStats{Read: d.Read, Kept: d.Kept, Identical: d.Identical, Older: d.Older}, nil
}

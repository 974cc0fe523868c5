// Package trial is what a test of a job puts between the job and the table that it is handed.
//
// A Trial travels in the context of the call that opens the table, and the table keeps it: what the
// job does with the table afterwards is rearranged and reported, whatever context the job uses. The
// same context, handed on to the job, lets its source be rearranged too.
//
// It decides nothing: what an order is, and what calls mean, is for the test to say.
package trial

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Batches are rows on their way.
type Batches = iter.Seq2[arrow.RecordBatch, error]

// Trial is how one run of a job is made different from the others, and watched. A nil Trial does
// neither.
type Trial struct {
	// Order gives the same rows in another order and in other batches. It stands before the rows
	// given to verbs, each time that they are read, and after those that a scan gives. nil leaves
	// them.
	Order func(Batches) Batches

	// Told is called after each call on the table, on the goroutine that made it. nil hears nothing.
	Told func(Call)
}

// Call is one call on the table.
type Call struct {
	// Op is the verb, "Merge". It is empty for calls that read rows.
	Op string

	// Outcome is how a verb ended without an error: the text of its outcome, "already applied".
	Outcome string

	// Err is the error that the caller got.
	Err error
}

// Reads says whether the call read rows of the table.
func (c Call) Reads() bool { return c.Op == "" }

// Arrange gives rows in the order of the trial.
func (t *Trial) Arrange(b Batches) Batches {
	if t == nil || t.Order == nil {
		return b
	}
	return t.Order(b)
}

// Tell reports a call.
func (t *Trial) Tell(c Call) {
	if t != nil && t.Told != nil {
		t.Told(c)
	}
}

type key struct{}

// With puts a trial into a context.
func With(ctx context.Context, t *Trial) context.Context {
	return context.WithValue(ctx, key{}, t)
}

// From gives the trial of a context, nil if it has none.
func From(ctx context.Context) *Trial {
	t, _ := ctx.Value(key{}).(*Trial)
	return t
}

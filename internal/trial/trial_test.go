package trial_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/trial"
)

func rows(yield func(arrow.RecordBatch, error) bool) { yield(nil, nil) }

func count(b trial.Batches) int {
	n := 0
	for range b {
		n++
	}
	return n
}

func TestATrialTravelsInAContext(t *testing.T) {
	var told []trial.Call
	x := &trial.Trial{
		Order: func(b trial.Batches) trial.Batches { return func(func(arrow.RecordBatch, error) bool) {} },
		Told:  func(c trial.Call) { told = append(told, c) },
	}
	require.Nil(t, trial.From(t.Context()))
	ctx := trial.With(t.Context(), x)
	require.Same(t, x, trial.From(ctx))
	require.Zero(t, count(trial.From(ctx).Arrange(rows)))
	trial.From(ctx).Tell(trial.Call{Op: "Merge"})
	trial.From(ctx).Tell(trial.Call{})
	require.Len(t, told, 2)
	require.False(t, told[0].Reads())
	require.True(t, told[1].Reads())
}

func TestNoTrialLeavesThingsAsTheyAre(t *testing.T) {
	for _, x := range []*trial.Trial{nil, {}} {
		require.Equal(t, 1, count(x.Arrange(rows)))
		x.Tell(trial.Call{Op: "Merge"})
	}
}

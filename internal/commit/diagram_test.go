package commit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/commit"
)

// TestDiagram walks the arrows of the diagram one by one. Versions: the plan is for 5, a rebase
// leads to 9.
func TestDiagram(t *testing.T) {
	const (
		plan, nothing, skip, fresh, behind = commit.EventPlanned, commit.EventNothing, commit.EventSkip, commit.EventFresh, commit.EventBehind
		created, unsettled, refused        = commit.EventCreated, commit.EventUnsettled, commit.EventRefused
		ours, theirs, absent, overtaken    = commit.EventOurs, commit.EventTheirs, commit.EventAbsent, commit.EventOvertaken
		unreadable, blind, halt            = commit.EventUnreadable, commit.EventBlind, commit.EventHalt
		rebased, invalid, failed           = commit.EventRebased, commit.EventInvalid, commit.EventFailed
		tagFound, tagMissing               = commit.EventTagFound, commit.EventTagMissing
	)
	done := func(r commit.Result, v int64) commit.Step {
		return commit.Step{Kind: commit.StepDone, Result: r, Version: v}
	}
	for name, c := range map[string]struct {
		events []commit.Event
		want   commit.Step
	}{
		"a warm commit":                           {[]commit.Event{plan, created}, done(commit.Committed, 5)},
		"an unclear answer is looked up":          {[]commit.Event{plan, unsettled}, commit.Step{Kind: commit.StepInspect, Version: 5}},
		"a lost answer was a success":             {[]commit.Event{plan, unsettled, ours}, done(commit.Committed, 5)},
		"another is there: judge it":              {[]commit.Event{plan, unsettled, theirs}, commit.Step{Kind: commit.StepRebase, Version: 5}},
		"nothing is there: the same bytes again":  {[]commit.Event{plan, unsettled, absent}, commit.Step{Kind: commit.StepPropose, Version: 5, Again: true}},
		"no answer: look again":                   {[]commit.Event{plan, unsettled, unreadable}, commit.Step{Kind: commit.StepInspect, Version: 5}},
		"no answer in time":                       {[]commit.Event{plan, unsettled, blind}, done(commit.Unknown, 5)},
		"no answer in time, but nothing was sent": {[]commit.Event{plan, behind, blind}, done(commit.Failed, 5)},
		"cleaned away: the tag decides":           {[]commit.Event{plan, unsettled, overtaken}, commit.Step{Kind: commit.StepDecide, Version: 5}},
		"the tag is there":                        {[]commit.Event{plan, unsettled, overtaken, tagFound}, done(commit.Skipped, 5)},
		"the tag is not there":                    {[]commit.Event{plan, unsettled, overtaken, tagMissing}, done(commit.Unknown, 5)},
		"cleaned away before anything was sent":   {[]commit.Event{plan, behind, overtaken}, commit.Step{Kind: commit.StepPlan, Refresh: true}},
		"not behind after all":                    {[]commit.Event{plan, behind, absent}, commit.Step{Kind: commit.StepPropose, Version: 5}},
		"compatible: propose at the tail":         {[]commit.Event{plan, unsettled, theirs, rebased}, commit.Step{Kind: commit.StepPropose, Version: 9}},
		"incompatible: plan anew":                 {[]commit.Event{plan, unsettled, theirs, invalid}, commit.Step{Kind: commit.StepPlan}},
		"the winner has our tag":                  {[]commit.Event{plan, unsettled, theirs, skip}, done(commit.Skipped, 5)},
		"winners cleaned away":                    {[]commit.Event{plan, unsettled, theirs, behind}, commit.Step{Kind: commit.StepPlan, Refresh: true}},
		"a verdict that ends the call":            {[]commit.Event{plan, unsettled, theirs, failed}, done(commit.Failed, 5)},
		"nothing to do is proven":                 {[]commit.Event{nothing}, commit.Step{Kind: commit.StepProve}},
		"nothing to do":                           {[]commit.Event{nothing, fresh}, done(commit.Nothing, 0)},
		"a skip is proven":                        {[]commit.Event{skip, fresh}, done(commit.Skipped, 0)},
		"not the newest: plan anew":               {[]commit.Event{nothing, behind}, commit.Step{Kind: commit.StepPlan, Refresh: true}},
		"a skip that is outdated is forgotten":    {[]commit.Event{skip, behind, nothing, fresh}, done(commit.Nothing, 0)},
		"the store refuses":                       {[]commit.Event{plan, refused}, done(commit.Failed, 5)},
		"the store refuses what may have landed":  {[]commit.Event{plan, unsettled, absent, refused}, done(commit.Unknown, 5)},
		"the end before anything was sent":        {[]commit.Event{plan, halt}, done(commit.Halted, 5)},
		"the end while looking: look once more":   {[]commit.Event{plan, unsettled, halt}, commit.Step{Kind: commit.StepInspect, Version: 5}},
		"the end, and it is ours":                 {[]commit.Event{plan, unsettled, halt, ours}, done(commit.Committed, 5)},
		"the end, and it is theirs":               {[]commit.Event{plan, unsettled, halt, theirs}, done(commit.Halted, 5)},
		"the end, and it is absent":               {[]commit.Event{plan, unsettled, halt, absent}, done(commit.Unknown, 5)},
		"the end, unreadable, then absent":        {[]commit.Event{plan, unsettled, halt, unreadable, absent}, done(commit.Unknown, 5)},
		"the end, nothing sent, cleaned away":     {[]commit.Event{plan, behind, halt, overtaken}, done(commit.Halted, 5)},
		"the end before the same bytes again":     {[]commit.Event{plan, unsettled, absent, halt}, done(commit.Unknown, 5)},
		"the end after a foreign commit was read": {[]commit.Event{plan, unsettled, theirs, halt}, done(commit.Halted, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := commit.Start()
			require.Equal(t, commit.Step{Kind: commit.StepPlan}, s)
			for _, e := range c.events {
				version := int64(5)
				if e == rebased {
					version = 9
				}
				m, s = m.Next(e, version)
			}
			require.Equal(t, c.want, s)
		})
	}
}

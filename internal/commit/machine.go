package commit

import "fmt"

// StepKind is what the engine is to do next.
type StepKind int

const (
	// StepPlan: ask the planner, on the newest snapshot if Refresh is set, else on the one at hand.
	StepPlan StepKind = iota

	// StepProve: see whether the snapshot that was planned on is still the newest.
	StepProve

	// StepPropose: put the commit at Version if absent. With Again the very same bytes as before.
	StepPropose

	// StepInspect: read what is at Version, with a deadline of its own.
	StepInspect

	// StepRebase: read every winner from Version to the newest and judge them.
	StepRebase

	// StepDecide: Version was cleaned away. Load the newest table and look for the tag.
	StepDecide

	// StepDone: Result says how it ended.
	StepDone
)

func (k StepKind) String() string {
	return [...]string{"plan", "prove", "propose", "inspect", "rebase", "decide", "done"}[k]
}

// Result is how a commit ended.
type Result int

const (
	// Committed: Step.Version holds the commit.
	Committed Result = iota

	// Nothing: the plan changes nothing on a snapshot that was proven to be the newest.
	Nothing

	// Skipped: the tag made the call superfluous, or stops it.
	Skipped

	// Failed: the engine knows the error. Nothing was committed and nothing ever will be.
	Failed

	// Halted: the budget or the context ended. Nothing was committed and nothing ever will be.
	Halted

	// Unknown: a proposal for Step.Version may have landed or may still land.
	Unknown
)

func (r Result) String() string {
	return [...]string{"committed", "nothing", "skipped", "failed", "halted", "unknown"}[r]
}

// Step is the machine's answer.
type Step struct {
	Kind    StepKind
	Version int64
	Again   bool
	Refresh bool
	Result  Result
}

func (s Step) String() string {
	return fmt.Sprintf("%s %d again=%t refresh=%t %s", s.Kind, s.Version, s.Again, s.Refresh, s.Result)
}

// Event is what the engine tells the machine: the outcome of the last step, or Halt at any time.
type Event int

const (
	// EventPlanned answers StepPlan: there is a commit to propose. Next gets its version.
	EventPlanned Event = iota

	// EventNothing answers StepPlan: there is nothing to change.
	EventNothing

	// EventSkip answers StepPlan and StepRebase: the tag says that there is nothing to do. After
	// StepRebase the history read is proof enough that it is the newest word.
	EventSkip

	// EventFailed answers StepPlan, StepProve, StepRebase: an error or a verdict ends the call.
	EventFailed

	// EventFresh answers StepProve: nothing newer exists.
	EventFresh

	// EventBehind answers StepProve (newer versions exist), StepPropose (nothing was sent, because
	// a later version or checkpoint is known) and StepRebase (winners were cleaned away).
	EventBehind

	// EventCreated answers StepPropose: our call created the commit.
	EventCreated

	// EventUnsettled answers StepPropose: taken, or any answer that proves nothing.
	EventUnsettled

	// EventRefused answers StepPropose: the store did nothing and never will.
	EventRefused

	// EventOurs answers StepInspect: our transaction id is there.
	EventOurs

	// EventTheirs answers StepInspect: a commit of somebody else is there.
	EventTheirs

	// EventAbsent answers StepInspect: nothing is there and no later version or checkpoint exists.
	EventAbsent

	// EventOvertaken answers StepInspect: nothing is there, but a later version or a checkpoint at
	// or after it exists.
	EventOvertaken

	// EventUnreadable answers StepInspect: no answer; there is time to look again.
	EventUnreadable

	// EventBlind answers StepInspect: no answer, and the time to read back is spent.
	EventBlind

	// EventRebased answers StepRebase: the same actions hold. Next gets the version after the newest.
	EventRebased

	// EventInvalid answers StepRebase: plan anew.
	EventInvalid

	// EventTagFound and EventTagMissing answer StepDecide.
	EventTagFound
	EventTagMissing

	// EventHalt comes instead of carrying out the step: the budget is spent or the context ended.
	EventHalt
)

func (e Event) String() string {
	return [...]string{
		"planned", "nothing", "skip", "failed", "fresh", "behind", "created", "unsettled", "refused", "ours", "theirs",
		"absent", "overtaken", "unreadable", "blind", "rebased", "invalid", "tag found", "tag missing", "halt",
	}[e]
}

// Machine is the state of one commit. The zero Machine is not ready: use Start. It is a value;
// Next gives the machine after an event and leaves the old one as it was.
type Machine struct {
	step    Step
	open    bool  // a proposal for step.Version was sent and may still land
	halted  bool  // the end of budget or context was told
	settled int64 // the highest version at which a foreign commit was read, -1 if none
	skip    bool  // what StepProve is to prove is a skip
}

// Start gives a machine and its first step.
func Start() (Machine, Step) {
	m := Machine{step: Step{Kind: StepPlan}, settled: -1}
	return m, m.step
}

// Next takes an event. version matters to EventPlanned and EventRebased only. An event that does
// not answer the step is our own mistake: it ends the commit as Failed, or as Unknown when a
// proposal may still land.
func (m Machine) Next(e Event, version int64) (Machine, Step) {
	switch m.step.Kind {
	case StepPlan:
		m.step = m.afterPlan(e, version)
		m.skip = e == EventSkip
	case StepProve:
		m.step = m.afterProve(e)
	case StepPropose:
		m.step = m.afterPropose(e)
		m.open = m.open || e == EventUnsettled
	case StepInspect:
		if e == EventTheirs {
			m.settled, m.open = m.step.Version, false
		}
		m.step = m.afterInspect(e)
		m.halted = m.halted || e == EventHalt
	case StepRebase:
		m.step = m.afterRebase(e, version)
	case StepDecide:
		m.step = m.afterDecide(e)
	}
	return m, m.step
}

// Halted says whether the end of budget or context was told while a read-back was due, so that the
// machine keeps reading back and does nothing else.
func (m Machine) Halted() bool { return m.halted }

func (m Machine) done(r Result) Step {
	return Step{Kind: StepDone, Version: m.step.Version, Result: r}
}

// end is the end without a commit: unknown as long as a proposal may land.
func (m Machine) end(r Result) Step {
	if m.open {
		return m.done(Unknown)
	}
	return m.done(r)
}

func (m Machine) propose(version int64) Step {
	if version <= m.settled {
		return m.done(Failed)
	}
	return Step{Kind: StepPropose, Version: version}
}

func (m Machine) afterPlan(e Event, version int64) Step {
	switch e {
	case EventPlanned:
		return m.propose(version)
	case EventNothing, EventSkip:
		return Step{Kind: StepProve}
	case EventHalt:
		return m.end(Halted)
	}
	return m.end(Failed)
}

func (m Machine) afterProve(e Event) Step {
	switch {
	case e == EventFresh && m.skip:
		return m.done(Skipped)
	case e == EventFresh:
		return m.done(Nothing)
	case e == EventBehind:
		return Step{Kind: StepPlan, Refresh: true}
	case e == EventHalt:
		return m.end(Halted)
	}
	return m.end(Failed)
}

func (m Machine) afterPropose(e Event) Step {
	switch e {
	case EventCreated:
		return m.done(Committed)
	case EventUnsettled, EventBehind:
		return Step{Kind: StepInspect, Version: m.step.Version}
	case EventHalt:
		return m.end(Halted)
	}
	return m.end(Failed)
}

func (m Machine) afterInspect(e Event) Step {
	switch e {
	case EventOurs:
		return m.done(Committed)
	case EventTheirs:
		if m.halted {
			return m.done(Halted)
		}
		return Step{Kind: StepRebase, Version: m.step.Version}
	case EventUnreadable, EventHalt:
		return Step{Kind: StepInspect, Version: m.step.Version}
	case EventAbsent:
		if m.halted {
			return m.end(Halted)
		}
		return Step{Kind: StepPropose, Version: m.step.Version, Again: m.open}
	case EventOvertaken:
		return m.afterOvertaken()
	}
	return m.end(Failed)
}

func (m Machine) afterOvertaken() Step {
	switch {
	case m.open:
		return Step{Kind: StepDecide, Version: m.step.Version}
	case m.halted:
		return m.done(Halted)
	}
	return Step{Kind: StepPlan, Refresh: true}
}

func (m Machine) afterRebase(e Event, version int64) Step {
	switch e {
	case EventRebased:
		return m.propose(version)
	case EventInvalid:
		return Step{Kind: StepPlan}
	case EventBehind:
		return Step{Kind: StepPlan, Refresh: true}
	case EventSkip:
		return m.done(Skipped)
	case EventHalt:
		return m.end(Halted)
	}
	return m.end(Failed)
}

func (m Machine) afterDecide(e Event) Step {
	if e == EventTagFound {
		return m.done(Skipped)
	}
	return m.done(Unknown)
}

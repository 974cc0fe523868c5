package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const opAlter = "Alter"

// Alter asks for changes of a table's definition.
type Alter struct {
	_ struct{}

	// Changes are made in order, each on what those before it left: [AddColumn], [RenameColumn],
	// [DropColumn], [MoveColumn], [WidenColumn], [DropNotNull], [SetComment], [SetLengths],
	// [SetDefault], [DropDefault], [ClusterBy], [SetName], [SetDescription], [AddConstraint],
	// [DropConstraint], [SetProperties], [UnsetProperties] and [AddFeature].
	Changes []Change

	// Note is kept in the commit.
	Note string
}

// Altered is what a change of a definition did.
type Altered struct {
	_ struct{}

	// Outcome is Committed or Unchanged.
	Outcome idem.Outcome

	// Version is the version committed, or the newest version looked at.
	Version int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	// FilesTracked is the number of files whose rows were given ids, in commits of their own before the
	// last.
	FilesTracked int64
}

// String is one line for a log.
func (a *Altered) String() string {
	text := fmt.Sprintf("%s, version %d", a.Outcome, a.Version)
	if a.FilesTracked > 0 {
		text += fmt.Sprintf(": the rows of %d files were given ids", a.FilesTracked)
	}
	return text
}

// AlterTable changes the definition of a table: all changes in one commit, or none. No data file is
// read, but for a new constraint, and none is written.
//
// A second call finds the table as it is to be and is Unchanged. What it takes for done:
//
//   - a column to be added is there with the type wanted; one to be dropped is not;
//   - a column to be renamed is gone and there is one of the new name (the log does not tell whether it
//     is the same: whoever dropped the one and added the other gets no error);
//   - everything else stands as asked, by its effect: a place, a type, a comment, a condition word by
//     word, the value of a property.
//
// Changes of one call that a second call would make again (drop a column and add one of its name: the
// second would drop the new one) are [idem.ErrInput] and nothing is changed: make two calls of them.
//
// Two calls at once come one after the other: the later one is worked out on what the earlier left, and
// is Unchanged if that is what it asks for, or an error if it does not go with it. Writes of rows at the
// same time give way by their own rules; those of idem are redone.
//
// Turning row tracking on takes more than one commit on a table that has files: the feature, then ids
// for the rows of all files in batches that change no data, then the property. A call that was cut
// short goes on where it ended.
//
// Errors: [idem.ErrInput] for what breaks a rule of the table, for a constraint that rows break, and for an
// expression that cannot be evaluated; [idem.ErrConflict] for a column or a constraint that is there and says something else;
// [idem.ErrUnsupported] for what idem does not write.
func AlterTable(ctx context.Context, t *idem.Table, r Alter) (*Altered, error) {
	in, err := open(ctx, opAlter, t)
	if err != nil {
		return nil, err
	}
	if len(r.Changes) == 0 || slices.ContainsFunc(r.Changes, isNil) {
		return nil, in.Fail(opAlter, fmt.Errorf("%w: Alter.Changes is empty, or one of them is nil: say what to change", idem.ErrInput))
	}
	r.Changes = plain(r.Changes)
	return change(ctx, in, opAlter, r)
}

// isNil also knows a nil pointer to a change.
func isNil(c Change) bool {
	v := reflect.ValueOf(c)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// plain are changes without the pointers to them.
func plain(changes []Change) []Change {
	out := slices.Clone(changes)
	for i, c := range out {
		if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer {
			out[i] = v.Elem().Interface().(Change)
		}
	}
	return out
}

// errUntracked says that there are files without row ids, which must have some before the commit.
var errUntracked = fmt.Errorf("%w: files without row ids are there again and again, so that row tracking cannot be turned on: another writer takes ids away; end that first", idem.ErrConflict)

// mostRounds is how often files without row ids may turn up again.
const mostRounds = 5

// change carries changes out.
func change(ctx context.Context, in *inside.Table, op string, r Alter) (*Altered, error) {
	if _, err := in.Newest(ctx); err != nil { // what stood in the way may be gone
		return nil, in.Fail(op, err)
	}
	out, s := &Altered{}, &steps{in: in, op: op, note: r.Note}
	for round := 0; ; round++ {
		res, err := s.write(ctx, &alter{env: in.Env, changes: r.Changes, held: map[string]bool{}})
		if err == nil {
			out.Outcome, out.Version, out.Attempts = res.Outcome, res.Version, out.Attempts+res.Attempts
			return out, nil
		}
		if !errors.Is(err, errUntracked) || round == mostRounds {
			return nil, err
		}
		n, attempts, err := backfill(ctx, s)
		if err != nil {
			return nil, err
		}
		out.FilesTracked, out.Attempts = out.FilesTracked+n, out.Attempts+attempts
	}
}

// alter plans one call.
type alter struct {
	env     *plan.Env
	changes []Change
	held    map[string]bool // new constraints, with the files whose rows are known to satisfy them
}

// Plan implements inside.Planner.
func (p *alter) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	d, err := p.draft(snap)
	if err != nil || !d.changed() {
		return nil, err
	}
	if err := p.settles(d); err != nil {
		return nil, err
	}
	if d.backfill {
		return nil, errUntracked
	}
	if err := p.rules(d.now); err != nil {
		return nil, err
	}
	fresh := newConstraints(snap, d.now)
	if err := p.hold(ctx, d.now, fresh); err != nil {
		return nil, err
	}
	operation, parameters := inWords(d.told)
	out := &plan.Proposal{Operation: operation, Parameters: parameters, Actions: d.actions()}
	// A file that comes meanwhile may break a new constraint, and one of a writer that did not know a
	// new feature may lack what that demands.
	out.Reads = commit.Reads{WholeTable: len(fresh) > 0 || d.now.Protocol() != snap.Protocol()}
	return out, nil
}

// draft is a definition after changes.
type draft struct {
	was, now *delta.Snapshot
	domains  map[string]delta.DomainMetadata // that were written
	backfill bool
	told     []told // what the changes that had an effect are called
}

// draft makes the changes on a snapshot.
func (p *alter) draft(snap *delta.Snapshot) (*draft, error) {
	d := &draft{was: snap, now: snap, domains: map[string]delta.DomainMetadata{}}
	fresh := delta.Fresh{ID: p.env.NewID, Version: snap.Version() + 1, Timestamp: p.env.Now().UnixMilli()}
	for _, c := range p.changes {
		before := d.now
		edit, err := c.edit(before, fresh)
		if err != nil {
			return nil, err
		}
		if edit == nil {
			continue
		}
		if d.now, err = before.Edited(edit); err != nil {
			return nil, err
		}
		for _, x := range edit.Domains {
			d.domains[x.Domain] = x
		}
		d.backfill = d.backfill || edit.Backfill
		d.told = append(d.told, c.told(before, d.now))
	}
	return d, nil
}

// changed says whether the whole makes a difference: one change may take another back.
func (d *draft) changed() bool { return len(d.actions()) > 0 }

// actions are those of the whole.
func (d *draft) actions() []delta.Action {
	var out []delta.Action
	if p := d.now.Protocol(); p != d.was.Protocol() { // what is supported is never taken back by a change
		out = append(out, delta.Action{Protocol: p})
	}
	if m := d.now.Metadata(); !sameMetadata(m, d.was.Metadata()) {
		out = append(out, delta.Action{Metadata: m})
	}
	for _, name := range slices.Sorted(maps.Keys(d.domains)) {
		x := d.domains[name]
		if old, ok := d.was.Domain(name); ok == x.Removed || !x.Removed && old.Configuration != x.Configuration {
			out = append(out, delta.Action{Domain: &x})
		}
	}
	return out
}

// settles demands that the same call finds nothing to do on what it leaves.
func (p *alter) settles(d *draft) error {
	again, err := p.draft(d.now)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the changes do not go together twice: the same call again would fail (%v); nothing was changed: make two calls of them", idem.ErrInput, err)
	case again.changed():
		return fmt.Errorf("%w: the same call again would change the table again (%s): one of its changes undoes another; nothing was changed: make two calls of them",
			idem.ErrInput, strings.Join(operations(again.told), ", "))
	}
	return nil
}

// rules makes sure that the expressions of new conditions and defaults can be evaluated.
func (p *alter) rules(now *delta.Snapshot) error {
	if !slices.ContainsFunc(p.changes, func(c Change) bool {
		switch c.(type) {
		case AddConstraint, SetDefault:
			return true
		}
		return false
	}) {
		return nil
	}
	err := plan.CheckRules(p.env, now)
	if u := (*plan.UncheckedError)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w: %v", idem.ErrInput, u)
	}
	if u := (*plan.UncomputedError)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w: %v", idem.ErrInput, u)
	}
	return err
}

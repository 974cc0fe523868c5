package commit

import (
	"fmt"

	"github.com/idemtable/idem/delta"
)

// VerdictKind orders what a commit of others means for ours, the mildest first.
type VerdictKind int

const (
	// Compatible: the same actions hold after the commit.
	Compatible VerdictKind = iota

	// Replan: what the plan rests on has changed; plan anew on the new snapshot.
	Replan

	// Skip: the tag says that the work is in the table, or was superseded or restored away.
	Skip

	// Stop: no plan can help. Verdict.Err says why.
	Stop
)

// Rule names the rule that a verdict comes from.
type Rule string

const (
	RuleNone         Rule = ""
	RuleTableID      Rule = "table id"
	RuleCreated      Rule = "table created"
	RuleFeature      Rule = "feature"
	RuleProtocol     Rule = "protocol"
	RuleMetadata     Rule = "metadata"
	RuleDomain       Rule = "domain metadata"
	RuleTag          Rule = "tag"
	RuleAdded        Rule = "added file"
	RuleDeleteRead   Rule = "removed a file that was read"
	RuleDeleteDelete Rule = "removed a file that we remove"
	RuleAddAdd       Rule = "added a file that we add"
	RuleEverything   Rule = "a commit came between"
)

// Verdict is the answer of Check and Rebase.
type Verdict struct {
	Kind    VerdictKind
	Rule    Rule
	Version int64  // of the commit that decided
	Detail  string // what was seen
	Err     error  // of Stop
	Tag     TagAnswer
}

func (v Verdict) String() string {
	return fmt.Sprintf("version %d: %s: %s", v.Version, v.Rule, v.Detail)
}

// Check says what one winner means for an intent whose plan was valid on base. Rules apply in the
// order: table id, creation, features, protocol, metadata, domains, tags, files; the first that
// speaks decides. Whether the tag makes the call superfluous is not its matter but that of Rebase,
// because only the last record counts.
func Check(in *Intent, base State, w *Winner) Verdict {
	if v := checkIdentity(in, base, w); v.Kind != Compatible {
		return v
	}
	if v := checkGate(base.After(w), w.Version); v.Kind != Compatible {
		return v
	}
	return checkChanges(in, base, w)
}

// Rebase says what the winners, all from the one that took our version to the newest, in order,
// mean together. tag is the answer of a TagWalk over them, zero without a tag. The sternest
// verdict decides, among equals the first; but what the tag says goes before all except another
// table and a table that cannot be read.
func Rebase(in *Intent, base State, winners []*Winner, tag TagAnswer) Verdict {
	state, worst := base, Verdict{}
	for _, w := range winners {
		v := checkIdentity(in, state, w)
		if v.Kind == Stop {
			return v
		}
		if v.Kind == Compatible {
			v = checkChanges(in, state, w)
		}
		if v.Kind > worst.Kind {
			worst = v
		}
		state = state.After(w)
	}
	if len(winners) == 0 {
		return worst
	}
	last := winners[len(winners)-1].Version
	if err := state.gate(delta.GateRead); err != nil {
		return Verdict{Kind: Stop, Rule: RuleFeature, Version: last, Detail: "the table cannot be read any more", Err: err}
	}
	if tag.Skips(in.Reapply) && !in.Rewind {
		return Verdict{Kind: Skip, Rule: RuleTag, Version: last, Detail: tag.String(), Tag: tag}
	}
	if v := checkGate(state, last); v.Kind != Compatible {
		return v
	}
	return worst
}

func checkIdentity(in *Intent, base State, w *Winner) Verdict {
	if in.TableID == "" {
		return Verdict{Kind: Replan, Rule: RuleCreated, Version: w.Version, Detail: "another writer created the table"}
	}
	m := w.metadata()
	if m == nil || m.ID == in.TableID {
		return Verdict{}
	}
	return Verdict{Kind: Stop, Rule: RuleTableID, Version: w.Version,
		Detail: fmt.Sprintf("the table's id is %q, not %q", m.ID, in.TableID),
		Err: fmt.Errorf("version %d: the table was dropped and made anew (id %q, ours was %q): open it again: %w",
			w.Version, m.ID, in.TableID, ErrConflict)}
}

func checkGate(after State, version int64) Verdict {
	if err := after.gate(delta.GateWrite); err != nil {
		return Verdict{Kind: Stop, Rule: RuleFeature, Version: version,
			Detail: "the table cannot be written any more", Err: fmt.Errorf("after version %d: %w", version, err)}
	}
	return Verdict{}
}

func checkChanges(in *Intent, base State, w *Winner) Verdict {
	for _, check := range []func(*Intent, State, *Winner) Verdict{
		checkProtocol, checkMetadata, checkDomains, checkTxns,
	} {
		if v := check(in, base, w); v.Kind != Compatible {
			v.Version = w.Version
			return v
		}
	}
	v := checkFiles(in, w)
	if v.Kind == Compatible && in.Reads.Everything {
		v = replan(RuleEverything, "the plan rests on all that the table was")
	}
	v.Version = w.Version
	return v
}

func replan(rule Rule, format string, args ...any) Verdict {
	return Verdict{Kind: Replan, Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

func checkProtocol(in *Intent, base State, w *Winner) Verdict {
	for _, a := range in.Actions {
		if a.Protocol == nil || base.Protocol == nil {
			continue
		}
		if w.protocol() != nil {
			return replan(RuleProtocol, "both commits change the table's protocol")
		}
		if name := dropped(base.Protocol, a.Protocol); name != "" && w.mayUse() {
			return replan(RuleProtocol, "the commit drops the feature %s, which the winner may use", name)
		}
		if w.metadata() != nil {
			return replan(RuleProtocol, "the commit changes the table's protocol, and the winner its definition")
		}
	}
	p := w.protocol()
	if p == nil || base.Protocol != nil && sameProtocol(base.Protocol, p) {
		return Verdict{}
	}
	if base.Protocol == nil {
		return replan(RuleProtocol, "the table's protocol changed")
	}
	if why := protocolChange(base.Protocol, p, base.Metadata); why != "" {
		return replan(RuleProtocol, "the table's protocol changed: %s", why)
	}
	return Verdict{}
}

func checkMetadata(in *Intent, base State, w *Winner) Verdict {
	m := w.metadata()
	if m == nil || base.Metadata == nil {
		return Verdict{}
	}
	for _, a := range in.Actions {
		if a.Metadata != nil {
			return replan(RuleMetadata, "both commits change the table's definition")
		}
	}
	if why := definitionChange(base.Metadata, m, in.Blind()); why != "" {
		return replan(RuleMetadata, "%s", why)
	}
	return Verdict{}
}

// checkDomains looks at domains that both commits write, and at those that name columns where ours changes what
// columns there are. The row-id high-water mark is worked out where a commit lands.
func checkDomains(in *Intent, _ State, w *Winner) Verdict {
	for _, ours := range in.Actions {
		for _, theirs := range w.Actions {
			if theirs.Domain == nil || theirs.Domain.Domain == RowIDDomain {
				continue
			}
			if ours.Domain != nil && ours.Domain.Domain == theirs.Domain.Domain {
				return replan(RuleDomain, "domain %q changed", ours.Domain.Domain)
			}
			if ours.Metadata != nil && theirs.Domain.Domain == delta.ClusteringDomain {
				return replan(RuleDomain, "the commit changes the table's definition, and the winner the columns that it is clustered by")
			}
		}
	}
	return Verdict{}
}

// checkTxns looks at records that both commits write. For the tag of an ordinary write the order
// of the records is settled by the tag's own rule; moving a tag by hand gives way to whoever moved
// it meanwhile, and any other shared record makes a new plan.
func checkTxns(in *Intent, _ State, w *Winner) Verdict {
	for _, theirs := range w.Actions {
		if theirs.Txn == nil {
			continue
		}
		app := theirs.Txn.AppID
		if in.Tag != nil && app == in.Tag.AppID && in.Rewind {
			return Verdict{Kind: Stop, Rule: RuleTag, Detail: "the tag moved meanwhile",
				Err: fmt.Errorf("version %d recorded %s@%d while the tag was being moved to %d: look again and decide anew: %w",
					w.Version, app, theirs.Txn.Version, in.Tag.Version, ErrConflict)}
		}
		if !in.Tag.belongsTo(app) && in.writesTxn(app) {
			return replan(RuleTag, "both commits record app id %q", app)
		}
	}
	return Verdict{}
}

func checkFiles(in *Intent, w *Winner) Verdict {
	if in.Blind() {
		return Verdict{}
	}
	if v := checkAdded(in, w); v.Kind != Compatible {
		return v
	}
	return checkRemoved(in, w)
}

func checkAdded(in *Intent, w *Winner) Verdict {
	if !considersAdds(in, w) {
		return Verdict{}
	}
	for _, a := range w.Actions {
		if a.Add == nil {
			continue
		}
		if in.Reads.WholeTable || in.Reads.Touches != nil && in.Reads.Touches(a.Add) {
			return replan(RuleAdded, "file %s may hold rows that were not read", a.Add.Path)
		}
	}
	return Verdict{}
}

// considersAdds says whether the winner's added files must be compared with our reads. Their
// dataChange is not looked at: under Serializable a compaction's files count too.
func considersAdds(in *Intent, w *Winner) bool {
	if in.rearranges() {
		return false
	}
	if in.Isolation == Serializable || !w.blind() {
		return true
	}
	for _, a := range in.Actions {
		if a.Metadata != nil {
			return true
		}
	}
	return false
}

// checkRemoved compares keys, not deletion vectors: a file whose vector changed is another logical
// file, and what we planned for the old one is void. dataChange is not looked at either: two
// compactions of one file must not both commit.
func checkRemoved(in *Intent, w *Winner) Verdict {
	removed, added := make(map[string]struct{}), make(map[string]struct{})
	for _, a := range in.Actions {
		switch {
		case a.Remove != nil:
			removed[keyOf(a.Remove.Key, a.Remove.Path)] = struct{}{}
		case a.Add != nil:
			added[keyOf(a.Add.Key, a.Add.Path)] = struct{}{}
		}
	}
	deleteDelete := Verdict{}
	for _, a := range w.Actions {
		switch {
		case a.Remove != nil:
			key := keyOf(a.Remove.Key, a.Remove.Path)
			if _, read := in.Reads.Files[key]; read || in.Reads.WholeTable {
				return replan(RuleDeleteRead, "file %s was removed", a.Remove.Path)
			}
			if _, twice := removed[key]; twice && deleteDelete.Kind == Compatible {
				deleteDelete = replan(RuleDeleteDelete, "file %s was removed", a.Remove.Path)
			}
		case a.Add != nil:
			if _, twice := added[keyOf(a.Add.Key, a.Add.Path)]; twice && deleteDelete.Kind == Compatible {
				deleteDelete = replan(RuleAddAdd, "file %s was added", a.Add.Path)
			}
		}
	}
	return deleteDelete
}

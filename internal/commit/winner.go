package commit

import (
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
)

// Winner is a commit of somebody else that took a version which we wanted, or a later one.
type Winner struct {
	Version int64
	Actions []delta.Action
}

// NewWinner resolves the paths of a commit below root, the table's URL. A path that leaves the
// root keeps its verbatim form: it cannot be one that we read or remove.
func NewWinner(root string, version int64, actions []delta.Action) *Winner {
	w := &Winner{Version: version, Actions: make([]delta.Action, len(actions))}
	copy(w.Actions, actions)
	for i, a := range w.Actions {
		switch {
		case a.Add != nil && a.Add.Key == "":
			add := *a.Add
			add.Key = resolve(root, add.Path)
			w.Actions[i].Add = &add
		case a.Remove != nil && a.Remove.Key == "":
			remove := *a.Remove
			remove.Key = resolve(root, remove.Path)
			w.Actions[i].Remove = &remove
		}
	}
	return w
}

func resolve(root, path string) string {
	key, err := delta.Locate(root, path)
	if err != nil {
		return path
	}
	return key
}

// blind says whether the commit declares itself a blind append. One that says nothing is not.
func (w *Winner) blind() bool {
	info := delta.InfoOf(w.Actions)
	return info != nil && info.IsBlindAppend != nil && *info.IsBlindAppend
}

// mayUse says whether the commit leaves something that may need a feature: a file, a domain.
func (w *Winner) mayUse() bool {
	return slices.ContainsFunc(w.Actions, func(a delta.Action) bool { return a.Add != nil || a.Domain != nil })
}

func (w *Winner) protocol() *delta.Protocol {
	for _, a := range w.Actions {
		if a.Protocol != nil {
			return a.Protocol
		}
	}
	return nil
}

func (w *Winner) metadata() *delta.Metadata {
	for _, a := range w.Actions {
		if a.Metadata != nil {
			return a.Metadata
		}
	}
	return nil
}

// State is what the rules look at of a table at a version.
type State struct {
	Protocol *delta.Protocol
	Metadata *delta.Metadata
}

// After is the state that a commit leaves.
func (s State) After(w *Winner) State {
	if p := w.protocol(); p != nil {
		s.Protocol = p
	}
	if m := w.metadata(); m != nil {
		s.Metadata = m
	}
	return s
}

// gate applies GateRead or GateWrite to the state.
func (s State) gate(f func(*delta.Protocol, *delta.Metadata, *delta.Struct) error) error {
	if s.Protocol == nil || s.Metadata == nil {
		return fmt.Errorf("table without protocol or metaData: %w", delta.ErrCorrupt)
	}
	schema := &delta.Struct{}
	if s.Metadata.SchemaString != "" {
		var err error
		if schema, err = delta.ParseSchema(s.Metadata.SchemaString); err != nil {
			return fmt.Errorf("schema of the table: %w", err)
		}
	}
	return f(s.Protocol, s.Metadata, schema)
}

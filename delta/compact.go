package delta

import (
	"fmt"
	"maps"
	"slices"
)

// Compactor folds consecutive commits into the actions of a log compaction: what replays as they
// do, on whatever came before. Removes and removed domains stay, since they end what is older. It
// is for one goroutine.
type Compactor struct {
	root     string
	protocol *Protocol
	metadata *Metadata
	txns     map[string]*Txn
	domains  map[string]*DomainMetadata
	files    map[string]Action // the last add or remove of a logical file
	live     map[string]string // of a file's key, the logical file that is live
}

// NewCompactor starts a compaction. root, a URL, resolves absolute paths.
func NewCompactor(root string) *Compactor {
	return &Compactor{root: root, txns: map[string]*Txn{}, domains: map[string]*DomainMetadata{}, files: map[string]Action{}, live: map[string]string{}}
}

// Commit takes the actions of the next commit.
func (c *Compactor) Commit(actions []Action) error {
	for _, a := range actions {
		if a.Remove != nil {
			if err := c.remove(a); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		switch {
		case a.Add != nil:
			if err := c.add(a); err != nil {
				return err
			}
		case a.Protocol != nil:
			c.protocol = a.Protocol
		case a.Metadata != nil:
			c.metadata = a.Metadata
		case a.Txn != nil:
			c.txns[a.Txn.AppID] = a.Txn
		case a.Domain != nil:
			c.domains[a.Domain.Domain] = a.Domain
		}
	}
	return nil
}

func (c *Compactor) remove(a Action) error {
	key, _, err := resolvePath(c.root, a.Remove.Path)
	if err != nil {
		return err
	}
	id := LogicalFile(key, a.Remove.DeletionVector)
	c.files[id] = a
	if c.live[key] == id {
		delete(c.live, key)
	}
	return nil
}

// add replaces what was live of the file, also under another vector and without a remove.
func (c *Compactor) add(a Action) error {
	key, _, err := resolvePath(c.root, a.Add.Path)
	if err != nil {
		return err
	}
	if old, ok := c.live[key]; ok {
		delete(c.files, old)
	}
	id := LogicalFile(key, a.Add.DeletionVector)
	c.files[id], c.live[key] = a, id
	return nil
}

// Actions are those of the compaction, the same for the same commits.
func (c *Compactor) Actions() []Action {
	var out []Action
	if c.protocol != nil {
		out = append(out, Action{Protocol: c.protocol})
	}
	if c.metadata != nil {
		out = append(out, Action{Metadata: c.metadata})
	}
	for _, app := range slices.Sorted(maps.Keys(c.txns)) {
		out = append(out, Action{Txn: c.txns[app]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.domains)) {
		out = append(out, Action{Domain: c.domains[name]})
	}
	for _, id := range slices.Sorted(maps.Keys(c.files)) {
		out = append(out, c.files[id])
	}
	return out
}

// EncodeActions writes the lines of a compaction: as EncodeCommit, but for the rules that hold
// within one commit only, and in the order given.
func EncodeActions(actions []Action) ([]byte, error) {
	var w writer
	for _, a := range actions {
		w.comma = false
		if err := w.action(a); err != nil {
			return nil, fmt.Errorf("compaction: %w", err)
		}
	}
	return w.b, nil
}

package delta

import (
	"fmt"
)

// validate says what is wrong with an add by itself. Reader and writer call it.
func (a *Add) validate() error {
	switch {
	case a.Path == "":
		return fmt.Errorf("add.path is empty")
	case a.Size < 0:
		return fmt.Errorf("add.size is %d: %s", a.Size, a.Path)
	}
	return nil
}

func (r *Remove) validate() error {
	if r.Path == "" {
		return fmt.Errorf("remove.path is empty")
	}
	return nil
}

// ID is the identity of the vector within its file's (path, ID): "" for none.
func (v *DeletionVector) ID() string {
	switch {
	case v == nil:
		return ""
	case v.Offset == nil:
		return v.StorageType + v.PathOrInlineDV
	}
	return fmt.Sprintf("%s%s@%d", v.StorageType, v.PathOrInlineDV, *v.Offset)
}

// commitRules notices what one commit must not hold twice.
type commitRules struct {
	protocol, metadata bool
	txns, domains      map[string]bool
	adds               map[string]*Add
	removes            map[string]*Remove
}

// checkCommit holds the rules for one commit against its actions, paths by their text. Reader and
// writer call it; a replay looks again at the decoded paths.
func checkCommit(actions []Action) error {
	var c commitRules
	for _, a := range actions {
		if err := c.take(a); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	for path, r := range c.removes {
		if add := c.adds[path]; add != nil && add.DeletionVector.ID() == r.DeletionVector.ID() {
			return fmt.Errorf("%w: one commit adds and removes the same file: %s", ErrCorrupt, path)
		}
	}
	return nil
}

func (c *commitRules) take(a Action) error {
	switch {
	case a.Protocol != nil:
		if c.protocol {
			return fmt.Errorf("two protocol actions in one commit")
		}
		c.protocol = true
	case a.Metadata != nil:
		if c.metadata {
			return fmt.Errorf("two metaData actions in one commit")
		}
		c.metadata = true
	case a.Txn != nil:
		if !first(&c.txns, a.Txn.AppID, true) {
			return fmt.Errorf("two txn actions of the app id %q in one commit", a.Txn.AppID)
		}
	case a.Domain != nil:
		if !first(&c.domains, a.Domain.Domain, true) {
			return fmt.Errorf("two domainMetadata actions of %q in one commit", a.Domain.Domain)
		}
	case a.Add != nil:
		if !first(&c.adds, a.Add.Path, a.Add) {
			return fmt.Errorf("one commit adds a path twice: %s", a.Add.Path)
		}
	case a.Remove != nil:
		if !first(&c.removes, a.Remove.Path, a.Remove) {
			return fmt.Errorf("one commit removes a path twice: %s", a.Remove.Path)
		}
	}
	return nil
}

// first puts a value under a key and is false if one was there.
func first[V any](m *map[string]V, key string, v V) bool {
	if *m == nil {
		*m = map[string]V{}
	}
	if _, twice := (*m)[key]; twice {
		return false
	}
	(*m)[key] = v
	return true
}

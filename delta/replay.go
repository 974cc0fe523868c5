package delta

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// state is what the actions up to a version leave standing. A copy is a fork: trees share.
type state struct {
	root       string // a URL; resolves absolute paths
	protocol   *Protocol
	metadata   *Metadata
	files      tree[*Add]           // live, by key
	tombstones tree[*Remove]        // by key and vector
	txns       tree[Txn]            // by app id
	domains    tree[DomainMetadata] // live, by name
	totals     totals               // of the live files
	elsewhere  tree[*Add]           // live files outside the root
	outside    bool                 // such files may be
	values     *partitionValueInterner

	// info is the commitInfo of the last commit, nil if it has none or was not seen.
	info *CommitInfo
}

// totals are sums over live files.
type totals struct {
	size    int64 // bytes
	vectors int64 // files with a deletion vector
	deleted int64 // rows that these delete
}

func (t *totals) count(a *Add, sign int64) {
	t.size += sign * a.Size
	if a.DeletionVector != nil {
		t.vectors += sign
		t.deleted += sign * a.DeletionVector.Cardinality
	}
}

// LogicalFile is the identity of a logical file: of its key, or of its path where only paths are
// compared, and its deletion vector.
func LogicalFile(key string, v *DeletionVector) string { return key + "\x00" + v.ID() }

// locate gives the key of a file. A file of the log itself is none of the table's data: to take it
// for one would let a vacuum delete the log.
func (t *state) locate(path string) (key string, inside bool, err error) {
	key, inside, err = resolvePath(t.root, path)
	if err == nil && inside && len(key) >= len(LogDir) && key[:len(LogDir)] == LogDir {
		err = fmt.Errorf("%w: the path %q names a file of the log as data", ErrCorrupt, path)
	}
	return key, inside, err
}

// apply folds the actions of one commit, or of a compaction. Their order has no meaning: removes
// come first, then adds.
func (t *state) apply(actions []Action, compaction bool) error {
	var rules commitRules
	for _, a := range actions {
		if a.Remove != nil {
			if err := t.applyRemove(a.Remove, compaction, &rules); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		if a.Add != nil {
			if err := t.applyAdd(a.Add, &rules); err != nil {
				return err
			}
			continue
		}
		if a.Remove == nil {
			if err := t.applyOther(a, &rules); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *state) applyRemove(r *Remove, compaction bool, rules *commitRules) error {
	key, inside, err := t.locate(r.Path)
	if err != nil {
		return err
	}
	identity := LogicalFile(key, r.DeletionVector)
	unique := key
	if compaction { // several vectors of one file may have come and gone
		unique = identity
	}
	if !first(&rules.removes, unique, r) {
		return fmt.Errorf("%w: one commit removes a file twice: %s", ErrCorrupt, r.Path)
	}
	t.putTombstone(key, identity, inside, r)
	if live, ok := t.files.get(key); ok && live.DeletionVector.ID() == r.DeletionVector.ID() {
		t.files = t.files.without(key)
		t.elsewhere = t.elsewhere.without(key)
		t.totals.count(live, -1)
	}
	return nil
}

// putTombstone keeps what a checkpoint keeps of a remove. One outside the root has no key.
func (t *state) putTombstone(key, identity string, inside bool, r *Remove) {
	kept := *r
	kept.Key, kept.Stats, kept.Tags = "", "", nil
	if inside {
		kept.Key = key
	}
	kept.PartitionValues = t.values.share(kept.PartitionValues)
	t.tombstones = t.tombstones.with(identity, &kept)
}

func (t *state) applyAdd(a *Add, rules *commitRules) error {
	key, inside, err := t.locate(a.Path)
	if err != nil {
		return err
	}
	if !first(&rules.adds, key, a) {
		return fmt.Errorf("%w: one commit adds a file twice: %s", ErrCorrupt, a.Path)
	}
	identity := LogicalFile(key, a.DeletionVector)
	if _, removed := rules.removes[identity]; removed {
		return fmt.Errorf("%w: one commit adds and removes the same file: %s", ErrCorrupt, a.Path)
	}
	if r := rules.removes[key]; r != nil && r.DeletionVector.ID() == a.DeletionVector.ID() {
		return fmt.Errorf("%w: one commit adds and removes the same file: %s", ErrCorrupt, a.Path)
	}
	kept := *a
	kept.Key = key
	kept.PartitionValues = t.values.share(kept.PartitionValues)
	if live, ok := t.files.get(key); ok {
		t.totals.count(live, -1)
	}
	t.files = t.files.with(key, &kept)
	if !inside {
		t.elsewhere = t.elsewhere.with(key, &kept)
	}
	t.totals.count(a, 1)
	t.tombstones = t.tombstones.without(identity)
	return nil
}

// applyOther folds all that is not about files. Of txns the last record counts, also a lower one.
func (t *state) applyOther(a Action, rules *commitRules) error {
	if err := rules.take(a); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	switch {
	case a.Protocol != nil:
		t.protocol = a.Protocol
	case a.Metadata != nil:
		t.metadata = a.Metadata
	case a.Txn != nil:
		t.txns = t.txns.with(a.Txn.AppID, *a.Txn)
	case a.Domain != nil && a.Domain.Removed:
		t.domains = t.domains.without(a.Domain.Domain)
	case a.Domain != nil:
		t.domains = t.domains.with(a.Domain.Domain, *a.Domain)
	}
	return nil
}

// partitionValueInterner makes equal partition values one map. The nil interner shares nothing.
type partitionValueInterner struct {
	byText map[string]map[string]*string
	keys   []string
	text   []byte
}

func (p *partitionValueInterner) share(m map[string]*string) map[string]*string {
	if p == nil || m == nil {
		return m
	}
	p.keys = slices.AppendSeq(p.keys[:0], maps.Keys(m))
	slices.Sort(p.keys)
	w := writer{b: p.text[:0]}
	for _, k := range p.keys {
		w.string(k)
		if v := m[k]; v != nil {
			w.string(*v)
		} else {
			w.b = append(w.b, '-')
		}
	}
	p.text = w.b
	if same, ok := p.byText[string(w.b)]; ok {
		return same
	}
	p.byText[string(w.b)] = m
	return m
}

// Replay folds a checkpoint and commits into a Snapshot. It is for one goroutine.
type Replay struct {
	state     state
	loaded    loaded
	sealed    bool        // the checkpoint has ended
	committed bool        // a commit came
	broken    error       // the checkpoint cannot be used: there is no partial state
	next      int64       // the commit that must follow; -1: any, as a checkpoint of unknown version came before
	defined   *definition // of the last snapshot, which the next one shares if it still holds
}

// loaded gathers the files of a checkpoint until the first commit.
type loaded struct {
	any     bool
	version int64 // -1 if nobody said
	adds    []pair[*Add]
	removes []pair[*Remove]
}

// NewReplay starts a replay. root, a URL, resolves absolute paths.
func NewReplay(root string) *Replay {
	values := &partitionValueInterner{byText: map[string]map[string]*string{}}
	return &Replay{state: state{root: root, values: values}, loaded: loaded{version: -1}}
}

// AllowOutside lets live files be outside the table's root, as a shallow clone's are. Their Key is what
// [Locate] gives of them.
func (r *Replay) AllowOutside() { r.state.outside = true }

// CheckpointAt says of which version the checkpoint is: commits must go on from there. Without it
// the first commit after a checkpoint may have any version.
func (r *Replay) CheckpointAt(version int64) {
	r.loaded.any = true
	r.loaded.version = version
}

// Checkpoint takes one action of a checkpoint, all of them before the first commit. The replay
// takes over the action: it completes Add and Remove. Statistics may have been left out, with
// StatsDeferred set. After an error the checkpoint, and with it the replay, is of no use.
func (r *Replay) Checkpoint(a Action) error {
	if r.sealed {
		return fmt.Errorf("replay: a checkpoint's action after a commit")
	}
	if r.broken == nil {
		r.broken = r.load(a)
	}
	return r.broken
}

func (r *Replay) load(a Action) error {
	r.loaded.any = true
	t := &r.state
	switch {
	case a.Add != nil:
		key, inside, err := t.locate(a.Add.Path)
		if err != nil {
			return err
		}
		a.Add.Key = key
		a.Add.PartitionValues = t.values.share(a.Add.PartitionValues)
		r.loaded.adds = append(r.loaded.adds, pair[*Add]{key, a.Add})
		if !inside {
			t.elsewhere = t.elsewhere.with(key, a.Add)
		}
	case a.Remove != nil:
		key, inside, err := t.locate(a.Remove.Path)
		if err != nil {
			return err
		}
		a.Remove.Key, a.Remove.Stats, a.Remove.Tags = "", "", nil
		if inside {
			a.Remove.Key = key
		}
		a.Remove.PartitionValues = t.values.share(a.Remove.PartitionValues)
		r.loaded.removes = append(r.loaded.removes, pair[*Remove]{LogicalFile(key, a.Remove.DeletionVector), a.Remove})
	case a.Protocol != nil && t.protocol != nil, a.Metadata != nil && t.metadata != nil:
		return fmt.Errorf("%w: a checkpoint with two protocol or metaData actions", ErrCorrupt)
	case a.CheckpointMetadata != nil:
		if v := r.loaded.version; v >= 0 && a.CheckpointMetadata.Version != v {
			return fmt.Errorf("%w: the checkpoint of version %d says that it is of version %d", ErrCorrupt, v, a.CheckpointMetadata.Version)
		}
	default:
		return t.applyOther(a, &commitRules{})
	}
	return nil
}

// seal ends the checkpoint: its files become the state.
func (r *Replay) seal() error {
	if r.sealed || r.broken != nil {
		return r.broken
	}
	if r.loaded.any {
		r.next = r.loaded.version + 1
		if r.loaded.version < 0 {
			r.next = -1
		}
	}
	t := &r.state
	adds := r.loaded.adds
	t.tombstones = newTree(r.loaded.removes)
	sortPairs(adds)
	for i, p := range adds { // a file that stands twice counts once
		id := p.value.DeletionVector.ID()
		if i > 0 && adds[i-1].key == p.key && adds[i-1].value.DeletionVector.ID() != id {
			return fmt.Errorf("%w: the checkpoint has a file live under two deletion vectors: %s", ErrCorrupt, p.value.Path)
		}
		if _, removed := t.tombstones.get(LogicalFile(p.key, p.value.DeletionVector)); removed {
			return fmt.Errorf("%w: the checkpoint has a file both live and removed: %s", ErrCorrupt, p.value.Path)
		}
	}
	t.files = newTree(adds)
	for a := range t.files.values() {
		t.totals.count(a, 1)
	}
	r.loaded.adds, r.loaded.removes = nil, nil
	r.sealed = true
	return nil
}

// Commit takes the commit of a version. Versions ascend without a gap, from 0 or from the version
// after the checkpoint's.
func (r *Replay) Commit(version int64, actions []Action) error {
	return r.CommitRange(version, version, actions)
}

// CommitRange takes the actions of a compaction of the commits first to last. A gap wraps ErrCorrupt.
func (r *Replay) CommitRange(first, last int64, actions []Action) error {
	if err := r.seal(); err != nil {
		return err
	}
	if first < 0 || last < first {
		return fmt.Errorf("replay: the range of commits %d to %d", first, last)
	}
	if r.next >= 0 && first != r.next {
		return fmt.Errorf("%w: the log goes on with commit %d where commit %d should be", ErrCorrupt, first, r.next)
	}
	t := r.state
	if err := t.apply(actions, last > first); err != nil {
		return inCommit(first, last, err)
	}
	t.info = InfoOf(actions)
	r.state, r.next, r.committed = t, last+1, true
	return nil
}

func inCommit(first, last int64, err error) error {
	if first == last {
		return fmt.Errorf("commit %d: %w", first, err)
	}
	return fmt.Errorf("compaction of commits %d to %d: %w", first, last, err)
}

// Snapshot is the table at the version that the replay has reached: the last commit's, or the
// checkpoint's. A protocol and a metadata must stand, else it wraps ErrCorrupt; a live file outside
// the table's root wraps ErrUnsupported, without AllowOutside. It does not gate, but where the schema cannot be read it
// gives the gate's reason, if there is one. The replay may go on afterwards.
func (r *Replay) Snapshot(version int64) (*Snapshot, error) {
	if err := r.seal(); err != nil {
		return nil, err
	}
	switch {
	case !r.loaded.any && !r.committed:
		return nil, fmt.Errorf("%w: a log without a commit", ErrNotTable)
	case r.next >= 0 && version != r.next-1:
		return nil, fmt.Errorf("%w: the log ends at version %d, not at %d", ErrCorrupt, r.next-1, version)
	}
	snap, err := newSnapshot(version, r.state, r.defined)
	if err != nil {
		return nil, err
	}
	r.defined = snap.definition
	return snap, nil
}

// newSnapshot completes a state. old is the definition that held before, which is shared if it still holds.
func newSnapshot(version int64, t state, old *definition) (*Snapshot, error) {
	switch {
	case t.protocol == nil:
		return nil, fmt.Errorf("%w: version %d has no protocol", ErrCorrupt, version)
	case t.metadata == nil:
		return nil, fmt.Errorf("%w: version %d has no metaData", ErrCorrupt, version)
	}
	t.values = nil
	d, err := define(t.metadata, old)
	if err != nil {
		if gate := gateReader(t.protocol, t.metadata, nil); errors.Is(gate, ErrUnsupported) {
			return nil, gate
		}
		return nil, fmt.Errorf("the metaData of version %d: %w", version, err)
	}
	d.remap(t.protocol, t.metadata)
	if !t.outside {
		for a := range t.elsewhere.values() {
			return nil, fmt.Errorf("%w: the table has files outside its root, as a shallow clone has: %s: %s", ErrUnsupported, a.Path, outsideAdvice)
		}
	}
	return &Snapshot{version: version, state: t, definition: d}, nil
}

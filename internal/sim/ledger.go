package sim

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/tabletest"
)

// ledger is the log as an outsider reads it, version by version, beside the model.
type ledger struct {
	w       *world
	ctx     context.Context
	store   everything  // with all that was deleted since
	bytes   [][]byte    // of each commit
	at      []time.Time // when it landed
	snaps   []*delta.Snapshot
	states  []*state // after each version
	by      []*call  // who made each version
	byTxn   map[string]int64
	callsOf map[string]*call
	rows    tabletest.Rows // of the newest version, from its files
	files   *files
	ids     map[int64]int64   // row ids of the newest version, by the key of the row
	numbers []map[int64]int64 // what the identity column of each version says, by the key
	since   int               // how many deletions were looked at
}

func newLedger(w *world) *ledger {
	l := &ledger{w: w, ctx: w.context(), store: w.truth.everything(), byTxn: map[string]int64{}, rows: tabletest.Rows{}}
	l.files = &files{l: l, live: map[string]*contents{}, known: map[string]*contents{}}
	return l
}

// extend reads the commits that came since. An error is a rule broken.
func (l *ledger) extend() error {
	l.callsOf = map[string]*call{}
	for _, c := range l.w.calls {
		for _, id := range c.txnIDs {
			l.callsOf[id] = c
		}
	}
	for v, was := range l.bytes {
		if !bytes.Equal(l.w.truth.landed[int64(v)].data, was) {
			return fmt.Errorf("version %d is not what it was", v)
		}
	}
	for l.w.has(int64(len(l.bytes))) {
		if err := l.take(int64(len(l.bytes))); err != nil {
			return fmt.Errorf("version %d: %w", len(l.bytes), err)
		}
	}
	for v := range l.w.truth.landed {
		if v >= int64(len(l.bytes)) {
			return fmt.Errorf("version %d is there and version %d is not", v, len(l.bytes))
		}
	}
	return nil
}

// take reads one commit, and holds it against the model.
func (l *ledger) take(v int64) error {
	landed := l.w.truth.landed[v]
	actions, err := delta.DecodeCommit(delta.CommitKey(v), landed.data)
	if err != nil {
		return err
	}
	c, err := l.author(v, landed.data)
	if err != nil {
		return err
	}
	snap, err := l.advance(v, actions)
	if err != nil {
		return err
	}
	if err := l.files.take(actions, snap); err != nil {
		return err
	}
	s, err := l.model(c, snap, actions)
	if err != nil {
		return err
	}
	if l.ids, err = l.identified(c, "row id", l.ids, snap.TracksRows(), func(f *contents) map[int64]int64 { return f.ids }); err != nil {
		return err
	}
	numbers, err := l.identified(c, "number", l.numbered(v-1), l.w.plan.makes, func(f *contents) map[int64]int64 { return f.numbers })
	if err != nil {
		return err
	}
	l.bytes, l.at, l.snaps = append(l.bytes, landed.data), append(l.at, landed.at), append(l.snaps, snap)
	l.numbers = append(l.numbers, numbers)
	l.states, l.by = append(l.states, s), append(l.by, c)
	return nil
}

// numbered gives the numbers of the rows of a version, by key; none of the one before the first.
func (l *ledger) numbered(v int64) map[int64]int64 {
	if v < 0 {
		return nil
	}
	return l.numbers[v]
}

// author finds the call that made a version.
func (l *ledger) author(v int64, data []byte) (*call, error) {
	id := delta.TxnID(data)
	if c := l.w.strangers[v]; c != nil && id == "" {
		return c, nil
	}
	if first, twice := l.byTxn[id]; twice {
		return nil, fmt.Errorf("transaction %s is in version %d already: the work was committed twice", id, first)
	}
	c := l.callsOf[id]
	if c == nil {
		return nil, fmt.Errorf("transaction %q is no call's", id)
	}
	l.byTxn[id] = v
	return c, nil
}

func (l *ledger) advance(v int64, actions []delta.Action) (*delta.Snapshot, error) {
	if v > 0 {
		return l.snaps[v-1].Advance(v, actions)
	}
	r := delta.NewReplay(l.w.truth.URL())
	if err := r.Commit(0, actions); err != nil {
		return nil, err
	}
	return r.Snapshot(0)
}

// model does the call's job on the model of the version before, and compares.
func (l *ledger) model(c *call, snap *delta.Snapshot, actions []delta.Action) (*state, error) {
	s := newState()
	if n := len(l.states); n > 0 {
		s = l.states[n-1].clone()
	}
	switch stands := s.standing(c.job.tag); {
	case stands == notApplied, stands == restored && c.reapply:
	default:
		return nil, fmt.Errorf("call %d (%s) commits: it has a tag that %s", c.n, c.job.kind, s.tell(c.job.tag))
	}
	if c.job.kind == restore && c.job.to >= int64(len(l.states)) {
		return nil, fmt.Errorf("call %d restores a version that is to come: version %d", c.n, c.job.to)
	}
	c.job.apply(s, l.states)
	if !maps.Equal(s.Rows, l.rows) {
		return nil, fmt.Errorf("after call %d (%s): the rows are not the model's\n%s\n%s", c.n, c.job.kind, s.Rows.Diff(l.rows), c.job)
	}
	return s, l.definition(s, c, snap, actions)
}

// definition compares all but the rows.
func (l *ledger) definition(s *state, c *call, snap *delta.Snapshot, actions []delta.Action) error {
	tags := map[string]int64{}
	for x := range snap.Txns() {
		if !strings.HasPrefix(x.AppID, "idem/v1/") { // what travels beside a tag
			tags[x.AppID] = x.Version
		}
	}
	if !maps.Equal(tags, s.Tags) {
		return fmt.Errorf("after call %d (%s): the tags are not the model's\nthey stand at %v, not at %v", c.n, c.job.kind, tags, s.Tags)
	}
	var columns []string
	for _, f := range snap.Schema().Fields[len(tabletest.Schema.Fields()):] {
		if f.Name != numberColumn && f.Name != sumColumn {
			columns = append(columns, f.Name)
		}
	}
	if !slices.Equal(columns, s.columns) {
		return fmt.Errorf("after call %d (%s): the columns are not the model's\nadded are %v, not %v", c.n, c.job.kind, columns, s.columns)
	}
	props := map[string]string{}
	for k, v := range snap.Metadata().Configuration {
		if strings.HasPrefix(k, "sim.") {
			props[k] = v
		}
	}
	if !maps.Equal(props, s.props) {
		return fmt.Errorf("after call %d (%s): the properties are not the model's\nthey are %v, not %v", c.n, c.job.kind, props, s.props)
	}
	return l.undone(s, snap, c)
}

// undone holds the records of what restores took back, which outlive the log, against the model.
func (l *ledger) undone(s *state, snap *delta.Snapshot, c *call) error {
	for app, v := range s.Tags {
		undone, has := snap.Txn("idem/v1/undone/" + app)
		believed := v
		if has {
			believed = min(v, undone.Version)
		}
		if believed != s.inEffect(app) && !l.shared(app) {
			return fmt.Errorf("after call %d (%s): a tag that was taken back is not told by its record\n%s; the record says %d",
				c.n, c.job.kind, s.tell(idem.Txn{AppID: app, Version: v}), believed)
		}
	}
	return nil
}

// shared says whether a foreign writer, which knows of no such records, has the tag, too. In the log its
// tags are found right; once they are cleaned away one that was taken back before counts as taken back
// still, and a call with it is an error.
func (l *ledger) shared(app string) bool {
	for _, c := range l.w.calls {
		if c.job.kind == foreign && c.job.app == app {
			return true
		}
	}
	return false
}

// newest is the newest version that was read.
func (l *ledger) newest() int64 { return int64(len(l.bytes)) - 1 }

// landed are the versions that a call committed, in order.
func (l *ledger) landed(c *call) []int64 {
	var out []int64
	for _, id := range c.txnIDs {
		if v, ok := l.byTxn[id]; ok {
			out = append(out, v)
		}
	}
	if c.job.kind == foreign {
		for v, by := range l.by {
			if by == c {
				out = append(out, int64(v))
			}
		}
	}
	slices.Sort(out)
	return out
}

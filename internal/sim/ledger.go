package sim

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/tabletest"
)

// ledger is the log as an outsider reads it, version by version, beside the model.
type ledger struct {
	w       *world
	ctx     context.Context
	bytes   [][]byte // of each commit
	snaps   []*delta.Snapshot
	models  []*tabletest.Model // after each version
	byTxn   map[string]int64
	callsOf map[string]*call
	rows    tabletest.Rows            // of the newest version, from its files
	files   map[string]tabletest.Rows // live ones, by path
}

func newLedger(w *world) *ledger {
	return &ledger{
		w: w, ctx: tabletest.Codec(context.Background()), byTxn: map[string]int64{},
		rows: tabletest.Rows{}, files: map[string]tabletest.Rows{},
	}
}

// extend reads the commits that came since. An error is a rule broken.
func (l *ledger) extend() error {
	l.callsOf = map[string]*call{}
	for _, c := range l.w.calls {
		if c.txnID != "" {
			l.callsOf[c.txnID] = c
		}
	}
	for v, was := range l.bytes {
		data, err := l.w.mem.Get(l.ctx, delta.CommitKey(int64(v)), 0)
		if err != nil || !bytes.Equal(data, was) {
			return fmt.Errorf("version %d is not what it was (%v)", v, err)
		}
	}
	for l.w.has(int64(len(l.bytes))) {
		if err := l.take(int64(len(l.bytes))); err != nil {
			return fmt.Errorf("version %d: %w", len(l.bytes), err)
		}
	}
	return l.contiguous()
}

func (l *ledger) contiguous() error {
	for info, err := range l.w.mem.List(l.ctx, delta.LogDir, "") {
		if err != nil {
			return err
		}
		f := logFile(info.Key)
		if f.Kind == delta.Commit && f.Version >= int64(len(l.bytes)) {
			return fmt.Errorf("version %d is there and version %d is not", f.Version, len(l.bytes))
		}
	}
	return nil
}

// take reads one commit, and holds it against the model.
func (l *ledger) take(v int64) error {
	data, err := l.w.mem.Get(l.ctx, delta.CommitKey(v), 0)
	if err != nil {
		return err
	}
	actions, err := delta.DecodeCommit(delta.CommitKey(v), data)
	if err != nil {
		return err
	}
	id := delta.TxnID(data)
	if first, twice := l.byTxn[id]; twice {
		return fmt.Errorf("transaction %s is in version %d already: the work was committed twice", id, first)
	}
	c := l.callsOf[id]
	if c == nil {
		return fmt.Errorf("transaction %q is no call's", id)
	}
	snap, err := l.advance(v, actions)
	if err != nil {
		return err
	}
	if err := l.takeFiles(actions, snap); err != nil {
		return err
	}
	model, err := l.model(c, snap)
	if err != nil {
		return err
	}
	l.bytes, l.snaps, l.models = append(l.bytes, data), append(l.snaps, snap), append(l.models, model)
	l.byTxn[id] = v
	return nil
}

func (l *ledger) advance(v int64, actions []delta.Action) (*delta.Snapshot, error) {
	if v > 0 {
		return l.snaps[v-1].Advance(v, actions)
	}
	r := delta.NewReplay(l.w.mem.URL())
	if err := r.Commit(0, actions); err != nil {
		return nil, err
	}
	return r.Snapshot(0)
}

// takeFiles follows the rows of the table through the files that a commit names.
func (l *ledger) takeFiles(actions []delta.Action, snap *delta.Snapshot) error {
	for _, a := range actions {
		if a.Remove != nil {
			if err := l.remove(a.Remove.Path); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		if a.Add != nil {
			if err := l.add(snap, a.Add); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *ledger) remove(path string) error {
	rows, live := l.files[path]
	if !live {
		return fmt.Errorf("file %s is removed and was not live", path)
	}
	for r, n := range rows {
		if l.rows[r] -= n; l.rows[r] == 0 {
			delete(l.rows, r)
		}
	}
	delete(l.files, path)
	return nil
}

func (l *ledger) add(snap *delta.Snapshot, add *delta.Add) error {
	if _, live := l.files[add.Path]; live {
		return fmt.Errorf("file %s is added twice", add.Path)
	}
	rows, err := l.read(snap, add)
	if err != nil {
		return fmt.Errorf("file %s: %w", add.Path, err)
	}
	for r, n := range rows {
		l.rows[r] += n
	}
	l.files[add.Path] = rows
	return nil
}

// read reads a data file, of which day may stand in the log only.
func (l *ledger) read(snap *delta.Snapshot, add *delta.Add) (tabletest.Rows, error) {
	key, err := delta.ResolvePath(l.w.mem.URL(), add.Path)
	if err != nil {
		return nil, err
	}
	r, err := tabletest.Stub{}.Open(l.ctx, parquetio.Object(l.ctx, l.w.mem, key, add.Size), parquetio.ReadOptions{})
	if err != nil {
		return nil, err
	}
	rows := tabletest.Rows{}
	for b, err := range r.Batches(l.ctx, tabletest.Schema) {
		if err != nil {
			return nil, err
		}
		if err := rows.AddBatch(b); err != nil {
			return nil, err
		}
	}
	if len(snap.PartitionColumns()) == 0 {
		return rows, nil
	}
	day, err := snap.PartitionValue(add, "day")
	if err != nil {
		return nil, err
	}
	placed := make(tabletest.Rows, len(rows))
	for r, n := range rows {
		if day != nil {
			r.Day = *day
		}
		placed[r] += n
	}
	return placed, nil
}

// model does the call's job on the model of the version before, and compares.
func (l *ledger) model(c *call, snap *delta.Snapshot) (*tabletest.Model, error) {
	m := tabletest.NewModel()
	if n := len(l.models); n > 0 {
		m = l.models[n-1].Clone()
	}
	if tag := c.job.tag; tag.AppID != "" && m.Recorded(tag.AppID) >= tag.Version {
		return nil, fmt.Errorf("call %d (%s) commits %s@%d though %d is recorded", c.n, c.job.kind, tag.AppID, tag.Version, m.Recorded(tag.AppID))
	}
	c.job.apply(m)
	if !maps.Equal(m.Rows, l.rows) {
		return nil, fmt.Errorf("after call %d (%s) the rows are not the model's:\n%s", c.n, c.job, m.Rows.Diff(l.rows))
	}
	tags := map[string]int64{}
	for x := range snap.Txns() {
		if !strings.HasPrefix(x.AppID, "idem/v1/") { // what travels beside a tag
			tags[x.AppID] = x.Version
		}
	}
	if !maps.Equal(tags, m.Tags) {
		return nil, fmt.Errorf("after call %d (%s) the tags stand at %v, not at %v", c.n, c.job.kind, tags, m.Tags)
	}
	return m, nil
}

// newest is the newest version that was read.
func (l *ledger) newest() int64 { return int64(len(l.bytes)) - 1 }

// filesExist says whether every file that a commit ever added is still there: nobody may delete one.
func (l *ledger) filesExist() error {
	for v, data := range l.bytes {
		actions, err := delta.DecodeCommit(delta.CommitKey(int64(v)), data)
		if err != nil {
			return err
		}
		for _, a := range actions {
			if a.Add == nil {
				continue
			}
			if key, err := delta.ResolvePath(l.w.mem.URL(), a.Add.Path); err != nil {
				return err
			} else if info, err := l.w.mem.Head(l.ctx, key); err != nil || info.Size != a.Add.Size {
				return fmt.Errorf("version %d: file %s is gone or has another size: %v", v, key, err)
			}
		}
	}
	return nil
}

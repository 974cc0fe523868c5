package smallscope

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/tabletest"
)

// version is one version of a log, with what the table should hold and was seen to hold there. Logs
// with one beginning share it.
type version struct {
	before *version
	object *object
	number int64
	model  model
	snap   *delta.Snapshot
	err    error // the rule that this version breaks
	next   map[uint64]*version

	unneeded *[]string // see checks.unneeded; nil: not asked for yet
}

// at is an earlier version.
func (v *version) at(number int64) *version {
	for v != nil && v.number > number {
		v = v.before
	}
	return v
}

// first is the newest version of the table that the pair begins with.
func (c *checks) first() (*version, error) {
	var v *version
	r := delta.NewReplay("mem:///")
	for i, o := range c.x.base.whole.commits {
		actions, err := delta.DecodeCommit(o.key, o.data)
		if err == nil {
			err = r.Commit(int64(i), actions)
		}
		if err != nil {
			return nil, err
		}
		v = &version{before: v, object: o, number: int64(i), model: c.x.base.models[i], next: map[uint64]*version{}}
	}
	var err error
	v.snap, err = r.Snapshot(v.number)
	return v, err
}

// log is the newest version of what was committed, each version compared with its model.
func (c *checks) log(d *disk) (*version, error) {
	v := c.base
	for _, o := range d.commits[c.base.number+1:] {
		if n := commitVersion(o.key); n != v.number+1 {
			return nil, fmt.Errorf("version %d comes after version %d", n, v.number)
		}
		key := c.content(d, o)
		next := v.next[key]
		if next == nil {
			next = &version{before: v, object: o, number: v.number + 1, next: map[uint64]*version{}}
			next.err = c.follow(d, v, next)
			v.next[key] = next
			c.logs++
		}
		if next.err != nil {
			return nil, fmt.Errorf("version %d, %s: %w", next.number, c.whose(o.by), next.err)
		}
		v = next
	}
	return v, nil
}

// content tells a commit from others by its bytes and by those of the files that it names, whose names
// may be the same.
func (c *checks) content(d *disk, commit *object) uint64 {
	keys, known := c.names[commit.sum]
	if !known {
		if actions, err := delta.DecodeCommit(commit.key, commit.data); err == nil {
			keys = named(actions)
		}
		c.names[commit.sum] = keys
	}
	sum := commit.sum
	for _, key := range keys {
		if o := d.ever(key); o != nil {
			sum = mix(sum, o.sum)
		}
	}
	return sum
}

// named are the keys of the files that a commit adds.
func named(actions []delta.Action) (keys []string) {
	for _, a := range actions {
		if a.Add == nil {
			continue
		}
		if key, err := delta.ResolvePath("mem:///", a.Add.Path); err == nil {
			keys = append(keys, key)
		}
		if v := a.Add.DeletionVector; v != nil && v.StorageType != "i" {
			if key, _, err := v.FileKey("mem:///"); err == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// whose says whose a commit is.
func (c *checks) whose(by author) string {
	text := fmt.Sprintf("%s of writer %d", c.x.jobs[by.writer].op, by.writer+1)
	if by.life > 0 {
		text += fmt.Sprintf(", started again %d times", by.life)
	}
	return text
}

// follow holds a commit against the model of its call.
func (c *checks) follow(d *disk, v, next *version) error {
	j := c.x.jobs[next.object.by.writer]
	for at := v; at != nil; at = at.before {
		if delta.TxnID(at.object.data) == delta.TxnID(next.object.data) {
			return fmt.Errorf("its transaction is in version %d already", at.number)
		}
	}
	if tag := j.tag; tag.AppID != "" && v.model.Recorded(tag.AppID) >= tag.Version {
		return fmt.Errorf("it commits %s@%d though %d is recorded", tag.AppID, tag.Version, v.model.Recorded(tag.AppID))
	}
	actions, err := delta.DecodeCommit(next.object.key, next.object.data)
	if err != nil {
		return err
	}
	if next.snap, err = v.snap.Advance(next.number, actions); err != nil {
		return err
	}
	next.model = j.apply(v.model, &v.at(restoredTo).model)
	got, err := c.scan(d, next)
	if err != nil {
		return err
	}
	return next.compare(got)
}

// compare holds what a version has against its model.
func (v *version) compare(got tabletest.Rows) error {
	if !maps.Equal(v.model.Rows, got) {
		return fmt.Errorf("the rows are not the model's:\n%s", v.model.Rows.Diff(got))
	}
	if note := v.snap.ArrowSchema().HasField("note"); note != v.model.note {
		return fmt.Errorf("the column note is there: %t, in the model: %t", note, v.model.note)
	}
	tags := map[string]int64{}
	for x := range v.snap.Txns() {
		if !strings.HasPrefix(x.AppID, "idem/v1/") { // what travels beside a tag
			tags[x.AppID] = x.Version
		}
	}
	if !maps.Equal(tags, v.model.Tags) {
		return fmt.Errorf("the tags stand at %v, not at %v", tags, v.model.Tags)
	}
	return nil
}

// scan reads a version in a store that has its commits and its files, also those deleted since.
func (c *checks) scan(d *disk, v *version) (tabletest.Rows, error) {
	var all []*object
	for f := range v.snap.Files() {
		keys := []string{f.Key}
		if d := f.DeletionVector; d != nil && d.StorageType != "i" {
			key, _, err := d.FileKey("mem:///")
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
		for _, key := range keys {
			o := d.ever(key)
			if o == nil {
				return nil, fmt.Errorf("nobody wrote the file %s", key)
			}
			all = append(all, o)
		}
	}
	for at := v; at != nil; at = at.before {
		all = append(all, at.object)
	}
	m, err := memOf(all, func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	ctx := tabletest.Codec(context.Background())
	t, err := idem.OpenStore(ctx, m, tabletest.Options(7, tabletest.NewClock()))
	if err != nil {
		return nil, err
	}
	return tabletest.Scan(ctx, t)
}

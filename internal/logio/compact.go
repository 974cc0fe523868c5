package logio

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// Compact writes the log compaction of the commits first to last, which readers may take instead of
// these: the commits stay. One that is there already stays as it is. Commits that are not there,
// or of which no table can be made, are delta.ErrInput; a range in which the table needs a feature
// that idem does not write is delta.ErrUnsupported, since state that idem does not know would be
// lost.
func (l *Log) Compact(ctx context.Context, first, last int64) error {
	if err := l.compact(ctx, first, last); err != nil {
		return fmt.Errorf("compact commits %d to %d: %w", first, last, err)
	}
	return nil
}

func (l *Log) compact(ctx context.Context, first, last int64) error {
	switch {
	case l.opts.ReadOnly:
		return errReadOnly
	case first < 0 || last <= first:
		return fmt.Errorf("a compaction is of two commits or more, in their order: %w", delta.ErrInput)
	}
	if _, err := l.st.Head(ctx, delta.CommitKey(last)); errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("the log has no version %d: %w", last, delta.ErrInput)
	} else if err != nil {
		return err
	}
	c := delta.NewCompactor(l.st.URL())
	if err := l.eachWritable(ctx, first, last, c.Commit); err != nil {
		return err
	}
	data, err := delta.EncodeActions(c.Actions())
	if err != nil {
		return err
	}
	if err := l.st.PutIfAbsent(ctx, delta.CompactionKey(first, last), data); err != nil && !errors.Is(err, store.ErrExist) {
		return err
	}
	return nil
}

// eachWritable calls f with the commits first to last if idem writes the table in each of them, and
// if each says what it replaces.
func (l *Log) eachWritable(ctx context.Context, first, last int64, f func([]delta.Action) error) error {
	before := first - 1
	if first == 0 {
		before = 0
	}
	snap, err := l.LoadAt(ctx, before)
	switch {
	case err != nil && before < first:
		return fmt.Errorf("version %d, which tells what commit %d replaces, cannot be made any more; begin later: %w", before, first, err)
	case err != nil:
		return err
	}
	if err := gateWrite(snap); err != nil {
		return err
	}
	err = l.ReadCommits(ctx, first, last, func(v int64, actions []delta.Action) error {
		if v == 0 {
			return f(actions)
		}
		if path := replacedInSilence(l.st.URL(), snap, actions); path != "" {
			return fmt.Errorf("commit %d adds %s with another deletion vector and does not remove it with the one it has: %w", v, path, delta.ErrCorrupt)
		}
		next, err := Advance(snap, v, actions)
		if err != nil {
			return err
		}
		if next.Protocol() != snap.Protocol() || next.Metadata() != snap.Metadata() {
			if err := gateWrite(next); err != nil {
				return fmt.Errorf("version %d: %w", v, err)
			}
		}
		snap = next
		return f(actions)
	})
	if errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("%w: %w", delta.ErrInput, err)
	}
	return err
}

func gateWrite(snap *delta.Snapshot) error {
	return delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema())
}

// replacedInSilence is the path of a file that a commit adds under another deletion vector than it
// is live under, without a remove of that: once it is folded into a compaction nobody could tell
// that the old one ended. "" if there is none.
func replacedInSilence(root string, snap *delta.Snapshot, actions []delta.Action) string {
	removed := map[string]bool{}
	for _, a := range actions {
		if a.Remove != nil {
			key, _ := delta.Locate(root, a.Remove.Path)
			removed[key+"\x00"+a.Remove.DeletionVector.ID()] = true
		}
	}
	for _, a := range actions {
		if a.Add == nil {
			continue
		}
		key, _ := delta.Locate(root, a.Add.Path)
		live, ok := snap.Live(key)
		if ok && live.DeletionVector.ID() != a.Add.DeletionVector.ID() && !removed[key+"\x00"+live.DeletionVector.ID()] {
			return a.Add.Path
		}
	}
	return ""
}

package logio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// FreshFor is how long a version that was seen to be the newest is taken to be still in the log.
// After it, a missing next version may as well have been cleaned away, and a list is needed.
const FreshFor = 10 * time.Minute

// Refresh gives the newest snapshot, reading only the commits that prev lacks: one by one until
// one is absent if prev was the newest a short while ago, else with one list. nil is a Load, and so is a
// table that is not the one that prev is of.
func (l *Log) Refresh(ctx context.Context, prev *delta.Snapshot) (*delta.Snapshot, error) {
	if prev == nil {
		return l.Load(ctx)
	}
	began := l.opts.Clock.Now()
	read := l.advanceByList
	if l.SeenWithin(prev.Version(), FreshFor) {
		read = l.walk
	}
	snap, err := read(ctx, prev)
	same, unseen := l.Same(ctx, prev) // asked last: what was read before is of the log that is there now
	switch {
	case unseen == nil && !same, errors.Is(err, errMoved), errors.Is(err, delta.ErrUnsupported): // what a version between needs may be gone since
		return l.Load(ctx)
	case err != nil || unseen != nil:
		return nil, fmt.Errorf("refresh the table from version %d: %w", prev.Version(), cmp.Or(err, unseen))
	}
	l.Saw(snap, began)
	return snap, nil
}

func (l *Log) walk(ctx context.Context, snap *delta.Snapshot) (*delta.Snapshot, error) {
	for {
		actions, _, err := l.ReadCommit(ctx, snap.Version()+1)
		if errors.Is(err, store.ErrNotExist) {
			return snap, nil
		}
		if err != nil {
			return nil, err
		}
		if snap, err = Advance(snap, snap.Version()+1, actions); err != nil {
			return nil, err
		}
	}
}

func (l *Log) advanceByList(ctx context.Context, snap *delta.Snapshot) (*delta.Snapshot, error) {
	tail, err := l.Tail(ctx, snap.Version())
	if err != nil {
		return nil, err
	}
	if !tail.Whole {
		return nil, errMoved
	}
	err = l.ReadCommits(ctx, snap.Version()+1, tail.Last, func(v int64, actions []delta.Action) error {
		snap, err = Advance(snap, v, actions)
		return err
	})
	if errors.Is(err, store.ErrNotExist) {
		return nil, errMoved
	}
	return snap, err
}

// Advance applies the next commit to a snapshot and checks that the table can still be read.
func Advance(snap *delta.Snapshot, version int64, actions []delta.Action) (*delta.Snapshot, error) {
	next, err := snap.Advance(version, actions)
	if err != nil {
		return nil, err
	}
	if next.Protocol() != snap.Protocol() || next.Metadata() != snap.Metadata() {
		if err := gateRead(next); err != nil {
			return nil, fmt.Errorf("version %d: %w", version, err)
		}
	}
	return next, nil
}

// TailInfo is what the end of the log looks like from a version on.
type TailInfo struct {
	// Last is the newest version with a commit or a checkpoint, at least the version asked for
	// minus one, -1 if the log is empty.
	Last int64

	// Has says whether the commit of the version asked for is there, HasNext that of the next one.
	Has, HasNext bool

	// Whole says that the commit of the version asked for, or a checkpoint of it, and every commit
	// after it up to Last are there: nothing was cleaned away, and it is the log that was read.
	Whole bool
}

// Tail lists the log from a version on.
func (l *Log) Tail(ctx context.Context, version int64) (TailInfo, error) {
	ls, err := l.list(ctx, version)
	if err != nil {
		return TailInfo{}, err
	}
	t := TailInfo{Last: ls.newest()}
	_, t.Has = ls.commits[version]
	_, t.HasNext = ls.commits[version+1]
	base := t.Has
	for _, c := range ls.checkpoints {
		base = base || c.version == version
	}
	_, gap := ls.missing(version+1, t.Last)
	t.Whole = base && !gap
	if t.Last < 0 && version > 0 {
		t.Last = version - 1
	}
	return t, nil
}

// modTimes are the times of the commit files of a list, made to ascend: that of a version is at
// least a millisecond after that of the one before.
func (ls *listing) modTimes(first, last int64) []time.Time {
	times := make([]time.Time, 0, last-first+1)
	for i := range last - first + 1 {
		at := ls.commits[first+i].ModTime.Truncate(time.Millisecond)
		if n := len(times); n > 0 && !at.After(times[n-1]) {
			at = times[n-1].Add(time.Millisecond)
		}
		times = append(times, at.UTC())
	}
	return times
}

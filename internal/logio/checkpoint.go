package logio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// Checkpoint writes a checkpoint of a snapshot, and then the hint. It is a V2 checkpoint in a table
// that asks for them by delta.checkpointPolicy, but for every tenth, which is a classic one: clients
// that know no other then see the protocol and not an old table. A classic checkpoint that somebody
// else wrote for the version is left as it is. The commit of the version must be durable. It is
// refused for a table that idem cannot write, and the hint is not written if the files counted while
// writing are not those of the snapshot.
func (l *Log) Checkpoint(ctx context.Context, snap *delta.Snapshot, now time.Time) error {
	if l.opts.ReadOnly {
		return fmt.Errorf("checkpoint of version %d: %w", snap.Version(), errReadOnly)
	}
	if err := l.checkpoint(ctx, snap, now); err != nil {
		return fmt.Errorf("checkpoint of version %d: %w", snap.Version(), err)
	}
	return nil
}

// classicEvery is how many checkpoints of a table that asks for V2 come with one classic one.
const classicEvery = 10

func (l *Log) checkpoint(ctx context.Context, snap *delta.Snapshot, now time.Time) error {
	if err := gateWrite(snap); err != nil {
		return err
	}
	write := l.writeClassic
	if snap.CheckpointsV2() && snap.Version()/snap.CheckpointInterval()%classicEvery != classicEvery-1 {
		write = l.writeV2
	}
	hint, err := write(ctx, l.source(ctx, snap, now))
	if err != nil {
		return err
	}
	if err := l.st.Put(ctx, delta.LastCheckpointKey, hint.Encode()); err != nil {
		return fmt.Errorf("hint: %w", err)
	}
	return nil
}

func (l *Log) writeClassic(ctx context.Context, s *checkpointSource) (delta.LastCheckpoint, error) {
	var buf bytes.Buffer
	rows, adds, err := parquetio.From(ctx).WriteCheckpoint(&buf, s.actions(), s.layout)
	if err == nil {
		err = s.check(rows, adds)
	}
	if err != nil {
		return delta.LastCheckpoint{}, err
	}
	key := delta.CheckpointKey(s.snap.Version())
	hint := delta.LastCheckpoint{Version: s.snap.Version(), Size: rows, SizeInBytes: int64(buf.Len()), NumOfAddFiles: adds}
	err = l.st.PutIfAbsent(ctx, key, buf.Bytes())
	if errors.Is(err, store.ErrExist) {
		info, err := l.st.Head(ctx, key)
		hint.SizeInBytes = info.Size
		return hint, err
	}
	return hint, err
}

// checkpointSource yields the actions of a checkpoint. Files whose statistics the snapshot did not
// keep come last, as the older checkpoint is read again: all statistics at once would not fit.
type checkpointSource struct {
	ctx     context.Context
	l       *Log
	snap    *delta.Snapshot
	now     time.Time
	layout  parquetio.CheckpointLayout
	untold  bool // statistics are wanted in no form
	yielded int64
	err     error
}

func (l *Log) source(ctx context.Context, snap *delta.Snapshot, now time.Time) *checkpointSource {
	s := &checkpointSource{ctx: ctx, l: l, snap: snap, now: now}
	text, typed := snap.CheckpointStats()
	s.layout.SkipText, s.untold = typed && !text, !typed && !text
	if typed {
		s.layout.Typed = snap.TypedColumns()
	}
	return s
}

// check holds what was counted while writing against the snapshot.
func (s *checkpointSource) check(rows, adds int64) error {
	if s.err != nil {
		return s.err
	}
	if adds != int64(s.snap.NumFiles()) || rows != s.yielded {
		return fmt.Errorf("%d files in %d of %d actions were written, the table has %d files: the checkpoint is not used",
			adds, rows, s.yielded, s.snap.NumFiles())
	}
	return nil
}

func (s *checkpointSource) actions() iter.Seq[delta.Action] {
	return func(yield func(delta.Action) bool) {
		emit := func(a delta.Action) bool {
			s.yielded++
			return yield(a)
		}
		deferred := make(map[string]*delta.Add)
		if s.untold {
			emit = withoutStats(emit)
		}
		for a := range s.snap.CheckpointActions(s.now) {
			if a.Add != nil && a.Add.StatsDeferred && a.Add.Stats == "" {
				deferred[logicalFile(a.Add)] = a.Add
				continue
			}
			if !emit(a) {
				return
			}
		}
		if len(deferred) > 0 {
			s.completeDeferred(deferred, emit)
		}
	}
}

// withoutStats leaves statistics out, but for files with a deletion vector: without the number of
// their rows nobody could count those that are left.
func withoutStats(emit func(delta.Action) bool) func(delta.Action) bool {
	return func(a delta.Action) bool {
		if a.Add != nil && a.Add.DeletionVector == nil {
			bare := *a.Add
			bare.Stats = ""
			a.Add = &bare
		}
		return emit(a)
	}
}

func (s *checkpointSource) completeDeferred(deferred map[string]*delta.Add, emit func(delta.Action) bool) {
	stopped := false
	s.err = s.l.readDeferred(s.ctx, s.snap, func(a *delta.Add) error {
		id := logicalFile(a)
		live, ok := deferred[id]
		if !ok {
			return nil
		}
		delete(deferred, id)
		complete := *live
		complete.Stats, complete.StatsDeferred = a.Stats, false
		stopped = !emit(delta.Action{Add: &complete})
		if stopped || len(deferred) == 0 {
			return errEnough
		}
		return nil
	})
	if s.err == nil && !stopped && len(deferred) > 0 {
		// Written without them, the checkpoint would be where they are lost for good: their commits go.
		s.err = fmt.Errorf("the checkpoint that has the statistics of %d files cannot be read any more: open the table anew", len(deferred))
	}
}

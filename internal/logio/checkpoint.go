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

// Checkpoint writes the classic checkpoint of a snapshot, and then the hint. A checkpoint that
// somebody else wrote for the version is left as it is. The commit of the version must be durable.
// It is refused for a table that idem cannot write, and nothing is written if the files counted
// while writing are not those of the snapshot.
func (l *Log) Checkpoint(ctx context.Context, snap *delta.Snapshot, now time.Time) error {
	if l.opts.ReadOnly {
		return fmt.Errorf("checkpoint of version %d: %w", snap.Version(), errReadOnly)
	}
	if err := l.checkpoint(ctx, snap, now); err != nil {
		return fmt.Errorf("checkpoint of version %d: %w", snap.Version(), err)
	}
	return nil
}

func (l *Log) checkpoint(ctx context.Context, snap *delta.Snapshot, now time.Time) error {
	if err := delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema()); err != nil {
		return err
	}
	data, hint, err := l.encodeCheckpoint(ctx, snap, now)
	if err != nil {
		return err
	}
	key := delta.CheckpointKey(snap.Version())
	err = l.st.PutIfAbsent(ctx, key, data)
	if errors.Is(err, store.ErrExist) {
		info, err := l.st.Head(ctx, key)
		if err != nil {
			return err
		}
		hint.SizeInBytes = info.Size
	} else if err != nil {
		return err
	}
	if err := l.st.Put(ctx, delta.LastCheckpointKey, hint.Encode()); err != nil {
		return fmt.Errorf("hint: %w", err)
	}
	return nil
}

func (l *Log) encodeCheckpoint(ctx context.Context, snap *delta.Snapshot, now time.Time) ([]byte, delta.LastCheckpoint, error) {
	var buf bytes.Buffer
	source := &checkpointSource{ctx: ctx, l: l, snap: snap, now: now}
	rows, adds, err := parquetio.From(ctx).WriteCheckpoint(&buf, source.actions(), parquetio.CheckpointLayout{})
	if err == nil {
		err = source.err
	}
	if err != nil {
		return nil, delta.LastCheckpoint{}, err
	}
	if adds != int64(snap.NumFiles()) || rows != source.yielded {
		return nil, delta.LastCheckpoint{}, fmt.Errorf("%d files in %d of %d actions were written, the table has %d files: nothing was kept",
			adds, rows, source.yielded, snap.NumFiles())
	}
	return buf.Bytes(), delta.LastCheckpoint{
		Version: snap.Version(), Size: rows, SizeInBytes: int64(buf.Len()), NumOfAddFiles: adds,
	}, nil
}

// checkpointSource yields the actions of a checkpoint. Files whose statistics the snapshot did not
// keep come last, as the older checkpoint is read again: all statistics at once would not fit.
type checkpointSource struct {
	ctx     context.Context
	l       *Log
	snap    *delta.Snapshot
	now     time.Time
	yielded int64
	err     error
}

func (s *checkpointSource) actions() iter.Seq[delta.Action] {
	return func(yield func(delta.Action) bool) {
		emit := func(a delta.Action) bool {
			s.yielded++
			return yield(a)
		}
		deferred := make(map[string]*delta.Add)
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
	if s.err != nil || stopped {
		return
	}
	for a := range s.snap.Files() { // in order, those of which no checkpoint is left
		left, ok := deferred[logicalFile(a)]
		if ok && !emit(delta.Action{Add: left}) {
			return
		}
	}
}

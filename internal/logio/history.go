package logio

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
)

// Commit is one version in the history.
type Commit struct {
	Version int64

	// Timestamp is the commit's own in the versions in which the table keeps such
	// (inCommitTimestamp), else that of the file, made to ascend with the version.
	Timestamp time.Time

	// Info is nil if the writer left none.
	Info *delta.CommitInfo
}

// History gives the commits that the log still has up to a snapshot, newest first. A commit that
// lacks the timestamp that the table's definition says it has wraps delta.ErrCorrupt.
func (l *Log) History(ctx context.Context, snap *delta.Snapshot) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		err := l.history(ctx, snap, func(c Commit) bool { return yield(c, nil) })
		if err != nil {
			yield(Commit{}, fmt.Errorf("history: %w", err))
		}
	}
}

func (l *Log) history(ctx context.Context, snap *delta.Snapshot, yield func(Commit) bool) error {
	dates, err := l.Dates(ctx, snap.Version())
	if err == nil {
		dates, err = dates.Under(snap)
	}
	if err != nil {
		return err
	}
	for v := snap.Version(); v >= dates.Oldest; v-- {
		actions, _, err := l.ReadCommit(ctx, v)
		if errors.Is(err, store.ErrNotExist) {
			return nil // cleaned away meanwhile, and all before it
		}
		if err != nil {
			return err
		}
		c := Commit{Version: v, Info: delta.InfoOf(actions)}
		if c.Timestamp, err = dates.Time(v, c.Info); err != nil {
			return err
		}
		if !yield(c) {
			return nil
		}
	}
	return nil
}

// Dates are the times of the commits that the log has up to a version.
type Dates struct {
	// Oldest is the first of the unbroken run of commits; the version after the last if there is none.
	Oldest int64

	files []time.Time // from Oldest on
	own   span
}

// Dates lists the commits up to a version: their times are those of files.
func (l *Log) Dates(ctx context.Context, last int64) (Dates, error) {
	ls, err := l.list(ctx, 0)
	if err != nil {
		return Dates{}, err
	}
	first := ls.oldest(last)
	return Dates{Oldest: first, files: ls.modTimes(first, last)}, nil
}

// Under gives the times as the definition of a table has them, which may keep them in commits.
func (d Dates) Under(snap *delta.Snapshot) (Dates, error) {
	own, err := ownTimes(snap)
	d.own = own
	return d, err
}

// InCommit says whether the time of a version stands in its commit.
func (d Dates) InCommit(version int64) bool { return d.own.at(version) }

// Time is that of a version, of whose commitInfo nothing is asked if InCommit is false. One that lacks its own
// timestamp wraps delta.ErrCorrupt.
func (d Dates) Time(version int64, info *delta.CommitInfo) (time.Time, error) {
	if d.own.at(version) {
		return d.own.time(version, info)
	}
	return d.files[version-d.Oldest], nil
}

// span says in which versions commits carry their own timestamps: from a version on, which was
// committed at fromTime. The zero span is that of a table that keeps none.
type span struct {
	kept     bool
	from     int64
	fromTime time.Time // zero: since the table was made
}

// ownTimes reads the span off a table's definition.
func ownTimes(snap *delta.Snapshot) (span, error) {
	if !commit.TimestampsInCommits(snap.Protocol(), snap.Metadata()) {
		return span{}, nil
	}
	s := span{kept: true}
	version, ok := snap.Property("delta.inCommitTimestampEnablementVersion")
	if !ok {
		return s, nil
	}
	at, _ := snap.Property("delta.inCommitTimestampEnablementTimestamp")
	from, err := strconv.ParseInt(version, 10, 64)
	millis, errTime := strconv.ParseInt(at, 10, 64)
	if err != nil || errTime != nil || from < 0 {
		return s, fmt.Errorf("%w: in-commit timestamps are said to begin at version %.40q and time %.40q", delta.ErrCorrupt, version, at)
	}
	s.from, s.fromTime = from, time.UnixMilli(millis).UTC()
	return s, nil
}

func (s span) at(version int64) bool { return s.kept && version >= s.from }

// time is that of a version within the span.
func (s span) time(version int64, info *delta.CommitInfo) (time.Time, error) {
	at, ok := ownTime(info)
	if !ok {
		return at, fmt.Errorf("%w: version %d has no inCommitTimestamp, though the table keeps such timestamps from version %d on",
			delta.ErrCorrupt, version, s.from)
	}
	return at, nil
}

func ownTime(info *delta.CommitInfo) (time.Time, bool) {
	if info == nil || info.InCommitTimestamp == nil {
		return time.Time{}, false
	}
	return time.UnixMilli(*info.InCommitTimestamp).UTC(), true
}

// VersionAt gives the newest version whose commit is not after an instant, among the commits of
// which the log can still make the table. An instant before the first of them or after the last is
// delta.ErrInput; the error says which versions and times there are.
//
// known is a snapshot of the table, newest or not, that tells cheaply whether commits have times of their own; nil if
// there is none.
func (l *Log) VersionAt(ctx context.Context, at time.Time, known *delta.Snapshot) (int64, error) {
	v, err := l.versionAt(ctx, at, known)
	if err != nil {
		return -1, fmt.Errorf("version at %s: %w", at.UTC().Format(time.RFC3339Nano), err)
	}
	return v, nil
}

func (l *Log) versionAt(ctx context.Context, at time.Time, known *delta.Snapshot) (int64, error) {
	ls, err := l.list(ctx, 0)
	if err != nil {
		return -1, err
	}
	last := ls.newest()
	first := ls.oldest(last)
	switch {
	case last < 0:
		return -1, fmt.Errorf("%s has no commit in %s: %w", l.st.URL(), delta.LogDir, delta.ErrNotTable)
	case first > last:
		return -1, fmt.Errorf("the commit of version %d is gone, only its checkpoint is left: %w", last, delta.ErrInput)
	}
	start, ok := ls.reproducible(first)
	if !ok {
		return -1, fmt.Errorf("commit %d is missing from the log, and no checkpoint stands in for it: %w", first-1, delta.ErrCorrupt)
	}
	t := timeline{l: l, first: start, files: ls.modTimes(first, last)[start-first:]}
	if t.own, err = l.spanOf(ctx, last, known); err != nil {
		return -1, err
	}
	return t.find(ctx, at)
}

// reproducible is the first version from first on, where the unbroken run of commits begins, of
// which the table can be made; ok is false if there is none.
func (ls *listing) reproducible(first int64) (version int64, ok bool) {
	if first == 0 {
		return 0, true
	}
	for i := len(ls.checkpoints) - 1; i >= 0; i-- {
		if c := ls.checkpoints[i]; c.version >= first-1 {
			return max(c.version, first), true
		}
	}
	return 0, false
}

// spanOf is the span of the newest definition. The table is loaded only if its newest commit has a
// time of its own, or should have one by what is known of the table: else it keeps none.
func (l *Log) spanOf(ctx context.Context, newest int64, known *delta.Snapshot) (span, error) {
	actions, _, err := l.ReadCommit(ctx, newest)
	if err != nil {
		return span{}, err
	}
	if _, ok := ownTime(delta.InfoOf(actions)); !ok && known != nil && !commit.TimestampsInCommits(known.Protocol(), known.Metadata()) {
		return span{}, nil
	}
	snap, err := l.LoadAt(ctx, newest)
	if err != nil {
		return span{}, err
	}
	return ownTimes(snap)
}

// timeline tells the times of the commits first, first+1 and so on, and finds versions by them.
type timeline struct {
	l     *Log
	first int64
	files []time.Time // of the commit files, ascending
	own   span
}

func (t *timeline) find(ctx context.Context, at time.Time) (int64, error) {
	newest, err := t.at(ctx, len(t.files)-1)
	if err != nil {
		return -1, err
	}
	if at.After(newest) {
		return -1, t.outside(ctx)
	}
	start, end := t.within(at)
	lo, hi := start, end // all before lo are not after the instant; hi and all behind it are
	for lo < hi {
		mid := (lo + hi) / 2
		when, err := t.at(ctx, mid)
		if err != nil {
			return -1, err
		}
		if when.After(at) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == start {
		return -1, t.outside(ctx)
	}
	return t.first + int64(lo) - 1, nil
}

// within bounds the commits that an instant may name: since the table keeps timestamps in commits
// only those that have one, and before that only those that have none.
func (t *timeline) within(at time.Time) (start, end int) {
	n := len(t.files)
	if !t.own.kept || t.own.fromTime.IsZero() {
		return 0, n
	}
	border := int(min(max(t.own.from-t.first, 0), int64(n)))
	if at.Before(t.own.fromTime) {
		return 0, border
	}
	return border, n
}

// outside says which times there are.
func (t *timeline) outside(ctx context.Context) error {
	last := len(t.files) - 1
	oldest, err := t.at(ctx, 0)
	if err != nil {
		return err
	}
	newest, err := t.at(ctx, last)
	if err != nil {
		return err
	}
	return fmt.Errorf("the log has the table from version %d, which is of %s, to version %d, which is of %s: ask for a time between them: %w",
		t.first, oldest.Format(time.RFC3339Nano), t.first+int64(last), newest.Format(time.RFC3339Nano), delta.ErrInput)
}

func (t *timeline) at(ctx context.Context, i int) (time.Time, error) {
	version := t.first + int64(i)
	if !t.own.at(version) {
		return t.files[i], nil
	}
	actions, _, err := t.l.ReadCommit(ctx, version)
	if err != nil {
		return time.Time{}, err
	}
	return t.own.time(version, delta.InfoOf(actions))
}

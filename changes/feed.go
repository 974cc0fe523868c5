package changes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/plan"
)

const enabledProperty = "delta.enableChangeDataFeed"

// feed is a request on its way.
type feed struct {
	in      *inside.Table
	env     *plan.Env
	request Request

	from, to int64
	before   *delta.Snapshot // of the version before from; nil if that is 0, or cleaned away
	after    *delta.Snapshot // of from, when that is not 0 and before is nil
	shape    *delta.Snapshot // in whose columns rows are given
	out      *arrow.Schema
	columns  []string
	dates    logio.Dates
	times    map[int64]time.Time

	kept map[int64]kept // commits that are read once
	room int            // for more of them
}

// kept is a commit that stays in memory until its rows were given.
type kept struct {
	actions []delta.Action
	bytes   int // in the log
}

// keptBytes bounds the commits of a range that are kept. Those beyond it are read for the columns, which
// must be known before the first row, and once more for their rows.
const keptBytes = 16 << 20

// commit gives the actions of a version.
func (f *feed) commit(ctx context.Context, version int64) ([]delta.Action, error) {
	if c, ok := f.kept[version]; ok {
		return c.actions, nil
	}
	actions, data, err := f.in.Log.ReadCommit(ctx, version)
	if err == nil && len(data) <= f.room {
		f.kept[version] = kept{actions, len(data)}
		f.room -= len(data)
	}
	return actions, err
}

// drop forgets a commit.
func (f *feed) drop(version int64) {
	f.room += f.kept[version].bytes
	delete(f.kept, version)
}

// open settles range and columns.
func (f *feed) open(ctx context.Context) error {
	newest, err := f.in.Newest(ctx)
	if err != nil {
		return err
	}
	if err := f.bound(ctx, newest); err != nil {
		return err
	}
	if err := f.reach(ctx, newest); err != nil {
		return err
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.choose(ctx, newest)
}

// bound finds the range of versions.
func (f *feed) bound(ctx context.Context, newest *delta.Snapshot) error {
	from, to, last := f.request.From, f.request.To, newest.Version()
	f.from, f.to = from.version, last
	if to.kind == boundVersion {
		f.to = to.version
	}
	if from.kind == boundTime || to.kind == boundTime {
		if err := f.instants(ctx, newest); err != nil {
			return err
		}
	}
	switch {
	case f.from < 0 || f.to < 0:
		return inputf("the versions %d to %d: versions count from 0", f.from, f.to)
	case f.from > last || f.to > last:
		return inputf("version %d is not there yet: the newest is %d", max(f.from, f.to), last)
	case f.from > f.to && (from.kind == boundTime || to.kind == boundTime):
		return inputf("no version was committed in the range: it would begin with version %d and end with version %d", f.from, f.to)
	case f.from > f.to:
		return inputf("there is no version from %d to %d: the range ends before it begins", f.from, f.to)
	}
	return nil
}

// instants turns bounds that are instants into versions. Times ascend with versions: what was committed
// before the table kept timestamps in commits is older than that, whatever its files say (those of a
// table that was copied are young).
func (f *feed) instants(ctx context.Context, newest *delta.Snapshot) error {
	from, to := f.request.From, f.request.To
	first, last := int64(-1), int64(-1)
	var latest, at time.Time
	dates, err := f.datesOf(ctx, newest)
	if err != nil {
		return err
	}
	for v := newest.Version(); v >= dates.Oldest; v-- {
		when, err := f.when(ctx, dates, v)
		if errors.Is(err, store.ErrNotExist) {
			break // cleaned away meanwhile, and all before it
		}
		if err != nil {
			return err
		}
		switch {
		case v == newest.Version():
			at, latest = when, when
		case when.Before(at):
			at = when
		default:
			at = at.Add(-time.Millisecond)
		}
		if last < 0 && !at.After(to.at) {
			last = v
		}
		if at.Before(from.at) {
			break
		}
		first = v
		if from.kind != boundTime && last >= 0 {
			break
		}
	}
	if from.kind == boundTime {
		if f.from = first; first < 0 {
			return inputf("no version was committed at %s or later: the newest, %d, is of %s", stamp(from.at), newest.Version(), stamp(latest))
		}
	}
	if to.kind == boundTime {
		if f.to = last; last < 0 {
			return inputf("no version of the range was committed at %s or before", stamp(to.at))
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// datesOf are the times of the commits up to a table's version, as its definition has them.
func (f *feed) datesOf(ctx context.Context, snap *delta.Snapshot) (logio.Dates, error) {
	dates, err := f.in.Log.Dates(ctx, snap.Version())
	if err != nil {
		return dates, err
	}
	return dates.Under(snap)
}

// when is the time of a version, whose commit is read if it stands there.
func (f *feed) when(ctx context.Context, dates logio.Dates, version int64) (time.Time, error) {
	if !dates.InCommit(version) {
		return dates.Time(version, nil)
	}
	actions, err := f.commit(ctx, version)
	if err != nil {
		return time.Time{}, err
	}
	return dates.Time(version, delta.InfoOf(actions))
}

// reach makes sure that the log reaches back to the range, and forgets the commits beside it.
func (f *feed) reach(ctx context.Context, newest *delta.Snapshot) (err error) {
	for v := range f.kept {
		if v < f.from || v > f.to {
			f.drop(v)
		}
	}
	f.dates, err = f.in.Log.Dates(ctx, f.to)
	if err == nil && f.from < f.dates.Oldest {
		err = f.gone(ctx, newest, f.from)
	}
	return err
}

// gone says that the commit of a version is no longer in the log, and what is.
func (f *feed) gone(ctx context.Context, newest *delta.Snapshot, version int64) error {
	dates, err := f.in.Log.Dates(ctx, newest.Version())
	switch {
	case err != nil:
		return err
	case dates.Oldest > newest.Version():
		return inputf("the commit of version %d is no longer in the log, nor is any other", version)
	}
	return inputf("the commit of version %d is no longer in the log, which begins at version %d: ask for changes from there on", version, dates.Oldest)
}

// begin loads the table before the range. Where clean-up has taken what it needs, the table at the
// range's first version has to do.
func (f *feed) begin(ctx context.Context) (err error) {
	if f.from == 0 {
		return nil
	}
	f.before, err = f.in.Log.LoadAt(ctx, f.from-1)
	if err == nil {
		return nil
	}
	if !errors.Is(err, delta.ErrInput) && !errors.Is(err, delta.ErrCorrupt) && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	f.after, err = f.in.Log.LoadAt(ctx, f.from)
	return err
}

// versions gives each version of the range with the table before and after it.
func (f *feed) versions(ctx context.Context) iter.Seq2[*version, error] {
	return func(yield func(*version, error) bool) {
		before := f.before
		for v := f.from; v <= f.to; v++ {
			actions, err := f.commit(ctx, v)
			after := f.after
			if err == nil && (v > f.from || after == nil) {
				after, err = f.advance(before, v, actions)
			}
			if err == nil {
				err = gate(after)
			}
			if err != nil {
				yield(nil, fmt.Errorf("version %d: %w", v, err))
				return
			}
			if !yield(&version{feed: f, number: v, actions: actions, before: before, after: after}, nil) {
				return
			}
			before = after
		}
	}
}

// advance is the table after a commit. That of version 0 has none before it.
func (f *feed) advance(before *delta.Snapshot, version int64, actions []delta.Action) (*delta.Snapshot, error) {
	if before != nil {
		return before.Advance(version, actions)
	}
	r := f.in.Log.NewReplay()
	if err := r.Commit(version, actions); err != nil {
		return nil, err
	}
	return r.Snapshot(version)
}

// gate makes sure that a version can be read and that the feed was on.
func gate(snap *delta.Snapshot) error {
	if err := delta.GateRead(snap.Protocol(), snap.Metadata(), snap.Schema()); err != nil {
		return err
	}
	if on, _ := snap.Property(enabledProperty); !strings.EqualFold(on, "true") || !snap.Protocol().Supports("changeDataFeed") {
		return inputf("the table kept no change data feed (%s is not true): ask for a range of versions in which it did", enabledProperty)
	}
	return nil
}

// survey is what the versions of a range say before their rows are read.
type survey struct {
	end         *delta.Snapshot             // of the last version
	definitions []*version                  // those with another definition than the one before
	marked      bool                        // some version's files may have vectors
	infos       map[int64]*delta.CommitInfo // what commits say of their time
}

// survey goes through the versions of the range.
func (f *feed) survey(ctx context.Context, newest *delta.Snapshot) (*survey, error) {
	s := &survey{infos: map[int64]*delta.CommitInfo{}}
	var last *delta.Metadata
	for v, err := range f.versions(ctx) {
		if errors.Is(err, store.ErrNotExist) {
			return nil, f.gone(ctx, newest, f.from)
		}
		if err != nil {
			return nil, err
		}
		if info := delta.InfoOf(v.actions); info != nil && info.InCommitTimestamp != nil {
			s.infos[v.number] = &delta.CommitInfo{InCommitTimestamp: info.InCommitTimestamp}
		}
		s.marked = s.marked || v.after.Protocol().Supports(vectorsFeature)
		first := v.number == f.from && v.before != nil && v.removes()
		if v.after.Metadata() != last || first {
			d := &version{number: v.number, after: v.after}
			if first {
				d.before = v.before
			}
			s.definitions = append(s.definitions, d)
		}
		last, s.end = v.after.Metadata(), v.after
	}
	if f.to == newest.Version() {
		s.end = newest
	}
	return s, nil
}

// clock learns when the versions were committed.
func (f *feed) clock(s *survey) error {
	dates, err := f.dates.Under(s.end)
	f.times = map[int64]time.Time{}
	for v := f.from; v <= f.to && err == nil; v++ {
		f.times[v], err = dates.Time(v, s.infos[v])
	}
	return err
}

// choose finds the columns in which every version of the range can be read.
func (f *feed) choose(ctx context.Context, newest *delta.Snapshot) error {
	s, err := f.survey(ctx, newest)
	if err != nil {
		return err
	}
	if err := f.clock(s); err != nil {
		return err
	}
	shapes := []*delta.Snapshot{newest, s.end}
	if s.end.Mapping() != delta.MappingNone || newest == s.end {
		shapes = shapes[1:]
	}
	why, renamed := make([]error, len(shapes)), s.mapped()
	for _, v := range s.definitions {
		if !anyFits(why, v.after, shapes, renamed) {
			return inputf("version %d cannot be read in the columns of version %d: %v; ask for ranges on either side of the change", v.number, s.end.Version(), why[len(why)-1])
		}
		if v.before != nil && !anyFits(why, v.before, shapes, renamed) {
			return inputf("the rows that version %d removed cannot be told in the columns of version %d: %v; see them in the table of version %d (Table.At), and ask for the changes up to that version and from version %d on",
				v.number, s.end.Version(), why[len(why)-1], v.before.Version(), v.number+1)
		}
	}
	return f.project(shapes[slices.Index(why, nil)], s.marked)
}

// mapped says whether the table had column mapping in every version of the range: then its files have each
// column under one name, whatever the column was called.
func (s *survey) mapped() bool {
	return !slices.ContainsFunc(s.definitions, func(v *version) bool {
		return v.after.Mapping() == delta.MappingNone || v.before != nil && v.before.Mapping() == delta.MappingNone
	})
}

// anyFits keeps for each shape why one of the tables seen so far does not fit it, and says whether
// one is left.
func anyFits(why []error, seen *delta.Snapshot, shapes []*delta.Snapshot, renamed bool) bool {
	for i, shape := range shapes {
		if why[i] == nil {
			why[i] = fits(seen, shape, renamed)
		}
	}
	return slices.Contains(why, nil)
}

// project settles the columns given out. marked says that files of the range may have vectors, also
// where the table of the shape has no such feature any more.
func (f *feed) project(shape *delta.Snapshot, marked bool) (err error) {
	f.shape = shape
	if marked && !shape.Protocol().Supports(vectorsFeature) {
		if f.shape, err = shape.Edited(&delta.Edit{Protocol: withVectors(shape.Protocol())}); err != nil {
			return err
		}
	}
	for _, c := range feedFields {
		if f.shape.Schema().Index(c.Name) >= 0 {
			return inputf("the table has a column %s, which is the name of one of the feed's: rename it", c.Name)
		}
	}
	all := f.shape.ArrowSchema()
	fields := all.Fields()
	if f.request.Columns != nil {
		fields = nil
		for _, name := range f.request.Columns {
			i := f.shape.Schema().Index(name)
			if i < 0 {
				return inputf("the table of version %d has no column %q", f.shape.Version(), name)
			}
			fields = append(fields, all.Field(i))
		}
	}
	f.columns = []string{}
	for _, c := range fields {
		f.columns = append(f.columns, c.Name)
	}
	f.out = arrow.NewSchema(append(slices.Clone(fields), feedFields...), nil)
	return nil
}

var feedFields = []arrow.Field{
	{Name: TypeColumn, Type: arrow.BinaryTypes.String},
	{Name: VersionColumn, Type: arrow.PrimitiveTypes.Int64},
	{Name: TimestampColumn, Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
}

const vectorsFeature = "deletionVectors"

// withVectors is a protocol that has deletion vectors besides.
func withVectors(p *delta.Protocol) *delta.Protocol {
	out := &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: slices.Clone(p.ReaderFeatures), WriterFeatures: p.Features()}
	if p.MinReaderVersion < 3 && p.Supports("columnMapping") {
		out.ReaderFeatures = append(out.ReaderFeatures, "columnMapping")
	}
	out.ReaderFeatures = append(out.ReaderFeatures, vectorsFeature)
	out.WriterFeatures = append(out.WriterFeatures, vectorsFeature)
	return out
}

// rows gives the changes of all versions.
func (f *feed) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for v, err := range f.versions(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for batch, err := range v.rows(ctx) {
				if err != nil {
					err = v.explain(err)
				}
				if !yield(batch, err) || err != nil {
					return
				}
			}
			f.drop(v.number)
		}
	}
}

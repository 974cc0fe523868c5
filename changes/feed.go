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
	after    *delta.Snapshot // of from, when before is nil
	shape    *delta.Snapshot // in whose columns rows are given
	out      *arrow.Schema
	columns  []string
	times    map[int64]time.Time
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
	end, err := f.end(ctx, newest)
	if err != nil {
		return err
	}
	if err := f.clock(ctx, newest, end); err != nil {
		return err
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.choose(ctx, newest, end)
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
	for c, err := range f.in.Log.History(ctx, newest) {
		if err != nil {
			return err
		}
		switch {
		case c.Version == newest.Version():
			at, latest = c.Timestamp, c.Timestamp
		case c.Timestamp.Before(at):
			at = c.Timestamp
		default:
			at = at.Add(-time.Millisecond)
		}
		if last < 0 && !at.After(to.at) {
			last = c.Version
		}
		if at.Before(from.at) {
			break
		}
		first = c.Version
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

// end is the table at the range's last version.
func (f *feed) end(ctx context.Context, newest *delta.Snapshot) (*delta.Snapshot, error) {
	if f.to == newest.Version() {
		return newest, nil
	}
	end, err := f.in.Log.LoadAt(ctx, f.to)
	if errors.Is(err, delta.ErrInput) {
		return nil, f.gone(ctx, newest, f.to)
	}
	return end, err
}

// clock learns when the versions were committed.
func (f *feed) clock(ctx context.Context, newest, end *delta.Snapshot) error {
	f.times = map[int64]time.Time{}
	for c, err := range f.in.Log.History(ctx, end) {
		if err != nil {
			return err
		}
		f.times[c.Version] = c.Timestamp
		if c.Version <= f.from {
			return nil
		}
	}
	return f.gone(ctx, newest, f.from)
}

// gone says that the commit of a version is no longer in the log, and what is.
func (f *feed) gone(ctx context.Context, newest *delta.Snapshot, version int64) error {
	oldest := int64(-1)
	for c, err := range f.in.Log.History(ctx, newest) {
		if err != nil {
			return err
		}
		oldest = c.Version
	}
	if oldest < 0 {
		return inputf("the commit of version %d is no longer in the log, nor is any other", version)
	}
	return inputf("the commit of version %d is no longer in the log, which begins at version %d: ask for changes from there on", version, oldest)
}

// begin loads the table before the range. Where clean-up has taken what it needs, the table at the
// range's first version has to do.
func (f *feed) begin(ctx context.Context) (err error) {
	if f.from > 0 {
		f.before, err = f.in.Log.LoadAt(ctx, f.from-1)
		if err == nil {
			return nil
		}
		if !errors.Is(err, delta.ErrInput) && !errors.Is(err, delta.ErrCorrupt) && !errors.Is(err, store.ErrNotExist) {
			return err
		}
	}
	f.after, err = f.in.Log.LoadAt(ctx, f.from)
	return err
}

// versions gives each version of the range with the table before and after it.
func (f *feed) versions(ctx context.Context) iter.Seq2[*version, error] {
	return func(yield func(*version, error) bool) {
		before := f.before
		for v := f.from; v <= f.to; v++ {
			actions, _, err := f.in.Log.ReadCommit(ctx, v)
			after := f.after
			if err == nil && (v > f.from || after == nil) {
				after, err = before.Advance(v, actions)
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

// choose finds the columns in which every version of the range can be read.
func (f *feed) choose(ctx context.Context, newest, end *delta.Snapshot) error {
	shapes := []*delta.Snapshot{newest, end}
	if end.Mapping() != delta.MappingNone || newest == end {
		shapes = shapes[1:]
	}
	why := make([]error, len(shapes))
	var last *delta.Metadata
	marked := false
	for v, err := range f.versions(ctx) {
		if err != nil {
			return err
		}
		marked = marked || v.after.Protocol().Supports(vectorsFeature)
		seen := []*delta.Snapshot{v.after}
		if v.number == f.from && v.before != nil && v.removes() {
			seen = append(seen, v.before)
		}
		if v.after.Metadata() == last && len(seen) == 1 {
			continue
		}
		last = v.after.Metadata()
		if !anyFits(why, seen, shapes) {
			return inputf("version %d cannot be read in the columns of version %d: %v; ask for ranges on either side of the change", v.number, end.Version(), why[len(why)-1])
		}
	}
	return f.project(shapes[slices.Index(why, nil)], marked)
}

// anyFits keeps for each shape why one of the tables seen so far does not fit it, and says whether
// one is left.
func anyFits(why []error, seen, shapes []*delta.Snapshot) bool {
	for i, shape := range shapes {
		for _, s := range seen {
			if why[i] == nil {
				why[i] = fits(s, shape)
			}
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
		}
	}
}

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
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.choose(ctx, newest)
}

// bound finds the range of versions, and their times.
func (f *feed) bound(ctx context.Context, newest *delta.Snapshot) error {
	f.from, f.to = 0, newest.Version()
	if f.request.From.kind == boundVersion {
		f.from = f.request.From.version
	}
	if f.request.To.kind == boundVersion {
		f.to = f.request.To.version
	}
	if err := f.clock(ctx, newest); err != nil {
		return err
	}
	switch {
	case f.from < 0 || f.to < 0:
		return inputf("the versions %d to %d: versions count from 0", f.from, f.to)
	case f.to > newest.Version():
		return inputf("version %d is not there yet: the newest is %d", f.to, newest.Version())
	case f.from > f.to:
		return inputf("there is no version from %d to %d: the range ends before it begins", f.from, f.to)
	}
	for v := f.from; v <= f.to; v++ {
		if _, ok := f.times[v]; !ok {
			return inputf("the commit of version %d is no longer in the log, which begins at version %d: ask for changes from there on", v, f.oldest(newest.Version()))
		}
	}
	return nil
}

func (f *feed) oldest(newest int64) int64 {
	for v := newest; ; v-- {
		if _, ok := f.times[v-1]; !ok {
			return v
		}
	}
}

// clock learns when the versions were committed, from the newest back to the first that is asked
// for, and turns bounds that are instants into versions.
func (f *feed) clock(ctx context.Context, newest *delta.Snapshot) error {
	f.times = map[int64]time.Time{}
	from, to := f.request.From, f.request.To
	first, last := int64(-1), int64(-1)
	for c, err := range f.in.Log.History(ctx, newest) {
		if err != nil {
			return err
		}
		f.times[c.Version] = c.Timestamp
		if to.kind == boundTime && last < 0 && !c.Timestamp.After(to.at) {
			last = c.Version
		}
		if from.kind == boundTime {
			if c.Timestamp.Before(from.at) {
				break
			}
			first = c.Version
		} else if c.Version <= f.from && (to.kind != boundTime || last >= 0) {
			break
		}
	}
	if from.kind == boundTime {
		if first < 0 {
			return inputf("no version was committed at %s or later: the newest, %d, is of %s", stamp(from.at), newest.Version(), stamp(f.times[newest.Version()]))
		}
		f.from = first
	}
	if to.kind == boundTime {
		if last < 0 {
			return inputf("no version in the log was committed at %s or before", stamp(to.at))
		}
		f.to = last
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

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
func (f *feed) choose(ctx context.Context, newest *delta.Snapshot) error {
	end := newest
	if f.to != newest.Version() {
		var err error
		if end, err = f.in.Log.LoadAt(ctx, f.to); err != nil {
			return err
		}
	}
	shapes := []*delta.Snapshot{newest, end}
	if end.Mapping() != delta.MappingNone {
		shapes = shapes[1:]
	}
	why := make([]error, len(shapes))
	var last *delta.Metadata
	for v, err := range f.versions(ctx) {
		if err != nil {
			return err
		}
		if v.after.Metadata() == last {
			continue
		}
		last = v.after.Metadata()
		for i, s := range shapes {
			if why[i] == nil {
				why[i] = fits(v.after, s)
			}
			if why[i] != nil && i == len(shapes)-1 {
				return inputf("version %d cannot be read in the columns of version %d: %v; ask for ranges on either side of the change", v.number, s.Version(), why[i])
			}
		}
	}
	f.shape = shapes[slices.Index(why, nil)]
	return f.project()
}

// project settles the columns given out.
func (f *feed) project() error {
	all := f.shape.ArrowSchema()
	fields := all.Fields()
	if f.request.Columns != nil {
		fields = nil
		for _, name := range f.request.Columns {
			i := f.shape.Schema().Index(name)
			if i < 0 {
				return inputf("the table has no column %q", name)
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
					err = fmt.Errorf("changes of version %d: %w", v.number, err)
				}
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}

package maintain

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const opConvert = "Convert"

// Convert asks for a directory of Parquet files to be made a table.
type Convert struct {
	_ struct{}

	// PartitionBy are the partition columns, in the order of the directories, with their types. nil
	// infers them as Spark does: int, bigint, decimal of whole numbers, date ("2024-05-01"), timestamp
	// ("2024-05-01 12:00:00", taken for UTC) or else string, what every value of the column fits.
	PartitionBy *arrow.Schema

	// Properties, Name and Description are the table's, as in [idem.Definition]. Column mapping can only
	// be turned on afterwards.
	Properties        map[string]string
	Name, Description string

	// SkipStats takes the number of rows of each file and nothing else: no data is read, and nothing can
	// be skipped by minima and maxima later.
	SkipStats bool

	// Note is kept in the commit.
	Note string
}

// Converted is what Convert did.
type Converted struct {
	_ struct{}

	// Outcome is Committed, or Unchanged if the directory was converted already.
	Outcome idem.Outcome

	// Version is the version committed, or the newest version.
	Version int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	Files, Bytes, Rows int64 // of the files that the table was made of
}

// String is one line for a log.
func (r *Converted) String() string {
	return fmt.Sprintf("%s, version %d: %d files, %d rows, %d bytes", r.Outcome, r.Version, r.Files, r.Rows, r.Bytes)
}

// ConvertParquet makes a table of the Parquet files of a directory, a path or a file URL: in place, no
// data is rewritten. Directories "column=value" below it hold the values of partition columns; a name is
// decoded once, and __HIVE_DEFAULT_PARTITION__ is NULL. The columns are those of all files, nullable, in
// the order in which they come; one that a file lacks is NULL in it, and a partition column that a file
// has too is what its directory says.
//
// Names that begin with _ or . are hidden and left out, with what is below them: _SUCCESS, and files of a
// writer that is still at work (_temporary). That no writer is at work is for the caller to make sure of:
// files that come later are not the table's.
//
// A second call is Unchanged, and of two calls at once one makes version 0 and the other is Unchanged. A
// table that was not made by a conversion wraps [idem.ErrConflict], and so does one that has other partition
// columns, Properties or another Name than are given: the error names the difference, as that of [idem.Create].
//
// Files that have one column in two types, other files than Parquet, directories that are none of a
// partition, and a directory without files wrap [idem.ErrInput] and name what was found; a damaged file
// wraps [idem.ErrCorrupt]; the directory of a table of another format, or of a streaming sink whose log
// says which files count, wraps [idem.ErrUnsupported].
func ConvertParquet(ctx context.Context, url string, c Convert, o idem.Options) (*idem.Table, *Converted, error) {
	s, err := store.OpenURL(url)
	if err != nil {
		return nil, nil, inside.Fail(opConvert, url, fmt.Errorf("%w: %w", idem.ErrInput, err))
	}
	return ConvertParquetStore(ctx, s, c, o)
}

// ConvertParquetStore is [ConvertParquet] of the directory that is a store's root.
func ConvertParquetStore(ctx context.Context, s store.Store, c Convert, o idem.Options) (*idem.Table, *Converted, error) {
	opened, found, err := inside.Begin(ctx, s, o)
	if err != nil {
		return nil, nil, inside.Fail(opConvert, inside.URL(s), err)
	}
	t := opened.(*idem.Table)
	p := &convert{in: inside.Of(t), request: c}
	if found {
		snap := t.Snapshot()
		if err := p.converted(ctx, snap); err != nil {
			return nil, nil, p.in.Fail(opConvert, err)
		}
		return t, &Converted{Outcome: idem.Unchanged, Version: snap.Version()}, nil
	}
	if err := p.prepare(ctx); err != nil {
		return nil, nil, p.in.Fail(opConvert, err)
	}
	res, err := write(ctx, p.in, inside.Call{Op: opConvert, Note: c.Note, Planner: p})
	if err != nil {
		return nil, nil, err
	}
	out := &Converted{Outcome: res.Outcome, Version: res.Version, Attempts: res.Attempts}
	if res.Outcome == idem.Committed {
		out.Files, out.Bytes, out.Rows = p.out.Files, p.out.Bytes, p.out.Rows
	}
	return t, out, nil
}

// convert plans one call.
type convert struct {
	in      *inside.Table
	request Convert
	created int64

	files []parquetFile
	spec  delta.CreateSpec
	out   Converted
}

// prepare finds out what version 0 is made of. It does not depend on what others do to the log.
func (p *convert) prepare(ctx context.Context) error {
	if err := p.list(ctx); err != nil {
		return err
	}
	partitions, err := p.partitions()
	if err != nil {
		return err
	}
	schema, err := p.schema(ctx, partitions)
	if err != nil {
		return err
	}
	p.created = p.in.Env.Now().UnixMilli()
	p.spec = delta.CreateSpec{
		Schema: schema, Properties: p.request.Properties, Name: p.request.Name, Description: p.request.Description,
	}
	for _, f := range partitions.Fields {
		p.spec.PartitionBy = append(p.spec.PartitionBy, f.Name)
	}
	return p.describe(ctx)
}

// converted says whether a table is one that a conversion made, as far as the log still tells.
func (p *convert) converted(ctx context.Context, snap *delta.Snapshot) error {
	if by := p.request.PartitionBy; by != nil {
		want := make([]string, by.NumFields())
		for i, f := range by.Fields() {
			want[i] = f.Name
		}
		if have := snap.PartitionColumns(); plan.NamesParameter(have) != plan.NamesParameter(want) {
			return fmt.Errorf("%w: there is a table at version %d already, partitioned by %v and not by %v; open it with Open", delta.ErrDiffers, snap.Version(), have, want)
		}
	}
	if err := p.byConversion(ctx, snap); err != nil {
		return err
	}
	if what, have, want, differs := p.difference(snap); differs {
		return fmt.Errorf("%w: there is a table at version %d already: %s is %s there, and %s here; open it with Open, and set it with AlterTable", delta.ErrDiffers, snap.Version(), what, have, want)
	}
	return nil
}

// byConversion makes sure that a table was made by one, if its first commit is still there.
func (p *convert) byConversion(ctx context.Context, snap *delta.Snapshot) error {
	actions, _, err := p.in.Log.ReadCommit(ctx, 0)
	if errors.Is(err, store.ErrNotExist) {
		return nil // the log was cleaned up since
	}
	if err != nil {
		return err
	}
	if info := delta.InfoOf(actions); info == nil || info.Operation != "CONVERT" {
		return fmt.Errorf("%w: there is a table at version %d already, which was not made by a conversion: its log says which files are its own; open it with Open, or move the other files elsewhere and append their rows",
			delta.ErrDiffers, snap.Version())
	}
	return nil
}

// difference names a property, or the name, that the request gives and the table has not.
func (p *convert) difference(snap *delta.Snapshot) (what, have, want string, differs bool) {
	if name := snap.Metadata().Name; p.request.Name != "" && p.request.Name != name {
		return "the name", strconv.Quote(name), strconv.Quote(p.request.Name), true
	}
	return snap.PropertyDifference(p.request.Properties)
}

// Plan implements inside.Planner.
func (p *convert) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	if snap != nil { // another was first
		return nil, p.converted(ctx, snap)
	}
	e, err := p.spec.Build(delta.Fresh{ID: p.in.Env.NewID, Timestamp: p.created})
	if err != nil {
		return nil, err
	}
	e.Metadata.CreatedTime = &p.created
	actions := e.Actions()
	for _, f := range p.files {
		actions = append(actions, delta.Action{Add: f.add})
	}
	return &plan.Proposal{
		Operation: "CONVERT",
		Parameters: map[string]any{
			"numFiles": strconv.Itoa(len(p.files)), "partitionedBy": plan.NamesParameter(p.spec.PartitionBy),
			"collectStats": strconv.FormatBool(!p.request.SkipStats), "sourceFormat": "parquet",
		},
		Metrics: map[string]string{"numConvertedFiles": strconv.Itoa(len(p.files)), "numOutputRows": strconv.FormatInt(p.out.Rows, 10)},
		Actions: actions,
	}, nil
}

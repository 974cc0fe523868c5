package plan

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// Fingerprint identifies the multiset of rows of a snapshot for which Where is TRUE.
type Fingerprint struct {
	Env    *Env
	Where  expr.Expr
	Keys   []string
	Sums   []string
	Verify bool // read every file, also those whose digest stands in the log
}

// Print is a fingerprint.
type Print struct {
	Rows     int64
	Distinct int64 // of the key columns, -1 without any
	Digest   rows.Digest
	Sums     []Sum
}

// Sum is an exact sum: Unscaled / 10^Scale.
type Sum struct {
	Column   string
	Unscaled *big.Int
	Scale    int32
}

// Of computes it. Files whose digest stands in the log and that lie wholly in the slice are not
// read unless distinct keys, sums or Verify need them.
func (p *Fingerprint) Of(ctx context.Context, snap *delta.Snapshot) (*Print, error) {
	sums, err := newSums(snap, p.Sums)
	if err != nil {
		return nil, err
	}
	files, err := scan.Prune(ctx, p.Env.Table(snap), p.Where)
	if err != nil {
		return nil, err
	}
	out := &Print{Distinct: -1, Sums: sums}
	read, known := files.Across, DigestsOf(snap)
	for _, f := range files.Inside {
		n, d, ok := known.Of(f)
		if !ok || p.Verify {
			read = append(read, f)
			continue
		}
		out.Rows += n
		out.Digest = out.Digest.Add(d)
	}
	if err := p.read(ctx, snap, read, out); err != nil {
		return nil, err
	}
	if len(p.Sums) > 0 {
		if err := p.sum(ctx, snap, out); err != nil {
			return nil, err
		}
	}
	if len(p.Keys) > 0 {
		d := Duplicates{Env: p.Env, On: p.Keys, Where: p.Where}
		found, err := d.Find(ctx, snap)
		if err != nil {
			return nil, err
		}
		out.Distinct = found.Distinct
	}
	return out, nil
}

// read adds the rows of files that must be read.
func (p *Fingerprint) read(ctx context.Context, snap *delta.Snapshot, files []*delta.Add, out *Print) error {
	prints, known := make([]Print, len(files)), DigestsOf(snap)
	err := p.Env.forEach(ctx, len(files), func(ctx context.Context, i int) error {
		request := scan.Request{Where: p.Where, Files: files[i : i+1]}
		for batch, err := range scan.Rows(ctx, p.Env.Table(snap), request) {
			if err != nil {
				return err
			}
			d, err := rows.DigestRows(batch, nil)
			if err != nil {
				return err
			}
			prints[i].Digest = prints[i].Digest.Add(d)
			prints[i].Rows += batch.NumRows()
		}
		if n, d, ok := known.Of(files[i]); ok && p.Verify && p.Where == nil && (n != prints[i].Rows || d != prints[i].Digest) {
			return fmt.Errorf("%w: %s holds other rows than its tag %s says (%d rows against %d)", delta.ErrCorrupt, files[i].Path, TagName, prints[i].Rows, n)
		}
		return nil
	})
	for _, f := range prints {
		out.Rows += f.Rows
		out.Digest = out.Digest.Add(f.Digest)
	}
	return err
}

func newSums(snap *delta.Snapshot, columns []string) ([]Sum, error) {
	var out []Sum
	for _, name := range columns {
		i := snap.Schema().Index(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the table has no column %q to sum", delta.ErrInput, name)
		}
		f := snap.Schema().Fields[i]
		s := Sum{Column: f.Name, Unscaled: new(big.Int)}
		switch t := f.Type.(type) {
		case delta.Decimal:
			s.Scale = int32(t.Scale)
		case delta.Primitive:
			if !slices.Contains([]delta.Primitive{delta.Byte, delta.Short, delta.Integer, delta.Long}, t) {
				return nil, fmt.Errorf("%w: column %s is %s; only integers and decimals sum exactly", delta.ErrInput, f.Name, t)
			}
		default:
			return nil, fmt.Errorf("%w: column %s is %s; only integers and decimals sum exactly", delta.ErrInput, f.Name, f.Type)
		}
		out = append(out, s)
	}
	return out, nil
}

func (p *Fingerprint) sum(ctx context.Context, snap *delta.Snapshot, out *Print) error {
	names := make([]string, len(out.Sums))
	for i, s := range out.Sums {
		names[i] = s.Column
	}
	for batch, err := range scan.Rows(ctx, p.Env.Table(snap), scan.Request{Columns: names, Where: p.Where}) {
		if err != nil {
			return err
		}
		for i := range out.Sums {
			if err := addAll(out.Sums[i].Unscaled, batch.Column(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addAll adds the values of a column. Partial sums are kept in 128 bits, which 2^64 integers fill
// at the earliest.
func addAll(total *big.Int, column arrow.Array) error {
	switch a := column.(type) {
	case *array.Int8:
		return addInts(total, a, a.Int8Values())
	case *array.Int16:
		return addInts(total, a, a.Int16Values())
	case *array.Int32:
		return addInts(total, a, a.Int32Values())
	case *array.Int64:
		return addInts(total, a, a.Int64Values())
	case *array.Decimal128:
		for i := range a.Len() {
			if a.IsValid(i) {
				total.Add(total, a.Value(i).BigInt())
			}
		}
		return nil
	}
	return fmt.Errorf("%w: no exact sum of %s", delta.ErrInput, column.DataType())
}

func addInts[T int8 | int16 | int32 | int64](total *big.Int, a arrow.Array, values []T) error {
	var sum decimal128.Num
	for i, v := range values {
		if a.IsValid(i) {
			sum = sum.Add(decimal128.FromI64(int64(v)))
		}
	}
	total.Add(total, sum.BigInt())
	return nil
}

// Duplicates finds keys that occur more than once.
type Duplicates struct {
	Env     *Env
	On      []string
	Where   expr.Expr
	Samples int // keys shown; 0 means 10
}

// Found is what it finds.
type Found struct {
	Rows     int64
	Distinct int64
	Extra    int64 // rows beyond the first of their key
	Samples  []Duplicate
}

// Duplicate is a key that occurs Count times.
type Duplicate struct {
	Key   string // "id=7, day=2013-01-01"
	Count int64
}

// Find reads the key columns, divided by key so that each part fits the budget.
func (p *Duplicates) Find(ctx context.Context, snap *delta.Snapshot) (*Found, error) {
	if len(p.On) == 0 {
		return nil, fmt.Errorf("%w: name the key columns", delta.ErrInput)
	}
	k, err := newTableKeys(snap.ArrowSchema(), p.On)
	if err != nil {
		return nil, err
	}
	area := p.Env.area()
	defer area.Close()
	all := area.NewBuffer(k.schema)
	for batch, err := range scan.Rows(ctx, p.Env.Table(snap), scan.Request{Columns: k.read, Where: p.Where}) {
		if err == nil {
			err = k.append(p.Env.Allocator, all, batch)
		}
		if err != nil {
			return nil, err
		}
	}
	out := &Found{Rows: all.Rows()}
	cut := &cutter{ctx: ctx, mem: p.Env.Allocator, area: area, key: k.columns()}
	err = cut.each(all, p.Env.share(),
		func(part *spill.Buffer) error { return p.count(ctx, part, out) },
		func(part *spill.Buffer) error { return p.one(part, out) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// tableKeys reads key columns, and fields of structs, of a table.
type tableKeys struct {
	read   []string // the columns of the table
	lift   *lifter
	pick   []int         // the keys in the lifted batches
	schema *arrow.Schema // of the keys
}

func newTableKeys(table *arrow.Schema, on []string) (*tableKeys, error) {
	places, err := placesNamed(table, "the key", on)
	if err != nil {
		return nil, err
	}
	k := &tableKeys{}
	var fields []arrow.Field
	for i, p := range places {
		f := table.Field(p[0])
		at := slices.Index(k.read, f.Name)
		if at < 0 {
			at = len(k.read)
			k.read, fields = append(k.read, f.Name), append(fields, f)
		}
		places[i] = append(place{at}, p[1:]...)
	}
	k.lift, k.pick = newLifter(arrow.NewSchema(fields, nil), places)
	fields = nil
	for _, c := range k.pick {
		fields = append(fields, k.lift.schema.Field(c))
	}
	k.schema = arrow.NewSchema(fields, nil)
	return k, nil
}

func (k *tableKeys) columns() []int {
	out := make([]int, len(k.pick))
	for i := range out {
		out[i] = i
	}
	return out
}

// append sets the keys of a batch aside.
func (k *tableKeys) append(mem memory.Allocator, to *spill.Buffer, batch arrow.RecordBatch) error {
	lifted, err := k.lift.batch(mem, batch)
	if err != nil {
		return err
	}
	defer lifted.Release()
	keys := array.NewRecordBatch(k.schema, pick(lifted, k.pick), lifted.NumRows())
	defer keys.Release()
	return to.Append(keys)
}

// count counts the keys of a part that fits the budget.
func (p *Duplicates) count(ctx context.Context, part *spill.Buffer, out *Found) error {
	batch, err := gather(ctx, p.Env.Allocator, part)
	if err != nil || batch == nil {
		return err
	}
	defer batch.Release()
	index, err := rows.NewIndex(batch.Columns(), int(batch.NumRows()))
	if err != nil {
		return err
	}
	out.Distinct += int64(index.Distinct())
	out.Extra += batch.NumRows() - int64(index.Distinct())
	if batch.NumRows() == int64(index.Distinct()) || len(out.Samples) >= p.samples() {
		return nil
	}
	return p.sample(batch, index, p.samples(), out)
}

// one counts a part that has one key.
func (p *Duplicates) one(part *spill.Buffer, out *Found) error {
	out.Distinct++
	out.Extra += part.Rows() - 1
	if len(out.Samples) >= p.samples() {
		return nil
	}
	first, err := part.At(0)
	if err != nil {
		return err
	}
	defer first.Release()
	out.Samples = append(out.Samples, Duplicate{Key: describe(first, fieldNames(first.Schema()), 0), Count: part.Rows()})
	return nil
}

func (p *Duplicates) samples() int {
	if p.Samples == 0 {
		return 10
	}
	return p.Samples
}

func (p *Duplicates) sample(batch arrow.RecordBatch, index *rows.Index, limit int, out *Found) error {
	first := make([]int32, batch.NumRows())
	if err := index.Probe(batch.Columns(), first); err != nil {
		return err
	}
	names := fieldNames(batch.Schema())
	for i, f := range first {
		if int(f) != i || index.Next(f) < 0 {
			continue
		}
		n := int64(0)
		for r := f; r >= 0; r = index.Next(r) {
			n++
		}
		out.Samples = append(out.Samples, Duplicate{Key: describe(batch, names, i), Count: n})
		if len(out.Samples) == limit {
			return nil
		}
	}
	return nil
}

package logcheck

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// columnsTag is the key in add.tags under which a file with a digest says of which columns that is.
const columnsTag = "idem.columns"

// tagged is a file as a commit of idem added it.
type tagged struct {
	version int64
	file    *delta.Add
	snap    *delta.Snapshot
}

// tags looks at the digests that a commit of idem gives files.
func (c *checker) tags(s *step) {
	if !s.ours || !s.after.HasSchema() {
		return
	}
	for _, f := range s.adds {
		_, _, ok := fingerprint(f)
		if !ok || s.returns() {
			continue
		}
		switch trusts := trusted(s.after, f); {
		case trusts:
			c.tagged = append(c.tagged, tagged{s.v, f, s.after})
		case c.authors[f.Key].version == s.v:
			c.find(TagColumns, s.v, f.Path, "the tag says %q, the columns are %q", f.Tags[columnsTag], columnsOf(s.after, math.MaxInt64))
		}
	}
}

// trusted says whether a writer takes the digest of a file for one of the columns as they are named now.
func trusted(snap *delta.Snapshot, f *delta.Add) bool {
	said, ok := f.Tags[columnsTag]
	if snap.Mapping() == delta.MappingNone || !ok {
		return snap.Mapping() == delta.MappingNone && !ok
	}
	upTo, _, _ := strings.Cut(said, ":")
	id, err := strconv.ParseInt(upTo, 10, 64)
	return err == nil && said == columnsOf(snap, id)
}

// columnsOf is the text of the tag for the columns with ids up to a bound: the greatest of them, and a hash of
// all with their names, those of a struct in the order of these.
func columnsOf(snap *delta.Snapshot, upTo int64) string {
	h, highest := fnv.New64a(), int64(0)
	var visit func(t delta.Type, path string)
	visit = func(t delta.Type, path string) {
		switch t := t.(type) {
		case *delta.Struct:
			for _, f := range slices.SortedFunc(slices.Values(t.Fields), func(a, b delta.Field) int { return strings.Compare(a.Name, b.Name) }) {
				if id, err := strconv.ParseInt(string(f.Metadata["delta.columnMapping.id"]), 10, 64); err == nil && id <= upTo {
					highest = max(highest, id)
					fmt.Fprintf(h, "%d %q\n", id, path+f.Name)
				}
				visit(f.Type, path+f.Name+"\x00")
			}
		case *delta.Array:
			visit(t.Element, path+"element\x00")
		case *delta.Map:
			visit(t.Key, path+"key\x00")
			visit(t.Value, path+"value\x00")
		}
	}
	visit(snap.Schema(), "")
	if upTo != math.MaxInt64 {
		highest = upTo
	}
	return fmt.Sprintf("%d:%016x", highest, h.Sum64())
}

// past holds the digests of files that are live no more, or under another vector, against their rows,
// if the files are there.
func (c *checker) past(ctx context.Context) error {
	for _, t := range c.tagged {
		if f, ok := c.snap.Live(t.file.Key); ok && f.DeletionVector.ID() == t.file.DeletionVector.ID() || c.toldOf(t.version) {
			continue
		}
		is, known, err := c.sum(ctx, t.snap, t.file)
		if err != nil {
			return err
		}
		if n, d, _ := fingerprint(t.file); known && is != (sum{n, d}) {
			c.find(TagFingerprint, t.version, t.file.Path, "the tag says %d rows and %s, the file has %d rows and %s", n, d, is.rows, is.digest)
		}
	}
	return nil
}

// payload holds the rows and the digest that a commit keeps beside a tag against the rows that it wrote:
// those that it added, or those of the slice that it replaced. A merge keeps the digest of its source,
// which is nowhere in the table.
func (c *checker) payload(ctx context.Context, s *step) error {
	if !s.ours || s.info.Operation != "WRITE" || !s.after.HasSchema() || c.toldOf(s.v) {
		return nil
	}
	for _, a := range s.actions {
		of, ok := "", false
		if a.Txn != nil {
			of, ok = strings.CutPrefix(a.Txn.AppID, ownApps+"rows/")
		}
		if !ok {
			continue
		}
		bits, _ := s.after.Txn(ownApps + "digest/" + of)
		var seen []string
		for _, w := range c.writes(s) {
			is, known, err := c.wrote(ctx, s.after, w)
			if err != nil {
				return err
			}
			low := int64(is.digest.Lo & math.MaxInt64)
			if !known || is.rows == a.Txn.Version && low == bits.Version {
				seen = nil
				break
			}
			seen = append(seen, fmt.Sprintf("%d (…%016x)", is.rows, low))
		}
		if len(seen) > 0 {
			c.find(TxnPayload, s.v, s.key, "beside the tag of %q are %d rows (…%016x), the commit wrote %s", of, a.Txn.Version, bits.Version, strings.Join(seen, " or "))
		}
	}
	return nil
}

// write is what a commit may have been given: rows of files, in a slice if where is not nil, without the
// columns that the table filled in.
type write struct {
	files   []*delta.Add
	where   *pred.Predicate
	without map[string]bool
}

// writes are the possible ones of a step: which of the columns that can have another value at each call the
// rows had themselves is not in the log. There is none if nothing can be told.
func (c *checker) writes(s *step) (out []write) {
	files := s.adds
	var where *pred.Predicate
	if s.info.OperationParameters["mode"] == "Overwrite" {
		var told bool
		if files, told = overwritten(s); !told {
			return nil
		}
		if text, ok := s.info.OperationParameters["predicate"].(string); ok {
			e, err := expr.Parse(text)
			if err == nil {
				where, err = pred.Bind(e, s.after.ArrowSchema())
			}
			if err != nil {
				return nil
			}
		}
	}
	fleeting := fleetingColumns(s.after.Schema())
	if len(fleeting) > maxFleeting {
		return nil
	}
	for set := range 1 << len(fleeting) {
		one := write{files: files, where: where, without: map[string]bool{}}
		for i, name := range fleeting {
			if set&(1<<i) != 0 {
				one.without[name] = true
			}
		}
		out = append(out, one)
	}
	return out
}

// overwritten are the files in which the rows of an overwrite are: all or, if the partitions of the rows
// alone were meant, those of the partitions that have new ones. It is not told which these are where the
// partitions held the rows already.
func overwritten(s *step) (files []*delta.Add, told bool) {
	files = slices.Collect(s.after.Files())
	if s.info.OperationParameters["isDynamicPartitionOverwrite"] != true {
		return files, true
	}
	return slices.DeleteFunc(files, func(f *delta.Add) bool {
		return !slices.ContainsFunc(s.adds, func(a *delta.Add) bool { return maps.EqualFunc(a.PartitionValues, f.PartitionValues, sameText) })
	}), len(s.adds) > 0
}

func sameText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// maxFleeting bounds the columns of which every choice is tried.
const maxFleeting = 4

// fleeting finds defaults that depend on when they are asked for.
var fleeting = regexp.MustCompile(`(?i)current_|now\s*\(|localtime`)

// fleetingColumns are those that the table can fill with another value at each call: numbers, times, and what is
// generated where there are such.
func fleetingColumns(schema *delta.Struct) (names []string) {
	var generated []string
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if _, ok := identityOf(f); ok || fleeting.Match(f.Metadata["CURRENT_DEFAULT"]) {
			names = append(names, f.Name)
		} else if f.Metadata["delta.generationExpression"] != nil {
			generated = append(generated, f.Name)
		}
	}
	if len(names) > 0 {
		names = append(names, generated...)
	}
	return names
}

// wrote are the rows of a write. known is false if a file is gone.
func (c *checker) wrote(ctx context.Context, snap *delta.Snapshot, w write) (total sum, known bool, err error) {
	for _, f := range w.files {
		var one sum
		if w.where == nil && len(w.without) == 0 {
			one, known, err = c.sum(ctx, snap, f)
		} else {
			one, known, err = c.partOf(ctx, snap, f, w)
		}
		if err != nil || !known {
			return total, false, err
		}
		total = total.plus(one)
	}
	return total, true, nil
}

// partOf are those live rows of a file that a write is of.
func (c *checker) partOf(ctx context.Context, snap *delta.Snapshot, f *delta.Add, w write) (total sum, known bool, err error) {
	err = c.rowsOf(ctx, snap, f, scan.LiveOptions{}, func(p scan.Piece) error {
		var fields []arrow.Field
		var columns []arrow.Array
		for i, f := range p.Batch.Schema().Fields() {
			if !w.without[f.Name] {
				fields, columns = append(fields, f), append(columns, p.Batch.Column(i))
			}
		}
		rest := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, p.Batch.NumRows())
		defer rest.Release()
		digests := make([]rows.Digest, rest.NumRows())
		if err := rows.RowDigests(rest, digests); err != nil {
			return err
		}
		within := func(int) bool { return true }
		if w.where != nil {
			mask, err := w.where.Eval(memory.DefaultAllocator, p.Batch)
			if err != nil {
				return errUntold
			}
			defer mask.Release()
			within = func(i int) bool { return mask.IsValid(i) && mask.Value(i) }
		}
		for i, d := range digests {
			if within(i) {
				total = total.plus(sum{1, d})
			}
		}
		return nil
	})
	return total, err == nil, ignoreGone(err)
}

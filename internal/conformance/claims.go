package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// claim is what a line says about the rows of a version.
type claim struct {
	rows   *int64
	hashes []string
	data   json.RawMessage
}

// hashes are the hashes of which one is right.
func (c *check) hashes(first string, version *int64) []string {
	var out []string
	if first != "" {
		out = append(out, first)
	}
	if version != nil {
		if other := c.line.OtherHashes[strconv.FormatInt(*version, 10)]; other != "" {
			out = append(out, other)
		}
	}
	return out
}

func (c *check) table(snap *delta.Snapshot) scan.Table {
	return scan.Table{Store: c.store, Snapshot: snap, Stats: c.log, Parallelism: 1}
}

// rows reads a snapshot and compares. An error is the scan's.
func (c *check) rows(ctx context.Context, snap *delta.Snapshot, want claim) error {
	if showsShredding(c.line.Data) {
		return c.variantRows(ctx, snap, want)
	}
	var canonical [][]byte
	var sum multiset
	hashed := len(want.hashes) > 0
	err := eachRow(scan.Rows(ctx, c.table(snap), scan.Request{}), func(row []byte) {
		if sum.add(row); hashed {
			canonical = append(canonical, slices.Clone(row))
		}
	})
	if err != nil {
		return err
	}
	if want.rows != nil && sum.rows != *want.rows {
		c.fault("version %d has %d rows, not %d", snap.Version(), sum.rows, *want.rows)
		return nil
	}
	switch {
	case hashed:
		if got := Hash(canonical); !slices.Contains(want.hashes, got) {
			c.fault("version %d: the rows hash to %s, not %s; the first is %s", snap.Version(), got, want.hashes[0], firstOf(canonical))
		}
	case len(want.data) > 0 && string(want.data) != "null":
		c.compareData(ctx, snap, sum, want.data)
	}
	return nil
}

// eachRow calls f with the canonical text of each row, which is valid until the next.
func eachRow(batches iter.Seq2[arrow.RecordBatch, error], f func(row []byte)) error {
	var row []byte
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for i := range int(batch.NumRows()) {
			if row, err = AppendRow(row[:0], batch, i); err != nil {
				return err
			}
			f(row)
		}
	}
	return nil
}

func firstOf(rows [][]byte) []byte {
	if len(rows) == 0 {
		return nil
	}
	return slices.MinFunc(rows, bytes.Compare)
}

// multiset identifies rows whatever their order: their number, and the sum of their hashes.
type multiset struct {
	rows int64
	sum  [4]uint64
}

func (m *multiset) add(row []byte) {
	m.rows++
	h := sha256.Sum256(row)
	for i := range m.sum {
		m.sum[i] += binary.LittleEndian.Uint64(h[8*i:])
	}
}

// compareData compares with rows that are given as JSON, or in a directory of Parquet files.
func (c *check) compareData(ctx context.Context, snap *delta.Snapshot, got multiset, data json.RawMessage) {
	want, err := c.expected(ctx, snap, data)
	if err != nil {
		c.fault("expected rows of version %d: %v", snap.Version(), err)
		return
	}
	if want != got {
		c.fault("version %d: %d rows that differ from the %d expected ones", snap.Version(), got.rows, want.rows)
	}
}

func (c *check) expected(ctx context.Context, snap *delta.Snapshot, data json.RawMessage) (want multiset, err error) {
	var dir string
	if json.Unmarshal(data, &dir) == nil {
		return c.expectedFiles(ctx, snap, dir)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return want, err
	}
	for _, text := range list {
		row, err := canonicalJSON(text)
		if err != nil {
			return want, err
		}
		want.add(row)
	}
	return want, nil
}

func (c *check) expectedFiles(ctx context.Context, snap *delta.Snapshot, dir string) (want multiset, err error) {
	full := filepath.Join(c.root, filepath.FromSlash(dir))
	st, err := store.OpenDir(full)
	if err != nil {
		return want, err
	}
	files := 0
	err = filepath.WalkDir(full, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".parquet" || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		files++
		rel, err := filepath.Rel(full, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		src := parquetio.Object(ctx, st, filepath.ToSlash(rel), info.Size())
		return addFile(ctx, src, snap.ArrowSchema(), &want)
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("no Parquet file in %s", dir)
	}
	return want, err
}

func addFile(ctx context.Context, src parquetio.Source, schema *arrow.Schema, to *multiset) error {
	r, err := parquetio.Parquet{}.Open(ctx, src, parquetio.ReadOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	return eachRow(r.Batches(ctx, schema), to.add)
}

// state compares what the log says of the newest version.
func (c *check) state(snap *delta.Snapshot) {
	l := c.line
	if l.Version != nil && snap.Version() != *l.Version {
		c.fault("the newest version is %d, not %d", snap.Version(), *l.Version)
	}
	if l.Files != nil && snap.NumFiles() != *l.Files {
		c.fault("%d files, not %d", snap.NumFiles(), *l.Files)
	}
	if n := count(snap.Tombstones()); l.Tombstones != nil && n != *l.Tombstones {
		c.fault("%d tombstones, not %d", n, *l.Tombstones)
	}
	if got := c.schemaText(snap); l.Schema != "" && got != l.Schema {
		c.fault("the schema is %s, not %s", got, l.Schema)
	}
	if l.PartitionColumns != nil && !slices.Equal(snap.PartitionColumns(), l.PartitionColumns) {
		c.fault("the partition columns are %q, not %q", snap.PartitionColumns(), l.PartitionColumns)
	}
	for key, want := range l.Configuration {
		if got, ok := snap.Property(key); !ok || got != want {
			c.fault("the property %s is %q, not %q", key, got, want)
		}
	}
	c.named(snap)
}

// schemaText is the schema in one line. Where the claim comes from Spark's, which is silent about
// nullability, this is too.
func (c *check) schemaText(snap *delta.Snapshot) string {
	text := snap.Schema().String()
	if c.line.SparkSchema != "" {
		text = strings.ReplaceAll(text, " not null", "")
	}
	return text
}

func count[T any](seq iter.Seq[T]) (n int) {
	for range seq {
		n++
	}
	return n
}

// named compares what has a name: transactions, domains and files.
func (c *check) named(snap *delta.Snapshot) {
	l := c.line
	for app, want := range l.Txns {
		if got, ok := snap.Txn(app); !ok || got.Version != want {
			c.fault("the txn of %q is at %d, not at %d", app, got.Version, want)
		}
	}
	if n := count(snap.Txns()); l.Txns != nil && n != len(l.Txns) {
		c.fault("%d app ids have a txn, not %d", n, len(l.Txns))
	}
	domains := map[string]string{}
	for d := range snap.Domains() {
		domains[d.Domain] = d.Configuration
	}
	for _, name := range l.Domains {
		if _, ok := domains[name]; !ok {
			c.fault("the domain %s is missing", name)
		}
	}
	if l.Domains != nil && len(domains) != len(l.Domains) {
		c.fault("%d domains, not %d", len(domains), len(l.Domains))
	}
	for name, want := range l.DomainTexts {
		if domains[name] != want {
			c.fault("the domain %s is %q, not %q", name, domains[name], want)
		}
	}
	for key, want := range l.NamedFiles {
		got, ok := snap.Live(key)
		if !ok || want.ModificationTime != nil && got.ModificationTime != *want.ModificationTime {
			c.fault("the file %s is not live, or of another time", key)
		}
	}
}

// readCheckpoint holds the load against the checkpoint that it should have begun with. Of what this
// package cannot tell apart (which of several of one version) nothing is said.
func (c *check) readCheckpoint() {
	text, _, ok := strings.Cut(c.line.CheckpointUsed, ":")
	version, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return
	}
	for key := range c.store.read {
		switch f := delta.ParseLogFile(key); f.Kind {
		case delta.Checkpoint, delta.CheckpointPart, delta.CheckpointUUID:
			if f.Version == version {
				return
			}
		}
	}
	c.fault("the checkpoint of version %d was not read", version)
}

// versions looks at earlier versions.
func (c *check) versions(ctx context.Context) {
	for _, v := range c.line.Versions {
		snap, err := c.log.LoadAt(ctx, v.Version)
		if v.Error != "" {
			if err == nil {
				c.fault("version %d was loaded: %s", v.Version, v.Error)
			}
			continue
		}
		if err == nil && v.Files != nil && snap.NumFiles() != *v.Files {
			c.fault("version %d has %d files, not %d", v.Version, snap.NumFiles(), *v.Files)
		}
		if err == nil && v.Rows != nil && snap.HasSchema() {
			want := claim{rows: v.Rows, hashes: c.hashes(v.Hash, &v.Version)}
			if dir := c.line.VersionData[strconv.FormatInt(v.Version, 10)]; dir != "" && v.Hash == "" {
				want.data, _ = json.Marshal(dir)
			}
			err = c.rows(ctx, snap, want)
		}
		if name := c.lackedAt(ctx, v.Version, err); name != "" {
			c.note("version %d needs %s: %v", v.Version, name, err)
			continue
		}
		c.excuse(err, "version %d", v.Version)
	}
	for _, v := range c.line.Unreadable {
		snap, err := c.log.LoadAt(ctx, v)
		if err == nil {
			err = c.rows(ctx, snap, claim{})
		}
		if err == nil {
			c.fault("version %d was read; its files are gone", v)
		}
	}
}

// lackedAt names the feature for lack of which an earlier version was refused, if the protocol in
// effect then did demand it: a later one may not.
func (c *check) lackedAt(ctx context.Context, version int64, err error) string {
	if !errors.Is(err, delta.ErrUnsupported) {
		return ""
	}
	for ; version >= 0; version-- {
		actions, _, e := c.log.ReadCommit(ctx, version)
		if e != nil {
			return ""
		}
		for _, a := range actions {
			if a.Protocol == nil {
				continue
			}
			names := a.Protocol.ReaderFeatures
			if a.Protocol.MinReaderVersion == 2 {
				names = []string{"columnMapping"}
			}
			i := slices.IndexFunc(names, func(n string) bool { return lacksFeature(n) && strings.Contains(err.Error(), n) })
			if i < 0 {
				return ""
			}
			return names[i]
		}
	}
	return ""
}

// excuse takes an error of something that is to be read.
func (c *check) excuse(err error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	switch {
	case err == nil:
	case c.lacks(err), c.line.mayRefuse() && named(err):
		c.note("%s: %v", what, err)
	default:
		c.fault("%s must be read: %v", what, err)
	}
}

// times compares commit timestamps, and the table as of instants.
func (c *check) times(ctx context.Context, snap *delta.Snapshot) {
	if len(c.line.CommitTimes) > 0 {
		left := len(c.line.CommitTimes)
		for commit, err := range c.log.History(ctx, snap) {
			if err != nil {
				c.fault("history: %v", err)
				break
			}
			want, ok := c.line.CommitTimes[strconv.FormatInt(commit.Version, 10)]
			if left--; ok && commit.Timestamp.UnixMilli() != want {
				c.fault("commit %d is of %d ms, not of %d", commit.Version, commit.Timestamp.UnixMilli(), want)
			}
		}
		if left > 0 {
			c.fault("the history lacks %d commits", left)
		}
	}
	for _, at := range c.line.TimestampTravel {
		c.travel(ctx, at)
	}
}

func (c *check) travel(ctx context.Context, at TimestampLine) {
	when, err := time.Parse(time.RFC3339Nano, at.Timestamp)
	if err != nil {
		c.note("as of %s: %v", at.Timestamp, err)
		return
	}
	version, err := c.log.VersionAt(ctx, when, nil)
	if at.Refused != "" {
		if err == nil {
			c.fault("as of %s version %d was found; it must be refused: %s", at.Timestamp, version, at.Refused)
		}
		return
	}
	if err == nil {
		var snap *delta.Snapshot
		if snap, err = c.log.LoadAt(ctx, version); err == nil {
			err = c.rows(ctx, snap, claim{rows: at.Rows, hashes: c.hashes(at.Hash, nil)})
		}
	}
	c.excuse(err, "the table as of %s", at.Timestamp)
}

// conditions counts the rows that satisfy conditions. One that compares a string with a number is
// noted: Spark reads the string in each row, idem refuses.
func (c *check) conditions(ctx context.Context, snap *delta.Snapshot) {
	for _, p := range c.line.Conditions {
		if p.Refused != "" || p.Rows == nil && p.FilesAfter == nil {
			continue
		}
		where, err := expr.Parse(p.Predicate)
		if err == nil {
			err = c.condition(ctx, snap, where, p)
		}
		switch {
		case errors.Is(err, delta.ErrInput) && strings.Contains(err.Error(), "is not compared with"):
			c.note("not evaluated: %s: %v", p.Predicate, err)
		case err != nil:
			c.fault("%s: %v", p.Predicate, err)
		}
	}
}

func (c *check) condition(ctx context.Context, snap *delta.Snapshot, where expr.Expr, p ConditionLine) error {
	pruned, err := scan.Prune(ctx, c.table(snap), where)
	if err != nil {
		return err
	}
	if n := len(pruned.Inside) + len(pruned.Across); p.FilesAfter != nil && n != *p.FilesAfter {
		c.fault("%s: %d files are left, not %d", p.Predicate, n, *p.FilesAfter)
	}
	if p.Rows == nil {
		return nil
	}
	rows := int64(0)
	for batch, err := range scan.Rows(ctx, c.table(snap), scan.Request{Where: where}) {
		if err != nil {
			return err
		}
		rows += batch.NumRows()
	}
	if rows != *p.Rows {
		c.fault("%s: %d rows, not %d", p.Predicate, rows, *p.Rows)
	}
	return nil
}

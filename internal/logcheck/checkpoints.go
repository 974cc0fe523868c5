package logcheck

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
)

// compareCheckpoints holds the checkpoints of a version against the state that its commits left.
func (c *checker) compareCheckpoints(ctx context.Context, v int64) error {
	for _, cp := range c.checkpoints[v] {
		got, in, err := c.load(ctx, cp)
		if broken(err) {
			c.find(CheckpointEqual, v, cp.parts[0].Key, "%v", err)
			continue
		}
		if err != nil {
			return err
		}
		c.checkpointForm(cp, in)
		c.hintEqual(cp, in)
		differences := c.differences(got)
		for _, difference := range differences {
			c.find(CheckpointEqual, v, cp.parts[0].Key, "%s", difference)
		}
		if len(differences) > 0 {
			continue
		}
		if err := c.typed(ctx, cp, in); err != nil {
			return err
		}
	}
	return nil
}

// differences tells where a checkpoint departs from the replay, one line for each kind.
func (c *checker) differences(got *delta.Snapshot) []string {
	var out []string
	differ := func(what string, same bool) {
		if !same {
			out = append(out, what+" differs")
		}
	}
	differ("protocol", sameProtocol(got.Protocol(), c.snap.Protocol()))
	differ("metaData", sameMetadata(got.Metadata(), c.snap.Metadata()))
	differ("domainMetadata", slices.Equal(slices.Collect(got.Domains()), slices.Collect(c.snap.Domains())))
	out = append(out, c.txnDifferences(got)...)
	out = append(out, c.fileDifferences(got)...)
	return append(out, c.tombstoneDifferences(got)...)
}

func sameProtocol(a, b *delta.Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		sameSet(a.ReaderFeatures, b.ReaderFeatures) && sameSet(a.WriterFeatures, b.WriterFeatures)
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sameMetadata(a, b *delta.Metadata) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Description == b.Description && a.Provider == b.Provider &&
		a.SchemaString == b.SchemaString && slices.Equal(a.PartitionColumns, b.PartitionColumns) &&
		maps.Equal(a.Configuration, b.Configuration) && maps.Equal(a.FormatOptions, b.FormatOptions) &&
		reflect.DeepEqual(a.CreatedTime, b.CreatedTime)
}

// txnDifferences compares txns. One may be missing that the table's retention lets go.
func (c *checker) txnDifferences(got *delta.Snapshot) []string {
	retention, expires := c.snap.TxnRetention()
	horizon := time.UnixMilli(c.latest).Add(-retention).UnixMilli()
	for t := range c.snap.Txns() {
		g, ok := got.Txn(t.AppID)
		if !ok && expires && t.LastUpdated != nil && *t.LastUpdated <= horizon {
			continue
		}
		if !ok || !reflect.DeepEqual(g, t) {
			return []string{fmt.Sprintf("the txn of %q differs", t.AppID)}
		}
	}
	for t := range got.Txns() {
		if _, ok := c.snap.Txn(t.AppID); !ok {
			return []string{fmt.Sprintf("it has a txn of %q", t.AppID)}
		}
	}
	return nil
}

func (c *checker) fileDifferences(got *delta.Snapshot) []string {
	if got.NumFiles() != c.snap.NumFiles() {
		return []string{fmt.Sprintf("it has %d live files, the commits leave %d", got.NumFiles(), c.snap.NumFiles())}
	}
	columns, kept := leaves(c.snap), map[string]leaf(nil)
	text, _ := c.snap.Property("delta.checkpoint.writeStatsAsJson")
	withoutStats := strings.EqualFold(text, "false")
	if withoutStats { // in columns, there are those of the columns that the table chooses now
		kept = chosen(c.snap, c.snap.Metadata().Configuration)
	}
	for want := range c.snap.Files() {
		g, ok := got.Live(want.Key)
		switch {
		case !ok:
			return []string{fmt.Sprintf("%s is not live", want.Path)}
		case !sameAdd(g, want):
			return []string{fmt.Sprintf("the add of %s differs", want.Path)}
		case g.Stats == "" && withoutStats:
		case !sameStats(columns, kept, g.Stats, want.Stats):
			return []string{fmt.Sprintf("the statistics of %s differ", want.Path)}
		}
	}
	return nil
}

// sameAdd compares two adds but for statistics and dataChange.
func sameAdd(a, b *delta.Add) bool {
	x, y := *a, *b
	x.Stats, x.StatsDeferred, x.DataChange = y.Stats, y.StatsDeferred, y.DataChange
	x.Tags, y.Tags = orEmpty(x.Tags), orEmpty(y.Tags)
	return reflect.DeepEqual(x, y)
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// sameStats compares statistics by what a reader makes of them: their text may have been through
// the columns of a checkpoint. kept are the columns of which a has those of b; nil if all, and it may lack others.
func sameStats(columns []leaf, kept map[string]leaf, a, b string) bool {
	if a == b {
		return true
	}
	x, okX := delta.ParseStats(a)
	y, okY := delta.ParseStats(b)
	if !okX || !okY || !reflect.DeepEqual(x.NumRecords, y.NumRecords) {
		return false
	}
	for _, l := range columns {
		minX, maxX, nullsX := x.Column(l.path, l.typ)
		if _, must := kept[joined(l.path)]; kept != nil && !must && minX == nil && maxX == nil && nullsX < 0 {
			continue
		}
		minY, maxY, nullsY := y.Column(l.path, l.typ)
		if nullsX != nullsY || !sameBound(minX, minY) || !sameBound(maxX, maxY) {
			return false
		}
	}
	return true
}

// tombstoneDifferences compares removes. One may be missing that has expired.
func (c *checker) tombstoneDifferences(got *delta.Snapshot) []string {
	horizon := time.UnixMilli(c.latest).Add(-c.snap.TombstoneRetention()).UnixMilli()
	kept := byIdentity(got.Tombstones())
	for id, want := range byIdentity(c.snap.Tombstones()) {
		g, ok := kept[id]
		expired := want.DeletionTimestamp == nil || *want.DeletionTimestamp <= horizon
		switch {
		case !ok && expired:
		case !ok:
			return []string{fmt.Sprintf("the remove of %s is missing and has not expired", want.Path)}
		case !reflect.DeepEqual(g.DeletionTimestamp, want.DeletionTimestamp) || !reflect.DeepEqual(g.Size, want.Size):
			return []string{fmt.Sprintf("the remove of %s differs", want.Path)}
		}
		delete(kept, id)
	}
	for _, r := range kept {
		return []string{fmt.Sprintf("it has a remove of %s", r.Path)}
	}
	return nil
}

func byIdentity(removes iter.Seq[*delta.Remove]) map[string]*delta.Remove {
	out := map[string]*delta.Remove{}
	for r := range removes {
		out[r.Path+"\x00"+r.DeletionVector.ID()] = r
	}
	return out
}

package metamorphic_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/parquetio"
)

// layout is how a table lies in its store and how it is worked on: options that must not matter to
// what its rows are.
type layout struct {
	properties  map[string]string
	partitioned bool
	clustered   bool
	checkpoints string // whose shape: "" as idem writes them, "parts" or "sidecars" of a few actions, "json"
	codec       groups
	parallelism int
	memory      int64
	target      int64
}

func (l layout) String() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(l.properties)) {
		out = append(out, fmt.Sprintf("%s=%s", strings.TrimPrefix(k, "delta."), l.properties[k]))
	}
	return fmt.Sprintf("partitioned=%t clustered=%t checkpoints=%q rowGroupRows=%d codec=%q pageV2=%t Parallelism=%d MemoryBytes=%d TargetFileBytes=%d %s",
		l.partitioned, l.clustered, l.checkpoints, l.codec.rows, l.codec.name, l.codec.pageV2, l.parallelism, l.memory, l.target, strings.Join(out, " "))
}

// demands are what all worlds of a history have to have, for operations that need it.
type demands struct {
	mapped, widening, partitioned, flat bool // flat: no partitions
}

var switches = []string{"delta.enableDeletionVectors", "delta.enableChangeDataFeed", "delta.enableRowTracking", "delta.enableInCommitTimestamps", "delta.checkpoint.writeStatsAsStruct"}

func drawLayout(t *rapid.T, d demands) layout {
	l := layout{properties: map[string]string{}}
	for _, key := range switches {
		if rapid.Bool().Draw(t, key) {
			l.properties[key] = "true"
		}
	}
	modes := []string{"", "name", "id"}
	if d.mapped {
		modes = modes[1:]
	}
	for _, p := range []struct {
		key    string
		values []string
	}{
		{"delta.columnMapping.mode", modes}, {"delta.checkpointInterval", []string{"", "1", "2", "5"}}, {"delta.dataSkippingNumIndexedCols", []string{"", "0", "2", "-1"}},
		{"delta.checkpoint.writeStatsAsJson", []string{"", "", "false"}}, {"delta.checkpointPolicy", []string{"", "classic", "v2"}},
	} {
		if v := rapid.SampledFrom(p.values).Draw(t, p.key); v != "" {
			l.properties[p.key] = v
		}
	}
	if d.widening {
		l.properties["delta.enableTypeWidening"] = "true"
	}
	l.partitioned = d.partitioned || !d.flat && rapid.Bool().Draw(t, "partitioned")
	l.clustered = !l.partitioned && rapid.IntRange(0, 3).Draw(t, "clustered") == 0
	l.checkpoints = rapid.SampledFrom([]string{"", "parts", "sidecars", "json"}).Draw(t, "checkpoints")
	l.codec = groups{
		rows: rapid.SampledFrom([]int64{0, 1, 3}).Draw(t, "rows of a row group"), name: rapid.SampledFrom([]string{"", "zstd", "none", "gzip"}).Draw(t, "codec"),
		pageV2: rapid.Bool().Draw(t, "pages of version 2"),
	}
	l.work(t)
	return l
}

// work draws how the table is worked on, which may differ from one opening to the next.
func (l *layout) work(t *rapid.T) {
	l.parallelism = rapid.SampledFrom([]int{1, 1, 2, 8}).Draw(t, "Parallelism")
	l.memory = rapid.SampledFrom([]int64{0, 0, 1, 4 << 10}).Draw(t, "MemoryBytes")
	l.target = rapid.SampledFrom([]int64{0, 1, 2 << 10}).Draw(t, "TargetFileBytes")
}

func (l layout) definition() idem.Definition {
	var columns []arrow.Field
	for _, c := range firstColumns {
		columns = append(columns, arrow.Field{Name: c.name, Type: c.typ, Nullable: true})
	}
	d := idem.Definition{Schema: arrow.NewSchema(columns, nil), Properties: l.properties}
	if l.partitioned {
		d.PartitionBy = []string{"day"}
	}
	if l.clustered {
		d.ClusterBy = []string{"id", "place.city"}
	}
	return d
}

// groups is the codec of data files with row groups of a few rows.
type groups struct {
	parquetio.Parquet
	rows   int64
	name   string
	pageV2 bool
}

func (g groups) options(o parquetio.WriteOptions) parquetio.WriteOptions {
	o.RowGroupRows, o.PageV2 = g.rows, g.pageV2
	if g.name != "" {
		o.Codec = g.name
	}
	return o
}

func (g groups) Ext(o parquetio.WriteOptions) string { return g.Parquet.Ext(g.options(o)) }

func (g groups) NewWriter(w io.Writer, schema *arrow.Schema, o parquetio.WriteOptions) (parquetio.Writer, error) {
	return g.Parquet.NewWriter(w, schema, g.options(o))
}

var _ parquetio.Codec = groups{}

func (g groups) in(ctx context.Context) context.Context { return parquetio.WithCodec(ctx, g) }

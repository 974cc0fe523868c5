package logcheck_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	. "github.com/idemtable/idem/internal/logcheck"
)

func TestAMalformedVariantIsFound(t *testing.T) {
	for _, c := range []struct {
		why   string
		value []byte
		found []Rule
	}{
		{"the number 1", []byte{0x0c, 1}, nil},
		{"a number without its byte", []byte{0x0c}, []Rule{RowVariant}},
		{"a byte too many", []byte{0x0c, 1, 1}, []Rule{RowVariant}},
	} {
		t.Run(c.why, func(t *testing.T) {
			m := &made{t: t, store: store.NewMem()}
			binary := arrow.BinaryTypes.Binary
			stored := arrow.StructOf(arrow.Field{Name: "metadata", Type: binary}, arrow.Field{Name: "value", Type: binary})
			b := array.NewStructBuilder(memory.DefaultAllocator, stored)
			b.Append(true)
			b.FieldBuilder(0).(*array.BinaryBuilder).Append([]byte{1, 0, 0}) // no keys
			b.FieldBuilder(1).(*array.BinaryBuilder).Append(c.value)
			size := m.put("a.parquet", arrow.NewSchema([]arrow.Field{{Name: "v", Type: stored, Nullable: true}}, nil), []arrow.Array{b.NewArray()}, 1)
			m.extend(
				delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"variantType"}, WriterFeatures: []string{"variantType"}}},
				delta.Action{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", Configuration: map[string]string{}, PartitionColumns: []string{},
					SchemaString: `{"type":"struct","fields":[{"name":"v","type":"variant","nullable":true,"metadata":{}}]}`}},
				delta.Action{Add: &delta.Add{Path: "a.parquet", PartitionValues: map[string]*string{}, Size: size, DataChange: true, Stats: `{"numRecords":1,"nullCount":{"v":0}}`}},
			)
			report, err := Check(t.Context(), m.store)
			require.NoError(t, err)
			var found []Rule
			for _, f := range report.Findings {
				found = append(found, f.Rule)
			}
			require.Equal(t, c.found, found)
		})
	}
}

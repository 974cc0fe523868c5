package interop_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem"
)

// declared is a column as a table declares it, and what its cells are.
type declared struct {
	name string
	typ  string      // as rows have it
	was  string      // as it was when the table was made, if it is widened then
	sql  string      // its declaration in Spark's SQL, after the name
	rule idem.Column // its declaration in ours

	given  func(id, seq int) any // what writers give; nil: they leave the column to the table
	expect func(id, seq int) any // what the table then holds; nil: what was given
	loose  bool                  // the table decides: engines are compared with each other alone
}

// base are the columns of every case. A row is told by id and seq; ids may repeat.
var base = []declared{
	{name: "id", typ: "long", sql: "BIGINT", given: func(id, _ int) any { return id }},
	{name: "day", typ: "string", sql: "STRING", given: dayOf},
	{name: "seq", typ: "long", sql: "BIGINT", given: func(_, seq int) any { return seq }},
	{name: "v", typ: "string", sql: "STRING", given: func(id, seq int) any { return fmt.Sprintf("v%d.%d", id, seq) }},
}

// dayOf moves with seq, so that an update of a row may move it to another partition.
func dayOf(id, seq int) any { return []any{"a", "b", nil}[(id+seq)%3] }

// trait is a table feature, with what makes a table use it. Traits combine.
type trait struct {
	name        string // the feature's, or a word where it has several
	features    []string
	properties  map[string]string
	columns     []declared
	partitionBy []string
	clusterBy   []string
	constraints map[string]string
	slice       string   // a column that partitions the table where it is partitioned
	alter       []string // SQL after Spark's CREATE; %s is the table
	widen       string   // SQL of both kinds, after rows of the narrow types
	unmade      bool     // Spark's SQL cannot make it in a table without a name
	foreign     bool     // idem does not make it, but takes it as Spark made it
	blind       map[engine]string
}

// Why an engine does not read tables with a trait.
const (
	unknownFeature = "the engine lacks the feature and says so"
	noVariants     = "the engine takes a variant for a struct, which its values are not"
	noVoid         = "the engine cannot parse the type"
	twoAndSeven    = "the engine refuses reader version 2 beside writer version 7"

	mappedPartitions = "the engine looks for partition values by the names of columns, not those of the log, and reads NULL"
)

// traits are in the order of delta/features.go; name and id are the two modes of column mapping.
var traits = []trait{
	{name: "plain"},
	{name: "partitioning", partitionBy: []string{"day"}},
	{name: "appendOnly", features: []string{"appendOnly"}, properties: map[string]string{"delta.appendOnly": "true"}},
	{name: "invariants", features: []string{"invariants"}, columns: []declared{
		{name: "must", typ: "long", sql: "BIGINT NOT NULL", given: func(id, _ int) any { return id }},
	}},
	{name: "checkConstraints", features: []string{"checkConstraints"}, constraints: map[string]string{"positive": "id > 0"},
		alter: []string{"ALTER TABLE %s ADD CONSTRAINT positive CHECK (id > 0)"}},
	{name: "changeDataFeed", features: []string{"changeDataFeed"}, properties: map[string]string{"delta.enableChangeDataFeed": "true"}},
	{name: "generatedColumns", features: []string{"generatedColumns"}, unmade: true, slice: "third", columns: []declared{
		{name: "third", typ: "long", sql: "BIGINT GENERATED ALWAYS AS (seq % 3)", rule: idem.Column{Generated: "seq % 3"}, expect: func(_, seq int) any { return seq % 3 }},
	}},
	{name: "columnMapping(name)", features: []string{"columnMapping"}, properties: map[string]string{"delta.columnMapping.mode": "name"}, slice: "odd, name", columns: odd},
	{name: "columnMapping(id)", features: []string{"columnMapping"}, properties: map[string]string{"delta.columnMapping.mode": "id"}, slice: "odd, name", columns: odd},
	{name: "identityColumns", features: []string{"identityColumns"}, unmade: true, columns: []declared{
		{name: "number", typ: "long", sql: "BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY 10)", rule: idem.Column{Identity: &idem.Identity{Start: 100, Step: 10}}, loose: true},
	}},
	{name: "deletionVectors", features: []string{"deletionVectors"}, properties: map[string]string{"delta.enableDeletionVectors": "true"}},
	{name: "timestampNtz", features: []string{"timestampNtz"}, columns: []declared{
		{name: "at", typ: "timestamp_ntz", sql: "TIMESTAMP_NTZ", given: func(id, seq int) any { return fmt.Sprintf("2024-02-29T12:%02d:%02d.000001", id%60, seq%60) }},
	}},
	{name: "v2Checkpoint", features: []string{"v2Checkpoint"}, properties: map[string]string{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "3"}},
	{name: "typeWidening", features: []string{"typeWidening"}, properties: map[string]string{"delta.enableTypeWidening": "true"}, slice: "big",
		blind: map[engine]string{deltaRS: unknownFeature},
		widen: "ALTER TABLE %s ALTER COLUMN big TYPE BIGINT", columns: widenedColumn},
	{name: "typeWidening-preview", features: []string{"typeWidening-preview"}, foreign: true, slice: "big",
		properties: map[string]string{"delta.feature.typeWidening-preview": "supported", "delta.enableTypeWidening": "true"},
		blind:      map[engine]string{deltaRS: unknownFeature}, widen: "ALTER TABLE %s ALTER COLUMN big TYPE BIGINT", columns: widenedColumn},
	{name: "variantType", features: []string{"variantType"}, columns: variants, blind: map[engine]string{duckDB: noVariants}},
	{name: "variantType-preview", features: []string{"variantType-preview"}, foreign: true, properties: map[string]string{"delta.feature.variantType-preview": "supported"},
		columns: variants, blind: map[engine]string{duckDB: noVariants}},
	{name: "variantShredding", features: []string{"variantShredding", "variantType"}, properties: map[string]string{"delta.enableVariantShredding": "true"}, columns: variants,
		blind: map[engine]string{deltaRS: unknownFeature, duckDB: noVariants}},
	{name: "variantShredding-preview", features: []string{"variantShredding-preview", "variantType"}, foreign: true, columns: variants,
		properties: map[string]string{"delta.feature.variantShredding-preview": "supported"},
		blind:      map[engine]string{deltaRS: unknownFeature, duckDB: noVariants}},
	{name: "vacuumProtocolCheck", features: []string{"vacuumProtocolCheck"}, properties: map[string]string{"delta.feature.vacuumProtocolCheck": "supported"}, blind: map[engine]string{deltaRS: unknownFeature}},
	{name: "domainMetadata", features: []string{"domainMetadata"}, properties: map[string]string{"delta.feature.domainMetadata": "supported"}},
	{name: "rowTracking", features: []string{"rowTracking", "domainMetadata"}, properties: map[string]string{"delta.enableRowTracking": "true"}},
	{name: "clustering", features: []string{"clustering", "domainMetadata"}, clusterBy: []string{"seq", "id"}},
	{name: "inCommitTimestamp", features: []string{"inCommitTimestamp"}, properties: map[string]string{"delta.enableInCommitTimestamps": "true"}},
	{name: "allowColumnDefaults", features: []string{"allowColumnDefaults"}, properties: map[string]string{"delta.feature.allowColumnDefaults": "supported"}, columns: []declared{
		{name: "kind", typ: "string", sql: "STRING DEFAULT 'un' || 'set'", rule: idem.Column{Default: "'un' || 'set'"}, expect: func(int, int) any { return "unset" }},
	}},
	{name: "icebergCompatV1", features: []string{"icebergCompatV1", "columnMapping"}, properties: map[string]string{"delta.enableIcebergCompatV1": "true", "delta.columnMapping.mode": "name"},
		blind: map[engine]string{duckDB: twoAndSeven}},
	{name: "icebergCompatV2", features: []string{"icebergCompatV2", "columnMapping"}, properties: map[string]string{"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"},
		blind: map[engine]string{duckDB: twoAndSeven}},
	{name: "materializePartitionColumns", features: []string{"materializePartitionColumns"}, partitionBy: []string{"day"},
		properties: map[string]string{"delta.enableMaterializePartitionColumnsFeature": "true"}},
	{name: "checkpointProtection", features: []string{"checkpointProtection"}, properties: map[string]string{"delta.feature.checkpointProtection": "supported"}},
	{name: "void", foreign: true, alter: []string{"ALTER TABLE %s ADD COLUMNS (" + voidColumn + " VOID)"}, blind: map[engine]string{duckDB: noVoid}},
	{name: "char and varchar", columns: []declared{
		{name: "code", typ: "string", sql: "CHAR(4)", rule: idem.Column{Type: "char(4)"},
			given: func(id, _ int) any { return fmt.Sprintf("%04d", id) }},
		{name: "short", typ: "string", sql: "VARCHAR(5)", rule: idem.Column{Type: "varchar(5)"}, given: func(id, seq int) any { return fmt.Sprintf("%d-%d", id%100, seq%100) }},
	}},
}

// widenedColumn is narrow when the table is made.
var widenedColumn = []declared{
	{name: "big", typ: "long", was: "integer", sql: "INT", given: func(id, seq int) any {
		if seq == 0 {
			return id % 2
		}
		return (id%2 + 1) * 10_000_000_000
	}},
}

// voidColumn is no declared one: Spark answers neither SELECT * nor MERGE on a table that has it, so it is
// never named.
const voidColumn = "nothing"

// odd is a column whose name needs column mapping.
var odd = []declared{
	{name: "odd, name", typ: "string", sql: "STRING", given: func(id, _ int) any { return fmt.Sprint("of ", id%2) }},
}

// variants hold a number of eight bits, or an array of such.
var variants = []declared{
	{name: "any", typ: "variant", sql: "VARIANT", given: func(id, seq int) any { return fmt.Sprintf("[%d,%d]", id%100, seq%100) }},
}

// variantOf is the variant of a list of numbers below 100, as text, in the cells of our rows.
func variantOf(text string) map[string]any {
	var numbers, offsets []byte
	for _, n := range strings.Split(strings.Trim(text, "[]"), ",") {
		var v byte
		fmt.Sscan(n, &v)
		offsets, numbers = append(offsets, byte(len(numbers))), append(numbers, 3<<2, v) // a primitive: int8
	}
	value := append([]byte{3, byte(len(offsets))}, append(append(offsets, byte(len(numbers))), numbers...)...) // an array, sizes of one byte
	return object("value", cell(value), "metadata", cell([]byte{1, 0, 0}))
}

func cell(b []byte) string { return "base64:" + base64.StdEncoding.EncodeToString(b) }

// meeting are the traits whose code paths meet: every pair of them is a case.
var meeting = []string{
	"partitioning", "changeDataFeed", "generatedColumns", "columnMapping(name)", "columnMapping(id)", "deletionVectors", "typeWidening", "rowTracking",
}

// crowds are further combinations. CHAR is in none: Spark cannot UPDATE a table that has such a column and
// tracks rows (it pads what it reads in a projection that hides _metadata).
var crowds = [][]string{
	{"deletionVectors", "changeDataFeed", "rowTracking", "columnMapping(name)", "partitioning", "generatedColumns", "inCommitTimestamp", "v2Checkpoint"},
	{"deletionVectors", "changeDataFeed", "rowTracking", "columnMapping(id)", "clustering", "identityColumns", "allowColumnDefaults", "timestampNtz"},
	{"deletionVectors", "changeDataFeed", "rowTracking", "typeWidening", "variantType", "checkConstraints", "invariants"},
}

// featureCase is a table with several traits, or one.
type featureCase struct {
	trait
	traits []trait
}

// featureCases are every trait alone, the pairs of those that meet, and the crowds. With several parts
// the pairs are those of one.
func featureCases(part, parts int) []featureCase {
	var out []featureCase
	for _, tr := range traits {
		out = append(out, combined(tr.name))
	}
	pairs := 0
	for i, a := range meeting {
		for _, b := range meeting[:i] {
			if strings.HasPrefix(a, "columnMapping") && strings.HasPrefix(b, "columnMapping") {
				continue
			}
			if pairs%parts == part%parts {
				out = append(out, combined(b, a))
			}
			pairs++
		}
	}
	for _, names := range crowds {
		out = append(out, combined(names...))
	}
	return out
}

func combined(names ...string) featureCase {
	c := featureCase{trait: trait{name: strings.Join(names, " + "), properties: map[string]string{}, constraints: map[string]string{}, blind: map[engine]string{}}}
	c.columns = slices.Clone(base)
	for _, name := range names {
		i := slices.IndexFunc(traits, func(tr trait) bool { return tr.name == name })
		tr := traits[i]
		c.traits = append(c.traits, tr)
		c.features = append(c.features, tr.features...)
		maps.Copy(c.properties, tr.properties)
		maps.Copy(c.constraints, tr.constraints)
		maps.Copy(c.blind, tr.blind)
		c.columns = append(c.columns, tr.columns...)
		c.partitionBy = append(c.partitionBy, tr.partitionBy...)
		c.clusterBy = append(c.clusterBy, tr.clusterBy...)
		c.alter = append(c.alter, tr.alter...)
		c.widen += tr.widen
		c.unmade, c.foreign = c.unmade || tr.unmade, c.foreign || tr.foreign
	}
	for _, tr := range c.traits {
		if len(c.partitionBy) > 0 && tr.slice != "" && len(c.traits) == 2 {
			c.partitionBy = append(c.partitionBy, tr.slice)
		}
	}
	return c
}

func (c *featureCase) has(name string) bool {
	return slices.ContainsFunc(c.traits, func(tr trait) bool { return tr.name == name })
}

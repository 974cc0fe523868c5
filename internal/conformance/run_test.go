package conformance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/conformance"
	"github.com/idemtable/idem/internal/parquetio"
)

const schemaText = `{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}`

// addRows writes a data file with the numbers given and returns its add.
func addRows(t *testing.T, st store.Store, key string, numbers ...int64) delta.Action {
	s, err := delta.ParseSchema(schemaText)
	require.NoError(t, err)
	schema, err := delta.ArrowSchema(s)
	require.NoError(t, err)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues(numbers, nil)
	w, err := st.Create(t.Context(), key)
	require.NoError(t, err)
	out, err := parquetio.Parquet{}.NewWriter(w, schema, parquetio.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, out.Write(b.NewRecordBatch()))
	require.NoError(t, out.Close())
	require.NoError(t, w.Close())
	info, err := st.Head(t.Context(), key)
	require.NoError(t, err)
	return delta.Action{Add: &delta.Add{Path: key, PartitionValues: map[string]*string{}, Size: info.Size, DataChange: true}}
}

func put(t *testing.T, st store.Store, version int64, actions ...delta.Action) {
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.NoError(t, st.PutIfAbsent(t.Context(), delta.CommitKey(version), data))
}

// smallCorpus makes a corpus of one table t: version 0 has the rows 1 and 2, version 1 also 3, and
// app a has reached 7.
func smallCorpus(t *testing.T, protocol delta.Protocol) string {
	root := t.TempDir()
	st, err := store.OpenDir(filepath.Join(root, "t"))
	require.NoError(t, err)
	put(t, st, 0,
		delta.Action{Protocol: &protocol},
		delta.Action{Metadata: &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{"p": "q"}}},
		addRows(t, st, "a.parquet", 1, 2))
	put(t, st, 1, addRows(t, st, "b.parquet", 3), delta.Action{Txn: &delta.Txn{AppID: "a", Version: 7}})
	return root
}

func run(t *testing.T, root, line string) conformance.Result {
	var l conformance.Line
	require.NoError(t, json.Unmarshal([]byte(line), &l))
	result, err := conformance.Run(t.Context(), root, &l, t.TempDir())
	require.NoError(t, err)
	return result
}

func TestEveryClaimIsHeldAgainstTheTable(t *testing.T) {
	root := smallCorpus(t, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	hash := conformance.Hash([][]byte{[]byte(`{"n":1}`), []byte(`{"n":2}`), []byte(`{"n":3}`)})
	for _, c := range []struct{ why, right, wrong string }{
		{"the version", `"version":1`, `"version":0`},
		{"the files", `"num_files":2`, `"num_files":1`},
		{"the rows", `"rows":3`, `"rows":2`},
		{"the hash of the rows", `"rows_sha256":"` + hash + `"`, `"rows_sha256":"00"`},
		{"another right hash", `"version":1,"rows_sha256":"00","alternative_rows_sha256":{"1":"` + hash + `"}`,
			`"version":1,"rows_sha256":"00","alternative_rows_sha256":{"0":"` + hash + `"}`},
		{"rows in the line, in any order", `"expected_data":[{"n":3},{"n":1},{"n":2}]`, `"expected_data":[{"n":3},{"n":1},{"n":1}]`},
		{"no rows in the line", `"expected_data":null`, `"expected_data":[]`},
		{"rows in Parquet files", `"expected_data":"t"`, `"expected_data":"nowhere"`},
		{"the schema", `"schema":"struct<n:long>"`, `"schema":"struct<n:integer>"`},
		{"the partition columns", `"partition_columns":[]`, `"partition_columns":["n"]`},
		{"the tombstones", `"num_tombstones":0`, `"num_tombstones":1`},
		{"the transactions", `"txns":{"a":7}`, `"txns":{"a":6}`},
		{"all the transactions", `"txns":{"a":7}`, `"txns":{}`},
		{"the domains", `"domains":[]`, `"domains":["x"]`},
		{"the properties", `"configuration":{"p":"q"}`, `"configuration":{"p":"r"}`},
		{"the names of files", `"files_expected":{"a.parquet":{}}`, `"files_expected":{"c.parquet":{}}`},
		{"the checkpoint", `"checkpoint_used":null`, `"checkpoint_used":"1:classic"`},
		{"an earlier version", `"versions":[{"version":0,"num_files":1,"rows":2}]`, `"versions":[{"version":0,"num_files":1,"rows":3}]`},
		{"a version that cannot be read", `"unreadable_versions":[2]`, `"unreadable_versions":[0]`},
		{"a condition", `"predicate_checks":[{"predicate":"n > 1","rows":2}]`, `"predicate_checks":[{"predicate":"n > 1","rows":1}]`},
		{"the files that a condition leaves", `"predicate_checks":[{"predicate":"n > 1","files_after_skipping":2}]`,
			`"predicate_checks":[{"predicate":"n > 1","files_after_skipping":1}]`},
		{"a condition that has to be evaluated", `"predicate_checks":[{"predicate":"n % 2 = 0","rows":1}]`, `"predicate_checks":[{"predicate":"rand() < n","rows":3}]`},
		{"a condition that has to be read", `"predicate_checks":[{"predicate":"n = '1'","rows":1}]`, `"predicate_checks":[{"predicate":"n = ANY(1)","rows":1}]`},
		{"the outcome", `"rows":3`, `"outcome":"refuse"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			right := run(t, root, `{"table":"t","outcome":"read",`+c.right+`}`)
			require.Equal(t, conformance.Right, right.Verdict, "%v", right.Faults)
			require.Equal(t, conformance.Wrong, run(t, root, `{"table":"t","outcome":"read",`+c.wrong+`}`).Verdict)
		})
	}
}

func TestRefusals(t *testing.T) {
	lists := func(name string) delta.Protocol {
		return delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{name}, WriterFeatures: []string{name}}
	}
	unknown := smallCorpus(t, lists("farFuture"))
	newer := smallCorpus(t, delta.Protocol{MinReaderVersion: 9, MinWriterVersion: 9})
	torn := smallCorpus(t, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	require.NoError(t, os.WriteFile(filepath.Join(torn, "t", filepath.FromSlash(delta.CommitKey(2))), []byte(`{"add":`), 0o644))
	for _, c := range []struct {
		why, root, line string
		want            conformance.Verdict
	}{
		{"a feature that the table needs, named", unknown, `"outcome":"read","required_reader_features":["farFuture"]`, conformance.Refused},
		{"the line does not say that it needs one", unknown, `"outcome":"read"`, conformance.Wrong},
		{"nor may a tag that is no feature excuse it", unknown, `"outcome":"read","features":["reading"]`, conformance.Wrong},
		{"another feature than the named one", unknown, `"outcome":"read","required_reader_features":["other"]`, conformance.Wrong},
		{"to be refused, and by the protocol", unknown, `"outcome":"refuse","features":["protocol"]`, conformance.Refused},
		{"it is not corrupt", unknown, `"outcome":"refuse","features":["malformed"]`, conformance.Wrong},
		{"a version beyond all", newer, `"outcome":"refuse","protocol":{"minReaderVersion":9}`, conformance.Refused},
		{"corrupt, as it should be", torn, `"outcome":"refuse","features":["malformed"]`, conformance.Refused},
		{"corrupt, where a feature was to be named", torn, `"outcome":"refuse","features":["protocol"]`, conformance.Wrong},
		{"corrupt, where it had to be read", torn, `"outcome":"read"`, conformance.Wrong},
		{"corrupt, which the line allows", torn, `"outcome":"read","alternative_outcome":"refuse"`, conformance.Refused},
		{"or is lenient about", torn, `"outcome":"read","lenient":"a torn line"`, conformance.Refused},
		{"its earlier versions stand", torn, `"outcome":"refuse","versions":[{"version":1,"rows":3}]`, conformance.Refused},
		{"and are looked at", torn, `"outcome":"refuse","versions":[{"version":1,"rows":4}]`, conformance.Wrong},
		{"no table at all", t.TempDir(), `"outcome":"refuse","features":["malformed"]`, conformance.Refused},
	} {
		t.Run(c.why, func(t *testing.T) {
			got := run(t, c.root, `{"table":"t",`+c.line+`}`)
			require.Equal(t, c.want, got.Verdict, "%v %v", got.Faults, got.Notes)
		})
	}
}

func TestLoadRefusesWhatIsNoCorpus(t *testing.T) {
	for _, c := range []struct{ why, text string }{
		{"no line", "\n"},
		{"no JSON", "{\n"},
		{"no table", `{"outcome":"read"}`},
		{"no outcome", `{"table":"t"}`},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, conformance.ExpectedFile), []byte(c.text), 0o644))
		_, err := conformance.Load(dir)
		require.Error(t, err, c.why)
	}
	_, err := conformance.Load(t.TempDir())
	require.Error(t, err, "no file")
}

func TestEveryClaimAboutTheFeedIsHeldAgainstTheTable(t *testing.T) {
	root := t.TempDir()
	st, err := store.OpenDir(filepath.Join(root, "t"))
	require.NoError(t, err)
	metadata := func(enabled string) delta.Action {
		return delta.Action{Metadata: &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{"delta.enableChangeDataFeed": enabled}}}
	}
	put(t, st, 0, delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 4}}, metadata("true"), addRows(t, st, "a.parquet", 1, 2))
	put(t, st, 1, addRows(t, st, "b.parquet", 3))
	put(t, st, 2, metadata("false"))
	rows := `{"n":1,"_change_type":"insert","_commit_version":0},{"n":2,"_change_type":"insert","_commit_version":0},`
	third := `{"n":3,"_change_type":"insert","_commit_version":1}`
	hash := conformance.Hash([][]byte{[]byte(third)})
	for _, c := range []struct{ why, right, wrong string }{
		{"the number", `"cdf":[{"start":0,"end":1,"num_rows":3}]`, `"cdf":[{"start":0,"end":1,"num_rows":2}]`},
		{"the kinds", `"cdf":[{"start":0,"end":1,"by_type":{"insert":3}}]`, `"cdf":[{"start":0,"end":1,"by_type":{"insert":2,"delete":1}}]`},
		{"the versions", `"cdf":[{"start":0,"end":1,"by_version":{"0":2,"1":1}}]`, `"cdf":[{"start":0,"end":1,"by_version":{"0":3}}]`},
		{"the rows", `"cdf":[{"start":0,"end":1,"rows":[` + rows + third + `]}]`, `"cdf":[{"start":1,"end":1,"rows":[` + rows + third + `]}]`},
		{"the hash", `"cdf":[{"start":1,"end":1,"rows_sha256":"` + hash + `"}]`, `"cdf":[{"start":0,"end":1,"rows_sha256":"` + hash + `"}]`},
		{"a range that must be read", `"cdf_ranges":{"ok":[[0,1]]}`, `"cdf_ranges":{"ok":[[0,2]]}`},
		{"a range that must be refused", `"cdf_ranges":{"refuse":[[1,2]]}`, `"cdf_ranges":{"refuse":[[1,1]]}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			right := run(t, root, `{"table":"t","outcome":"read",`+c.right+`}`)
			require.Equal(t, conformance.Right, right.Verdict, "%v", right.Faults)
			require.Equal(t, conformance.Wrong, run(t, root, `{"table":"t","outcome":"read",`+c.wrong+`}`).Verdict)
		})
	}
}

func TestEveryClaimAboutWritingIsTried(t *testing.T) {
	root := smallCorpus(t, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	hash := conformance.Hash([][]byte{[]byte(`{"n":1}`), []byte(`{"n":2}`), []byte(`{"n":3}`), []byte(`{"n":9}`)})
	check := func(sql, outcome, more string) string {
		return `"write_checks":[{"rule":"r","sql":"` + sql + `","outcome":"` + outcome + `"` + more + `}]`
	}
	for _, c := range []struct{ why, right, wrong string }{
		{"that it can be written", `"write":"allow"`, `"write":"refuse"`},
		{"an insert", check("INSERT INTO {t} VALUES (9)", "allow", `,"rows":4,"rows_sha256":"`+hash+`"`), check("INSERT INTO {t} VALUES (9)", "allow", `,"rows":3`)},
		{"its rows", check("INSERT INTO {t} (n) VALUES (9)", "allow", `,"rows_sha256":"`+hash+`"`), check("INSERT INTO {t} (n) VALUES (8)", "allow", `,"rows_sha256":"`+hash+`"`)},
		{"a value that does not fit", check("INSERT INTO {t} VALUES (1e30)", "refuse", ""), check("INSERT INTO {t} VALUES (1)", "refuse", "")},
		{"an update", check("UPDATE {t} SET n = n + 10 WHERE n = 1", "allow", `,"rows":3`), check("UPDATE {t} SET nope = 1 WHERE n = 1", "allow", "")},
		{"a delete", check("DELETE FROM {t} WHERE n = 1", "allow", `,"rows":2`), check("DELETE FROM {t} WHERE n = 1", "allow", `,"rows":3`)},
		{"a merge", check("MERGE INTO {t} t USING (SELECT 9 n) s ON t.n = s.n WHEN NOT MATCHED THEN INSERT (n) VALUES (s.n)", "allow", `,"rows":4`),
			check("MERGE INTO {t} t USING (SELECT 1 n) s ON t.n = s.n WHEN NOT MATCHED THEN INSERT (n) VALUES (s.n)", "allow", `,"rows":4`)},
		{"a replacement", check("overwrite with row (9), replaceWhere n > 1", "allow", `,"rows":2`), check("overwrite with row (1), replaceWhere n > 1", "allow", "")},
		{"a constraint", check("ALTER TABLE {t} ADD CONSTRAINT c CHECK (n > 1)", "refuse", ""), check("ALTER TABLE {t} ADD CONSTRAINT c CHECK (n > 0)", "refuse", "")},
		{"a column that stays", check("ALTER TABLE {t} DROP COLUMN n", "refuse", ""), check("ALTER TABLE {t} DROP COLUMN n", "allow", "")},
		{"a type", check("ALTER TABLE {t} ALTER COLUMN n TYPE INT", "refuse", ""), check("ALTER TABLE {t} ALTER COLUMN n TYPE INT", "allow", "")},
		{"a verb", `"write_rules":{"append":"allow","delete":"allow","overwrite":"allow","replaceWhere":"allow","optimize":"allow"}`, `"write_rules":{"delete":"refuse"}`},
		{"a NULL", `"write_rules":{"append n=null":"allow"}`, `"write_rules":{"append n=null":"refuse"}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			right := run(t, root, `{"table":"t","outcome":"read",`+c.right+`}`)
			require.Equal(t, conformance.Right, right.Verdict, "%v", right.Faults)
			require.Empty(t, right.Notes)
			require.Equal(t, conformance.Wrong, run(t, root, `{"table":"t","outcome":"read",`+c.wrong+`}`).Verdict)
		})
	}
	other := run(t, root, `{"table":"t","outcome":"read",`+check("TRUNCATE TABLE {t}", "allow", "")+`}`)
	require.Equal(t, conformance.Right, other.Verdict)
	require.Len(t, other.Notes, 1, "a statement that nothing here understands is said to be untried")
}

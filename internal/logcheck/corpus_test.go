package logcheck_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/conformance"
	. "github.com/idemtable/idem/internal/logcheck"
)

// corpus is the directory of the corpus: that of IDEM_CORPUS, else the one beside the project.
func corpus(t *testing.T) string {
	dir := filepath.Join("..", "..", "..", "shared", "corpus")
	given := os.Getenv("IDEM_CORPUS")
	if given != "" {
		dir = given
	}
	if _, err := os.Stat(filepath.Join(dir, conformance.ExpectedFile)); err != nil {
		if given != "" {
			t.Fatalf("no corpus in %s: set IDEM_CORPUS to the directory that holds %s", dir, conformance.ExpectedFile)
		}
		t.Skipf("no corpus in %s; IDEM_CORPUS names another directory", dir)
	}
	return dir
}

// broken are the tables of the corpus that are to be read and yet break rules, with the reason.
var broken = map[string]struct {
	rules []Rule
	why   string
}{
	"delta-golden/corrupted-last-checkpoint":                        {[]Rule{CommitReplay}, "a log without a schema"},
	"delta-golden/deltalog-commit-info":                             {[]Rule{CommitReplay}, "a log without a schema"},
	"delta-golden/update-deleted-directory":                         {[]Rule{CommitReplay}, "a log without a schema"},
	"delta-golden/deltalog-getChanges":                              {[]Rule{FeatureUsed}, "changes made by hand, in a table that does not ask for them"},
	"delta-kernel-defaults/spark-variant-stable-feature-checkpoint": {[]Rule{LogName}, "a note lies in the log"},
	"delta-rs-err-logs/table_g":                                     {[]Rule{CommitTxnID}, "one commit was copied to another version"},
	"delta-rs/cdc_ict_table":                                        {[]Rule{CommitTime, LogChecksum}, "times were edited by hand"},
	"delta-rs/issue_1374":                                           {[]Rule{StatsBounds}, "delta-rs cut the upper bounds of timestamps to the millisecond below"},
	"delta-spark/partitioned-table-with-dv-large":                   {[]Rule{VectorFile}, "vectors have the prefix of Delta under test"},
	"delta-spark/table-with-dv-small":                               {[]Rule{VectorFile}, "vectors have the prefix of Delta under test"},
	"kernel-rs/cdf-table-with-dv":                                   {[]Rule{VectorForm}, "an inline vector that is not live is no text of its kind"},
	"kernel-rs/compacted-log-files-table":                           {[]Rule{CompactionEqual}, "a compaction made by hand adds one file twice"},
	"kernel-rs/crc-full":                                            {[]Rule{LogChecksum}, "a checksum file made by hand"},
	"kernel-rs/parquet_row_group_skipping":                          {[]Rule{CheckpointEqual}, "the checkpoint has other metadata than the commits"},
	"kernel-rs/parsed-stats":                                        {[]Rule{CheckpointEqual, StatsNulls}, "the checkpoint has other metadata than the commits, and timestamps lie in the file as no reader expects"},
	"kernel-rs/table-with-cdf":                                      {[]Rule{CommitTxnID, RemoveLive}, "commits made by hand"},
	"kernel-rs/type-widening":                                       {[]Rule{TypeChanges}, "a preview of Spark widened byte to decimal(4,1), which the protocol does not have"},
	"kernel-rs/v2-classic-checkpoint-json":                          {[]Rule{LogHint}, "the hint names another file than the checkpoint that is there"},
	"kernel-rs/v2-classic-checkpoint-parquet":                       {[]Rule{LogHint}, "the hint names another file than the checkpoint that is there"},
	"synthetic/remove-unknown-file":                                 {[]Rule{RemoveLive}, "what its name says"},
	"synthetic/last-checkpoint-empty":                               {[]Rule{LogHint}, "what its name says"},
	"synthetic/last-checkpoint-too-new":                             {[]Rule{LogHint}, "what its name says"},
	"synthetic/multipart-incomplete-with-json":                      {[]Rule{LogHint}, "the hint names what is not complete"},
	"synthetic/crc-garbage":                                         {[]Rule{LogChecksum}, "what its name says"},
	"synthetic/crc-inconsistent":                                    {[]Rule{LogChecksum}, "what its name says"},
	"synthetic/compaction-corrupt":                                  {[]Rule{CompactionEqual}, "what its name says"},
	"synthetic/dv-two-buckets":                                      {[]Rule{VectorFile}, "the second bucket is of rows that no small file has"},
	"synthetic/cm-name-dropped-readded":                             {[]Rule{MappingMax}, "maxColumnId was not counted up"},
	"spark41/cp-last-checkpoint-garbage":                            {[]Rule{LogHint}, "what its name says"},
	"spark41/replace-table-history":                                 {[]Rule{CommitTableID}, "CREATE OR REPLACE TABLE of Spark gives a table another id"},
}

// Whatever a valid table of another engine holds keeps every rule. A commitInfo is not asked of
// others, and of some tables the corpus has the log without the files.
func TestTablesOfOthersKeepTheRules(t *testing.T) {
	root := corpus(t)
	lines, err := conformance.Load(root)
	require.NoError(t, err)
	var looked atomic.Int32
	t.Run("line", func(t *testing.T) { eachTable(t, root, lines, &looked) })
	require.Greater(t, looked.Load(), int32(200), "the corpus has tables")
}

func eachTable(t *testing.T, root string, lines []conformance.Line, looked *atomic.Int32) {
	for i := range lines {
		l := &lines[i]
		if l.Outcome != "read" || l.Template || strings.HasSuffix(l.Table, ".tar.zst") {
			continue
		}
		t.Run(l.Table, func(t *testing.T) {
			t.Parallel()
			st, err := store.OpenDir(filepath.Join(root, filepath.FromSlash(l.Table)))
			require.NoError(t, err)
			report, err := Check(t.Context(), st)
			if errors.Is(err, delta.ErrUnsupported) {
				return
			}
			require.NoError(t, err)
			looked.Add(1)
			var found []Rule
			for _, f := range report.Findings {
				if f.Rule != CommitInfo && (f.Rule != FileMissing || l.DataAbsent == 0) {
					found = append(found, f.Rule)
				}
			}
			slices.Sort(found)
			want := broken[l.Table]
			require.ElementsMatch(t, want.rules, slices.Compact(found), "%s: %v", want.why, report.Findings)
		})
	}
}

package idem_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fieldFailure is a way in which users of other systems got rows twice, lost them, or waited for ever.
type fieldFailure struct {
	seen  string
	right string
	shown []string // tests, "package: TestName/subtest"; the root is "."
}

// fieldFailures are all that we know of, by chapter.
var fieldFailures = []struct {
	chapter string
	cases   []fieldFailure
}{
	{"Matches that are ambiguous or doubled", []fieldFailure{
		{"a source with a key twice doubles rows of the target", "the greatest by Newer wins before anything is matched; ties that differ are an error", []string{".: TestRepeatedMerge/two source rows, one key, matched", ".: TestRepeatedMerge/two source rows, one key, not matched"}},
		{"unique keys are called ambiguous once a source has more rows than a batch", "keys are compared across batches and files", []string{".: TestUniqueKeysAreUniqueAcrossBatchesAndFiles"}},
		{"a merge fails because the source was not deduplicated", "dedupe is part of the merge", []string{".: TestRepeatedMerge/identical source rows, matched", "internal/plan: TestDedupeEqualsNaive"}},
		{"the error does not say which rows are ambiguous", "it counts the keys and shows some, with the values that order them", []string{".: TestAnAmbiguousSourceIsToldByItsKeys", "internal/plan: TestDedupeSaysWhichKeysTie", ".: TestDuplicatesAreFoundAcrossBatchesAndFiles"}},
		{"a source that gives other rows each time is read twice: to find files, and to write", "the source of a merge is read once", []string{".: TestTheSourceOfAMergeIsReadOnce"}},
		{"a delete with doubled matches writes doubled change rows", "the change feed tells what is different after the version", []string{".: TestADeleteOfDoubledMatchesIsToldOnce", ".: TestClausesAgainstTheModel", "changes: TestTheFeedIsTheHistory"}},
		{"fewer rows are written than were joined", "before a commit, rows before + inserted - deleted = rows after, by the files themselves", []string{"internal/plan: TestAMergeWhoseRowsDoNotAddUpIsRefused", "internal/plan: TestAFileThatLiesAboutItsRowsIsNotCut"}},
		{"rows deleted are counted once for each match", "counts are of rows of the table", []string{".: TestDeletesAreCountedByTheRowsThatGo"}},
		{"a clause for matched rows deletes all the others", "each clause has its own rows, held against a model", []string{".: TestMergeClauses", ".: TestClausesAgainstTheModel"}},
		{"an update in a merge doubles the file that holds the match", "every file that was rewritten is removed", []string{".: TestEveryFileThatAMergeChangedIsRemoved", "internal/plan: TestWhatAMergeDoesToAFileWithVectors"}},
		{"a condition on the target drops the rows of a rewritten file that it does not hold for", "pruning chooses files, never rows", []string{".: TestNotMatchedBySourceTouchesOnlyWhatItsConditionMayMatch", ".: TestClausesAgainstTheModel"}},
		{"an engine that lets the last of two source rows win, without a word, is taken for right", "what a merge must do is a model of ours, no other engine", []string{".: TestClausesAgainstTheModel", "internal/tabletest: TestTheModelSaysWhatTheTableDoes"}},
	}},
	{"NULL, types, case, nesting", []fieldFailure{
		{"a NULL in a key never matches, so each run inserts the row again", "an error, or NULL equals NULL when asked", []string{".: TestRepeatedMerge/a NULL key", ".: TestMergeNullKeys"}},
		{"a composite key with a NULL in it multiplies rows at every sync", "the same", []string{".: TestRepeatedMerge/a NULL key with MatchNulls, merged twice"}},
		{"a key is made text, and NULL collides with the text null", "parts of keys have types and lengths", []string{".: TestKeysAreComparedByPartsAndTypes"}},
		{"a row that an outer join made in passing is refused for NULL", "rules hold for the row that is written", []string{".: TestRulesHoldForTheRowThatIsWritten"}},
		{"NOT NULL is checked here and there", "one place checks what is written", []string{"internal/plan: TestValidateNotNull"}},
		{"a cast that fails inserts NULL", "a value that does not fit is an error", []string{"internal/plan: TestConformRefusesValues", ".: TestMergeKeysOfOtherTypes/a bigint that an int cannot hold"}},
		{"keys of another type match by a cast, or no longer do", "keys widen without loss or are refused", []string{".: TestMergeKeysOfOtherTypes/a string against an int"}},
		{"a literal of another type than the partition column reads everything", "literals take the column's type before pruning", []string{".: TestALiteralOfAnotherTypeStillPrunes"}},
		{"columns in mixed case are not found", "columns are found whatever their case, and keep theirs", []string{".: TestMergeColumns", "internal/pred: TestEvalFindsColumnsByName"}},
		{"columns that differ by case alone", "refused in a schema and in rows", []string{"delta: TestValidateNew", "internal/plan: TestConformRefusesColumns"}},
		{"structs with their fields in another order are refused, or mixed up", "fields are bound by name at every level", []string{"internal/plan: TestConformStores/a list of structs by name", ".: TestNestedColumnsThroughEveryVerb"}},
		{"changes of nested columns cannot be told", "they are rows of the feed like others", []string{".: TestChangesOfNestedColumnsAreTold"}},
		{"a NULL struct becomes a struct of NULLs when a field is added", "it stays NULL", []string{".: TestANullStructStaysNullWhenAFieldIsAdded", ".: TestEvolveProperty"}},
	}},
	{"Pruning and statistics", []fieldFailure{
		{"a merge on the partition reads all partitions", "the source's own keys prune", []string{".: TestAMergeReadsTheFilesThatMayHoldItsKeys"}},
		{"users collect the partitions of a source by hand", "the same, without a word from the caller", []string{".: TestAMergeReadsTheFilesThatMayHoldItsKeys"}},
		{"files are rewritten although no row changes", "a merge without effect is Unchanged and touches no file", []string{".: TestMergeTouchesOnlyWhatChanges", ".: TestSecondCallOfMerge/same input again"}},
		{"skipping by an older add of a path brings the file back", "the newest add of a path counts, and files are skipped by it alone", []string{".: TestAPathThatIsAddedAgainCountsWithItsNewestStatistics"}},
		{"NaN spoils a minimum or maximum, and rows are skipped", "NaN is left out, and with one there is no maximum", []string{"delta: TestStatsBuilderFloats"}},
		{"-0.0 and 0.0 have an order in bounds", "bounds hold both", []string{"delta: TestStatsBuilderFloats", "internal/pred: TestProveNeverContradictsEval"}},
		{"the maximum of long text is cut below it", "it is cut and raised, or left out", []string{"delta: TestStatsTruncation", "delta: TestTruncationMatchesTheDefinition"}},
		{"bounds of a file where a row group has none", "cannot occur: nothing reads the bounds of a footer, those of a file are counted from its rows; those that idem writes into footers for others hide no row", []string{"maintain: TestConvertTakesBoundsFromRows", "internal/parquetio: TestFooterBoundsHideNoRow"}},
		{"decimals lose their scale in partition values and statistics", "they are written with it", []string{"delta: TestPartitionValues", "delta: TestDecimalBoundsHoldWhatADoubleRounded"}},
		{"statistics that lack a row make its file skippable", "statistics hold every value", []string{"delta: TestStatsContainEveryValue"}},
	}},
	{"Partition values and paths", []fieldFailure{
		{"an instant in a partition differs by the writer's zone", "it is written with Z", []string{"delta: TestPartitionValues", "delta: TestPartitionValuesRoundTrip"}},
		{"a timestamp without a zone prunes the wrong files", "it never prunes", []string{"internal/pred: TestFileFacts", "delta: TestAmbiguousTimestamp"}},
		{"timestamps with more or fewer digits, or with a T", "all forms are read", []string{"delta: TestPartitionValues"}},
		{"a partition column of an odd name is read as NULL from the directory", "values come from the log", []string{".: TestAPartitionColumnOfAnyName"}},
		{"a path type forbids characters that others write", "paths are our own", []string{".: TestAnyTextIsAPartitionValue", "delta: TestPathRoundTrip"}},
		{"NULL and the empty string are one partition", "the empty string is NULL, and IS NULL finds it", []string{".: TestAnEmptyStringAsPartitionValueIsNull"}},
		{"rows are written by other partition columns than the table's", "the table's count; another definition is refused", []string{".: TestSecondCallOfCreate/other definition"}},
		{"a vacuum takes a partition column that begins with _ for a hidden directory", "partition columns are exempt", []string{"maintain: TestVacuumOfAPartitionColumnThatLooksHidden"}},
	}},
	{"Overwriting", []fieldFailure{
		{"a forgotten condition deletes the table", "no verb means everything by default", []string{".: TestRepeatedReplacementOfASlice/no predicate", ".: TestRepeatedReplacementOfASlice/the predicate true"}},
		{"the error does not say which row is outside the slice", "it shows row, columns and values", []string{".: TestRepeatedReplacementOfASlice/an incoming row outside"}},
		{"rows for which the condition is NULL are deleted", "only TRUE deletes", []string{".: TestRepeatedReplacementOfASlice/rows where the predicate is NULL are kept"}},
		{"of two overwrites of a slice at once the second deletes the first's rows unseen", "the second is worked out anew", []string{".: TestRepeatedReplacementOfASlice/two at once, same slice"}},
		{"a compaction reads files newer than its snapshot", "one snapshot for the whole call", []string{"maintain: TestOptimizeBesideOtherWriters", ".: TestACompactionLandsFirst"}},
		{"overwriting partitions treats NULL as another value each time", "a NULL partition is one partition", []string{"maintain: TestOverwritePartitions", "internal/plan: TestReplacePartitions"}},
	}},
	{"Transactions, commits, stores", []fieldFailure{
		{"after a restore the run is skipped and its rows are missing", "ErrRestored, and two ways on", []string{".: TestSecondCallOfAppendWithTxn/after RESTORE"}},
		{"a version of an app id that is recorded is written again", "it is skipped", []string{".: TestSecondCallOfAppendWithTxn/same input again"}},
		{"an older batch is written again since only equal versions are skipped", "recorded or older is skipped, and the result says which", []string{".: TestSecondCallOfAppendWithTxn/older input"}},
		{"two writers of one app id both commit", "the own app id is always checked", []string{".: TestSecondCallOfAppendWithTxn/two at once"}},
		{"files of a commit whose answer was lost are deleted", "files stay while the outcome is unknown", []string{".: TestUnknownOutcomeIsResolved/data files stay while the outcome is unknown"}},
		{"answers of stores are taken for yes or no that are neither", "an answer that we do not recognise decides nothing", []string{"internal/engine: TestAnswers", ".: TestLostAnswers"}},
		{"rows were read in one engine and merged in another, and an update between is lost", "Newer guards each row, a Txn orders the batches; idem has no write that rests on a read made outside of it", []string{".: TestSecondCallOfMerge/older input", ".: TestRepeatedMerge/older source row"}},
		{"a store without put-if-absent doubles rows", "it is found out and refused", []string{"delta/store: TestProbeRefuses", "delta/store: TestUnfitFileSystems"}},
		{"a lock that expired lets a commit be overwritten", "put-if-absent decides, no lock does", []string{"delta/store: TestMem", "delta/store: TestDir"}},
		{"409 is taken for exists, 429 for failed", "409: the same version again; 412: taken", []string{"internal/engine: TestAnswers", ".: TestLostAnswers"}},
		{"on a local disk a rename overwrites a commit", "link, which never does", []string{"delta/store: TestOperationsOfACommit", "delta/store: TestLookingNeverDecides"}},
		{"a commit that a catalog took is not visible yet", "tables that a catalog manages are refused by name", []string{".: TestErrorsPage"}},
		{"inserts side by side overwrite each other's metadata", "one of them is first, the other goes on from it", []string{".: TestRepeatedAppendWithATag/two at once, other app", "internal/engine: TestRaces"}},
		{"a stream writes its batch again after a restart", "a batch has an app id and a version", []string{".: TestRepeatedAppendWithATag/same version again"}},
	}},
	{"Log, checkpoint, vacuum, size", []fieldFailure{
		{"a checkpoint that was cut short makes the table unreadable", "an older one and the commits serve", []string{"internal/logio: TestAnOlderCheckpointServes"}},
		{"the hint names a checkpoint that is gone", "the hint is advice", []string{"internal/logio: TestLoad", ".: TestHostilePathsInCheckpoints"}},
		{"add, remove, add of one path loses the file", "the newest action of a path and vector counts", []string{"delta: TestReconciliation", "delta: TestSnapshotEqualsModel"}},
		{"a log that contradicts itself ends the process", "an error that names the place", []string{"delta: TestReplayRefuses", ".: TestDamagedLogs"}},
		{"a vacuum deletes live files, vectors or change data, or keeps dead ones, by how paths are spelled", "keys are compared, decoded once", []string{"maintain: TestVacuumNeverDeletesALiveFile", "maintain: TestVacuumKnowsEscapedNames", "maintain: TestVacuumKeepsTheVectorsOfLiveFilesAndOfYoungRemovals"}},
		{"a vacuum deletes a live file that the log names by a symbolic link, or follows a link out of the table", "links are gone past, and what live names lead to stays", []string{"maintain: TestVacuumKeepsALiveFileThatHasAnotherName", "maintain: TestVacuumOfARemovedNameOfALiveFile", ".: TestVacuumGoesPastLinksOutOfATable"}},
		{"a vacuum deletes files of writers at work", "young files stay, and a short retention wants a word", []string{"maintain: TestVacuumRetention", "maintain: TestVacuumKeepsByAge"}},
		{"thousands of commits take long to open, one after the other", "after a checkpoint a few requests open it; commits without one are fetched side by side, each once; what is new costs what is new", []string{".: TestALongLogIsOpenedByFewRequests", "internal/logio: TestCommitsAreFetchedSideBySide", "internal/logio: TestRequestsOfALoad"}},
		{"a merge of a row into a large table, or of none, takes all memory", "files are pruned, and rows have a budget", []string{".: TestAMergeOfNothingReadsNothing", ".: TestAMergeReadsTheFilesThatMayHoldItsKeys", ".: TestMergeWithinItsBudget"}},
		{"memory grows from merge to merge", "what a call took is given back", []string{".: TestAThousandMergesHoldNoMoreThanTheFirst"}},
		{"a limit on spilling blocks for ever", "a small budget is slow at most", []string{".: TestATinyBudgetIsSlowAtMost"}},
		{"a source that is kept takes all memory", "it is kept on disk", []string{".: TestMergeWithinItsBudget", ".: TestMergeLargerThanItsMemory", "internal/spill: TestAgainstTwin"}},
		{"a merge for each of many partitions", "all in one commit", []string{".: TestAMergeOfManyPartitionsIsOneCommit"}},
	}},
}

// TestFieldFailures holds that each test named above exists, and makes docs/field-failures.md.
func TestFieldFailures(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# What went wrong elsewhere

How users of systems that do this job came to rows that are doubled or lost, or to a job that does not end; what is right,
and the tests that hold idem to it. This page is made by TestFieldFailures, which fails when a test that it names is not there.
`)
	sources, n := map[string]*testSources{}, 0
	for _, chapter := range fieldFailures {
		fmt.Fprintf(&page, "\n## %s\n\n| seen | right | shown by |\n|---|---|---|\n", chapter.chapter)
		for _, c := range chapter.cases {
			n++
			require.NotEmpty(t, c.shown, c.seen)
			var shown []string
			for _, name := range c.shown {
				pkg, test, ok := strings.Cut(name, ": ")
				require.True(t, ok, name)
				if sources[pkg] == nil {
					sources[pkg] = readTests(t, pkg)
				}
				sources[pkg].has(t, name, test)
				shown = append(shown, "`"+strings.TrimPrefix(name, ".: ")+"`")
			}
			fmt.Fprintf(&page, "| %s | %s | %s |\n", c.seen, c.right, strings.Join(shown, ", "))
		}
	}
	require.Greater(t, n, 70)
	const file = "docs/field-failures.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run go test . -run TestFieldFailures -update, and review what changed")
}

// testSources are the tests of a package, and all texts in them.
type testSources struct {
	tests map[string]bool
	texts map[string]bool
}

func readTests(t *testing.T, pkg string) *testSources {
	s := &testSources{map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, pkg)
	for _, name := range files {
		if filepath.Base(name) == "fieldfailurelist_test.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				s.tests[n.Name.Name] = n.Recv == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					s.texts[text] = true
				}
			}
			return true
		})
	}
	return s
}

// has holds that a test is there, and that its subtest's name is a text of the package's tests.
func (s *testSources) has(t *testing.T, name, test string) {
	function, sub, nested := strings.Cut(test, "/")
	require.True(t, strings.HasPrefix(function, "Test") && s.tests[function], "there is no test %s", name)
	require.True(t, !nested || s.texts[sub], "no test of the package has the text of %s", name)
}

// TestProofNamesTests: every test that docs/proof.md names is there, and every one that the faults of the simulator
// name which have their tests elsewhere.
func TestProofNamesTests(t *testing.T) {
	sources := map[string]*testSources{}
	for _, page := range []struct {
		name  string
		least int
	}{{"docs/proof.md", 40}, {"internal/sim/faults.go", 2}} {
		text, err := os.ReadFile(page.name)
		require.NoError(t, err)
		named := regexp.MustCompile("`([^`: ]+): (Test[^`]+)`").FindAllStringSubmatch(string(text), -1)
		require.GreaterOrEqual(t, len(named), page.least, page.name)
		for _, m := range named {
			pkg, test := m[1], m[2]
			if sources[pkg] == nil {
				sources[pkg] = readTests(t, pkg)
			}
			sources[pkg].has(t, m[0], test)
		}
	}
}

package commit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

const schemaText = `{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},{"name":"x","type":"long","nullable":true,"metadata":{}}]}`

func base() commit.State {
	return commit.State{
		Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2},
		Metadata: metadata(nil),
	}
}

func metadata(change func(*delta.Metadata)) *delta.Metadata {
	m := &delta.Metadata{ID: "table", Provider: "parquet", SchemaString: schemaText, PartitionColumns: []string{"p"}, Configuration: map[string]string{}}
	if change != nil {
		change(m)
	}
	return m
}

func add(key, partition string, dataChange bool) delta.Action {
	return delta.Action{Add: &delta.Add{Path: key, Key: key, PartitionValues: map[string]*string{"p": &partition}, DataChange: dataChange}}
}

func remove(key string, dataChange bool) delta.Action {
	return delta.Action{Remove: &delta.Remove{Path: key, Key: key, DataChange: dataChange}}
}

func files(keys ...string) map[string]struct{} {
	m := make(map[string]struct{})
	for _, k := range keys {
		m[k] = struct{}{}
	}
	return m
}

func inPartition(p string) func(*delta.Add) bool {
	return func(a *delta.Add) bool { return *a.PartitionValues["p"] == p }
}

// The operations of the matrix. The table has the files a and b in partition 1, c in partition 2.
func intents() map[string]*commit.Intent {
	mk := func(in commit.Intent) *commit.Intent {
		in.TxnID, in.TableID, in.ReadVersion = strings.Repeat("0", 32), "table", 4
		return &in
	}
	readsOne := commit.Reads{Touches: inPartition("1"), Files: files("a", "b")}
	return map[string]*commit.Intent{
		"append":     mk(commit.Intent{BlindAppend: true, DataChange: true, Actions: []delta.Action{add("new", "1", true)}}),
		"tagged":     mk(commit.Intent{BlindAppend: true, DataChange: true, Actions: []delta.Action{add("new", "1", true)}, Tag: &commit.Tag{AppID: "app", Version: 7}}),
		"tag only":   mk(commit.Intent{BlindAppend: true, Tag: &commit.Tag{AppID: "app", Version: 7}}),
		"delete":     mk(commit.Intent{DataChange: true, Actions: []delta.Action{remove("a", true), add("new", "1", true)}, Reads: readsOne}),
		"merge none": mk(commit.Intent{DataChange: true, Actions: []delta.Action{add("new", "1", true)}, Reads: readsOne}), // only inserts, but it looked for matches
		"replace all": mk(commit.Intent{DataChange: true, Actions: []delta.Action{remove("a", true), remove("b", true), remove("c", true), add("new", "1", true)},
			Reads: commit.Reads{WholeTable: true, Files: files("a", "b", "c")}}),
		"compaction": mk(commit.Intent{Actions: []delta.Action{remove("a", false), remove("b", false), add("new", "1", false)},
			Reads: commit.Reads{Files: files("a", "b")}}),
		"metadata": mk(commit.Intent{Actions: []delta.Action{{Metadata: metadata(func(m *delta.Metadata) { m.Name = "ours" })}}}),
		"rewind":   mk(commit.Intent{Rewind: true, Tag: &commit.Tag{AppID: "app", Version: -1}}),
		"domain":   mk(commit.Intent{Actions: []delta.Action{{Domain: &delta.DomainMetadata{Domain: "d"}}}}),
	}
}

func winners() map[string][]delta.Action {
	blind := true
	info := delta.Action{CommitInfo: &delta.CommitInfo{Operation: "WRITE", IsBlindAppend: &blind}}
	redefine := func(change func(*delta.Metadata)) []delta.Action {
		return []delta.Action{{Metadata: metadata(change)}}
	}
	field := func(text string) func(*delta.Metadata) {
		return func(m *delta.Metadata) { m.SchemaString = strings.Replace(m.SchemaString, `]}`, `,`+text+`]}`, 1) }
	}
	return map[string][]delta.Action{
		"nothing":               {},
		"append, same part":     {info, add("w", "1", true)},
		"append, other part":    {info, add("w", "2", true)},
		"insert select, same":   {add("w", "1", true)},
		"insert select, other":  {add("w", "2", true)},
		"rewrite of a":          {remove("a", true), add("w", "1", true)},
		"delete of whole a":     {remove("a", true)},
		"rewrite of c":          {remove("c", true), add("w", "2", true)},
		"compaction of a and b": {remove("a", false), remove("b", false), add("w", "1", false)},
		"vector on a":           {remove("a", true), {Add: &delta.Add{Path: "a", Key: "a", DataChange: true, PartitionValues: add("a", "1", true).Add.PartitionValues, DeletionVector: &delta.DeletionVector{StorageType: "u"}}}},
		"adds our file":         {add("new", "2", true)},
		"our app, lower":        {{Txn: &delta.Txn{AppID: "app", Version: 3}}},
		"our app, same":         {{Txn: &delta.Txn{AppID: "app", Version: 7}}},
		"our app, moved back":   {{Txn: &delta.Txn{AppID: "app", Version: -1}}},
		"other app":             {{Txn: &delta.Txn{AppID: "other", Version: 3}}},
		"same domain":           {{Domain: &delta.DomainMetadata{Domain: "d"}}},
		"other domain":          {{Domain: &delta.DomainMetadata{Domain: "e"}}},
		"clustering":            {{Domain: &delta.DomainMetadata{Domain: "delta.clustering"}}},
		"same metadata":         redefine(nil),
		"user property":         redefine(func(m *delta.Metadata) { m.Configuration["owner"] = "me" }),
		"retention":             redefine(func(m *delta.Metadata) { m.Configuration["delta.logRetentionDuration"] = "interval 1 day" }),
		"append only":           redefine(func(m *delta.Metadata) { m.Configuration["delta.appendOnly"] = "true" }),
		"constraint":            redefine(func(m *delta.Metadata) { m.Configuration["delta.constraints.c"] = "x > 0" }),
		"nullable column":       redefine(field(`{"name":"y","type":"long","nullable":true,"metadata":{"comment":"new"}}`)),
		"required column":       redefine(field(`{"name":"y","type":"long","nullable":false,"metadata":{}}`)),
		"column with invariant": redefine(field(`{"name":"y","type":"long","nullable":true,"metadata":{"delta.invariants":"{}"}}`)),
		"type change":           redefine(func(m *delta.Metadata) { m.SchemaString = strings.Replace(m.SchemaString, "long", "integer", 1) }),
		"not null": redefine(func(m *delta.Metadata) {
			m.SchemaString = strings.Replace(m.SchemaString, `"long","nullable":true`, `"long","nullable":false`, 1)
		}),
		"column dropped": redefine(func(m *delta.Metadata) { m.SchemaString = strings.Replace(m.SchemaString, `"x"`, `"z"`, 1) }),
		"comment": redefine(func(m *delta.Metadata) {
			m.SchemaString = strings.Replace(m.SchemaString, `{}`, `{"comment":"key"}`, 1)
		}),
		"repartitioned":        redefine(func(m *delta.Metadata) { m.PartitionColumns = nil }),
		"other table":          redefine(func(m *delta.Metadata) { m.ID = "another" }),
		"same protocol":        {{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}},
		"protocol upgrade":     {{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 3}}},
		"feature that we lack": {{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"someNewFeature"}}}},
		"feature of readers": {{Protocol: &delta.Protocol{
			MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"someNewFeature"}, WriterFeatures: []string{"someNewFeature"},
		}}},
	}
}

// One row per winner; the columns are intents, in the order of the head. c: compatible, else the
// rule's letter: A added, R removed what was read, D removed what we remove, N adds what we add,
// M metadata, P protocol, O domain, T tag, f feature (stop), i table id (stop), t tag moved (stop).
const matrixHead = "append|tagged|tag only|delete|merge none|replace all|compaction|metadata|rewind|domain"

var matrix = map[string]string{
	"nothing":               "cccccccccc",
	"append, same part":     "cccAAAcccc",
	"append, other part":    "cccccAcccc",
	"insert select, same":   "cccAAAcccc",
	"insert select, other":  "cccccAcccc",
	"rewrite of a":          "cccAAARccc",
	"delete of whole a":     "cccRRRRccc",
	"rewrite of c":          "cccccAcccc",
	"compaction of a and b": "cccAAARccc",
	"vector on a":           "cccAAARccc",
	"adds our file":         "cccNNANccc",
	"our app, lower":        "cccccccctc",
	"our app, same":         "cccccccctc",
	"our app, moved back":   "cccccccctc",
	"other app":             "cccccccccc",
	"same domain":           "cccccccccO",
	"other domain":          "cccccccccc",
	"clustering":            "cccccccOcc",
	"same metadata":         "cccccccMcc",
	"user property":         "cccccccMcc",
	"retention":             "cccccccMcc",
	"append only":           "cccMMMMMMM",
	"constraint":            "MMMMMMMMMM",
	"nullable column":       "cccccccMcc",
	"required column":       "MMMMMMMMMM",
	"column with invariant": "MMMMMMMMMM",
	"type change":           "MMMMMMMMMM",
	"not null":              "MMMMMMMMMM",
	"column dropped":        "MMMMMMMMMM",
	"comment":               "cccccccMcc",
	"repartitioned":         "MMMMMMMMMM",
	"other table":           "iiiiiiiiii",
	"same protocol":         "cccccccccc",
	"protocol upgrade":      "PPPPPPPPPP",
	"feature that we lack":  "ffffffffff",
	"feature of readers":    "ffffffffff",
}

func letter(v commit.Verdict) string {
	if v.Kind == commit.Compatible {
		return "c"
	}
	l := map[commit.Rule]string{
		commit.RuleAdded: "A", commit.RuleDeleteRead: "R", commit.RuleDeleteDelete: "D", commit.RuleAddAdd: "N", commit.RuleMetadata: "M",
		commit.RuleProtocol: "P", commit.RuleDomain: "O", commit.RuleTag: "T", commit.RuleFeature: "F", commit.RuleTableID: "I", commit.RuleCreated: "C",
	}[v.Rule]
	if v.Kind == commit.Stop {
		l = strings.ToLower(l)
	}
	return l
}

func TestMatrix(t *testing.T) {
	in, out := intents(), winners()
	require.Len(t, matrix, len(out), "each winner has a row")
	for name, row := range matrix {
		var got strings.Builder
		for intent := range strings.SplitSeq(matrixHead, "|") {
			v := commit.Check(in[intent], base(), &commit.Winner{Version: 5, Actions: out[name]})
			got.WriteString(letter(v))
			if v.Kind == commit.Stop {
				require.Error(t, v.Err)
			}
		}
		require.Equal(t, row, got.String(), "%s against %s", name, matrixHead)
	}
}

// Under WriteSerializable only the added files of blind appends are of no matter; with metadata of
// our own they are again.
func TestMatrixWriteSerializable(t *testing.T) {
	changed := map[string]string{
		"append, same part":  "cccccccccc",
		"append, other part": "cccccccccc",
	}
	in, out := intents(), winners()
	for name, row := range matrix {
		if weaker, ok := changed[name]; ok {
			row = weaker
		}
		var got strings.Builder
		for intent := range strings.SplitSeq(matrixHead, "|") {
			weak := *in[intent]
			weak.Isolation = commit.WriteSerializable
			got.WriteString(letter(commit.Check(&weak, base(), &commit.Winner{Version: 5, Actions: out[name]})))
		}
		require.Equal(t, row, got.String(), "%s against %s", name, matrixHead)
	}
	evolving := *in["merge none"]
	evolving.Isolation = commit.WriteSerializable
	evolving.Actions = append(evolving.Actions, delta.Action{Metadata: metadata(nil)})
	v := commit.Check(&evolving, base(), &commit.Winner{Version: 5, Actions: out["append, same part"]})
	require.Equal(t, commit.RuleAdded, v.Rule)
}

func TestErrorsOfStops(t *testing.T) {
	in, out := intents()["append"], winners()
	stop := func(name string) error {
		return commit.Check(in, base(), &commit.Winner{Version: 5, Actions: out[name]}).Err
	}
	require.ErrorIs(t, stop("other table"), commit.ErrConflict)
	require.ErrorIs(t, stop("feature that we lack"), delta.ErrUnsupported)
	require.ErrorContains(t, stop("feature that we lack"), "someNewFeature")
	require.NotErrorIs(t, stop("feature that we lack"), delta.ErrCorrupt)
}

// A claim to be blind is not believed of a commit that removes or has read.
func TestFalseClaimOfBlindness(t *testing.T) {
	in := *intents()["delete"]
	in.BlindAppend = true
	require.False(t, in.Blind())
	reads, removes := in, in
	reads.Actions = in.Actions[1:]
	require.False(t, reads.Blind())
	removes.Reads = commit.Reads{}
	require.False(t, removes.Blind())
	reads.Reads = commit.Reads{}
	require.True(t, reads.Blind())
}

// What a commit removes counts as read, whatever its planner said.
func TestDeleteDelete(t *testing.T) {
	in := *intents()["compaction"]
	in.Reads = commit.Reads{} // it says nothing of what it read: what it removes counts all the same
	v := commit.Check(&in, base(), &commit.Winner{Version: 5, Actions: winners()["compaction of a and b"]})
	require.Equal(t, commit.RuleDeleteDelete, v.Rule)
	require.Equal(t, commit.Replan, v.Kind)
}

// Files are compared by their decoded keys, however a commit spells their paths.
func TestPathsOfWinnersAreDecoded(t *testing.T) {
	const key = "p=a%20b/f"
	in := *intents()["compaction"]
	in.Reads, in.Actions = commit.Reads{}, []delta.Action{remove(key, true), add("new%", "1", true)}
	for _, root := range []string{"", "mem:///"} {
		for rule, a := range map[commit.Rule]delta.Action{
			commit.RuleDeleteDelete: {Remove: &delta.Remove{Path: root + "p=a%2520b/f"}},
			commit.RuleAddAdd:       {Add: &delta.Add{Path: root + "new%25"}},
		} {
			v := commit.Check(&in, base(), commit.NewWinner("mem:///", 5, []delta.Action{a}))
			require.Equal(t, rule, v.Rule, "%q", root)
			require.Empty(t, keyOf(a), "the commit stays as it was read")
		}
	}
	none := commit.NewWinner("mem:///", 5, []delta.Action{{Remove: &delta.Remove{Path: "../" + key}}, {Remove: &delta.Remove{Path: "s3://b/" + key}}})
	require.Equal(t, commit.Compatible, commit.Check(&in, base(), none).Kind, "what is elsewhere is none of ours")
}

func keyOf(a delta.Action) string {
	if a.Add != nil {
		return a.Add.Key
	}
	return a.Remove.Key
}

func TestRebase(t *testing.T) {
	in, out := intents(), winners()
	list := func(names ...string) (ws []*commit.Winner) {
		for i, n := range names {
			ws = append(ws, &commit.Winner{Version: 5 + int64(i), Actions: out[n]})
		}
		return ws
	}
	tag := commit.TagAnswer{Tag: commit.Tag{AppID: "app", Version: 7}, Status: commit.Applied, Recorded: 7}
	for name, c := range map[string]struct {
		intent  string
		winners []string
		tag     commit.TagAnswer
		kind    commit.VerdictKind
		version int64
	}{
		"all compatible":                           {"append", []string{"append, same part", "rewrite of a"}, commit.TagAnswer{}, commit.Compatible, 0},
		"the first that invalidates":               {"delete", []string{"append, other part", "rewrite of a", "append only"}, commit.TagAnswer{}, commit.Replan, 6},
		"a stop after an invalidation":             {"delete", []string{"rewrite of a", "feature that we lack"}, commit.TagAnswer{}, commit.Stop, 6},
		"a feature that came and went":             {"append", []string{"feature that we lack", "same protocol"}, commit.TagAnswer{}, commit.Replan, 5},
		"the tag is applied":                       {"tagged", []string{"our app, same", "append only"}, tag, commit.Skip, 6},
		"the tag is applied, writing is barred":    {"tagged", []string{"our app, same", "feature that we lack"}, tag, commit.Skip, 6},
		"the tag is applied, reading is barred":    {"tagged", []string{"our app, same", "feature of readers"}, tag, commit.Stop, 6},
		"the tag in another table is of no matter": {"tagged", []string{"our app, same", "other table"}, tag, commit.Stop, 6},
		"a tag that is moved is not skipped":       {"rewind", []string{"other app"}, tag, commit.Compatible, 0},
		"no winners":                               {"delete", nil, tag, commit.Compatible, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := commit.Rebase(in[c.intent], base(), list(c.winners...), c.tag)
			require.Equal(t, c.kind, v.Kind, "%s %v", v, v.Err)
			require.Equal(t, c.version, v.Version)
		})
	}
	tag.Status = commit.Restored
	again := *in["tagged"]
	again.Reapply = true
	require.Equal(t, commit.Compatible, commit.Rebase(&again, base(), list("append, same part"), tag).Kind)
	require.Equal(t, commit.Skip, commit.Rebase(in["tagged"], base(), list("append, same part"), tag).Kind)
}

func TestCreating(t *testing.T) {
	in := &commit.Intent{TxnID: "t", ReadVersion: -1, Actions: []delta.Action{{Protocol: base().Protocol}, {Metadata: base().Metadata}}}
	require.NoError(t, in.Validate())
	v := commit.Check(in, commit.State{}, &commit.Winner{Actions: []delta.Action{{Protocol: base().Protocol}, {Metadata: base().Metadata}}})
	require.Equal(t, commit.Replan, v.Kind)
	require.Equal(t, commit.RuleCreated, v.Rule)
	require.Nil(t, bodyOf(t, in, commit.Landing{Now: 1})[0].CommitInfo.ReadVersion)
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*commit.Intent){
		"no transaction id":        func(in *commit.Intent) { in.TxnID = "" },
		"creating without actions": func(in *commit.Intent) { in.TableID, in.ReadVersion = "", -1 },
		"a version before 0":       func(in *commit.Intent) { in.ReadVersion = -1 },
		"an empty app id":          func(in *commit.Intent) { in.Tag = &commit.Tag{Version: 1} },
		"a negative tag":           func(in *commit.Intent) { in.Tag = &commit.Tag{AppID: "a", Version: -1} },
		"a commitInfo": func(in *commit.Intent) {
			in.Actions = append(in.Actions, delta.Action{CommitInfo: &delta.CommitInfo{}})
		},
		"a path added twice": func(in *commit.Intent) { in.Actions = append(in.Actions, add("new", "2", true)) },
		"two records of one app": func(in *commit.Intent) {
			in.Actions = append(in.Actions, delta.Action{Txn: &delta.Txn{AppID: "a"}}, delta.Action{Txn: &delta.Txn{AppID: "a", Version: 1}})
		},
	} {
		in := intents()["append"]
		require.NoError(t, in.Validate())
		change(in)
		require.Error(t, in.Validate(), name)
	}
}

func TestBody(t *testing.T) {
	in := *intents()["tagged"]
	in.Info = delta.CommitInfo{Operation: "WRITE", OperationParameters: map[string]any{"mode": "Append"}}
	body := bodyOf(t, &in, commit.Landing{Version: 5, Now: 1234, Table: landed(t, nil, delta.Action{Txn: &delta.Txn{AppID: commit.UndoneAppID("app"), Version: 3}})})
	info := body[0].CommitInfo
	require.Equal(t, in.TxnID, info.TxnID)
	require.Equal(t, "Serializable", info.IsolationLevel)
	require.EqualValues(t, 1234, info.Timestamp)
	require.EqualValues(t, 4, *info.ReadVersion)
	require.True(t, *info.IsBlindAppend)
	require.Empty(t, in.Info.TxnID, "the template stays as it is")
	now := int64(1234)
	require.Equal(t, &delta.Txn{AppID: "app", Version: 7, LastUpdated: &now}, body[2].Txn)
	require.Equal(t, &delta.Txn{AppID: commit.UndoneAppID("app"), Version: commit.Cleared, LastUpdated: &now}, body[3].Txn)

	in.Actions = append(in.Actions, delta.Action{Txn: &delta.Txn{AppID: "app", Version: 7}})
	require.Len(t, bodyOf(t, &in, commit.Landing{Version: 5, Now: 1234}), 3, "a record of the planner's is not doubled")

	compaction := intents()["compaction"]
	require.Equal(t, "SnapshotIsolation", bodyOf(t, compaction, commit.Landing{Version: 5, Now: 1})[0].CommitInfo.IsolationLevel)
	require.Equal(t, []string{"new"}, compaction.Files())
}

// A commit that only rearranges rows need not be ordered after files that were added; one that does
// more than that, be it to record a tag, is looked at like any other.
func TestRearranging(t *testing.T) {
	in := *intents()["compaction"]
	in.Reads.Touches = inPartition("1")
	added := &commit.Winner{Version: 5, Actions: winners()["append, same part"]}
	require.Equal(t, commit.Compatible, commit.Check(&in, base(), added).Kind)
	for what, more := range map[string]func(*commit.Intent){
		"a tag":        func(in *commit.Intent) { in.Tag = &commit.Tag{AppID: "app", Version: 1} },
		"a definition": func(in *commit.Intent) { in.Actions = append(in.Actions, delta.Action{Metadata: metadata(nil)}) },
		"a domain": func(in *commit.Intent) {
			in.Actions = append(in.Actions, delta.Action{Domain: &delta.DomainMetadata{Domain: "d"}})
		},
		"a file with other rows": func(in *commit.Intent) { in.Actions = append(in.Actions, add("more", "1", true)) },
		"rows that go":           func(in *commit.Intent) { in.Actions = append(in.Actions, remove("more", true)) },
	} {
		also := in
		also.Actions = slices.Clone(in.Actions)
		more(&also)
		require.Equal(t, commit.RuleAdded, commit.Check(&also, base(), added).Rule, what)
	}
}

// Records beside the tag's own: its companions in our name space go with it, others were read.
func TestRecordsOfOthers(t *testing.T) {
	in := *intents()["tagged"]
	record := func(app string) delta.Action { return delta.Action{Txn: &delta.Txn{AppID: app, Version: 1}} }
	for app, rule := range map[string]commit.Rule{
		"app": commit.RuleNone, "idem/v1/rows/app": commit.RuleNone, "idem/v1/undone/app": commit.RuleNone,
		"idem/v1/undone/other": commit.RuleTag, "other": commit.RuleTag,
	} {
		in.Actions = []delta.Action{record(app)}
		v := commit.Check(&in, base(), &commit.Winner{Version: 5, Actions: []delta.Action{record(app)}})
		require.Equal(t, rule, v.Rule, app)
	}
}

// What rests on all that the table is, as a restore does, stands no commit that comes between, be it a
// property, a tag without rows or a note that a vacuum began.
func TestWhatRestsOnEverythingIsPlannedAnewAfterAnyCommit(t *testing.T) {
	in := *intents()["append"]
	in.BlindAppend, in.Reads, in.Isolation = false, commit.Reads{Everything: true}, commit.WriteSerializable
	for name, actions := range winners() {
		v := commit.Check(&in, base(), &commit.Winner{Version: 5, Actions: actions})
		require.GreaterOrEqual(t, v.Kind, commit.Replan, "%s: %s", name, v)
	}
}

package interop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

var (
	featuresOnly  = flag.String("interop.features", "", "the cases of TestFeatures whose names match this expression")
	featuresParts = flag.Int("interop.parts", 1, "TestFeatures has the pairs of one of so many parts, which the sources decide")
)

// subject is the table of a case, and what it must hold.
type subject struct {
	featureCase
	t       *testing.T
	path    string
	mem     memory.Allocator
	table   *idem.Table
	bySpark bool // Spark made it

	refused string // the feature that idem does not write

	stale   []string // what idem's vacuum would delete
	objects []string // the files there are before Spark's vacuum

	facts  []fact
	was    map[int64][]fact // by version
	since  int64            // from where its change data is read
	seen   view
	checks int
	faults []string
}

// view is what idem reads of a table.
type view struct {
	rows, feed []record
	ids        map[string]rowID
	history    []string
}

// fact is a row: its cells follow from both numbers.
type fact struct{ id, seq int }

// faulty notes what is wrong; a nil error is fine.
func (s *subject) faulty(err error, format string, args ...any) {
	if err != nil {
		s.faults = append(s.faults, fmt.Sprintf(format, args...)+": "+err.Error())
	}
}

// checked counts a comparison with an engine.
func (s *subject) checked(e engine, err error, what string) {
	s.checks++
	theRun.mu.Lock()
	theRun.cases[e]++
	theRun.mu.Unlock()
	s.faulty(err, "%s, %s", e, what)
}

// TestFeatures has every table feature, alone and beside those that it meets, go through every verb
// of idem, twice each, and through Spark's statements; whatever one wrote the others read: rows, change
// data, row ids, history, and which files a vacuum deletes.
func TestFeatures(t *testing.T) {
	needEngines(t)
	all := subjects(t, checked(t), *featuresParts)
	each := func(do func(s *subject)) {
		for _, s := range all {
			if s.table != nil {
				do(s)
			}
		}
	}
	ask := func(statements func(s *subject) []statement) map[*subject][]outcome {
		return sparkEach(t, all, statements)
	}

	sparkSays(ask((*subject).creation), "prepares the table")
	for _, s := range all {
		s.begin()
	}
	each((*subject).ours)
	each((*subject).view)
	readBoth(all, ask((*subject).reads), "after idem")
	readOthers(t, all, "after idem")
	done := ask(func(s *subject) []statement { return append(s.writes(), s.reads()...) })
	each(func(s *subject) {
		writes := len(s.writes())
		s.theirs(done[s][:writes])
		done[s] = done[s][writes:]
	})
	each((*subject).view)
	readBoth(all, done, "after Spark")
	readOthers(t, all, "after Spark")
	each((*subject).oursAgain)
	each((*subject).view)
	each((*subject).beforeVacuum)
	last := ask(func(s *subject) []statement { return append(append(s.reads(), s.history()), s.vacuum()...) })
	readBoth(all, last, "after both")
	each(func(s *subject) {
		rest := last[s][len(s.reads()):]
		s.checked(spark, s.sameHistory(rest[0]), "history")
		s.vacuumed(rest[1:])
	})
	report(t, all)
}

func report(t *testing.T, all []*subject) {
	checks, failed := 0, 0
	for _, s := range all {
		checks += s.checks
		failed += len(s.faults)
		t.Run(s.name, func(t *testing.T) {
			for _, f := range s.faults {
				t.Error(f)
			}
		})
	}
	theRun.mu.Lock()
	theRun.failed += failed
	theRun.mu.Unlock()
	fmt.Printf("matrix: %d cases, %d engine checks, %d failed\n", len(all), checks, failed)
}

// subjects makes the tables that idem makes, and leaves the others to Spark: every second one, and those
// that idem does not write.
func subjects(t *testing.T, mem memory.Allocator, parts int) []*subject {
	only, err := regexp.Compile(*featuresOnly)
	require.NoError(t, err)
	flags, root := featureFlags(t), t.TempDir()
	var all []*subject
	for i, c := range featureCases(tabletest.Sources(t), parts) {
		if !only.MatchString(c.name) {
			continue
		}
		s := &subject{featureCase: c, t: t, mem: mem, path: filepath.Join(root, fmt.Sprint("case", i)), was: map[int64][]fact{}, bySpark: i%2 == 1 && !c.unmade || c.foreign}
		for _, f := range c.features {
			if !flags[f].write {
				s.refused = f
			}
		}
		if s.bySpark = s.bySpark || s.refused != ""; !s.bySpark {
			s.create()
		}
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	return all
}

func (s *subject) create() {
	d := idem.Definition{PartitionBy: s.partitionBy, ClusterBy: s.clusterBy, Properties: s.properties, Constraints: s.constraints, Columns: map[string]idem.Column{}}
	var fields []arrow.Field
	for _, c := range s.columns {
		typ := c.typ
		if c.was != "" {
			typ = c.was
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: arrowType(s.t, typ), Nullable: !strings.HasSuffix(c.sql, "NOT NULL")})
		if c.rule.Generated != "" || c.rule.Default != "" || c.rule.Type != "" || c.rule.Identity != nil {
			d.Columns[c.name] = c.rule
		}
	}
	d.Schema = arrow.NewSchema(fields, nil)
	var err error
	if s.table, _, err = idem.Create(s.t.Context(), s.path, d, idem.Options{Allocator: s.mem}); err != nil {
		s.faulty(err, "Create")
		s.bySpark = true
	}
}

// begin opens what Spark made, and takes what it did to the other tables.
func (s *subject) begin() {
	var err error
	if s.table == nil {
		s.table, err = idem.Open(s.t.Context(), s.path, idem.Options{Allocator: s.mem})
	} else {
		_, err = s.table.Refresh(s.t.Context())
	}
	if err != nil {
		s.faulty(err, "open")
		s.table = nil
		return
	}
	if s.widen != "" {
		s.facts, s.since = narrow, s.table.Version()
	}
	s.remember()
}

func (s *subject) remember() { s.was[s.table.Version()] = slices.Clone(s.facts) }

// step is a call of idem that must commit, and what the table holds then.
type step struct {
	name   string
	call   func(s *subject) (fmt.Stringer, idem.Outcome, error)
	repeat bool // a second call does it again
	idle   bool // the first may find nothing to do, and changes no row
	adds   bool // it only adds rows
	keeps  bool // rows keep their ids, also those that change
	model  func(facts []fact) []fact
}

func facts(seq int, ids ...int) []fact {
	var out []fact
	for _, id := range ids {
		out = append(out, fact{id, seq})
	}
	return out
}

// lacking gives the facts for which drop is false.
func lacking(of []fact, drop func(f fact) bool) []fact {
	return slices.DeleteFunc(slices.Clone(of), drop)
}

func idIn(ids ...int) func(f fact) bool {
	return func(f fact) bool { return slices.Contains(ids, f.id) }
}

// narrow are rows from before a widening.
var narrow = facts(0, 101, 102)

func adds(f ...fact) func([]fact) []fact {
	return func(of []fact) []fact { return append(slices.Clone(of), f...) }
}

func drops(drop func(f fact) bool) func([]fact) []fact {
	return func(of []fact) []fact { return lacking(of, drop) }
}

// replaces drops some and adds others.
func replaces(drop func(f fact) bool, f ...fact) func([]fact) []fact {
	return func(of []fact) []fact { return append(lacking(of, drop), f...) }
}

func result(res *idem.Result, err error) (fmt.Stringer, idem.Outcome, error) {
	if err != nil {
		return nil, 0, err
	}
	return res, res.Outcome, nil
}

func replaceStep(name, where string, drop func(f fact) bool, rows ...fact) step {
	return step{name: name, model: replaces(drop, rows...), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(s.table.ReplaceWhere(s.t.Context(), s.source(rows).reader(s.t, s.mem), idem.ReplaceWhere{Where: where}))
	}}
}

func deleteStep(where string, drop func(f fact) bool) step {
	return step{name: "Delete", keeps: true, model: drops(drop), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(s.table.Delete(s.t.Context(), idem.Delete{Where: where}))
	}}
}

// mergeStep merges rows, of which those of gone are deleted and those older than the table's, if it has
// such, left alone.
func mergeStep(older, gone []fact, rows ...fact) step {
	return step{name: "Merge", keeps: true,
		model: func(of []fact) []fact {
			left := lacking(of, func(f fact) bool {
				return slices.ContainsFunc(append(slices.Clone(rows), gone...), func(r fact) bool { return r.id == f.id })
			})
			unknown := lacking(older, func(r fact) bool { return slices.ContainsFunc(of, func(f fact) bool { return r.id == f.id }) })
			return append(append(left, unknown...), rows...)
		},
		call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
			src := s.source(append(append(slices.Clone(rows), older...), gone...))
			src.Schema = append(src.Schema, column{"op", "string"})
			for i := range src.Rows {
				src.Rows[i] = append(src.Rows[i], "u")
				if i >= len(rows)+len(older) {
					src.Rows[i][len(src.Rows[i])-1] = "d"
				}
			}
			return result(s.table.Merge(s.t.Context(), src.reader(s.t, s.mem), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "op = 'd'"}))
		}}
}

var optimizeStep = step{name: "Optimize", adds: true, idle: true, keeps: true, model: adds(), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
	res, err := maintain.OptimizeTable(s.t.Context(), s.table, maintain.Optimize{})
	if err != nil {
		return nil, 0, err
	}
	return res, res.Outcome, nil
}}

// updateStep sets the columns that differ from one state of a row to the other. Expressions do not make
// variants.
func (s *subject) updateStep(id, from, to int) step {
	set := map[string]string{}
	for _, c := range s.given() {
		if was, is := c.given(id, from), c.given(id, to); was != is {
			set[c.name] = c.literal(is)
		}
	}
	return step{name: "Update", keeps: true, model: replaces(idIn(id), fact{id, to}), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(maintain.UpdateTable(s.t.Context(), s.table, maintain.Update{Where: fmt.Sprint("id = ", id), Set: set}))
	}}
}

// overwriteStep replaces the partitions of rows.
func (s *subject) overwriteStep(rows ...fact) step {
	of := func(f fact) string {
		var cells []any
		for _, c := range s.columns {
			if slices.Contains(s.partitionBy, c.name) {
				cells = append(cells, c.cell(f))
			}
		}
		return fmt.Sprint(cells...)
	}
	drop := func(f fact) bool { return slices.ContainsFunc(rows, func(r fact) bool { return of(r) == of(f) }) }
	return step{name: "OverwritePartitions", model: replaces(drop, rows...), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(maintain.OverwritePartitions(s.t.Context(), s.table, s.source(rows).reader(s.t, s.mem), maintain.Overwrite{}))
	}}
}

// steps are those before Spark's turn.
func (s *subject) steps() []step {
	out := slices.Clone(ourSteps)
	var more []step
	if !slices.ContainsFunc(s.columns, func(c declared) bool { return c.typ == "variant" }) {
		more = append(more, s.updateStep(9, 3, 5))
	}
	if len(s.partitionBy) > 0 {
		more = append(more, s.overwriteStep(fact{18, 1}))
	}
	return slices.Insert(out, len(out)-2, more...)
}

// ourSteps are those that every table takes.
var ourSteps = []step{
	{name: "AppendWithTxn", adds: true, model: adds(facts(1, 1, 2, 3, 4, 5, 6)...), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		rows := s.source(facts(1, 1, 2, 3, 4, 5, 6)).reader(s.t, s.mem)
		return result(s.table.AppendWithTxn(s.t.Context(), rows, idem.Txn{AppID: "loader", Version: 1, VerifyPayload: true}))
	}},
	{name: "Append", adds: true, repeat: true, model: adds(facts(1, 7, 8)...), call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(s.table.Append(s.t.Context(), s.source(facts(1, 7, 8)).reader(s.t, s.mem), idem.Append{Reason: "twice on purpose"}))
	}},
	replaceStep("ReplaceWhere", "id BETWEEN 7 AND 9", idIn(7, 8, 9), facts(2, 7, 8, 9)...),
	replaceStep("ReplaceWhere of a day", "day = 'b'", func(f fact) bool { return dayOf(f.id, f.seq) == "b" }, facts(1, 12, 15)...),
	mergeStep(facts(0, 5), facts(3, 4), facts(3, 2, 9, 10)...),
	deleteStep("id = 7 OR id = 12", idIn(7, 12)),
	optimizeStep,
	{name: "ReplaceAll", model: func([]fact) []fact { return facts(4, 1, 2, 3, 4, 5) }, call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		return result(s.table.ReplaceAll(s.t.Context(), s.source(facts(4, 1, 2, 3, 4, 5)).reader(s.t, s.mem), idem.ReplaceAll{}))
	}},
}

func (s *subject) ours() {
	if s.refused != "" {
		_, _, err := ourSteps[0].call(s)
		if !errors.Is(err, idem.ErrUnsupported) || !strings.Contains(err.Error(), s.refused) {
			s.faulty(fmt.Errorf("the answer is %v", err), "a table with %s is refused by its name", s.refused)
		}
		return
	}
	var before int64
	for _, st := range s.steps() {
		before = s.table.Version()
		s.apply(st)
	}
	s.restore(before)
	s.check("idem")
}

func (s *subject) oursAgain() {
	if s.refused != "" {
		return
	}
	s.apply(mergeStep(facts(1, 23), facts(8, 22), facts(8, 20, 30)...))
	s.apply(deleteStep("id = 5", idIn(5)))
	s.apply(optimizeStep)
	s.check("both")
}

// apply calls a step twice, and looks at the table after each.
func (s *subject) apply(st step) {
	if s.has("appendOnly") && !st.adds {
		_, out, err := st.call(s)
		if err == nil {
			s.faulty(fmt.Errorf("it is %v", out), "%s of an append-only table", st.name)
		}
		return
	}
	for run := range 2 {
		before := s.look(st.name)
		res, out, err := st.call(s)
		switch {
		case err != nil:
			s.faulty(err, "%s", st.name)
			return
		case run == 0 || st.repeat:
			s.facts = st.model(s.facts)
			if out != idem.Committed && !st.idle {
				s.faulty(fmt.Errorf("it is %s", res), "%s, call %d", st.name, run+1)
			}
		case out != idem.Unchanged && out != idem.AlreadyApplied:
			s.faulty(fmt.Errorf("it is %s", res), "%s again", st.name)
		}
		s.remember()
		s.kept(name(st.name, "call", run+1), before, st.keeps)
	}
}

// restore goes back to the version before the last step.
func (s *subject) restore(to int64) {
	if s.has("appendOnly") {
		return
	}
	s.apply(step{name: "Restore", model: func([]fact) []fact { return s.was[to] }, call: func(s *subject) (fmt.Stringer, idem.Outcome, error) {
		res, err := maintain.RestoreTable(s.t.Context(), s.table, maintain.Restore{To: maintain.Version(to)})
		if err != nil {
			return nil, 0, err
		}
		return res, res.Outcome, nil
	}})
}

// check holds log and files against the rules.
func (s *subject) check(what string) {
	dir, err := store.OpenDir(s.path)
	if err == nil {
		var found *logcheck.Report
		if found, err = logcheck.Check(context.Background(), dir); err == nil {
			err = found.Err()
		}
	}
	s.faulty(err, "logcheck, after %s", what)
}

// look gives the ids of rows by key, where the table tracks them.
func (s *subject) look(what string) map[string]rowID {
	if _, err := s.table.Refresh(s.t.Context()); err != nil {
		s.faulty(err, "%s", what)
	}
	if !s.has("rowTracking") {
		return nil
	}
	ids, err := s.rowIDs()
	s.faulty(err, "row ids, %s", what)
	return ids
}

// kept says whether the rows are those of the model, and whether they kept their ids.
func (s *subject) kept(what string, before map[string]rowID, keeps bool) {
	rows, err := s.scan()
	if err == nil {
		err = sameTexts(s.texts(rows), s.expected(s.facts))
	}
	s.faulty(err, "%s: idem beside the model", what)
	after := s.look(what)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		was, known := before[key]
		is := after[key]
		switch same := was.text == is.text; {
		case !known || !keeps && !same:
		case was.id != is.id, same && was.version != is.version:
			s.faulty(fmt.Errorf("was %v, is %v", was, is), "%s: the row id of %s", what, key)
		}
	}
}

// TestFeaturesOfIdem has every case go through idem's verbs without the other engines.
func TestFeaturesOfIdem(t *testing.T) {
	for _, s := range subjects(t, checked(t), 1) {
		if s.foreign || testing.Short() && len(s.traits) == 2 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			s.t = t
			if s.bySpark {
				s.create()
			}
			if s.widen != "" {
				s.widened()
			}
			s.ours()
			s.view()
			require.Empty(t, s.faults)
		})
	}
}

// widened gives the table rows of narrow types and widens these.
func (s *subject) widened() {
	_, err := s.table.Append(s.t.Context(), s.source(narrow).reader(s.t, s.mem), idem.Append{Reason: "rows of narrow types"})
	require.NoError(s.t, err)
	_, err = maintain.AlterTable(s.t.Context(), s.table, maintain.Alter{Changes: []maintain.Change{maintain.WidenColumn{Name: "big", Type: arrow.PrimitiveTypes.Int64}}})
	require.NoError(s.t, err)
	s.begin()
}

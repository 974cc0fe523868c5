package interop_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/conformance"
)

// record is a row by its columns, as JSON decodes its canonical text.
type record map[string]any

// rowID is a row's stable id, the version that last changed it, and its text.
type rowID struct{ id, version, text string }

// source gives rows to idem.
func (s *subject) source(of []fact) source {
	var src source
	for _, c := range s.columns {
		if c.given != nil {
			src.Schema = append(src.Schema, column{c.name, c.typ})
		}
	}
	for _, f := range of {
		var r row
		for _, c := range s.columns {
			switch {
			case c.given == nil:
			case c.typ == "variant":
				r = append(r, variantOf(c.given(f.id, f.seq).(string)))
			default:
				r = append(r, c.given(f.id, f.seq))
			}
		}
		src.Rows = append(src.Rows, r)
	}
	return src
}

// expected are the texts of facts, without what the table decides.
func (s *subject) expected(of []fact) []string {
	var out []string
	for _, f := range of {
		r := record{}
		for _, c := range s.columns {
			if !c.loose {
				r[c.name] = c.cell(f)
			}
		}
		out = append(out, r.text())
	}
	slices.Sort(out)
	return out
}

// cell is what the table holds of a fact.
func (c *declared) cell(f fact) any {
	if c.expect != nil {
		return c.expect(f.id, f.seq)
	}
	return c.given(f.id, f.seq)
}

func (r record) text() string {
	text, err := encode(map[string]any(r))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// whole are the texts of rows.
func whole(rows []record) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.text())
	}
	slices.Sort(out)
	return out
}

// texts are the texts of rows in the columns that the model knows.
func (s *subject) texts(rows []record) []string {
	var out []string
	for _, r := range rows {
		known := record{}
		for _, c := range s.columns {
			if !c.loose {
				known[c.name] = r[c.name]
			}
		}
		out = append(out, known.text())
	}
	slices.Sort(out)
	return out
}

func sameTexts(got, want []string) error { return differ(answer{rows: want}, answer{rows: got}, nil) }

// records gives batches as records, variants as their JSON text.
func (s *subject) records(batches iter.Seq2[arrow.RecordBatch, error]) ([]record, error) {
	var out []record
	for b, err := range batches {
		if err != nil {
			return nil, err
		}
		for i := range int(b.NumRows()) {
			text, err := conformance.AppendRow(nil, b, i)
			if err != nil {
				return nil, err
			}
			r, err := decodeRecord(text)
			if err != nil {
				return nil, err
			}
			if err := s.withVariants(r); err != nil {
				return nil, err
			}
			if err := s.withoutVoid(r); err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// withoutVoid takes the column of type void away, for which Spark is not asked.
func (s *subject) withoutVoid(r record) error {
	if v, ok := r[voidColumn]; ok != s.has("void") || v != nil {
		return fmt.Errorf("the column of type void holds %v, there is one: %v", v, ok)
	}
	delete(r, voidColumn)
	return nil
}

// withVariants gives variants as their JSON text.
func (s *subject) withVariants(r record) (err error) {
	for _, c := range s.columns {
		if v, ok := r[c.name].(map[string]any); ok && c.typ == "variant" {
			if r[c.name], err = delta.VariantJSON(raw(v["metadata"]), raw(v["value"])); err != nil {
				return err
			}
		}
	}
	return nil
}

func raw(cell any) []byte {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(fmt.Sprint(cell), "base64:"))
	if err != nil {
		panic(err)
	}
	return b
}

func decodeRecord(text []byte) (record, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var r map[string]any
	err := d.Decode(&r)
	respell(r)
	return r, err
}

func (s *subject) scan() ([]record, error) {
	if _, err := s.table.Refresh(s.t.Context()); err != nil {
		return nil, err
	}
	return s.records(s.table.Scan(s.t.Context(), idem.Scan{}))
}

// rowIDs are the ids of the rows that are alone with their key.
func (s *subject) rowIDs() (map[string]rowID, error) {
	rows, err := s.records(s.table.Scan(s.t.Context(), idem.Scan{RowIDs: true}))
	return byKey(rows, delta.RowIDColumn, delta.RowCommitVersionColumn), err
}

func byKey(rows []record, idColumn, versionColumn string) map[string]rowID {
	out, seen := map[string]rowID{}, map[string]int{}
	for _, r := range rows {
		one := rowID{id: fmt.Sprint(r[idColumn]), version: fmt.Sprint(r[versionColumn])}
		delete(r, idColumn)
		delete(r, versionColumn)
		one.text = r.text()
		key := fmt.Sprint(r["id"])
		seen[key]++
		out[key] = one
	}
	maps.DeleteFunc(out, func(key string, _ rowID) bool { return seen[key] > 1 })
	return out
}

// statement is one of Spark's SQL; read says that its rows are wanted.
type statement struct {
	SQL  string `json:"sql"`
	Read bool   `json:"read"`
}

// outcome is what became of a statement.
type outcome struct {
	rows []record
	err  error
}

// sparkEach has Spark do a list of statements for each subject, all in one request.
func sparkEach(t *testing.T, all []*subject, statements func(s *subject) []statement) map[*subject][]outcome {
	t.Helper()
	jobs := [][]statement{}
	for _, s := range all {
		jobs = append(jobs, append([]statement{}, statements(s)...))
	}
	var replies [][]reply
	began := time.Now()
	require.NoError(t, theRun.server.ask(spark, "many", map[string]any{"jobs": jobs}, &replies))
	t.Logf("Spark: %d tables, %s", len(all), time.Since(began).Round(time.Second))
	out := map[*subject][]outcome{}
	for i, s := range all {
		for _, r := range replies[i] {
			out[s] = append(out[s], r.outcome())
		}
	}
	return out
}

// reply is an outcome as engines.py tells it.
type reply struct {
	OK *struct {
		Schema []column
		Rows   [][]any
	}
	Error string
}

func (r reply) outcome() outcome {
	if r.Error != "" {
		return outcome{err: errors.New(r.Error)}
	}
	var out outcome
	if r.OK != nil {
		for _, cells := range r.OK.Rows {
			one := map[string]any{}
			for i, c := range cells {
				one[r.OK.Schema[i][0]] = c
			}
			respell(one)
			out.rows = append(out.rows, one)
		}
	}
	return out
}

func sparkSays(outcomes map[*subject][]outcome, what string) {
	for s, list := range outcomes {
		for i, o := range list {
			s.checked(spark, o.err, fmt.Sprintf("%s, statement %d", what, i+1))
		}
	}
}

// sql is the table's name in statements.
func (s *subject) sql() string { return "delta.`" + s.path + "`" }

// selected are the columns as Spark is asked for them.
func (s *subject) selected() string {
	var out []string
	for _, c := range s.columns {
		name := "`" + c.name + "`"
		if c.typ == "variant" {
			name = "to_json(" + name + ") AS " + name
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// history asks for it.
func (s *subject) history() statement { return statement{"DESCRIBE HISTORY " + s.sql(), true} }

// reads ask for the rows, and what else the table has.
func (s *subject) reads() []statement {
	out := []statement{{"SELECT " + s.selected() + " FROM " + s.sql(), true}}
	if s.has("changeDataFeed") {
		out = append(out, statement{fmt.Sprintf("SELECT %s, _change_type, _commit_version, _commit_timestamp FROM table_changes_by_path('%s', %d)", s.selected(), s.path, s.since), true})
	}
	if s.has("rowTracking") {
		out = append(out, statement{"SELECT " + s.selected() + ", _metadata.row_id AS row_id, _metadata.row_commit_version AS row_commit_version FROM " + s.sql(), true})
	}
	return out
}

// view has idem read the table, and holds it against the model.
func (s *subject) view() {
	s.seen = view{}
	var err error
	if s.seen.rows, err = s.scan(); err == nil {
		err = sameTexts(s.texts(s.seen.rows), s.expected(s.facts))
	}
	s.faulty(err, "version %d: idem beside the model", s.table.Version())
	if s.has("changeDataFeed") {
		s.seen.feed, err = s.records(changes.Rows(s.t.Context(), s.table, changes.Request{From: changes.Version(s.since)}))
		s.faulty(err, "changes")
		s.faulty(s.replay(s.seen.feed), "the change data, applied")
	}
	if s.has("rowTracking") {
		s.seen.ids, err = s.rowIDs()
		s.faulty(err, "row ids")
	}
	for c, err := range s.table.History(s.t.Context()) {
		s.faulty(err, "history")
		if err == nil {
			s.seen.history = append(s.seen.history, fmt.Sprint(c.Version, " ", c.Info.Operation, " ", c.Timestamp.UTC().Format("2006-01-02T15:04:05.000000Z")))
		}
	}
	slices.Sort(s.seen.history)
}

// readBoth holds what Spark read against what idem saw.
func readBoth(all []*subject, outcomes map[*subject][]outcome, what string) {
	for _, s := range all {
		if s.table == nil {
			continue
		}
		list := outcomes[s]
		s.checked(spark, list[0].beside(whole(s.seen.rows)), "rows "+what)
		list = list[1:]
		if s.has("changeDataFeed") {
			s.checked(spark, list[0].beside(whole(s.seen.feed)), "change data "+what)
			list = list[1:]
		}
		if s.has("rowTracking") {
			s.checked(spark, sameIDs(s.seen.ids, list[0]), "row ids "+what)
		}
	}
}

func (o outcome) beside(ours []string) error {
	return differ(answer{rows: ours}, answer{rows: whole(o.rows)}, o.err)
}

func sameIDs(ours map[string]rowID, o outcome) error {
	theirs := byKey(o.rows, "row_id", "row_commit_version")
	if o.err != nil || maps.Equal(ours, theirs) {
		return o.err
	}
	return fmt.Errorf("ids and versions are %v, ours %v", theirs, ours)
}

func (s *subject) sameHistory(o outcome) error {
	var theirs []string
	for _, r := range o.rows {
		theirs = append(theirs, fmt.Sprint(r["version"], " ", r["operation"], " ", r["timestamp"]))
	}
	slices.Sort(theirs)
	return differ(answer{rows: s.seen.history}, answer{rows: theirs}, o.err)
}

// replay applies the change data to what the table held before it: each version must hold what it did.
func (s *subject) replay(feed []record) error {
	byVersion := map[string][]record{}
	for _, r := range feed {
		v := fmt.Sprint(r[changes.VersionColumn])
		byVersion[v] = append(byVersion[v], r)
	}
	state := s.expected(s.was[s.since])
	for v := s.since + 1; v <= s.table.Version(); v++ {
		var gone, come []string
		for _, r := range byVersion[fmt.Sprint(v)] {
			text := s.texts([]record{r})[0]
			if kind := r[changes.TypeColumn]; kind == changes.Delete || kind == changes.UpdatePreimage {
				gone = append(gone, text)
			} else {
				come = append(come, text)
			}
		}
		for _, g := range gone {
			i := slices.Index(state, g)
			if i < 0 {
				return fmt.Errorf("version %d takes away %s, which was not there", v, g)
			}
			state = slices.Delete(state, i, i+1)
		}
		state = append(state, come...)
		slices.Sort(state)
		if held, known := s.was[v]; known {
			if err := sameTexts(state, s.expected(held)); err != nil {
				return fmt.Errorf("version %d: %w", v, err)
			}
		}
	}
	return nil
}

// readOthers has the engines that only read look at every table.
func readOthers(t *testing.T, all []*subject, what string) {
	t.Helper()
	paths := []string{}
	for _, s := range all {
		paths = append(paths, s.path)
	}
	for _, e := range []engine{deltaRS, duckDB} {
		var replies []reply
		require.NoError(t, theRun.server.ask(e, "many", map[string]any{"paths": paths}, &replies))
		for i, s := range all {
			if s.table == nil {
				continue
			}
			s.checked(e, s.readBy(e, replies[i].outcome()), "rows "+what)
		}
	}
}

// readBy holds what an engine read against what idem saw. What an engine is excepted from it must fail
// at, where the exception alone can be why.
func (s *subject) readBy(e engine, o outcome) error {
	for _, r := range o.rows {
		if err := errors.Join(s.withVariants(r), s.withoutVoid(r)); err != nil {
			return err
		}
	}
	err := o.beside(whole(s.seen.rows))
	why, alone := s.blind[e], len(s.traits) == 1
	p := s.table.Snapshot().Protocol()
	switch {
	case e != duckDB:
	case p.MinReaderVersion == 2 && p.MinWriterVersion == 7:
		why, alone = twoAndSeven, true
	case s.table.Snapshot().Mapping() != delta.MappingNone && len(s.partitionBy) > 0:
		why = mappedPartitions
	}
	switch {
	case why == "":
		return err
	case err == nil && alone:
		return fmt.Errorf("agrees, although it is excepted (%s): drop the exception", why)
	}
	return nil
}

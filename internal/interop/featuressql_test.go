package interop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// creation is the statements that make the table, if Spark does, and those that widen its columns.
func (s *subject) creation() []statement {
	var out []statement
	say := func(format string, args ...any) { out = append(out, statement{SQL: fmt.Sprintf(format, args...)}) }
	if s.bySpark {
		out = append(out, statement{SQL: s.createSQL()})
		for _, sql := range s.alter {
			say(sql, s.sql())
		}
	}
	if s.widen != "" {
		say("%s", s.insert(narrow))
		say(s.widen, s.sql())
	}
	return out
}

func (s *subject) createSQL() string {
	var columns, properties []string
	for _, c := range s.columns {
		columns = append(columns, "`"+c.name+"` "+c.sql)
	}
	for _, key := range slices.Sorted(maps.Keys(s.properties)) {
		properties = append(properties, fmt.Sprintf("'%s' = '%s'", key, s.properties[key]))
	}
	sql := "CREATE TABLE " + s.sql() + " (" + strings.Join(columns, ", ") + ") USING delta"
	if len(s.partitionBy) > 0 {
		sql += " PARTITIONED BY (" + quoted(s.partitionBy) + ")"
	}
	if len(s.clusterBy) > 0 {
		sql += " CLUSTER BY (" + quoted(s.clusterBy) + ")"
	}
	if len(properties) > 0 {
		sql += " TBLPROPERTIES (" + strings.Join(properties, ", ") + ")"
	}
	return sql
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// literal is a cell in SQL.
func (c *declared) literal(cell any) string {
	switch text := fmt.Sprint(cell); {
	case cell == nil:
		return "CAST(NULL AS " + c.sql + ")"
	case c.typ == "string":
		return "'" + text + "'"
	case c.typ == "variant":
		return "parse_json('" + text + "')"
	case c.typ == "timestamp_ntz":
		return "TIMESTAMP_NTZ '" + text + "'"
	case c.typ == "long" && c.was == "":
		return text + "L"
	default:
		return text
	}
}

// given are the columns that writers give.
func (s *subject) given() []declared {
	return slices.DeleteFunc(slices.Clone(s.columns), func(c declared) bool { return c.given == nil })
}

// selection is a query of rows.
func (s *subject) selection(of []fact) string {
	var rows []string
	for _, f := range of {
		var cells []string
		for _, c := range s.given() {
			cells = append(cells, c.literal(c.given(f.id, f.seq))+" AS `"+c.name+"`")
		}
		rows = append(rows, "SELECT "+strings.Join(cells, ", "))
	}
	return strings.Join(rows, " UNION ALL ")
}

func (s *subject) givenNames(prefix string) []string {
	var out []string
	for _, c := range s.given() {
		out = append(out, prefix+"`"+c.name+"`")
	}
	return out
}

func (s *subject) insert(of []fact) string {
	return "INSERT INTO " + s.sql() + " (" + strings.Join(s.givenNames(""), ", ") + ") " + s.selection(of)
}

func (s *subject) update(f fact) string {
	var set []string
	for _, c := range s.given() {
		if c.name != "id" {
			set = append(set, "`"+c.name+"` = "+c.literal(c.given(f.id, f.seq)))
		}
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE id = %d", s.sql(), strings.Join(set, ", "), f.id)
}

func (s *subject) mergeSQL(of []fact) string {
	var set []string
	for _, name := range s.givenNames("") {
		if name != "`id`" {
			set = append(set, name+" = s."+name)
		}
	}
	return fmt.Sprintf("MERGE INTO %s t USING (%s) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET %s WHEN NOT MATCHED THEN INSERT (%s) VALUES (%s)",
		s.sql(), s.selection(of), strings.Join(set, ", "), strings.Join(s.givenNames(""), ", "), strings.Join(s.givenNames("s."), ", "))
}

// turnOfSpark is a statement and what the table holds then.
type turnOfSpark struct {
	sql   func(s *subject) string
	adds  bool
	merge bool
	model func(of []fact) []fact
}

var sparksTurns = []turnOfSpark{
	{func(s *subject) string { return s.insert(facts(5, 20, 21, 22)) }, true, false, adds(facts(5, 20, 21, 22)...)},
	{func(s *subject) string { return s.update(fact{20, 6}) }, false, false, replaces(idIn(20), fact{20, 6})},
	{func(s *subject) string { return "DELETE FROM " + s.sql() + " WHERE id = 21 OR id = 1" }, false, false, drops(idIn(21, 1))},
	{func(s *subject) string { return s.mergeSQL(facts(7, 9, 23)) }, false, true, replaces(idIn(9, 23), facts(7, 9, 23)...)},
	{func(s *subject) string { return "OPTIMIZE " + s.sql() }, true, false, adds()},
}

// turns are those that the table allows.
func (s *subject) turns() []turnOfSpark {
	return slices.DeleteFunc(slices.Clone(sparksTurns), func(u turnOfSpark) bool {
		return s.has("appendOnly") && !u.adds || s.has("void") && u.merge
	})
}

func (s *subject) writes() []statement {
	var out []statement
	for _, u := range s.turns() {
		out = append(out, statement{SQL: u.sql(s)})
	}
	return out
}

// theirs takes what Spark did into the model, and looks whether rows kept their ids.
func (s *subject) theirs(outcomes []outcome) {
	var before map[string]rowID
	if s.has("rowTracking") {
		var err error
		before, err = s.rowIDs() // of the version that idem saw last
		s.faulty(err, "row ids before Spark")
	}
	version := s.table.Version()
	for i, u := range s.turns() {
		s.checked(spark, outcomes[i].err, fmt.Sprintf("statement %d", i+1))
		s.facts = u.model(s.facts)
		version++
		s.was[version] = slices.Clone(s.facts)
	}
	s.kept("after Spark's statements", before, true)
	s.check("Spark")
}

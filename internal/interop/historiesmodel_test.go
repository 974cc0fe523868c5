package interop_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// taleColumn is a column of the histories' tables. Its key stays when its name changes.
type taleColumn struct {
	key       int
	name, typ string
}

// The columns that every table begins with. The first three stay; they may be renamed.
const (
	taleID = iota
	taleDay
	taleSeq
	taleN
	talePrice
	taleName
	taleSeen
	taleFirst // the first key of a column that is added
)

var taleColumns = []taleColumn{
	{taleID, "id", "long"}, {taleDay, "day", "string"}, {taleSeq, "seq", "long"}, {taleN, "n", "integer"}, {talePrice, "price", "decimal(9,2)"},
	{taleName, "name", "string"}, {taleSeen, "seen", "timestamp"},
}

// tale is what a version holds: cells by the key of their column, rows by their id.
type tale struct {
	columns     []taleColumn
	rows        map[int]map[int]any
	constraints map[string]int // the column of each
}

func (s *tale) clone() *tale {
	out := &tale{columns: slices.Clone(s.columns), rows: map[int]map[int]any{}, constraints: maps.Clone(s.constraints)}
	for id, r := range s.rows {
		out.rows[id] = maps.Clone(r)
	}
	return out
}

func (s *tale) index(key int) int {
	return slices.IndexFunc(s.columns, func(c taleColumn) bool { return c.key == key })
}

func (s *tale) has(key int) bool { return s.index(key) >= 0 }

// sql is a column's name in conditions and statements.
func (s *tale) sql(key int) string { return ticked(s.columns[s.index(key)].name) }

func ticked(name string) string { return "`" + name + "`" }

func (s *tale) constrained(key int) bool {
	return slices.Contains(slices.Collect(maps.Values(s.constraints)), key)
}

// texts are the rows as JSON with sorted keys.
func (s *tale) texts() []string {
	out := []string{}
	for _, r := range s.rows {
		named := map[string]any{}
		for _, c := range s.columns {
			named[c.name] = r[c.key]
		}
		out = append(out, mustText(named))
	}
	slices.Sort(out)
	return out
}

func mustText(v any) string {
	text, err := encode(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *tale) schema() []column {
	var out []column
	for _, c := range s.columns {
		out = append(out, column{c.name, c.typ})
	}
	return out
}

// source gives rows to idem and delta-rs.
func (s *tale) source(rows map[int]map[int]any) source {
	out := source{Schema: s.schema()}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		var cells row
		for _, c := range s.columns {
			cells = append(cells, rows[id][c.key])
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// query gives rows to Spark.
func (s *tale) query(rows map[int]map[int]any) string {
	var names, lines []string
	for _, c := range s.columns {
		names = append(names, ticked(c.name))
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		var cells []string
		for _, c := range s.columns {
			cells = append(cells, sqlCell(c.typ, rows[id][c.key]))
		}
		lines = append(lines, "("+strings.Join(cells, ", ")+")")
	}
	return fmt.Sprintf("SELECT * FROM VALUES %s AS s(%s)", strings.Join(lines, ", "), strings.Join(names, ", "))
}

func sqlType(typ string) string {
	if name, ok := map[string]string{"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}[typ]; ok {
		return name
	}
	return strings.ToUpper(typ)
}

// sqlCell is a cell in Spark's SQL.
func sqlCell(typ string, cell any) string { return castCell(typ, cell, `\`, `\\`, `'`, `\'`) }

// standardCell is a cell in SQL whose texts have no escapes: a quote is doubled, as delta-rs reads it.
func standardCell(typ string, cell any) string { return castCell(typ, cell, `'`, `''`) }

func castCell(typ string, cell any, escapes ...string) string {
	text := "NULL"
	if cell != nil {
		text = "'" + strings.NewReplacer(escapes...).Replace(fmt.Sprint(cell)) + "'"
	}
	return "CAST(" + text + " AS " + sqlType(typ) + ")"
}

// pick gives one of a few values.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// drawCell draws a value of a type.
func drawCell(r *rand.Rand, typ string) any {
	if r.IntN(5) == 0 {
		return nil
	}
	if strings.HasPrefix(typ, "decimal") {
		var precision, scale int
		fmt.Sscanf(typ, "decimal(%d,%d)", &precision, &scale)
		return padded(pick(r, "0.00", "-99.99", fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100))), scale)
	}
	switch typ {
	case "byte", "short", "integer", "long":
		return pick(r, r.IntN(20), r.IntN(100), -1)
	case "float", "double":
		return float64(r.IntN(200)-100) / 2
	case "boolean":
		return r.IntN(2) == 0
	case "date":
		return fmt.Sprintf("2024-02-%02d", 1+r.IntN(28))
	case "timestamp_ntz":
		return fmt.Sprintf("2024-02-%02dT00:00:00.000001", 1+r.IntN(28))
	case "timestamp":
		return pick(r, "1969-12-31T23:59:59.999999Z", fmt.Sprintf("2024-02-%02dT00:00:00.000001Z", 1+r.IntN(28)))
	}
	return pick(r, "", "é", "a'b", fmt.Sprint("name ", r.IntN(9)))
}

// padded is a decimal with the digits of a scale.
func padded(text string, scale int) string {
	whole, digits, _ := strings.Cut(text, ".")
	digits += strings.Repeat("0", max(0, scale-len(digits)))
	if scale == 0 {
		return whole
	}
	return whole + "." + digits[:scale]
}

// wider are the types that a column's may be widened to.
func wider(typ string) []string {
	var precision, scale int
	if n, _ := fmt.Sscanf(typ, "decimal(%d,%d)", &precision, &scale); n == 2 {
		return []string{fmt.Sprintf("decimal(%d,%d)", precision+1, scale), fmt.Sprintf("decimal(%d,%d)", precision+3, scale+2)}
	}
	return map[string][]string{
		"byte": {"short", "integer", "long", "double", "decimal(10,0)"}, "short": {"integer", "long", "double"}, "integer": {"long", "double", "decimal(12,2)"},
		"float": {"double"}, "date": {"timestamp_ntz"},
	}[typ]
}

// widened is a cell after its type became another.
func widened(cell any, to string) any {
	var precision, scale int
	switch n, _ := fmt.Sscanf(to, "decimal(%d,%d)", &precision, &scale); {
	case cell == nil:
		return nil
	case n == 2:
		return padded(fmt.Sprint(cell), scale)
	case to == "timestamp_ntz":
		return fmt.Sprint(cell, "T00:00:00.000000")
	}
	return cell
}

// taleCondition is one that every engine reads, and the rows for which it is TRUE.
type taleCondition struct {
	text  string
	holds func(r map[int]any) bool
}

func (h *history) condition() taleCondition {
	s := h.state
	switch kind := h.r.IntN(6); {
	case kind == 0:
		return taleCondition{s.sql(taleDay) + " IS NULL", func(r map[int]any) bool { return r[taleDay] == nil }}
	case kind == 1 && s.has(taleN) && s.columns[s.index(taleN)].typ == "integer":
		n := h.r.IntN(20)
		return taleCondition{fmt.Sprint(s.sql(taleN), " < ", n), func(r map[int]any) bool { return r[taleN] != nil && r[taleN].(int) < n }}
	case kind == 2 && s.has(taleName):
		return taleCondition{s.sql(taleName) + " = ''", func(r map[int]any) bool { return r[taleName] == "" }}
	case kind == 3:
		return taleCondition{s.sql(taleDay) + " = 'd1'", func(r map[int]any) bool { return r[taleDay] == "d1" }}
	}
	lo := h.r.IntN(h.next)
	hi := lo + h.r.IntN(6)
	return taleCondition{fmt.Sprintf("%s BETWEEN %d AND %d", s.sql(taleID), lo, hi), func(r map[int]any) bool { return r[taleID].(int) >= lo && r[taleID].(int) <= hi }}
}

// rowsText gives rows that an engine sent as texts.
func rowsText(schema []column, rows [][]any) []string {
	out := []string{}
	for _, cells := range rows {
		named := map[string]any{}
		for i, c := range cells {
			named[schema[i][0]] = respell(c)
		}
		out = append(out, mustText(named))
	}
	slices.Sort(out)
	return out
}

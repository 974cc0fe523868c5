package metamorphic_test

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"
)

// drawCondition draws a condition on columns that the table has.
func drawCondition(t *rapid.T, s *state) condition {
	a := drawLeaf(t, s)
	switch rapid.IntRange(0, 5).Draw(t, "join") {
	case 0:
		b := drawLeaf(t, s)
		return condition{a.text + " AND " + b.text, func(r map[int]any) truth { return and(a.holds(r), b.holds(r)) }}
	case 1:
		b := drawLeaf(t, s)
		return condition{a.text + " OR " + b.text, func(r map[int]any) truth { return not(and(not(a.holds(r)), not(b.holds(r)))) }}
	case 2:
		return condition{"NOT " + a.text, func(r map[int]any) truth { return not(a.holds(r)) }}
	}
	return a
}

func not(a truth) truth { return map[truth]truth{yes: no, no: yes}[a] }

func and(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == yes && b == yes:
		return yes
	}
	return unknown
}

// drawLeaf draws a comparison of one column.
func drawLeaf(t *rapid.T, s *state) condition {
	if rapid.IntRange(0, 2).Draw(t, "kind of condition") == 0 {
		return drawKeys(t, s)
	}
	able := []column{}
	for _, c := range s.columns {
		if c.key != colWords {
			able = append(able, c)
		}
	}
	c := rapid.SampledFrom(able).Draw(t, "column")
	name, of := s.sql(c.key), func(r map[int]any) any { return r[c.key] }
	if rapid.IntRange(0, 5).Draw(t, "IS NULL") == 0 {
		return condition{name + " IS NULL", func(r map[int]any) truth { return truthOf(of(r) == nil) }}
	}
	dt := c.typ
	if c.key == colPlace {
		name, dt, of = name+".city", arrow.BinaryTypes.String, func(r map[int]any) any {
			if p, ok := r[colPlace].(fields); ok {
				return p[0]
			}
			return nil
		}
	}
	return compares(t, name, of, dt)
}

// compares compares a value with a drawn one.
func compares(t *rapid.T, name string, of func(map[int]any) any, dt arrow.DataType) condition {
	signs := map[string]func(int) bool{
		"=": func(n int) bool { return n == 0 }, "<>": func(n int) bool { return n != 0 },
		"<": func(n int) bool { return n < 0 }, ">=": func(n int) bool { return n >= 0 },
	}
	sign := rapid.SampledFrom([]string{"=", "=", "<", ">=", "<>"}).Draw(t, "sign")
	with := drawValue(t, "compared with", dt)
	return condition{fmt.Sprintf("%s %s %s", name, sign, literal(with, dt)), func(r map[int]any) truth {
		v := of(r)
		if v == nil {
			return unknown
		}
		return truthOf(signs[sign](compareCells(v, with)))
	}}
}

// drawKeys draws a range or a set of keys.
func drawKeys(t *rapid.T, s *state) condition {
	first := drawKey(t, "first key")
	if rapid.Bool().Draw(t, "range") {
		last := first + rapid.Int64Range(0, 5).Draw(t, "more keys")
		return condition{fmt.Sprintf("%s BETWEEN %d AND %d", s.sql(colID), first, last), func(r map[int]any) truth {
			id, ok := r[colID].(int64)
			if !ok {
				return unknown
			}
			return truthOf(id >= first && id <= last)
		}}
	}
	second := drawKey(t, "second key")
	return condition{fmt.Sprintf("%s IN (%s)", s.sql(colID), strings.Join([]string{fmt.Sprint(first), fmt.Sprint(second)}, ", ")), func(r map[int]any) truth {
		id, ok := r[colID].(int64)
		if !ok {
			return unknown
		}
		return truthOf(id == first || id == second)
	}}
}

const keys = 12

func drawKey(t *rapid.T, label string) int64 { return rapid.Int64Range(0, keys-1).Draw(t, label) }

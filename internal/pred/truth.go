package pred

// truth is a set of the three truth values. As one value it is what a row gives; as a set it is
// what the rows of a file may give.
type truth uint8

const (
	yes  truth = 1 << iota // TRUE
	no                     // FALSE
	null                   // NULL
	lost                   // an error: only in sets
)

// anything is what a condition may give of which nothing is known.
const anything = yes | no | null | lost

var values3 = [3]truth{yes, no, null}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not negates each value of a set.
func (t truth) not() truth {
	return t&(null|lost) | t&yes<<1 | t&no>>1
}

// index is the place of a single value in a table.
func (t truth) index() int {
	switch t {
	case yes:
		return 0
	case no:
		return 1
	}
	return 2
}

// table gives a value for each pair of values, in the order TRUE, FALSE, NULL.
type table [3][3]truth

var (
	tableEq = table{{yes, no, null}, {no, yes, null}, {null, null, null}}
	tableLt = table{{no, no, null}, {yes, no, null}, {null, null, null}} // FALSE < TRUE
	tableGt = table{{no, yes, null}, {no, no, null}, {null, null, null}}
	tableNS = table{{yes, no, no}, {no, yes, no}, {no, no, yes}}

	tableAnd = table{{yes, no, null}, {no, no, no}, {null, no, null}}
	tableOr  = table{{yes, yes, yes}, {yes, no, null}, {yes, null, null}}
)

func (t table) not() table {
	for i := range t {
		for j := range t[i] {
			t[i][j] = t[i][j].not()
		}
	}
	return t
}

// of gives all values that pairs of two sets can give, errors aside.
func (t table) of(l, r truth) truth {
	var all truth
	for i, a := range values3 {
		for j, b := range values3 {
			if l&a != 0 && r&b != 0 {
				all |= t[i][j]
			}
		}
	}
	return all
}

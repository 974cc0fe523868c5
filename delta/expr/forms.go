package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// niladic are the functions that are written without parentheses. All of them differ from one run to
// the next. Spark takes such a word for a column where there is one; here a column needs backticks.
var niladic = map[string]bool{
	"CURRENT_DATE": true, "CURRENT_TIMESTAMP": true, "CURRENT_TIME": true, "LOCALTIMESTAMP": true, "CURRENT_USER": true,
}

// call reads the arguments of a function and makes the call. The forms with words between arguments
// become calls of functions that are written with commas.
func (p *parser) call(name token) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	e := &Call{Name: nameOf(name), At: name.at}
	var err error
	switch form := name.val; {
	case name.kind == quoted || p.isSymbol(")"):
		e.Args, err = p.list()
	case form == "EXTRACT":
		err = p.extract(e)
	case form == "TRIM":
		err = p.trim(e)
	case form == "POSITION":
		err = p.position(e)
	case form == "SUBSTRING" || form == "SUBSTR":
		err = p.worded(e, "substring", "FROM", "FOR")
	case form == "OVERLAY":
		err = p.worded(e, "overlay", "PLACING", "FROM", "FOR")
	case unitForms[form] != "":
		err = p.unitForm(e, unitForms[form])
	default:
		e.Args, err = p.list()
	}
	if err != nil {
		return nil, err
	}
	if p.tok.kind == word && aggregated[p.tok.val] {
		return nil, p.unsupported()
	}
	return e, nil
}

// aggregated are the words behind a call that are for functions of many rows.
var aggregated = map[string]bool{"OVER": true, "FILTER": true, "WITHIN": true, "IGNORE": true, "RESPECT": true}

// worded reads arguments between which there may be words instead of commas.
func (p *parser) worded(e *Call, function string, words ...string) error {
	first, err := p.expression(powerNone)
	if err != nil {
		return err
	}
	e.Args = []Expr{first}
	for _, w := range words {
		if !p.isKeyword(w) && !p.isSymbol(",") {
			break
		}
		if p.isKeyword(w) {
			e.Name = function
		}
		if err := p.advance(); err != nil {
			return err
		}
		x, err := p.expression(powerNone)
		if err != nil {
			return err
		}
		e.Args = append(e.Args, x)
	}
	e.Args, err = p.more(e.Args)
	return err
}

// position reads POSITION(a IN b), which is position(a, b).
func (p *parser) position(e *Call) error {
	part, err := p.expression(powerTest + 1)
	if err != nil {
		return err
	}
	if !p.isKeyword("IN") {
		e.Args, err = p.more([]Expr{part})
		return err
	}
	whole, err := p.behind("IN")
	if err != nil {
		return err
	}
	e.Name, e.Args = "position", []Expr{part, whole}
	return p.close()
}

// close takes the parenthesis behind an expression.
func (p *parser) close() error {
	if !p.isSymbol(")") {
		return p.expected(`an operator or ")"`)
	}
	return p.advance()
}

// trimSides are the functions of TRIM(… FROM x). Those of one side take the characters first.
var trimSides = map[string]string{"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}

// trim reads TRIM([BOTH | LEADING | TRAILING] [characters] FROM x).
func (p *parser) trim(e *Call) error {
	function, sided := "btrim", false
	if ahead := p.peek(); p.tok.kind == word && trimSides[p.tok.val] != "" && (begins(ahead) || ahead.isWord("FROM")) {
		function, sided = trimSides[p.tok.val], true
		if err := p.advance(); err != nil {
			return err
		}
	}
	var characters Expr
	if !p.isKeyword("FROM") || !sided && !begins(p.peek()) {
		x, err := p.expression(powerNone)
		if err != nil {
			return err
		}
		if !p.isKeyword("FROM") && !sided {
			e.Args, err = p.more([]Expr{x})
			return err
		}
		characters = x
	}
	x, err := p.behind("FROM")
	if err != nil {
		return err
	}
	switch e.Name = function; {
	case characters == nil && function == "btrim":
		e.Name, e.Args = "trim", []Expr{x}
	case characters == nil:
		e.Args = []Expr{x}
	case function == "btrim":
		e.Args = []Expr{x, characters}
	default:
		e.Args = []Expr{characters, x}
	}
	return p.close()
}

// extractFields are the fields of EXTRACT(field FROM x) and the functions that give them. A lower-case
// name is a function of x, an upper-case one a field that only date_part knows.
var extractFields = map[string]string{
	"YEAR": "year", "Y": "year", "YEARS": "year", "YR": "year", "YRS": "year", "YEAROFWEEK": "YEAROFWEEK",
	"QUARTER": "quarter", "QTR": "quarter", "MONTH": "month", "MON": "month", "MONS": "month", "MONTHS": "month",
	"WEEK": "weekofyear", "W": "weekofyear", "WEEKS": "weekofyear", "DAY": "day", "D": "day", "DAYS": "day",
	"DAYOFWEEK": "dayofweek", "DOW": "dayofweek", "DAYOFWEEK_ISO": "DAYOFWEEK_ISO", "DOW_ISO": "DAYOFWEEK_ISO",
	"DOY": "dayofyear", "HOUR": "hour", "H": "hour", "HOURS": "hour", "HR": "hour", "HRS": "hour",
	"MINUTE": "minute", "M": "minute", "MIN": "minute", "MINS": "minute", "MINUTES": "minute",
	"SECOND": "SECOND", "S": "SECOND", "SEC": "SECOND", "SECONDS": "SECOND", "SECS": "SECOND",
}

// extract reads EXTRACT(field FROM x). Seconds are those of date_part, which have a fraction.
func (p *parser) extract(e *Call) error {
	field := p.tok
	if field.kind != word && field.kind != quoted || !p.peek().isWord("FROM") {
		var err error
		e.Args, err = p.list()
		return err
	}
	function := extractFields[strings.ToUpper(nameOf(field))]
	if function == "" {
		return p.fail(field.at, "expected a field such as YEAR, QUARTER, MONTH, WEEK, DAY, DOW, DOY, HOUR, MINUTE or SECOND, found "+field.describe())
	}
	if err := p.advance(); err != nil {
		return err
	}
	x, err := p.behind("FROM")
	if err != nil {
		return err
	}
	e.Name, e.Args = function, []Expr{x}
	if function == strings.ToUpper(function) {
		unit := &Literal{Value: scalar.NewStringScalar(function), At: field.at}
		e.Name, e.Args = "date_part", []Expr{unit, x}
	}
	return p.close()
}

// unitForms are the functions whose first of three arguments may be a unit of time, and the names
// under which they are called then.
var unitForms = map[string]string{
	"TIMESTAMPADD": timestampAdd, "DATEADD": timestampAdd, "DATE_ADD": timestampAdd,
	"TIMESTAMPDIFF": timestampDiff, "DATEDIFF": timestampDiff, "DATE_DIFF": timestampDiff, "TIMEDIFF": timestampDiff,
}

const (
	timestampAdd  = "timestampadd"
	timestampDiff = "timestampdiff"
)

var timeUnits = map[string]bool{
	"YEAR": true, "QUARTER": true, "MONTH": true, "WEEK": true, "DAY": true, "DAYOFYEAR": true,
	"HOUR": true, "MINUTE": true, "SECOND": true, "MILLISECOND": true, "MICROSECOND": true,
}

// unitForm reads DATEADD(DAY, n, x) and its kin. The unit becomes a string.
func (p *parser) unitForm(e *Call, function string) error {
	first := p.tok
	args, err := p.list()
	e.Args = args
	if err != nil || len(args) != 3 || first.kind != word || !timeUnits[first.val] {
		return err
	}
	if c, ok := args[0].(*Column); ok && len(c.Path) == 1 {
		e.Name, args[0] = function, &Literal{Value: scalar.NewStringScalar(first.val), At: first.at}
	}
	return nil
}

// unitOf is the unit of time of a call as unitForm makes it, or "".
func unitOf(e *Call) string {
	if len(e.Args) != 3 || e.Name != timestampAdd && e.Name != timestampDiff {
		return ""
	}
	if l, ok := e.Args[0].(*Literal); ok {
		if s, ok := l.Value.(*scalar.String); ok && s.Valid && timeUnits[string(s.Value.Bytes())] {
			return string(s.Value.Bytes())
		}
	}
	return ""
}

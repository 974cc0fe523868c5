package expr

import "github.com/apache/arrow-go/v18/arrow"

// Nodes with a value have the methods of Column, and conditions And, Or and Not. They are written out
// since a node is a plain struct that anybody may make: there is no place where it could be told about
// itself.

func (e *Binary) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Binary) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Binary) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Binary) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Binary) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Binary) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Binary) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Binary) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Binary) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Binary) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Binary) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Binary) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Binary) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Binary) In(values ...any) *In           { return in(e, values, false) }
func (e *Binary) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Binary) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Binary) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Binary) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Binary) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Binary) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Binary) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Binary) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Binary) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Binary) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Binary) Element(index any) *Element     { return &Element{X: e, Index: operand(index), At: built} }
func (e *Binary) Member(name string) *Member     { return &Member{X: e, Name: name, At: built} }
func (e *Binary) And(v any) *Binary              { return binary(And, e, v) }
func (e *Binary) Or(v any) *Binary               { return binary(Or, e, v) }
func (e *Binary) Not() *Not                      { return Negate(e) }

func (e *Call) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Call) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Call) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Call) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Call) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Call) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Call) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Call) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Call) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Call) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Call) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Call) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Call) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Call) In(values ...any) *In           { return in(e, values, false) }
func (e *Call) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Call) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Call) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Call) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Call) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Call) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Call) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Call) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Call) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Call) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Call) Element(index any) *Element     { return &Element{X: e, Index: operand(index), At: built} }
func (e *Call) Member(name string) *Member     { return &Member{X: e, Name: name, At: built} }
func (e *Call) And(v any) *Binary              { return binary(And, e, v) }
func (e *Call) Or(v any) *Binary               { return binary(Or, e, v) }
func (e *Call) Not() *Not                      { return Negate(e) }

func (e *Cast) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Cast) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Cast) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Cast) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Cast) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Cast) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Cast) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Cast) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Cast) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Cast) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Cast) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Cast) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Cast) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Cast) In(values ...any) *In           { return in(e, values, false) }
func (e *Cast) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Cast) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Cast) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Cast) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Cast) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Cast) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Cast) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Cast) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Cast) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Cast) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Cast) Element(index any) *Element     { return &Element{X: e, Index: operand(index), At: built} }
func (e *Cast) Member(name string) *Member     { return &Member{X: e, Name: name, At: built} }
func (e *Cast) And(v any) *Binary              { return binary(And, e, v) }
func (e *Cast) Or(v any) *Binary               { return binary(Or, e, v) }
func (e *Cast) Not() *Not                      { return Negate(e) }

func (e *Case) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Case) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Case) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Case) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Case) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Case) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Case) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Case) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Case) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Case) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Case) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Case) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Case) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Case) In(values ...any) *In           { return in(e, values, false) }
func (e *Case) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Case) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Case) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Case) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Case) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Case) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Case) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Case) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Case) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Case) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Case) Element(index any) *Element     { return &Element{X: e, Index: operand(index), At: built} }
func (e *Case) Member(name string) *Member     { return &Member{X: e, Name: name, At: built} }
func (e *Case) And(v any) *Binary              { return binary(And, e, v) }
func (e *Case) Or(v any) *Binary               { return binary(Or, e, v) }
func (e *Case) Not() *Not                      { return Negate(e) }

func (e *Element) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Element) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Element) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Element) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Element) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Element) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Element) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Element) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Element) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Element) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Element) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Element) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Element) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Element) In(values ...any) *In           { return in(e, values, false) }
func (e *Element) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Element) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Element) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Element) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Element) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Element) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Element) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Element) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Element) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Element) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Element) Element(index any) *Element {
	return &Element{X: e, Index: operand(index), At: built}
}
func (e *Element) Member(name string) *Member { return &Member{X: e, Name: name, At: built} }
func (e *Element) And(v any) *Binary          { return binary(And, e, v) }
func (e *Element) Or(v any) *Binary           { return binary(Or, e, v) }
func (e *Element) Not() *Not                  { return Negate(e) }

func (e *Member) Eq(v any) *Binary               { return binary(Eq, e, v) }
func (e *Member) Ne(v any) *Binary               { return binary(Ne, e, v) }
func (e *Member) Lt(v any) *Binary               { return binary(Lt, e, v) }
func (e *Member) Le(v any) *Binary               { return binary(Le, e, v) }
func (e *Member) Gt(v any) *Binary               { return binary(Gt, e, v) }
func (e *Member) Ge(v any) *Binary               { return binary(Ge, e, v) }
func (e *Member) NullSafeEq(v any) *Binary       { return binary(NullSafeEq, e, v) }
func (e *Member) Plus(v any) *Binary             { return binary(Add, e, v) }
func (e *Member) Minus(v any) *Binary            { return binary(Sub, e, v) }
func (e *Member) Times(v any) *Binary            { return binary(Mul, e, v) }
func (e *Member) Div(v any) *Binary              { return binary(Div, e, v) }
func (e *Member) IntDiv(v any) *Binary           { return binary(IntDiv, e, v) }
func (e *Member) Mod(v any) *Binary              { return binary(Mod, e, v) }
func (e *Member) In(values ...any) *In           { return in(e, values, false) }
func (e *Member) NotIn(values ...any) *In        { return in(e, values, true) }
func (e *Member) Between(lo, hi any) *Between    { return between(e, lo, hi, false) }
func (e *Member) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }
func (e *Member) Like(pattern any) *Like         { return like(e, pattern, false, false) }
func (e *Member) NotLike(pattern any) *Like      { return like(e, pattern, false, true) }
func (e *Member) ILike(pattern any) *Like        { return like(e, pattern, true, false) }
func (e *Member) NotILike(pattern any) *Like     { return like(e, pattern, true, true) }
func (e *Member) IsNull() *IsNull                { return &IsNull{X: e, At: built} }
func (e *Member) IsNotNull() *IsNull             { return &IsNull{X: e, Negated: true, At: built} }
func (e *Member) Cast(to arrow.DataType) *Cast   { return &Cast{X: e, To: to, At: built} }
func (e *Member) Element(index any) *Element     { return &Element{X: e, Index: operand(index), At: built} }
func (e *Member) Member(name string) *Member     { return &Member{X: e, Name: name, At: built} }
func (e *Member) And(v any) *Binary              { return binary(And, e, v) }
func (e *Member) Or(v any) *Binary               { return binary(Or, e, v) }
func (e *Member) Not() *Not                      { return Negate(e) }

func (e *Not) And(v any) *Binary { return binary(And, e, v) }
func (e *Not) Or(v any) *Binary  { return binary(Or, e, v) }
func (e *Not) Not() *Not         { return Negate(e) }

func (e *IsNull) And(v any) *Binary { return binary(And, e, v) }
func (e *IsNull) Or(v any) *Binary  { return binary(Or, e, v) }
func (e *IsNull) Not() *Not         { return Negate(e) }

func (e *In) And(v any) *Binary { return binary(And, e, v) }
func (e *In) Or(v any) *Binary  { return binary(Or, e, v) }
func (e *In) Not() *Not         { return Negate(e) }

func (e *Between) And(v any) *Binary { return binary(And, e, v) }
func (e *Between) Or(v any) *Binary  { return binary(Or, e, v) }
func (e *Between) Not() *Not         { return Negate(e) }

func (e *Like) And(v any) *Binary { return binary(And, e, v) }
func (e *Like) Or(v any) *Binary  { return binary(Or, e, v) }
func (e *Like) Not() *Not         { return Negate(e) }

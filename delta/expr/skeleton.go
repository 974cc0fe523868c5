package expr

// SyntaxError says where a text stops being a condition.
type SyntaxError struct {
	Text string
	At   int // byte offset
	Msg  string
}

func (e *SyntaxError) Error() string { panic("skeleton") }

// Parse reads Spark SQL text; each ? takes the next argument (Go values: bool, ints, floats, string, []byte, time.Time,
// arrow scalars, decimal128.Num with scalar, nil). Too many or too few arguments are a *SyntaxError.
func Parse(text string, args ...any) (Expr, error) { panic("skeleton") }

func (e *Column) String() string  { panic("skeleton") }
func (e *Literal) String() string { panic("skeleton") }
func (e *Binary) String() string  { panic("skeleton") }
func (e *Not) String() string     { panic("skeleton") }
func (e *IsNull) String() string  { panic("skeleton") }
func (e *In) String() string      { panic("skeleton") }
func (e *Between) String() string { panic("skeleton") }
func (e *Cast) String() string    { panic("skeleton") }
func (e *Call) String() string    { panic("skeleton") }
func (e *Column) Pos() int        { return e.At }
func (e *Literal) Pos() int       { return e.At }
func (e *Binary) Pos() int        { return e.At }
func (e *Not) Pos() int           { return e.At }
func (e *IsNull) Pos() int        { return e.At }
func (e *In) Pos() int            { return e.At }
func (e *Between) Pos() int       { return e.At }
func (e *Cast) Pos() int          { return e.At }
func (e *Call) Pos() int          { return e.At }

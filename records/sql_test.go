package records_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/records"
)

// database is a driver whose every query gives the same rows.
type database struct {
	columns []dbColumn
	rows    [][]driver.Value
	broken  error // behind the rows
}

// dbColumn is what a driver says of a column.
type dbColumn struct {
	name, typ        string
	scan             reflect.Type // nil: any
	precision, scale int64        // said if not 0
}

func (d *database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *database) Driver() driver.Driver                        { return nil }
func (d *database) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not here") }
func (d *database) Begin() (driver.Tx, error)                    { return nil, errors.New("not here") }
func (d *database) Close() error                                 { return nil }
func (d *database) Query(string, []driver.Value) (driver.Rows, error) {
	return &dbRows{database: d}, nil
}

type dbRows struct {
	*database
	at int
}

func (r *dbRows) Columns() (out []string) {
	for _, c := range r.columns {
		out = append(out, c.name)
	}
	return out
}

func (r *dbRows) Next(dest []driver.Value) error {
	if r.at == len(r.rows) {
		if r.broken != nil {
			return r.broken
		}
		return io.EOF
	}
	copy(dest, r.rows[r.at])
	r.at++
	return nil
}

func (r *dbRows) ColumnTypeDatabaseTypeName(i int) string { return r.columns[i].typ }

func (r *dbRows) ColumnTypeScanType(i int) reflect.Type {
	if r.columns[i].scan == nil {
		return reflect.TypeFor[any]()
	}
	return r.columns[i].scan
}

func (r *dbRows) ColumnTypePrecisionScale(i int) (int64, int64, bool) {
	return r.columns[i].precision, r.columns[i].scale, r.columns[i].precision != 0
}

// query asks the database.
func (d *database) query(t testing.TB) *sql.Rows {
	db := sql.OpenDB(d)
	t.Cleanup(func() { db.Close() })
	rows, err := db.QueryContext(t.Context(), "SELECT")
	require.NoError(t, err)
	t.Cleanup(func() { rows.Close() })
	return rows
}

// TestSQLTypes: the type of a column by what a driver says of it, for the drivers' ways of saying it.
func TestSQLTypes(t *testing.T) {
	for _, c := range []struct {
		why   string
		c     dbColumn
		want  arrow.DataType
		value driver.Value
		line  string
	}{
		{"a decimal with its size", dbColumn{typ: "NUMERIC", precision: 12, scale: 2}, decimalOf(12, 2), "19.9", "19.90"},
		{"a decimal with its size in the name", dbColumn{typ: "decimal(38, 10)"}, decimalOf(38, 10), []byte("-1E-10"), "-0.0000000001"},
		{"a decimal of whole numbers", dbColumn{typ: "NUMBER(20)"}, decimalOf(20, 0), int64(-5), "-5"},
		{"a date", dbColumn{typ: "DATE", scan: reflect.TypeFor[time.Time]()}, date, time.Date(2013, 1, 31, 0, 0, 0, 0, time.FixedZone("", -7200)), "2013-01-31"},
		{"a date as text", dbColumn{typ: "DATE", scan: reflect.TypeFor[sql.RawBytes]()}, date, []byte("2013-01-31"), "2013-01-31"},
		{"an instant", dbColumn{typ: "TIMESTAMPTZ"}, ts, time.Date(2013, 1, 31, 12, 0, 0, 1000, time.FixedZone("", 7200)), "2013-01-31T10:00:00.000001Z"},
		{"a time of a type that is not known", dbColumn{typ: "WHEN", scan: reflect.TypeFor[sql.NullTime]()}, ts, time.Unix(0, 0), "1970-01-01T00:00:00Z"},
		{"an integer by its width", dbColumn{typ: "INT4", scan: reflect.TypeFor[int32]()}, i32, int64(-5), "-5"},
		{"an integer that may be NULL", dbColumn{typ: "BIGINT", scan: reflect.TypeFor[sql.NullInt64]()}, i64, nil, "-"},
		{"an unsigned integer", dbColumn{typ: "UNSIGNED BIGINT", scan: reflect.TypeFor[uint64]()}, i64, []byte("9223372036854775807"), "9223372036854775807"},
		{"an integer by its name", dbColumn{typ: "INTEGER"}, i64, int64(5), "5"},
		{"a pointer to an integer", dbColumn{typ: "", scan: reflect.TypeFor[*int16]()}, arrow.PrimitiveTypes.Int16, int64(5), "5"},
		{"a float", dbColumn{typ: "REAL"}, f64, 0.5, "0.5"},
		{"a float of 32 bits", dbColumn{typ: "FLOAT4", scan: reflect.TypeFor[float32]()}, f32, float64(float32(0.1)), "0.1"},
		{"a float as an integer, as SQLite has it", dbColumn{typ: "REAL"}, f64, int64(7), "7"},
		{"a boolean", dbColumn{typ: "BOOL", scan: reflect.TypeFor[bool]()}, flag, true, "true"},
		{"a boolean as a number", dbColumn{typ: "BOOLEAN"}, flag, int64(0), "false"},
		{"text", dbColumn{typ: "VARCHAR", scan: reflect.TypeFor[sql.RawBytes]()}, text, []byte("é"), "é"},
		{"text by its Go type", dbColumn{typ: "anything", scan: reflect.TypeFor[string]()}, text, "x", "x"},
		{"a UUID as text", dbColumn{typ: "UUID"}, text, "0-0", "0-0"},
		{"bytes", dbColumn{typ: "BLOB", scan: reflect.TypeFor[[]byte]()}, bin, []byte{0xff}, "/w=="},
		{"bytes as a string", dbColumn{typ: "bytea"}, bin, "hi", "aGk="},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.c.name = "x"
			d := &database{columns: []dbColumn{c.c}, rows: [][]driver.Value{{c.value}}}
			rows, err := records.SQLRows(d.query(t), records.SQLOptions{Allocator: checked(t)})
			require.NoError(t, err)
			defer rows.Release()
			require.True(t, schemaOf(field("x", c.want)).Equal(rows.Schema()), rows.Schema().String())
			require.Equal(t, []string{c.line}, lines(t, rows))
		})
	}
}

// TestSQLSchema: a schema says the types; what the query lacks is left out.
func TestSQLSchema(t *testing.T) {
	d := &database{
		columns: []dbColumn{{name: "WALL"}, {name: "amount", typ: "NUMERIC"}, {name: "ok"}, {name: "at"}, {name: "n"}, {name: "f"}},
		rows: [][]driver.Value{
			{time.Date(2013, 1, 31, 12, 0, 0, 0, time.FixedZone("", 7200)), "1.5", "true", "2013-01-31 10:00:00Z", "-128", "0.1"},
			{"2013-01-31 12:00:00", int64(-3), int64(1), []byte("2013-01-31 10:00:00+02"), uint8(7), float32(0.5)},
			{nil, nil, nil, nil, nil, nil},
		},
	}
	s := schemaOf(field("at", ts), field("amount", decimalOf(12, 2)), field("absent", arrow.ListOf(i64)), field("wall", ntz), field("ok", flag),
		field("n", arrow.PrimitiveTypes.Int8), field("f", f32))
	rows, err := records.SQLRows(d.query(t), records.SQLOptions{Schema: s, BatchRows: 2, Allocator: checked(t)})
	require.NoError(t, err)
	defer rows.Release()
	require.Equal(t, []string{
		"2013-01-31T10:00:00Z|1.50|2013-01-31T12:00:00|true|-128|0.1",
		"2013-01-31T08:00:00Z|-3.00|2013-01-31T12:00:00|true|7|0.5",
		"-|-|-|-|-|-",
	}, lines(t, rows))
	_, again := any(rows).(idem.Rewinder)
	require.False(t, again, "a query is read once")
}

func TestSQLErrors(t *testing.T) {
	for _, c := range []struct {
		why    string
		c      dbColumn
		schema arrow.DataType
		value  driver.Value
		want   string
	}{
		{"a decimal without size", dbColumn{typ: "NUMERIC"}, nil, nil, `column "x" of the query (NUMERIC): the driver does not say the size of the decimal; say its type by SQLOptions.Schema, or cast it in the query`},
		{"a decimal of any size", dbColumn{typ: "NUMERIC", precision: 65535, scale: 65531}, nil, nil, `a table has no decimal(65535,65531)`},
		{"a type that says nothing", dbColumn{typ: "INTERVAL"}, nil, nil, `column "x" of the query (INTERVAL): its type is not one that is known`},
		{"another name", dbColumn{name: "y"}, i64, nil, `the query: the schema has no column "y"; leave it out of the query, or add it to the table first (columns: x)`},
		{"a nested column", dbColumn{}, arrow.ListOf(i64), nil, `column "x": a row of a query holds no nested values`},
		{"a decimal as a float", dbColumn{}, decimalOf(12, 2), 1.5, `row 1 of the query, column "x": the value 1.5 is a float64, which the column does not take as it is; cast it in the query to text`},
		{"a float for an integer", dbColumn{}, i64, 1.0, `the value 1 is a float64`},
		{"a float for a boolean", dbColumn{}, arrow.FixedWidthTypes.Boolean, 1.5, `the value 1.5 is a float64, which the column does not take as it is; cast it in the query`},
		{"an integer out of range", dbColumn{}, arrow.PrimitiveTypes.Int8, int64(128), `the value "128" is outside the column's range, -128 to 127`},
		{"an unsigned integer out of range", dbColumn{}, i64, uint64(1 << 63), `the value "9223372036854775808" is outside the column's range`},
		{"an integer that is no float", dbColumn{}, f64, int64(1<<53 + 1), `the value 9007199254740993 is not exact as a float`},
		{"a float that is none of 32 bits", dbColumn{}, f32, 0.1, `the value 0.1 is not exact as a float of 32 bits`},
		{"text for a float", dbColumn{}, f64, "x", `the value "x" is not a number`},
		{"a number for a string", dbColumn{}, text, int64(1), `the value 1 is a int64`},
		{"text that is none", dbColumn{}, text, []byte{0xff}, `the value "\xff" is not valid UTF-8`},
		{"a number for bytes", dbColumn{}, bin, int64(1), `the value 1 is a int64`},
		{"two for a boolean", dbColumn{}, flag, int64(2), `the value 2 is no boolean, of numbers 0 and 1 are; compare it in the query (x <> 0)`},
		{"a time of day for a date", dbColumn{}, date, time.Unix(1, 0).UTC(), `the value 1970-01-01T00:00:01Z has a time of day, which a date column cannot hold; cast it to a date in the query`},
		{"nanoseconds", dbColumn{}, ts, time.Unix(0, 1).UTC(), `has digits below a microsecond`},
		{"a number for a timestamp", dbColumn{}, ts, int64(1), `the value 1 is a int64`},
		{"text without a zone", dbColumn{}, ts, "2013-01-31 10:00:00", `has no zone, so it is no instant`},
	} {
		t.Run(c.why, func(t *testing.T) {
			if c.c.name == "" {
				c.c.name = "x"
			}
			d := &database{columns: []dbColumn{c.c}, rows: [][]driver.Value{{c.value}}}
			o := records.SQLOptions{Allocator: checked(t)}
			if c.schema != nil {
				o.Schema = schemaOf(field("x", c.schema))
			}
			rows, err := records.SQLRows(d.query(t), o)
			if err == nil {
				_, err = tryLines(rows)
				rows.Release()
			}
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := records.SQLRows(nil, records.SQLOptions{})
	require.ErrorIs(t, err, idem.ErrInput)

	d := &database{columns: []dbColumn{{name: "x"}, {name: "X"}}, rows: [][]driver.Value{{nil, nil}}}
	_, err = records.SQLRows(d.query(t), records.SQLOptions{Schema: schemaOf(field("x", i64))})
	require.ErrorContains(t, err, `the columns "x" and "X" are one name to Delta`)

	d = &database{columns: []dbColumn{{name: "x"}}, rows: [][]driver.Value{{nil}}}
	rows, err := records.SQLRows(d.query(t), records.SQLOptions{Schema: schemaOf(arrow.Field{Name: "x", Type: i64}), Allocator: checked(t)})
	require.NoError(t, err)
	require.Contains(t, failure(t, rows, nil), `row 1 of the query, column "x": it is NULL, and the column is NOT NULL`)
}

// TestSQLBreaksOff: an error of the query is no error of the input, and no batch of it is given.
func TestSQLBreaksOff(t *testing.T) {
	lost := errors.New("connection lost")
	d := &database{columns: []dbColumn{{name: "x"}}, rows: [][]driver.Value{{int64(1)}, {int64(2)}, {int64(3)}}, broken: lost}
	rows, err := records.SQLRows(d.query(t), records.SQLOptions{Schema: schemaOf(field("x", i64)), BatchRows: 2, Allocator: checked(t)})
	require.NoError(t, err)
	defer rows.Release()
	got, err := tryLines(rows)
	require.Equal(t, []string{"1", "2"}, got)
	require.ErrorIs(t, err, lost)
	require.ErrorContains(t, err, "read the rows of the query behind row 3")
	require.NotErrorIs(t, err, idem.ErrInput)

	closed := d.query(t)
	require.NoError(t, closed.Close())
	_, err = records.SQLRows(closed, records.SQLOptions{})
	require.Error(t, err)
}

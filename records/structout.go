package records

import (
	"encoding"
	"fmt"
	"iter"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// StructsOf gives rows, as idem's Table.Scan makes them, as structs, by the same rules as [Structs]
// takes them. A struct holds nothing of the batch that it came from.
//
// Columns go by name, ignoring case. A column that T has and the rows lack is an error; columns that
// T lacks are passed over (Scan.Columns leaves them unread). A column's type is the field's, or a
// number that the field may hold: integers of any width and doubles go into narrower fields if the
// value does, and any other value is an error. Decimals in strings have all digits of their scale,
// and times are in UTC. A NULL that the field cannot hold is an error unless NullAsZero is set.
//
// Errors: [delta.ErrInput], with row and column. An error of the sequence is handed on as it is. Each
// ends the structs.
func StructsOf[T any](rows iter.Seq2[arrow.RecordBatch, error], o StructOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		fields, err := planStructOf[T]()
		if err == nil && rows == nil {
			err = inputErrorf("StructsOf needs a sequence; it is nil")
		}
		if err != nil {
			yield(zero, err)
			return
		}
		count := int64(0)
		for batch, err := range rows {
			if err != nil {
				yield(zero, err)
				return
			}
			set, err := structSetters(fields, batch, o.NullAsZero)
			if err != nil {
				yield(zero, err)
				return
			}
			for i := range int(batch.NumRows()) {
				count++
				var row T
				v := reflect.ValueOf(&row).Elem()
				for _, s := range set {
					if f := s(v, i); f != nil {
						yield(zero, f.at(fmt.Sprintf("row %d", count)))
						return
					}
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// setter puts value i of a column into a Go value.
type setter func(v reflect.Value, i int) *fault

// structSetters binds fields to the columns of a batch.
func structSetters(fields []fieldPlan, batch arrow.RecordBatch, zero bool) ([]setter, error) {
	schema := batch.Schema()
	set, f := bindSetters(fields, schema.Fields(), batch.Column, zero)
	if f != nil {
		return nil, f.at("the rows")
	}
	return set, nil
}

func bindSetters(fields []fieldPlan, columns []arrow.Field, column func(int) arrow.Array, zero bool) ([]setter, *fault) {
	set := make([]setter, len(fields))
	for i := range fields {
		field := &fields[i]
		at := findColumn(columns, field.name)
		if at < 0 {
			return nil, (&fault{why: "they have no such column; add it to the rows, or tag the field `idem:\"-\"`"}).inside(field.name)
		}
		s, f := field.value.setter(column(at), zero)
		if f != nil {
			return nil, f.inside(field.name)
		}
		set[i] = func(v reflect.Value, i int) *fault { return s(v.FieldByIndex(field.index), i).inside(field.name) }
	}
	return set, nil
}

// findColumn finds a column by name: as spelled, else ignoring case; -1 if there is none.
func findColumn(columns []arrow.Field, name string) int {
	found := -1
	for i, c := range columns {
		if c.Name == name {
			return i
		}
		if found < 0 && foldName(c.Name) == foldName(name) {
			found = i
		}
	}
	return found
}

// setter binds a plan to a column.
func (p *valuePlan) setter(a arrow.Array, zero bool) (setter, *fault) {
	switch p.form {
	case pointerForm:
		set, f := p.elem.setter(a, zero)
		return nullable(a, func(v reflect.Value, i int) *fault {
			target := reflect.New(p.elem.goType)
			if f := set(target.Elem(), i); f != nil {
				return f
			}
			v.Set(target)
			return nil
		}), f
	case sqlNullForm:
		set, f := p.elem.setter(a, zero)
		return nullable(a, func(v reflect.Value, i int) *fault {
			v.Field(1).SetBool(true)
			return set(v.Field(0), i)
		}), f
	}
	set, f := p.valueSetter(a, zero)
	if f != nil || p.nullable || a.NullN() == 0 && a.DataType().ID() != arrow.NULL {
		return nullable(a, set), f
	}
	return func(v reflect.Value, i int) *fault {
		if a.IsValid(i) {
			return set(v, i)
		}
		if zero {
			v.SetZero()
			return nil
		}
		return &fault{why: fmt.Sprintf("it is NULL, which %s cannot hold; make the field a pointer, or set StructOptions.NullAsZero", p.goType)}
	}, nil
}

// nullable gives the zero value, which is nil or not Valid, for NULL.
func nullable(a arrow.Array, set setter) setter {
	return func(v reflect.Value, i int) *fault {
		if a.IsNull(i) {
			v.SetZero()
			return nil
		}
		return set(v, i)
	}
}

// mismatch refuses a column of another type.
func (p *valuePlan) mismatch(a arrow.Array) (setter, *fault) {
	hint := ""
	if t, ok := a.DataType().(*arrow.TimestampType); ok && p.goType == timeType {
		hint = `; tag the field "timestamp_ntz" if the column has no time zone, and not if it has one`
		if t.Unit != arrow.Microsecond {
			hint = "; only microseconds are read"
		}
	}
	return nil, &fault{why: fmt.Sprintf("the column is %s, which does not go into a %s%s", a.DataType(), p.goType, hint)}
}

// valueSetter binds a plan to a column for the values that are not NULL.
func (p *valuePlan) valueSetter(a arrow.Array, zero bool) (setter, *fault) {
	var set setter
	switch p.form {
	case boolForm:
		if a, ok := a.(*array.Boolean); ok {
			set = func(v reflect.Value, i int) *fault { v.SetBool(a.Value(i)); return nil }
		}
	case intForm, uintForm:
		set = p.intSetter(a)
	case floatForm:
		set = p.floatSetter(a)
	case stringForm, bytesForm, arrayForm, markedForm:
		set = p.bytesSetter(a)
	case timeForm, dateForm, wallForm:
		set = p.timeSetter(a)
	case structForm:
		return p.structSetter(a, zero)
	case listForm:
		return p.listSetter(a, zero)
	case mapForm:
		return p.mapSetter(a, zero)
	default:
		set = p.decimalSetter(a)
	}
	if set == nil {
		return p.mismatch(a)
	}
	return set, nil
}

func (p *valuePlan) intSetter(a arrow.Array) setter {
	switch a := a.(type) {
	case *array.Int8:
		return p.setInt(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int16:
		return p.setInt(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int32:
		return p.setInt(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int64:
		return p.setInt(a.Value)
	}
	return nil
}

func (p *valuePlan) setInt(value func(i int) int64) setter {
	why := fmt.Sprintf("is outside the range of %s; use a wider field", p.goType)
	if p.form == uintForm {
		return func(v reflect.Value, i int) *fault {
			n := value(i)
			if n < 0 || v.OverflowUint(uint64(n)) {
				return &fault{value: fmt.Sprint(n), why: why}
			}
			v.SetUint(uint64(n))
			return nil
		}
	}
	return func(v reflect.Value, i int) *fault {
		n := value(i)
		if v.OverflowInt(n) {
			return &fault{value: fmt.Sprint(n), why: why}
		}
		v.SetInt(n)
		return nil
	}
}

func (p *valuePlan) floatSetter(a arrow.Array) setter {
	switch a := a.(type) {
	case *array.Float32:
		return func(v reflect.Value, i int) *fault { v.SetFloat(float64(a.Value(i))); return nil }
	case *array.Float64:
		if p.goType.Kind() == reflect.Float64 {
			return func(v reflect.Value, i int) *fault { v.SetFloat(a.Value(i)); return nil }
		}
		return func(v reflect.Value, i int) *fault {
			d := a.Value(i)
			if float64(float32(d)) != d && !math.IsNaN(d) {
				return &fault{value: fmt.Sprint(d), why: fmt.Sprintf("is not exact in a %s; use a float64", p.goType)}
			}
			v.SetFloat(d)
			return nil
		}
	}
	return nil
}

func (p *valuePlan) bytesSetter(a arrow.Array) setter {
	switch a := a.(type) {
	case *array.String:
		switch p.form {
		case stringForm:
			return func(v reflect.Value, i int) *fault { v.SetString(strings.Clone(a.Value(i))); return nil }
		case markedForm:
			return p.textSetter(func(i int) string { return strings.Clone(a.Value(i)) })
		}
	case *array.Binary:
		switch p.form {
		case bytesForm:
			return func(v reflect.Value, i int) *fault {
				v.SetBytes(append(make([]byte, 0, a.ValueLen(i)), a.Value(i)...))
				return nil
			}
		case arrayForm:
			return func(v reflect.Value, i int) *fault {
				b := a.Value(i)
				if len(b) != v.Len() {
					return &fault{value: quote(b), why: fmt.Sprintf("has %d bytes, and a %s has %d", len(b), p.goType, v.Len())}
				}
				for j, c := range b {
					v.Index(j).SetUint(uint64(c))
				}
				return nil
			}
		}
	}
	return nil
}

// textSetter hands text to the UnmarshalText of a value; nil if it has none.
func (p *valuePlan) textSetter(text func(i int) string) setter {
	if !reflect.PointerTo(p.goType).Implements(unmarshaler) {
		return nil
	}
	return func(v reflect.Value, i int) *fault {
		s := text(i)
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
			return &fault{value: quote([]byte(s)), why: fmt.Sprintf("does not go into a %s: %v", p.goType, err)}
		}
		return nil
	}
}

func (p *valuePlan) timeSetter(a arrow.Array) setter {
	switch a := a.(type) {
	case *array.Date32:
		if p.form == dateForm {
			return func(v reflect.Value, i int) *fault {
				v.Set(reflect.ValueOf(dayTime(int64(a.Value(i)))))
				return nil
			}
		}
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		if t.Unit == arrow.Microsecond && p.form != dateForm && (t.TimeZone == "") == (p.form == wallForm) {
			return func(v reflect.Value, i int) *fault {
				v.Set(reflect.ValueOf(time.UnixMicro(int64(a.Value(i))).UTC()))
				return nil
			}
		}
	}
	return nil
}

func (p *valuePlan) decimalSetter(a arrow.Array) setter {
	d, ok := a.(*array.Decimal128)
	if !ok {
		return nil
	}
	t := d.DataType().(*arrow.Decimal128Type)
	switch p.form {
	case digitsForm:
		return func(v reflect.Value, i int) *fault { v.SetString(decimalString(d.Value(i), t)); return nil }
	case markedDecimalForm:
		return p.textSetter(func(i int) string { return decimalString(d.Value(i), t) })
	case ratForm:
		return func(v reflect.Value, i int) *fault {
			unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)
			v.Set(reflect.ValueOf(new(big.Rat).SetFrac(d.Value(i).BigInt(), unit)))
			return nil
		}
	}
	own := p.typ.(*arrow.Decimal128Type)
	if p.form == bigForm {
		own = &arrow.Decimal128Type{Precision: own.Precision}
	}
	return func(v reflect.Value, i int) *fault {
		n, bad := parseDecimal([]byte(decimalString(d.Value(i), t)), own)
		switch {
		case bad != parsed:
			return &fault{value: decimalString(d.Value(i), t), why: decimalFault(bad, own)}
		case p.form == bigForm:
			v.Set(reflect.ValueOf(n.BigInt()))
		default:
			v.Set(reflect.ValueOf(n))
		}
		return nil
	}
}

// ---- nested values

func (p *valuePlan) structSetter(a arrow.Array, zero bool) (setter, *fault) {
	s, ok := a.(*array.Struct)
	if !ok {
		return p.mismatch(a)
	}
	set, f := bindSetters(p.fields, s.DataType().(*arrow.StructType).Fields(), s.Field, zero)
	return func(v reflect.Value, i int) *fault {
		for _, s := range set {
			if f := s(v, i); f != nil {
				return f
			}
		}
		return nil
	}, f
}

func (p *valuePlan) listSetter(a arrow.Array, zero bool) (setter, *fault) {
	l, ok := a.(*array.List)
	if !ok {
		return p.mismatch(a)
	}
	set, f := p.elem.setter(l.ListValues(), zero)
	return func(v reflect.Value, i int) *fault {
		from, to := l.ValueOffsets(i)
		list := reflect.MakeSlice(p.goType, int(to-from), int(to-from))
		for j := range list.Len() {
			if f := set(list.Index(j), int(from)+j); f != nil {
				return f.inside(fmt.Sprintf("[%d]", j))
			}
		}
		v.Set(list)
		return nil
	}, f.inside("[]")
}

func (p *valuePlan) mapSetter(a arrow.Array, zero bool) (setter, *fault) {
	m, ok := a.(*array.Map)
	if !ok {
		return p.mismatch(a)
	}
	key, f := p.key.setter(m.Keys(), false)
	if f != nil {
		return nil, f.inside("[key]")
	}
	item, f := p.elem.setter(m.Items(), zero)
	return func(v reflect.Value, i int) *fault {
		from, to := m.ValueOffsets(i)
		out := reflect.MakeMapWithSize(p.goType, int(to-from))
		for j := int(from); j < int(to); j++ {
			k, e := reflect.New(p.goType.Key()).Elem(), reflect.New(p.goType.Elem()).Elem()
			if f := key(k, j); f != nil {
				return f.inside("[key]")
			}
			if out.MapIndex(k).IsValid() {
				return &fault{value: fmt.Sprint(k.Interface()), why: "is two keys of the map, and a Go map has each once"}
			}
			if f := item(e, j); f != nil {
				return f.inside(fmt.Sprintf("[%q]", fmt.Sprint(k.Interface())))
			}
			out.SetMapIndex(k, e)
		}
		v.Set(out)
		return nil
	}, f.inside("[value]")
}

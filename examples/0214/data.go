package main

import (
	"compress/gzip"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// data is the month that is used without -data; data/README.md says where it is from.
//
//go:embed data
var data embed.FS

// files gives the directory of the files: the one named, or the month built in.
func files(dir string) (fs.FS, error) {
	if dir == "" {
		return fs.Sub(data, "data")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("-data %s: not a directory", dir)
	}
	return os.DirFS(dir), nil
}

const suffix = ".csv.gz"

// day is a file: the flights of a day of New York.
type day struct {
	date    arrow.Date32
	flights []*flight
}

func (d *day) String() string { return dateText(d.date) }

func dateText(d arrow.Date32) string { return d.ToTime().Format(time.DateOnly) }

// readDays reads the files whose date is wanted, in the order of their dates.
func readDays(fsys fs.FS, wanted func(arrow.Date32) bool) ([]*day, error) {
	names, err := fs.Glob(fsys, "*"+suffix)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there is no file of flights: they are called YYYY-MM-DD" + suffix)
	}
	slices.Sort(names)
	var days []*day
	places := map[string]string{}
	for _, name := range names {
		date, err := time.Parse(time.DateOnly, strings.TrimSuffix(name, suffix))
		if err != nil {
			return nil, fmt.Errorf("file %s: its name is no date: files are called YYYY-MM-DD%s", name, suffix)
		}
		d := &day{date: arrow.Date32FromTime(date)}
		if !wanted(d.date) {
			continue
		}
		if err := d.read(fsys, name, places); err != nil {
			return nil, err
		}
		days = append(days, d)
	}
	return days, nil
}

func every(arrow.Date32) bool { return true }

// read reads a file. places says where each key was seen.
func (d *day) read(fsys fs.FS, name string, places map[string]string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("file %s: %w", name, err)
	}
	lines := csv.NewReader(z)
	lines.ReuseRecord = true
	head, err := lines.Read()
	if err != nil {
		return fmt.Errorf("file %s: read the header: %w", name, err)
	}
	layout, err := layoutOf(head)
	if err != nil {
		return fmt.Errorf("file %s: %w", name, err)
	}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
		line, _ := lines.FieldPos(0)
		place := fmt.Sprintf("file %s, line %d", name, line)
		fl, err := layout.flight(fields, d.date)
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if first, twice := places[fl.key()]; twice {
			return fmt.Errorf("%s: flight %s is there already, in %s: the key (%s) must be unique", place, fl.key(), first, strings.Join(businessKey, ", "))
		}
		places[fl.key()] = place
		d.flights = append(d.flights, fl)
	}
}

// layout says where the columns stand in a line.
type layout struct {
	date   []int // year, month, day
	values []int // one for each of columns
}

func layoutOf(head []string) (layout, error) {
	var l layout
	find := func(name string) (int, error) {
		i := slices.Index(head, name)
		if i < 0 {
			return 0, fmt.Errorf("the header has no column %s", name)
		}
		return i, nil
	}
	for _, name := range dateColumns {
		i, err := find(name)
		if err != nil {
			return l, err
		}
		l.date = append(l.date, i)
	}
	for _, c := range columns {
		i, err := find(c.name)
		if err != nil {
			return l, err
		}
		l.values = append(l.values, i)
	}
	if want := len(dateColumns) + len(columns); len(head) != want {
		return l, fmt.Errorf("the header has %d columns instead of %d: %s", len(head), want, strings.Join(head, ","))
	}
	return l, nil
}

// flight reads a line of the file of a date.
func (l layout) flight(fields []string, date arrow.Date32) (*flight, error) {
	f := &flight{day: date, values: make([]value, len(columns))}
	want := date.ToTime()
	for i, part := range []int{want.Year(), int(want.Month()), want.Day()} {
		if text := fields[l.date[i]]; !isNumber(text, part) {
			return nil, fmt.Errorf("column %s: %q: the file is that of %s", dateColumns[i], text, dateText(date))
		}
	}
	for i, c := range columns {
		v, err := c.value(fields[l.values[i]])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		f.values[i] = v
	}
	return f, f.stamp()
}

func isNumber(spelled string, n int) bool {
	v, err := strconv.Atoi(spelled)
	return err == nil && v == n
}

// missing is how the files spell what is not known.
const missing = "NA"

func (c column) value(spelled string) (value, error) {
	if spelled == missing {
		if c.required {
			return value{}, fmt.Errorf("%q: every flight has one", missing)
		}
		return value{null: true}, nil
	}
	switch c.form {
	case whole:
		n, err := strconv.ParseInt(spelled, 10, 32)
		if err != nil {
			return value{}, fmt.Errorf("%q is not a whole number of 32 bits", spelled)
		}
		return value{n: n}, nil
	case instant:
		t, err := time.Parse(time.RFC3339, spelled)
		if err != nil {
			return value{}, fmt.Errorf("%q is not an instant as 2013-01-01T10:00:00Z", spelled)
		}
		return value{n: t.UnixMicro()}, nil
	}
	if spelled == "" {
		return value{}, fmt.Errorf("it is empty; what is missing is spelled %s", missing)
	}
	return value{s: spelled}, nil
}

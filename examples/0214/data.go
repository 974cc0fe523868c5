package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/records"
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
	schema, err := records.SchemaOf[record]()
	if err != nil {
		return err
	}
	lines, err := records.CSV(schema, records.Files{FS: fsys, Names: []string{name}}, records.CSVOptions{NullText: []string{missing}})
	if err != nil {
		return err
	}
	defer lines.Release()
	for r, err := range records.StructsOf[record](array.IterFromReader(lines), records.StructOptions{}) {
		if err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
		place := fmt.Sprintf("file %s, row %d", name, len(d.flights)+1)
		f := &flight{columns: r.columns, day: d.date}
		if date := time.Date(int(r.Year), time.Month(r.Month), int(r.Day), 0, 0, 0, 0, time.UTC); arrow.Date32FromTime(date) != d.date {
			return fmt.Errorf("%s: columns year, month, day: %d, %d, %d: the file is that of %s", place, r.Year, r.Month, r.Day, d)
		}
		if err := f.stamp(); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if first, twice := places[f.key()]; twice {
			return fmt.Errorf("%s: flight %s is there already, in %s: the key (%s) must be unique", place, f.key(), first, strings.Join(businessKey, ", "))
		}
		places[f.key()] = place
		d.flights = append(d.flights, f)
	}
	return nil
}

// missing is how the files spell what is not known.
const missing = "NA"

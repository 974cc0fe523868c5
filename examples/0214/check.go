package main

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
)

// lines is a multiset of rows as text.
type lines map[string]int

// finished computes from the text of the files what the table must hold in the end. It shares
// nothing with the code that loads: no Arrow, no idem, no change feed.
func finished(fsys fs.FS) (lines, error) {
	names, err := fs.Glob(fsys, "*"+suffix)
	if err != nil {
		return nil, err
	}
	out := lines{}
	for _, name := range names {
		records, err := readAll(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", name, err)
		}
		for _, r := range records {
			text, err := r.line()
			if err != nil {
				return nil, fmt.Errorf("file %s: %w", name, err)
			}
			out[text]++
		}
	}
	return out, nil
}

// spelled is a line of a file by column, as it is spelled.
type spelled map[string]string

func readAll(fsys fs.FS, name string) ([]spelled, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	all, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []spelled
	for _, fields := range all[1:] {
		r := spelled{}
		for i, name := range all[0] {
			r[name] = fields[i]
		}
		out = append(out, r)
	}
	return out, nil
}

// line is the row that the table must have for the line.
func (r spelled) line() (string, error) {
	date, err := time.Parse("2006-1-2", r["year"]+"-"+r["month"]+"-"+r["day"])
	if err != nil {
		return "", err
	}
	known, err := r.known(date)
	if err != nil {
		return "", err
	}
	parts := []string{"day=" + date.Format(time.DateOnly), "updated_at=" + known.UTC().Format(time.RFC3339)}
	for name, text := range r {
		if name == "year" || name == "month" || name == "day" {
			continue
		}
		if n, err := strconv.Atoi(text); err == nil && name != "tailnum" && name != "carrier" {
			text = strconv.Itoa(n)
		}
		if text != missing {
			parts = append(parts, name+"="+text)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " "), nil
}

// known is when the last that the record says was known.
func (r spelled) known(date time.Time) (time.Time, error) {
	has := func(name string) bool { return r[name] != missing }
	landed := has("arr_time") || has("arr_delay") || has("air_time")
	if !landed && !has("dep_time") && !has("dep_delay") {
		return date, nil
	}
	t, err := time.Parse(time.RFC3339, r["time_hour"])
	if err != nil {
		return t, err
	}
	offsets := []string{"minute", "dep_delay"}
	switch {
	case landed && has("air_time"):
		offsets = append(offsets, "air_time")
	case landed:
		t = t.Add(24 * time.Hour)
	}
	for _, name := range offsets {
		if !has(name) {
			continue
		}
		n, err := strconv.Atoi(r[name])
		if err != nil {
			return t, err
		}
		t = t.Add(time.Duration(n) * time.Minute)
	}
	return t, nil
}

// held gives the rows of a table as lines.
func held(ctx context.Context, t *idem.Table) (lines, error) {
	out := lines{}
	for batch, err := range t.Scan(ctx, idem.Scan{}) {
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			var parts []string
			for c, f := range batch.Schema().Fields() {
				if col := batch.Column(c); col.IsValid(i) {
					parts = append(parts, f.Name+"="+spell(col, i))
				}
			}
			slices.Sort(parts)
			out[strings.Join(parts, " ")]++
		}
	}
	return out, nil
}

func spell(col arrow.Array, i int) string {
	switch col := col.(type) {
	case *array.Timestamp:
		return col.Value(i).ToTime(arrow.Microsecond).UTC().Format(time.RFC3339)
	case *array.Date32:
		return dateText(col.Value(i))
	}
	return col.ValueStr(i)
}

// sameAsFiles holds the table against what was computed from the files, row by row.
func sameAsFiles(ctx context.Context, t *idem.Table, want lines) error {
	have, err := held(ctx, t)
	if err != nil {
		return err
	}
	if maps.Equal(want, have) {
		return nil
	}
	for text, n := range want {
		if have[text] != n {
			return fmt.Errorf("the table is not what the files say: it has %d times, instead of %d, %s", have[text], n, text)
		}
	}
	for text, n := range have {
		if want[text] != n {
			return fmt.Errorf("the table is not what the files say: it has %d times, instead of %d, %s", n, want[text], text)
		}
	}
	return nil
}

// sums adds up the measures of flights as they were known at a stage, as a fingerprint prints them.
func sums(flights []*flight, s stage) []string {
	totals := make([]int64, len(measures))
	for _, f := range flights {
		known := change{f, min(s, f.last())}.row()
		for i, v := range known.measured() {
			if v != nil {
				totals[i] += int64(*v)
			}
		}
	}
	var out []string
	for i, name := range measures {
		out = append(out, fmt.Sprintf("%s=%d", name, totals[i]))
	}
	return out
}

// expect compares numbers that a step measured with those that it computed.
func expect[T comparable](what string, have, want T) error {
	if have != want {
		return fmt.Errorf("%s: %v instead of %v", what, have, want)
	}
	return nil
}

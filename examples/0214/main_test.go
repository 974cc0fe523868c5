package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// TestMain lets the test's own binary be the child that is killed.
func TestMain(m *testing.M) {
	if child, err := runErrand(context.Background()); child {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tell runs the night and gives its lines.
func tell(t *testing.T, args ...string) []string {
	t.Helper()
	var out, messages bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out, &messages), out.String())
	require.Empty(t, messages.String())
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

var versionText = regexp.MustCompile(`version(s)? \d+( to \d+)?`)

// TestTheNightTwice runs the month as it is built in, with -short a few days of it, and then once more on the table that
// is left.
func TestTheNightTwice(t *testing.T) {
	place := filepath.Join(t.TempDir(), "flights")
	args, flights := []string{"-keep", place}, "27,004 flights of 31 days, 2013-01-01 to 2013-01-31"
	if testing.Short() {
		args, flights = append(args, "-data", someDays(t)), "134 flights of 5 days, 2013-01-05 to 2013-01-31"
	}
	once := tell(t, args...)
	require.Equal(t, "diff: 0 rows", once[len(once)-1])
	require.Equal(t, "table: "+place, once[len(once)-2])
	require.Contains(t, once[0], flights)
	require.FileExists(t, filepath.Join(place, "_delta_log", "00000000000000000000.json"))

	twice := tell(t, args...)
	for i, line := range once {
		if !strings.HasPrefix(line, "(e)") { // checkpoints come at other batches, so it dies elsewhere
			require.Equal(t, versionText.ReplaceAllString(line, "version"), versionText.ReplaceAllString(twice[i], "version"))
		}
	}
}

// someDays writes the heads of a few built-in files to a directory: an odd number of days, of
// different length, with a gap and with a day on which nobody flew.
func someDays(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, rows := range map[string]int{"2013-01-05": 40, "2013-01-06": 0, "2013-01-07": 90, "2013-01-30": 3, "2013-01-31": 1} {
		lines := strings.SplitAfterN(builtIn(t, name), "\n", rows+2)
		write(t, dir, name, strings.Join(lines[:rows+1], ""))
	}
	return dir
}

func builtIn(t *testing.T, name string) string {
	t.Helper()
	f, err := data.Open("data/" + name + suffix)
	require.NoError(t, err)
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+suffix), b.Bytes(), 0o600))
}

// TestOtherFiles: nothing is made for one month, and the same files tell the same story.
func TestOtherFiles(t *testing.T) {
	dir := someDays(t)
	var stories [][]string
	for range 2 {
		story := tell(t, "-data", dir, "-keep", filepath.Join(t.TempDir(), "flights"))
		stories = append(stories, append(story[:len(story)-2:len(story)-2], story[len(story)-1]))
	}
	require.Equal(t, stories[0], stories[1])
	require.Contains(t, stories[0][0], "134 flights of 5 days, 2013-01-05 to 2013-01-31")
	require.Contains(t, stories[0][1], "2013-01-07 killed after")
}

func TestOneDay(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "2013-01-05", builtIn(t, "2013-01-05"))
	story := tell(t, "-data", dir, "-keep", filepath.Join(t.TempDir(), "flights"))
	require.Equal(t, "diff: 0 rows", story[len(story)-1])
}

const head = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n"

const line = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n"

// TestBadFiles: the error names the file, the line, the column and the value.
func TestBadFiles(t *testing.T) {
	other := strings.Replace(line, "UA,1545", "UA,1546", 1)
	for _, c := range []struct{ why, name, text, says string }{
		{"no number", "2013-01-01", head + line + strings.Replace(other, ",2,830", ",two,830", 1),
			`file 2013-01-01.csv.gz, line 3, column "dep_delay": the value "two" is not a whole number`},
		{"too great a number", "2013-01-01", head + strings.Replace(line, "1400", "2147483648", 1), `line 2, column "distance": the value "2147483648" is outside the column's range`},
		{"no instant", "2013-01-01", head + strings.Replace(line, "T10:00:00Z", "", 1), `line 2, column "time_hour": the value "2013-01-01" has no zone`},
		{"a key that is missing", "2013-01-01", head + strings.Replace(line, "UA", "NA", 1), `line 2, column "carrier": it is NULL, and the column is NOT NULL`},
		{"a flight of another day", "2013-01-02", head + line, `row 1: columns year, month, day: 2013, 1, 1: the file is that of 2013-01-02`},
		{"a flight that is there twice", "2013-01-01", head + line + line, `row 2: flight UA 1545 EWR 2013-01-01T10:00:00Z is there already, in file 2013-01-01.csv.gz, row 1`},
		{"a flight that arrives before it leaves", "2013-01-01", head + strings.Replace(line, "227", "-1", 1), `column air_time: -1`},
		{"a flight that leaves before its schedule is known", "2013-01-01", head + strings.Replace(line, ",2,830", ",-1000,830", 1), `left before the evening of its schedule`},
		{"a column too few", "2013-01-01", strings.Replace(head, ",minute", "", 1) + strings.Replace(line, ",15,", ",", 1), `the rows, column "minute": they have no such column`},
		{"a column too many", "2013-01-01", strings.Replace(head, "\n", ",weather\n", 1), `line 1: the schema has no column "weather"`},
		{"a short line", "2013-01-01", head + "2013,1,1\n", "line 2: the record has 3 fields, and the file has 19 columns"},
		{"no header", "2013-01-01", "", "file 2013-01-01.csv.gz: it is empty and has not even a header line"},
		{"a name that is no date", "january", head + line, "file january.csv.gz: its name is no date"},
		{"nothing to kill part-way", "2013-01-01", head + line, "no day with two flights"},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir, place := t.TempDir(), filepath.Join(t.TempDir(), "flights")
			write(t, dir, c.name, c.text)
			err := run(t.Context(), []string{"-data", dir, "-keep", place}, io.Discard, io.Discard)
			require.ErrorContains(t, err, c.says)
			require.NoDirExists(t, place)
		})
	}
	dir := t.TempDir()
	require.ErrorContains(t, run(t.Context(), []string{"-data", dir}, io.Discard, io.Discard), "there is no file of flights")
	require.ErrorContains(t, run(t.Context(), []string{"-data", dir + "/x"}, io.Discard, io.Discard), "not a directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "2013-01-01"+suffix), []byte("not gzip"), 0o600))
	require.ErrorContains(t, run(t.Context(), []string{"-data", dir}, io.Discard, io.Discard), "file 2013-01-01.csv.gz, line 1: ")
}

// TestAWrongNumberFails: each check of the program is seen to fail.
func TestAWrongNumberFails(t *testing.T) {
	dir := someDays(t)
	n, err := prepare(t.Context(), dir, filepath.Join(t.TempDir(), "flights"), io.Discard)
	require.NoError(t, err)
	_, err = n.table.ReplaceAll(t.Context(), known(n.flights, arrived), idem.ReplaceAll{})
	require.NoError(t, err)
	require.NoError(t, sameAsFiles(t.Context(), n.table, n.want))
	_, err = n.holds(t.Context(), n.flights, arrived)
	require.NoError(t, err)

	_, err = n.holds(t.Context(), n.flights, scheduled)
	require.ErrorContains(t, err, "sum: dep_delay=")
	_, err = n.holds(t.Context(), n.flights[1:], arrived)
	require.ErrorContains(t, err, "rows: 134 instead of 133")
	require.ErrorContains(t, n.appendTwice(t.Context()), "rows: ", "the day is there already")
	require.ErrorContains(t, sameAsFiles(t.Context(), n.table, n.want), "the table is not what the files say")

	_, err = n.table.ReplaceAll(t.Context(), known(n.flights, arrived), idem.ReplaceAll{})
	require.NoError(t, err)
	for what, where := range map[string]string{"a row too few": "flight = 1545", "a day too few": "day = DATE '2013-01-30'"} {
		_, err = n.table.Delete(t.Context(), idem.Delete{Where: where})
		require.NoError(t, err, what)
	}
	require.ErrorContains(t, sameAsFiles(t.Context(), n.table, n.want), "it has 0 times, instead of 1")
	require.ErrorContains(t, n.mergeLateChanges(t.Context()), "merge 0: ", "it inserts what is gone")
}

// TestClaims: a batch that two lives say they committed ends the run.
func TestClaims(t *testing.T) {
	s := &streamed{committed: map[int64]int64{}}
	say := func(batch int, o idem.Outcome, version int) error {
		return s.claim(fmt.Sprintf("batch %d %d %d", batch, o, version))
	}
	require.NoError(t, say(0, idem.Committed, 5))
	require.NoError(t, say(0, idem.AlreadyApplied, 5))
	require.NoError(t, say(0, idem.Superseded, 6))
	require.Equal(t, 2, s.skipped)
	require.ErrorContains(t, say(0, idem.Committed, 7), "batch 0 was committed at version 5 and again at 7")
	require.ErrorContains(t, say(1, idem.Unchanged, 7), "batch 1 ended as unchanged")
	require.Error(t, s.claim("something else"))
}

// TestTheJobFails: what the job's process says of its error is passed on.
func TestTheJobFails(t *testing.T) {
	e := errand{Job: "naive", Table: t.TempDir()}
	require.ErrorContains(t, appendNaively(t.Context(), e, 1), "not a Delta table")
	e.Job = "another"
	require.ErrorContains(t, appendNaively(t.Context(), e, 0), `unknown errand "another"`)
}

// TestTheDataIsWhole: what is built in is what its README says.
func TestTheDataIsWhole(t *testing.T) {
	fsys, err := files("")
	require.NoError(t, err)
	days, err := readDays(fsys, every)
	require.NoError(t, err)
	require.Len(t, days, 31)
	require.Len(t, flightsOf(days), 27_004)
	readme, err := fs.ReadFile(fsys, "README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "27,004 rows")
	cancelled, diverted := 0, 0
	for _, f := range flightsOf(days) {
		if f.DepTime == nil {
			cancelled++
		}
		if f.AirTime == nil {
			diverted++
		}
	}
	require.Equal(t, []int{521, 606}, []int{cancelled, diverted})
}

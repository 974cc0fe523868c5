// 0214 is the night on which a load step died part-way at 02:14 and was retried.
//
// It loads real flights into a real Delta table, first with a job that doubles rows when it is
// retried, then with each verb that does not, killed, raced by its own retries and replayed. Every
// number that it prints is computed from the files as well and compared: a wrong one ends the
// program with status 1.
//
//	go run ./examples/0214 [-data DIR] [-keep DIR]
//
// It needs no argument, no network and no service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/idemtable/idem"
)

// seed makes all that is left to chance the same in every run.
const seed = 214

func main() {
	ctx := context.Background()
	child, err := runErrand(ctx)
	if !child {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "0214:", err)
		os.Exit(1)
	}
}

// errUsage says that the arguments are wrong, and that the user has been told.
var errUsage = errors.New("wrong arguments")

// night is the story and what it works on.
type night struct {
	out   io.Writer
	data  string // as -data
	place string // the directory of the table
	table *idem.Table

	days    []*day
	flights []*flight
	worst   *day  // the day with the most flights, which the naive job loads
	want    lines // what the table must hold in the end
}

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	flags := flag.NewFlagSet("0214", flag.ContinueOnError)
	flags.SetOutput(messages)
	data := flags.String("data", "", "directory of files YYYY-MM-DD.csv.gz; default: January 2013, built in")
	keep := flags.String("keep", "", "directory of the table; a table of flights that is there is emptied first; default: a new directory")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(messages, "unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return errUsage
	}
	n, err := prepare(ctx, *data, *keep, out)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"a", n.appendTwice}, {"b", n.repair}, {"c", n.backfill},
		{"d", n.mergeLateChanges}, {"e", n.streamBatches}, {"f", n.runTwice},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("step %s: %w", step.name, err)
		}
	}
	return nil
}

// prepare reads the files and makes the table.
func prepare(ctx context.Context, data, keep string, out io.Writer) (*night, error) {
	n := &night{out: out, data: data}
	fsys, err := files(data)
	if err != nil {
		return nil, err
	}
	if n.days, err = readDays(fsys, every); err != nil {
		return nil, err
	}
	if n.want, err = finished(fsys); err != nil {
		return nil, err
	}
	n.flights, n.worst = flightsOf(n.days), n.days[0]
	for _, d := range n.days {
		if len(d.flights) > len(n.worst.flights) {
			n.worst = d
		}
	}
	if len(n.worst.flights) < 2 {
		return nil, errors.New("the files have no day with two flights: there is nothing to kill part-way")
	}
	if n.place, err = placeOf(keep); err != nil {
		return nil, err
	}
	def, err := definition()
	if err != nil {
		return nil, err
	}
	if n.table, _, err = idem.Create(ctx, n.place, def, idem.Options{}); err != nil {
		return nil, err
	}
	if err := n.empty(ctx); err != nil {
		return nil, err
	}
	n.say("-", "data", "%s flights of %d days, %s to %s", grouped(len(n.flights)), len(n.days), n.days[0], n.days[len(n.days)-1])
	return n, nil
}

func placeOf(keep string) (string, error) {
	if keep != "" {
		return filepath.Abs(keep)
	}
	dir, err := os.MkdirTemp("", "idem-0214-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "flights"), nil
}

// empty lets the night begin again on a table that an earlier one left.
func (n *night) empty(ctx context.Context) error {
	if _, err := n.table.ReplaceAll(ctx, rows(nil), idem.ReplaceAll{AllowEmpty: true}); err != nil {
		return err
	}
	_, err := n.table.RewindTxn(ctx, streamApp, -1)
	return err
}

// say prints the line of a step.
func (n *night) say(step, title, format string, args ...any) {
	fmt.Fprintf(n.out, "(%s) %-13s %s\n", step, title, fmt.Sprintf(format, args...))
}

// grouped is a number with its thousands set apart.
func grouped[T int | int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// versions names the versions from one to another, both included.
func versions(from, to int64) string {
	switch {
	case from > to:
		return fmt.Sprintf("still version %d", to)
	case from == to:
		return fmt.Sprintf("version %d", to)
	}
	return fmt.Sprintf("versions %d to %d", from, to)
}

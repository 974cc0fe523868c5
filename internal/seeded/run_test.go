package seeded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	runFlag    = flag.Bool("seeded.run", false, "build and run every seed against its suites")
	onlyFlag   = flag.String("seeded.only", "", "with -seeded.run: only seeds whose name or file holds this text")
	suiteFlag  = flag.String("seeded.suite", "", "with -seeded.run: only suites whose name matches this pattern")
	schedules  = flag.Int("seeded.schedules", 0, "with -seeded.run: for each seed, look for the first simulated history that it breaks, among so many")
	updateFlag = flag.Bool("seeded.update", false, "with -seeded.run: write what was caught into docs/seeded.md")
)

// atOnce is how many packages are compiled, and suites run, side by side.
const atOnce = 2

// limit ends a suite that hangs with a seed in it.
const limit = "5m"

// drawn makes the tests that draw their cases draw the same ones each time, and look for no shortest one of
// those that fail.
var drawn = []string{"RAPID_SEED=1", "RAPID_CHECKS=250", "RAPID_SHRINKTIME=0s", "RAPID_NOFAILFILE=true"}

// finding is what became of a suite with a seed in it.
type finding struct {
	seed   *seed
	suite  suite
	failed []string // the tests that failed
	first  string   // the number of the first simulated history that the seed breaks, or that none was; "" if none was looked for
	took   time.Duration
	err    error // the seed is broken: no test ran, or one did not come to an end
}

func (f *finding) caught() bool { return f.err == nil && len(f.failed) > 0 }

func TestEverySeedIsCaught(t *testing.T) {
	if !*runFlag {
		return // takes minutes: the rooms' own tests come first, and TestEverySeedApplies keeps the list whole
	}
	began := time.Now()
	c := newCrew(chosen())
	if len(c.findings) == 0 {
		t.Fatal("no seed is like that")
	}
	c.run(t)
	shown := 0
	for _, f := range c.findings {
		switch {
		case f.err != nil:
			t.Errorf("%s: the seed is broken: %v", f.seed.name, f.err)
		case !f.caught():
			t.Errorf("%s: a hole in the tests: %s does not catch it", f.seed.name, f.suite)
		default:
			shown++
		}
	}
	t.Logf("seeded: %d seeds, %d suites caught theirs of %d, %.0f s", len(c.seeds), shown, len(c.findings), time.Since(began).Seconds())
}

// chosen are the seeds and suites that the flags ask for.
func chosen() []seed {
	which := regexp.MustCompile(*suiteFlag)
	var out []seed
	for _, s := range all() {
		s.caught = slices.DeleteFunc(slices.Clone(s.caught), func(c suite) bool { return !which.MatchString(c.String()) })
		if len(s.caught) > 0 && strings.Contains(s.name+" "+s.file, *onlyFlag) {
			out = append(out, s)
		}
	}
	return out
}

// crew is what one build carries: some seeds, and the tests of the packages that are to catch them.
type crew struct {
	seeds    []*seed
	findings []*finding
}

func newCrew(seeds []seed) *crew {
	c := &crew{}
	for _, s := range seeds {
		c.seeds = append(c.seeds, &s)
		for _, by := range s.caught {
			c.findings = append(c.findings, &finding{seed: &s, suite: by})
		}
	}
	return c
}

// run carries out every suite of every seed.
func (c *crew) run(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	bins, err := c.build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d seeds are built into the tests of %d packages, %.0f s", len(c.seeds), len(bins), time.Since(began).Seconds())
	began = time.Now()
	if err := c.sound(t.Context(), bins); err != nil {
		t.Fatal(err)
	}
	t.Logf("without a seed their suites pass, %.0f s", time.Since(began).Seconds())
	sideBySide(len(c.findings), func(i int) {
		f := c.findings[i]
		began := time.Now()
		f.err = f.run(t.Context(), bins[f.suite.pkg])
		if *schedules > 0 && f.err == nil {
			f.first, f.err = f.seed.firstBroken(t.Context(), bins[simulator])
		}
		f.took = time.Since(began)
		t.Log(f)
	})
	if *updateFlag {
		update(t, c.findings)
	}
}

// packages are those whose tests are to catch the seeds.
func (c *crew) packages() []string {
	var out []string
	for _, f := range c.findings {
		out = append(out, f.suite.pkg)
	}
	if *schedules > 0 {
		out = append(out, simulator)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// build compiles the tests of the packages with all seeds in them.
func (c *crew) build(ctx context.Context, dir string) (bins map[string]string, err error) {
	changed, err := woven(c.seeds)
	if err != nil {
		return nil, err
	}
	told, err := overlay(dir, changed)
	if err != nil {
		return nil, err
	}
	args := []string{"test", "-c", "-overlay", told, "-vet=off", "-ldflags=-s -w", "-p", fmt.Sprint(atOnce), "-o", dir + string(filepath.Separator)}
	bins = map[string]string{}
	for _, pkg := range c.packages() {
		args = append(args, importPath(pkg))
		bins[pkg] = filepath.Join(dir, path.Base(importPath(pkg))+".test")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the seeds are not built: %w\n%s", err, tail(out))
	}
	return bins, nil
}

// sound demands that the suites pass as long as no seed takes effect: one that fails anyhow catches
// everything.
func (c *crew) sound(ctx context.Context, bins map[string]string) error {
	runs := map[string][]string{}
	for _, f := range c.findings {
		if !slices.Contains(runs[f.suite.pkg], f.suite.run) {
			runs[f.suite.pkg] = append(runs[f.suite.pkg], f.suite.run)
		}
	}
	packages := c.packages()
	failed := make([]error, len(packages))
	sideBySide(len(packages), func(i int) {
		pkg := packages[i]
		if len(runs[pkg]) == 0 {
			return // the histories without a seed are run by themselves
		}
		whole := suite{pkg: pkg, run: strings.Join(runs[pkg], "|")}
		if out, err := whole.start(ctx, bins[pkg], ""); err != nil {
			failed[i] = fmt.Errorf("%s fails without a seed: %w\n%s", importPath(pkg), err, tail(out))
		}
	})
	return errors.Join(failed...)
}

func sideBySide(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// run runs a suite with a seed in effect. An error says that the seed is broken.
func (f *finding) run(ctx context.Context, bin string) error {
	out, err := f.suite.start(ctx, bin, f.seed.name)
	f.failed = failures(out)
	switch {
	case bytes.Contains(out, []byte("test timed out after")):
		return fmt.Errorf("%s does not end", f.suite)
	case bytes.Contains(out, []byte("no tests to run")):
		return fmt.Errorf("%s is no test", f.suite)
	case err != nil && len(f.failed) == 0:
		return fmt.Errorf("%s ended without a failing test: %w\n%s", f.suite, err, tail(out))
	}
	return nil
}

// overlay writes changed files, which are named from the root, and what tells the go command of them.
func overlay(dir string, changed map[string][]byte) (string, error) {
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(file)))
		if err := os.WriteFile(replace[original], text, 0o600); err != nil {
			return "", err
		}
	}
	told, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, told, 0o600)
}

// start runs the tests of a suite, with a seed in effect unless that is "".
func (c suite) start(ctx context.Context, bin, seed string) ([]byte, error) {
	args := []string{"-test.run", c.run, "-test.timeout", limit, "-test.short"}
	if !*updateFlag {
		args = append(args, "-test.failfast") // the page names all
	}
	args = append(args, c.args...)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(root, c.pkg)
	cmd.Env = append(os.Environ(), faultVariable+"="+seed, "GOMAXPROCS=1")
	cmd.Env = append(cmd.Env, drawn...)
	return cmd.CombinedOutput()
}

// simulator is the package whose histories are schedules.
const simulator = "internal/sim"

var firstBroken = regexp.MustCompile(`history (\d+) is the first that is broken`)

// firstBroken is the number of the first simulated history that a seed breaks.
func (s *seed) firstBroken(ctx context.Context, bin string) (string, error) {
	histories := in(simulator, "TestFirstBroken")
	histories.args = []string{fmt.Sprintf("-sim.until=%d", *schedules)}
	out, err := histories.start(ctx, bin, s.name)
	if m := firstBroken.FindSubmatch(out); m != nil {
		return string(m[1]), nil
	}
	if err != nil {
		return "", fmt.Errorf("the histories fail without saying which is broken: %w\n%s", err, tail(out))
	}
	return fmt.Sprintf("none of %d", *schedules), nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// failures are the tests that failed, in the order of their names.
func failures(out []byte) []string {
	var names []string
	for _, m := range failedTest.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func tail(out []byte) string {
	const most = 4000
	return string(out[max(0, len(out)-most):])
}

func (f *finding) String() string {
	what := "NOT CAUGHT"
	switch {
	case f.err != nil:
		what = "BROKEN"
	case f.caught():
		what = f.by()
	}
	if f.first != "" {
		what += "; history " + f.first
	}
	return fmt.Sprintf("%-90s %5.1f s  %s: %s", f.seed.name, f.took.Seconds(), f.suite.where(), what)
}

// by says what caught a seed.
func (f *finding) by() string {
	names := strings.Join(f.failed, ", ")
	if len(f.failed) > 3 {
		names = fmt.Sprintf("%d tests, %s, %s …", len(f.failed), f.failed[0], f.failed[1])
	}
	return names
}

package seeded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	updateFlag = flag.Bool("seeded.update", false, "with -seeded.run: write what was caught into docs/seeded.md")
)

// atOnce is how many builds are made and run side by side.
const atOnce = 2

// limit ends a suite that hangs with a seed in it.
const limit = "5m"

// finding is what became of a suite with a seed in it.
type finding struct {
	seed   *seed
	suite  suite
	failed []string // the tests that failed
	took   time.Duration
	err    error // the seed is broken: it was not built, or nothing came to an end
}

func (f *finding) caught() bool { return f.err == nil && len(f.failed) > 0 }

func TestEverySeedIsCaught(t *testing.T) {
	if !*runFlag {
		return // takes minutes: the rooms' own tests come first, and TestEverySeedApplies keeps the list whole
	}
	began := time.Now()
	findings := runAll(t)
	shown := 0
	for _, f := range findings {
		switch {
		case f.err != nil:
			t.Errorf("%s: the seed is broken: %v", f.seed.name, f.err)
		case !f.caught():
			t.Errorf("%s: a hole in the tests: %s does not catch it", f.seed.name, f.suite)
		default:
			shown++
		}
	}
	t.Logf("seeded: %d seeds, %d suites caught theirs of %d, %.0f s", len(chosen()), shown, len(findings), time.Since(began).Seconds())
}

// chosen are the seeds and suites that the flags ask for.
func chosen() []seed {
	which := regexp.MustCompile(*suiteFlag)
	var out []seed
	for _, s := range all() {
		s.caught = slices.DeleteFunc(s.caught, func(c suite) bool { return !which.MatchString(c.String()) })
		if len(s.caught) > 0 && strings.Contains(s.name+" "+s.file, *onlyFlag) {
			out = append(out, s)
		}
	}
	return out
}

// crew is what is run by one build of the tests of a package.
type crew struct {
	pkg      string
	findings []*finding
	woven    bool
}

// crews divides what is to be found out into builds.
func crews() (all []*crew, findings []*finding) {
	byPkg := map[string]*crew{}
	for _, s := range chosen() {
		for _, c := range s.caught {
			f := &finding{seed: &s, suite: c}
			findings = append(findings, f)
			if !s.weavable() {
				all = append(all, &crew{pkg: c.pkg, findings: []*finding{f}})
				continue
			}
			if byPkg[c.pkg] == nil {
				byPkg[c.pkg] = &crew{pkg: c.pkg, woven: true}
				all = append(all, byPkg[c.pkg])
			}
			byPkg[c.pkg].findings = append(byPkg[c.pkg].findings, f)
		}
	}
	return all, findings
}

// runAll carries out every suite of every seed.
func runAll(t *testing.T) []*finding {
	all, findings := crews()
	sideBySide(len(all), func(i int) { all[i].run(t) })
	return findings
}

func (c *crew) run(t *testing.T) {
	dir := t.TempDir()
	defer os.RemoveAll(dir) // dozens of them would fill a disk
	bin, err := c.build(t.Context(), dir)
	if err == nil && c.woven {
		err = c.sound(t.Context(), bin)
	}
	for _, f := range c.findings {
		began := time.Now()
		if f.err = err; err == nil {
			f.err = f.run(t.Context(), bin)
		}
		f.took = time.Since(began)
		t.Log(f)
	}
	if *updateFlag {
		update(t, c.findings)
	}
}

// build compiles the tests of the package with all seeds in them that are woven, or with one in place.
func (c *crew) build(ctx context.Context, dir string) (string, error) {
	changed := map[string][]byte{}
	var err error
	if c.woven {
		var seeds []*seed
		for _, f := range c.findings {
			seeds = append(seeds, f.seed)
		}
		changed, err = woven(seeds)
	} else {
		one := c.findings[0].seed
		changed[one.file], err = one.changed()
	}
	if err != nil {
		return "", err
	}
	told, err := overlay(dir, changed)
	if err != nil {
		return "", err
	}
	return build(ctx, dir, c.pkg, "-overlay", told)
}

// sound demands that the suites pass as long as no seed takes effect: one that fails anyhow catches
// everything.
func (c *crew) sound(ctx context.Context, bin string) error {
	var runs []string
	for _, f := range c.findings {
		if !slices.Contains(runs, f.suite.run) {
			runs = append(runs, f.suite.run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	whole := suite{pkg: c.pkg, run: strings.Join(runs, "|")}
	if out, err := whole.start(ctx, bin, ""); err != nil {
		return fmt.Errorf("%s fails without a seed: %w\n%s", importPath(c.pkg), err, tail(out))
	}
	return nil
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

// build compiles the tests of a package.
func build(ctx context.Context, dir, pkg string, more ...string) (bin string, err error) {
	bin = filepath.Join(dir, "suite.test")
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", bin}, more...)
	cmd := exec.CommandContext(ctx, "go", append(args, importPath(pkg))...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it is not built: %w\n%s", err, tail(out))
	}
	return bin, nil
}

// start runs the tests of a suite, with a seed in effect unless that is "".
func (c suite) start(ctx context.Context, bin, seed string) ([]byte, error) {
	args := []string{"-test.run", c.run, "-test.timeout", limit, "-test.short"}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(root, c.pkg)
	cmd.Env = append(os.Environ(), faultVariable+"="+seed, "GOMAXPROCS=1")
	return cmd.CombinedOutput()
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

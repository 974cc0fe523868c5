package seeded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// root is the module's, from here.
const root = "../.."

const module = "github.com/idemtable/idem"

// seed is a deliberate fault.
type seed struct {
	name   string // what goes wrong, in words
	breaks string // the promise that it breaks: a section of the contract, or a case of the field
	file   string // from the root
	old    string // text that stands in the file once
	new    string
	caught []suite // each of them alone must catch it
}

// suite is what catches a seed: tests of one package.
type suite struct {
	pkg  string   // from the root, "" for the root package
	run  string   // a pattern of -run, as tight as it can be
	args []string // of the test program, beside
}

func (s suite) String() string {
	name := "idem"
	if s.pkg != "" {
		name = s.pkg
	}
	return name + " " + strings.Trim(s.run, "^$()")
}

// in is a suite of tests that are named.
func in(pkg string, tests ...string) suite {
	return suite{pkg: pkg, run: "^(" + strings.Join(tests, "|") + ")$"}
}

// whole is a suite that leaves out with -short what catches the seed.
func (s suite) whole() suite {
	s.args = append(s.args, "-test.short=false")
	return s
}

// changed is the file with the fault in it.
func (s *seed) changed() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, s.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), s.old); n != 1 {
		return nil, fmt.Errorf("%s holds the text that is to be replaced %d times, not once:\n%s", s.file, n, s.old)
	}
	return []byte(strings.Replace(string(text), s.old, s.new, 1)), nil
}

// all are the seeds by the room that they are in.
func all() []seed {
	var out []seed
	for _, list := range [][]seed{commitSeeds, storeSeeds, logSeeds, valueSeeds, spillSeeds, verbSeeds, maintainSeeds} {
		out = append(out, list...)
	}
	return out
}

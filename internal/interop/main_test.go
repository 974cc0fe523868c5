package interop_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// engine is one of the other engines, by its name in engines.py.
type engine string

const (
	spark   engine = "spark"
	deltaRS engine = "deltars"
	duckDB  engine = "duckdb"
)

var (
	everyEngine = []engine{spark, deltaRS, duckDB}
	writers     = []engine{spark, deltaRS} // DuckDB reads only
)

func (e engine) String() string {
	return map[engine]string{spark: "Spark", deltaRS: "delta-rs", duckDB: "DuckDB"}[e]
}

// sideBySideTests is how many tests ask the engines at the same time.
const sideBySideTests = "4"

// theRun is what the tests of one run share: the engines' process and the count of cases.
var theRun struct {
	mu     sync.Mutex
	server *server
	cases  map[engine]int
	failed int
}

func TestMain(m *testing.M) {
	if os.Getenv("IDEM_INTEROP") != "1" {
		os.Exit(m.Run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	scratch, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Println("interop:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	s, err := start(scratch)
	if err != nil {
		fmt.Println("interop: start the engines:", err)
		return 1
	}
	theRun.server, theRun.cases = s, map[engine]int{}
	flag.Parse()
	if err := flag.Set("test.parallel", sideBySideTests); err != nil {
		fmt.Println("interop:", err)
		return 1
	}
	code := m.Run()
	s.stop()
	if code != 0 {
		theRun.failed = max(theRun.failed, 1) // a test that failed outside of a case
	}
	fmt.Printf("interop: spark %d cases, delta-rs %d, duckdb %d, %d failed\n",
		theRun.cases[spark], theRun.cases[deltaRS], theRun.cases[duckDB], theRun.failed)
	return code
}

// needEngines skips a test when the engines are not asked for. One that has them runs beside others: while
// Spark plans for one, a processor is free for the next.
func needEngines(t *testing.T) {
	t.Helper()
	t.Parallel()
	if theRun.server == nil {
		t.Skip("IDEM_INTEROP is not 1: Spark, delta-rs and DuckDB are not started (bash .ci/run does)")
	}
}

// tally counts a case of an engine.
func tally(t *testing.T, e engine, err error, format string, args ...any) {
	t.Helper()
	theRun.mu.Lock()
	defer theRun.mu.Unlock()
	theRun.cases[e]++
	if err != nil {
		theRun.failed++
		t.Errorf("%s, %s: %v", e, fmt.Sprintf(format, args...), err)
	}
}

// server is the process of engines.py. It takes several requests at a time.
type server struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr string // the file that takes the engines' own words

	mu      sync.Mutex
	asked   int
	waiting map[int]chan answered // by the id of a request
	gone    error                 // why there are no answers any more
}

// answered is an answer as engines.py gives it.
type answered struct {
	ID    int
	OK    json.RawMessage
	Error string
}

func start(scratch string) (*server, error) {
	python := os.Getenv("IDEM_INTEROP_PYTHON")
	if python == "" || os.Getenv("IDEM_INTEROP_JARS") == "" {
		return nil, errors.New("IDEM_INTEROP is 1, but IDEM_INTEROP_PYTHON and IDEM_INTEROP_JARS do not name the interpreter and the jars")
	}
	script, err := filepath.Abs("engines.py")
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(python, script), waiting: map[int]chan answered{}, stderr: filepath.Join(scratch, "stderr")}
	s.cmd.Dir = scratch
	s.cmd.Env = append(os.Environ(), "IDEM_INTEROP_SCRATCH="+scratch, "SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+scratch)
	stderr, err := os.Create(s.stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	s.cmd.Stderr = stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.listen(bufio.NewReader(out))
	return s, nil
}

func (s *server) stop() {
	s.in.Close() // the process ends with its input
	if err := s.cmd.Wait(); err != nil {
		fmt.Println("interop: the engines' process:", err)
	}
}

// ask sends a request and decodes the answer into out, unless that is nil. Numbers stay as they are
// written. An engine's refusal is an error with its text.
func (s *server) ask(e engine, op string, args map[string]any, out any) error {
	request := map[string]any{"engine": e, "op": op}
	for k, v := range args {
		request[k] = v
	}
	reply, ok := <-s.send(request)
	if !ok {
		return fmt.Errorf("the engines' process is gone: %w: %s", s.gone, s.lastWords())
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	if out == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(reply.OK))
	d.UseNumber()
	return d.Decode(out)
}

// send sends a request. The channel gives its answer, or is closed without one.
func (s *server) send(request map[string]any) <-chan answered {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan answered, 1)
	s.asked++
	request["id"] = s.asked
	line, err := json.Marshal(request)
	if err == nil && s.gone == nil {
		_, err = s.in.Write(append(line, '\n'))
	}
	if s.gone = cmp.Or(s.gone, err); s.gone != nil {
		close(c)
		return c
	}
	s.waiting[s.asked] = c
	return c
}

// listen hands on the answers until there are no more.
func (s *server) listen(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		var reply answered
		if err == nil {
			err = json.Unmarshal(line, &reply)
		}
		s.mu.Lock()
		if err != nil {
			s.gone = err
			for _, c := range s.waiting {
				close(c)
			}
			s.waiting = map[int]chan answered{}
			s.mu.Unlock()
			return
		}
		s.waiting[reply.ID] <- reply
		delete(s.waiting, reply.ID)
		s.mu.Unlock()
	}
}

func (s *server) lastWords() []byte {
	text, err := os.ReadFile(s.stderr)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-4000):]
}

// do has an engine do something that must succeed.
func (e engine) do(t *testing.T, op string, args map[string]any) {
	t.Helper()
	require.NoError(t, theRun.server.ask(e, op, args, nil), "%s %s", e, op)
}

func TestEveryEngineIsThere(t *testing.T) {
	needEngines(t)
	for _, e := range everyEngine {
		var version string
		require.NoError(t, theRun.server.ask(e, "version", nil, &version), "%s is missing", e)
		t.Logf("%s %s", e, version)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Some of the night's jobs run in a process of their own, so that they can be killed for good. The
// program starts itself again with an errand in the environment. The child says on its output what
// it does, one line at a time, and at each moment at which it may die it waits for a line on its
// input: so the parent decides where it dies, and the same seed kills at the same places.

// errandVariable holds the child's errand.
const errandVariable = "IDEM_0214_ERRAND"

// errand is what a child is told.
type errand struct {
	Job   string // "naive" or "stream"
	Table string // the directory of the table
	Data  string // as -data
	From  arrow.Date32
	To    arrow.Date32
	Life  uint64 // the seed of what the store does wrong
}

// runErrand is the child's main. It says whether the process is a child.
func runErrand(ctx context.Context) (bool, error) {
	text := os.Getenv(errandVariable)
	if text == "" {
		return false, nil
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return true, fmt.Errorf("read the errand: %w", err)
	}
	fsys, err := files(e.Data)
	if err != nil {
		return true, err
	}
	days, err := readDays(fsys, func(d arrow.Date32) bool { return e.From <= d && d <= e.To })
	if err != nil {
		return true, err
	}
	p := &progress{out: os.Stdout, in: bufio.NewReader(os.Stdin)}
	switch e.Job {
	case "naive":
		return true, naiveJob(ctx, e, days, p)
	case "stream":
		return true, streamJob(ctx, e, days, p)
	}
	return true, fmt.Errorf("unknown errand %q", e.Job)
}

// progress is the child's end of the conversation.
type progress struct {
	out io.Writer
	in  *bufio.Reader
	err error // the parent is gone
}

// say tells the parent something.
func (p *progress) say(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil && p.err == nil {
		p.err = fmt.Errorf("tell the parent: %w", err)
	}
}

// moment is one at which the child may be killed.
func (p *progress) moment(format string, args ...any) {
	p.say("? "+format, args...)
	if _, err := p.in.ReadString('\n'); err != nil && p.err == nil {
		p.err = fmt.Errorf("wait for the parent: %w", err)
	}
}

// child is the parent's end.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer
}

func start(ctx context.Context, e errand) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self)}
	c.cmd.Env = append(os.Environ(), errandVariable+"="+string(text))
	c.cmd.Stderr = &c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the job's process: %w", err)
	}
	return c, nil
}

// line is the next thing that the child says. At a moment it waits to be told to go on.
func (c *child) line() (text string, moment, ok bool) {
	if !c.out.Scan() {
		return "", false, false
	}
	text, moment = strings.CutPrefix(c.out.Text(), "? ")
	return text, moment, true
}

func (c *child) goOn() error {
	_, err := io.WriteString(c.in, "\n")
	return err
}

// kill ends the child as the machine does when it runs out of memory: by SIGKILL, without a chance
// to tidy up.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the job's process: %w", err)
	}
	if err := c.cmd.Wait(); err == nil {
		return errors.New("the job's process was killed, and ended as if it had not been")
	}
	return nil
}

// wait waits for a child that has said all.
func (c *child) wait() error {
	if err := c.out.Err(); err != nil {
		return fmt.Errorf("listen to the job's process: %w", err)
	}
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the job's process: %w: %s", err, strings.TrimSpace(c.stderr.String()))
	}
	return nil
}

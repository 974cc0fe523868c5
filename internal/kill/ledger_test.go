//go:build unix

package kill_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// line is one line of a ledger: that a process begins a job, or how it ended.
type line struct {
	Tick    int64
	Job     int
	Begin   bool   `json:",omitempty"`
	Outcome string `json:",omitempty"` // "conflict" for a call that left nothing and is made again
	Version int64  `json:",omitempty"`
	Read    string `json:",omitempty"`
}

// ticks count for all processes: what happened before has the lower number, whatever clocks say.
type ticks struct{ n *atomic.Int64 }

func openTicks(path string) (ticks, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return ticks{}, err
	}
	defer f.Close()
	const size = 8
	if err := f.Truncate(size); err != nil {
		return ticks{}, err
	}
	shared, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return ticks{}, err
	}
	return ticks{(*atomic.Int64)(unsafe.Pointer(&shared[0]))}, nil
}

func (t ticks) next() int64 { return t.n.Add(1) }

// book is a ledger that is being written: each line is on the disk before it is told to the parent.
type book struct {
	file *os.File
	tell *os.File
	time ticks
}

func (b *book) write(l line) error {
	l.Tick = b.time.next()
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := b.file.Write(text); err != nil {
		return err
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	_, err = b.tell.Write(text)
	return err
}

func ledgerPath(dir string, worker, life int) string {
	return filepath.Join(dir, fmt.Sprintf("ledger-%02d.%d", worker, life))
}

// attempt is one call of one process, as its ledger has it.
type attempt struct {
	*job
	begin, end int64
	line       // how it ended; no Outcome: unknown, the process died
}

// readLedger gives the attempts of one process. One that was killed died before the tick given.
func readLedger(t *testing.T, path string, jobs []*job, death int64) []attempt {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil // it was killed before it had one
	}
	require.NoError(t, err)
	var out []attempt
	open := false
	for raw := range bytes.Lines(text) {
		if !bytes.HasSuffix(raw, []byte("\n")) {
			break // it was killed in the middle of a line
		}
		var l line
		require.NoError(t, json.Unmarshal(raw, &l))
		if l.Begin {
			require.False(t, open)
			out = append(out, attempt{job: jobs[l.Job], begin: l.Tick, end: death})
			open = true
			continue
		}
		require.True(t, open)
		last := &out[len(out)-1]
		last.end, last.line, open = l.Tick, l, false
	}
	return out
}

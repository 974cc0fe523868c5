package sim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/spill"
)

// Troubles of a process that is short of memory: every row that it sets aside goes to the disk, which may fail it.
var (
	tiny       = trouble{id: "F26", name: "tiny-budget"}
	noSpillDir = trouble{id: "F26", name: "no-spill-directory", err: syscall.EROFS}
	spillFull  = trouble{id: "F26", name: "spill-full", err: syscall.ENOSPC}
	spillLost  = trouble{id: "F26", name: "spill-unreadable", err: syscall.EIO}
	spillCut   = trouble{id: "F26", name: "spill-cut-short"}
)

// spillFates are what may become of the spill files of one call.
var spillFates = []trouble{{}, {}, noSpillDir, spillFull, spillLost, spillCut}

// errSpills is in every error of the disk for spill files.
var errSpills = errors.New("the disk for spill files")

// spills is the disk on which one process sets rows aside, in memory.
type spills struct {
	wr    *writer
	files map[string]*spillFile // by name; that of a directory is nil
	made  int
	fate  trouble // of the call under way
	nth   int     // the operation, of those that it is for, from which on it strikes
}

func newSpills(wr *writer) *spills { return &spills{wr: wr, files: map[string]*spillFile{}} }

// budget is the memory of a process for the rows of a call, 0 for more than enough.
func (wr *writer) budget() int64 {
	w, at := wr.w, place{wr.index, -1, int(wr.lives), 0}
	if wr.quiet || !w.cut.keepsPlace(at) {
		return 0
	}
	dice := w.dice.at(at)
	if dice.IntN(12) > 0 {
		return 0
	}
	w.places = append(w.places, at)
	n := []int64{1, 1, 16 << 10}[dice.IntN(3)]
	w.log(wr.name, "has %d bytes for rows", n)
	return n
}

// takes is the table of a process, whose spill files are in memory.
func (wr *writer) takes(t *idem.Table) {
	if wr.table = t; t == nil {
		return
	}
	env := inside.Of(t).Env
	env.Disk = wr.spills
	if f := wr.w.hooks.Spills; f != nil {
		env.Disk = f(wr.spills)
	}
}

// squeeze says what becomes of the spill files of a call that begins, which holds rows in too little memory.
func (wr *writer) squeeze(c *call) {
	w, s, at := wr.w, wr.spills, wr.at
	w.hit(tiny, c)
	at.op = -1
	if !w.cut.keepsPlace(at) {
		return
	}
	dice := w.dice.at(at)
	if s.fate = spillFates[dice.IntN(len(spillFates))]; s.fate.name == "" {
		return
	}
	w.places = append(w.places, at)
	if s.nth = 1; s.fate.name != noSpillDir.name {
		s.nth += dice.IntN(4)
	}
}

// strikes says whether an operation is one that a trouble makes fail: it lasts as long as the call.
func (s *spills) strikes(t trouble) bool {
	c := s.wr.call
	if s.fate.name != t.name || c == nil {
		return false
	}
	if s.nth--; s.nth > 0 {
		return false
	}
	if c.spoilt == "" {
		c.spoilt = t.name
		s.wr.w.hit(t, c)
		s.wr.w.log(s.wr.name, "call %d: %s", c.n, t.name)
	}
	return true
}

func (s *spills) fails(t trouble) error {
	if s.strikes(t) {
		return fmt.Errorf("%w: %w", errSpills, t.err)
	}
	return nil
}

// add makes a name after a pattern.
func (s *spills) add(dir, pattern string, f *spillFile) string {
	s.made++
	before, after, _ := strings.Cut(pattern, "*")
	name := path.Join(dir, fmt.Sprint(before, s.made, after))
	s.files[name] = f
	return name
}

func (s *spills) MkdirTemp(dir, pattern string) (string, error) {
	if err := s.fails(noSpillDir); err != nil {
		return "", err
	}
	return s.add(dir, pattern, nil), nil
}

func (s *spills) CreateTemp(dir, pattern string) (spill.File, error) {
	if _, ok := s.files[dir]; !ok {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	if err := s.fails(spillFull); err != nil {
		return nil, err
	}
	f := &spillFile{disk: s}
	f.name = s.add(dir, pattern, f)
	return f, nil
}

func (s *spills) Open(name string) (spill.File, error) {
	if f := s.files[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (s *spills) Remove(name string) error {
	if _, ok := s.files[name]; !ok {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	delete(s.files, name)
	return nil
}

func (s *spills) RemoveAll(dir string) error {
	for name := range s.files {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			delete(s.files, name)
		}
	}
	return nil
}

// spillFile is a file, and every handle of it.
type spillFile struct {
	disk *spills
	name string
	data []byte
}

func (f *spillFile) Name() string { return f.name }

func (f *spillFile) Close() error { return nil }

// WriteAt writes half of what does not fit.
func (f *spillFile) WriteAt(p []byte, at int64) (int, error) {
	err := f.disk.fails(spillFull)
	if err != nil {
		p = p[:len(p)/2]
	}
	if end := at + int64(len(p)); end > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
	}
	return copy(f.data[at:], p), err
}

// ReadAt reads from a file that may have lost its end: half of what is read, and what comes behind.
func (f *spillFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.disk.fails(spillLost); err != nil {
		return 0, err
	}
	if f.disk.strikes(spillCut) {
		f.data = f.data[:min(at+int64(len(p)/2), int64(len(f.data)))]
	}
	n := copy(p, f.data[min(at, int64(len(f.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

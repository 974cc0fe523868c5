package spill

import (
	"io"
	"os"
)

// Disk is where spill files are: a seam for tests. Its methods do what those of package os by the same names do, and Open
// opens a file for reading and writing. They are called under the area's lock, but for reads.
type Disk interface {
	MkdirTemp(dir, pattern string) (string, error)
	CreateTemp(dir, pattern string) (File, error)
	Open(name string) (File, error)
	Remove(name string) error
	RemoveAll(dir string) error
}

// File is an open file of a Disk, read and written at places.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
}

// machine is the machine's own disk.
type machine struct{}

func (machine) MkdirTemp(dir, pattern string) (string, error) { return os.MkdirTemp(dir, pattern) }

func (machine) CreateTemp(dir, pattern string) (File, error) { return os.CreateTemp(dir, pattern) }

func (machine) Open(name string) (File, error) { return os.OpenFile(name, os.O_RDWR, 0) }

func (machine) Remove(name string) error { return os.Remove(name) }

func (machine) RemoveAll(dir string) error { return os.RemoveAll(dir) }

package store

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// FS is what a Dir needs of a file system: a seam, so that crashes and full disks can be
// simulated in memory. Names are slash-separated and relative to the root, which is ".". Errors
// wrap those of io/fs and syscall. Nothing outside the root is reached, also not by way of
// symbolic links.
type FS interface {
	// Mkdir makes one directory. For "." it makes the root and what is missing above it, and
	// makes that durable.
	Mkdir(name string) error

	// CreateTemp makes a new file in directory dir, under a name for which IsTemp is true.
	CreateTemp(dir string) (File, error)

	// Open opens a file for reading.
	Open(name string) (File, error)

	// Link gives a file a second name, atomically, and only if the new name is free.
	Link(oldname, newname string) error

	// Rename moves a file, atomically, and replaces what has the new name.
	Rename(oldname, newname string) error

	// Remove removes a file.
	Remove(name string) error

	// Lstat describes a file and does not follow a symbolic link.
	Lstat(name string) (fs.FileInfo, error)

	// Stat describes a file, or the one that a symbolic link leads to.
	Stat(name string) (fs.FileInfo, error)

	// ReadDir reads a directory, in any order.
	ReadDir(name string) ([]fs.DirEntry, error)

	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error

	// SameFile tells whether two descriptions are of one file.
	SameFile(a, b fs.FileInfo) bool
}

// realNames is what an FS with symbolic links has besides: RealName is the name below the root of what a name
// leads to, "" if it leads elsewhere or nowhere.
type realNames interface{ RealName(name string) string }

// File is an open file of an FS.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer

	// Name is the file's name in its FS.
	Name() string

	// Stat describes the file.
	Stat() (fs.FileInfo, error)

	// Sync makes what was written durable.
	Sync() error
}

const (
	tempPrefix = ".idem-"
	tempSuffix = ".tmp"
)

// TempName is the last element of a temporary file's name. The leading dot hides it from other
// engines.
func TempName(id string) string { return tempPrefix + id + tempSuffix }

// IsTemp tells whether a name, or its last element, is one that TempName makes.
func IsTemp(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// missing tells whether nothing has the name. A file in the place of a directory above it says
// so too.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// cannotLink tells the errors of file systems that have no hard links (FAT, many FUSE and SMB
// mounts) from those of one attempt.
func cannotLink(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) ||
		errors.Is(err, syscall.EXDEV) || noLinks(err)
}

// unwritable tells the errors with which a file system refuses to sync for a reader that may not
// write.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

//go:build !windows

package store

import (
	"errors"
	"os"
	"syscall"
)

// openNonblock keeps the opening of a named pipe from waiting for its writer.
const openNonblock = syscall.O_NONBLOCK

// localName is the system's spelling of a name: any bytes but NUL and "/" make an element.
func localName(name string) (string, error) { return name, nil }

// syncDirectory ignores EINVAL, with which a file system says that its directories have nothing
// to sync (some network mounts, where the server sees to it).
func syncDirectory(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

func noLinks(error) bool { return false }

//go:build windows

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const openNonblock = 0

// localName refuses what Windows would read as a path of another kind: backslashes, drives,
// streams, devices.
func localName(name string) (string, error) { return filepath.Localize(name) }

// syncDirectory does nothing: directories cannot be synced, NTFS journals their changes.
func syncDirectory(*os.File) error { return nil }

// noLinks knows ERROR_INVALID_FUNCTION, the answer of FAT.
func noLinks(err error) bool { return errors.Is(err, syscall.Errno(1)) }

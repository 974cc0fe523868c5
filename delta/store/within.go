package store

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Within says whether a place is another, or below it: both are URLs of stores. Of local files it is the
// directories that count, whatever they are called.
func Within(place, other string) bool {
	p, o := localPath(place), localPath(other)
	if p == "" || o == "" {
		return strings.HasPrefix(strings.TrimSuffix(place, "/")+"/", strings.TrimSuffix(other, "/")+"/")
	}
	is, err := os.Stat(o)
	for p = resolved(p); ; p = filepath.Dir(p) {
		if p == filepath.Clean(o) {
			return true
		}
		if dir, e := os.Stat(p); err == nil && e == nil && os.SameFile(is, dir) {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// resolved follows the links of as much of a path as there is.
func resolved(path string) string {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	dir := filepath.Dir(path)
	if err == nil || dir == path {
		return real
	}
	return filepath.Join(resolved(dir), filepath.Base(path))
}

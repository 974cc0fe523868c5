package store

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// OpenURL opens the store that a URL names. A "file:" URL ("file:///lake/orders", or Hadoop's
// "file:/lake/orders") is percent-decoded once; text without a scheme is the path of a directory,
// taken as it is. Other schemes are errors.
func OpenURL(rawURL string) (Store, error) {
	// Of a URL that is refused only the scheme is shown: the rest may hold a password or a signature.
	if hasPrefixFold(rawURL, "file:") {
		dir, err := filePath(rawURL)
		if err != nil {
			return nil, fmt.Errorf("open file:…: %w", err)
		}
		return OpenDir(dir)
	}
	if scheme := hasScheme.FindString(rawURL); scheme != "" {
		return nil, fmt.Errorf("open %s…: only directories are opened by URL; for any other store "+
			"implement store.Store (storetest.Run checks it) and hand it to OpenStore, CreateStore and their like", strings.ToLower(scheme))
	}
	return OpenDir(rawURL)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// filePath is the path of a file URL.
func filePath(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) { // which shows the URL
			err = parse.Err
		}
		return "", fmt.Errorf("a URL that cannot be parsed: %w", err)
	}
	switch {
	case u.User != nil || u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return "", fmt.Errorf("a file URL has three slashes and no host, as file:///lake/orders")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(rawURL, "#"):
		return "", fmt.Errorf("write ? as %%3F and # as %%23 in a file URL")
	case !strings.HasPrefix(u.Path, "/"):
		return "", fmt.Errorf("a file URL is absolute; give a relative path without the scheme")
	case strings.IndexByte(u.Path, 0) >= 0:
		return "", fmt.Errorf("the path holds a NUL")
	}
	if runtime.GOOS == "windows" {
		return filepath.FromSlash(strings.TrimPrefix(u.Path, "/")), nil
	}
	return u.Path, nil
}

// fileURL is the URL of an absolute path, with a slash at the end.
func fileURL(dir string) string {
	p := filepath.ToSlash(dir)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	if !strings.HasSuffix(p, "/") {
		p += "/"
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

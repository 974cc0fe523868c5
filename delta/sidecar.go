package delta

import (
	"fmt"
	"strings"
)

// SidecarDir is the directory of the sidecars of V2 checkpoints below the table's root, with its
// slash.
const SidecarDir = LogDir + "_sidecars/"

// SidecarKey gives the key of a sidecar that a V2 checkpoint names: a relative path counts from
// SidecarDir, an absolute one, or a URI, must lie in it. root is the table's, a URL. A path that
// leads elsewhere wraps ErrUnsupported, one that is malformed or tries to climb ErrCorrupt.
func SidecarKey(root, path string) (string, error) {
	key, err := ResolvePath(root, path)
	if err != nil {
		return "", fmt.Errorf("sidecar: %w", err)
	}
	if _, absolute := splitURI(path); !absolute {
		return SidecarDir + key, nil
	}
	if below := strings.TrimPrefix(key, SidecarDir); below == key || below == "" {
		return "", fmt.Errorf("%w: the sidecar %s lies outside of %s, and idem reads none elsewhere", ErrUnsupported, path, SidecarDir)
	}
	return key, nil
}

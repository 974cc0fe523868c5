package delta_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/hostile"
)

// Every hostile path is refused, or is one name below the root, whatever the root is.
func TestHostilePaths(t *testing.T) {
	for _, root := range []string{"s3://bucket/lake/t/", "file:///lake/t/"} {
		seen := map[string]bool{}
		for _, h := range hostile.Paths(root, "x.parquet") {
			require.False(t, seen[h.Path], "twice: %s", h.Path)
			seen[h.Path] = true
			key, err := delta.ResolvePath(root, h.Path)
			require.Equal(t, h.Key, key, "%s: %.80q: %v", h.Why, h.Path, err)
			if h.Key == "" {
				require.True(t, errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported), "%s: %v", h.Why, err)
			}
			if at, err := delta.Locate(root, h.Path); err == nil {
				require.Equal(t, h.Key == "", delta.IsOutside(at), "%s: whoever allows files elsewhere is told that it is one: %s", h.Why, at)
			}
		}
		require.Greater(t, len(seen), 150)
	}
}

// plain is the naive twin of what a name below a root is: for places that take text as it stands.
func plain(key string) bool {
	ok := key != "" && len(key) <= 4096 && key[0] != '\\' && !strings.Contains(key, "\x00") && utf8.ValidString(key)
	for _, element := range strings.Split(key, "/") {
		ok = ok && element != "" && element != "."
		for _, name := range strings.Split(element, `\`) {
			ok = ok && name != ".."
		}
	}
	return ok
}

// The other places of a path: vectors by a URI, vectors by a name behind a directory that is never decoded,
// sidecars.
func TestHostilePathsOfOtherPlaces(t *testing.T) {
	const root, id, file = "s3://bucket/lake/t/", "vBn[lx{q8@P<9BNH/isA", "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"
	named, none := map[string]int{}, map[string]int{}
	refused := func(place string, err error, h hostile.Path) {
		none[place]++
		require.True(t, errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported), "%s: %v", h.Why, err)
	}
	for _, h := range hostile.Paths(root, "x.parquet") {
		key, _, err := (&delta.DeletionVector{StorageType: "u", PathOrInlineDV: h.Path + id}).FileKey(root)
		switch want := h.Path + "/" + file; {
		case h.Path == "":
			require.Equal(t, file, key)
		case plain(want):
			require.Equal(t, want, key, h.Why)
			named["u"]++
		default:
			refused("u", err, h)
		}
		key, _, err = (&delta.DeletionVector{StorageType: "p", PathOrInlineDV: h.Path}).FileKey(root)
		if h.Key != "" && strings.HasPrefix(strings.ToLower(h.Path), "s3:") {
			require.Equal(t, h.Key, key, h.Why)
			named["p"]++
		} else {
			refused("p", err, h)
		}
		key, err = delta.SidecarKey(root, h.Path)
		if h.Key != "" && !strings.HasPrefix(strings.ToLower(h.Path), "s3:") {
			require.Equal(t, delta.SidecarDir+h.Key, key, h.Why)
			named["sidecar"]++
		} else {
			refused("sidecar", err, h)
		}
	}
	for place, least := range map[string][2]int{"u": {60, 50}, "p": {4, 150}, "sidecar": {50, 100}} {
		require.GreaterOrEqual(t, named[place], least[0], "%s: forms that are names", place)
		require.GreaterOrEqual(t, none[place], least[1], "%s: forms that are refused", place)
	}
}

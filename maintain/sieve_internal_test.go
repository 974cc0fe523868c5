package maintain

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/hostile"
)

var nameCount = flag.Int("names", 100_000, "random names that TestTheSieveEqualsItsTwin goes through")

// drawnName gives a key below a root, of characters and elements that paths are known to trip over.
func drawnName(r *rand.Rand) string {
	letters := []rune("ab%25 20=+&?#:\\~^üß😀._-\"'<>[]{}|`\x01\n．／é")
	elements := []string{"_delta_log", "_change_data", "metadata", "p=a", "_q=b", ".hidden", "nested", "%2e%2e", "..a", "a."}
	var out []string
	for range 1 + r.IntN(4) {
		if r.IntN(3) == 0 {
			out = append(out, elements[r.IntN(len(elements))])
			continue
		}
		name := ""
		for range 1 + r.IntN(6) {
			name += string(letters[r.IntN(len(letters))])
		}
		out = append(out, name)
	}
	return strings.Join(out, "/")
}

// drawnPath gives one of the many ways in which a log may spell a key below a root.
func drawnPath(r *rand.Rand, root, key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c == '%' || c < 0x80 && r.IntN(4) == 0:
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[r.IntN(2)], c)
		case c < ' ' || c == '?' || c == '#':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	rest := strings.TrimPrefix(root, "file://")
	return []string{b.String(), "./" + b.String(), root + b.String(), "file:" + rest + b.String(), "FILE:///" + rest + b.String(), rest + b.String()}[r.IntN(6)]
}

// scheme is what a relative path must not begin with, which would make it a URI.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// named is the naive twin of what a key below a root is, and of whether a path is one of its spellings.
func named(key, path string) bool {
	if strings.HasPrefix(key, `\`) || scheme.MatchString(path) && !strings.HasPrefix(strings.ToLower(path), "file:/") {
		return false
	}
	for _, element := range strings.Split(key, "/") {
		if element == "" || element == "." || slices.Contains(strings.Split(element, `\`), "..") {
			return false
		}
	}
	return true
}

// goes is the naive twin of the sieve: which of the keys a vacuum deletes.
func goes(keys []string, live map[string]bool, young map[string]bool, partition string) (out []string) {
	var tables []string
	for _, key := range keys {
		if dir, _, found := strings.Cut(key, "/_delta_log/"); found {
			tables = append(tables, dir+"/")
		}
	}
	for _, key := range keys {
		stays := live[key] || young[key] || strings.HasPrefix(key, "metadata/")
		for i, element := range strings.Split(key, "/") {
			if (element[0] == '_' || element[0] == '.') && !(i == 0 && element == "_change_data") && !strings.HasPrefix(element, partition+"=") {
				stays = true
			}
		}
		for _, dir := range tables {
			stays = stays || strings.HasPrefix(key, dir)
		}
		if !stays {
			out = append(out, key)
		}
	}
	return out
}

// What a vacuum deletes is what a naive reading of the rules says, whatever files are called and however a log
// spells them, and never a live file or what is no name below the root.
func TestTheSieveEqualsItsTwin(t *testing.T) {
	const root, each = "file:///lake/t/", 400
	now := time.Unix(1_700_000_000, 0)
	names, none, deleted := 0, 0, 0
	for seed := uint64(0); names < *nameCount; seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		live, young, all := map[string]bool{}, map[string]bool{}, map[string]bool{}
		actions := []delta.Action{
			{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
			{Metadata: &delta.Metadata{ID: "a", Provider: "parquet", PartitionColumns: []string{"_q"}, SchemaString: `{"type":"struct","fields":[{"name":"_q","type":"string","nullable":true,"metadata":{}}]}`}},
		}
		for range each {
			key := drawnName(r)
			path := drawnPath(r, root, key)
			at, err := delta.ResolvePath(root, path)
			if !named(key, path) {
				require.True(t, err != nil || key == "./"+at, "%q is no name below the root, but was taken for %q", path, at)
				none++
				continue
			}
			require.NoError(t, err, "%q", path)
			require.Equal(t, key, at, "%q is a spelling of it", path)
			if all[key] {
				continue
			}
			names++
			all[key] = true
			switch {
			case strings.HasPrefix(key, delta.LogDir):
			case r.IntN(3) == 0:
				live[key] = true
				actions = append(actions, delta.Action{Add: &delta.Add{Path: path, Size: 1, DataChange: true, PartitionValues: map[string]*string{"_q": nil}}})
			case r.IntN(5) == 0:
				young[key] = true
			}
		}
		replay := delta.NewReplay(root)
		require.NoError(t, replay.Commit(0, actions), "seed %d", seed)
		snap, err := replay.Snapshot(0)
		require.NoError(t, err)
		keys := make([]string, 0, len(all))
		for key := range all {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		s := &sieve{before: now, keep: &keepers{snap: snap}, names: newNames(snap)}
		for _, key := range keys {
			at := now.Add(-time.Hour)
			if young[key] {
				at = now
			}
			s.see(store.Info{Key: key, Size: 1, ModTime: at})
		}
		var got []string
		for _, f := range s.doomed() {
			got = append(got, f.key)
		}
		deleted += len(got)
		require.Equal(t, goes(keys, live, young, "_q"), got, "seed %d", seed)
	}
	require.Greater(t, deleted, *nameCount/10)
	require.Less(t, none, names/5, "most are names")
}

// A hostile name that a log keeps, or removes, makes a vacuum delete nothing but that very name.
func TestTheSieveKnowsHostilePaths(t *testing.T) {
	const root = "s3://bucket/lake/t/"
	for _, h := range hostile.Paths(root, "x.parquet") {
		if h.Key == "" {
			continue
		}
		replay := delta.NewReplay(root)
		require.NoError(t, replay.Commit(0, []delta.Action{
			{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
			{Metadata: &delta.Metadata{ID: "a", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`}},
			{Add: &delta.Add{Path: h.Path, Size: 1, DataChange: true, PartitionValues: map[string]*string{}}},
		}))
		snap, err := replay.Snapshot(0)
		require.NoError(t, err)
		s := &sieve{before: time.Unix(2, 0), keep: &keepers{snap: snap}, names: newNames(snap)}
		for _, key := range []string{h.Key, h.Path, "x.parquet", h.Key + "x"} {
			if store.ValidKey(key) {
				s.see(store.Info{Key: key, ModTime: time.Unix(1, 0)})
			}
		}
		for _, f := range s.doomed() {
			require.NotEqual(t, h.Key, f.key, h.Why)
		}
	}
}

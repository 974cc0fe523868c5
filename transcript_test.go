package idem_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

var update = flag.Bool("update", false, "write the transcripts anew")

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestTranscripts holds every store operation of every verb as text, so that one request more shows
// in review.
func TestTranscripts(t *testing.T) {
	check := func(t *testing.T, name string, lines []string) {
		got := uuid.ReplaceAllString(strings.Join(lines, "\n"), "<id>") + "\n"
		file := filepath.Join("testdata", "transcripts", name+".txt")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "run go test . -run TestTranscripts -update, and review what changed")
	}
	for _, v := range verbs {
		t.Run(v.name, func(t *testing.T) {
			_, st, table := swept(t)
			for _, again := range []string{"", "-again"} {
				st.Reset()
				_, err := v.run(t.Context(), table)
				require.NoError(t, err)
				check(t, v.name+again, st.Transcript())
			}
		})
	}
	t.Run("Create", func(t *testing.T) {
		st := storetest.NewFaulty(store.NewMem())
		for _, again := range []string{"", "-again"} {
			st.Reset()
			_, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: orders}, idem.Options{Parallelism: 1})
			require.NoError(t, err)
			lines := st.Transcript()
			if again == "" { // the probe races goroutines: its order is not ours
				lines = lines[len(lines)-2:]
			}
			check(t, "Create"+again, lines)
		}
	})
	t.Run("reads", func(t *testing.T) {
		_, st, _ := swept(t)
		for _, r := range []struct {
			name string
			run  func(table *idem.Table) error
		}{
			{"Scan", func(table *idem.Table) error {
				for _, err := range table.Scan(t.Context(), idem.Scan{Where: "day = 'd1'"}) {
					if err != nil {
						return err
					}
				}
				return nil
			}},
			{"Fingerprint", func(table *idem.Table) error {
				_, err := table.Fingerprint(t.Context(), idem.Fingerprint{})
				return err
			}},
			{"Open", func(*idem.Table) error { return nil }},
		} {
			table := opened(t, st)
			st.Reset()
			if r.name == "Open" {
				opened(t, st)
			}
			require.NoError(t, r.run(table))
			check(t, r.name, st.Transcript())
		}
	})
}

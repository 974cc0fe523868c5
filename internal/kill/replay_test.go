//go:build unix

package kill_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
)

// replayed is a table as its log tells it: which version has which job, each at most once.
type replayed struct {
	version int64
	at      map[string]map[int]int64 // by app id and job
	model   *tabletest.Model
	doubled int // jobs that are in two versions
	lost    int // acknowledged jobs that are in none
}

// replay goes through the log from version 0 and does on a model what each commit's tag says; every
// few versions, and at the end, the table must be the model.
func replay(ctx context.Context, t *testing.T, st store.Store, jobs [][]*job) *replayed {
	r := &replayed{at: map[string]map[int]int64{}, model: tabletest.NewModel(), version: versionOf(t, st)}
	byApp := map[string][]*job{}
	for worker, list := range jobs {
		byApp[appOf(worker)] = list
	}
	table, err := idem.OpenStore(ctx, st, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	require.Equal(t, r.version, table.Version())
	const every = 40
	for v := range r.version + 1 {
		data, err := st.Get(ctx, delta.CommitKey(v), 0)
		require.NoError(t, err)
		actions, err := delta.DecodeCommit(delta.CommitKey(v), data)
		require.NoError(t, err, "version %d is torn", v)
		for _, a := range actions {
			if a.Txn != nil && byApp[a.Txn.AppID] != nil {
				r.tag(t, v, byApp[a.Txn.AppID][a.Txn.Version])
			}
		}
		if v%every == every-1 || v == r.version {
			view, err := table.At(ctx, v)
			require.NoError(t, err)
			rows, err := tabletest.Scan(ctx, view)
			require.NoError(t, err)
			require.Empty(t, r.model.Rows.Diff(rows), "version %d is not the model", v)
		}
	}
	found, err := logcheck.Check(ctx, st)
	require.NoError(t, err)
	require.Empty(t, found.Findings)
	return r
}

func (r *replayed) tag(t *testing.T, version int64, j *job) {
	app := appOf(j.worker)
	if r.at[app] == nil {
		r.at[app] = map[int]int64{}
	}
	first, doubled := r.at[app][j.n]
	if doubled {
		r.doubled++
		t.Errorf("job %d of %s is in versions %d and %d", j.n, app, first, version)
	}
	r.at[app][j.n] = version
	j.apply(r.model)
}

// has checks that what a process was told is in the log, at the version that it was told.
func (r *replayed) has(t *testing.T, a attempt) {
	if !a.verb.tagged() || a.Outcome == "" || a.Outcome == conflict {
		return
	}
	version, ok := r.at[appOf(a.worker)][a.n]
	if !ok {
		r.lost++
		t.Errorf("job %d of worker %d was acknowledged (%s at %d) and is lost", a.n, a.worker, a.Outcome, a.Version)
	}
	if ok && a.Outcome == idem.Committed.String() {
		require.Equal(t, version, a.Version, "job %d of worker %d", a.n, a.worker)
	}
}

// temporaryFiles are those below a directory of the disk.
func temporaryFiles(t *testing.T, dir string) map[string]bool {
	out := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if store.IsTemp(filepath.Base(name)) {
			out[name] = true
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was, a moment ago
		}
		return err
	}))
	return out
}

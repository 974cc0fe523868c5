//go:build linux

package kill_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

var cutCount = flag.Int("kill.cuts", 3, "copies of each kind of disk that are made while it is written")

// fileSystem is one kind of disk, and how it is mounted.
type fileSystem struct{ name, mkfs, options string }

var fileSystems = []fileSystem{
	{"ext4", "mkfs.ext4 -q -F", "loop"},
	{"ext4 that does not order data", "mkfs.ext4 -q -F", "loop,data=writeback"},
	{"xfs", "mkfs.xfs -q", "loop,nouuid"},
}

// cutCopy is a disk as it was at one moment, and what had been acknowledged before that.
type cutCopy struct {
	image string
	acked []attempt
}

// images is a disk on which images of disks can be copied at once (reflink), whatever is written to
// them meanwhile: so a copy is what the loss of power leaves.
type images struct {
	t   *testing.T
	dir string
}

// newImages skips the test where it cannot be run, which is a failure under IDEM_CUTS=1.
func newImages(t *testing.T) *images {
	m := &images{t: t, dir: t.TempDir()}
	outer, at := filepath.Join(m.dir, "outer"), filepath.Join(m.dir, "mounted")
	err := errors.New("not root")
	if os.Geteuid() == 0 {
		err = m.mount(outer, at, "6G", "mkfs.xfs -q -m reflink=1", "loop,nouuid")
	}
	if err != nil {
		text := fmt.Sprintf("copies of disks were not made, which needs root, loop devices and xfsprogs: %v", err)
		if os.Getenv("IDEM_CUTS") == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	m.dir = at
	return m
}

// mount makes a disk in a file and mounts it until the test ends.
func (m *images) mount(image, at, size, mkfs, options string) error {
	if err := run("truncate", "-s", size, image); err != nil {
		return err
	}
	if err := run(append(strings.Fields(mkfs), image)...); err != nil {
		return err
	}
	return m.attach(image, at, options)
}

// attach mounts a disk, which replays its journal.
func (m *images) attach(image, at, options string) error {
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := run("mount", "-o", options, image, at); err != nil {
		return err
	}
	m.t.Cleanup(func() { m.detach(at) })
	return nil
}

// detach unmounts, if that was not done before; the loop device goes with it.
func (m *images) detach(at string) {
	if err := syscall.Unmount(at, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
		m.t.Errorf("unmount %s: %v", at, err)
	}
}

func run(args ...string) error {
	out, err := exec.CommandContext(context.Background(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// TestImages copies disks while 32 processes write to a table on them, and brings each copy up as
// after a loss of power: every commit that was acknowledged before the copy began is there with its
// files, nothing is torn, the table is the model, and the work goes on where it was.
func TestImages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("copies of disks are not made with -short")
	}
	m := newImages(t)
	total, acked, lost := 0, 0, 0
	for i, f := range fileSystems {
		t.Run(f.name, func(t *testing.T) {
			m := &images{t: t, dir: m.dir}
			at, image := filepath.Join(m.dir, fmt.Sprint("disk-", i)), filepath.Join(m.dir, fmt.Sprint("image-", i))
			require.NoError(t, m.mount(image, at, "320M", f.mkfs, f.options))
			c := newCrowd(t, filepath.Join(at, "table"), uint64(i+1), workers, jobs)
			require.NoError(t, run("sync", "-f", at))
			var copies []cutCopy
			lines := workers * jobs * 2
			c.kills = func(n int) bool {
				if len(copies) < *cutCount && n >= lines*(len(copies)+1)/(*cutCount+1) {
					cut := cutCopy{fmt.Sprint(image, "-", len(copies)), append([]attempt(nil), c.acked...)}
					require.NoError(t, run("cp", "--reflink=always", image, cut.image))
					copies = append(copies, cut)
				}
				return false
			}
			c.work()
			require.Len(t, copies, *cutCount)
			for _, cut := range copies {
				lost += c.afterCut(m, cut, f)
				total++
				acked += len(cut.acked)
			}
		})
	}
	fmt.Printf("images: %d copies of disks in use, %d acknowledged commits looked for, %d lost\n", total, acked, lost)
}

// afterCut brings a copy up and holds it against what was acknowledged. It gives the number of commits that are lost.
func (c *crowd) afterCut(m *images, cut cutCopy, f fileSystem) int {
	t, at := m.t, cut.image+"-mounted"
	require.NoError(t, m.attach(cut.image, at, f.options))
	defer m.detach(at)
	st, err := store.OpenDir(filepath.Join(at, "table"))
	require.NoError(t, err)
	r := replay(c.ctx, t, st, c.plans)
	for _, a := range cut.acked {
		r.has(t, a)
	}
	table, err := idem.OpenStore(c.ctx, st, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	for _, list := range c.plans { // the next job of each worker, and the last one that is there
		c.goesOn(t, table, r, list)
	}
	again := replay(c.ctx, t, st, c.plans)
	rows, err := tabletest.Scan(c.ctx, table)
	require.NoError(t, err)
	require.Empty(t, again.model.Rows.Diff(rows))
	return r.lost
}

// goesOn does the last job of a worker that the log has, which must be skipped.
func (c *crowd) goesOn(t *testing.T, table *idem.Table, r *replayed, list []*job) {
	for i := len(list) - 1; i >= 0; i-- {
		if _, there := r.at[appOf(list[i].worker)][i]; there {
			outcome, _, _, err := list[i].do(c.ctx, table)
			require.NoError(t, err)
			require.Equal(t, idem.AlreadyApplied, outcome)
			return
		}
	}
	outcome, _, _, err := list[0].do(c.ctx, table)
	require.NoError(t, err)
	if list[0].verb.tagged() {
		require.Equal(t, idem.Committed, outcome)
	}
}

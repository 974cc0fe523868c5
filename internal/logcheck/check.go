package logcheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// maxObject bounds a commit and a hint that are read whole.
const maxObject = 256 << 20

// Options say how a check looks. The zero value is that of [Check].
type Options struct {
	_ struct{}

	// Outside opens the directory of a file outside the table's root, as idem.Options.Outside does: the
	// files of a shallow clone's source are then held against the rules as the others are. nil means that a table
	// with such files is delta.ErrUnsupported.
	Outside func(ctx context.Context, url string) (store.Store, error)
}

// Check holds the log and the live files of the table in a store against every rule. Data files are
// read with the codec of ctx. An error says that it could not look: no table there
// (delta.ErrNotTable), a table feature that idem lacks (delta.ErrUnsupported), the store's or ctx's.
func Check(ctx context.Context, st store.Store) (*Report, error) {
	return Options{}.Check(ctx, st)
}

// Check is as the function of that name.
func (o Options) Check(ctx context.Context, st store.Store) (*Report, error) {
	if o.Outside != nil {
		st = store.WithOutside(st, o.Outside)
	}
	c := &checker{
		store: st, outside: o.Outside != nil, report: &Report{Version: -1}, commits: map[int64]bool{}, checkpoints: map[int64][]checkpoint{},
		txnIDs: map[string]int64{}, origins: map[string]origin{}, authors: map[string]author{}, snaps: map[int64]*delta.Snapshot{},
		sums: map[string]sum{}, hadVector: map[string]bool{}, lacking: map[string][]lack{}, malformed: map[string]bool{}, idNames: map[int64]string{}, nameIDs: map[string]int64{},
		mappedOnce: map[column]bool{}, rowIDsOf: map[string]ids{}, people: map[int64]string{}, goneSince: map[string]int64{},
	}
	if err := c.check(ctx); err != nil {
		return nil, fmt.Errorf("check the log of %s: %w", st.URL(), err)
	}
	return c.report, nil
}

type checker struct {
	store       store.Store
	outside     bool // files may be outside the root
	report      *Report
	commits     map[int64]bool
	checkpoints map[int64][]checkpoint // complete ones
	compactions []delta.LogFile
	checksums   []int64
	hinted      bool                  // there is a hint
	hinting     *delta.LastCheckpoint // what it says

	snap    *delta.Snapshot           // after the last version that was replayed
	snaps   map[int64]*delta.Snapshot // after each version that was replayed
	txnIDs  map[string]int64
	origins map[string]origin // of live files, by key
	authors map[string]author // who added a file first, by key
	sums    map[string]sum    // of the rows of files, by key, vector and schema
	latest  int64             // the greatest time seen in the log, in milliseconds
	stamp   *int64            // the in-commit timestamp of the version before

	goneSince map[string]int64 // the versions that dropped features
	tagged    []tagged         // files of idem with a digest

	lacking   map[string][]lack // columns without statistics, by key
	hadVector map[string]bool   // vectors seen, by id
	malformed map[string]bool   // descriptors that are none, by id
	columns   map[int64]string  // paths of physical names that stand, by id
	idNames   map[int64]string  // those that stood since mapping was last dropped
	nameIDs   map[string]int64  // the ids, by path

	mappedOnce map[column]bool // all that ever stood

	rowIDsOf     map[string]ids   // what row tracking gave files, by key
	trackedSince int64            // the version that enabled row tracking
	people       map[int64]string // where a row is, by its id
	doubled      bool             // one id was found twice
}

// origin tells who added a file. Values that break a rule keep the file from being read.
type origin struct {
	version int64
	ours    bool
	mapped  bool // there was column mapping
	unfit   bool
}

// author tells who wrote a file, and when.
type author struct {
	version int64
	ours    bool
}

// checkpoint is a complete one.
type checkpoint struct {
	version int64
	kind    delta.LogFileKind
	parts   []store.Info
}

func (c *checker) find(rule Rule, version int64, file, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Rule: rule, Version: version, File: file, Detail: fmt.Sprintf(format, args...)})
}

// errStopped says that a finding bars the way on.
var errStopped = errors.New("stopped by a finding")

func (c *checker) check(ctx context.Context) error {
	if err := c.list(ctx); err != nil {
		return err
	}
	if err := c.hint(ctx); err != nil {
		return err
	}
	err := c.replay(ctx)
	if err == nil {
		err = c.gate()
	}
	if err == nil {
		c.protection()
		err = c.files(ctx)
	}
	if err == nil {
		err = c.past(ctx)
	}
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// list learns the names in the log.
func (c *checker) list(ctx context.Context) error {
	parts := map[[2]int64][]store.Info{}
	empty := true
	for info, err := range c.store.List(ctx, delta.LogDir, "") {
		if err != nil {
			return fmt.Errorf("list the log: %w", err)
		}
		c.latest = max(c.latest, info.ModTime.UnixMilli())
		f := delta.ParseLogFile(info.Key)
		empty = empty && f.Kind != delta.Commit && f.Kind != delta.Checkpoint && f.Kind != delta.CheckpointUUID
		switch f.Kind {
		case delta.Commit:
			c.commits[f.Version] = true
		case delta.Checkpoint, delta.CheckpointUUID:
			c.checkpoints[f.Version] = append(c.checkpoints[f.Version], checkpoint{f.Version, f.Kind, []store.Info{info}})
		case delta.CheckpointPart:
			id := [2]int64{f.Version, int64(f.Parts)}
			if parts[id] = append(parts[id], info); len(parts[id]) == f.Parts { // parts are listed in order
				c.checkpoints[f.Version] = append(c.checkpoints[f.Version], checkpoint{f.Version, f.Kind, parts[id]})
			}
		case delta.Compaction:
			c.compactions = append(c.compactions, f)
		case delta.Checksum:
			c.checksums = append(c.checksums, f.Version)
		case delta.Other:
			c.other(info.Key)
		}
	}
	if empty {
		return fmt.Errorf("no commit in %s: %w", delta.LogDir, delta.ErrNotTable)
	}
	return nil
}

// other looks at a name that the protocol does not define. What begins with _ or . is ignored by
// every engine.
func (c *checker) other(key string) {
	name := strings.TrimPrefix(key, delta.LogDir)
	c.hinted = c.hinted || key == delta.LastCheckpointKey
	if name != "" && name[0] != '_' && name[0] != '.' && !store.IsTemp(path.Base(name)) {
		c.find(LogName, -1, key, "no engine knows the name")
	}
}

func (c *checker) hint(ctx context.Context) error {
	if !c.hinted {
		return nil
	}
	data, err := c.store.Get(ctx, delta.LastCheckpointKey, maxObject)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", delta.LastCheckpointKey, err)
	}
	h, err := delta.DecodeLastCheckpoint(data)
	switch {
	case err != nil:
		c.find(LogHint, -1, delta.LastCheckpointKey, "%v", err)
	case len(c.checkpoints[h.Version]) == 0:
		c.find(LogHint, h.Version, delta.LastCheckpointKey, "it names version %d, which has no complete checkpoint", h.Version)
	default:
		c.hinting = &h
	}
	return nil
}

// start is the version to begin with: 0, or the oldest checkpoint that all commits up to the newest
// follow, after which fromCheckpoint is true.
func (c *checker) start() (version, newest int64, fromCheckpoint, ok bool) {
	newest = -1
	for v := range maps.Keys(c.commits) {
		newest = max(newest, v)
	}
	for v := range maps.Keys(c.checkpoints) {
		newest = max(newest, v)
	}
	oldest := newest
	for oldest >= 0 && c.commits[oldest] {
		oldest--
	}
	if oldest < 0 {
		return 0, newest, false, true
	}
	for _, v := range slices.Sorted(maps.Keys(c.checkpoints)) {
		if v >= oldest {
			return v, newest, true, true
		}
	}
	return oldest, newest, false, false
}

// replay goes through the versions.
func (c *checker) replay(ctx context.Context) error {
	first, newest, fromCheckpoint, ok := c.start()
	if !ok {
		c.find(LogGap, first, delta.CommitKey(first), "the commit is missing, and no checkpoint stands in for it")
		return errStopped
	}
	for _, v := range slices.Sorted(maps.Keys(c.commits)) {
		if v < first || v == first && fromCheckpoint { // not needed any more, and yet a commit
			if _, err := c.read(ctx, v); err != nil && !errors.Is(err, errStopped) {
				return err
			}
		}
	}
	if fromCheckpoint {
		if err := c.begin(ctx, c.checkpoints[first][0]); err != nil {
			return err
		}
		first++
	}
	for v := first; v <= newest; v++ {
		if err := c.commit(ctx, v); err != nil {
			return err
		}
		for _, beside := range []func(context.Context, int64) error{c.compareCheckpoints, c.checksum, c.compaction} {
			if err := beside(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin takes the state of the oldest checkpoint that is needed: there is nothing to hold it against.
func (c *checker) begin(ctx context.Context, from checkpoint) error {
	snap, _, err := c.load(ctx, from)
	if broken(err) {
		c.find(CheckpointEqual, from.version, from.parts[0].Key, "%v", err)
		return errStopped
	}
	if err != nil {
		return err
	}
	c.take(snap)
	for f := range snap.Files() {
		c.origins[f.Key], c.authors[f.Key] = origin{version: from.version}, author{version: from.version}
		if f.BaseRowID != nil && f.CommitVersion != nil {
			c.rowIDsOf[f.Key] = ids{*f.BaseRowID, *f.CommitVersion}
		}
		c.hadVector[f.DeletionVector.ID()] = true
	}
	c.trackedSince = from.version + 1
	return nil
}

func (c *checker) take(snap *delta.Snapshot) {
	if snap.TracksRows() && (c.snap == nil || !c.snap.TracksRows()) {
		c.trackedSince = snap.Version()
	}
	c.snap, c.snaps[snap.Version()] = snap, snap
	c.report.Version = snap.Version()
}

// gate asks whether idem can read the table that the commits leave.
func (c *checker) gate() error {
	err := delta.GateRead(c.snap.Protocol(), c.snap.Metadata(), c.snap.Schema())
	if !broken(err) {
		return err
	}
	if len(c.report.Findings) == 0 { // otherwise the reason is told
		c.find(CommitReplay, c.snap.Version(), delta.CommitKey(c.snap.Version()), "%v", err)
	}
	return errStopped
}

package interop_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

var flat = []column{{"id", "long"}, {"name", "string"}}

func flatRows(ids ...int) source {
	s := source{Schema: flat}
	for _, id := range ids {
		s.Rows = append(s.Rows, row{id, fmt.Sprint("row ", id)})
	}
	return s
}

// tagged appends a row under a tag with idem.
func (w *world) tagged(t *testing.T, txn idem.Txn) (*idem.Result, error) {
	t.Helper()
	return w.table.AppendWithTxn(t.Context(), flatRows(int(txn.Version)).reader(t, w.mem), txn)
}

// taggedBy appends a row under a tag with another engine.
func (w *world) taggedBy(t *testing.T, e engine, version int64) {
	t.Helper()
	e.do(t, "write", map[string]any{
		"path": w.path, "mode": "append", "source": flatRows(int(version)), "tag": map[string]any{"app": "job", "version": version},
	})
}

// claim counts a case about a tag.
func claim(t *testing.T, e engine, holds bool, format string, args ...any) {
	t.Helper()
	var err error
	if !holds {
		err = errors.New("does not hold")
	}
	tally(t, e, err, format, args...)
}

func (w *world) refresh(t *testing.T) int64 {
	t.Helper()
	v, err := w.table.Refresh(t.Context())
	require.NoError(t, err)
	return v
}

// transaction is the version that delta-rs sees recorded for the app "job"; -1 for none.
func (w *world) transaction(t *testing.T) int64 {
	t.Helper()
	var v *int64
	require.NoError(t, theRun.server.ask(deltaRS, "tag", map[string]any{"path": w.path, "app": "job"}, &v))
	if v == nil {
		return -1
	}
	return *v
}

func TestOurTagsAreHonoured(t *testing.T) {
	needEngines(t)
	w := create(t, flat)
	claim(t, deltaRS, w.transaction(t) == -1, "no tag yet")
	res, err := w.tagged(t, idem.Txn{AppID: "job", Version: 5, VerifyPayload: true})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	claim(t, deltaRS, w.transaction(t) == 5, "our tag 5 is recorded")
	for _, old := range []int64{5, 4} {
		w.taggedBy(t, spark, old)
		claim(t, spark, w.refresh(t) == res.Version, "tag %d is skipped after our 5", old)
	}
	w.taggedBy(t, spark, 6)
	claim(t, spark, w.refresh(t) == res.Version+1, "tag 6 is written after our 5")
	w.agree(t, "tags of both", "", everyEngine...)

	back, err := w.table.RewindTxn(t.Context(), "job", 2)
	require.NoError(t, err)
	claim(t, deltaRS, w.transaction(t) == 2, "our rewind to 2 is recorded")
	w.taggedBy(t, spark, 2)
	claim(t, spark, w.refresh(t) == back.Version, "tag 2 is skipped after our rewind to it")
	w.taggedBy(t, spark, 3)
	claim(t, spark, w.refresh(t) == back.Version+1, "tag 3 is written after our rewind to 2")
	w.agree(t, "tags moved back", "", everyEngine...)
}

func TestWeHonourTheirTags(t *testing.T) {
	needEngines(t)
	for _, e := range writers {
		t.Run(string(e), func(t *testing.T) {
			w := create(t, flat)
			w.taggedBy(t, e, 7)
			for _, c := range []struct {
				version int64
				want    idem.Outcome
			}{{7, idem.AlreadyApplied}, {6, idem.Superseded}, {8, idem.Committed}, {7, idem.Superseded}} {
				res, err := w.tagged(t, idem.Txn{AppID: "job", Version: c.version})
				require.NoError(t, err)
				claim(t, e, res.Outcome == c.want, "our %d after their 7 is %s: %s", c.version, c.want, res)
			}
			unknown, err := w.table.ReplaceAll(t.Context(), flatRows(1).reader(t, w.mem), idem.ReplaceAll{Txn: idem.Txn{AppID: "other", Version: 0}})
			require.NoError(t, err)
			require.Equal(t, idem.Committed, unknown.Outcome)
			w.taggedBy(t, e, 9)
			res, err := w.tagged(t, idem.Txn{AppID: "job", Version: 9, VerifyPayload: true})
			require.NoError(t, err)
			claim(t, e, res.Outcome == idem.AlreadyApplied && res.PayloadUnknown, "their 9 has no digest of its payload: %s", res)
			w.agree(t, name("tags of idem and", e), "", everyEngine...)
		})
	}
}

// After a RESTORE the rows of a tag are gone although the tag is recorded: a silent skip would lose them.
func TestTagsAfterTheirRestore(t *testing.T) {
	needEngines(t)
	for _, e := range writers {
		t.Run(string(e), func(t *testing.T) {
			w := create(t, flat)
			first, err := w.tagged(t, idem.Txn{AppID: "job", Version: 1})
			require.NoError(t, err)
			_, err = w.tagged(t, idem.Txn{AppID: "job", Version: 2})
			require.NoError(t, err)
			e.do(t, "restore", map[string]any{"path": w.path, "version": first.Version})

			res, err := w.tagged(t, idem.Txn{AppID: "job", Version: 1})
			require.NoError(t, err)
			claim(t, e, res.Outcome != idem.Committed, "tag 1 is older than the restore: %s", res)
			_, err = w.tagged(t, idem.Txn{AppID: "job", Version: 2})
			claim(t, e, errors.Is(err, idem.ErrRestored), "the restore took the rows of tag 2 away: %v", err)
			w.agree(t, name("restored by", e), "", everyEngine...)

			res, err = w.tagged(t, idem.Txn{AppID: "job", Version: 2, Reapply: true})
			require.NoError(t, err)
			claim(t, e, res.Outcome == idem.Committed, "tag 2 is applied again: %s", res)
			res, err = w.tagged(t, idem.Txn{AppID: "job", Version: 2})
			require.NoError(t, err)
			claim(t, e, res.Outcome == idem.AlreadyApplied, "and once: %s", res)
			all := w.agree(t, name("applied again after a restore by", e), "", everyEngine...)
			require.Len(t, all.rows, 2)
			claim(t, deltaRS, w.transaction(t) == 2, "tag 2 is recorded after it was applied again")
			before := w.table.Version()
			w.taggedBy(t, spark, 2)
			claim(t, spark, w.refresh(t) == before, "tag 2 is skipped after it was applied again")
		})
	}
}

// delta-rs applies a lower version and moves the record back; the last record counts.
func TestATagThatDeltaRSMovedBack(t *testing.T) {
	needEngines(t)
	w := create(t, flat)
	_, err := w.tagged(t, idem.Txn{AppID: "job", Version: 5})
	require.NoError(t, err)
	w.taggedBy(t, deltaRS, 3)
	claim(t, deltaRS, w.transaction(t) == 3, "the record is moved back")
	for _, c := range []struct {
		version int64
		want    idem.Outcome
	}{{2, idem.Superseded}, {3, idem.AlreadyApplied}, {4, idem.Committed}, {5, idem.Committed}, {5, idem.AlreadyApplied}} {
		res, err := w.tagged(t, idem.Txn{AppID: "job", Version: c.version})
		require.NoError(t, err)
		claim(t, deltaRS, res.Outcome == c.want, "our %d after their 3 is %s: %s", c.version, c.want, res)
	}
	w.agree(t, "a tag moved back", "", everyEngine...)
}

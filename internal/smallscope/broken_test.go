package smallscope_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/smallscope"
	"github.com/idemtable/idem/internal/tabletest"
)

// naive appends with a commit loop as one writes it before the first incident.
type naive struct {
	loop      tabletest.NaiveLoop
	skipsTags bool // the tag is written and never looked at
}

func (n naive) append(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error) {
	if _, err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	snap, id := t.Snapshot(), newID(t)
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Operation: "WRITE", TxnID: id}}}
	if tag.AppID != "" {
		if x, ok := snap.Txn(tag.AppID); ok && x.Version >= tag.Version && !n.skipsTags {
			return &idem.Result{Outcome: idem.AlreadyApplied, Version: snap.Version()}, nil
		}
		actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: tag.AppID, Version: tag.Version}})
	}
	byDay := map[string][]tabletest.Row{}
	for _, r := range rows {
		byDay[r.Day] = append(byDay[r.Day], r)
	}
	for _, r := range rows {
		if byDay[r.Day] == nil {
			continue
		}
		add, err := n.write(ctx, s, byDay[r.Day], "naive-"+id+r.Day+".stub")
		if err != nil {
			return nil, err
		}
		actions, byDay[r.Day] = append(actions, delta.Action{Add: add}), nil
	}
	data, err := delta.EncodeCommit(actions)
	if err != nil {
		return nil, err
	}
	return n.loop.Commit(ctx, s, snap.Version()+1, data)
}

func newID(t *idem.Table) string {
	var b [16]byte
	if _, err := io.ReadFull(t.Options().Random, b[:]); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b[:])
}

func (n naive) write(ctx context.Context, s store.Store, rows []tabletest.Row, key string) (*delta.Add, error) {
	batch := tabletest.Batch(memory.DefaultAllocator, rows)
	defer batch.Release()
	schema := arrow.NewSchema(batch.Schema().Fields()[1:], nil) // day is in the log
	var buf bytes.Buffer
	w, err := tabletest.Stub{}.NewWriter(&buf, schema, parquetio.WriteOptions{})
	if err == nil {
		err = errors.Join(w.Write(array.NewRecordBatch(schema, batch.Columns()[1:], batch.NumRows())), w.Close())
	}
	if err != nil {
		return nil, err
	}
	out, err := s.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	size := int64(buf.Len())
	if _, err := buf.WriteTo(out); err != nil {
		return nil, err
	}
	return &delta.Add{Path: key, Size: size, PartitionValues: map[string]*string{"day": &rows[0].Day}, DataChange: true}, out.Close()
}

// unverified keeps the digest of its rows and, if the tag is recorded, skips them whatever they are.
func unverified(ctx context.Context, _ store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error) {
	res, err := t.AppendWithTxn(ctx, tabletest.Again(memory.DefaultAllocator, 0, rows...), tag)
	if errors.Is(err, idem.ErrPayload) {
		return &idem.Result{Outcome: idem.AlreadyApplied, Version: t.Version()}, nil
	}
	return res, err
}

// A checker that cannot fail proves nothing. What it prints is the shortest way to what is broken.
func TestWhatIsBrokenIsFoundOut(t *testing.T) {
	appends := smallscope.Pair{First: smallscope.Append, Second: smallscope.TxnOther}
	twins := smallscope.Pair{First: smallscope.TxnSame, Second: smallscope.TxnSame}
	payloads := smallscope.Pair{First: smallscope.TxnVerified, Second: smallscope.TxnVerified, Apart: true}
	keeps := func(o smallscope.Operation) smallscope.Pair {
		return smallscope.Pair{First: o, Second: smallscope.Append}
	}
	for _, c := range []struct {
		name   string
		pair   smallscope.Pair
		faults int
		hooks  smallscope.Hooks
		says   string
		lines  int // of the trace, at most
	}{
		{"put-if-absent overwrites", appends, 0, smallscope.Hooks{Lie: smallscope.Overwrites}, "comes after version", 20},
		{"a commit is acknowledged and dropped", appends, 0, smallscope.Hooks{Lie: smallscope.Drops}, "its work is versions []", 20},
		{"taken is taken for our own", appends, 0, smallscope.Hooks{Append: naive{loop: tabletest.NaiveLoop{TakenIsOurs: true}}.append}, "its work is versions []", 20},
		{"an error is reported as a no", appends, 1, smallscope.Hooks{Append: naive{loop: tabletest.NaiveLoop{ErrorIsFinal: true}}.append}, "and its work is version", 25},
		{"a lost answer is taken for taken", appends, 1, smallscope.Hooks{Append: naive{}.append}, "is vacant", 25},
		{"the tag is never looked at", twins, 0, smallscope.Hooks{Append: naive{skipsTags: true}.append}, "is recorded", 25},
		{"the tag is looked at once", twins, 0, smallscope.Hooks{Append: naive{}.append}, "is recorded", 25},
		{"the payload is written down and never looked at", payloads, 0, smallscope.Hooks{Append: unverified}, "other rows are recorded there", 25},
		{"optimize has no work to do, it says", keeps(smallscope.Optimize), 0, smallscope.Hooks{Idle: true}, "had work to do there", 20},
		{"vacuum has nothing to delete, it says", keeps(smallscope.Vacuum), 0, smallscope.Hooks{Idle: true}, "is still there", 20},
		{"the version has a checkpoint, it says", keeps(smallscope.CheckpointCleanUp), 0, smallscope.Hooks{Idle: true}, "nobody wrote that checkpoint", 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := smallscope.Check(c.pair, smallscope.Scope{Faults: c.faults}, &c.hooks)
			require.Len(t, r.Broken, 1)
			text := strings.Join(r.Trace, "\n")
			t.Logf("%s\n%s", r.Broken[0], text)
			require.Contains(t, text, c.says)
			require.LessOrEqual(t, len(r.Trace), c.lines, "a person must be able to read it")
			require.LessOrEqual(t, strings.Count(text, "(lost-answer)")+strings.Count(text, "(fail-")+strings.Count(text, "(late-")+strings.Count(text, "(crash-"), c.faults)
			require.True(t, strings.HasPrefix(r.Trace[len(r.Trace)-1], "broken: "))
		})
	}
}

// A writer that does not do the same after the same answers would make every result worthless.
func TestAWriterThatIsNoFunctionOfItsAnswersIsFoundOut(t *testing.T) {
	var n atomic.Int64
	unsteady := func(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error) {
		if _, err := s.Head(ctx, strings.Repeat("x", int(n.Add(1)))); !errors.Is(err, store.ErrNotExist) {
			return nil, err
		}
		return t.Append(ctx, tabletest.Again(memory.DefaultAllocator, 0, rows...), idem.Append{Reason: "a test"})
	}
	r := smallscope.Check(smallscope.Pair{First: smallscope.Append, Second: smallscope.Delete}, smallscope.Scope{}, &smallscope.Hooks{Append: unsteady})
	require.Len(t, r.Broken, 1)
	require.Contains(t, r.Broken[0], "it is no function of them")
}

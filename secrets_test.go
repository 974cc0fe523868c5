package idem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	feed "github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

const (
	secret    = "s3cr3t"
	leakyRoot = "https://AKIA:" + secret + "/x@host/lake/"
	presigned = "https://AKIA:" + secret + "@host/lake/key?X-Amz-Signature=" + secret + "&sig=" + secret
)

// leaky is a store that breaks the rule for its URL, and whose errors show requests as they were sent.
type leaky struct{ *storetest.Faulty }

func (l leaky) URL() string { return leakyRoot }

func leak(err error) error {
	if err == nil {
		return nil
	}
	return &url.Error{Op: "Get", URL: presigned, Err: err}
}

func (l leaky) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return leak(l.Faulty.PutIfAbsent(ctx, key, data))
}
func (l leaky) Put(ctx context.Context, key string, data []byte) error {
	return leak(l.Faulty.Put(ctx, key, data))
}
func (l leaky) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := l.Faulty.Get(ctx, key, limit)
	return data, leak(err)
}
func (l leaky) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	return leak(l.Faulty.GetRange(ctx, key, off, p))
}
func (l leaky) Head(ctx context.Context, key string) (store.Info, error) {
	info, err := l.Faulty.Head(ctx, key)
	return info, leak(err)
}
func (l leaky) Delete(ctx context.Context, keys ...string) error {
	return leak(l.Faulty.Delete(ctx, keys...))
}
func (l leaky) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for info, err := range l.Faulty.List(ctx, prefix, after) {
			if !yield(info, leak(err)) {
				return
			}
		}
	}
}
func (l leaky) Create(ctx context.Context, key string) (store.Writer, error) {
	w, err := l.Faulty.Create(ctx, key)
	if err != nil {
		return nil, leak(err)
	}
	return leakyWriter{w}, nil
}

type leakyWriter struct{ store.Writer }

func (w leakyWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, leak(err)
}
func (w leakyWriter) Close() error { return leak(w.Writer.Close()) }

// discreet holds that nothing that a call said shows a secret: its error, whatever it is printed by and
// whoever walks what it wraps, its result, its panic.
func discreet(t *testing.T, what string, result any, err error) {
	t.Helper()
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		shown = append(shown, fmt.Sprintf(verb, result))
		each(err, func(e error) { shown = append(shown, fmt.Sprintf(verb, e)) })
	}
	for _, v := range []any{result, err} {
		if text, err := json.Marshal(v); err == nil {
			shown = append(shown, string(text))
		}
	}
	for _, text := range shown {
		require.NotContains(t, text, secret, what)
	}
}

// each visits an error and what it wraps.
func each(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		each(w.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, e := range w.Unwrap() {
			each(e, visit)
		}
	}
}

// drained reads a sequence to its end or first error.
func drained[T any](rows iter.Seq2[T, error]) error {
	for _, err := range rows {
		if err != nil {
			return err
		}
	}
	return nil
}

// calls are all calls that a table takes, one of each.
var calls = map[string]func(ctx context.Context, t *idem.Table) (any, error){
	"Append": func(ctx context.Context, t *idem.Table) (any, error) {
		return t.Append(ctx, rowsOf(order{"d1", 8, 1, "h"}), idem.Append{Reason: "test"})
	},
	"Scan": func(ctx context.Context, t *idem.Table) (any, error) { return nil, drained(t.Scan(ctx, idem.Scan{})) },
	"History": func(ctx context.Context, t *idem.Table) (any, error) {
		return nil, drained(t.History(ctx))
	},
	"changes.Rows": func(ctx context.Context, t *idem.Table) (any, error) {
		return nil, drained(feed.Rows(ctx, t, feed.Request{}))
	},
	"At":      func(ctx context.Context, t *idem.Table) (any, error) { return t.At(ctx, 1) },
	"AtTime":  func(ctx context.Context, t *idem.Table) (any, error) { return t.AtTime(ctx, time.Unix(1, 0)) },
	"Refresh": func(ctx context.Context, t *idem.Table) (any, error) { return t.Refresh(ctx) },
	"Fingerprint": func(ctx context.Context, t *idem.Table) (any, error) {
		return t.Fingerprint(ctx, idem.Fingerprint{Verify: true})
	},
	"Duplicates": func(ctx context.Context, t *idem.Table) (any, error) {
		return t.Duplicates(ctx, idem.Duplicates{On: []string{"id"}})
	},
	"RewindTxn": func(ctx context.Context, t *idem.Table) (any, error) { return t.RewindTxn(ctx, "job", 3) },
	"VacuumTable": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.VacuumTable(ctx, t, maintain.Vacuum{Retention: time.Nanosecond, AllowShortRetention: true})
	},
	"VacuumTable, lite": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.VacuumTable(ctx, t, maintain.Vacuum{Retention: time.Nanosecond, AllowShortRetention: true, Lite: true})
	},
	"OptimizeTable": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.OptimizeTable(ctx, t, maintain.Optimize{})
	},
	"Checkpoint": func(ctx context.Context, t *idem.Table) (any, error) { return maintain.Checkpoint(ctx, t) },
	"CleanUpLog": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.CleanUpLog(ctx, t, maintain.CleanUp{})
	},
	"CompactLog": func(ctx context.Context, t *idem.Table) (any, error) { return maintain.CompactLog(ctx, t, 0, 1) },
	"RestoreTable": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(1)})
	},
	"AlterTable": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{maintain.SetProperties{Properties: map[string]string{"a": "b"}}}})
	},
	"EnableFeature": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "deletionVectors"})
	},
	"DropFeature": func(ctx context.Context, t *idem.Table) (any, error) {
		if res, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "deletionVectors"}); err != nil {
			return res, err
		}
		return maintain.DropFeature(ctx, t, maintain.Drop{Feature: "deletionVectors"})
	},
	"UpdateTable": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.UpdateTable(ctx, t, maintain.Update{Where: "id = 1", Set: map[string]string{"v": "'u'"}})
	},
	"OverwritePartitions": func(ctx context.Context, t *idem.Table) (any, error) {
		return maintain.OverwritePartitions(ctx, t, rowsOf(order{"d1", 8, 1, "h"}), maintain.Overwrite{})
	},
	"CloneTableStore, from": func(ctx context.Context, t *idem.Table) (any, error) {
		_, res, err := maintain.CloneTableStore(ctx, t, store.NewMem(), maintain.Clone{}, idem.Options{Clock: &patient{}})
		return res, err
	},
	"RunTwice": func(ctx context.Context, t *idem.Table) (any, error) {
		return idem.RunTwice(ctx, t, func(ctx context.Context, t *idem.Table) error {
			_, err := t.Delete(ctx, idem.Delete{Where: "id = 2"})
			return err
		})
	},
	"OpenStore": func(ctx context.Context, t *idem.Table) (any, error) {
		return idem.OpenStore(ctx, t.Store(), t.Options())
	},
	"CreateStore": func(ctx context.Context, t *idem.Table) (any, error) {
		_, res, err := idem.CreateStore(ctx, t.Store(), idem.Definition{Schema: orders, Properties: map[string]string{"x": "y"}}, t.Options())
		return res, err
	},
}

// secretive is a table over a store that leaks, whose log is kept in text.
func secretive(t *testing.T) (*storetest.Faulty, *idem.Table, *bytes.Buffer) {
	mem, log := store.NewMem(), &bytes.Buffer{}
	st := storetest.NewFaulty(mem)
	o := idem.Options{
		Parallelism: 1, Clock: &patient{now: time.Unix(1_700_000_000, 0)}, Random: rand.NewChaCha8([32]byte{1}),
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), CommitBudget: time.Second, ReadBackTimeout: time.Second,
	}
	table, _, err := idem.CreateStore(t.Context(), leaky{st}, idem.Definition{
		Schema: orders, PartitionBy: []string{"day"}, Properties: map[string]string{"delta.checkpointInterval": "2"}}, o)
	require.NoError(t, err)
	_, err = table.ReplaceAll(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d2", 3, 1, "c"}), idem.ReplaceAll{Txn: idem.Txn{AppID: "job", Version: 4}})
	require.NoError(t, err)
	_, err = table.Delete(t.Context(), idem.Delete{Where: "day = 'd2'"})
	require.NoError(t, err)
	st.Reset()
	return st, table, log
}

func TestNoErrorAndNoRecordShowsASecretOfAURL(t *testing.T) {
	oneGoroutine(t)
	all := map[string]func(context.Context, *idem.Table) (any, error){}
	for name, run := range calls {
		all[name] = run
	}
	for _, v := range verbs {
		all[v.name] = func(ctx context.Context, t *idem.Table) (any, error) { return v.run(ctx, t) }
	}
	failed := 0
	for name, run := range all {
		for _, op := range append(storetest.Ops(), "") {
			st, table, log := secretive(t)
			if op != "" {
				st.Reset(storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.LostAnswer}}, storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.FailBefore}})
			}
			res, err := run(t.Context(), table)
			what := fmt.Sprintf("%s while %s fails", name, op)
			if view, ok := res.(*idem.Table); ok {
				res = nil
				if view != nil {
					require.NotContains(t, view.URL(), secret, what)
				}
			}
			discreet(t, what, res, err)
			if err != nil {
				failed++
				classified(t, err)
				require.NotContains(t, fmt.Sprint(table.Resolve(t.Context(), err)), secret, what)
			}
			require.NotContains(t, log.String(), secret, what)
			require.NotContains(t, table.URL(), secret)
		}
	}
	require.Greater(t, failed, 80, "calls that failed")
}

// A clone is made in a store that may leak as well as that of its source.
func TestACloneIntoAStoreShowsNoSecretOfIt(t *testing.T) {
	oneGoroutine(t)
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: orders}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	failed := 0
	for _, op := range append(storetest.Ops(), "") {
		st, log := storetest.NewFaulty(store.NewMem()), &bytes.Buffer{}
		if op != "" {
			st.Reset(storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.LostAnswer}}, storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.FailBefore}})
		}
		copied, res, err := maintain.CloneTableStore(t.Context(), table, leaky{st}, maintain.Clone{}, idem.Options{
			Parallelism: 1, Clock: &patient{now: time.Unix(1_700_000_000, 0)}, CommitBudget: time.Second, ReadBackTimeout: time.Second,
			Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		discreet(t, fmt.Sprintf("a clone while %s fails", op), res, err)
		require.NotContains(t, log.String(), secret, op)
		if err != nil {
			failed++
			classified(t, err)
			continue
		}
		require.NotContains(t, copied.URL(), secret)
	}
	require.GreaterOrEqual(t, failed, 3, "clones that failed")
}

func TestErrorsOfStoresStayWhatTheyAre(t *testing.T) {
	st, table, _ := secretive(t)
	st.Reset(storetest.Rule{Op: storetest.OpCreate, Fault: storetest.Fault{Kind: storetest.DiskFull}})
	_, err := table.Append(t.Context(), rowsOf(order{"d1", 8, 1, "h"}), idem.Append{Reason: "test"})
	var raw *url.Error
	require.ErrorAs(t, err, &raw, "who asks for the store's error gets it")
	require.ErrorContains(t, err, "https://***@host/lake/key?***", "and who prints it sees where the secret was")
}

// A log is written by others, rows come from somewhere, and both may speak of URLs.
func TestSecretsThatComeByOtherWays(t *testing.T) {
	added := func(t *testing.T, path string) *store.Mem {
		mem := store.NewMem()
		_, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{})
		require.NoError(t, err)
		data, err := delta.EncodeCommit([]delta.Action{{Add: &delta.Add{Path: path, Size: 9, DataChange: true, PartitionValues: map[string]*string{}}}})
		require.NoError(t, err)
		require.NoError(t, mem.PutIfAbsent(t.Context(), delta.CommitKey(1), data))
		return mem
	}
	for _, path := range []string{presigned, "s3://AKIA:" + secret + "@bucket/a", "https%3A%2F%2FAKIA%3A" + secret + "%40host/a", "abfss://c:" + secret + "@account/a"} {
		for why, o := range map[string]idem.Options{
			"refused": {},
			"no store for it": {Outside: func(_ context.Context, url string) (store.Store, error) {
				return nil, fmt.Errorf("dial %s: refused", url)
			}},
			"a store that fails": {Outside: func(context.Context, string) (store.Store, error) {
				st := storetest.NewFaulty(store.NewMem())
				st.Reset(storetest.Rule{Fault: storetest.Fault{Kind: storetest.Denied}})
				return leaky{st}, nil
			}},
		} {
			var log bytes.Buffer
			o.Logger, o.Clock = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), &patient{}
			table, err := idem.OpenStore(t.Context(), added(t, path), o)
			if err == nil {
				err = drained(table.Scan(t.Context(), idem.Scan{}))
			}
			require.Error(t, err)
			discreet(t, why+": "+path, nil, err)
			require.NotContains(t, log.String(), secret)
		}
	}
	for _, given := range []string{presigned, "s3://AKIA:" + secret + "/with/slashes@bucket/x", "file:AKIA:" + secret + "@host/x", "file://AKIA:" + secret + "@host/x", "s3://AKIA:" + secret + " @bucket"} {
		_, err := idem.Open(t.Context(), given, idem.Options{})
		require.Error(t, err)
		discreet(t, given, nil, err)
		_, _, err = idem.Create(t.Context(), given+"\x00", idem.Definition{Schema: orders}, idem.Options{})
		require.Error(t, err)
		discreet(t, given, nil, err)
		_, _, err = maintain.ConvertParquet(t.Context(), given+"\x00", maintain.Convert{}, idem.Options{})
		classified(t, err)
		discreet(t, given, nil, err)
	}
	_, _, err := idem.DedupeRows(t.Context(), &failingWith{again(order{"d1", 1, 1, "a"}), errors.New("connect to postgres://etl:" + secret + "@db/orders: refused")}, idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}})
	require.Error(t, err)
	discreet(t, "rows", nil, err)
}

// A clone says in its log where it came from; what opens that place stays out of it.
func TestALogKeepsNoSecret(t *testing.T) {
	_, table, _ := secretive(t)
	copied := store.NewMem()
	_, _, err := maintain.CloneTableStore(t.Context(), table, copied, maintain.Clone{}, idem.Options{})
	require.NoError(t, err)
	for info, err := range copied.List(t.Context(), delta.LogDir, "") {
		require.NoError(t, err)
		data, err := copied.Get(t.Context(), info.Key, 0)
		require.NoError(t, err)
		require.NotContains(t, string(data), secret, info.Key)
	}
}

// failingWith are rows whose source fails after the first batch.
type failingWith struct {
	*rewound
	err error
}

func (f *failingWith) Next() bool                     { return false }
func (f *failingWith) Err() error                     { return f.err }
func (f *failingWith) RecordBatch() arrow.RecordBatch { return nil }

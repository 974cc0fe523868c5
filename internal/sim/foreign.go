package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/tabletest"
)

// What a foreign writer does.
const (
	foreignAppend = iota // rows
	foreignTagged        // rows, under a tag of its own
	foreignMoves         // moves a tag of another back by one, as delta-rs can
	foreignJobs
)

// intrude commits as an engine does that is not idem: without a transaction id, with fields that nobody
// knows, keys in another order, lines that end in CR LF.
func (wr *writer) intrude(j *job) (*idem.Result, error) {
	w := wr.w
	add := ""
	for range 50 {
		wr.pause()
		v := w.look()
		t, err := idem.OpenStore(w.context(), w.truth, idem.Options{Parallelism: 1, Clock: clock{wr}, Random: tabletest.Random(uint64(j.n))})
		if err != nil {
			return nil, err
		}
		if t.Version() != v || !knows(t.Snapshot()) {
			return nil, errNotMine
		}
		if add == "" && j.comes != foreignMoves {
			if add, err = wr.foreignFile(j, t); err != nil {
				return nil, err
			}
		}
		lines, ok := wr.foreignCommit(j, t.Snapshot(), add)
		if !ok {
			return &idem.Result{Outcome: idem.Unchanged, Version: v}, nil
		}
		wr.pause()
		err = wr.foreignPut(v+1, []byte(strings.Join(lines, "\r\n")+"\r\n"))
		switch {
		case err == nil:
			return &idem.Result{Outcome: idem.Committed, Version: v + 1}, nil
		case !errors.Is(err, store.ErrExist):
			return nil, err
		}
	}
	return nil, idem.ErrConflict
}

func (wr *writer) foreignPut(v int64, data []byte) error {
	put := wr.w.shared.PutIfAbsent
	if wr.w.hooks.ForeignOverwrites {
		put = wr.w.shared.Put
	}
	err := put(context.Background(), delta.CommitKey(v), data)
	if err == nil {
		wr.w.strangers[v] = wr.call
		wr.w.log(wr.name, "call %d puts version %d by itself", wr.call.n, v)
	}
	return err
}

// knows says whether the engine knows the table's features: those that add nothing to a blind append.
func knows(snap *delta.Snapshot) bool {
	for _, p := range []string{"delta.enableRowTracking", "delta.enableInCommitTimestamps"} {
		if v, ok := snap.Property(p); ok && v == "true" {
			return false
		}
	}
	return !snap.Protocol().Supports("rowTracking") && snap.Mapping() == delta.MappingNone
}

func (wr *writer) foreignCommit(j *job, snap *delta.Snapshot, add string) (lines []string, ok bool) {
	info := `{"commitInfo":{"engineInfo":"other/1.0","novelty":{"a":[1,null]},"operation":"WRITE","operationParameters":{"mode":"Append"},"timestamp":%d,"isBlindAppend":true}}`
	lines = append(lines, fmt.Sprintf(info, wr.w.now.UnixMilli()))
	if add != "" {
		lines = append([]string{add}, lines...) // the commitInfo need not come first
	}
	switch j.comes {
	case foreignTagged:
		if tag, found := snap.Txn(j.app); found && tag.Version >= j.to {
			return nil, false
		}
		lines = append(lines, fmt.Sprintf(`{"txn":{"version":%d,"appId":%q}}`, j.to, j.app))
	case foreignMoves:
		tag, found := snap.Txn(j.app)
		if _, undone := snap.Txn("idem/v1/undone/" + j.app); !found || undone || tag.Version < 1 {
			return nil, false
		}
		j.to = tag.Version - 1
		lines = append(lines, fmt.Sprintf(`{"txn":{"lastUpdated":%d,"version":%d,"appId":%q}}`, wr.w.now.UnixMilli(), j.to, j.app))
	}
	return lines, true
}

// foreignFile writes the data file and gives the line that adds it.
func (wr *writer) foreignFile(j *job, t *idem.Table) (string, error) {
	ctx := wr.w.context()
	batch := tabletest.Batch(memory.DefaultAllocator, j.rows)
	defer batch.Release()
	codec := parquetio.From(ctx)
	key, values := fmt.Sprintf("other-%d%s", j.n, codec.Ext(parquetio.WriteOptions{})), map[string]string{}
	schema, columns := batch.Schema(), batch.Columns()
	if len(t.PartitionBy()) > 0 {
		values["day"] = j.rows[0].Day
		schema, columns = arrow.NewSchema(schema.Fields()[1:], nil), columns[1:]
	}
	out, err := wr.w.truth.Create(ctx, key)
	if err != nil {
		return "", err
	}
	file, err := codec.NewWriter(out, schema, parquetio.WriteOptions{})
	if err == nil {
		data := array.NewRecordBatch(schema, columns, batch.NumRows())
		defer data.Release()
		err = errors.Join(file.Write(data), file.Close())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	info, err := wr.w.truth.Head(ctx, key)
	if err != nil {
		return "", err
	}
	parts, err := json.Marshal(values)
	line := `{"add":{"stats":"{\"numRecords\":%d}","dataChange":true,"unheardOf":{"x":true},"modificationTime":%d,"size":%d,"partitionValues":%s,"path":%q}}`
	return fmt.Sprintf(line, len(j.rows), wr.w.now.UnixMilli(), info.Size, parts, key), err
}

// intrude does the same on the model.
func (j *job) intrude(s *state) {
	if j.comes != foreignMoves {
		s.Append(j.rows...)
	}
	if j.comes != foreignAppend {
		s.move(j.app, j.to)
	}
}

// stranger makes the jobs of a foreign writer.
func (m *maker) stranger() []*job {
	var jobs []*job
	for range 1 + m.dice.IntN(2) {
		j := m.plan.newJob(foreign)
		j.comes = m.dice.IntN(foreignJobs)
		switch j.comes {
		case foreignMoves:
			j.app = fmt.Sprintf("app-%d", m.dice.IntN(3))
		case foreignTagged:
			j.app, j.to = "other", int64(j.n)
		}
		if j.comes != foreignMoves {
			j.rows = m.appends(j, m.dice.IntN(days))
		}
		jobs = append(jobs, j)
	}
	return jobs
}

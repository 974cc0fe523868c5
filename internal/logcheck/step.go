package logcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
)

// step is one commit between the state before it and the state after it.
type step struct {
	v       int64
	key     string
	actions []delta.Action
	info    delta.CommitInfo // empty if the commit has none
	ours    bool

	before, after *delta.Snapshot // before is nil if the log begins here
	defined       bool            // the commit changes protocol or metadata, or is the first
	adds          []*delta.Add    // as the snapshot has them, with their keys
	removes       []*removed

	now, then map[string]leaf // see wanted
}

// removed is a remove together with the file as it was live, nil if it was not.
type removed struct {
	*delta.Remove
	live *delta.Add
}

func (c *checker) step(v int64, actions []delta.Action, before *delta.Snapshot) *step {
	s := &step{v: v, key: delta.CommitKey(v), actions: actions, ours: ours(actions), before: before, after: c.snap, defined: before == nil}
	if info := delta.InfoOf(actions); info != nil {
		s.info = *info
	}
	for _, a := range actions {
		switch {
		case a.Protocol != nil, a.Metadata != nil:
			s.defined = true
		case a.Add != nil:
			if f, ok := c.snap.Live(c.keyOf(a.Add.Path)); ok {
				s.adds = append(s.adds, f)
			}
		case a.Remove != nil:
			r := &removed{Remove: a.Remove}
			if before != nil {
				if f, ok := before.Live(c.keyOf(a.Remove.Path)); ok && f.DeletionVector.ID() == a.Remove.DeletionVector.ID() {
					r.live = f
				}
			}
			s.removes = append(s.removes, r)
		}
	}
	return s
}

// was is the live file of a key before the commit.
func (s *step) was(key string) *delta.Add {
	if s.before == nil {
		return nil
	}
	f, _ := s.before.Live(key)
	return f
}

// returns is true of a commit that may bring back what was: files, columns, marks.
func (s *step) returns() bool { return s.info.Operation == "RESTORE" || adopts(s.info.Operation) }

// adopts is true of the operations that take in files that others wrote.
func adopts(operation string) bool { return operation == "CLONE" || operation == "CONVERT" }

// replaces is true of a commit that may define the table anew.
func (s *step) replaces() bool {
	return strings.Contains(s.info.Operation, "REPLACE TABLE") || strings.Contains(s.info.Operation, "CREATE") ||
		s.info.Operation == "WRITE" && s.info.OperationParameters["mode"] == "Overwrite"
}

// enabled reads a boolean property.
func enabled(snap *delta.Snapshot, key string) bool {
	text, _ := snap.Property(key)
	return strings.EqualFold(text, "true")
}

// each holds a step against the rules of one commit.
func (c *checker) each(ctx context.Context, s *step) error {
	if s.defined {
		c.protocol(s)
		if !c.schema(s) {
			return errStopped
		}
		c.mapping(s)
		c.typeChanges(s)
		c.marks(s)
	}
	c.timestamp(s)
	c.used(s)
	c.records(s)
	for _, f := range s.adds {
		c.addVector(s, f)
		c.addStats(s, f)
		c.name(s, f.Path, f.Key, "")
	}
	c.rowIDs(s)
	c.clustering(s)
	c.iceberg(s)
	c.tags(s)
	if err := c.content(ctx, s); err != nil {
		return err
	}
	return c.payload(ctx, s)
}

// formal says of a line by its beginning that it is to be decoded again.
func formal(line []byte) bool {
	head := line[:min(len(line), 40)]
	return bytes.Contains(head, []byte(`"cdc"`)) || bytes.Contains(head, []byte(`"sidecar"`)) || bytes.Contains(head, []byte(`"checkpointMetadata"`))
}

// form looks at the bytes of a commit for what its actions no longer show.
func (c *checker) form(v int64, data []byte, actions []delta.Action) {
	key := delta.CommitKey(v)
	if ours(actions) && !bytes.HasSuffix(data, []byte("\n")) {
		c.find(CommitForm, v, key, "its last line is not ended")
	}
	for line := range bytes.Lines(data) {
		if !formal(line) {
			continue
		}
		var raw struct {
			Checkpoint json.RawMessage `json:"checkpointMetadata"`
			Sidecar    json.RawMessage `json:"sidecar"`
			CDC        *struct {
				Path       string `json:"path"`
				DataChange *bool  `json:"dataChange"`
			} `json:"cdc"`
		}
		if json.Unmarshal(line, &raw) != nil {
			continue
		}
		if raw.Checkpoint != nil || raw.Sidecar != nil {
			c.find(CommitForm, v, key, "it holds an action that only checkpoints have")
		}
		if raw.CDC != nil && (raw.CDC.DataChange == nil || *raw.CDC.DataChange) {
			c.find(FeedForm, v, raw.CDC.Path, "dataChange is not false")
		}
	}
}

// timestamp looks at in-commit timestamps.
func (c *checker) timestamp(s *step) {
	const key, since, sinceTime = "delta.enableInCommitTimestamps", "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"
	stamped := func(snap *delta.Snapshot) bool {
		return snap != nil && supported(snap.Protocol())["inCommitTimestamp"] && enabled(snap, key)
	}
	if !stamped(s.after) {
		c.stamp = nil
		return
	}
	at, last := s.info.InCommitTimestamp, c.stamp
	c.stamp = at
	switch {
	case at == nil:
		c.find(CommitTime, s.v, s.key, "there is none")
		return
	case s.actions[0].CommitInfo == nil:
		c.find(CommitTime, s.v, s.key, "commitInfo does not come first")
	case last != nil && *at <= *last:
		c.find(CommitTime, s.v, s.key, "it is %d after %d", *at, *last)
	}
	if s.before == nil || stamped(s.before) {
		return
	}
	version, _ := s.after.Property(since)
	from, _ := s.after.Property(sinceTime)
	if version != fmt.Sprint(s.v) || from != fmt.Sprint(*at) {
		c.find(CommitTimeSince, s.v, s.key, "they say version %q and time %q, the commit has %d and %d", version, from, s.v, *at)
	}
}

// ownApps is how the app ids begin under which idem keeps records of its own.
const ownApps = "idem/v1/"

// records looks at the records that idem keeps beside a tag.
func (c *checker) records(s *step) {
	written := map[string]int64{}
	for _, a := range s.actions {
		if a.Txn != nil {
			written[a.Txn.AppID] = a.Txn.Version
		}
	}
	for _, app := range slices.Sorted(maps.Keys(written)) {
		value := written[app]
		rest, own := strings.CutPrefix(app, ownApps)
		if !own {
			if s.ours && (app == "" || value < lowestTag(s.info.Operation)) {
				c.find(TxnRecords, s.v, s.key, "the tag %q has the version %d", app, value)
			}
			continue
		}
		kind, of, _ := strings.Cut(rest, "/")
		if kind == "clone" { // the version of the source that a copy is of
			if s.ours && value < 0 {
				c.find(TxnRecords, s.v, s.key, "the record %s has the version %d", app, value)
			}
			continue
		}
		plain, _, _ := strings.Cut(kind, ".")
		switch {
		case !s.ours:
		case plain == "undone", plain == "undoneFrom", plain == "undoneTo", plain == "again":
			if recorded, ok := s.after.Txn(of); !ok || value < -1 || len(plain) == len(kind) && value < undoneCleared && value > recorded.Version {
				c.find(TxnRecords, s.v, s.key, "%s is %d, which no restore of %q leaves", app, value, of)
			}
			c.gapRecord(s, app, plain, value, written)
		default:
			c.payloadRecord(s, kind, of, value, written)
		}
	}
}

// lowestTag is the lowest version of a tag that a commit of idem may record: one that was moved to -1 has no
// version any more, and a copy takes it as it stands.
func lowestTag(operation string) int64 {
	if operation == "REWIND TXN" || operation == "CLONE" {
		return -1
	}
	return 0
}

// gapRecord looks at the two ends of a range of versions that a restore took back.
func (c *checker) gapRecord(s *step, app, kind string, from int64, written map[string]int64) {
	other := strings.Replace(app, "undoneFrom.", "undoneTo.", 1)
	if kind == "undoneTo" {
		other = strings.Replace(app, "undoneTo.", "undoneFrom.", 1)
	}
	to, both := written[other]
	switch {
	case kind != "undoneFrom" && kind != "undoneTo":
	case !both:
		c.find(TxnRecords, s.v, s.key, "%s is written without %s", app, other)
	case kind == "undoneFrom" && from >= to && from != undoneCleared:
		c.find(TxnRecords, s.v, s.key, "%s is %d and %s is %d", app, from, other, to)
	}
}

// undoneCleared stands in an undone record that has no effect any more.
const undoneCleared = 1<<63 - 1

// payloadRecord looks at one of the records by which the rows of a tag are known again.
func (c *checker) payloadRecord(s *step, kind, of string, value int64, written map[string]int64) {
	at, tagged := written[of]
	_, hasRows := written[ownApps+"rows/"+of]
	_, hasDigest := written[ownApps+"digest/"+of]
	_, hasAt := written[ownApps+"at/"+of]
	switch {
	case kind != "at" && kind != "rows" && kind != "digest":
		c.find(TxnRecords, s.v, s.key, "nobody knows the record %s%s/%s", ownApps, kind, of)
	case !tagged || !hasRows || !hasDigest || !hasAt:
		c.find(TxnRecords, s.v, s.key, "of the tag of %q, at, rows and digest some are missing", of)
	case kind == "at" && value != at:
		c.find(TxnRecords, s.v, s.key, "the tag of %q is %d, its rows are those of %d", of, at, value)
	case value < 0 && kind != "at":
		c.find(TxnRecords, s.v, s.key, "the %s of %q are %d", kind, of, value)
	}
}

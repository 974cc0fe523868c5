package sim

import (
	"fmt"
	"io/fs"
	"syscall"

	"github.com/idemtable/idem/delta/store/storetest"
)

// trouble is a way for one operation of the store to go wrong.
type trouble struct {
	id   string // of Faults
	name string
	kind storetest.Kind // what is done to the operation
	ops  []storetest.Op // that it is for; nil: all to which the kind applies
	err  error          // what is answered, if not the kind's own
}

// A Fault is a way for the world to go wrong.
type Fault struct {
	ID, Name string
	Where    string // the tests that have it, as docs/proof.md names them, and why, if histories have it not
}

// Faults are all ways for the world to go wrong that a table must stand, by their numbers.
var Faults = []Fault{
	{ID: "F1", Name: "fail before the effect"},
	{ID: "F2", Name: "timeout, no effect"},
	{ID: "F3", Name: "answer lost, effect took place"},
	{ID: "F4", Name: "effect comes late"},
	{ID: "F5", Name: "sent twice"},
	{ID: "F6", Name: "409 that decides nothing"},
	{ID: "F7", Name: "429 and 503"},
	{ID: "F8", Name: "an error in the body of a 200"},
	{ID: "F9", Name: "truncated read"},
	{ID: "F10", Name: "flipped bit"},
	{ID: "F11", Name: "list lacks the newest"},
	{ID: "F12", Name: "list repeats"},
	{ID: "F13", Name: "others write between the parts of a list"},
	{ID: "F14", Name: "what exists is not found"},
	{ID: "F15", Name: "process dies and is started again"},
	{ID: "F16", Name: "process sleeps across retentions"},
	{ID: "F17", Name: "clock is off, or steps back"},
	{ID: "F18", Name: "credentials expire in a commit"},
	{ID: "F19", Name: "upload torn, or completed twice"},
	{ID: "F20", Name: "no space left, input/output error"},
	{ID: "F21", Name: "power cut", Where: "`delta/store: TestCrashSweep`, `internal/kill: TestCut`: a store in memory has no disk"},
	{ID: "F22", Name: "vacuum, clean-up or checkpoint by others meanwhile"},
	{ID: "F23", Name: "optimize, change of definition or drop by others meanwhile"},
	{ID: "F24", Name: "foreign writer meanwhile"},
	{ID: "F25", Name: "context ends"},
	{ID: "F26", Name: "memory budget"},
	{ID: "F27", Name: "two processes with one tag"},
}

var (
	uploads = []storetest.Op{storetest.OpClose}
	toDisk  = []storetest.Op{storetest.OpPutIfAbsent, storetest.OpPut, storetest.OpCreate, storetest.OpClose}
)

// troubles are the ways for one operation of the store to go wrong. Those of whole processes are with
// the writer (sleep, clocks, credentials, contexts, networks), those of others are jobs.
//
// A truncated read and a flipped bit give wrong bytes and no error. They are put where it can be known:
// a commit is cut inside a line and flipped in its first byte, since a flip that leaves JSON of the
// same shape (an 8 that becomes a 9) cannot be told from what was written; data files and checkpoints
// only where their codec has a checksum, as the stub of these tests, because Parquet's pages have none.
var troubles = []trouble{
	{id: "F1", name: "fail-before", kind: storetest.FailBefore},
	{id: "F2", name: "timeout", kind: storetest.Timeout},
	{id: "F3", name: "lost-answer", kind: storetest.LostAnswer},
	{id: "F3", name: "fail-after", kind: storetest.FailAfter},
	{id: "F4", name: "late-effect", kind: storetest.LateEffect},
	{id: "F5", name: "duplicate", kind: storetest.Duplicate, ops: []storetest.Op{storetest.OpPutIfAbsent, storetest.OpPut, storetest.OpDelete}},
	{id: "F6", name: "conflict", kind: storetest.Conflict},
	{id: "F7", name: "throttle", kind: storetest.Throttle},
	{id: "F8", name: "error-in-200", kind: storetest.FailBefore, ops: uploads, err: fmt.Errorf("200 OK: <Error>InternalError</Error>: %w", storetest.ErrInjected)},
	{id: "F8", name: "error-in-200-after", kind: storetest.FailAfter, ops: uploads, err: fmt.Errorf("200 OK: <Error>InternalError</Error>: %w", storetest.ErrInjected)},
	{id: "F9", name: "torn-read", kind: storetest.TornRead},
	{id: "F9", name: "short-read", kind: storetest.ShortRead},
	{id: "F10", name: "bit-flip", kind: storetest.BitFlip},
	{id: "F11", name: "stale-list", kind: storetest.StaleList},
	{id: "F12", name: "duplicate-list", kind: storetest.DuplicateList},
	{id: "F13", name: "paging", ops: []storetest.Op{storetest.OpList}},
	{id: "F13", name: "directory", ops: []storetest.Op{storetest.OpList}},
	{id: "F14", name: "stale-missing", kind: storetest.StaleMissing},
	{id: "F15", name: "crash-before", kind: storetest.CrashBefore},
	{id: "F15", name: "crash-after", kind: storetest.CrashAfter},
	{id: "F18", name: "denied", kind: storetest.Denied},
	{id: "F19", name: "torn-upload", kind: storetest.TornUpload, ops: []storetest.Op{storetest.OpCreate, storetest.OpClose}},
	{id: "F19", name: "completed-twice", kind: storetest.Duplicate, ops: uploads},
	{id: "F20", name: "disk-full", kind: storetest.DiskFull},
	{id: "F20", name: "io-error", kind: storetest.FailBefore, ops: toDisk, err: syscall.EIO},
	{id: "F20", name: "sync-error", kind: storetest.FailAfter, ops: toDisk, err: syscall.EIO},
}

// Troubles of processes.
var (
	offline   = trouble{id: "F2", name: "outage", kind: storetest.Timeout}
	expired   = trouble{id: "F18", name: "expired", kind: storetest.Denied, err: fmt.Errorf("ExpiredToken: %w", fs.ErrPermission)}
	cancelled = trouble{id: "F25", name: "cancel"}
	asleep    = trouble{id: "F16", name: "asleep"}
	timeGoes  = trouble{id: "F16", name: "time-jump"}
	skewed    = trouble{id: "F17", name: "clock-off"}
	stepped   = trouble{id: "F17", name: "clock-steps"}
	dropped   = trouble{id: "F23", name: "drop"}
)

// Troubles are the names under which single troubles are counted.
func Troubles() []string {
	var names []string
	for _, t := range append(troubles[:len(troubles):len(troubles)], offline, expired, cancelled, asleep, timeGoes, skewed, stepped, dropped, tiny, noSpillDir, spillFull, spillLost, spillCut) {
		names = append(names, t.name)
	}
	return names
}

// byOp are the troubles of each operation. Those of one operation only count three times, as that one is rare.
var byOp = func() map[storetest.Op][]trouble {
	out := map[storetest.Op][]trouble{}
	for _, op := range storetest.Ops() {
		for _, t := range troubles {
			if t.appliesTo(op) {
				out[op] = append(out[op], t)
				if len(t.ops) == 1 {
					out[op] = append(out[op], t, t)
				}
			}
		}
	}
	return out
}()

func (t trouble) appliesTo(op storetest.Op) bool {
	for _, o := range t.ops {
		if o == op {
			return true
		}
	}
	return t.ops == nil && t.kind.AppliesTo(op)
}

// wrong says whether the caller is given wrong bytes without an error.
func (t trouble) wrong() bool { return t.kind == storetest.ShortRead || t.kind == storetest.BitFlip }

// stale says whether the caller is shown an older store.
func (t trouble) stale() bool {
	return t.kind == storetest.StaleList || t.kind == storetest.StaleMissing
}

// hangs says whether the caller waits for an answer that does not come.
func (t trouble) hangs() bool {
	return t.kind == storetest.Timeout || t.kind == storetest.LostAnswer || t.kind == storetest.LateEffect
}

// holds says whether a verb holds rows.
func holds(verb string) bool {
	for k := range kinds {
		if k.String() == verb {
			return k.does().holds
		}
	}
	return false
}

// Never says why a call of a verb cannot meet a fault, "" if it can.
func Never(fault, verb string) string {
	uploads := fault == "F8" || fault == "F19"
	writes := uploads || fault == "F4" || fault == "F5" || fault == "F6" || fault == "F20"
	if fault == tiny.id && !holds(verb) {
		return "it holds no rows"
	}
	switch verb {
	case "foreign":
		if fault != "F17" && fault != "F22" && fault != "F23" && fault != "F24" {
			return "its own operations go to the store directly: what goes wrong with them is not ours"
		}
		if fault == "F24" {
			return "there is one of them in a history"
		}
	case "scan":
		if writes {
			return "it only reads"
		}
	case "append":
		if fault == "F27" {
			return "it has no tag, and two of it are two appends"
		}
	case "clean-up":
		if writes {
			return "it puts nothing, and deletes only after days"
		}
	case "create", "compact":
		if uploads {
			return "it puts its file whole"
		}
	case "rewind", "alter", "enable", "vacuum", "checkpoint", "restore":
		if uploads {
			return "it uploads nothing but the parts of a checkpoint of the second kind, after its commit"
		}
	}
	return ""
}

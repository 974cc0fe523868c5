package commit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
)

// Tag names one batch of one writer: version Version of the application AppID.
type Tag struct {
	AppID   string
	Version int64
}

func (t Tag) String() string { return fmt.Sprintf("%s@%d", t.AppID, t.Version) }

// Isolation says which commits of others a write has to be ordered after.
type Isolation int

const (
	// Serializable orders a write after every commit that it did not see.
	Serializable Isolation = iota

	// WriteSerializable lets blind appends of others be ordered after a write that did not see them.
	WriteSerializable
)

func (i Isolation) String() string {
	if i == WriteSerializable {
		return "WriteSerializable"
	}
	return "Serializable"
}

// Intent is what a planner wants to commit. It is not changed once it was handed over.
type Intent struct {
	// TxnID is the id of the logical write, 32 hexadecimal digits: the same over retries, rebases
	// and new plans of one call, and never used by another call.
	TxnID string

	// TableID is the metaData.id of the table that was read, "" when the table is being created.
	TableID string

	// ReadVersion is the version that the actions were planned on, -1 when creating.
	ReadVersion int64

	// Info is the template of the commitInfo. ReadVersion, TxnID, IsBlindAppend and IsolationLevel
	// are filled in, Timestamp if it is 0.
	Info delta.CommitInfo

	// Actions are the rest of the commit. The txn action of Tag is added if it is missing.
	Actions []delta.Action

	Reads Reads
	Tag   *Tag

	// Reapply writes although the tag is recorded, if its rows were restored away.
	Reapply bool

	// Rewind says that the commit moves the tag on purpose, also backwards.
	Rewind bool

	Isolation Isolation

	// BlindAppend says that the actions depend on no row of the table. It is not believed if the
	// commit removes files or has reads.
	BlindAppend bool

	// DataChange says that the rows of the table change; false for a compaction.
	DataChange bool
}

// Reads is what the actions of an Intent depend on. The zero value has read no rows.
type Reads struct {
	// Everything says that the actions rest on all that the table is: its files, its definition, its
	// domains, its tags, and on what was done to it. Any commit of others makes a new plan.
	Everything bool

	// WholeTable says that they rest on all files.
	WholeTable bool

	// Touches says whether an added file may hold rows that the write would have had to read. nil
	// means that it read none.
	Touches func(*delta.Add) bool

	// Files are the decoded keys of the files that were read.
	Files map[string]struct{}
}

func (r Reads) any() bool {
	return r.Everything || r.WholeTable || r.Touches != nil || len(r.Files) > 0
}

// Validate says what is wrong with an intent before anything is sent. Its errors are our own
// mistakes or those of a caller that builds actions by hand.
func (in *Intent) Validate() error {
	switch {
	case in.TxnID == "":
		return fmt.Errorf("plan of %s: no transaction id", in.Info.Operation)
	case in.TableID == "" && in.ReadVersion != -1, in.TableID != "" && in.ReadVersion < 0:
		return fmt.Errorf("plan of %s: table id %q with read version %d", in.Info.Operation, in.TableID, in.ReadVersion)
	case in.Tag != nil && in.Tag.AppID == "":
		return fmt.Errorf("tag with an empty app id: %w", delta.ErrInput)
	case in.Tag != nil && in.Tag.Version < 0 && !in.Rewind:
		return fmt.Errorf("tag %s: a version below 0: %w", in.Tag, delta.ErrInput)
	}
	return in.validateActions()
}

func (in *Intent) validateActions() error {
	seen := make(map[string]struct{})
	once := func(what, name string) error {
		if _, dup := seen[what+"\x00"+name]; dup {
			return fmt.Errorf("plan of %s: two %s actions for %q in one commit", in.Info.Operation, what, name)
		}
		seen[what+"\x00"+name] = struct{}{}
		return nil
	}
	var protocol, metadata bool
	for i, a := range in.Actions {
		var err error
		switch {
		case a.CommitInfo != nil:
			err = fmt.Errorf("plan of %s: action %d is a commitInfo", in.Info.Operation, i)
		case a.Add != nil:
			err = once("add", a.Add.Path)
		case a.Remove != nil:
			err = once("remove", a.Remove.Path)
		case a.CDC != nil:
			err = once("cdc", a.CDC.Path)
		case a.Txn != nil:
			err = once("txn", a.Txn.AppID)
		case a.Domain != nil:
			err = once("domainMetadata", a.Domain.Domain)
		case a.Protocol != nil:
			protocol, err = true, once("protocol", "")
		case a.Metadata != nil:
			metadata, err = true, once("metaData", "")
		}
		if err != nil {
			return err
		}
	}
	if in.TableID == "" && !(protocol && metadata) {
		return fmt.Errorf("plan of %s: version 0 needs a protocol and a metaData action", in.Info.Operation)
	}
	return nil
}

// Proof is the tag whose record, that version or a later one, proves that the work of the commit is in the table;
// nil if there is none. What is recorded says nothing of a tag that is moved back.
func (in *Intent) Proof() *Tag {
	if in.Rewind {
		return nil
	}
	return in.Tag
}

// Blind says whether the commit is a blind append: it only adds, and has read nothing.
func (in *Intent) Blind() bool {
	return in.BlindAppend && !in.Reads.any() &&
		!slices.ContainsFunc(in.Actions, func(a delta.Action) bool { return a.Remove != nil })
}

// rearranges says whether the commit only moves rows between files, so that it need not be ordered
// after files that were added meanwhile (SnapshotIsolation in Spark's words).
func (in *Intent) rearranges() bool {
	if in.DataChange || in.Tag != nil {
		return false
	}
	for _, a := range in.Actions {
		fileOnly := a.Add != nil && !a.Add.DataChange || a.Remove != nil && !a.Remove.DataChange
		if !fileOnly {
			return false
		}
	}
	return true
}

func (in *Intent) level() string {
	if in.rearranges() {
		return "SnapshotIsolation"
	}
	return in.Isolation.String()
}

// Files are the keys of the files that the commit brings into the table. One that stays under another
// deletion vector is not among them: it is the table's whatever becomes of the commit.
func (in *Intent) Files() []string {
	stays := map[string]bool{}
	for _, a := range in.Actions {
		if a.Remove != nil {
			stays[keyOf(a.Remove.Key, a.Remove.Path)] = true
		}
	}
	var keys []string
	for _, a := range in.Actions {
		if a.Add == nil {
			continue
		}
		if key := keyOf(a.Add.Key, a.Add.Path); !stays[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// CloneAppID is the app id under which a copy of a table records the version that it is a copy of.
func CloneAppID(tableID string) string { return namespace + "clone/" + tableID }

// Cleared is the version of a record of what was taken back that has no effect any more.
const Cleared = math.MaxInt64

const namespace = "idem/v1/"

// Reserved says whether an app id is of idem's own name space.
func Reserved(appID string) bool { return strings.HasPrefix(appID, namespace) }

func txn(appID string, version, now int64) delta.Action {
	return delta.Action{Txn: &delta.Txn{AppID: appID, Version: version, LastUpdated: &now}}
}

func (in *Intent) writesTxn(appID string) bool {
	return slices.ContainsFunc(in.Actions, func(a delta.Action) bool { return a.Txn != nil && a.Txn.AppID == appID })
}

// belongsTo says whether appID is the tag's own or one of its companions in our name space.
func (t *Tag) belongsTo(appID string) bool {
	if t == nil {
		return false
	}
	return TaggedApp(appID) == t.AppID
}

// TaggedApp is the app id of the tag that a record of our name space is a companion of, and any other one
// itself.
func TaggedApp(appID string) string {
	rest, ours := strings.CutPrefix(appID, namespace)
	if _, name, ok := strings.Cut(rest, "/"); ours && ok {
		return name
	}
	return appID
}

func keyOf(key, path string) string {
	if key != "" {
		return key
	}
	return path
}

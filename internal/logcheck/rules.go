// Package logcheck says whether a table's log and files keep every rule that a writer must keep.
//
// It reads the whole log and every live file, and of the files of older versions those that are still
// there where a commit says something of rows: that it changes none, which ones it changes, or that
// they keep their ids. It changes nothing. It replays the commits by itself, one after the other, and
// trusts neither a checkpoint nor a checksum, a compaction, a statistic or a digest: it works them out
// again. A rule that is broken is a finding, which names the rule, the version and the file;
// an error is only what kept it from looking (the store, the context, a table feature that idem
// lacks).
//
// Some rules are idem's own and are held against commits that say that idem made them; the others
// hold whoever wrote.
package logcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/idemtable/idem/delta"
)

// Rule is a rule by its id.
type Rule string

// The rules.
const (
	LogName         Rule = "log-name"
	LogGap          Rule = "log-gap"
	LogHint         Rule = "log-hint"
	LogChecksum     Rule = "log-checksum"
	CommitDecode    Rule = "commit-decode"
	CommitInfo      Rule = "commit-info"
	CommitTxnID     Rule = "commit-txn-id"
	CommitZero      Rule = "commit-zero"
	CommitUnique    Rule = "commit-unique"
	CommitReplay    Rule = "commit-replay"
	CommitTableID   Rule = "commit-table-id"
	CommitAppend    Rule = "commit-append-only"
	TxnUpdated      Rule = "txn-updated"
	AddPartitions   Rule = "add-partitions"
	AddValue        Rule = "add-value"
	AddAgain        Rule = "add-again"
	RemoveLive      Rule = "remove-live"
	RemoveMetadata  Rule = "remove-metadata"
	FileMissing     Rule = "file-missing"
	FileSize        Rule = "file-size"
	FileUnreadable  Rule = "file-unreadable"
	StatsRows       Rule = "stats-rows"
	StatsBounds     Rule = "stats-bounds"
	StatsNulls      Rule = "stats-nulls"
	TagFingerprint  Rule = "tag-fingerprint"
	RowNull         Rule = "row-null"
	RowConstraint   Rule = "row-constraint"
	CheckpointEqual Rule = "checkpoint-equal"

	CommitForm      Rule = "commit-form"
	CommitTime      Rule = "commit-time"
	CommitTimeSince Rule = "commit-time-since"
	ProtocolLists   Rule = "protocol-lists"
	ProtocolLowered Rule = "protocol-lowered"
	FeatureUsed     Rule = "feature-used"
	SchemaPartition Rule = "schema-partition"
	TypeChanges     Rule = "type-changes"
	MappingIDs      Rule = "mapping-ids"
	MappingReuse    Rule = "mapping-reuse"
	MappingMax      Rule = "mapping-max"
	IdentityMark    Rule = "identity-mark"
	TxnRecords      Rule = "txn-records"
	AddEmpty        Rule = "add-empty"
	AddVector       Rule = "add-vector"
	VectorForm      Rule = "vector-form"
	VectorFile      Rule = "vector-file"
	VectorStats     Rule = "vector-stats"
	VectorWhole     Rule = "vector-whole"
	DataKept        Rule = "data-kept"
	FeedForm        Rule = "feed-form"
	FeedRows        Rule = "feed-rows"
	FeedMissing     Rule = "feed-missing"
	RowIDMissing    Rule = "row-id-missing"
	RowIDRange      Rule = "row-id-range"
	RowIDMark       Rule = "row-id-mark"
	RowIDVersion    Rule = "row-id-version"
	RowIDStable     Rule = "row-id-stable"
	RowIDUnique     Rule = "row-id-unique"
	RowGenerated    Rule = "row-generated"
	RowIdentity     Rule = "row-identity"
	RowLength       Rule = "row-length"
	RowVariant      Rule = "row-variant"
	FileName        Rule = "file-name"
	FileColumns     Rule = "file-columns"
	StatsTight      Rule = "stats-tight"
	StatsColumns    Rule = "stats-columns"
	StatsLength     Rule = "stats-length"
	ClusterColumns  Rule = "cluster-columns"
	IcebergCompat   Rule = "iceberg-compat"
	CheckpointForm  Rule = "checkpoint-form"
	CheckpointTyped Rule = "checkpoint-typed"
	CompactionEqual Rule = "compaction-equal"

	FeatureLeft    Rule = "feature-left"
	FeatureHistory Rule = "feature-history"
	CheckpointKept Rule = "checkpoint-kept"
	TxnPayload     Rule = "txn-payload"
	TagColumns     Rule = "tag-columns"
)

// rules are the rules in one line each.
var rules = map[Rule]string{
	LogName:         "the log holds no file under a name that an engine could take for something else",
	LogGap:          "versions follow each other without a gap, from 0 or from a checkpoint on",
	LogChecksum:     "the checksum file of a version can be read and is of the table at that version",
	LogHint:         "_last_checkpoint can be read and names a checkpoint that is there, with its sizes",
	CommitDecode:    "every line of a commit is one action as the protocol defines it",
	CommitInfo:      "a commit has a commitInfo; in one of idem it comes first",
	CommitTxnID:     "a commit of idem has a txnId, and no two versions have the same",
	CommitZero:      "version 0 has a protocol and a metaData",
	CommitUnique:    "a commit holds nothing twice: no path, app id, domain, protocol or metaData",
	CommitReplay:    "the commits leave a table that can be read",
	CommitTableID:   "the table's id never changes",
	CommitAppend:    "data are never removed from a table that is append-only",
	TxnUpdated:      "a txn of idem has lastUpdated",
	AddPartitions:   "an add has a value for exactly the partition columns",
	AddValue:        "a partition value is of its column's type, and no empty string",
	AddAgain:        "a commit of idem adds no file as new data that is live",
	RemoveLive:      "a remove names a file that was live before, by the same path and vector",
	RemoveMetadata:  "a remove of idem tells time, partition values and size",
	FileMissing:     "a live file exists",
	FileSize:        "a live file has exactly the size in the log",
	FileUnreadable:  "a live file can be read in the table's schema",
	StatsRows:       "numRecords is the number of rows in the file",
	StatsBounds:     "every value lies within minValues and maxValues",
	StatsNulls:      "nullCount is the number of NULLs",
	TagFingerprint:  "the rows and the digest in a file's tag are those of its rows",
	RowNull:         "a column that is not nullable holds no NULL",
	RowConstraint:   "every row satisfies every CHECK constraint and every invariant of a column",
	CheckpointEqual: "a checkpoint says what the commits say",

	CommitForm:      "a commit holds no action of a checkpoint; one of idem ends in a line feed",
	CommitTime:      "where the table asks for it, commitInfo comes first and has an inCommitTimestamp greater than the one before",
	CommitTimeSince: "the properties say since which version and time commits have their timestamps",
	ProtocolLists:   "the lists of features go with the versions, with each other, and with what the features need",
	ProtocolLowered: "versions never go down and features never go, but by dropping a feature, and then no other than that",
	FeatureUsed:     "what a commit uses is supported by the protocol, and turned on",
	SchemaPartition: "partition columns are columns of the schema, primitive, named once, and not all columns",
	TypeChanges:     "a column's type changes only by widening, and the change is recorded",
	MappingIDs:      "under column mapping every field has an id and a physical name that no other has",
	MappingReuse:    "an id and a physical name belong to each other for ever",
	MappingMax:      "maxColumnId is no less than any id, and never decreases",
	IdentityMark:    "the high-water mark of an identity column only moves in the direction of its step",
	TxnRecords:      "the records beside a tag of idem are whole and say what the tag says",
	AddEmpty:        "idem adds no file without rows",
	AddVector:       "a file gets another vector only when it is removed under the one that it had",
	VectorForm:      "the descriptor of a vector is one that the protocol defines",
	VectorFile:      "a vector's bytes are there, whole, and mark as many rows of the file as the log says",
	VectorStats:     "a file with a vector tells its number of rows, and of idem that bounds are not tight",
	VectorWhole:     "idem removes a file all of whose rows are deleted",
	DataKept:        "file actions without dataChange change no row",
	FeedForm:        "a file of changes says dataChange false, has the partition columns' values, and names a kind for each row",
	FeedRows:        "the files of changes of a commit tell all of its changes",
	FeedMissing:     "idem writes the changes down where files that are added and removed share rows",
	RowIDMissing:    "with row tracking an add has baseRowId and defaultRowCommitVersion",
	RowIDRange:      "row ids of new files are above those given before, within the mark, and overlap with no other's",
	RowIDMark:       "the high-water mark of row ids never decreases",
	RowIDVersion:    "defaultRowCommitVersion is the version that added the file, and stays with the file as baseRowId does",
	RowIDStable:     "a row that a commit says to preserve keeps its id, and its commit version unless it changed",
	RowIDUnique:     "no two rows have one id",
	RowGenerated:    "a generated column is the value of its expression",
	RowIdentity:     "numbers of an identity column are steps from the start, within the mark, and given once",
	RowLength:       "no text is longer than its char or varchar type",
	RowVariant:      "a variant is well-formed",
	FileName:        "a file's name is none that a clean-up would pass over or that belongs to something else",
	FileColumns:     "a file has columns by physical names and ids, and none of type void",
	StatsTight:      "bounds that are not said to be loose are values of the file",
	StatsColumns:    "idem keeps statistics of exactly the columns that the table's properties choose",
	StatsLength:     "bounds of strings are no longer than the table's properties say",
	ClusterColumns:  "clustering columns are columns of the table, and idem keeps statistics of them",
	IcebergCompat:   "a table that is to be read as Iceberg has a mapping, counts of rows, and nothing that Iceberg lacks",
	CheckpointForm:  "a checkpoint has the form that its name and the protocol allow",
	CheckpointTyped: "statistics and partition values in typed form equal those in text",
	CompactionEqual: "a compaction leaves what its commits leave",

	FeatureLeft:    "a feature that goes from the protocol leaves nothing behind: no property, mark, domain, vector, id, nor a file in an older form",
	FeatureHistory: "where readers must know a feature that goes, no version that uses it can be read, or a checkpoint after it stands and is protected",
	CheckpointKept: "checkpoints that are protected go only with all versions before the protected one",
	TxnPayload:     "the rows and the digest beside a tag are those of the rows that the commit wrote",
	TagColumns:     "where columns are mapped, the digest in the tag of a file says of which columns it is",
}

// Rules gives every rule with its text.
func Rules() map[Rule]string {
	out := make(map[Rule]string, len(rules))
	for r, text := range rules {
		out[r] = text
	}
	return out
}

// Finding is one rule broken in one place.
type Finding struct {
	Rule    Rule
	Version int64  // the version that broke it; -1 if it is none's
	File    string // the file concerned: of the log, or of data as its path stands in the log
	Detail  string
}

// String is the finding in one line.
func (f Finding) String() string {
	where := f.File
	if f.Version >= 0 {
		where = fmt.Sprintf("version %d, %s", f.Version, f.File)
	}
	return fmt.Sprintf("%s (%s): %s: %s", f.Rule, where, rules[f.Rule], f.Detail)
}

// Report is what a check saw. Version is the newest that it could replay, -1 for none; when a
// finding stops the replay, files are not looked at.
type Report struct {
	Version  int64
	Files    int
	Rows     int64
	Findings []Finding
}

// maxShown bounds the text of Err.
const maxShown = 20

// Err is nil if every rule is kept, else an error with the findings that wraps delta.ErrCorrupt.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	var b strings.Builder
	for i, f := range r.Findings {
		if i == maxShown {
			fmt.Fprintf(&b, "\n… and %d more", len(r.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s", f)
	}
	return fmt.Errorf("%d rules of a writer are broken: %w%s", len(r.Findings), delta.ErrCorrupt, b.String())
}

// broken says whether an error is about the table, not about reaching it.
func broken(err error) bool {
	return errors.Is(err, delta.ErrCorrupt) && !errors.Is(err, delta.ErrUnsupported)
}

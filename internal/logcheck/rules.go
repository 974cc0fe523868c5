// Package logcheck says whether a table's log and files keep every rule that a writer must keep.
//
// It reads the whole log and every live file and changes nothing. It replays the commits by itself,
// one after the other, and trusts neither a checkpoint nor a statistic nor a digest: it works them
// out again. A rule that is broken is a finding, which names the rule, the version and the file;
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
)

// rules are the rules in one line each.
var rules = map[Rule]string{
	LogName:         "the log holds no file under a name that an engine could take for something else",
	LogGap:          "versions follow each other without a gap, from 0 or from a checkpoint on",
	LogChecksum:     "the checksum file of a version can be read and is of the table at that version",
	LogHint:         "_last_checkpoint can be read and names a checkpoint that is there",
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
	RowConstraint:   "every row satisfies every CHECK constraint",
	CheckpointEqual: "a checkpoint says what the commits say",
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

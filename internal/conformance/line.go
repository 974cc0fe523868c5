package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Line is what a corpus says about one table. A nil or absent field claims nothing.
type Line struct {
	Table    string   `json:"table"`
	Features []string `json:"features"`
	Needs    []string `json:"required_reader_features"`

	Outcome     string `json:"outcome"` // "read" or "refuse"
	Alternative string `json:"alternative_outcome"`
	Lenient     any    `json:"lenient"` // a text, or true
	Why         string `json:"why"`
	Template    bool   `json:"template"`

	Protocol *struct {
		Reader int `json:"minReaderVersion"`
	} `json:"protocol"`
	Version          *int64               `json:"version"`
	Files            *int                 `json:"num_files"`
	Rows             *int64               `json:"rows"`
	Hash             string               `json:"rows_sha256"`
	OtherHashes      map[string]string    `json:"alternative_rows_sha256"` // by version
	Data             json.RawMessage      `json:"expected_data"`           // rows, or the path of a directory of Parquet files
	DataAbsent       int                  `json:"data_files_absent"`
	Schema           string               `json:"schema"`
	SparkSchema      string               `json:"schema_spark"`
	PartitionColumns []string             `json:"partition_columns"`
	Tombstones       *int                 `json:"num_tombstones"`
	Txns             map[string]int64     `json:"txns"`
	Domains          []string             `json:"domains"`
	DomainTexts      map[string]string    `json:"domain_configurations"`
	Configuration    map[string]string    `json:"configuration"`
	NamedFiles       map[string]NamedFile `json:"files_expected"`
	CheckpointUsed   string               `json:"checkpoint_used"` // "10:classic"
	Versions         []VersionLine        `json:"versions"`
	VersionData      map[string]string    `json:"expected_versions"` // version to directory
	Unreadable       []int64              `json:"unreadable_versions"`
	CommitTimes      map[string]int64     `json:"commit_timestamps"` // version to milliseconds
	TimestampTravel  []TimestampLine      `json:"timestamp_travel"`
	Conditions       []ConditionLine      `json:"predicate_checks"`
	RowTracking      []RowTrackingLine    `json:"row_tracking"`
	Write            string               `json:"write"` // "refuse", "allow", "refuse unless …"
	WriteRules       map[string]string    `json:"write_rules"`
	WriteChecks      []WriteLine          `json:"write_checks"`
	Feeds            []FeedLine           `json:"cdf"`
	FeedRanges       struct {
		Ok     [][2]int64 `json:"ok"`
		Refuse [][2]int64 `json:"refuse"`
	} `json:"cdf_ranges"`
}

// FeedLine is what is claimed of the change data feed over a range of versions. A nil End is the
// newest version.
type FeedLine struct {
	Start     int64            `json:"start"`
	End       *int64           `json:"end"`
	Count     *int64           `json:"num_rows"`
	ByType    map[string]int64 `json:"by_type"`
	ByVersion map[string]int64 `json:"by_version"`
	Rows      json.RawMessage  `json:"rows"`
	Hash      string           `json:"rows_sha256"`

	// Own false says that the corpus has its rows from a reader that is less strict than the
	// protocol: to refuse the range as corrupt is right, too.
	Own *bool `json:"matches_own_computation"`
}

// NamedFile is what is claimed of one live file.
type NamedFile struct {
	ModificationTime *int64 `json:"modificationTime"`
}

// VersionLine is what is claimed of an earlier version.
type VersionLine struct {
	Version int64  `json:"version"`
	Files   *int   `json:"num_files"`
	Rows    *int64 `json:"rows"`
	Hash    string `json:"rows_sha256"`
	Error   string `json:"error"`
}

// TimestampLine is what is claimed of the table as of an instant.
type TimestampLine struct {
	Timestamp string `json:"timestamp"`
	Rows      *int64 `json:"rows"`
	Hash      string `json:"rows_sha256"`
	Refused   string `json:"refused"`
}

// ConditionLine is what is claimed of the rows that satisfy a condition.
type ConditionLine struct {
	Predicate  string `json:"predicate"`
	Rows       *int64 `json:"rows"`
	FilesAfter *int   `json:"files_after_skipping"`
	Refused    string `json:"refused"`
}

// ExpectedFile is the name of the file that describes a corpus.
const ExpectedFile = "expected.jsonl"

// Load reads the lines of the corpus in a directory. A corpus without a line is an error.
func Load(dir string) ([]Line, error) {
	f, err := os.Open(filepath.Join(dir, ExpectedFile))
	if err != nil {
		return nil, fmt.Errorf("open the corpus: %w", err)
	}
	defer f.Close()
	lines, err := decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return lines, nil
}

func decode(r io.Reader) ([]Line, error) {
	var lines []Line
	in := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(text))) > 0 {
			var l Line
			if err := json.Unmarshal(text, &l); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if l.Table == "" || l.Outcome != "read" && l.Outcome != "refuse" {
				return nil, fmt.Errorf("line %d: the table is %q and the outcome %q", n, l.Table, l.Outcome)
			}
			lines = append(lines, l)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no line")
	}
	return lines, nil
}

// tagged says whether the line has a feature tag.
func (l *Line) tagged(tag string) bool { return slices.Contains(l.Features, tag) }

// mayRefuse says whether the line allows a table that is to be read to be refused.
func (l *Line) mayRefuse() bool {
	return strings.HasPrefix(l.Alternative, "refuse") || l.Lenient != nil && l.Lenient != false && l.Lenient != ""
}

// mayRead says whether the line allows a table that is to be refused to be read.
func (l *Line) mayRead() bool { return strings.HasPrefix(l.Alternative, "read") }

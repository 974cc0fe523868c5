package delta

import (
	"fmt"
	"strconv"
	"strings"
)

// LogDir is the directory of the log below the table's root, with its slash.
const LogDir = "_delta_log/"

// LastCheckpointKey is the key of the hint file.
const LastCheckpointKey = LogDir + "_last_checkpoint"

// LogFileKind says what a file in the log is.
type LogFileKind int

// The kinds. Other is everything whose name the protocol does not define; it is ignored.
const (
	Other LogFileKind = iota
	Commit
	Checkpoint     // classic, V.checkpoint.parquet
	CheckpointPart // one of a multi-part checkpoint
	CheckpointUUID // V2 naming
	Compaction
	Checksum
)

// LogFile is a file name of the log, understood.
type LogFile struct {
	Kind        LogFileKind
	Version     int64  // of a compaction: the first version
	End         int64  // of a compaction: the last version
	Part, Parts int    // of a multi-part checkpoint, from 1
	Ext         string // of a UUID checkpoint: "json" or "parquet"
	Name        string // base name
}

// The digits of a version and of a checkpoint's part in a file name.
const (
	versionDigits = 20
	partDigits    = 10
)

// ParseLogFile understands the base name of a file in the log, or its key. Only the exact names of
// the protocol count: a short number, a temporary file, a file in a directory below the log and a
// version beyond 63 bits are Other.
func ParseLogFile(name string) LogFile {
	name = strings.TrimPrefix(name, LogDir)
	other := LogFile{Kind: Other, Name: name}
	version, rest, ok := cutNumber(name, versionDigits)
	if !ok {
		return other
	}
	f := LogFile{Version: version, Name: name}
	switch {
	case rest == ".json":
		f.Kind = Commit
	case rest == ".crc":
		f.Kind = Checksum
	case rest == ".checkpoint.parquet":
		f.Kind = Checkpoint
	case strings.HasPrefix(rest, ".checkpoint."):
		return parseCheckpoint(f, rest[len(".checkpoint."):], other)
	case strings.HasSuffix(rest, ".compacted.json") && rest[0] == '.':
		end, tail, ok := cutNumber(rest[1:], versionDigits)
		if !ok || tail != ".compacted.json" || end <= version {
			return other
		}
		f.Kind, f.End = Compaction, end
	default:
		return other
	}
	return f
}

// parseCheckpoint understands what follows "V.checkpoint." in the name of a multi-part or a UUID
// checkpoint.
func parseCheckpoint(f LogFile, rest string, other LogFile) LogFile {
	if part, tail, ok := cutNumber(rest, partDigits); ok && strings.HasPrefix(tail, ".") {
		parts, tail, ok := cutNumber(tail[1:], partDigits)
		if !ok || tail != ".parquet" || part < 1 || part > parts || parts < 2 {
			return other
		}
		f.Kind, f.Part, f.Parts = CheckpointPart, int(part), int(parts)
		return f
	}
	uuid, ext, ok := strings.Cut(rest, ".")
	if !ok || !isUUID(uuid) || ext != "json" && ext != "parquet" {
		return other
	}
	f.Kind, f.Ext = CheckpointUUID, ext
	return f
}

// cutNumber takes exactly n digits off the front; ok is false if they are not there or overflow.
func cutNumber(s string, n int) (number int64, rest string, ok bool) {
	if len(s) < n {
		return 0, s, false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return 0, s, false
		}
	}
	number, err := strconv.ParseInt(s[:n], 10, 64)
	return number, s[n:], err == nil
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// CommitKey is the key of the commit of a version.
func CommitKey(version int64) string { return fmt.Sprintf("%s%020d.json", LogDir, version) }

// CheckpointKey is the key of the classic checkpoint of a version.
func CheckpointKey(version int64) string {
	return fmt.Sprintf("%s%020d.checkpoint.parquet", LogDir, version)
}

// CheckpointPartKey is the key of one part, from 1, of a multi-part checkpoint.
func CheckpointPartKey(version int64, part, parts int) string {
	return fmt.Sprintf("%s%020d.checkpoint.%010d.%010d.parquet", LogDir, version, part, parts)
}

// CompactionKey is the key of the compaction of the commits first to last.
func CompactionKey(first, last int64) string {
	return fmt.Sprintf("%s%020d.%020d.compacted.json", LogDir, first, last)
}

// ChecksumKey is the key of the checksum of a version.
func ChecksumKey(version int64) string { return fmt.Sprintf("%s%020d.crc", LogDir, version) }

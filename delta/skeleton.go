package delta

// SKELETON: signatures that other rooms rely on. Each moves to the file named beside it when built.

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// ---- name.go

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

func ParseLogFile(name string) LogFile                        { panic("skeleton") }
func CommitKey(version int64) string                          { panic("skeleton") } // "_delta_log/%020d.json"
func CheckpointKey(version int64) string                      { panic("skeleton") }
func CheckpointPartKey(version int64, part, parts int) string { panic("skeleton") }
func CompactionKey(first, last int64) string                  { panic("skeleton") }
func ChecksumKey(version int64) string                        { panic("skeleton") }

// ---- decode.go / encode.go

// DecodeCommit reads a commit file. name is used in errors.
func DecodeCommit(name string, data []byte) ([]Action, error) { panic("skeleton") }

// EncodeCommit writes a commit file: commitInfo first, one action a line.
func EncodeCommit(actions []Action) ([]byte, error) { panic("skeleton") }

// TxnID reads only the commitInfo.txnId of a commit file ("" if it has none), cheaply.
func TxnID(data []byte) string { panic("skeleton") }

// ---- lastcheckpoint.go

// LastCheckpoint is the hint file.
type LastCheckpoint struct {
	Version       int64
	Size          int64 // actions
	Parts         int   // 0: not multi-part
	SizeInBytes   int64
	NumOfAddFiles int64
}

func DecodeLastCheckpoint(data []byte) (LastCheckpoint, error) { panic("skeleton") }
func (c LastCheckpoint) Encode() []byte                        { panic("skeleton") }

// ---- protocol.go / features.go

// GateRead is nil if idem may read a table with this protocol and metadata; else it wraps ErrUnsupported (names
// the features) or ErrCorrupt (malformed lists).
func GateRead(p *Protocol, m *Metadata, s *Struct) error { panic("skeleton") }

// GateWrite is the same for writing; it implies GateRead.
func GateWrite(p *Protocol, m *Metadata, s *Struct) error { panic("skeleton") }

// ProtocolFor is the lowest protocol that expresses what the definition uses.
func ProtocolFor(m *Metadata, s *Struct) Protocol { panic("skeleton") }

// ---- schema.go

// Type is a column's type: Primitive, Decimal, *Struct, *Array or *Map.
type Type interface {
	String() string // as in the schema's JSON for primitives; simpleString for nested types
	isType()
}

// Primitive is a type named by a word.
type Primitive string

const (
	String       Primitive = "string"
	Long         Primitive = "long"
	Integer      Primitive = "integer"
	Short        Primitive = "short"
	Byte         Primitive = "byte"
	Float        Primitive = "float"
	Double       Primitive = "double"
	Boolean      Primitive = "boolean"
	Binary       Primitive = "binary"
	Date         Primitive = "date"
	Timestamp    Primitive = "timestamp"
	TimestampNTZ Primitive = "timestamp_ntz"
	Void         Primitive = "void"
	Variant      Primitive = "variant"
)

// Decimal is a fixed-point type.
type Decimal struct{ Precision, Scale int }

// Struct is a schema, or a column of fields.
type Struct struct{ Fields []Field }

// Array is a list of elements.
type Array struct {
	Element      Type
	ContainsNull bool
}

// Map is a list of entries.
type Map struct {
	Key, Value        Type
	ValueContainsNull bool
}

// Field is a named column.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Metadata map[string]json.RawMessage
}

// ParseSchema reads a schemaString.
func ParseSchema(text string) (*Struct, error) { panic("skeleton") }

// JSON is the schemaString.
func (s *Struct) JSON() string { panic("skeleton") }

// Index finds a top-level column, ignoring case; -1 if there is none.
func (s *Struct) Index(name string) int { panic("skeleton") }

// ArrowType gives the Arrow type in which idem holds a column: utf8, int64 … , date32, timestamp[us, UTC] for timestamp,
// timestamp[us] for timestamp_ntz, decimal128, binary, struct, list, map.
func ArrowType(t Type) (arrow.DataType, error) { panic("skeleton") }

// ArrowSchema gives the Arrow schema of rows, all columns, partition columns at their place.
func ArrowSchema(s *Struct) (*arrow.Schema, error) { panic("skeleton") }

// FromArrow gives the schema that holds rows of an Arrow schema (any integer width that Delta has, large/view/dictionary strings as
// string, timestamps of any unit as timestamp or timestamp_ntz); a type that Delta lacks is ErrInput naming the column.
func FromArrow(s *arrow.Schema) (*Struct, error) { panic("skeleton") }

// ValidateNew checks a schema and partition columns for a new table (names, case twins, types, partition columns).
func ValidateNew(s *Struct, partitionBy []string) error { panic("skeleton") }

// ---- partition.go

// ParsePartitionValue reads a value from the log. nil and "" are NULL (an invalid scalar of the type).
func ParsePartitionValue(t Type, text *string) (scalar.Scalar, error) { panic("skeleton") }

// FormatPartitionValue writes one; nil is NULL, and so is an empty string or binary.
func FormatPartitionValue(t Type, v scalar.Scalar) (*string, error) { panic("skeleton") }

// PartitionDir is the conventional directory of a file, "day=2013-01-01/", "" without partition columns; unescaped for URIs.
func PartitionDir(columns []string, values map[string]*string) string { panic("skeleton") }

// ---- path.go

// ResolvePath decodes a path of the log once and gives the key below root (a URL). A path that leaves the root is an error:
// ErrCorrupt if it tries to (".."), ErrUnsupported if it is absolute and elsewhere.
func ResolvePath(root, path string) (key string, err error) { panic("skeleton") }

// EncodePath is the inverse for keys that idem makes.
func EncodePath(key string) string { panic("skeleton") }

// ---- stats.go

// Stats are a file's statistics.
type Stats struct {
	NumRecords  *int64
	TightBounds *bool
	raw         map[string]json.RawMessage // minValues, maxValues, nullCount; parsed when asked
}

// ParseStats reads the JSON text. Bad statistics are no statistics: ok is false.
func ParseStats(text string) (st *Stats, ok bool) { panic("skeleton") }

// Column gives a leaf's bounds, nil where unknown. max of a timestamp has the slack of a millisecond added, of a truncated string
// is an upper bound. nulls is -1 if unknown.
func (st *Stats) Column(path []string, t Type) (min, max scalar.Scalar, nulls int64) {
	panic("skeleton")
}

// StatsBuilder gathers statistics of the batches of one file.
type StatsBuilder struct{}

// NewStatsBuilder gathers for the data columns (not partition columns) of s by the table's properties
// (dataSkippingNumIndexedCols, dataSkippingStatsColumns, dataSkippingStringPrefixLength).
func NewStatsBuilder(s *Struct, partitionBy []string, configuration map[string]string) *StatsBuilder {
	panic("skeleton")
}

// Add takes a batch whose columns are the data columns of s in order, with ArrowType types.
func (b *StatsBuilder) Add(batch arrow.RecordBatch) error { panic("skeleton") }

// JSON is the text for add.stats.
func (b *StatsBuilder) JSON() string { panic("skeleton") }

// ---- snapshot.go

// Snapshot is a table at a version: immutable.
type Snapshot struct{}

func (s *Snapshot) Version() int64                     { panic("skeleton") }
func (s *Snapshot) Protocol() *Protocol                { panic("skeleton") }
func (s *Snapshot) Metadata() *Metadata                { panic("skeleton") }
func (s *Snapshot) Schema() *Struct                    { panic("skeleton") }
func (s *Snapshot) ArrowSchema() *arrow.Schema         { panic("skeleton") }
func (s *Snapshot) PartitionColumns() []string         { panic("skeleton") } // names as the schema spells them
func (s *Snapshot) DataSchema() *arrow.Schema          { panic("skeleton") } // ArrowSchema without partition columns
func (s *Snapshot) Property(key string) (string, bool) { panic("skeleton") } // exact key, e.g. "delta.appendOnly"
func (s *Snapshot) Files() iter.Seq[*Add]              { panic("skeleton") } // deterministic order
func (s *Snapshot) NumFiles() int                      { panic("skeleton") }
func (s *Snapshot) SizeInBytes() int64                 { panic("skeleton") }
func (s *Snapshot) Live(key string) (*Add, bool)       { panic("skeleton") } // by decoded key
func (s *Snapshot) Tombstones() iter.Seq[*Remove]      { panic("skeleton") }
func (s *Snapshot) Txn(appID string) (Txn, bool)       { panic("skeleton") } // last record wins
func (s *Snapshot) Txns() iter.Seq[Txn]                { panic("skeleton") } // sorted by app id
func (s *Snapshot) Domains() iter.Seq[DomainMetadata]  { panic("skeleton") }

// Advance applies the next commit (s.Version()+1) and shares what did not change.
func (s *Snapshot) Advance(version int64, actions []Action) (*Snapshot, error) { panic("skeleton") }

// CheckpointActions yields the actions of a checkpoint of s: tombstones newer than the retention, no expired txns unless
// retention says so, dataChange false.
func (s *Snapshot) CheckpointActions(now time.Time) iter.Seq[Action] { panic("skeleton") }

// Replay folds a checkpoint and commits into a Snapshot.
type Replay struct{}

// NewReplay starts a replay. root resolves paths. Statistics of adds from checkpoints may be left out (StatsDeferred set by the reader).
func NewReplay(root string) *Replay { panic("skeleton") }

// Checkpoint takes one action of a checkpoint.
func (r *Replay) Checkpoint(a Action) error { panic("skeleton") }

// Commit takes a commit, or the actions of a compaction whose last version is version. Versions ascend.
func (r *Replay) Commit(version int64, actions []Action) error { panic("skeleton") }

// Snapshot ends the replay: exactly one protocol and metadata must stand (else ErrCorrupt). It does not gate.
func (r *Replay) Snapshot(version int64) (*Snapshot, error) { panic("skeleton") }

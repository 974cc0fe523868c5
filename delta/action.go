package delta

// Action is one line of a commit: exactly one member is set. The zero Action is a line whose
// action idem does not know; it is skipped.
type Action struct {
	CommitInfo         *CommitInfo
	Protocol           *Protocol
	Metadata           *Metadata
	Txn                *Txn
	Domain             *DomainMetadata
	Add                *Add
	Remove             *Remove
	CDC                *CDC
	CheckpointMetadata *CheckpointMetadata
	Sidecar            *Sidecar
}

// Metadata is the table's definition. A later one replaces an earlier one entirely.
type Metadata struct {
	ID               string
	Name             string
	Description      string
	Provider         string // "parquet" is the only one that exists
	FormatOptions    map[string]string
	SchemaString     string
	PartitionColumns []string // logical names
	Configuration    map[string]string
	CreatedTime      *int64 // milliseconds since the epoch
}

// Protocol says what a client must be able to do. A nil list is an absent list.
type Protocol struct {
	MinReaderVersion int
	MinWriterVersion int
	ReaderFeatures   []string
	WriterFeatures   []string
}

// Add makes a logical file (path, vector) live. Stats and Tags are as in the log.
type Add struct {
	Path             string // verbatim, percent-encoded; Key is the decoded form
	Key              string // as Locate gives it: the object's key below the table's root; "" until then
	PartitionValues  map[string]*string
	Size             int64
	ModificationTime int64 // milliseconds since the epoch
	DataChange       bool
	Stats            string // JSON text; "" when absent or, with StatsDeferred, left in the checkpoint
	StatsDeferred    bool   // the file may have statistics that the snapshot did not keep
	Tags             map[string]string
	DeletionVector   *DeletionVector
	BaseRowID        *int64
	CommitVersion    *int64 // defaultRowCommitVersion
	ClusteredBy      string // clusteringProvider
}

// Remove ends the life of a logical file and is its tombstone until it expires.
type Remove struct {
	Path              string
	Key               string
	DeletionTimestamp *int64 // milliseconds since the epoch; absent counts as 0
	DataChange        bool
	ExtendedMetadata  bool // PartitionValues and Size are filled
	PartitionValues   map[string]*string
	Size              *int64
	Stats             string
	Tags              map[string]string
	DeletionVector    *DeletionVector
	BaseRowID         *int64
	CommitVersion     *int64
}

// CDC names a file of row changes. It is no part of a table's state.
type CDC struct {
	Path            string
	PartitionValues map[string]*string
	Size            int64
	Tags            map[string]string
}

// DeletionVector describes the rows of a file that are deleted.
type DeletionVector struct {
	StorageType    string // "u", "i" or "p"
	PathOrInlineDV string
	Offset         *int32
	SizeInBytes    int32
	Cardinality    int64
}

// Txn records the last version that the writer AppID has applied.
type Txn struct {
	AppID       string
	Version     int64
	LastUpdated *int64 // milliseconds since the epoch
}

// DomainMetadata is a named piece of configuration. Removed makes it a tombstone.
type DomainMetadata struct {
	Domain        string
	Configuration string
	Removed       bool
}

// CheckpointMetadata occurs in V2 checkpoints only.
type CheckpointMetadata struct {
	Version int64
	Tags    map[string]string
}

// Sidecar occurs in V2 checkpoints only.
type Sidecar struct {
	Path             string
	SizeInBytes      int64
	ModificationTime int64
	Tags             map[string]string
}

// CommitInfo says who made a commit and how. Only the fields below are interpreted; the rest of
// what another writer put there is kept out of the way and lost on nobody.
type CommitInfo struct {
	Timestamp           int64 // milliseconds since the epoch
	Operation           string
	OperationParameters map[string]any // values as JSON decodes them, numbers as json.Number
	ReadVersion         *int64
	IsolationLevel      string
	IsBlindAppend       *bool
	OperationMetrics    map[string]string
	EngineInfo          string
	TxnID               string
	InCommitTimestamp   *int64
	UserMetadata        string
	Tags                map[string]string
}

// InfoOf is the commitInfo among the actions of a commit, nil if its writer left none.
func InfoOf(actions []Action) *CommitInfo {
	for _, a := range actions {
		if a.CommitInfo != nil {
			return a.CommitInfo
		}
	}
	return nil
}

package delta

// The columns in which idem hands out what row tracking knows of rows: int64, nullable, named as Spark
// shows them.
const (
	// RowIDColumn is the row's stable id.
	RowIDColumn = "_metadata.row_id"

	// RowCommitVersionColumn is the version that last changed the row.
	RowCommitVersionColumn = "_metadata.row_commit_version"
)

const (
	keyRowTracking    = "delta.enableRowTracking"
	keyRowIDs         = "delta.rowTracking.materializedRowIdColumnName"
	keyCommitVersions = "delta.rowTracking.materializedRowCommitVersionColumnName"
)

// TracksRows says whether every row of the table has a stable id: row tracking is supported by the
// protocol and enabled.
func (s *Snapshot) TracksRows() bool {
	return s.state.protocol.Supports("rowTracking") && isTrue(s.state.metadata, keyRowTracking)
}

// MaterialisedRowIDs gives the names of the columns in which data files may hold the ids and the commit
// versions of rows that came from other files; "" where the table names none. They are not in the
// schema.
func (s *Snapshot) MaterialisedRowIDs() (ids, versions string) {
	if !s.TracksRows() {
		return "", ""
	}
	conf := s.state.metadata.Configuration
	return conf[keyRowIDs], conf[keyCommitVersions]
}

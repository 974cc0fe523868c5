package interop_test

// The page docs/compatibility.md, as data. A test is "package Test", the package as a directory of
// the module; the root's is ".".

// told is what the page says of a feature beside delta/features.go: how it is read and by which verbs it
// is written, each with a test that shows it. The cases of TestFeatures that have the feature are found
// by themselves.
type told struct {
	read, write string // tests
	verbs       string // "" is every verb
	note        string
	reading     string // "" is yes
}

const (
	noDuty   = "a reader has nothing to do"
	collated = "yes, but a comparison of a column with a collation is refused by the feature's name"
)

var toldOfFeatures = map[string]told{
	"appendOnly":                  {write: ". TestClausesOnAnAppendOnlyTable", verbs: "Append, AppendWithTxn, Optimize, and merges that only insert; the others are refused"},
	"invariants":                  {write: "internal/plan TestValidateConditions"},
	"checkConstraints":            {write: "internal/plan TestValidateConditions"},
	"changeDataFeed":              {read: "changes TestWhatAVersionChanged", write: "internal/plan TestVerbsOnEveryTable"},
	"generatedColumns":            {read: "delta/scan TestPruneByGeneratedColumns", write: "internal/plan TestFillGenerated"},
	"columnMapping":               {read: "delta/scan TestRenamedColumnsAtEveryLevel", write: "internal/plan TestVerbsOnEveryTable"},
	"identityColumns":             {write: ". TestNumbersAreNoChange"},
	"deletionVectors":             {read: "delta/scan TestDeletedRowsNeverComeBack", write: "internal/plan TestVectorsGrow"},
	"timestampNtz":                {read: "internal/parquetio TestTimestamps", write: "internal/interop TestEnginesReadWhatEachVerbWrote"},
	"v2Checkpoint":                {read: "internal/logio TestV2Checkpoints", write: "internal/logio TestV2CheckpointsAreWritten"},
	"typeWidening":                {read: "internal/parquetio TestWidening", write: "delta TestWidenColumn"},
	"typeWidening-preview":        {read: "delta TestTypeChangesGate", write: "delta TestTypeChangesGate"},
	"variantType":                 {read: "internal/parquetio TestShreddedVariants", write: "internal/parquetio TestWriteVariants"},
	"variantType-preview":         {read: "internal/parquetio TestCorpusTables", write: "delta TestGates"},
	"variantShredding":            {read: "internal/parquetio TestShreddedVariants", write: "internal/parquetio TestWriteVariants", note: "written whole, which the feature allows"},
	"variantShredding-preview":    {read: "internal/parquetio TestCorpusTables", write: "delta TestGates", note: "written whole, which the feature allows"},
	"vacuumProtocolCheck":         {read: "delta TestGates", write: "maintain TestVacuumRefusesATableThatItCannotWrite"},
	"domainMetadata":              {read: "delta TestTxnsAndDomains", write: "delta TestTxnsAndDomains"},
	"rowTracking":                 {read: ". TestScanGivesRowIDs", write: "internal/plan TestMergesOfTablesThatAskForMore"},
	"clustering":                  {write: "maintain TestEveryOperationOnEveryKindOfTable"},
	"inCommitTimestamp":           {read: "internal/logio TestVersionAtByCommitTimestamps", write: "internal/commit TestInCommitTimestamp"},
	"allowColumnDefaults":         {write: "internal/plan TestFillDefaults"},
	"collations":                  {read: ". TestColumnsWithACollation", reading: collated},
	"collations-preview":          {read: ". TestColumnsWithACollation", reading: collated},
	"icebergCompatV1":             {write: "internal/plan TestFileLayout"},
	"icebergCompatV2":             {write: "internal/plan TestFileLayout"},
	"materializePartitionColumns": {write: "internal/plan TestFileLayout"},
	"checkpointProtection":        {write: "internal/logio TestCleanUpOfProtectedCheckpoints"},
}

// property is what the page says of a table property.
type property struct {
	key, standard, honoured, test string
}

const kept = "kept for others; idem does nothing by it"

var toldOfProperties = []property{
	{"delta.appendOnly", "false", "every verb", ". TestClausesOnAnAppendOnlyTable"},
	{"delta.autoOptimize", "false", kept, "delta TestRefuseUnknownProperties"},
	{"delta.autoOptimize.autoCompact", "unset", kept, "delta TestRefuseUnknownProperties"},
	{"delta.autoOptimize.optimizeWrite", "unset", kept, "delta TestRefuseUnknownProperties"},
	{"delta.castIcebergTimeType", "false", kept, "delta TestRefuseUnknownProperties"},
	{"delta.checkpoint.writeStatsAsJson", "true", "checkpoints", "internal/logio TestFormsOfStatistics"},
	{"delta.checkpoint.writeStatsAsStruct", "false", "checkpoints", "internal/logio TestFormsOfStatistics"},
	{"delta.checkpointInterval", "10", "every commit", "delta TestProperties"},
	{"delta.checkpointPolicy", "classic", "checkpoints", "internal/logio TestV2CheckpointsAreWritten"},
	{"delta.checkpointRetentionDuration", "interval 2 days", kept, "delta TestRefuseUnknownProperties"},
	{"delta.columnMapping.maxColumnId", "0", "Evolve and edits of columns; not to be set", "delta TestEvolvedUnderColumnMapping"},
	{"delta.columnMapping.mode", "none", "every read and write", "delta TestMappingIsHonouredWhereTheProtocolSupportsIt"},
	{"delta.compatibility.symlinkFormatManifest.enabled", "false", "refused where it is turned on: idem writes no manifests", "delta TestSetPropertiesRefuses"},
	{"delta.constraints.*", "none", "every verb that writes rows", "internal/plan TestValidateConditions"},
	{"delta.dataSkippingNumIndexedCols", "32", "statistics of written files", "delta TestStatsBuilder"},
	{"delta.dataSkippingStatsColumns", "unset", "statistics of written files", "delta TestStatsBuilder"},
	{"delta.dataSkippingStringPrefixLength", "32", "statistics of written files", "delta TestStatsBuilder"},
	{"delta.deletedFileRetentionDuration", "interval 1 week", "checkpoints, Vacuum", "maintain TestVacuumRetention"},
	{"delta.dropFeatureTruncateHistory.retentionDuration", "interval 24 hours", "dropping of features", "delta TestDropFeature"},
	{"delta.enableChangeDataFeed", "false", "every verb, package changes", "internal/plan TestVerbsOnEveryTable"},
	{"delta.enableDeletionVectors", "false", "ReplaceWhere, Merge, Delete", "internal/plan TestVectorsGrow"},
	{"delta.enableExpiredLogCleanup", "true", "clean-up of the log", "maintain TestCleanUpLogThatIsTurnedOff"},
	{"delta.enableFullRetentionRollback", "true", kept, "delta TestRefuseUnknownProperties"},
	{"delta.enableIcebergCompatV1", "false", "every verb", "internal/plan TestFileLayout"},
	{"delta.enableIcebergCompatV2", "false", "every verb", "internal/plan TestFileLayout"},
	{"delta.enableIcebergCompatV3", "false", "refused with its feature", "delta TestGates"},
	{"delta.enableInCommitTimestamps", "false", "every commit, time travel", "internal/commit TestInCommitTimestamp"},
	{"delta.enableMaterializePartitionColumnsFeature", "unset", "every verb that writes rows", "internal/plan TestFileLayout"},
	{"delta.enableRowTracking", "false", "every commit, Scan.RowIDs", "internal/commit TestRowIDs"},
	{"delta.enableTypeWidening", "false", "edits of columns", "delta TestWidenColumn"},
	{"delta.enableVariantShredding", "false", "kept: variants are written whole", "internal/parquetio TestWriteVariants"},
	{"delta.ignoreIcebergBucketPartition", "false", kept, "delta TestRefuseUnknownProperties"},
	{"delta.ignoreProtocolDefaults", "false", kept, "delta TestRefuseUnknownProperties"},
	{"delta.inCommitTimestampEnablementTimestamp", "unset", "time travel, History; not to be set", "internal/commit TestTurningTimestampsOn"},
	{"delta.inCommitTimestampEnablementVersion", "unset", "time travel, History; not to be set", "internal/commit TestTurningTimestampsOn"},
	{"delta.isolationLevel", "Serializable", "every commit", "internal/commit TestMatrixWriteSerializable"},
	{"delta.lastCommitTimestamp", "unset", "a catalog's; not to be set", "delta TestSetPropertiesRefuses"},
	{"delta.lastUpdateVersion", "unset", "a catalog's; not to be set", "delta TestSetPropertiesRefuses"},
	{"delta.logRetentionDuration", "interval 30 days", "clean-up of the log", "internal/logio TestCleanUp"},
	{"delta.parquet.compression.codec", "snappy", "every verb that writes rows", "internal/plan TestFileSetCompression"},
	{"delta.parquet.format.version", "1.0.0", "every verb that writes rows", "internal/plan TestFileSetFormatVersion"},
	{"delta.randomPrefixLength", "2", "names of files", "internal/plan TestFileLayout"},
	{"delta.randomizeFilePrefixes", "false", "names of files", "internal/plan TestFileLayout"},
	{"delta.requireCheckpointProtectionBeforeVersion", "0", "clean-up of the log; not to be set", "internal/logio TestCleanUpOfProtectedCheckpoints"},
	{"delta.rowTracking.materializedRowCommitVersionColumnName", "unset", "every copy of rows; not to be set", "delta TestMaterialisedRowIDsAreStoredUnderTheirNames"},
	{"delta.rowTracking.materializedRowIdColumnName", "unset", "every copy of rows; not to be set", "delta TestMaterialisedRowIDsAreStoredUnderTheirNames"},
	{"delta.rowTrackingSuspended", "false", "every commit", "internal/commit TestRowIDs"},
	{"delta.sampleRetentionDuration", "interval 7 days", kept, "delta TestRefuseUnknownProperties"},
	{"delta.sampling.enabled", "false", kept, "delta TestRefuseUnknownProperties"},
	{"delta.setTransactionRetentionDuration", "unset", "tags: the result tells the horizon", "delta TestTxnsAndDomains"},
	{"delta.targetFileSize", "unset", "every verb that writes rows, Optimize", "internal/plan TestFileSetClosesFilesAtTheTarget"},
	{"delta.tuneFileSizesForRewrites", "unset", kept, "delta TestRefuseUnknownProperties"},
	{"delta.universalFormat.enabledFormats", "unset", "refused where it is turned on: idem writes no other format's metadata", "delta TestSetPropertiesRefuses"},
	{"delta.universalFormat.iceberg.atomicConversion.supported", "unset", kept, "delta TestRefuseUnknownProperties"},
	{"delta.writePartitionColumnsToParquet", "unset", "every verb that writes rows", "internal/plan TestFileLayout"},
}

// Package interop holds idem against the other engines that read and write Delta tables: Spark,
// delta-rs and DuckDB. It is tests alone. They read what each verb wrote, for every type, and must
// see the rows that idem sees; they write between our writes, and we must see what they see; tags
// are honoured both ways.
//
// The tests run when IDEM_INTEROP is 1; then an engine that is missing fails them. They want
// IDEM_INTEROP_PYTHON, an interpreter that has the engines, and IDEM_INTEROP_JARS, the directory
// of Delta's jars for Spark; .ci/run installs both. One Python process (engines.py) serves the
// whole run, and the last line of the output counts the cases of each engine.
package interop

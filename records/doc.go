// Package records makes record batches from what people have (iterators, structs, SQL rows, CSV,
// JSON lines, Parquet files) and gives them back in the same forms.
package records

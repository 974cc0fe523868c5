// Package tabletest is a table in memory under a clock and a random source of its own, the model
// that it is compared with, and the rows and readers to write to both.
//
// Every table here has one shape, [Schema]: small enough that a row is a comparable Go value and a
// table a map, wide enough for a partition, a key, an order of versions and NULL.
//
// Nothing here reads the machine's clock or random numbers, and with Parallelism 1, which [Options]
// sets, nothing starts a goroutine: the same calls give the same bytes.
package tabletest

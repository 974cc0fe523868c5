//go:build race

package fuzzing

// Under the race detector everything takes several times as long.
const pace = 10

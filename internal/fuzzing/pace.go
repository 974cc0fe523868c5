//go:build !race

package fuzzing

const pace = 1

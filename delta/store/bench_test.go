package store_test

import "testing"

// BenchmarkCommit is one put of 4 KiB under a new log name on the local disk.
func BenchmarkCommit(b *testing.B) {
	d := openDir(b, b.TempDir())
	data := make([]byte, 4<<10)
	v := 0
	for b.Loop() {
		if err := d.PutIfAbsent(b.Context(), version(v), data); err != nil {
			b.Fatal(err)
		}
		v++
	}
}

package spill

// BreakFile makes the closing of a buffer's open file fail.
func BreakFile(b *Buffer) error { return b.kept.Close() }

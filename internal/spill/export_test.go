package spill

// BreakFile makes the closing of a buffer's open file fail.
func BreakFile(b *Buffer) error { return b.kept.Close() }

// Machine is the disk of an area that is given none.
var Machine Disk = machine{}

package store

import "context"

// NewMem is a store in memory.
func NewMem() *Mem { panic("skeleton") }

type Mem struct{ Store }

// OpenDir is a store in a directory of the local disk; it need not exist yet.
func OpenDir(path string) (*Dir, error) { panic("skeleton") }

type Dir struct{ Store }

// Probe writes and removes small objects under _delta_log/_idem_probe… and wraps ErrUnfit if the store lacks put-if-absent.
func Probe(ctx context.Context, s Store, id string) error { panic("skeleton") }

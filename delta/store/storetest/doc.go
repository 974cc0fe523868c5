// Package storetest holds what a store and its callers are tested with.
//
// Run is the conformance suite: every obligation of store.Store, for us and for the authors of
// other stores. Faulty wraps a store, makes chosen operations go wrong in every way that stores
// have been seen to, and writes down what was asked. MemFS is a file system that forgets what
// was not synced; a store.Dir over it is taken through power cuts.
//
// Nothing here sleeps, starts a goroutine (Run does, for races) or draws random numbers: the same
// calls give the same faults.
package storetest

// Package metamorphic is random operations on a table under random options, held against a model
// and against each other.
//
// An operation is data: the call as a person reads it, what it does to a model, and the call itself.
// One history is either held against the model after every call (TestOperations), or one and the same
// is run in several worlds, which differ in the options that must not matter and in how the rows are
// handed in (TestOptionsDoNotMatter, TestInputDoesNotMatter): what they answer is compared call by
// call. A failure prints the shrunk history as calls.
//
// Nothing reads the machine's clock; rapid draws everything, so that a seed is a history.
package metamorphic

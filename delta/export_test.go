package delta

// HintChecksum lets the protocol document's own sample, which is no hint, be tested.
var HintChecksum = hintChecksum

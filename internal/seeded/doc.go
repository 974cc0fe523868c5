// Package seeded holds deliberate faults in the real code, each put in by an overlay, and the suite
// that must catch it: it tests the tests.
//
// A seed is one change of a source file: a promise of the contract, or a rule of the protocol, that is
// broken as somebody has broken it before. The change is never in the source. `go test -overlay` builds
// with a changed copy of the file, and the suite that is named beside the seed must then fail by a
// failing test.
//
//   - Every run of the tests checks that each seed still applies, and that the changed file still has
//     its types: so the list cannot rot.
//   - With -seeded.run every seed is built and run against its suites, as .ci/run does. One that no suite
//     catches is a hole in the tests, and fails. All seeds are in one build, each switched on by itself
//     (the switch is in the overlay, never in the source); what draws its cases draws the same ones in
//     each run.
//   - With -seeded.schedules as well, simulated histories are run with each seed until one breaks.
//   - With -seeded.update as well, docs/seeded.md is written: what caught what.
package seeded

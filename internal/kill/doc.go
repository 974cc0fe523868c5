// Package kill cuts calls off in the middle, by faults of a store, lost writes of a file system,
// killed processes and copied disks, and holds what is left against what callers were told. It is
// tests alone, and every part runs in go test ./...; these commands run more of each, and print
// what they did:
//
//	go test ./internal/kill -count=1 -v -run Sweep -kill.all    # "sweeps:" calls × store operations × kinds of faults
//	go test ./internal/kill -count=1 -v -run Cut -kill.all                    # "cuts in memory:", "full disks:"
//	go test ./internal/kill -count=1 -v -run Rounds -kill.rounds=20   # "rounds:" kills, acknowledged commits, histories
//	IDEM_CUTS=1 go test ./internal/kill -count=1 -v -run Images -kill.cuts=40   # "images:" of ext4 and xfs in use
//
// The copies of disks need Linux, root, loop devices and xfsprogs: elsewhere that test says that it
// did not run, which is a failure when IDEM_CUTS is 1.
//
// TestSweep keeps a processor busy, TestRounds and TestImages wait for disks: these three run side by side.
package kill

// Package commit is the commit state machine and the conflict rules.
//
// It decides and does nothing: a [Machine] is told what happened and answers with the next step,
// [Check] and [Rebase] say whether a commit that was planned on one version of a table still holds
// after the commits of others, and a [TagWalk] says whether the work of a transaction tag is in a
// table. Package engine carries the steps out.
//
// Invariants (T is the transaction id of one logical write):
//
//  1. At most one version of a table ever holds T.
//  2. Version N+1 is never proposed before a foreign commit was read at N, unless nothing was ever
//     sent for N.
//  3. The bytes proposed for one version never change.
//  4. Version N is not proposed while a later version, or a checkpoint of N or later, is known.
//  5. "Not committed" is never answered while a proposal may still land.
//
// The package is pure: no clock, disk, network, random number or goroutine. Values may be used by
// one goroutine at a time.
package commit

import (
	"errors"

	"github.com/idemtable/idem/delta"
)

var (
	// ErrConflict says that another writer changed what this write read or removes, and that the
	// write was not redone. Nothing was committed: compute anew and call again.
	ErrConflict = delta.ErrConflict

	// ErrUnknownOutcome says that the store's answer was lost and that looking did not settle it.
	// The data files must stay. Call again, or resolve the error later.
	ErrUnknownOutcome = errors.New("the outcome of the commit is unknown")

	// ErrPayload says that the tag is recorded with other rows: find out which are right.
	ErrPayload = errors.New("the tag is recorded with other rows")

	// ErrRestored says that the tag is recorded, but that a later RESTORE took its rows away.
	ErrRestored = errors.New("the tag is recorded but its rows were restored away")
)

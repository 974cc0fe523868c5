package tabletest

import (
	"context"
	"errors"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// NaiveLoop is a commit loop as one writes it before the first incident, for those who must find it out.
// Without a field it takes any error for "taken", and tries the next version.
type NaiveLoop struct {
	TakenIsOurs  bool // an answer "taken" is taken for our own commit
	ErrorIsFinal bool // any other error is reported and not looked into
}

// Commit proposes versions from v on.
func (n NaiveLoop) Commit(ctx context.Context, s store.Store, v int64, data []byte) (*idem.Result, error) {
	for range 10 {
		err := s.PutIfAbsent(ctx, delta.CommitKey(v), data)
		exists := errors.Is(err, store.ErrExist)
		switch {
		case err == nil, exists && n.TakenIsOurs:
			return &idem.Result{Outcome: idem.Committed, Version: v}, nil
		case !exists && n.ErrorIsFinal:
			return nil, err
		}
		v++
	}
	return nil, idem.ErrConflict
}

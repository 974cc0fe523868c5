package smallscope

import (
	"context"
	"fmt"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
)

// Kinds are the faults that are met.
func Kinds() []storetest.Kind {
	return []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.LateEffect, storetest.Duplicate,
		storetest.Timeout, storetest.CrashBefore, storetest.CrashAfter}
}

var (
	ofPuts  = []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.LateEffect, storetest.Duplicate, storetest.CrashBefore, storetest.CrashAfter}
	ofReads = []storetest.Kind{storetest.Timeout}
	ofData  = []storetest.Kind{storetest.FailBefore, storetest.CrashAfter}
	ofRest  = []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.CrashBefore, storetest.CrashAfter}
)

// mayFail are the faults that may befall the operation that a writer asks for.
func (n *node) mayFail() []storetest.Kind {
	switch o := n.op; {
	case o.kind == storetest.OpPutIfAbsent && commitVersion(o.key) >= 0:
		return ofPuts
	case o.kind == storetest.OpGet && commitVersion(o.key) >= 0 && n.proposed():
		return ofReads
	case o.kind == storetest.OpClose:
		return ofData
	case o.kind == storetest.OpDelete, o.kind == storetest.OpPutIfAbsent && isCheckpoint(o.key):
		return ofRest
	}
	return nil
}

func isCheckpoint(key string) bool {
	name, ok := strings.CutPrefix(key, delta.LogDir)
	return ok && delta.ParseLogFile(name).Kind == delta.Checkpoint
}

// late is an operation that takes effect when nobody waits for it any more.
type late struct {
	op *op
	by author
}

// befall carries an operation out in the way of a fault that its process survives.
func (d *disk) befall(k storetest.Kind, o *op, by author, lie Lie) (*disk, *answer) {
	a := &answer{fault: storetest.Timeout, takes: answerTakes}
	cause := context.DeadlineExceeded
	switch k {
	case storetest.FailBefore:
		a.fault, a.takes, cause = storetest.FailBefore, 0, fmt.Errorf("internal error 500")
	case storetest.LostAnswer:
		d, _ = d.perform(o, by, lie)
	case storetest.Duplicate:
		d, _ = d.perform(o, by, lie)
		next, second := d.perform(o, by, lie)
		second.fault = storetest.Duplicate
		return next, second.seal()
	}
	a.err = fmt.Errorf("%s %s: %w: %w", o.kind, o.key, storetest.ErrInjected, cause)
	return d, a.seal()
}

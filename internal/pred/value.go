package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Eval gives a value a row, of the type v.Type(). The batch is one that Predicate.Eval takes, and
// fails as it does. The caller releases the result.
func (v *Value) Eval(mem memory.Allocator, batch arrow.RecordBatch) (arrow.Array, error) {
	m, err := v.machine(mem, batch)
	if err != nil {
		return nil, err
	}
	defer m.close()
	arr, errs := m.spreadOut(v.root.eval(m))
	if err := m.failed(v.tree, errs); err != nil {
		arr.Release()
		return nil, err
	}
	return arr, nil
}

package tabletest

import (
	"context"
	"testing"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/parquetio"
)

// Fixture is a table in memory and what it was made with.
type Fixture struct {
	Context context.Context // carries the stub codec
	Store   *store.Mem
	Clock   *Clock
	Options idem.Options
	Table   *idem.Table
}

// Options are those under which a table behaves the same every time: one goroutine, a clock that
// only it moves, random numbers of a seed.
func Options(seed uint64, clock idem.Clock) idem.Options {
	return idem.Options{Parallelism: 1, Clock: clock, Random: Random(seed)}
}

// Definition is a table of Schema.
func Definition(partitionBy []string, properties map[string]string) idem.Definition {
	return idem.Definition{Schema: Schema, PartitionBy: partitionBy, Properties: properties}
}

// Codec is ctx with the stub codec in place of Parquet.
func Codec(ctx context.Context) context.Context { return parquetio.WithCodec(ctx, Stub{}) }

// New makes a table in memory.
func New(t testing.TB, seed uint64, d idem.Definition) *Fixture {
	t.Helper()
	f := &Fixture{Context: Codec(t.Context()), Clock: NewClock()}
	f.Store = store.NewMemClock(f.Clock.Now)
	f.Options = Options(seed, f.Clock)
	var err error
	if f.Table, _, err = idem.CreateStore(f.Context, f.Store, d, f.Options); err != nil {
		t.Fatalf("make a table in memory: %v", err)
	}
	return f
}

// Check compares the table with what it should hold, as a reader sees it who opens it anew, and its
// log and files with the rules of the protocol.
func (f *Fixture) Check(t testing.TB, want Rows) {
	t.Helper()
	fresh, err := idem.OpenStore(f.Context, f.Store, f.Options)
	if err != nil {
		t.Fatalf("open the table anew: %v", err)
	}
	got, err := Scan(f.Context, fresh)
	if err != nil {
		t.Fatalf("scan the table: %v", err)
	}
	if diff := want.Diff(got); diff != "" {
		t.Fatalf("version %d of the table is not the model:\n%s", fresh.Version(), diff)
	}
	report, err := logcheck.Check(f.Context, f.Store)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Fatalf("version %d of the table: %v", fresh.Version(), err)
	}
}

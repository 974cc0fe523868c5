package spill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
	{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int32)), Nullable: true},
	{Name: "n", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), Nullable: true},
}, nil)

// batch has rows id, id+1, … It is a slice of a longer one.
func batch(t require.TestingT, mem memory.Allocator, id, n int) arrow.RecordBatch {
	var text strings.Builder
	for i := id - 1; i < id+n+1; i++ {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&text, `{"id":%d}`, i)
		case 1:
			fmt.Fprintf(&text, `{"id":%d,"s":"row %d","d":"%d.5","m":[{"key":"k","value":[%d,null]}],"n":{"x":true}}`, i, i, i, i)
		default:
			fmt.Fprintf(&text, `{"id":%d,"s":"","m":[],"n":{}}`, i)
		}
	}
	whole, _, err := array.RecordFromJSON(mem, schema, strings.NewReader("["+strings.ReplaceAll(text.String(), "}{", "},{")+"]"))
	require.NoError(t, err)
	defer whole.Release()
	return whole.NewSlice(1, int64(n+1))
}

// texts are the rows as JSON.
func texts(t require.TestingT, b arrow.RecordBatch) []string {
	text, err := b.MarshalJSON()
	require.NoError(t, err)
	lines := strings.Split(strings.Trim(string(text), "[]\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.Trim(l, ",")
	}
	return lines
}

func read(t require.TestingT, b *spill.Buffer) []string {
	var out []string
	for batch, err := range b.Batches() {
		require.NoError(t, err)
		out = append(out, texts(t, batch)...)
	}
	return out
}

func files(t require.TestingT, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "idem-spill-*", "*"))
	require.NoError(t, err)
	return names
}

// TestAgainstTwin does random things to several buffers of an area and compares them with slices of rows.
func TestAgainstTwin(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		budget := rapid.SampledFrom([]int64{1, 500, 2000, 1 << 20}).Draw(t, "budget")
		area := spill.NewArea(dir, budget)
		area.Mem = mem
		defer func() {
			require.NoError(t, area.Close())
			require.Empty(t, files(t, dir))
		}()
		buffers, twins := make([]*spill.Buffer, 3), make([][]string, 3)
		for i := range buffers {
			buffers[i] = area.NewBuffer(schema)
		}
		id := 1
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			k := rapid.IntRange(0, 2).Draw(t, "buffer")
			if rapid.IntRange(0, 3).Draw(t, "step") == 0 {
				require.Equal(t, twins[k], read(t, buffers[k]))
				continue
			}
			n := rapid.IntRange(0, 5).Draw(t, "rows")
			b := batch(t, mem, id, n)
			require.NoError(t, buffers[k].Append(b))
			if n > 0 {
				twins[k] = append(twins[k], texts(t, b)...)
			}
			b.Release()
			id += n
			require.LessOrEqual(t, area.HeldBytes(), budget)
			require.EqualValues(t, len(twins[k]), buffers[k].Rows())
		}
		for k, b := range buffers {
			require.Equal(t, twins[k], read(t, b))
			require.Equal(t, twins[k], read(t, b), "a second time")
		}
	})
}

func TestNoFileWithinBudget(t *testing.T) {
	dir := t.TempDir()
	area := spill.NewArea(dir, 0)
	b := area.NewBuffer(schema)
	require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 1, 100)))
	require.Empty(t, files(t, dir))
	require.Zero(t, area.SpilledBytes())
	require.Greater(t, area.HeldBytes(), b.Bytes(), "a batch costs more than its rows")
	require.NoError(t, area.Close())
	require.Zero(t, area.HeldBytes())
}

// TestAppendWhileReading: a reader gets the rows that there were when it began, though they move to the file under it.
func TestAppendWhileReading(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	area := spill.NewArea(t.TempDir(), 20_000)
	area.Mem = mem
	defer area.Close()
	b := area.NewBuffer(schema)
	add := func(id int) []string {
		x := batch(t, mem, id, 4)
		defer x.Release()
		require.NoError(t, b.Append(x))
		return texts(t, x)
	}
	var want, got []string
	for i := range 5 {
		want = append(want, add(1+4*i)...)
	}
	require.Zero(t, area.SpilledBytes())
	id := 100
	for x, err := range b.Batches() {
		require.NoError(t, err)
		got = append(got, texts(t, x)...)
		for range 10 {
			add(id)
			id += 4
		}
	}
	require.NotZero(t, area.SpilledBytes())
	require.Equal(t, want, got)
}

func TestEarlyExit(t *testing.T) {
	for _, budget := range []int64{1, 1 << 20} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		area := spill.NewArea(t.TempDir(), budget)
		area.Mem = mem
		b := area.NewBuffer(schema)
		for i := range 3 {
			x := batch(t, mem, 1+i, 1)
			require.NoError(t, b.Append(x))
			x.Release()
		}
		for x, err := range b.Batches() {
			require.NoError(t, err)
			require.EqualValues(t, 1, x.NumRows())
			break
		}
		require.Len(t, read(t, b), 3)
		require.NoError(t, area.Close())
		mem.AssertSize(t, 0)
	}
}

// TestSmallBatchesAreJoined: many small batches make few frames, so a schema is not written for each.
func TestSmallBatchesAreJoined(t *testing.T) {
	area := spill.NewArea(t.TempDir(), 200_000)
	defer area.Close()
	b := area.NewBuffer(schema)
	for i := range 1000 {
		require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 1+i, 1)))
	}
	require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 2000, 10_000)), "larger than the budget, so that all is in the file")
	require.Zero(t, area.HeldBytes())
	batches := 0
	for _, err := range b.Batches() {
		require.NoError(t, err)
		batches++
	}
	require.Less(t, batches, 40)
}

func TestClosed(t *testing.T) {
	dir := t.TempDir()
	area := spill.NewArea(dir, 1)
	one, other := area.NewBuffer(schema), area.NewBuffer(schema)
	x := batch(t, memory.DefaultAllocator, 1, 2)
	require.NoError(t, one.Append(x))
	require.NoError(t, other.Append(x))
	require.Len(t, files(t, dir), 2)
	require.NoError(t, one.Close())
	require.Len(t, files(t, dir), 1, "a closed buffer has no file")
	require.NoError(t, one.Close())
	require.ErrorIs(t, one.Append(x), spill.ErrClosed)
	require.ErrorIs(t, readError(one), spill.ErrClosed)
	require.Len(t, read(t, other), 2)

	require.NoError(t, area.Close())
	require.NoError(t, area.Close())
	require.Empty(t, files(t, dir))
	require.ErrorIs(t, other.Append(x), spill.ErrClosed)
	late := area.NewBuffer(schema)
	require.ErrorIs(t, late.Append(x), spill.ErrClosed)
	require.ErrorIs(t, readError(late), spill.ErrClosed)
}

// TestCloseLeavesNoFileWhateverFails: what cannot be closed is removed all the same.
func TestCloseLeavesNoFileWhateverFails(t *testing.T) {
	dir := t.TempDir()
	area := spill.NewArea(dir, 1)
	defer area.Close()
	b := area.NewBuffer(schema)
	require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 1, 2)))
	require.NoError(t, spill.BreakFile(b))
	require.ErrorIs(t, b.Close(), os.ErrClosed)
	require.Empty(t, files(t, dir))
}

func readError(b *spill.Buffer) error {
	for _, err := range b.Batches() {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCloseWhileReading(t *testing.T) {
	area := spill.NewArea(t.TempDir(), 1)
	b := area.NewBuffer(schema)
	for i := range 3 {
		require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 1+i, 1)))
	}
	var last error
	for _, err := range b.Batches() {
		last = err
		require.NoError(t, area.Close())
	}
	require.ErrorIs(t, last, spill.ErrClosed)
}

func TestWrongSchema(t *testing.T) {
	area := spill.NewArea(t.TempDir(), 0)
	defer area.Close()
	b := area.NewBuffer(arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil))
	require.ErrorContains(t, b.Append(batch(t, memory.DefaultAllocator, 1, 1)), "the batch has schema")
}

// TestDirectoryVanishes: a disk that cannot be written loses nothing that was appended, and says where.
func TestDirectoryVanishes(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	dir := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(dir, 0o700))
	x := batch(t, mem, 1, 10)
	defer x.Release()
	area := spill.NewArea(dir, rows.Bytes(x)+4096)
	area.Mem = mem
	b, other := area.NewBuffer(schema), area.NewBuffer(schema)
	require.NoError(t, b.Append(x))
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, b.Append(x), dir)
	require.ErrorContains(t, other.Append(x), dir)
	require.Equal(t, texts(t, x), read(t, b), "what was appended before is still there")
	require.Zero(t, other.Rows())

	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, other.Append(x), "the disk is back")
	require.Len(t, read(t, b), 10)
	require.Len(t, read(t, other), 10)
	require.NoError(t, area.Close())
}

// TestDamagedFile: what cannot be read back is an error that names the file, never fewer rows.
func TestDamagedFile(t *testing.T) {
	for why, damage := range map[string]func(t *testing.T, name string){
		"cut short": func(t *testing.T, name string) { require.NoError(t, os.Truncate(name, 300)) },
		"empty":     func(t *testing.T, name string) { require.NoError(t, os.Truncate(name, 0)) },
		"zeros": func(t *testing.T, name string) {
			info, err := os.Stat(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name, make([]byte, info.Size()), 0o600))
		},
	} {
		t.Run(why, func(t *testing.T) {
			dir := t.TempDir()
			area := spill.NewArea(dir, 1)
			defer area.Close()
			b := area.NewBuffer(schema)
			require.NoError(t, b.Append(batch(t, memory.DefaultAllocator, 1, 10)))
			damage(t, files(t, dir)[0])
			require.ErrorContains(t, readError(b), files(t, dir)[0])
		})
	}
}

// TestGoroutines: buffers of one area are filled and read at once, and spill each other.
func TestGoroutines(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	const budget = 2000
	area := spill.NewArea(t.TempDir(), budget)
	area.Mem = mem
	var group errgroup.Group
	for g := range 4 {
		group.Go(func() error {
			b := area.NewBuffer(schema)
			for i := range 20 {
				x := batch(t, mem, 1+100*g+i, 1)
				err := b.Append(x)
				x.Release()
				if err != nil {
					return err
				}
				if held := area.HeldBytes(); held > budget {
					return fmt.Errorf("%d bytes held", held)
				}
			}
			n := 0
			for x, err := range b.Batches() {
				if err != nil {
					return err
				}
				n += int(x.NumRows())
			}
			if n != 20 {
				return fmt.Errorf("%d rows of 20", n)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, area.Close())
}

// TestALargeBatchIsReadBackInFrames: what was given at once need not fit the memory at once.
func TestALargeBatchIsReadBackInFrames(t *testing.T) {
	area := spill.NewArea(t.TempDir(), 1)
	defer area.Close()
	b := area.NewBuffer(schema)
	x := batch(t, memory.DefaultAllocator, 1, 20_000)
	require.NoError(t, b.Append(x))
	var got []string
	for y, err := range b.Batches() {
		require.NoError(t, err)
		require.LessOrEqual(t, y.NumRows(), int64(16<<10))
		got = append(got, texts(t, y)...)
	}
	require.Equal(t, texts(t, x), got)
}

// TestMoreBuffersThanOpenFiles: each has its rows, though not each file stays open.
func TestMoreBuffersThanOpenFiles(t *testing.T) {
	dir := t.TempDir()
	area := spill.NewArea(dir, 1)
	var buffers []*spill.Buffer
	for i := range 200 {
		buffers = append(buffers, area.NewBuffer(schema))
		for k := range 2 {
			require.NoError(t, buffers[i].Append(batch(t, memory.DefaultAllocator, 1+10*i+k, 1)))
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		require.Less(t, len(open), 120)
	}
	for i, b := range buffers {
		require.Len(t, read(t, b), 2)
		x, err := b.At(1)
		require.NoError(t, err)
		require.EqualValues(t, 2+10*i, x.Column(0).(*array.Int64).Value(0))
		x.Release()
		require.NoError(t, b.Close())
	}
	_, err := area.NewBuffer(schema).At(0)
	require.ErrorContains(t, err, "row 0 of 0")
	require.Empty(t, files(t, dir))
	require.NoError(t, area.Close())
}

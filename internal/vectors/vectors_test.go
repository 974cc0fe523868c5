package vectors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/vectors"
)

// ids gives UUIDs in a row.
func ids() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n)
	}
}

func vectorOf(rows ...int64) *delta.Vector {
	v := delta.NewVector()
	v.Add(rows...)
	return v
}

// many is a vector whose frame is far longer than what one request fetches blindly.
func many() *delta.Vector {
	v := delta.NewVector()
	for row := range int64(1_000_000) {
		v.Add(row * 3)
	}
	return v
}

func written(t *testing.T, st store.Store, list ...*delta.Vector) []*delta.DeletionVector {
	w := vectors.New(t.Context(), st, ids())
	out := make([]*delta.DeletionVector, len(list))
	for i, v := range list {
		var err error
		out[i], err = w.Put(v)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out
}

func TestVectorsOfOneCommitShareAFile(t *testing.T) {
	st := store.NewMem()
	list := []*delta.Vector{vectorOf(0, 9), many(), vectorOf(1 << 33), vectorOf(7)}
	got := written(t, st, list...)
	files := 0
	for info, err := range st.List(t.Context(), "", "") {
		require.NoError(t, err)
		require.Equal(t, "deletion_vector_00000000-0000-4000-8000-000000000001.bin", info.Key)
		files++
	}
	require.Equal(t, 1, files)
	require.EqualValues(t, 1, *got[0].Offset, "the first byte is the version")
	for i, dv := range got {
		require.Equal(t, "u", dv.StorageType)
		v, err := vectors.Read(t.Context(), st, st.URL(), dv, -1)
		require.NoError(t, err)
		require.Equal(t, list[i].Bytes(), v.Bytes())
		if i > 0 {
			before := got[i-1]
			require.EqualValues(t, *before.Offset+before.SizeInBytes+delta.VectorFrameOverhead, *dv.Offset, "no gap")
		}
	}
}

func TestAFileOfOneVectorIsAsSparkWritesIt(t *testing.T) {
	st := store.NewMem()
	dv := written(t, st, vectorOf(0, 9))[0]
	key, _, err := dv.FileKey(st.URL())
	require.NoError(t, err)
	data, err := st.Get(t.Context(), key, 0)
	require.NoError(t, err)
	require.Equal(t, "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0000 0900 2a671846",
		fmt.Sprintf("%x %x %x %x %x %x %x %x %x %x %x %x %x", data[:1], data[1:5], data[5:9], data[9:17], data[17:21], data[21:25], data[25:29], data[29:31], data[31:33], data[33:37], data[37:39], data[39:41], data[41:]))
}

func TestWriters(t *testing.T) {
	st := store.NewMem()
	empty := func(why string) {
		for info := range st.List(t.Context(), "", "") {
			t.Fatalf("%s: %s is there", why, info.Key)
		}
	}
	w := vectors.New(t.Context(), st, ids())
	require.Empty(t, w.Key())
	require.NoError(t, w.Close())
	empty("nothing was put")

	w = vectors.New(t.Context(), st, ids())
	_, err := w.Put(delta.NewVector())
	require.ErrorIs(t, err, delta.ErrInput, "a file that loses no row has no vector")
	_, err = w.Put(vectorOf(1))
	require.NoError(t, err)
	require.NotEmpty(t, w.Key())
	w.Abort()
	empty("it was aborted")
	_, err = w.Put(vectorOf(1))
	require.Error(t, err, "it is over")

	w = vectors.New(t.Context(), st, func() string { return "no UUID" })
	_, err = w.Put(vectorOf(1))
	require.ErrorIs(t, err, delta.ErrInput)
	require.Error(t, w.Close())
	empty("it has no name")
}

func TestAWriterFailsWithItsStore(t *testing.T) {
	broken := errors.New("broken")
	for _, op := range []storetest.Op{storetest.OpCreate, storetest.OpWrite, storetest.OpClose} {
		st := storetest.NewFaulty(store.NewMem())
		st.Reset(storetest.Rule{Op: op, Fault: storetest.Fault{Kind: storetest.FailBefore, Err: broken}})
		w := vectors.New(t.Context(), st, ids())
		_, err := w.Put(vectorOf(1))
		if err == nil {
			err = w.Close()
		}
		require.ErrorIs(t, err, broken, "%v", op)
		require.Error(t, w.Close(), "%v: an error stays", op)
		w.Abort()
	}
}

func TestVectorsThatAreRefused(t *testing.T) {
	st := store.NewMem()
	good := written(t, st, vectorOf(0, 9), vectorOf(5))
	key, _, err := good[0].FileKey(st.URL())
	require.NoError(t, err)
	whole, err := st.Get(t.Context(), key, 0)
	require.NoError(t, err)
	at := func(n int32) *int32 { return &n }

	for _, c := range []struct {
		why    string
		change func(*delta.DeletionVector)
		file   func([]byte) []byte
		rows   int64
		want   error
		says   []string
	}{
		{why: "a row beyond the file", rows: 9, says: []string{"at 1 of " + key, "the row 9 of a file of 9 rows"}},
		{why: "another cardinality", change: func(d *delta.DeletionVector) { d.Cardinality = 3 }, says: []string{"at 1 of " + key, "2 rows, the log says 3"}},
		{why: "a negative cardinality", change: func(d *delta.DeletionVector) { d.Cardinality = -1 }, says: []string{"2 rows, the log says -1"}},
		{why: "another size", change: func(d *delta.DeletionVector) { d.SizeInBytes-- }, says: []string{"at 1 of " + key, "36 bytes, the log says 35"}},
		{why: "an offset between vectors", change: func(d *delta.DeletionVector) { d.Offset = at(2) }, says: []string{"at 2 of " + key}},
		{why: "no offset", change: func(d *delta.DeletionVector) { d.Offset = nil }, says: []string{key}},
		{why: "an offset beyond the file", change: func(d *delta.DeletionVector) { d.Offset = at(100_000) }, says: []string{"at 100000 of " + key, "has 87 bytes"}},
		{why: "a size beyond the file", change: func(d *delta.DeletionVector) { d.SizeInBytes = 1 << 30 }, says: []string{"at 1 of " + key, "has 87 bytes"}},
		{why: "a size beyond the file that is not looked at first", change: func(d *delta.DeletionVector) { d.SizeInBytes = 1000 }, says: []string{"at 1 of " + key, "has 87 bytes"}},
		{why: "a file that is gone", change: func(d *delta.DeletionVector) { d.PathOrInlineDV = "vBn[lx{q8@P<9BNH/isA" }, says: []string{"deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", "not in the store"}},
		{why: "a file elsewhere", change: func(d *delta.DeletionVector) { d.StorageType, d.PathOrInlineDV = "p", "file:/elsewhere/a.bin" }, want: delta.ErrUnsupported, says: []string{"file:/elsewhere/a.bin"}},
		{why: "inline text that is none", change: func(d *delta.DeletionVector) { *d = delta.DeletionVector{StorageType: "i", PathOrInlineDV: "~"} }, says: []string{"inline"}},
		{why: "an inline vector that is none", change: func(d *delta.DeletionVector) {
			*d = delta.DeletionVector{StorageType: "i", PathOrInlineDV: "00000", SizeInBytes: 4}
		}, says: []string{"i00000", "at byte 4"}},
		{why: "a version to come", file: func(b []byte) []byte { b[0] = 2; return b }, says: []string{key, "version 2"}},
		{why: "a file that is cut", file: func(b []byte) []byte { return b[:30] }, says: []string{"at 1 of " + key, "has 30 bytes"}},
		{why: "an empty file", file: func(b []byte) []byte { return nil }, says: []string{"has 0 bytes"}},
		{why: "a bit that is flipped", file: func(b []byte) []byte { b[20] ^= 1; return b }, says: []string{"at 1 of " + key, "checksum"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			broken := store.NewMem()
			file := slices.Clone(whole)
			if c.file != nil {
				file = c.file(file)
			}
			require.NoError(t, broken.Put(t.Context(), key, file))
			dv := *good[0]
			if c.change != nil {
				c.change(&dv)
			}
			rows := int64(-1)
			if c.rows > 0 {
				rows = c.rows
			}
			if c.want == nil {
				c.want = delta.ErrCorrupt
			}
			_, err := vectors.Read(t.Context(), broken, broken.URL(), &dv, rows)
			require.ErrorIs(t, err, c.want)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
	_, err = vectors.Read(t.Context(), st, st.URL(), good[0], 10)
	require.NoError(t, err, "row 9 is the last of 10")
}

func TestTheEmptyDescriptor(t *testing.T) {
	v, err := vectors.Read(t.Context(), store.NewMem(), "mem://t/", &delta.DeletionVector{StorageType: "i"}, 0)
	require.NoError(t, err)
	require.Zero(t, v.Cardinality())
}

// TestRequests: what is small takes one request, what is large is measured before memory is taken for it.
func TestRequests(t *testing.T) {
	st := storetest.NewFaulty(store.NewMem())
	dense := delta.NewVector()
	for row := range int64(5_000_000) { // 8 KiB for 65,536 rows, of which no two are neighbours
		dense.Add(2 * row)
	}
	got := written(t, st, vectorOf(1), dense, vectorOf(2))
	for i, want := range []map[storetest.Op]int{
		{storetest.OpGetRange: 1},
		{storetest.OpHead: 1, storetest.OpGetRange: 1},
		{storetest.OpGetRange: 2}, // the file's version, and a frame far behind it
	} {
		st.Reset()
		_, err := vectors.Read(t.Context(), st, st.URL(), got[i], -1)
		require.NoError(t, err)
		for _, op := range []storetest.Op{storetest.OpGet, storetest.OpGetRange, storetest.OpHead, storetest.OpList} {
			require.Equal(t, want[op], st.Count(op), "vector %d, %v", i, op)
		}
	}
}

// TestAStoreThatFailsIsNoDamage: what was not read for want of a connection is not corrupt.
func TestAStoreThatFailsIsNoDamage(t *testing.T) {
	st := storetest.NewFaulty(store.NewMem())
	dv := written(t, st, vectorOf(1))[0]
	for _, cause := range []error{errors.New("503"), context.DeadlineExceeded, io.ErrUnexpectedEOF} {
		st.Reset(storetest.Rule{Op: storetest.OpGetRange, Fault: storetest.Fault{Kind: storetest.FailBefore, Err: cause}})
		_, err := vectors.Read(t.Context(), st, st.URL(), dv, -1)
		require.ErrorIs(t, err, cause)
		require.NotErrorIs(t, err, delta.ErrCorrupt)
	}
}

func FuzzVectorFile(f *testing.F) {
	st := store.NewMem()
	w := vectors.New(f.Context(), st, ids())
	dv, err := w.Put(vectorOf(0, 9, 70000))
	require.NoError(f, err)
	require.NoError(f, w.Close())
	data, err := st.Get(f.Context(), w.Key(), 0)
	require.NoError(f, err)
	f.Add(data, *dv.Offset, dv.SizeInBytes, dv.Cardinality)
	f.Add(data, int32(0), dv.SizeInBytes, dv.Cardinality)
	for _, data := range fuzzing.Seeds(f, 20, 4<<10, func(path string) bool {
		return strings.Contains(path, "/deletion_vector_") && strings.HasSuffix(path, ".bin")
	}) {
		f.Add(data, int32(1), int32(len(data)-9), int64(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, offset, size int32, cardinality int64) {
		st := store.NewMem()
		require.NoError(t, st.Put(t.Context(), w.Key(), data))
		dv := delta.DeletionVector{StorageType: "u", PathOrInlineDV: dv.PathOrInlineDV, Offset: &offset, SizeInBytes: size, Cardinality: cardinality}
		var v *delta.Vector
		var err error
		fuzzing.Bounded(t, len(data), func() { v, err = vectors.Read(t.Context(), st, st.URL(), &dv, 1<<20) })
		if err != nil {
			require.True(t, errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported), "%v", err)
			require.ErrorContains(t, err, w.Key())
			return
		}
		require.Equal(t, cardinality, v.Cardinality())
		require.Less(t, v.Max(), int64(1<<20))
		if cardinality == 0 {
			return // idem writes none of no row
		}
		again := store.NewMem()
		back, err := vectors.Read(t.Context(), again, again.URL(), written(t, again, v)[0], 1<<20)
		require.NoError(t, err, "what is accepted is written")
		require.Equal(t, slices.Collect(v.Rows()), slices.Collect(back.Rows()), "and read as the same rows")
	})
}

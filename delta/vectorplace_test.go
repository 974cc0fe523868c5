package delta_test

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func isEither(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

const vectorRoot = "file:///data/table/"

func TestFilesOfVectors(t *testing.T) {
	at := func(n int32) *int32 { return &n }
	for _, c := range []struct {
		why    string
		dv     delta.DeletionVector
		key    string
		offset int64
		want   error
		says   string
	}{
		{why: "a directory before a UUID", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: at(4)},
			key: "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", offset: 4},
		{why: "a UUID", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "vBn[lx{q8@P<9BNH/isA", Offset: at(1)},
			key: "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", offset: 1},
		{why: "no offset", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "vBn[lx{q8@P<9BNH/isA"},
			key: "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"},
		{why: "an absolute path below the root", dv: delta.DeletionVector{StorageType: "p", PathOrInlineDV: "file:/data/table/a%20b.bin", Offset: at(9)}, key: "a b.bin", offset: 9},
		{why: "an absolute path elsewhere", dv: delta.DeletionVector{StorageType: "p", PathOrInlineDV: "file:/data/other/a.bin"}, want: delta.ErrUnsupported, says: "outside the table's root"},
		{why: "a relative path", dv: delta.DeletionVector{StorageType: "p", PathOrInlineDV: "a.bin"}, want: delta.ErrCorrupt, says: "not absolute"},
		{why: "a path that climbs", dv: delta.DeletionVector{StorageType: "p", PathOrInlineDV: "file:/data/table/../a.bin"}, want: delta.ErrCorrupt, says: "'..'"},
		{why: "a directory that climbs", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "../xvBn[lx{q8@P<9BNH/isA"}, want: delta.ErrCorrupt, says: "'..'"},
		{why: "too short a name", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "abc"}, want: delta.ErrCorrupt, says: "too short"},
		{why: "a directory that is too long", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: strings.Repeat("a", 4040) + "vBn[lx{q8@P<9BNH/isA"}, want: delta.ErrUnsupported, says: "4097 bytes"},
		{why: "a name that is no UUID", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "~~~~~~~~~~~~~~~~~~~~"}, want: delta.ErrCorrupt, says: "not of Z85"},
		{why: "a negative offset", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "vBn[lx{q8@P<9BNH/isA", Offset: at(-1)}, want: delta.ErrCorrupt, says: "at -1"},
		{why: "a negative size", dv: delta.DeletionVector{StorageType: "u", PathOrInlineDV: "vBn[lx{q8@P<9BNH/isA", SizeInBytes: -9}, want: delta.ErrCorrupt, says: "-9 bytes"},
		{why: "a storage type to come", dv: delta.DeletionVector{StorageType: "r", PathOrInlineDV: "x"}, want: delta.ErrCorrupt, says: `storage type "r"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			key, offset, err := c.dv.FileKey(vectorRoot)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.key, key)
			require.Equal(t, c.offset, offset)
		})
	}
}

func TestInlineVectors(t *testing.T) {
	good := delta.DeletionVector{StorageType: "i", PathOrInlineDV: "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", SizeInBytes: 44, Cardinality: 6}
	data, ok, err := good.Inline()
	require.NoError(t, err)
	require.True(t, ok)
	v, err := delta.ParseVector(data)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4, 7, 11, 18, 29}, slices.Collect(v.Rows()))

	zero := int32(0)
	for _, c := range []struct {
		why    string
		change func(*delta.DeletionVector)
		says   string
	}{
		{"no groups of five", func(d *delta.DeletionVector) { d.PathOrInlineDV += "0" }, "groups of five"},
		{"a foreign character", func(d *delta.DeletionVector) { d.PathOrInlineDV = "~0000" }, "'~' at 0"},
		{"a group beyond four bytes", func(d *delta.DeletionVector) { d.PathOrInlineDV = "00000#####" }, `"#####" at 5`},
		{"fewer bytes than it says", func(d *delta.DeletionVector) { d.SizeInBytes = 45 }, "44 bytes says that it has 45"},
		{"more bytes than padding", func(d *delta.DeletionVector) { d.SizeInBytes = 40 }, "44 bytes says that it has 40"},
		{"a negative size", func(d *delta.DeletionVector) { d.SizeInBytes = -1 }, "of -1 bytes"},
		{"an offset", func(d *delta.DeletionVector) { d.Offset = &zero }, "offset 0"},
	} {
		t.Run(c.why, func(t *testing.T) {
			bad := good
			c.change(&bad)
			_, ok, err := bad.Inline()
			require.True(t, ok)
			require.ErrorIs(t, err, delta.ErrCorrupt)
			require.ErrorContains(t, err, c.says)
		})
	}
	require.True(t, (&delta.DeletionVector{StorageType: "i"}).Empty())
	require.False(t, good.Empty())
	require.False(t, (&delta.DeletionVector{StorageType: "i", Cardinality: 1}).Empty(), "a vector of one row has bytes")
	_, ok, err = (&delta.DeletionVector{StorageType: "u"}).Inline()
	require.NoError(t, err)
	require.False(t, ok)
}

func TestFramesOfVectors(t *testing.T) {
	vector := unhex(t, smallVector)
	frame := delta.AppendVectorFrame(nil, vector)
	require.Equal(t, unhex(t, "00000024"+smallVector+"2a671846"), frame, "as Spark wrote it")
	got, err := delta.ParseVectorFrame(frame)
	require.NoError(t, err)
	require.Equal(t, vector, got)
	for i := range frame {
		bad := slices.Clone(frame)
		bad[i] ^= 1
		_, err := delta.ParseVectorFrame(bad)
		require.ErrorIs(t, err, delta.ErrCorrupt, "byte %d", i)
	}
	for i := range frame {
		_, err := delta.ParseVectorFrame(frame[:i])
		require.ErrorIs(t, err, delta.ErrCorrupt, "cut at %d", i)
	}
}

func TestNamesOfVectorFiles(t *testing.T) {
	key, path, err := delta.NewVectorFile("61d16c75-6994-46b7-a15b-8b538852e50e")
	require.NoError(t, err)
	require.Equal(t, "vBn[lx{q8@P<9BNH/isA", path)
	again, _, err := (&delta.DeletionVector{StorageType: "u", PathOrInlineDV: path}).FileKey(vectorRoot)
	require.NoError(t, err)
	require.Equal(t, key, again)
	for _, id := range []string{"", "61d16c75699446b7a15b8b538852e50e", "g1d16c75-6994-46b7-a15b-8b538852e50e"} {
		_, _, err := delta.NewVectorFile(id)
		require.ErrorIs(t, err, delta.ErrInput, id)
	}
}

func FuzzVectorDescriptor(f *testing.F) {
	f.Add("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", int32(-1), int32(44))
	f.Add("u", "ab^-aqEH.-t@S}K{vb[*k^", int32(1), int32(36))
	f.Add("p", "file:/data/table/a%20b.bin", int32(1), int32(36))
	f.Add("u", "../vBn[lx{q8@P<9BNH/isA", int32(1), int32(36))
	f.Fuzz(func(t *testing.T, storage, text string, offset, size int32) {
		dv := delta.DeletionVector{StorageType: storage, PathOrInlineDV: text, SizeInBytes: size}
		if offset >= 0 {
			dv.Offset = &offset
		}
		var data []byte
		var inline bool
		var err error
		fuzzing.Bounded(t, len(text), func() { data, inline, err = dv.Inline() })
		require.Equal(t, storage == "i", inline)
		switch {
		case err != nil:
			require.ErrorIs(t, err, delta.ErrCorrupt)
		case inline:
			require.Len(t, data, int(size))
			again := delta.DeletionVector{StorageType: "i", PathOrInlineDV: delta.EncodeZ85(data), SizeInBytes: size}
			if size%4 == 0 {
				require.Equal(t, text, again.PathOrInlineDV, "without padding bytes have one spelling")
			}
			back, _, err := again.Inline()
			require.NoError(t, err)
			require.Equal(t, data, back, "what is accepted is written, and read as the same")
		}
		var key string
		var at int64
		fuzzing.Bounded(t, len(text), func() { key, at, err = dv.FileKey(vectorRoot) })
		if err != nil {
			require.True(t, isEither(err, delta.ErrCorrupt, delta.ErrUnsupported), "%v", err)
			return
		}
		require.GreaterOrEqual(t, at, int64(0))
		if storage == "u" {
			id := strings.TrimSuffix(strings.TrimPrefix(path.Base(key), "deletion_vector_"), ".bin")
			name, spelled, err := delta.NewVectorFile(id)
			require.NoError(t, err)
			require.Equal(t, path.Base(key), name)
			require.Equal(t, text[len(text)-20:], spelled, "a UUID has one spelling")
		}
		inside, err := delta.ResolvePath(vectorRoot, delta.EncodePath(key))
		require.NoError(t, err, "a key that leads out of the root")
		require.Equal(t, key, inside)
	})
}

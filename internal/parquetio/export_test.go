package parquetio

import (
	"bytes"
	"testing"
)

// RowGroups counts the row groups of a file.
func RowGroups(t testing.TB, data []byte) int {
	ft, err := readFooter(memFile{bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	return len(ft.groups)
}

// CheckPage checks the header of a data page of one value in a chunk of so many bytes.
func CheckPage(size, raw, left int64) error {
	h := pageHeader{typ: pageData, values: 1, size: size, raw: raw}
	return h.check(left)
}

type memFile struct{ *bytes.Reader }

func (memFile) Name() string { return "file" }

// Unzstd decompresses a frame.
func Unzstd(dst, src []byte) error { return unzstd(dst, src) }

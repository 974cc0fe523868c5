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

type memFile struct{ *bytes.Reader }

func (memFile) Name() string { return "file" }

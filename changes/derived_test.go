package changes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
)

// TestWhatAVersionChanged: what is read off one version of every shape that engines leave. Before it
// the file a holds the rows 1 to 5, and b the rows 6 to 8, of which its vector deletes 6.
func TestWhatAVersionChanged(t *testing.T) {
	written := "id:long v:string _change_type:string"
	for name, c := range map[string]struct {
		why     string
		version func(w *world, a, b *delta.Add) []delta.Action
		want    []string
	}{
		"append": {"rows of an added file are new", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(w.rows("c", 9))}
		}, []string{"9|v9|insert|2"}},
		"append with a vector": {"what the vector deletes never was there", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(under(w.rows("c", 9, 10, 11), w.vector(0, 2)))}
		}, []string{"10|v10|insert|2"}},
		"whole file removed": {"its rows are gone", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(a)}
		}, []string{"1|v1|delete|2", "2|v2|delete|2", "3|v3|delete|2", "4|v4|delete|2", "5|v5|delete|2"}},
		"file with a vector removed": {"rows that were deleted before are not deleted again", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(b)}
		}, []string{"7|v7|delete|2", "8|v8|delete|2"}},
		"first vector": {"exactly its rows go", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(a), add(under(a, w.vector(1, 4)))}
		}, []string{"2|v2|delete|2", "5|v5|delete|2"}},
		"vector grown": {"only the rows that it did not have before", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(under(b, w.vector(0, 2))), remove(b)}
		}, []string{"8|v8|delete|2"}},
		"vector gone": {"a restore brings its rows back", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(b), add(under(b, nil))}
		}, []string{"6|v6|insert|2"}},
		"another vector": {"some rows come and others go", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(b), add(under(b, w.vector(1)))}
		}, []string{"6|v6|insert|2", "7|v7|delete|2"}},
		"another vector without a remove": {"the add takes the file's place all the same", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(under(b, w.vector(0, 1)))}
		}, []string{"7|v7|delete|2"}},
		"half of a pair changes no data": {"the file is still there: its rows did not all go", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(b), add(quiet(under(b, w.vector(0, 1))))}
		}, []string{"7|v7|delete|2"}},
		"added again": {"a file that is there is no news", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(a), add(b)}
		}, nil},
		"remove of what is not there": {"nothing goes", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(w.rows("c", 9))}
		}, nil},
		"remove under a vector that the file does not have": {"that is another file, which is not there", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(under(b, nil))}
		}, nil},
		"remove that says little": {"the version before tells the rest", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{bare(b)}
		}, []string{"7|v7|delete|2", "8|v8|delete|2"}},
		"absolute path": {"the same file", func(w *world, a, b *delta.Add) []delta.Action {
			abs := *b
			abs.Path = "mem:///b"
			return []delta.Action{remove(&abs)}
		}, []string{"7|v7|delete|2", "8|v8|delete|2"}},
		"replacement": {"rows that are equal go and come: nobody wrote down that they did not", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(b), add(w.rows("c", 7, 9))}
		}, []string{"7|v7|delete|2", "7|v7|insert|2", "8|v8|delete|2", "9|v9|insert|2"}},
		"compaction": {"what changes no data is no change", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(quiet(a)), remove(quiet(b)), add(quiet(w.rows("c", 1, 2, 3, 4, 5, 7, 8)))}
		}, nil},
		"compaction beside an append": {"each action speaks for its own file", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{remove(quiet(b)), add(quiet(w.rows("c", 7, 8))), add(w.rows("d", 9))}
		}, []string{"9|v9|insert|2"}},
		"changes written down": {"then files added and removed say nothing", func(w *world, a, b *delta.Add) []delta.Action {
			f := w.file("_change_data/cdc-1", written, `[{"id":6,"v":"old","_change_type":"update_preimage"},{"id":6,"v":"new","_change_type":"update_postimage"},
				{"id":7,"v":"v7","_change_type":"delete"},{"id":9,"v":null,"_change_type":"insert"}]`)
			return []delta.Action{remove(b), add(w.rows("c", 8)), add(w.rows("d", 9)), cdc(f)}
		}, []string{"6|new|update_postimage|2", "6|old|update_preimage|2", "7|v7|delete|2", "9|(null)|insert|2"}},
		"changes named twice": {"one file is one file", func(w *world, a, b *delta.Add) []delta.Action {
			f := w.file("_change_data/cdc-1", written, `[{"id":7,"v":"v7","_change_type":"delete"}]`)
			again := *f
			again.Path = "_change_data/cdc%2D1"
			return []delta.Action{cdc(f), cdc(&again)}
		}, []string{"7|v7|delete|2"}},
		"a kind of its own": {"what another engine says is handed on", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{cdc(w.file("_change_data/cdc-1", written, `[{"id":7,"v":"v7","_change_type":"moved"}]`))}
		}, []string{"7|v7|moved|2"}},
		"data files with a column of changes": {"it is no column of the table", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{add(w.file("c", written, `[{"id":9,"v":"v9","_change_type":null}]`))}
		}, []string{"9|v9|insert|2"}},
		"nothing": {"a commit may be about other things", func(w *world, a, b *delta.Add) []delta.Action {
			return []delta.Action{{Txn: &delta.Txn{AppID: "app", Version: 1}}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.commit(definition(plain, nil)...)
			a, b := w.rows("a", 1, 2, 3, 4, 5), under(w.rows("b", 6, 7, 8), w.vector(0))
			w.commit(add(a), add(b))
			w.commit(c.version(w, a, b)...)
			got, err := w.feed(changes.Request{From: changes.Version(2)})
			require.NoError(t, err)
			require.Equal(t, append([]string{}, c.want...), got, c.why)
		})
	}
}

func TestChangesThatSayNothingOfThemselves(t *testing.T) {
	for name, rows := range map[string]string{
		"a row without a kind": `[{"id":7,"_change_type":"delete"},{"id":8}]`,
		"no such column":       "",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.commit(definition(plain, nil)...)
			if rows == "" {
				w.commit(cdc(w.rows("_change_data/cdc-1", 7)))
			} else {
				w.commit(cdc(w.file("_change_data/cdc-1", "id:long _change_type:string", rows)))
			}
			_, err := w.feed(changes.Request{})
			require.ErrorIs(t, err, idem.ErrCorrupt)
			require.ErrorContains(t, err, "_change_data/cdc-1")
		})
	}
}

// TestFilesThatAreGone: a vacuum takes files of changes, removed files and vectors. That is an error
// that says which file of which version it was, and never less rows.
func TestFilesThatAreGone(t *testing.T) {
	for _, key := range []string{"a", "_change_data/cdc-1", "deletion_vector_00000000-0000-4000-8000-000000000001.bin"} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t)
			w.commit(definition(plain, nil)...)
			a, b := w.rows("a", 1), w.rows("b", 2, 3)
			w.commit(add(a), add(b))
			w.commit(remove(a))
			w.commit(cdc(w.file("_change_data/cdc-1", "id:long v:string _change_type:string", `[{"id":7,"_change_type":"delete"}]`)))
			w.commit(remove(b), add(under(b, w.vector(0))))
			_, err := w.feed(changes.Request{From: changes.Version(2)})
			require.NoError(t, err)
			version := map[byte]string{'a': "version 2", '_': "version 3", 'd': "version 4"}[key[0]]
			require.NoError(t, w.st.Delete(t.Context(), key))
			_, err = w.feed(changes.Request{From: changes.Version(2)})
			require.ErrorIs(t, err, idem.ErrCorrupt)
			require.ErrorContains(t, err, version)
			require.ErrorContains(t, err, key)
			require.ErrorContains(t, err, "vacuum")
		})
	}
}

// TestPartitionsAndMapping: partition values are of the action, under the names of the log; columns are
// found by their names in files, or by their ids.
func TestPartitionsAndMapping(t *testing.T) {
	for _, mode := range []string{"none", "name", "id"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			columns := []column{{name: "p", typ: "date"}, {name: "id", typ: "long"}, {name: "v", typ: "string"}}
			names, key := "id:long v:string", "p"
			if mode != "none" {
				columns = []column{{"p", "date", "col-p", 1, false}, {"id", "long", "col-id", 2, false}, {"v", "string", "col-v", 3, false}}
				names, key = "col-id:long#2 col-v:string#3", "col-p"
			}
			w.commit(definition(columns, []string{"p"}, "delta.columnMapping.mode", mode)...)
			in := func(f *delta.Add, day string) *delta.Add {
				f.PartitionValues = map[string]*string{key: &day}
				return f
			}
			rows := func(text string) string {
				if mode == "none" {
					return text
				}
				return renamed(text)
			}
			a := in(w.file("a", names, rows(`[{"id":1,"v":"x"},{"id":2,"v":"y"}]`)), "2024-05-01")
			w.commit(add(a))
			w.commit(cdc(in(w.file("_change_data/c", names+" _change_type:string", rows(`[{"id":2,"v":"y","_change_type":"delete"}]`)), "2024-05-02")))
			w.commit(bare(a))
			got, err := w.feed(changes.Request{From: changes.Version(1)})
			require.NoError(t, err)
			require.Equal(t, []string{"2024-05-01|1|x|insert|1", "2024-05-01|2|y|insert|1", "2024-05-02|2|y|delete|2",
				"2024-05-01|1|x|delete|3", "2024-05-01|2|y|delete|3"}, got)
			got, err = w.feed(changes.Request{From: changes.Version(2), Columns: []string{"V", "p"}})
			require.NoError(t, err)
			require.Equal(t, []string{"y|2024-05-02|delete|2", "x|2024-05-01|delete|3", "y|2024-05-01|delete|3"}, got)
		})
	}
}

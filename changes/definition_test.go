package changes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
)

// Columns of tables under column mapping.
var (
	mappedID = column{"id", "long", "col-id", 1, false}
	mappedV  = column{"v", "string", "col-v", 2, false}
	names    = "col-id:long#1 col-v:string#2"
)

// TestDefinitionsThatChangeInTheRange: version 1 adds a row, 2 changes the definition, 3 adds a row, 4
// perhaps changes the definition again.
func TestDefinitionsThatChangeInTheRange(t *testing.T) {
	for name, c := range map[string]struct {
		why          string
		before       []delta.Action
		first        func(w *world) delta.Action
		then         []delta.Action
		second       func(w *world) delta.Action
		last         []delta.Action
		r            changes.Request
		want         []string
		fails        string
		failsByShape string // the error must name the version in whose columns the rows are wanted
	}{
		"column added": {
			why: "older rows have NULL in it", before: definition(plain, nil),
			then: definition(append(plain[:2:2], column{name: "n", typ: "integer"}), nil),
			second: func(w *world) delta.Action {
				return add(w.file("b", "id:long v:string n:int", `[{"id":2,"v":"b","n":7}]`))
			},
			want: []string{"1|v1|(null)|insert|1", "2|b|7|insert|3"},
		},
		"column added after the range": {
			why: "columns are those of the newest version if they can be", before: definition(plain, nil),
			last: definition(append(plain[:2:2], column{name: "n", typ: "integer"}), nil),
			r:    between(1, 3), want: []string{"1|v1|(null)|insert|1", "2|v2|(null)|insert|3"},
		},
		"column added after the range, under mapping": {
			why: "as Spark reads such tables: in the columns of the range's end", before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first:  func(w *world) delta.Action { return add(w.file("a", names, renamed(numbered(1)))) },
			second: func(w *world) delta.Action { return add(w.file("b", names, renamed(numbered(2)))) },
			last:   definition([]column{mappedID, mappedV, {"n", "integer", "col-n", 3, false}}, nil, "delta.columnMapping.mode", "name"),
			r:      between(1, 3), want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"column renamed after the range": {
			why: "then those of its end", before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first:  func(w *world) delta.Action { return add(w.file("a", names, renamed(numbered(1)))) },
			second: func(w *world) delta.Action { return add(w.file("b", names, renamed(numbered(2)))) },
			last:   definition([]column{mappedID, {"w", "string", "col-v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			r:      between(1, 3), want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"column dropped after the range": {
			why: "rows that had it keep it", before: definition(plain, nil),
			last: definition(plain[:1], nil),
			r:    between(1, 3), want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"column renamed": {
			why: "files have it under one name: rows are given under the last", before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first:  func(w *world) delta.Action { return add(w.file("a", names, renamed(numbered(1)))) },
			then:   definition([]column{mappedID, {"w", "string", "col-v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			second: func(w *world) delta.Action { return add(w.file("b", names, renamed(numbered(2)))) },
			r:      changes.Request{Columns: []string{"id", "w"}}, want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"columns that changed names": {
			why: "a column is what files have under its name there", before: definition([]column{{"x", "string", "col-id", 1, false}, {"y", "string", "col-v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			first: func(w *world) delta.Action {
				return add(w.file("a", "col-id:string#1 col-v:string#2", `[{"col-id":"1","col-v":"one"}]`))
			},
			then: definition([]column{{"y", "string", "col-id", 1, false}, {"x", "string", "col-v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			second: func(w *world) delta.Action {
				return add(w.file("b", "col-id:string#1 col-v:string#2", `[{"col-id":"2","col-v":"two"}]`))
			},
			r: changes.Request{Columns: []string{"x", "y"}}, want: []string{"one|1|insert|1", "two|2|insert|3"},
		},
		"partition column renamed": {
			why: "its values stand under one name, too", before: definition([]column{mappedID, mappedV}, []string{"v"}, "delta.columnMapping.mode", "name"),
			first: func(w *world) delta.Action {
				return in("col-v", "p", add(w.file("a", "col-id:long#1", `[{"col-id":1}]`)))
			},
			then: definition([]column{mappedID, {"w", "string", "col-v", 2, false}}, []string{"w"}, "delta.columnMapping.mode", "name"),
			second: func(w *world) delta.Action {
				return in("col-v", "q", add(w.file("b", "col-id:long#1", `[{"col-id":2}]`)))
			},
			want: []string{"1|p|insert|1", "2|q|insert|3"},
		},
		"column renamed since mapping was turned on": {
			why: "before, a name could be another column's", before: definition(plain, nil),
			then:  definition([]column{{"id", "long", "id", 1, false}, {"w", "string", "v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			fails: "version 0 cannot be read in the columns of version 4: the column v was renamed w; ask for ranges on either side of the change",
		},
		"mapping turned off and on again": {
			why: "then the names in files are other columns'", before: definition([]column{mappedID, {"w", "string", "v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			first: func(w *world) delta.Action {
				return add(w.file("a", "col-id:long#1 v:string#2", `[{"col-id":1,"v":"of w"}]`))
			},
			then:  definition([]column{{name: "col-id", typ: "long"}, {name: "v", typ: "string"}}, nil),
			last:  definition([]column{mappedID, {"v", "string", "v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			fails: "the column w was renamed v",
		},
		"column dropped": {
			why: "what it held would be lost", before: definition(plain, nil), then: definition(plain[:1], nil),
			second: func(w *world) delta.Action { return add(w.file("b", "id:long", `[{"id":2}]`)) },
			fails:  "version 0 cannot be read in the columns of version 4: the column v is gone",
		},
		"column dropped and made anew": {
			why: "it is another column", before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first: func(w *world) delta.Action { return add(w.file("a", names, renamed(numbered(1)))) },
			then:  definition([]column{mappedID, {"v", "string", "col-w", 3, false}}, nil, "delta.columnMapping.mode", "name"),
			fails: "the column v is gone, or another of its name has taken its place",
		},
		"mapping turned on": {
			why: "files from before have the names that they had", before: definition(plain, nil),
			then: definition([]column{{"id", "long", "id", 1, false}, {"v", "string", "v", 2, false}}, nil, "delta.columnMapping.mode", "name"),
			want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"mapping turned off": {
			why:    "files from before are not read by names that they do not have",
			before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first:  func(w *world) delta.Action { return add(w.file("a", names, renamed(numbered(1)))) },
			then:   definition(plain, nil),
			fails:  "the column id is gone, or another of its name has taken its place",
		},
		"column widened": {
			why: "every value is one of the wider type", before: definition([]column{{name: "id", typ: "integer"}, plain[1]}, nil, "delta.enableTypeWidening", "true"),
			first: func(w *world) delta.Action { return add(w.file("a", "id:int v:string", numbered(1))) },
			then:  definition(plain, nil, "delta.enableTypeWidening", "true"),
			want:  []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"column widened, and the feature given up after the range": {
			why: "the files are as they were", before: definition([]column{{name: "id", typ: "integer"}, plain[1]}, nil, "delta.enableTypeWidening", "true"),
			first: func(w *world) delta.Action { return add(w.file("a", "id:int v:string", numbered(1))) },
			then:  definition(plain, nil, "delta.enableTypeWidening", "true"),
			last:  []delta.Action{protocol("deletionVectors", "columnMapping"), definition(plain, nil)[1]},
			want:  []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"column of another type": {
			why: "not every value is one of it", before: definition(plain, nil),
			then:   definition([]column{{name: "id", typ: "string"}, plain[1]}, nil),
			second: func(w *world) delta.Action { return add(w.file("b", "id:string v:string", `[{"id":"2","v":"b"}]`)) },
			fails:  "the column id was long and is string",
		},
		"column that was void": {
			why: "no file has it", before: definition([]column{plain[0], {name: "v", typ: "void"}}, nil),
			first: func(w *world) delta.Action { return add(w.file("a", "id:long", `[{"id":1}]`)) },
			then:  definition(plain, nil),
			want:  []string{"1|(null)|insert|1", "2|v2|insert|3"},
		},
		"NOT NULL set": {
			why: "rows from before may hold NULL", before: definition(plain, nil),
			then:  definition([]column{{name: "id", typ: "long", notNull: true}, plain[1]}, nil),
			fails: "the column id became NOT NULL",
		},
		"NOT NULL column added": {
			why: "older rows would have NULL in it", before: definition(plain, nil),
			then: definition(append(plain[:2:2], column{name: "n", typ: "integer", notNull: true}), nil),
			second: func(w *world) delta.Action {
				return add(w.file("b", "id:long v:string n:int", `[{"id":2,"v":"b","n":7}]`))
			},
			fails: "the column n is new and NOT NULL",
		},
		"NOT NULL field of a struct added": {
			why:    "as deep as it may be",
			before: definition(append(plain[:2:2], column{name: "s", typ: structOf("x")}), nil),
			then:   definition(append(plain[:2:2], column{name: "s", typ: strings.Replace(structOf("x", "y"), `"y","type":"long","nullable":true`, `"y","type":"long","nullable":false`, 1)}), nil),
			fails:  "the column s.y is new and NOT NULL",
		},
		"NOT NULL dropped": {
			why: "rows from before hold none", before: definition([]column{{name: "id", typ: "long", notNull: true}, plain[1]}, nil),
			then: definition(plain, nil),
			want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"other partition columns": {
			why: "files have their values elsewhere", before: definition(plain, nil),
			then:  definition(plain, []string{"v"}),
			fails: "the partition columns are [v] and not []",
		},
		"field of a struct dropped": {
			why:    "as deep as it may be",
			before: definition([]column{{name: "id", typ: "long"}, {name: "v", typ: "string"}, {name: "s", typ: structOf("x", "y")}}, nil),
			then:   definition([]column{{name: "id", typ: "long"}, {name: "v", typ: "string"}, {name: "s", typ: structOf("x")}}, nil),
			fails:  "the column s.y is gone",
		},
		"feed turned off in between": {
			why: "of version 2 and 3 nobody kept what changed", before: definition(plain, nil),
			then:  definition(plain, nil, "delta.enableChangeDataFeed", "false"),
			last:  definition(plain, nil),
			fails: "version 2: ", failsByShape: "the table kept no change data feed",
		},
		"feed turned on after the first version": {
			why: "the range begins too early", before: definition(plain, nil, "delta.enableChangeDataFeed", "false"),
			then:  definition(plain, nil),
			fails: "version 0: ", failsByShape: "ask for a range of versions in which it did",
		},
		"feed turned off after the range": {
			why: "what was kept is there", before: definition(plain, nil),
			last: definition(plain, nil, "delta.enableChangeDataFeed", "false"),
			r:    between(0, 3), want: []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"feed turned on before the range": {
			why: "earlier versions are not asked for", before: definition(plain, nil, "delta.enableChangeDataFeed", "false"),
			then: definition(plain, nil),
			r:    changes.Request{From: changes.Version(2)}, want: []string{"2|v2|insert|3"},
		},
		"vectors given up after the range": {
			why: "files of the range have them all the same", before: definition(plain, nil),
			first: func(w *world) delta.Action { return add(under(w.rows("a", 1, 9), w.vector(1))) },
			last:  []delta.Action{protocol("columnMapping"), definition(plain, nil)[1]},
			want:  []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"vectors given up, readers of old": {
			why: "files of the range have them all the same", before: definition([]column{mappedID, mappedV}, nil, "delta.columnMapping.mode", "name"),
			first: func(w *world) delta.Action {
				return add(under(w.file("a", names, renamed(numbered(1, 9))), w.vector(1)))
			},
			second: func(w *world) delta.Action { return add(w.file("b", names, renamed(numbered(2)))) },
			last:   []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 2, MinWriterVersion: 5}}},
			want:   []string{"1|v1|insert|1", "2|v2|insert|3"},
		},
		"a column with a name of the feed": {
			why: "which of both would it be", before: definition(append(plain[:2:2], column{name: "_Change_Type", typ: "string"}), nil),
			fails: "the table has a column _change_type",
		},
		"a feature that idem does not read": {
			why: "of any version in the range", before: definition(plain, nil),
			then:  []delta.Action{protocol("deletionVectors", "columnMapping", "typeWidening", "madeUp")},
			last:  []delta.Action{protocol("deletionVectors", "columnMapping", "typeWidening")},
			fails: "madeUp",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.commit(c.before...)
			rows := func(f func(w *world) delta.Action, key string, id int) delta.Action {
				if f != nil {
					return f(w)
				}
				return add(w.rows(key, id))
			}
			w.commit(rows(c.first, "a", 1))
			w.commit(c.then...)
			w.commit(rows(c.second, "b", 2))
			w.commit(c.last...)
			got, err := w.feed(c.r)
			if c.fails != "" {
				require.Error(t, err, c.why)
				if name != "a feature that idem does not read" {
					require.ErrorIs(t, err, idem.ErrInput)
				}
				require.ErrorContains(t, err, c.fails)
				require.ErrorContains(t, err, c.failsByShape)
				require.Empty(t, got, "no row comes before the refusal")
				return
			}
			require.NoError(t, err, c.why)
			require.Equal(t, c.want, got, c.why)
		})
	}
}

// in puts a file into a partition.
func in(column, value string, f delta.Action) delta.Action {
	f.Add.PartitionValues = map[string]*string{column: &value}
	return f
}

func structOf(names ...string) string {
	out := ""
	for _, n := range names {
		out += `,{"name":"` + n + `","type":"long","nullable":true,"metadata":{}}`
	}
	return `{"type":"struct","fields":[` + out[1:] + `]}`
}

// TestTheFirstVersionRemovesRowsOfAnotherDefinition: they would be read in columns that they do not
// have. Versions that remove none do not mind what was before.
func TestTheFirstVersionRemovesRowsOfAnotherDefinition(t *testing.T) {
	w := newWorld(t)
	w.commit(definition(plain, nil)...)
	a := w.rows("a", 1)
	w.commit(add(a))
	other := definition([]column{{name: "k", typ: "long"}}, nil)
	w.commit(append(other, remove(a), add(w.file("b", "k:long", `[{"k":5}]`)))...)
	w.commit(add(w.file("c", "k:long", `[{"k":6}]`)))
	_, err := w.feed(changes.Request{From: changes.Version(2)})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "the rows that version 2 removed cannot be told in the columns of version 3: the column id is gone")
	require.ErrorContains(t, err, "see them in the table of version 1 (Table.At), and ask for the changes up to that version and from version 3 on")
	got, err := w.feed(changes.Request{From: changes.Version(3)})
	require.NoError(t, err)
	require.Equal(t, []string{"6|insert|3"}, got)
	got, err = w.feed(between(0, 1))
	require.NoError(t, err)
	require.Equal(t, []string{"1|v1|insert|1"}, got)
}

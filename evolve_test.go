package idem_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
)

// wider gives rows of orders with one more column, as JSON lines.
func wider(name string, dt arrow.DataType, lines ...string) arrow.RecordBatch {
	fields := append(slices.Clone(orders.Fields()), arrow.Field{Name: name, Type: dt})
	schema := arrow.NewSchema(fields, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	if err != nil {
		panic(err)
	}
	return batch
}

// readerOf gives a one-pass reader of batches.
func readerOf(batches ...arrow.RecordBatch) array.RecordReader {
	r, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		panic(err)
	}
	return r
}

// repeatable can be read again.
type repeatable struct {
	array.RecordReader
	batches []arrow.RecordBatch
}

func readAgain(batches ...arrow.RecordBatch) *repeatable {
	return &repeatable{RecordReader: readerOf(batches...), batches: batches}
}

func (r *repeatable) Rewind(context.Context) error {
	r.RecordReader = readerOf(r.batches...)
	return nil
}

// evolving are the verbs that write rows, each over the slice "d1" of begun.
var evolving = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error)
	kept []string // rows of begun that the verb leaves
	add  bool     // a second call adds the rows again
}{
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = 'd1'", Evolve: evolve})
	}, []string{"d2/3/1/c/NULL"}, false},
	{"ReplaceAll", func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rows, idem.ReplaceAll{Evolve: evolve})
	}, nil, false},
	{"Merge", func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: evolve})
	}, []string{"d1/1/1/a/NULL", "d2/3/1/c/NULL"}, false},
	{"Append", func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error) {
		return t.Append(ctx, rows, idem.Append{Reason: "test", Evolve: evolve})
	}, []string{"d1/1/1/a/NULL", "d1/2/1/b/NULL", "d2/3/1/c/NULL"}, true},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader, evolve bool) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rows, idem.Txn{AppID: tagged.AppID, Version: tagged.Version, Evolve: evolve})
	}, []string{"d1/1/1/a/NULL", "d1/2/1/b/NULL", "d2/3/1/c/NULL"}, false},
}

// cells gives the rows of the newest version with all columns, "day/id/seq/v/…".
func (f *fixture) cells() []string {
	out := []string{}
	for b, err := range f.other().Scan(f.t.Context(), idem.Scan{}) {
		require.NoError(f.t, err)
		for i := range int(b.NumRows()) {
			var cells []string
			for _, c := range b.Columns() {
				text := "NULL"
				if c.IsValid(i) {
					text = c.ValueStr(i)
				}
				cells = append(cells, text)
			}
			out = append(out, strings.Join(cells, "/"))
		}
	}
	return out
}

// committed gives the actions of a version.
func (f *fixture) committed(version int64) []delta.Action {
	data, err := f.mem.Get(f.t.Context(), delta.CommitKey(version), 0)
	require.NoError(f.t, err)
	actions, err := delta.DecodeCommit(delta.CommitKey(version), data)
	require.NoError(f.t, err)
	return actions
}

func (f *fixture) columns() string { return f.other().Snapshot().Schema().String() }

const ordersColumns = "day:string,id:long,seq:long,v:string"

func TestEvolveAddsAColumnInTheCommitOfTheRows(t *testing.T) {
	batch := wider("Extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":2,"seq":5,"v":"B","Extra":7}`)
	for _, v := range evolving {
		for name, rows := range map[string]func() array.RecordReader{
			"one pass":   func() array.RecordReader { return readerOf(batch) },
			"read again": func() array.RecordReader { return readAgain(batch) },
		} {
			t.Run(v.name+"/"+name, func(t *testing.T) {
				f := begun(t)
				files := f.dataFiles()
				_, err := v.run(t.Context(), f.table, rows(), false)
				require.ErrorIs(t, err, idem.ErrInput, "without Evolve")
				require.ErrorContains(t, err, `"Extra"`)
				require.ErrorContains(t, err, "Evolve: true", "the way out is named")
				require.EqualValues(t, 1, f.other().Version())
				require.Equal(t, files, f.dataFiles(), "nothing is left")

				was := *f.other().Snapshot().Metadata()
				res, err := v.run(t.Context(), f.table, rows(), true)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, []string{"Extra"}, res.AddedColumns)
				require.Contains(t, res.String(), "columns added: Extra")
				require.EqualValues(t, 2, f.other().Version(), "one commit has column and rows")
				want := append([]string{"d1/2/5/B/7"}, v.kept...)
				require.ElementsMatch(t, want, f.cells(), "what was there reads the new column as NULL")
				require.Equal(t, "struct<"+ordersColumns+",Extra:long>", f.columns(), "NOT NULL in the rows is nullable in the table")
				is := *f.other().Snapshot().Metadata()
				was.SchemaString = is.SchemaString
				require.Equal(t, was, is, "all else of the definition is kept")

				printed := f.fingerprint()
				res, err = v.run(t.Context(), f.other(), rows(), true)
				require.NoError(t, err)
				require.Empty(t, res.AddedColumns)
				if v.add {
					return
				}
				require.NotEqual(t, idem.Committed, res.Outcome, "the second call changes nothing")
				require.EqualValues(t, 2, f.other().Version())
				require.Equal(t, printed, f.fingerprint())
			})
		}
	}
}

// The rows are those of the slice; only a column is new, and it holds nothing.
func TestEvolveCommitsAColumnAlone(t *testing.T) {
	batch := wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":1,"seq":1,"v":"a","extra":null}`, `{"day":"d1","id":2,"seq":1,"v":"b","extra":null}`)
	all := wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":1,"seq":1,"v":"a","extra":null}`, `{"day":"d1","id":2,"seq":1,"v":"b","extra":null}`,
		`{"day":"d2","id":3,"seq":1,"v":"c","extra":null}`)
	none := wider("extra", arrow.PrimitiveTypes.Int64)
	for _, v := range evolving {
		for name, again := range map[string]bool{"one pass": false, "read again": true} {
			t.Run(v.name+"/"+name, func(t *testing.T) {
				rows := func() array.RecordReader {
					b := batch
					switch v.name {
					case "ReplaceAll":
						b = all
					case "Append", "AppendWithTxn":
						b = none
					}
					if again {
						return readAgain(b)
					}
					return readerOf(b)
				}
				f := begun(t)
				files, printed := f.dataFiles(), f.fingerprint()
				res, err := v.run(t.Context(), f.table, rows(), true)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, []string{"extra"}, res.AddedColumns)
				require.Zero(t, res.FilesAdded+res.FilesRemoved)
				for _, a := range f.committed(2) {
					require.True(t, a.Metadata != nil || a.CommitInfo != nil || a.Txn != nil, "no file is touched")
				}
				require.Equal(t, files, f.dataFiles(), "what was written to be compared is gone")
				require.Equal(t, printed, f.fingerprint(), "a column of NULLs leaves the digest as it was")
				tagged, err := f.other().Fingerprint(t.Context(), idem.Fingerprint{})
				require.NoError(t, err)
				require.Equal(t, printed, tagged.String(), "and the tags in the log stay valid")

				res, err = v.run(t.Context(), f.other(), rows(), true)
				require.NoError(t, err)
				require.Contains(t, []idem.Outcome{idem.Unchanged, idem.AlreadyApplied}, res.Outcome)
				require.EqualValues(t, 2, f.other().Version())
			})
		}
	}
}

func TestEvolveWithACondition(t *testing.T) {
	t.Run("the slice names the new column", func(t *testing.T) {
		f := begun(t)
		batch := wider("tenant", arrow.BinaryTypes.String, `{"day":"d1","id":2,"seq":5,"v":"B","tenant":"x"}`)
		call := func() (*idem.Result, error) {
			return f.other().ReplaceWhere(t.Context(), readerOf(batch), idem.ReplaceWhere{Where: "TENANT = 'x'", Evolve: true})
		}
		res, err := call()
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Inserted)
		require.Zero(t, res.Deleted, "rows that were there are NULL in it: not in the slice")
		require.ElementsMatch(t, []string{"d1/1/1/a/NULL", "d1/2/1/b/NULL", "d2/3/1/c/NULL", "d1/2/5/B/x"}, f.cells())
		res, err = call()
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("the slice is where the new column is NULL", func(t *testing.T) {
		f := begun(t)
		batch := wider("tenant", arrow.BinaryTypes.String, `{"day":"d1","id":2,"seq":5,"v":"B","tenant":null}`)
		_, err := f.other().ReplaceWhere(t.Context(), readerOf(batch), idem.ReplaceWhere{Where: "tenant IS NULL", Evolve: true})
		require.NoError(t, err)
		require.Equal(t, []string{"d1/2/5/B/NULL"}, f.cells())
	})
	t.Run("a row outside the slice is refused, and no column is added", func(t *testing.T) {
		f := begun(t)
		batch := wider("tenant", arrow.BinaryTypes.String, `{"day":"d1","id":2,"seq":5,"v":"B","tenant":"y"}`)
		_, err := f.other().ReplaceWhere(t.Context(), readerOf(batch), idem.ReplaceWhere{Where: "tenant = 'x'", Evolve: true})
		require.ErrorIs(t, err, idem.ErrInput)
		require.Equal(t, "struct<"+ordersColumns+">", f.columns())
	})
}

func TestEvolveIsWorkedOutAnewAfterARace(t *testing.T) {
	long, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	mine := wider("extra", long, `{"day":"d1","id":2,"seq":5,"v":"B","extra":7}`)
	// A winner that appends a row outside of every slice but that of ReplaceAll.
	append2 := func(t *testing.T, batch arrow.RecordBatch) func(*idem.Table) {
		return func(o *idem.Table) {
			_, err := o.Append(t.Context(), readerOf(batch), idem.Append{Reason: "test", Evolve: true})
			require.NoError(t, err)
		}
	}
	for _, c := range []struct {
		name    string
		theirs  arrow.RecordBatch
		columns string // of the table in the end
		row     string // theirs, as cells, and what follows 7 in ours
		rest    string // what our row and those of begun have after extra
		added   []string
	}{
		{"both add the same column", wider("extra", long, `{"day":"d9","id":9,"seq":1,"v":"z","extra":1}`), "extra:long", "d9/9/1/z/1", "", nil},
		{"they add another column", wider("other", str, `{"day":"d9","id":9,"seq":1,"v":"z","other":"o"}`), "other:string,extra:long", "d9/9/1/z/o/NULL", "NULL/", []string{"extra"}},
	} {
		for _, v := range evolving {
			t.Run(c.name+"/"+v.name, func(t *testing.T) {
				f := begun(t)
				f.raced(append2(t, c.theirs))
				res, err := v.run(t.Context(), f.table, readerOf(mine), true)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, c.added, res.AddedColumns)
				require.Equal(t, "struct<"+ordersColumns+","+c.columns+">", f.columns())
				want := []string{"d1/2/5/B/" + c.rest + "7"}
				for _, k := range v.kept {
					want = append(want, strings.TrimSuffix(k, "NULL")+c.rest+"NULL")
				}
				if v.name != "ReplaceAll" {
					want = append(want, c.row)
				}
				require.ElementsMatch(t, want, f.cells())
			})
		}
	}
	for _, v := range evolving {
		t.Run("they give the column another type/"+v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(append2(t, wider("extra", str, `{"day":"d9","id":9,"seq":1,"v":"z","extra":"o"}`)))
			_, err := v.run(t.Context(), f.table, readerOf(mine), true)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, `column "extra" is utf8 in the table, and the rows have int64`)
			require.ErrorContains(t, err, "typeWidening")
			require.EqualValues(t, 2, f.other().Version(), "nothing of ours is in the log")
		})
		t.Run("they spell the column otherwise/"+v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(append2(t, wider("EXTRA", long, `{"day":"d9","id":9,"seq":1,"v":"z","EXTRA":1}`)))
			_, err := v.run(t.Context(), f.table, readerOf(mine), true)
			require.ErrorIs(t, err, idem.ErrConflict, "files hold the name as it is spelled")
			require.ErrorContains(t, err, "column extra is spelled EXTRA now")
			_, err = v.run(t.Context(), f.other(), readerOf(mine), true)
			require.NoError(t, err)
			require.Equal(t, "struct<"+ordersColumns+",EXTRA:long>", f.columns())
		})
		t.Run("they change what rows must look like/"+v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(*idem.Table) {
				f.metadata(func(m *delta.Metadata) {
					s, err := delta.ParseSchema(m.SchemaString)
					require.NoError(t, err)
					s.Fields[s.Index("id")].Nullable = false
					m.SchemaString = s.JSON()
				})
			})
			_, err := v.run(t.Context(), f.table, readerOf(mine), true)
			require.ErrorIs(t, err, idem.ErrConflict)
			require.True(t, idem.SafeToRunAgain(err) || v.name == "Append")
			require.EqualValues(t, 2, f.other().Version())
		})
		t.Run("they change a property/"+v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(*idem.Table) {
				f.metadata(func(m *delta.Metadata) {
					m.Configuration["owner"], m.Configuration["delta.checkpointInterval"] = "somebody", "100"
				})
			})
			_, err := v.run(t.Context(), f.table, readerOf(mine), true)
			require.NoError(t, err)
			m := f.other().Snapshot().Metadata()
			require.Equal(t, "somebody", m.Configuration["owner"], "theirs is not overwritten")
			require.Equal(t, "struct<"+ordersColumns+",extra:long>", f.columns())
			require.ElementsMatch(t, append([]string{"d1/2/5/B/7"}, v.kept...), f.cells())
		})
		t.Run("they compact/"+v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(*idem.Table) { f.compact() })
			_, err := v.run(t.Context(), f.table, readerOf(mine), true)
			require.NoError(t, err)
			require.ElementsMatch(t, append([]string{"d1/2/5/B/7"}, v.kept...), f.cells())
		})
	}
}

// A job that knows nothing of the new column goes on, whoever was first.
func TestOthersGoOnWhenAColumnIsAddedFirst(t *testing.T) {
	for _, v := range raced {
		for name, where := range map[string]string{"beside what it does": "d9", "amid what it does": "d1"} {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				f := begun(t)
				line := fmt.Sprintf(`{"day":%q,"id":1,"seq":9,"v":"z","extra":1}`, where)
				f.raced(func(o *idem.Table) {
					_, err := o.Merge(t.Context(), readerOf(wider("extra", arrow.PrimitiveTypes.Int64, line)), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
					require.NoError(t, err)
				})
				res, err := v.run(t.Context(), f.table)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				want := []string{}
				for _, r := range v.want {
					if strings.HasPrefix(r, "d1/1/") {
						r = where + "/1/9/z/1" // theirs: the column that we do not know keeps its value
					} else {
						r += "/NULL"
					}
					want = append(want, r)
				}
				require.ElementsMatch(t, want, f.cells())
			})
		}
	}
}

// Two columns of others and one of ours: the kept source of a merge is bound to the table twice.
func TestAMergeIsRedoneOnceForEachColumnOfOthers(t *testing.T) {
	f := begun(t)
	n := 0
	other := f.other()
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && n < 2 {
			n++
			line := fmt.Sprintf(`{"day":"d1","id":1,"seq":%d,"v":"z","b%d":1}`, 8+n, n)
			_, err := other.Merge(t.Context(), readerOf(wider(fmt.Sprint("b", n), arrow.PrimitiveTypes.Int64, line)), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
			require.NoError(t, err)
		}
		return storetest.Fault{}
	}
	batch := wider("a", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":2,"seq":5,"v":"B","a":7}`, `{"day":"d1","id":4,"seq":5,"v":"D","a":8}`)
	res, err := f.table.Merge(t.Context(), readerOf(batch), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, res.AddedColumns)
	require.Equal(t, []string{"b1", "b2"}, res.MissingColumns)
	require.ElementsMatch(t, []string{"d1/1/10/z/1/1/NULL", "d1/2/5/B/NULL/NULL/7", "d1/4/5/D/NULL/NULL/8", "d2/3/1/c/NULL/NULL/NULL"}, f.cells())
}

// A table that was opened before another writer evolved it takes the column all the same.
func TestAColumnThatTheTableAtHandLacksIsLookedForInTheNewest(t *testing.T) {
	batch := wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":2,"seq":5,"v":"B","extra":7}`)
	for _, v := range evolving {
		t.Run(v.name, func(t *testing.T) {
			f := begun(t)
			_, err := f.other().Append(t.Context(), readerOf(wider("extra", arrow.PrimitiveTypes.Int64)), idem.Append{Reason: "test", Evolve: true})
			require.NoError(t, err)
			_, err = v.run(t.Context(), f.table, readerOf(batch), false)
			require.NoError(t, err)
			require.ElementsMatch(t, append([]string{"d1/2/5/B/7"}, v.kept...), f.cells())
		})
	}
	t.Run("Delete", func(t *testing.T) {
		f := begun(t)
		_, err := f.other().Append(t.Context(), readerOf(batch), idem.Append{Reason: "test", Evolve: true})
		require.NoError(t, err)
		res, err := f.table.Delete(t.Context(), idem.Delete{Where: "extra = 7"})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Deleted)
	})
}

func TestEvolveRefuses(t *testing.T) {
	row := func(cell string) string { return fmt.Sprintf(`{"day":"d1","id":2,"seq":5,"v":"B",%s}`, cell) }
	fields := func(f ...arrow.Field) *arrow.Schema { return arrow.NewSchema(f, nil) }
	long := arrow.PrimitiveTypes.Int64
	twins := fields(arrow.Field{Name: "id", Type: long}, arrow.Field{Name: "x", Type: long}, arrow.Field{Name: "X", Type: long})
	for _, c := range []struct {
		why  string
		rows arrow.RecordBatch
		want []string
	}{
		{"a name with a space", wider("a b", long, row(`"a b":1`)), []string{`"a b"`, "rename it"}},
		{"a type that Delta lacks", wider("x", arrow.PrimitiveTypes.Uint64, row(`"x":1`)), []string{`"x"`, "cast it to int64"}},
		{"a column without a type", wider("x", arrow.Null, row(`"x":null`)), []string{`"x" is new`, "give it the type"}},
		{"a local time, which the table's protocol lacks", wider("x", &arrow.TimestampType{Unit: arrow.Microsecond}, row(`"x":null`)), []string{"timestampNtz", "time zone"}},
		{"two names that differ in case", array.NewRecordBatch(twins, []arrow.Array{column64(1), column64(2), column64(3)}, 1), []string{`"x" and "X"`}},
	} {
		for _, v := range evolving {
			t.Run(c.why+"/"+v.name, func(t *testing.T) {
				f := begun(t)
				files := f.dataFiles()
				_, err := v.run(t.Context(), f.table, readerOf(c.rows), true)
				require.ErrorIs(t, err, idem.ErrInput)
				for _, want := range c.want {
					require.ErrorContains(t, err, want)
				}
				require.EqualValues(t, 1, f.other().Version())
				require.Equal(t, files, f.dataFiles())
			})
		}
	}
}

func column64(values ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestEvolveWidensNoColumn(t *testing.T) {
	narrow := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true}}, nil)
	rows := func(f arrow.Field, text string) array.RecordReader {
		schema := arrow.NewSchema([]arrow.Field{f, {Name: "new", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
		require.NoError(t, err)
		return readerOf(batch)
	}
	for _, c := range []struct {
		why, text string
		field     arrow.Field
		want      []string
	}{
		{"a type that may not fit is refused at once", `[{"f": 1}]`, arrow.Field{Name: "f", Type: arrow.PrimitiveTypes.Float64}, []string{`column "f"`, "typeWidening"}},
		{"a value that does not fit is refused", `[{"id": 5000000000}]`, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64}, []string{`column "id"`, "5000000000", "typeWidening"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := fixtureOf(t, idem.Definition{Schema: narrow})
			_, err := f.table.Append(t.Context(), rows(c.field, c.text), idem.Append{Reason: "test", Evolve: true})
			require.ErrorIs(t, err, idem.ErrInput)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.Equal(t, "struct<id:integer,f:float>", f.columns())
			require.Zero(t, f.dataFiles())
		})
	}
	t.Run("a value that fits is stored as the column has it", func(t *testing.T) {
		f := fixtureOf(t, idem.Definition{Schema: narrow})
		_, err := f.table.Append(t.Context(), rows(arrow.Field{Name: "ID", Type: arrow.PrimitiveTypes.Int64}, `[{"ID": 7, "new": 8}]`), idem.Append{Reason: "test", Evolve: true})
		require.NoError(t, err)
		require.Equal(t, "struct<id:integer,f:float,new:long>", f.columns())
	})
}

func TestEvolveInAMerge(t *testing.T) {
	merge := func(f *fixture, m idem.Merge, lines ...string) (*idem.Result, error) {
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "seq", Type: arrow.PrimitiveTypes.Int64}, {Name: "lsn", Type: arrow.PrimitiveTypes.Int64}, {Name: "op", Type: arrow.BinaryTypes.String},
		}, nil)
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
		require.NoError(f.t, err)
		m.On, m.Evolve = []string{"id"}, true
		return f.other().Merge(f.t.Context(), readerOf(batch), m)
	}
	update := `{"id":2,"seq":5,"lsn":7,"op":"u"}`
	for _, c := range []struct {
		why     string
		request idem.Merge
		added   []string
		want    string // of row 2
		err     string
	}{
		{"a column of Newer is added, and guards", idem.Merge{Newer: []string{"lsn"}}, []string{"lsn", "op"}, "d1/2/5/b/7/u", ""},
		{"but not one that only orders the source", idem.Merge{Newer: []string{"seq", "lsn"}, GuardPrefix: true}, []string{"op"}, "d1/2/5/b/u", ""},
		{"nor one that only says what is deleted", idem.Merge{Newer: []string{"seq"}, DeleteWhen: "op = 'd'"}, []string{"lsn"}, "d1/2/5/b/7", ""},
		{"unless it is listed", idem.Merge{Newer: []string{"seq"}, DeleteWhen: "op = 'd'", Update: []string{"seq", "OP", "lsn"}}, []string{"lsn", "op"}, "d1/2/5/b/7/u", ""},
		{"a new column that nothing sets is refused", idem.Merge{Newer: []string{"seq"}, DeleteWhen: "op = 'd'", Update: []string{"seq"}, Insert: []string{"id", "seq"}}, nil, "", `column "lsn" and neither`},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := begun(t)
			res, err := merge(f, c.request, update)
			if c.err != "" {
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.added, res.AddedColumns)
			require.Contains(t, f.cells(), c.want)
			res, err = merge(f, c.request, update)
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
		})
	}
	t.Run("a row that is not newer is left alone", func(t *testing.T) {
		f := begun(t)
		res, err := merge(f, idem.Merge{Newer: []string{"seq"}, Insert: []string{"id", "seq", "lsn"}}, `{"id":2,"seq":1,"lsn":7,"op":"u"}`)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome, "the column is added")
		require.EqualValues(t, 1, res.Ties)
		require.Contains(t, f.cells(), "d1/2/1/b/NULL/NULL")
	})
}

// What is read after an evolution is read the same from a checkpoint.
func TestEvolveAndCheckpoints(t *testing.T) {
	f := newFixture(t, "delta.checkpointInterval", "2")
	str := arrow.BinaryTypes.String
	for n, name := range []string{"x1", "x2", "x3", "x4", "x5"} {
		line := fmt.Sprintf(`{"day":"d%d","id":%d,"seq":1,"v":"a","%s":"v%d"}`, n%2, n, name, n)
		_, err := f.other().AppendWithTxn(t.Context(), readerOf(wider(name, str, line)), idem.Txn{AppID: "a", Version: int64(n), Evolve: true})
		require.NoError(t, err)
	}
	hint, err := f.mem.Get(t.Context(), delta.LogDir+"_last_checkpoint", 0)
	require.NoError(t, err)
	require.Contains(t, string(hint), `"version":4`)
	require.NoError(t, f.mem.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2)))
	f.foreign = true // the log begins with the checkpoint
	require.Equal(t, "struct<"+ordersColumns+",x1:string,x2:string,x3:string,x4:string,x5:string>", f.columns())
	require.Equal(t, []string{
		"d0/0/1/a/v0/NULL/NULL/NULL/NULL", "d0/2/1/a/NULL/NULL/v2/NULL/NULL", "d0/4/1/a/NULL/NULL/NULL/NULL/v4",
		"d1/1/1/a/NULL/v1/NULL/NULL/NULL", "d1/3/1/a/NULL/NULL/NULL/v3/NULL",
	}, sorted(f.cells()))
	for where, want := range map[string]int{"x1 = 'v0'": 1, "x5 = 'v4'": 1, "x5 IS NULL": 4, "x3 < 'v2'": 0} {
		n := 0
		for b, err := range f.other().Scan(t.Context(), idem.Scan{Where: where}) {
			require.NoError(t, err)
			n += int(b.NumRows())
		}
		require.Equal(t, want, n, where)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// VerifyPayload compares rows that a skipped call brings, whatever columns they have.
func TestEvolveAndPayload(t *testing.T) {
	f := begun(t)
	txn := idem.Txn{AppID: "a", Version: 1, VerifyPayload: true, Evolve: true}
	batch := wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":9,"seq":5,"v":"B","extra":7}`)
	_, err := f.table.AppendWithTxn(t.Context(), readerOf(batch), txn)
	require.NoError(t, err)
	res, err := f.other().AppendWithTxn(t.Context(), readerOf(batch), txn)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, res.Outcome)
	require.False(t, res.PayloadUnknown)
	more := wider("more", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":9,"seq":5,"v":"B","more":7}`)
	_, err = f.other().AppendWithTxn(t.Context(), readerOf(more), txn)
	require.ErrorIs(t, err, idem.ErrPayload)
	require.Equal(t, "struct<"+ordersColumns+",extra:long>", f.columns(), "a skipped call adds no column")
}

func TestEvolveOfATagAlone(t *testing.T) {
	f := begun(t)
	_, err := f.table.ReplaceWhere(t.Context(), rowsOf(order{"d1", 2, 5, "B"}), idem.ReplaceWhere{Where: "day = 'd1'", Txn: idem.Txn{Evolve: true}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "AppID is empty")
	batch := wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d1","id":9,"seq":5,"v":"B","extra":7}`)
	res, err := f.table.ReplaceWhere(t.Context(), readerOf(batch), idem.ReplaceWhere{Where: "day = 'd1'", Txn: idem.Txn{AppID: "a", Version: 1, Evolve: true}})
	require.NoError(t, err)
	require.Equal(t, []string{"extra"}, res.AddedColumns, "the Txn's Evolve counts in every verb")
}

func TestColumnsThatAnotherWriterAddsMeanwhileAreMissing(t *testing.T) {
	for _, v := range raced[:5] {
		t.Run(v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(o *idem.Table) {
				_, err := o.Append(t.Context(), typed([]arrow.Field{{Name: "extra", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true}},
					func(*array.RecordBuilder) {}), idem.Append{Reason: "test", Evolve: true})
				require.NoError(t, err)
			})
			res, err := v.run(t.Context(), f.table)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.Equal(t, []string{"extra"}, res.MissingColumns, "the rows lack what the table has now")
		})
	}
}

package idem_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// sentinels are all decisions that an error can ask for.
var sentinels = map[string]error{
	"ErrConflict": idem.ErrConflict, "ErrUnknownOutcome": idem.ErrUnknownOutcome, "ErrInput": idem.ErrInput,
	"ErrPayload": idem.ErrPayload, "ErrRestored": idem.ErrRestored, "ErrUnsupported": idem.ErrUnsupported,
	"ErrCorrupt": idem.ErrCorrupt, "ErrNotTable": idem.ErrNotTable, "ErrInterrupted": idem.ErrInterrupted,
}

// classified holds what is true of every error that reaches a caller: it is an *idem.Error, and it
// wraps exactly one sentinel.
func classified(t *testing.T, err error) {
	t.Helper()
	var e *idem.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Op)
	var found []string
	for name, s := range sentinels {
		if errors.Is(err, s) {
			found = append(found, name)
		}
	}
	require.Len(t, found, 1, "%v", err)
}

// provoked are the errors of docs/errors.md: one for each sentinel, made by a call that a user could
// write.
var provoked = map[string]func(t *testing.T) error{
	"ErrConflict": func(t *testing.T) error {
		mem, table := strict(t)
		_, err := table.AppendWithTxn(t.Context(), rowsOf(order{"d9", 9, 9, "i"}), idem.Txn{AppID: "loader", Version: 7})
		require.NoError(t, err)
		st := storetest.NewFaulty(mem)
		late, err := idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1})
		require.NoError(t, err)
		st.Before = func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpPutIfAbsent {
				st.Before = nil
				other, err := idem.OpenStore(t.Context(), mem, idem.Options{})
				require.NoError(t, err)
				_, err = other.RewindTxn(t.Context(), "loader", 5)
				require.NoError(t, err)
			}
			return storetest.Fault{}
		}
		_, err = late.RewindTxn(t.Context(), "loader", 3)
		return err
	},
	"ErrUnknownOutcome": func(t *testing.T) error {
		return unknown(t, func(ctx context.Context, table *idem.Table) error {
			_, err := table.Append(ctx, rowsOf(order{"d9", 9, 9, "i"}), idem.Append{Reason: "test"})
			return err
		})
	},
	"ErrInput": func(t *testing.T) error {
		_, table := strict(t)
		_, err := table.ReplaceWhere(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d2", 2, 1, "b"}), idem.ReplaceWhere{Where: "day = 'd1'"})
		return err
	},
	"ErrPayload": func(t *testing.T) error {
		_, table := strict(t)
		txn := idem.Txn{AppID: "orders_loader", Version: 7, VerifyPayload: true}
		_, err := table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), txn)
		require.NoError(t, err)
		_, err = table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}), txn)
		return err
	},
	"ErrRestored": func(t *testing.T) error {
		f := newFixture(t)
		txn := idem.Txn{AppID: "orders_loader", Version: 7}
		_, err := f.table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), txn)
		require.NoError(t, err)
		f.restore(0)
		_, err = f.table.AppendWithTxn(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), txn)
		return err
	},
	"ErrUnsupported": func(t *testing.T) error {
		mem := store.NewMem()
		require.NoError(t, mem.PutIfAbsent(t.Context(), delta.CommitKey(0), []byte(
			`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["catalogManaged"],"writerFeatures":["catalogManaged"]}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}
`)))
		_, err := idem.OpenStore(t.Context(), mem, idem.Options{})
		return err
	},
	"ErrCorrupt": func(t *testing.T) error {
		mem := threeVersions(t)
		require.NoError(t, mem.Delete(t.Context(), delta.CommitKey(1)))
		_, err := idem.OpenStore(t.Context(), mem, idem.Options{})
		return err
	},
	"ErrNotTable": func(t *testing.T) error {
		_, err := idem.OpenStore(t.Context(), store.NewMem(), idem.Options{})
		return err
	},
	"ErrInterrupted": func(t *testing.T) error {
		_, table := strict(t)
		r, err := array.NewRecordReader(orders, []arrow.RecordBatch{batchOf([]order{{"d1", 1, 1, "a"}})})
		require.NoError(t, err)
		_, err = table.AppendWithTxn(t.Context(), &failing{RecordReader: r}, idem.Txn{AppID: "orders_loader", Version: 7})
		return err
	},
}

// TestErrorsPage makes docs/errors.md from the sentinels, what the code says of them, and errors that
// were really seen.
func TestErrorsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Errors

Every error of package idem is an *Error (Op, Table, Version, Attempts) that wraps exactly one of these sentinels, one for each
decision that a caller can take; errors.Is finds it. SafeToRunAgain is the answer for a scheduler that knows nothing else.
Only what a job returned to RunTwice is handed on with what it wraps itself, and nothing beside.
This page is made by TestErrorsPage from the code and from errors that it provoked.
`)
	docs := sentinelDocs(t)
	require.Len(t, docs, len(sentinels))
	require.Len(t, provoked, len(sentinels))
	for _, d := range docs {
		err := provoked[d.name](t)
		require.ErrorIs(t, err, sentinels[d.name])
		classified(t, err)
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n%sFor example:\n\n> %v\n", d.name, d.text, safety(t, d.name, err), err)
	}
	const file = "docs/errors.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run go test . -run TestErrorsPage -update, and review what changed")
}

// safety says what SafeToRunAgain is for an error of a sentinel; of an unknown outcome it depends on the verb.
func safety(t *testing.T, name string, err error) string {
	if name != "ErrUnknownOutcome" {
		return fmt.Sprintf("SafeToRunAgain: %t. ", idem.SafeToRunAgain(err))
	}
	require.False(t, idem.SafeToRunAgain(err))
	other := unknown(t, func(ctx context.Context, table *idem.Table) error {
		_, err := table.AppendWithTxn(ctx, rowsOf(order{"d9", 9, 9, "i"}), idem.Txn{AppID: "a", Version: 1})
		return err
	})
	require.ErrorIs(t, other, idem.ErrUnknownOutcome)
	require.True(t, idem.SafeToRunAgain(other))
	return "SafeToRunAgain: false for Append, as in the example, and true for every other verb. "
}

// unknown is the error of a call whose commit has no answer.
func unknown(t *testing.T, call func(ctx context.Context, table *idem.Table) error) error {
	mem, _ := strict(t)
	st := storetest.NewFaulty(mem)
	table, err := idem.OpenStore(t.Context(), st, idem.Options{
		Parallelism: 1, Clock: &patient{now: time.Unix(1_700_000_000, 0)}, Random: rand.NewChaCha8([32]byte{1}),
	})
	require.NoError(t, err)
	st.Reset(storetest.Rule{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: storetest.LostAnswer}},
		storetest.Rule{Op: storetest.OpGet, Key: "*.json", Fault: storetest.Fault{Kind: storetest.FailBefore}})
	return call(t.Context(), table)
}

type sentinelDoc struct{ name, text string }

// sentinelDocs gives the exported errors of errors.go with their comments, in the file's order.
func sentinelDocs(t *testing.T) []sentinelDoc {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var out []sentinelDoc
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if name := v.Names[0].Name; v.Names[0].IsExported() {
				text := strings.Join(strings.Fields(v.Doc.Text()), " ")
				text, ok := strings.CutPrefix(text, name+": ")
				require.True(t, ok, "the comment of %s starts with its name", name)
				text = strings.NewReplacer("[", "", "]", "").Replace(text)
				out = append(out, sentinelDoc{name, strings.ToUpper(text[:1]) + text[1:]})
			}
		}
	}
	return out
}

func TestAConflictThatLastsIsNotWorthAnotherCall(t *testing.T) {
	mem, _ := strict(t)
	_, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrConflict)
	require.Contains(t, err.Error(), "another definition")
	require.False(t, idem.SafeToRunAgain(err), "the definition is the same at the next call")
}

func TestAnErrorThatIsNoneOfOursIsInterrupted(t *testing.T) {
	_, st, table := swept(t)
	st.Reset(storetest.Rule{Op: storetest.OpCreate, Fault: storetest.Fault{Kind: storetest.Denied}})
	_, err := table.Append(t.Context(), rowsOf(order{"d9", 9, 9, "i"}), idem.Append{Reason: "test"})
	require.ErrorIs(t, err, idem.ErrInterrupted)
	classified(t, err)
	require.True(t, idem.SafeToRunAgain(err), "nothing was committed")
}

// What failed on the way may have a sentinel of its own, as a winner that cannot be read while the outcome of a
// commit is looked for; the caller decides by one.
func TestAnErrorWrapsOneSentinel(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		cause, want error
	}{
		{errors.Join(idem.ErrCorrupt, idem.ErrUnknownOutcome), idem.ErrUnknownOutcome},
		{fmt.Errorf("%w: %w", idem.ErrUnsupported, idem.ErrInput), idem.ErrInput},
		{fmt.Errorf("read: %w", idem.ErrCorrupt), idem.ErrCorrupt},
	} {
		_, err := f.table.Append(t.Context(), &failingWith{again(r1), c.cause}, idem.Append{Reason: "test"})
		require.ErrorIs(t, err, c.want)
		classified(t, err)
		require.ErrorContains(t, err, c.cause.Error(), "and says all of it")
	}
}

package conformance

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// errReadOnly is the answer to whoever writes to a table of the corpus.
var errReadOnly = errors.New("a table of the corpus is read in place and never written to")

// readOnly is a store that refuses to be changed and notes which objects of the log are read.
type readOnly struct {
	store.Store
	read map[string]bool
}

func (r readOnly) note(key string) {
	if r.read != nil && strings.HasPrefix(key, delta.LogDir) {
		r.read[key] = true
	}
}

func (r readOnly) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	r.note(key)
	return r.Store.Get(ctx, key, limit)
}

func (r readOnly) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	r.note(key)
	return r.Store.GetRange(ctx, key, off, p)
}

func (readOnly) PutIfAbsent(context.Context, string, []byte) error { return errReadOnly }
func (readOnly) Put(context.Context, string, []byte) error         { return errReadOnly }
func (readOnly) Delete(context.Context, ...string) error           { return errReadOnly }
func (readOnly) Create(context.Context, string) (store.Writer, error) {
	return nil, errReadOnly
}

// folder stands in a template for the absolute path, as a URI has it, of the directory folderName
// below the table's root.
const (
	folder     = "{{FOLDER_WITH_SPECIAL_CHAR}}"
	folderName = "folder&with%special char"
)

// testPrefix is what Delta puts before the names of files of deletion vectors while it tests itself.
// Descriptors that give a UUID leave it out, so that only Delta under test finds such files.
const testPrefix = "test%dv%prefix-"

// place gives the directory of a line's table: its own, or one made below temp of templates,
// archives and tables in which files of deletion vectors have other names than the protocol's.
func place(root string, l *Line, temp string) (string, error) {
	dir := filepath.Join(root, filepath.FromSlash(l.Table))
	switch {
	case strings.HasSuffix(l.Table, ".tar.zst"):
		return unpack(dir, temp)
	case l.Template:
		path := (&url.URL{Path: filepath.ToSlash(filepath.Join(temp, folderName))}).EscapedPath()
		return temp, materialise(dir, temp, folder, path, "")
	}
	if named, err := filepath.Glob(filepath.Join(dir, testPrefix+"*")); err != nil || len(named) == 0 {
		return dir, err
	}
	return temp, materialise(dir, temp, "", "", testPrefix)
}

// materialise copies a table, with the texts of its log replaced and without a prefix of file names.
func materialise(dir, temp, old, new, prefix string) error {
	return filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		to := filepath.Join(temp, filepath.Dir(rel), strings.TrimPrefix(filepath.Base(rel), prefix))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if old != "" && strings.HasSuffix(name, ".json") {
			data = []byte(strings.ReplaceAll(string(data), old, new))
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// unpack unpacks a compressed archive and gives the directory in it that holds a log.
func unpack(archive, temp string) (string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return "", err
	}
	plain := codec.(compress.StreamingCodec).NewReader(f)
	defer plain.Close()
	table := ""
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", fmt.Errorf("unpack %s: %w", archive, err)
		}
		if !filepath.IsLocal(filepath.FromSlash(h.Name)) || h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(temp, filepath.FromSlash(h.Name))
		if err := save(name, in); err != nil {
			return "", fmt.Errorf("unpack %s: %w", archive, err)
		}
		if before, _, ok := strings.Cut(filepath.ToSlash(h.Name), delta.LogDir); ok {
			table = filepath.Join(temp, filepath.FromSlash(before))
		}
	}
	if table == "" {
		return "", fmt.Errorf("unpack %s: it holds no %s", archive, delta.LogDir)
	}
	return table, nil
}

func save(name string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

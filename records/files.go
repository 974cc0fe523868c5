package records

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files names the files to read, as one stream of rows in the order of the names.
type Files struct {
	_ struct{}

	// Names are paths, or patterns as path/filepath.Match reads them (with FS: path.Match), whose
	// files are read in lexical order. A pattern that matches nothing is an error. A file that is
	// named more than once is read once.
	Names []string

	// FS is where the files are. nil is the file system of the operating system.
	FS fs.FS
}

// fileList is the files that a Files stands for.
type fileList struct {
	fsys  fs.FS
	names []string
}

// list resolves the patterns.
func (f Files) list() (*fileList, error) {
	if len(f.Names) == 0 {
		return nil, inputErrorf("Files.Names is empty; name the files to read")
	}
	l := &fileList{fsys: f.FS}
	seen := map[string]bool{}
	for _, pattern := range f.Names {
		names, err := l.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				l.names = append(l.names, name)
			}
		}
	}
	return l, nil
}

// match gives the files of a pattern. A name that is there as it is spelled is no pattern.
func (l *fileList) match(pattern string) ([]string, error) {
	info, err := l.stat(pattern)
	switch {
	case err == nil && info.IsDir():
		return nil, inputErrorf("Files.Names: %s is a directory; name its files, as %s", pattern, strings.TrimSuffix(pattern, "/")+"/*.csv")
	case err == nil && !info.Mode().IsRegular():
		return nil, inputErrorf("Files.Names: %s is no regular file, so it cannot be read again; read it as a stream", pattern)
	case err == nil:
		return []string{pattern}, nil
	case !strings.ContainsAny(pattern, `*?[\`):
		return nil, err
	}
	glob := filepath.Glob
	if l.fsys != nil {
		glob = func(pattern string) ([]string, error) { return fs.Glob(l.fsys, pattern) }
	}
	names, err := glob(pattern)
	switch {
	case err != nil:
		return nil, inputErrorf("Files.Names: %q: %v", pattern, err)
	case len(names) == 0:
		return nil, inputErrorf("Files.Names: no file matches %q", pattern)
	}
	return names, nil
}

func (l *fileList) stat(name string) (fs.FileInfo, error) {
	if l.fsys != nil {
		return fs.Stat(l.fsys, name)
	}
	return os.Stat(name)
}

func (l *fileList) open(name string) (fs.File, error) {
	if l.fsys != nil {
		return l.fsys.Open(name)
	}
	return os.Open(name)
}

// textFile is the text of a file or of a stream: unpacked, and without byte order mark.
type textFile struct {
	name string // "" for a reader without a name
	r    io.Reader
	file io.Closer // nil if it is not ours
}

func (l *fileList) openText(name string) (*textFile, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	t, err := newTextFile(name, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	t.file = f
	return t, nil
}

// newTextFile looks at the first bytes of a stream to see what it is.
func newTextFile(name string, r io.Reader) (*textFile, error) {
	t := &textFile{name: name}
	in := bufio.NewReaderSize(&namedReader{r, name}, 64<<10)
	head, err := peek(in)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, t.unpackError(err)
		}
		in = bufio.NewReaderSize(&gzipReader{z, t}, 64<<10)
		if head, err = peek(in); err != nil {
			return nil, err
		}
	}
	for _, other := range []struct{ magic, what string }{
		{"\xff\xfe", "UTF-16 text; convert it to UTF-8"}, {"\xfe\xff", "UTF-16 text; convert it to UTF-8"},
		{"\x1f\x8b", "packed with gzip twice; unpack it"}, {"\x28\xb5\x2f\xfd", "packed with zstd; unpack it, or pack it with gzip"},
		{"\xfd7zXZ", "packed with xz; unpack it, or pack it with gzip"}, {"PK\x03\x04", "a zip archive; unpack it"},
	} {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return nil, inputErrorf("%sit is %s", t.prefix(), other.what)
		}
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		if _, err := in.Discard(len("\ufeff")); err != nil {
			return nil, err
		}
	}
	t.r = in
	return t, nil
}

// peek gives the first bytes, fewer than it looks for if the stream is short.
func peek(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(8)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return head, nil
}

func (t *textFile) Read(p []byte) (int, error) { return t.r.Read(p) }

func (t *textFile) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// prefix begins a message about the file as a whole.
func (t *textFile) prefix() string {
	if t.name == "" {
		return ""
	}
	return "file " + t.name + ": "
}

// line begins a message about a line.
func (t *textFile) line(n int64) string {
	if t.name == "" {
		return fmt.Sprintf("line %d", n)
	}
	return fmt.Sprintf("file %s, line %d", t.name, n)
}

// unpackError says what became of a packed file. Errors of reading it stay what they are.
func (t *textFile) unpackError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return inputErrorf("%sit ends in the middle of its gzip stream: it was cut short; fetch it again", t.prefix())
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return inputErrorf("%sits gzip stream is damaged (%v); fetch it again", t.prefix(), err)
	}
	return err
}

// namedReader names the file in the errors of reading it, and keeps them apart from the end of what
// is packed in it.
type namedReader struct {
	r    io.Reader
	name string
}

func (n *namedReader) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err == nil || err == io.EOF {
		return k, err
	}
	if n.name == "" {
		return k, fmt.Errorf("read the input: %w", err)
	}
	return k, fmt.Errorf("read %s: %w", n.name, err)
}

type gzipReader struct {
	z *gzip.Reader
	t *textFile
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if err != nil && err != io.EOF {
		err = g.t.unpackError(err)
	}
	return n, err
}

// window is the stretch of a stream that is looked at: as long as it must be, at most max.
type window struct {
	src  io.Reader
	buf  []byte
	r, w int
	max  int
	eof  bool // src is at its end: what is held is all
}

const (
	firstWindow = 64 << 10

	// defaultLineBytes bounds a line, or a record of several lines.
	defaultLineBytes = 16 << 20
	mostLineBytes    = 512 << 20
)

// errLineTooLong says that a line is longer than the window may be.
var errLineTooLong = errors.New("the line is too long")

func checkLineBytes(n int) error {
	if n < 0 || n > mostLineBytes {
		return inputErrorf("MaxLineBytes is %d; it is at most %d (0 means %d)", n, mostLineBytes, defaultLineBytes)
	}
	return nil
}

func newWindow(src io.Reader, maxLine int) window {
	if maxLine == 0 {
		maxLine = defaultLineBytes
	}
	return window{src: src, max: maxLine}
}

func (w *window) held() []byte { return w.buf[w.r:w.w] }

// more reads on until twice as much is held, or the stream is at its end.
func (w *window) more() error {
	held := w.w - w.r
	if held > w.max {
		return errLineTooLong
	}
	target := min(max(2*held, firstWindow), w.max+1)
	if target > len(w.buf) {
		grown := make([]byte, target)
		copy(grown, w.held())
		w.buf = grown
	} else {
		copy(w.buf, w.held())
	}
	w.r, w.w = 0, held
	for idle := 0; w.w < target; {
		n, err := w.src.Read(w.buf[w.w:target])
		w.w += n
		switch {
		case err == io.EOF:
			w.eof = true
			return nil
		case err != nil:
			return err
		case n > 0:
			idle = 0
		case idle == 100:
			return io.ErrNoProgress
		default:
			idle++
		}
	}
	return nil
}

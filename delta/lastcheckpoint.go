package delta

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHintBytes bounds the hint file, and maxCanonicalBytes the text that its checksum covers: that
// repeats the keys on the way to every value.
const (
	maxHintBytes      = 1 << 20
	maxCanonicalBytes = 16 << 20
)

// LastCheckpoint is the hint file.
type LastCheckpoint struct {
	Version       int64
	Size          int64 // actions
	Parts         int   // 0: not multi-part
	SizeInBytes   int64
	NumOfAddFiles int64
	V2            *CheckpointFile // of a V2 checkpoint that is named by a UUID
}

// CheckpointFile is the top-level file of a V2 checkpoint.
type CheckpointFile struct {
	Path             string // base name
	SizeInBytes      int64
	ModificationTime int64 // milliseconds since the epoch
}

var hintLayout = layout{kind: "_last_checkpoint", required: 1, names: []string{"version", "size", "parts", "sizeInBytes", "numOfAddFiles", "checksum", "v2Checkpoint"}}

var checkpointFileLayout = layout{kind: "v2Checkpoint", required: 3, names: []string{"path", "sizeInBytes", "modificationTime"}}

// DecodeLastCheckpoint reads the hint file and holds it against its checksum if it has one. The
// hint is advisory: whatever the error, the table is read as if there were no hint.
func DecodeLastCheckpoint(data []byte) (LastCheckpoint, error) {
	c, err := decodeHint(data)
	if err != nil {
		return LastCheckpoint{}, fmt.Errorf("%w: %s: %w", ErrCorrupt, LastCheckpointKey, err)
	}
	return c, nil
}

func decodeHint(data []byte) (c LastCheckpoint, err error) {
	switch {
	case len(data) > maxHintBytes:
		return c, fmt.Errorf("%d bytes: %w of %d", len(data), errLimit, maxHintBytes)
	case !utf8.Valid(data):
		return c, errors.New("not UTF-8")
	}
	s, checksum := scanner{data: data}, ""
	err = s.record(&hintLayout, func(field int) (err error) {
		var n int64
		switch field {
		case 0:
			c.Version, err = s.long()
		case 1:
			c.Size, err = s.long()
		case 2:
			n, err = s.integer(32)
			c.Parts = int(n)
		case 3:
			c.SizeInBytes, err = s.long()
		case 4:
			c.NumOfAddFiles, err = s.long()
		case 5:
			checksum, err = s.str()
		case 6:
			c.V2, err = s.checkpointFile()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return c, err
	case c.Version < 0 || c.Size < 0 || c.Parts < 0:
		return c, errors.New("a negative number")
	case checksum == "":
		return c, nil
	}
	if want, err := hintChecksum(data); err != nil || want != checksum {
		return c, errors.Join(errors.New("the checksum does not match"), err)
	}
	return c, nil
}

// checkpointFile reads what a hint says of a V2 checkpoint, nil if that is not whole.
func (s *scanner) checkpointFile() (*CheckpointFile, error) {
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	f, in := &CheckpointFile{}, scanner{data: raw}
	err = in.record(&checkpointFileLayout, func(field int) (err error) {
		switch field {
		case 0:
			f.Path, err = in.str()
		case 1:
			f.SizeInBytes, err = in.long()
		case 2:
			f.ModificationTime, err = in.long()
		}
		return err
	})
	if err != nil {
		return nil, nil
	}
	return f, nil
}

// Encode writes the hint file with its checksum.
func (c LastCheckpoint) Encode() []byte {
	var w writer
	w.open('{')
	w.long("version", c.Version)
	w.long("size", c.Size)
	if c.Parts > 0 {
		w.long("parts", int64(c.Parts))
	}
	w.long("sizeInBytes", c.SizeInBytes)
	w.long("numOfAddFiles", c.NumOfAddFiles)
	if c.V2 != nil {
		w.begin("v2Checkpoint")
		w.text("path", c.V2.Path)
		w.long("sizeInBytes", c.V2.SizeInBytes)
		w.long("modificationTime", c.V2.ModificationTime)
		w.close('}')
	}
	body := append(slices.Clone(w.b), '}')
	checksum, err := hintChecksum(body)
	if err != nil {
		return body // the checksum is optional
	}
	w.text("checksum", checksum)
	w.close('}')
	return w.b
}

// hintChecksum is the MD5 of the canonical form of a JSON object: each value as path=value, the
// pairs sorted by path. The checksum itself is left out.
func hintChecksum(data []byte) (string, error) {
	c := canonical{scanner: scanner{data: data}}
	if err := c.value("", true); err != nil {
		return "", err
	}
	slices.SortFunc(c.pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	h := md5.New()
	for i, p := range c.pairs {
		if i > 0 {
			h.Write([]byte{','})
		}
		h.Write([]byte(p[0] + "=" + p[1]))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// canonical gathers the pairs of path and value of a JSON text.
type canonical struct {
	scanner
	pairs [][2]string
	bytes int
}

func (c *canonical) value(path string, top bool) error {
	switch b := c.peek(); {
	case b == '{':
		return c.members(path, top)
	case top:
		return errors.New("not an object")
	case b == '[':
		n := 0
		return c.array(func() error {
			n++
			return c.value(path+"+"+strconv.Itoa(n-1), false)
		})
	case b == '"':
		text, err := c.str()
		if err != nil {
			return err
		}
		return c.pair(path, quoteCanonical(text))
	}
	text, err := c.raw()
	if err != nil {
		return err
	}
	return c.pair(path, string(text))
}

func (c *canonical) members(path string, top bool) error {
	seen := map[string]bool{}
	return c.object(func(key []byte) error {
		name := string(key)
		if seen[name] {
			return fmt.Errorf("key %q twice", name)
		}
		seen[name] = true
		if top && name == "checksum" {
			return c.skip()
		}
		below := quoteCanonical(name)
		if !top {
			below = path + "+" + below
		}
		return c.value(below, false)
	})
}

func (c *canonical) pair(path, value string) error {
	if c.bytes += len(path) + len(value); c.bytes > maxCanonicalBytes {
		return fmt.Errorf("the canonical form: %w of %d bytes", errLimit, maxCanonicalBytes)
	}
	c.pairs = append(c.pairs, [2]string{path, value})
	return nil
}

// quoteCanonical quotes a string and percent-encodes all but the unreserved characters.
func quoteCanonical(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		writeEncoded(&b, s[i], isUnreserved(s[i]))
	}
	b.WriteByte('"')
	return b.String()
}

package logcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// addVector looks at the vector of an add, and at what becomes of the one before.
func (c *checker) addVector(s *step, f *delta.Add) {
	if was := s.was(f.Key); was != nil && was.DeletionVector.ID() != f.DeletionVector.ID() {
		if !slices.ContainsFunc(s.removes, func(r *removed) bool { return r.live == was }) {
			c.find(AddVector, s.v, f.Path, "it is live under the vector %q and is not removed", was.DeletionVector.ID())
		}
	}
	dv := f.DeletionVector
	if dv == nil {
		return
	}
	if wrong := c.descriptor(dv); wrong != "" {
		c.find(VectorForm, s.v, f.Path, "%s", wrong)
		c.malformed[dv.ID()] = true
		return
	}
	st, ok := delta.ParseStats(f.Stats)
	switch {
	case !ok || st.NumRecords == nil:
		c.find(VectorStats, s.v, f.Path, "numRecords is missing")
	case s.ours && !s.returns() && (st.TightBounds == nil || *st.TightBounds):
		c.find(VectorStats, s.v, f.Path, "tightBounds is not false")
	case s.ours && !s.returns() && dv.Cardinality >= *st.NumRecords:
		c.find(VectorWhole, s.v, f.Path, "%d of %d rows are deleted", dv.Cardinality, *st.NumRecords)
	}
}

// descriptor tells what is wrong with a descriptor, "" if nothing is.
func (c *checker) descriptor(dv *delta.DeletionVector) string {
	switch dv.StorageType {
	case "i":
		if _, _, err := dv.Inline(); err != nil {
			return err.Error()
		}
		if dv.Offset != nil {
			return "a vector in the log has an offset"
		}
	case "u", "p":
		if _, _, err := c.vectorKey(dv); err != nil && !errors.Is(err, delta.ErrUnsupported) {
			return err.Error()
		}
		if dv.SizeInBytes <= 0 || dv.Cardinality <= 0 || dv.Offset != nil && *dv.Offset < 0 {
			return fmt.Sprintf("%d bytes for %d rows", dv.SizeInBytes, dv.Cardinality)
		}
	default:
		return fmt.Sprintf("the storage type %q is none", dv.StorageType)
	}
	return ""
}

// vector holds the bytes of a live file's vector against what the log says. It is false if they break
// a rule.
func (c *checker) vector(ctx context.Context, f *delta.Add, v int64) (bool, error) {
	dv := f.DeletionVector
	if dv == nil {
		return true, nil
	}
	if c.malformed[dv.ID()] {
		return false, nil
	}
	data, inline, err := dv.Inline()
	if err == nil && !inline {
		data, err = c.frame(ctx, dv)
	}
	if err != nil && !broken(err) {
		return false, err
	}
	wrong := ""
	if err != nil {
		wrong = err.Error()
	} else {
		wrong = c.marked(f, data)
	}
	if wrong != "" {
		c.find(VectorFile, v, f.Path, "%s", wrong)
	}
	return wrong == "", nil
}

// marked holds the rows of a vector against the descriptor and the file.
func (c *checker) marked(f *delta.Add, data []byte) string {
	dv := f.DeletionVector
	if dv.Empty() {
		return ""
	}
	rows, err := delta.ParseVector(data)
	if err != nil {
		return err.Error()
	}
	st, ok := delta.ParseStats(f.Stats)
	switch {
	case rows.Cardinality() != dv.Cardinality:
		return fmt.Sprintf("it marks %d rows, the log says %d", rows.Cardinality(), dv.Cardinality)
	case ok && st.NumRecords != nil && rows.Max() >= *st.NumRecords:
		return fmt.Sprintf("it marks row %d of a file with %d", rows.Max(), *st.NumRecords)
	}
	return ""
}

// frame reads a vector from its file: length, bytes, checksum.
func (c *checker) frame(ctx context.Context, dv *delta.DeletionVector) ([]byte, error) {
	key, offset, err := c.vectorKey(dv)
	if err != nil {
		return nil, err
	}
	version, frame := make([]byte, 1), make([]byte, int(dv.SizeInBytes)+8)
	for _, part := range []struct {
		off int64
		p   []byte
	}{{0, version}, {offset, frame}} {
		if info, err := c.store.Head(ctx, key); errors.Is(err, store.ErrNotExist) || err == nil && info.Size < part.off+int64(len(part.p)) {
			return nil, fmt.Errorf("%s is missing or too short: %w", key, delta.ErrCorrupt)
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		if err := c.store.GetRange(ctx, key, part.off, part.p); err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
	}
	data := frame[4 : len(frame)-4]
	switch {
	case version[0] != 1:
		return nil, fmt.Errorf("%s has the version %d: %w", key, version[0], delta.ErrCorrupt)
	case binary.BigEndian.Uint32(frame) != uint32(dv.SizeInBytes):
		return nil, fmt.Errorf("%s holds a vector of %d bytes at %d: %w", key, binary.BigEndian.Uint32(frame), offset, delta.ErrCorrupt)
	case binary.BigEndian.Uint32(frame[len(frame)-4:]) != crc32.ChecksumIEEE(data):
		return nil, fmt.Errorf("%s has another checksum at %d: %w", key, offset, delta.ErrCorrupt)
	}
	return data, nil
}

var vectorName = regexp.MustCompile(`^deletion_vector_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin$`)

// name looks at the name of a file below a directory. What begins with _ or . is passed over by a
// vacuum, but for the directories of partitions.
func (c *checker) name(s *step, file, key, dir string) {
	if delta.IsOutside(key) || strings.Contains(file, "://") || !s.ours || s.returns() {
		return
	}
	rest, ok := strings.CutPrefix(key, dir)
	hidden := slices.ContainsFunc(strings.Split(rest, "/"), func(part string) bool {
		return part == "" || strings.HasPrefix(part, "_") && !strings.Contains(part, "=") || strings.HasPrefix(part, ".") && !strings.Contains(part, "=")
	})
	switch base := path.Base(key); {
	case !ok || hidden:
		c.find(FileName, s.v, file, "a directory or the file itself is hidden, or not where it belongs")
	case vectorName.MatchString(base):
		c.find(FileName, s.v, file, "it has the name of a file of vectors")
	}
}

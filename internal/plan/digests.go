package plan

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// ColumnsTag is the key in add.tags under which a file of a table with column mapping says of which
// columns its digest is: "<highest column id>:<hash of the columns up to it>". A digest binds values
// to the names of their columns, and under column mapping these change: the digest of a file that is
// older than a renaming, or than the end of a column, is void. A column that was added since changes
// nothing, it is NULL in the file.
const ColumnsTag = "idem.columns"

// Digests tells which of the digests in tags are of the columns as a snapshot has them. It is safe
// for many goroutines.
type Digests struct {
	snap  *delta.Snapshot
	known sync.Map // the hash of the columns up to an id, by the id's text
}

// DigestsOf is for the files of a snapshot.
func DigestsOf(snap *delta.Snapshot) *Digests {
	return &Digests{snap: snap}
}

// Of is the rows and the digest of a file. It is not ok where FileDigest is not, and where the digest
// is of columns that have other names now: then the file must be read. (A wider type leaves it as it is.)
func (d *Digests) Of(add *delta.Add) (int64, rows.Digest, bool) {
	if !d.hold(add) {
		return 0, rows.Digest{}, false
	}
	return FileDigest(add)
}

func (d *Digests) hold(add *delta.Add) bool {
	upTo, hash, ok := strings.Cut(add.Tags[ColumnsTag], ":")
	if d.snap.Mapping() == delta.MappingNone {
		return !ok // one from before column mapping was dropped may be of columns that had other names
	}
	if !ok {
		return false
	}
	now, known := d.known.Load(upTo)
	if !known {
		id, err := strconv.ParseInt(upTo, 10, 32)
		if err != nil {
			return false
		}
		now, _ = d.known.LoadOrStore(upTo, columnsHash(d.snap.Schema(), id))
	}
	return now == hash
}

// columnsText is the tag of a new file; "" for a table whose columns keep their names.
func columnsText(snap *delta.Snapshot) string {
	if snap.Mapping() == delta.MappingNone {
		return ""
	}
	highest := int64(0)
	eachID(snap.Schema(), "", func(id int64, _ string) { highest = max(highest, id) })
	return fmt.Sprintf("%d:%s", highest, columnsHash(snap.Schema(), highest))
}

// columnsHash is that of the ids and the names of columns, at every level, up to an id.
func columnsHash(s *delta.Struct, upTo int64) string {
	h := fnv.New64a()
	eachID(s, "", func(id int64, path string) {
		if id <= upTo {
			fmt.Fprintf(h, "%d %q\n", id, path)
		}
	})
	return fmt.Sprintf("%016x", h.Sum64())
}

// eachID gives the fields that have an id, those of a struct by name: the order of columns means
// nothing to a digest.
func eachID(t delta.Type, path string, f func(id int64, path string)) {
	switch t := t.(type) {
	case *delta.Struct:
		for _, field := range byName(t.Fields) {
			if id, err := strconv.ParseInt(string(field.Metadata["delta.columnMapping.id"]), 10, 64); err == nil {
				f(id, path+field.Name)
			}
			eachID(field.Type, path+field.Name+"\x00", f)
		}
	case *delta.Array:
		eachID(t.Element, path+"element\x00", f)
	case *delta.Map:
		eachID(t.Key, path+"key\x00", f)
		eachID(t.Value, path+"value\x00", f)
	}
}

func byName(fields []delta.Field) []delta.Field {
	return slices.SortedFunc(slices.Values(fields), func(a, b delta.Field) int { return strings.Compare(a.Name, b.Name) })
}

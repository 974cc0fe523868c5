package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// hiveNull is the directory of NULL.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// parquetFile is one file that becomes the table's.
type parquetFile struct {
	key    string
	size   int64
	at     time.Time
	names  []string  // of the partition columns, as its directories have them
	values []*string // as its directories have them, decoded; nil is NULL
	rows   int64
	add    *delta.Add
}

// list finds the files, sorted by key.
func (p *convert) list(ctx context.Context) error {
	var found []store.Info
	for info, err := range p.in.Env.Store.List(ctx, "", "") {
		if err == nil {
			err = refuseForeign(info.Key)
		}
		if err != nil {
			return fmt.Errorf("list the directory: %w", err)
		}
		if !hiddenFile(info.Key) {
			found = append(found, info)
		}
	}
	for _, info := range found {
		if !strings.EqualFold(extension(info.Key), ".parquet") {
			return fmt.Errorf("%w: %s is no Parquet file by its name: move it out of the directory, or give it a name that begins with _ or . or ends in .parquet", idem.ErrInput, info.Key)
		}
		f := parquetFile{key: info.Key, size: info.Size, at: info.ModTime}
		var err error
		if f.names, f.values, err = directoriesOf(info.Key); err != nil {
			return err
		}
		if first := p.files; len(first) > 0 && !slices.Equal(first[0].names, f.names) {
			return fmt.Errorf("%w: %s is partitioned by %v, and %s by %v: every file has the same partition columns in the same order",
				idem.ErrInput, first[0].key, first[0].names, f.key, f.names)
		}
		p.files = append(p.files, f)
	}
	if len(p.files) == 0 {
		return fmt.Errorf("%w: the directory holds no Parquet file: nothing says what columns the table has; make it with Create", idem.ErrInput)
	}
	return nil
}

func extension(key string) string {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// refuseForeign knows the marks of directories in which not every file counts.
func refuseForeign(key string) error {
	switch {
	case strings.HasPrefix(key, "_spark_metadata/"):
		return fmt.Errorf("%w: %s: the directory is a sink of Spark's streaming, whose own log says which files count, and idem does not read it: write its rows into a new table", idem.ErrUnsupported, key)
	case strings.HasPrefix(key, "metadata/") && strings.HasSuffix(key, ".metadata.json"):
		return fmt.Errorf("%w: %s: the directory is an Iceberg table, whose metadata says which files count, and idem does not read it", idem.ErrUnsupported, key)
	case strings.HasPrefix(key, ".hoodie/"):
		return fmt.Errorf("%w: %s: the directory is a Hudi table, whose timeline says which files count, and idem does not read it", idem.ErrUnsupported, key)
	}
	if dir, _, found := strings.Cut(key, "/"+delta.LogDir); found {
		return fmt.Errorf("%w: %s holds a Delta table of its own: not every file in it counts; convert a directory without it", idem.ErrInput, dir)
	}
	return nil
}

// hiddenFile says whether other engines would leave a file out. Directories of partition columns may begin with _.
func hiddenFile(key string) bool {
	for element := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(element, ".") || strings.HasPrefix(element, "_") && !strings.Contains(element, "=") || strings.HasSuffix(element, "._COPYING_") {
			return true
		}
	}
	return false
}

// directoriesOf reads the partition columns and values of the directories on the way to a file.
func directoriesOf(key string) (names []string, values []*string, err error) {
	elements := strings.Split(key, "/")
	for _, dir := range elements[:len(elements)-1] {
		name, value, ok := strings.Cut(dir, "=")
		if name = unescaped(name); !ok || name == "" {
			return nil, nil, fmt.Errorf("%w: %s: the directory %q is none of a partition, column=value, so it is not known whether the file belongs to the table: move it, or give the directory a name that begins with _", idem.ErrInput, key, dir)
		}
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return nil, nil, fmt.Errorf("%w: %s: two directories are of the partition column %q", idem.ErrInput, key, name)
		}
		names = append(names, name)
		if value = unescaped(value); value == "" || value == hiveNull {
			values = append(values, nil)
		} else {
			values = append(values, &value)
		}
	}
	return names, values, nil
}

// unescaped undoes, once, the escapes of Hive's names of directories. A % that begins none stays, as
// other engines have it.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, ok := hexByte(s[i+1], s[i+2]); ok {
				b.WriteByte(v)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexByte(hi, lo byte) (byte, bool) {
	h, l := strings.IndexByte("0123456789abcdef", hi|0x20), strings.IndexByte("0123456789abcdef", lo|0x20)
	return byte(h<<4 | l&15), h >= 0 && l >= 0
}

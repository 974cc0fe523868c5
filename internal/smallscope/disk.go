package smallscope

import (
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// author is a life of a writer.
type author struct{ writer, life int }

// object is what the store has under a name. It never changes.
type object struct {
	key  string
	data []byte
	at   time.Time
	by   author
	sum  uint64
}

var seed = maphash.MakeSeed()

func newObject(key string, data []byte, at time.Time, by author) *object {
	o := &object{key: key, data: data, at: at, by: by}
	o.sum = mix(maphash.String(seed, key), maphash.Bytes(seed, data), uint64(at.UnixMilli()), uint64(by.writer)<<8|uint64(by.life))
	return o
}

// mix hashes numbers in order.
func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h ^= p
		h *= 0xff51afd7ed558ccd
		h ^= h >> 32
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 29
	}
	return h
}

// disk is what is in the store. A change makes another disk.
type disk struct {
	objects []*object // by key
	commits []*object // all that ever were there, by key
	gone    []*object // other files that were deleted
	sum     uint64    // does not depend on the order of changes
}

func (d *disk) find(key string) (int, bool) {
	return slices.BinarySearchFunc(d.objects, key, func(o *object, key string) int { return strings.Compare(o.key, key) })
}

func (d *disk) get(key string) *object {
	if i, ok := d.find(key); ok {
		return d.objects[i]
	}
	return nil
}

// put is the disk with an object more, or another one under its key.
func (d *disk) put(o *object) *disk {
	next := &disk{commits: d.commits, gone: d.gone, sum: d.sum + o.sum}
	i, there := d.find(o.key)
	if there {
		next.sum -= d.objects[i].sum
		next.objects = slices.Clone(d.objects)
		next.objects[i] = o
	} else {
		next.objects = slices.Insert(slices.Clone(d.objects), i, o)
	}
	if commitVersion(o.key) >= 0 {
		at, _ := slices.BinarySearchFunc(d.commits, o.key+"\x00", func(c *object, key string) int { return strings.Compare(c.key, key) })
		next.commits = slices.Insert(slices.Clone(d.commits), at, o)
		next.sum += mix(o.sum, 1)
	}
	return next
}

func (d *disk) delete(keys []string) *disk {
	next := *d
	for _, key := range keys {
		i, ok := next.find(key)
		if !ok {
			continue
		}
		o := next.objects[i]
		next.objects, next.sum = slices.Delete(slices.Clone(next.objects), i, i+1), next.sum-o.sum
		if commitVersion(key) < 0 {
			next.gone, next.sum = append(next.gone[:len(next.gone):len(next.gone)], o), next.sum+mix(o.sum, 3)
		}
	}
	return &next
}

// ever is what is, or was, in the store under the name of a file that is written once.
func (d *disk) ever(key string) *object {
	if o := d.get(key); o != nil {
		return o
	}
	for _, o := range d.gone {
		if o.key == key {
			return o
		}
	}
	return nil
}

// commitVersion is the version of the commit with a key, -1 if it is none's.
func commitVersion(key string) int64 {
	if name, ok := strings.CutPrefix(key, delta.LogDir); ok {
		if f := delta.ParseLogFile(name); f.Kind == delta.Commit {
			return f.Version
		}
	}
	return -1
}

// op is an operation that a process asks for.
type op struct {
	kind    storetest.Op
	key     string   // or the prefix of a list
	keys    []string // of a deletion
	after   string   // where a list begins
	data    []byte   // of a put
	off     int64    // of a range
	size    int
	limit   int64
	opening bool // the process has no table yet
}

func (o *op) String() string {
	c := storetest.Call{Op: o.kind, Key: strings.TrimPrefix(o.key, delta.LogDir), Keys: o.keys, After: o.after}
	return c.String()
}

func (o *op) equal(p *op) bool {
	return o.kind == p.kind && o.key == p.key && slices.Equal(o.keys, p.keys) && o.after == p.after &&
		string(o.data) == string(p.data) && o.off == p.off && o.size == p.size && o.limit == p.limit
}

// answer is what a process gets to know of an operation.
type answer struct {
	fault storetest.Kind
	err   error
	data  []byte
	infos []store.Info
	takes time.Duration
	id    uint64
}

func (a *answer) seal() *answer {
	h := maphash.Bytes(seed, a.data)
	if a.err != nil {
		h = mix(h, maphash.String(seed, a.err.Error()))
	}
	for _, i := range a.infos {
		h = mix(h, maphash.String(seed, i.Key), uint64(i.Size), uint64(i.ModTime.UnixMilli()))
	}
	a.id = mix(h, uint64(a.takes), maphash.String(seed, string(a.fault)))
	return a
}

// word is the answer as a trace has it.
func (a *answer) word() string {
	switch {
	case a.err == nil && a.infos != nil:
		return fmt.Sprintf("%d objects", len(a.infos))
	case a.err == nil:
		return "ok"
	}
	text := a.err.Error()
	return text[strings.LastIndex(text, ": ")+2:]
}

// Lie is how a store breaks the contract of put-if-absent.
type Lie int

const (
	Honest     Lie = iota
	Overwrites     // what is there is replaced, and the answer is yes
	Drops          // what was to be put is dropped, and the answer is yes
)

// perform carries an operation out.
func (d *disk) perform(o *op, by author, lie Lie) (*disk, *answer) {
	a := &answer{}
	fail := func(err error) { a.err = fmt.Errorf("%s %s: %w", o.kind, o.key, err) }
	switch have := d.get(o.key); o.kind {
	case storetest.OpPutIfAbsent, storetest.OpClose:
		lies := lie != Honest && commitVersion(o.key) >= 0
		switch {
		case have != nil && lies && lie == Overwrites:
			d = d.put(newObject(o.key, o.data, now, by))
		case have != nil && lies && lie == Drops:
		case have != nil:
			fail(store.ErrExist)
		default:
			d = d.put(newObject(o.key, o.data, now, by))
		}
	case storetest.OpPut:
		d = d.put(newObject(o.key, o.data, now, by))
	case storetest.OpDelete:
		d = d.delete(o.keys)
	case storetest.OpList:
		a.infos = d.list(o.key, o.after)
	case storetest.OpGet, storetest.OpGetRange, storetest.OpHead:
		if have == nil {
			fail(store.ErrNotExist)
			break
		}
		if err := have.read(o, a); err != nil {
			fail(err)
		}
	}
	return d, a.seal()
}

func (d *disk) list(prefix, after string) []store.Info {
	infos := []store.Info{}
	from, _ := d.find(max(prefix, after))
	for _, o := range d.objects[from:] {
		if !strings.HasPrefix(o.key, prefix) {
			break
		}
		if o.key > after {
			infos = append(infos, o.info())
		}
	}
	return infos
}

func (o *object) info() store.Info {
	return store.Info{Key: o.key, Size: int64(len(o.data)), ModTime: o.at}
}

// read gives what a get, a ranged get or a head asks for.
func (o *object) read(ask *op, a *answer) error {
	switch ask.kind {
	case storetest.OpHead:
		a.infos = []store.Info{o.info()}
	case storetest.OpGet:
		if ask.limit > 0 && int64(len(o.data)) > ask.limit {
			return store.ErrTooLarge
		}
		a.data = o.data
	default:
		if ask.off+int64(ask.size) > int64(len(o.data)) {
			return io.ErrUnexpectedEOF
		}
		a.data = o.data[ask.off:][:ask.size]
	}
	return nil
}

// mem is a store of its own with what is on the disk.
func (d *disk) mem(clock func() time.Time) (*store.Mem, error) { return memOf(d.objects, clock) }

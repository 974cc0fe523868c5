package maintain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// Tags of files, as Spark names them: the size that an optimize aimed at, and the set of files (a cube)
// whose rows one optimize ordered, with the columns.
const (
	tagTarget = "OPTIMIZE_TARGET_SIZE"
	tagCube   = "ZCUBE_ID"
	tagCubeBy = "ZCUBE_ZORDER_BY"

	// clusterer is the clusteringProvider of files of a clustered table.
	clusterer = "liquid"

	// stableCube is the size from which a cube is left alone when files come beside it.
	stableCube = 100 << 30
)

// bin is files of one partition whose rows go into new files together.
type bin struct {
	partition string
	files     []*delta.Add
	size      int64 // of the files
}

func (b *bin) add(f *delta.Add) {
	b.files, b.size = append(b.files, f), b.size+f.Size
}

// byPartition sorts files into the partitions that they are of, those and their files in order.
func byPartition(snap *delta.Snapshot, files []*delta.Add) ([]*bin, error) {
	groups := map[string]*bin{}
	var out []*bin
	for _, f := range files {
		var id strings.Builder
		for _, c := range snap.PartitionColumns() {
			v, err := snap.PartitionValue(f, c)
			if err != nil {
				return nil, err
			}
			if v != nil {
				id.WriteString(strconv.Quote(*v))
			}
			id.WriteByte(',')
		}
		b := groups[id.String()]
		if b == nil {
			b = &bin{partition: id.String()}
			groups[b.partition] = b
			out = append(out, b)
		}
		b.add(f)
	}
	slices.SortFunc(out, func(a, b *bin) int { return strings.Compare(a.partition, b.partition) })
	return out, nil
}

// pack divides the files of a partition that are worth it into bins of at most target bytes. Files with
// a deletion vector and small ones that no optimize made come first, the largest first, each into
// the first bin that has room: of any two bins no one has room for the other. A bin without gain is
// left out. What an earlier optimize with this target made goes along where there is room.
//
// With no other files the same call finds no gain again: the files that were left are alone in their
// bins, and the bins that were copied are files that an optimize made.
func pack(partition *bin, target int64) []*bin {
	var fresh, made []*delta.Add
	for _, f := range partition.files {
		switch {
		case f.DeletionVector != nil:
			fresh = append(fresh, f)
		case f.Size >= target:
		case f.Tags[tagTarget] == strconv.FormatInt(target, 10):
			made = append(made, f)
		default:
			fresh = append(fresh, f)
		}
	}
	p := &packing{partition: partition.partition, target: target}
	for _, f := range bySize(fresh) {
		p.put(f, true)
	}
	p.bins = slices.DeleteFunc(p.bins, func(b *bin) bool { return len(b.files) == 1 && b.files[0].DeletionVector == nil })
	for _, f := range bySize(made) {
		p.put(f, false)
	}
	return p.bins
}

// bySize sorts files, the largest first.
func bySize(files []*delta.Add) []*delta.Add {
	slices.SortFunc(files, func(a, b *delta.Add) int { return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Key, b.Key)) })
	return files
}

// packing is bins that are being filled.
type packing struct {
	partition string
	target    int64
	bins      []*bin
}

// put adds a file to the first bin that has room or, if it may, to a bin of its own.
func (p *packing) put(f *delta.Add, alone bool) {
	for _, b := range p.bins {
		if b.size+f.Size <= p.target {
			b.add(f)
			return
		}
	}
	if alone {
		b := &bin{partition: p.partition}
		b.add(f)
		p.bins = append(p.bins, b)
	}
}

// ordering is how rows are ordered.
type ordering struct {
	columns   [][]string // paths, in the names of the schema
	places    [][]int    // for each column the index in the schema, then in each struct
	name      string     // of the columns, as files carry it: physical names
	clustered bool       // the table is clustered by them
}

// cubeOf gives the cube of a file, "" if it is in none of this order.
func (o *ordering) cubeOf(f *delta.Add) string {
	if f.DeletionVector != nil || f.Tags[tagCubeBy] != o.name {
		return ""
	}
	return f.Tags[tagCube]
}

// tags are those of the files of a new cube.
func (o *ordering) tags(cube string) map[string]string {
	return map[string]string{tagCube: cube, tagCubeBy: o.name}
}

// unordered gives the files of a partition that must be ordered together, nil if they are: those of no
// cube, and the cubes that are not yet large enough to be left alone. With full large cubes count, too.
func (o *ordering) unordered(partition *bin, full bool) *bin {
	sizes := map[string]int64{}
	for _, f := range partition.files {
		if cube := o.cubeOf(f); cube != "" {
			sizes[cube] += f.Size
		}
	}
	out := &bin{partition: partition.partition}
	cubes, loose := map[string]bool{}, false
	for _, f := range partition.files {
		cube := o.cubeOf(f)
		if cube != "" && sizes[cube] >= stableCube && !full {
			continue
		}
		if cube == "" {
			loose = true
		}
		cubes[cube] = true
		out.add(f)
	}
	if !loose && len(cubes) <= 1 {
		return nil
	}
	return out
}

// columnsName is how files name the columns that they are ordered by.
func columnsName(paths [][]string) string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = strings.Join(p, ".")
	}
	text, _ := json.Marshal(names) // strings always have a text
	return string(text)
}

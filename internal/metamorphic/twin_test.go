package metamorphic_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

// The fingerprint of docs/fingerprint.md once more, cell by cell, as plainly as it can be written.

type sum128 struct{ hi, lo uint64 }

func (s sum128) plus(t sum128) sum128 {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	hi, _ := bits.Add64(s.hi, t.hi, carry)
	return sum128{hi, lo}
}

func (s sum128) bytes() []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, s.lo), s.hi)
}

func hashed(seed string, payload []byte) sum128 {
	h := xxh3.Hash128Seed(payload, xxh3.HashString(seed))
	return sum128{h.Hi, h.Lo}
}

func step(name string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(name)))) + name
}

func number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// twin is the fingerprint of rows as text.
func twin(columns []column, rows []*row) string {
	var all sum128
	for _, r := range rows {
		var cells sum128
		for _, c := range columns {
			cells = cells.plus(twinCell(step(c.name), r.cells[c.key], c.typ))
		}
		all = all.plus(hashed("idem1:row", cells.bytes()))
	}
	return fmt.Sprintf("rows=%d digest=idem1:%016x%016x", len(rows), all.hi, all.lo)
}

func twinCell(path string, v any, dt arrow.DataType) sum128 {
	switch v := v.(type) {
	case nil:
		return sum128{}
	case int64:
		return hashed(path+"i", number(v))
	case string:
		return hashed(path+"s", []byte(v))
	case blob:
		return hashed(path+"x", []byte(v))
	case micros:
		return hashed(path+"t", number(int64(v)))
	case bool:
		return hashed(path+"b", map[bool][]byte{false: {0}, true: {1}}[v])
	case float64:
		switch {
		case v != v:
			return hashed(path+"f", binary.LittleEndian.AppendUint64(nil, 0x7FF8000000000000))
		case v == math.Trunc(v) && v >= -0x1p63 && v < 0x1p63:
			return hashed(path+"i", number(int64(v)))
		}
		return hashed(path+"f", binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	case money:
		return twinMoney(path, int64(v))
	case fields:
		out := hashed(path+"r", nil)
		for i, f := range dt.(*arrow.StructType).Fields() {
			out = out.plus(twinCell(path+step(f.Name), v[i], f.Type))
		}
		return out
	case items:
		payload := number(int64(len(v)))
		for _, e := range v {
			payload = append(payload, twinCell(path+"\xff\xff\xff\xff", e, dt.(*arrow.ListType).Elem()).bytes()...)
		}
		return hashed(path+"a", payload)
	}
	panic(fmt.Sprintf("no fingerprint of %T", v))
}

func twinMoney(path string, n int64) sum128 {
	scale := int32(units)
	for ; n%10 == 0 && scale > 0; scale-- {
		n /= 10
	}
	if scale == 0 {
		return hashed(path+"i", number(n))
	}
	sign := uint64(n >> 63)
	payload := binary.LittleEndian.AppendUint64(number(n), sign)
	return hashed(path+"n", binary.LittleEndian.AppendUint32(payload, uint32(scale)))
}

package rows

// Arrow's bitmaps have the least significant bit first.

func bitSet(bits []byte, i int) bool { return bits[uint(i)/8]>>(uint(i)%8)&1 == 1 }

func setBit(bits []byte, i int) { bits[uint(i)/8] |= 1 << (uint(i) % 8) }

// bitBytes is the number of bytes that hold n bits.
func bitBytes(n int64) int64 { return (n + 7) / 8 }

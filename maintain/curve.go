package maintain

// curvePlace gives the place of a point on Hilbert's curve through a cube with the same number of
// bits on each side: points that are near each other on the curve are near each other in the cube.
// The coordinates are overwritten. len(point)*bits is at most 64.
//
// The way is that of J. Skilling, "Programming the Hilbert curve" (2004): from coordinates to the
// transposed place, whose bits are then gathered, most significant first.
func curvePlace(point []uint32, bits int) uint64 {
	transpose(point, bits)
	place := uint64(0)
	for bit := bits - 1; bit >= 0; bit-- {
		for _, x := range point {
			place = place<<1 | uint64(x>>bit&1)
		}
	}
	return place
}

func transpose(x []uint32, bits int) {
	n := len(x)
	for q := uint32(1) << (bits - 1); q > 1; q >>= 1 { // undo the turns of the sub-cubes
		for i := range n {
			if x[i]&q != 0 {
				x[0] ^= q - 1
			} else {
				t := (x[0] ^ x[i]) & (q - 1)
				x[0] ^= t
				x[i] ^= t
			}
		}
	}
	for i := 1; i < n; i++ { // Gray code
		x[i] ^= x[i-1]
	}
	t := uint32(0)
	for q := uint32(1) << (bits - 1); q > 1; q >>= 1 {
		if x[n-1]&q != 0 {
			t ^= q - 1
		}
	}
	for i := range n {
		x[i] ^= t
	}
}

// curveBits is the number of bits of each of n coordinates: the cube is fine enough where columns are
// few, and the place fits where they are many.
func curveBits(n int) int { return min(10, 64/n) }

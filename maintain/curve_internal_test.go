package maintain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// Every point of a cube has a place of its own, and places that follow each other are points that
// touch: that is what makes the curve Hilbert's, and keeps the bounds of a run of rows tight.
func TestTheCurveVisitsNeighbours(t *testing.T) {
	for _, c := range []struct{ n, bits int }{{1, 10}, {2, 1}, {2, 5}, {3, 4}, {4, 3}, {5, 2}, {6, 2}} {
		t.Run(fmt.Sprintf("%d columns of %d bits", c.n, c.bits), func(t *testing.T) {
			at := make([][]uint32, 1<<(c.n*c.bits))
			for i := range at {
				point := make([]uint32, c.n)
				for j := range point {
					point[j] = uint32(i>>(j*c.bits)) & (1<<c.bits - 1)
				}
				kept := append([]uint32(nil), point...)
				place := curvePlace(point, c.bits)
				require.Less(t, place, uint64(len(at)))
				require.Nil(t, at[place], "two points have one place")
				at[place] = kept
			}
			for i := 1; i < len(at); i++ {
				steps := 0
				for j := range at[i] {
					steps += max(int(at[i][j])-int(at[i-1][j]), int(at[i-1][j])-int(at[i][j]))
				}
				require.Equal(t, 1, steps, "places %d and %d are %v and %v", i-1, i, at[i-1], at[i])
			}
		})
	}
}

// A run of the curve spans little of every column, where a sort by the first column spans all of the
// others.
func TestARunOfTheCurveIsTightInEveryColumn(t *testing.T) {
	const bits, run = 6, 1 << 8 // 16 runs of a square of 64 by 64
	at := make([][2]uint32, 1<<(2*bits))
	for x := range uint32(1 << bits) {
		for y := range uint32(1 << bits) {
			at[curvePlace([]uint32{x, y}, bits)] = [2]uint32{x, y}
		}
	}
	for first := 0; first < len(at); first += run {
		for column := range 2 {
			low, high := at[first][column], at[first][column]
			for _, p := range at[first : first+run] {
				low, high = min(low, p[column]), max(high, p[column])
			}
			require.EqualValues(t, 15, high-low, "a sixteenth of the square is a square")
		}
	}
}

func TestThePlaceFits(t *testing.T) {
	for n := 1; n <= delta.MostClusteringColumns; n++ {
		bits := curveBits(n)
		require.LessOrEqual(t, n*bits, 64)
		require.GreaterOrEqual(t, bits, 4)
		point := make([]uint32, n)
		for i := range point {
			point[i] = 1<<bits - 1
		}
		curvePlace(point, bits)
	}
}

package function_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbersAsSpark(t *testing.T) { asSpark(t, "number") }

func TestCastsAsSpark(t *testing.T) { asSpark(t, "cast") }

func TestDrawnAsSpark(t *testing.T) { asSpark(t, "drawn") }

// asSpark holds the answers of a file against ours.
func asSpark(t *testing.T, file string) {
	f, err := os.Open("testdata/spark/" + file + ".tsv")
	require.NoError(t, err)
	defer f.Close()
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		require.Len(t, fields, 3, line)
		cases++
		t.Run(fields[0], func(t *testing.T) {
			for _, constants := range []bool{true, false} {
				typ, value := answer(t, fields[0], constants)
				if fields[1] == "!" {
					require.Equal(t, "!", typ, "constants: %v, value %s; Spark: %s", constants, value, fields[2])
					continue
				}
				require.Equal(t, fields[1]+" "+fields[2], typ+" "+value, "constants: %v", constants)
			}
		})
	}
	require.Greater(t, cases, 10, file)
}

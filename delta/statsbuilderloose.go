package delta

import (
	"encoding/json"
	"strconv"
)

// LooseStats gives the statistics of a file whose deletion vector grows: bounds and counts stay, as outer bounds, and
// tightBounds is false. numRecords is the number of rows in the file, deleted ones included; it is written where text, which
// may be "", does not have it, because a file with a vector must say it. Text that is no statistics becomes the count alone.
func LooseStats(text string, numRecords int64) string {
	st, ok := ParseStats(text)
	if !ok {
		st = &Stats{}
	}
	if st.NumRecords != nil {
		numRecords = *st.NumRecords
	}
	out := append([]byte(`{"numRecords":`), strconv.FormatInt(numRecords, 10)...)
	out = append(out, `,"tightBounds":false`...)
	for _, section := range []struct {
		name string
		raw  []byte
	}{{"minValues", st.minValues}, {"maxValues", st.maxValues}, {"nullCount", st.nullCount}} {
		if len(section.raw) > 0 && section.raw[0] == '{' && json.Valid(section.raw) {
			out = append(out, `,"`+section.name+`":`...)
			out = append(out, section.raw...)
		}
	}
	return string(append(out, '}'))
}

package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

const (
	// TagName is the key in add.tags under which a file carries rows and digest.
	TagName = "idem.fingerprint"

	fingerprintFormat = "idem1"
)

// FormatFingerprint is the text of a tag: "idem1:<rows>:<32 hex digits>:<vector>", for the rows that
// are live under the file's deletion vector, nil if it has none. Other engines copy tags when they
// attach a vector, so the tag names the vector that it covers.
func FormatFingerprint(n int64, d rows.Digest, vector *delta.DeletionVector) string {
	return fmt.Sprintf("%s:%d:%s:%s", fingerprintFormat, n, d, vector.ID())
}

// FileDigest reads the tag of a file. It is not ok if there is none, if it is of another format, or
// if it covers another deletion vector than the file has: then the file must be read.
func FileDigest(add *delta.Add) (n int64, d rows.Digest, ok bool) {
	parts := strings.SplitN(add.Tags[TagName], ":", 4)
	if len(parts) != 4 || parts[0] != fingerprintFormat || parts[3] != add.DeletionVector.ID() {
		return 0, rows.Digest{}, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n < 0 {
		return 0, rows.Digest{}, false
	}
	if d, err = rows.ParseDigest(parts[2]); err != nil {
		return 0, rows.Digest{}, false
	}
	return n, d, true
}

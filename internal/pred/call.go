package pred

import (
	"slices"
	"strings"

	"github.com/idemtable/idem/delta/expr"
)

// changing are the functions whose value changes from one call to the next: a run that is repeated
// would ask another question.
var changing = []string{
	"rand", "random", "randn", "uuid", "now", "current_timestamp", "current_date", "curdate", "localtimestamp", "unix_timestamp",
	"current_user", "current_timezone", "monotonically_increasing_id", "shuffle", "input_file_name", "spark_partition_id",
}

func refuseCall(e *expr.Call) error {
	if slices.Contains(changing, strings.ToLower(e.Name)) {
		return refuse(e, "the function %s gives another value at each run: compute it once and give it as an argument", e.Name)
	}
	return refuse(e, "the function %s is not supported in a condition", e.Name)
}

package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
)

const opEnable = "EnableFeature"

// Enable asks for a table feature to be turned on.
type Enable struct {
	_ struct{}

	// Feature is its name as the protocol has it, "deletionVectors".
	Feature string

	// SupportOnly supports it in the protocol and leaves its property alone.
	SupportOnly bool

	// Note is kept in the commits.
	Note string
}

// turnedOnBy are the properties by which features act once they are supported. The others act by what
// uses them (a column, a constraint), or by being supported.
var turnedOnBy = map[string][2]string{
	"appendOnly":        {"delta.appendOnly", "true"},
	"changeDataFeed":    {"delta.enableChangeDataFeed", "true"},
	"columnMapping":     {"delta.columnMapping.mode", "name"},
	"deletionVectors":   {"delta.enableDeletionVectors", "true"},
	"icebergCompatV1":   {"delta.enableIcebergCompatV1", "true"},
	"icebergCompatV2":   {"delta.enableIcebergCompatV2", "true"},
	"inCommitTimestamp": {"delta.enableInCommitTimestamps", "true"},
	"rowTracking":       {"delta.enableRowTracking", "true"},
	"typeWidening":      {"delta.enableTypeWidening", "true"},
	"v2Checkpoint":      {"delta.checkpointPolicy", "v2"},
	"variantShredding":  {"delta.enableVariantShredding", "true"},
}

// EnableFeature supports a table feature and, where a property turns it on, sets that property:
//
//	appendOnly         delta.appendOnly=true
//	changeDataFeed     delta.enableChangeDataFeed=true
//	columnMapping      delta.columnMapping.mode=name (columns get ids; files stay as they are)
//	deletionVectors    delta.enableDeletionVectors=true
//	icebergCompatV1/2  delta.enableIcebergCompatV1/2=true
//	inCommitTimestamp  delta.enableInCommitTimestamps=true (the version since when is noted)
//	rowTracking        delta.enableRowTracking=true (in several commits: see [AlterTable])
//	typeWidening       delta.enableTypeWidening=true
//	v2Checkpoint       delta.checkpointPolicy=v2
//	variantShredding   delta.enableVariantShredding=true
//
// It is [AlterTable] with [SetProperties] or [AddFeature], and may be repeated as that. A table that has
// column mapping by ids keeps it. Clients that lack the feature cannot read or write the table any more.
//
// Errors: [idem.ErrUnsupported] for a feature that idem does not know or does not write, [idem.ErrInput]
// for one that does not go with the table.
func EnableFeature(ctx context.Context, t *idem.Table, r Enable) (*Altered, error) {
	in, err := open(ctx, opEnable, t)
	if err != nil {
		return nil, err
	}
	if r.Feature == "" {
		return nil, in.Fail(opEnable, fmt.Errorf("%w: Enable.Feature is empty: name a table feature", idem.ErrInput))
	}
	c := Change(AddFeature{Name: r.Feature})
	if property, ok := turnedOnBy[strings.TrimSuffix(r.Feature, "-preview")]; ok && !r.SupportOnly {
		c = turnOn{feature: r.Feature, property: property[0], value: property[1]}
	}
	return change(ctx, in, opEnable, Alter{Changes: []Change{c}, Note: r.Note})
}

// turnOn supports a feature and sets its property. Which of the two there is to do is for the table to say that the
// change lands on: what was on when the call began may have been taken back by a restore since.
type turnOn struct{ feature, property, value string }

func (c turnOn) on(now *delta.Snapshot) Change {
	value, set := now.Property(c.property)
	if !set || !now.Protocol().Supports(c.feature) || slices.Contains([]string{"", "false", "none", "classic"}, strings.ToLower(value)) {
		return SetProperties{Properties: map[string]string{c.property: c.value}}
	}
	return AddFeature{Name: c.feature}
}

func (c turnOn) edit(now *delta.Snapshot, fresh delta.Fresh) (*delta.Edit, error) {
	return c.on(now).edit(now, fresh)
}

func (c turnOn) told(before, after *delta.Snapshot) told { return c.on(before).told(before, after) }

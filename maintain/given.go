package maintain

import (
	"context"
	"encoding/json"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/inside"
)

// given is what a table gave since a version, and must not give again.
type given struct {
	numbers *numbers
	columns map[string]json.RawMessage // ids of columns, by their place in files
	ids     *idsSince
}

// givenSince reads it from the version, the commits after it and the table as it is: what a column gave before it was
// dropped, and the ids of rows and columns before their feature was, stand in the commits alone. files are those
// whose row ids are wanted.
func givenSince(ctx context.Context, in *inside.Table, then, now *delta.Snapshot, files []*delta.Add) (*given, error) {
	ids, err := idsOf(in.Store.URL(), then, files)
	if err != nil {
		return nil, err
	}
	g := &given{numbers: numbersOf(then), columns: map[string]json.RawMessage{}, ids: ids}
	mapped := now.Mapping() != delta.MappingNone && then.Mapping() == delta.MappingNone
	if mapped || len(g.numbers.columns) > 0 || then.Protocol().Supports(trackingFeature) || now.Protocol().Supports(trackingFeature) {
		err = in.Log.ReadCommits(ctx, then.Version()+1, now.Version()-1, func(_ int64, actions []delta.Action) error {
			if err := g.definitions(actions); err != nil {
				return err
			}
			return g.ids.take(actions)
		})
	}
	if err != nil {
		return nil, missed(ctx, in, err)
	}
	g.numbers.take(now.Schema(), now.Mapping() != delta.MappingNone)
	return g, g.ids.end(now)
}

// definitions goes on by the metadata of a commit.
func (g *given) definitions(actions []delta.Action) error {
	for _, a := range actions {
		if a.Metadata == nil || a.Metadata.SchemaString == "" { // others make tables without
			continue
		}
		schema, err := delta.ParseSchema(a.Metadata.SchemaString)
		if err != nil {
			return err
		}
		mode := a.Metadata.Configuration[mappingMode]
		g.numbers.take(schema, mode != "" && mode != string(delta.MappingNone))
		columnIDs("", schema, g.columns)
	}
	return nil
}

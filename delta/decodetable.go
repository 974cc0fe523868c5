package delta

import "strconv"

var metadataLayout = layout{kind: "metaData", required: 3, names: []string{
	"id", "format", "partitionColumns", "name", "description", "schemaString", "createdTime", "configuration",
}}

var formatLayout = layout{kind: "format", required: 1, names: []string{"provider", "options"}}

func (d *decoder) metadata(m *Metadata) error {
	return d.record(&metadataLayout, func(field int) (err error) {
		switch field {
		case 0:
			m.ID, err = d.str()
		case 1:
			err = d.record(&formatLayout, func(field int) (err error) {
				if field == 0 {
					m.Provider, err = d.str()
				} else {
					m.FormatOptions, err = d.stringMap()
				}
				return err
			})
		case 2:
			m.PartitionColumns, err = d.stringList()
		case 3:
			m.Name, err = d.str()
		case 4:
			m.Description, err = d.str()
		case 5:
			m.SchemaString, err = d.str()
		case 6:
			m.CreatedTime, err = d.longPtr()
		case 7:
			m.Configuration, err = d.stringMap()
		}
		return err
	})
}

var protocolLayout = layout{kind: "protocol", required: 2, names: []string{"minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"}}

func (d *decoder) protocol(p *Protocol) error {
	return d.record(&protocolLayout, func(field int) (err error) {
		var n int64
		switch field {
		case 0:
			n, err = d.integer(32)
			p.MinReaderVersion = int(n)
		case 1:
			n, err = d.integer(32)
			p.MinWriterVersion = int(n)
		case 2:
			p.ReaderFeatures, err = d.stringList()
		case 3:
			p.WriterFeatures, err = d.stringList()
		}
		return err
	})
}

var txnLayout = layout{kind: "txn", required: 2, names: []string{"appId", "version", "lastUpdated"}}

func (d *decoder) txn(t *Txn) error {
	return d.record(&txnLayout, func(field int) (err error) {
		switch field {
		case 0:
			t.AppID, err = d.str()
		case 1:
			t.Version, err = d.long()
		case 2:
			t.LastUpdated, err = d.longPtr()
		}
		return err
	})
}

var domainLayout = layout{kind: "domainMetadata", required: 3, names: []string{"domain", "configuration", "removed"}}

func (d *decoder) domain(m *DomainMetadata) error {
	return d.record(&domainLayout, func(field int) (err error) {
		switch field {
		case 0:
			m.Domain, err = d.str()
		case 1:
			m.Configuration, err = d.str()
		case 2:
			m.Removed, err = d.boolean()
		}
		return err
	})
}

var checkpointMetadataLayout = layout{kind: "checkpointMetadata", required: 1, names: []string{"version", "tags"}}

func (d *decoder) checkpointMetadata(c *CheckpointMetadata) error {
	return d.record(&checkpointMetadataLayout, func(field int) (err error) {
		if field == 0 {
			c.Version, err = d.long()
		} else {
			c.Tags, err = d.stringMap()
		}
		return err
	})
}

var sidecarLayout = layout{kind: "sidecar", required: 3, names: []string{"path", "sizeInBytes", "modificationTime", "tags"}}

func (d *decoder) sidecar(c *Sidecar) error {
	return d.record(&sidecarLayout, func(field int) (err error) {
		switch field {
		case 0:
			c.Path, err = d.str()
		case 1:
			c.SizeInBytes, err = d.long()
		case 2:
			c.ModificationTime, err = d.long()
		case 3:
			c.Tags, err = d.stringMap()
		}
		return err
	})
}

var commitInfoLayout = layout{kind: "commitInfo", repeats: true, names: []string{
	"timestamp", "operation", "operationParameters", "readVersion", "isolationLevel", "isBlindAppend", "operationMetrics",
	"engineInfo", "txnId", "inCommitTimestamp", "userMetadata", "tags",
}}

// commitInfo reads what idem interprets. Writers put what they like here, so a value that is not
// of the type it should have counts as absent, and a number may have quotes.
func (d *decoder) commitInfo(c *CommitInfo) error {
	return d.record(&commitInfoLayout, func(field int) (err error) {
		switch field {
		case 0:
			var at *int64
			if at, err = d.looseLong(); at != nil {
				c.Timestamp = *at
			}
		case 1:
			c.Operation, err = d.looseString()
		case 2:
			var v any
			v, err = d.value()
			c.OperationParameters, _ = v.(map[string]any)
		case 3:
			c.ReadVersion, err = d.looseLong()
		case 4:
			c.IsolationLevel, err = d.looseString()
		case 5:
			var v any
			v, err = d.value()
			if blind, ok := v.(bool); ok {
				c.IsBlindAppend = &blind
			}
		case 6:
			c.OperationMetrics, err = d.looseMap()
		case 7:
			c.EngineInfo, err = d.looseString()
		case 8:
			c.TxnID, err = d.looseString()
		case 9:
			c.InCommitTimestamp, err = d.looseLong()
		case 10:
			c.UserMetadata, err = d.looseString()
		case 11:
			c.Tags, err = d.looseMap()
		}
		return err
	})
}

func (s *scanner) looseString() (string, error) {
	if s.peek() == '"' {
		return s.str()
	}
	return "", s.skip()
}

func (s *scanner) looseLong() (*int64, error) {
	switch s.peek() {
	case '{', '[', 't', 'f':
		return nil, s.skip()
	}
	text, err := s.scalar()
	if err != nil {
		return nil, err
	}
	n, bad := strconv.ParseInt(string(text), 10, 64)
	if bad != nil {
		return nil, nil
	}
	return &n, nil
}

// looseMap reads a map of strings and leaves out what is not a scalar.
func (s *scanner) looseMap() (map[string]string, error) {
	if s.peek() != '{' {
		return nil, s.skip()
	}
	var m map[string]string
	err := s.members(func(key string) error {
		switch s.peek() {
		case '{', '[', 'n':
			return s.skip()
		}
		text, err := s.scalar()
		if m == nil {
			m = map[string]string{}
		}
		m[key] = string(text)
		return err
	})
	return m, err
}

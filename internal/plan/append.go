package plan

import (
	"context"
	"strconv"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/rows"
)

// Append adds the rows of the input. The zero Input adds nothing (a tag alone).
type Append struct {
	Env    *Env
	Input  Input
	Evolve bool // add columns that the table lacks
	Counts Counts

	// Missing are the table's columns that the rows lacked, Added those that the table did.
	Missing, Added []string

	base *delta.Snapshot // the rows were checked against its definition
	out  written
}

// Plan writes the rows at the first attempt and proposes the same files at every later one, unless
// another writer has given the numbers of their identity columns.
func (p *Append) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	to, err := evolve(snap, p.Input.brings(p.Evolve))
	if err != nil {
		return nil, err
	}
	if p.base == nil {
		err = p.write(ctx, to.snap)
	} else {
		err = p.follow(ctx, to)
	}
	if err != nil {
		return nil, err
	}
	if p.base == nil {
		p.base = to.snap
	}
	p.Added = to.added
	if len(p.out.files) == 0 && to.metadata == nil {
		return nil, nil
	}
	proposal := to.amend(&Proposal{
		Operation:   "WRITE",
		Parameters:  map[string]any{"mode": "Append", "partitionBy": partitionParameter(snap)},
		Metrics:     map[string]string{"numFiles": strconv.Itoa(len(p.out.files)), "numOutputRows": strconv.FormatInt(p.out.rows, 10)},
		Actions:     adds(p.out.files),
		BlindAppend: true,
	})
	return proposal, to.number(proposal, p.out.numbers)
}

// follow makes what was written go with another state of the table.
func (p *Append) follow(ctx context.Context, to evolved) error {
	if err := to.follows(p.base, p.Input.brings(p.Evolve), commit.DefinitionChangeForAppend); err != nil {
		return err
	}
	_, err := p.out.renumber(ctx, p.Env, p.base, to.snap)
	return err
}

// Digest is the number and the digest of the rows written.
func (p *Append) Digest() (int64, rows.Digest) { return p.out.rows, p.out.sum }

func (p *Append) write(ctx context.Context, snap *delta.Snapshot) error {
	if p.Input.Reader == nil {
		return nil
	}
	in, err := newIntake(p.Env, snap, p.Input, p.Evolve)
	if err != nil {
		return err
	}
	p.Missing = in.conform.Missing()
	out, err := in.write(ctx, nil)
	if err != nil {
		return err
	}
	p.out = *out
	p.Counts.Read, p.Counts.Inserted = out.rows, out.rows
	p.Counts.count(out.files)
	return nil
}

// count adds files that were written.
func (c *Counts) count(files []*delta.Add) {
	c.FilesAdded += int64(len(files))
	for _, f := range files {
		c.BytesAdded += f.Size
	}
}

package plan

import (
	"context"
	"strconv"

	"github.com/idemtable/idem/delta"
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

	base  *delta.Snapshot // the rows were checked against its definition
	files []*delta.Add
	rows  int64
	sum   rows.Digest
}

// Plan writes the rows at the first attempt and proposes the same files at every later one.
func (p *Append) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	to, err := evolve(snap, p.Input.brings(p.Evolve))
	if err != nil {
		return nil, err
	}
	if p.base == nil {
		err = p.write(ctx, to.snap)
	} else {
		err = to.follows(p.base, p.Input.brings(p.Evolve))
	}
	if err != nil {
		return nil, err
	}
	if p.base == nil {
		p.base = to.snap
	}
	p.Added = to.added
	if len(p.files) == 0 && to.metadata == nil {
		return nil, nil
	}
	return to.amend(&Proposal{
		Operation:   "WRITE",
		Parameters:  map[string]any{"mode": "Append", "partitionBy": partitionParameter(snap)},
		Metrics:     map[string]string{"numFiles": strconv.Itoa(len(p.files)), "numOutputRows": strconv.FormatInt(p.rows, 10)},
		Actions:     adds(p.files),
		BlindAppend: true,
	}), nil
}

// Digest is the number and the digest of the rows written.
func (p *Append) Digest() (int64, rows.Digest) { return p.rows, p.sum }

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
	p.files, p.rows, p.sum = out.files, out.rows, out.sum
	p.Counts.Read, p.Counts.Inserted = out.rows, out.rows
	p.Counts.count(p.files)
	return nil
}

// count adds files that were written.
func (c *Counts) count(files []*delta.Add) {
	c.FilesAdded += int64(len(files))
	for _, f := range files {
		c.BytesAdded += f.Size
	}
}

package main

import (
	"context"
	"fmt"

	"github.com/idemtable/idem"
)

// naiveChunks is the number of commits in which the naive job writes its day.
const naiveChunks = 8

// naiveJob appends a day piece by piece, and remembers nothing.
func naiveJob(ctx context.Context, e errand, days []*day, p *progress) error {
	t, err := idem.Open(ctx, e.Table, idem.Options{})
	if err != nil {
		return err
	}
	for i, chunk := range cut(flightsOf(days), naiveChunks) {
		res, err := t.Append(ctx, known(chunk, scheduled), idem.Append{Reason: "nobody has looked at what a retry does"})
		if err != nil {
			return err
		}
		if p.moment("chunk %d: %s", i, res); p.err != nil {
			return p.err
		}
	}
	return nil
}

func flightsOf(days []*day) []*flight {
	var out []*flight
	for _, d := range days {
		out = append(out, d.flights...)
	}
	return out
}

// appendNaively runs the naive job and kills it when it has written some chunks; 0 lets it finish.
func appendNaively(ctx context.Context, e errand, chunks int) error {
	c, err := start(ctx, e)
	if err != nil {
		return err
	}
	for seen := 0; ; {
		_, moment, ok := c.line()
		if !ok {
			break
		}
		if !moment {
			continue
		}
		if seen++; seen == chunks {
			return c.kill()
		}
		if err := c.goOn(); err != nil {
			return fmt.Errorf("chunk %d: %w", seen, c.wait())
		}
	}
	if err := c.wait(); err != nil {
		return err
	}
	if chunks > 0 {
		return fmt.Errorf("the naive job ended before it was killed after chunk %d", chunks)
	}
	return nil
}

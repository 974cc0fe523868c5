package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	minute = int64(time.Minute / time.Microsecond)
	oneDay = 24 * 60 * minute
)

// stamp finds out when each stage of a flight was known.
//
// Arrival times are local to the destination, so they are never computed with: a flight has arrived
// its air time after its departure. Of a diverted flight, which has none, the arrival is known a
// day later.
func (f *flight) stamp() error {
	start := f.TimeHour.UnixMicro() + int64(f.Minute)*minute
	f.at[scheduled] = int64(f.day) * oneDay // midnight UTC is the evening before in New York
	if f.knows(departed) || f.knows(arrived) {
		f.at[departed] = start
		if f.DepDelay != nil {
			f.at[departed] += int64(*f.DepDelay) * minute
		}
	}
	if f.knows(arrived) {
		f.at[arrived] = f.at[departed] + oneDay
		if f.AirTime != nil {
			f.at[arrived] = f.at[departed] + int64(*f.AirTime)*minute
		}
	}
	if f.at[departed] != 0 && f.at[departed] <= f.at[scheduled] {
		return errors.New("columns time_hour, minute, dep_delay: the flight left before the evening of its schedule")
	}
	if f.at[arrived] != 0 && f.at[arrived] <= f.at[departed] {
		return fmt.Errorf("column air_time: %d: the flight arrived before it left", *f.AirTime)
	}
	return nil
}

// delivery is the feed of changes as it comes in: every change twice, in any order, cut into
// batches.
func delivery(flights []*flight, random *rand.Rand, batches int) [][]change {
	var feed []change
	for _, f := range flights {
		for s := departed; s <= f.last(); s++ {
			feed = append(feed, change{f, s}, change{f, s})
		}
	}
	random.Shuffle(len(feed), func(i, j int) { feed[i], feed[j] = feed[j], feed[i] })
	return cut(feed, batches)
}

// cut makes at most n pieces of about the same length, none empty.
func cut[T any](list []T, n int) [][]T {
	n = min(n, len(list))
	var out [][]T
	for i := range n {
		out = append(out, list[i*len(list)/n:(i+1)*len(list)/n])
	}
	return out
}

// ledger is what a merge must do, computed with a map: when each flight in the table was last
// changed.
type ledger map[*flight]int64

// tally is what a merge does.
type tally struct{ read, dropped, updated, older, ties int64 }

func (t *tally) add(u tally) {
	t.read += u.read
	t.dropped += u.dropped
	t.updated += u.updated
	t.older += u.older
	t.ties += u.ties
}

// merge is the merge of a batch.
func (l ledger) merge(batch []change) tally {
	newest := map[*flight]int64{}
	for _, c := range batch {
		newest[c.flight] = max(newest[c.flight], c.updatedAt())
	}
	t := tally{read: int64(len(batch)), dropped: int64(len(batch) - len(newest))}
	for f, at := range newest {
		switch has := l[f]; {
		case at > has:
			l[f] = at
			t.updated++
		case at < has:
			t.older++
		default:
			t.ties++
		}
	}
	return t
}

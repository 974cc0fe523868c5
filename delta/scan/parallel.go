package scan

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
)

// ahead is the number of batches that a file's reader may be ahead of the consumer.
const ahead = 2

type item struct {
	batch arrow.RecordBatch
	err   error
}

// parallel reads several files at once and yields them in order. Memory is bounded by the number of
// files read at once and the batches each is ahead. Every goroutine has ended when it returns.
func (q *query) parallel(ctx context.Context) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r := readers{q: q, ctx: ctx}
		for range q.table.parallelism() {
			r.start()
		}
		defer func() {
			cancel()
			r.drain()
		}()
		for len(r.streams) > 0 {
			for it := range r.streams[0] {
				more := yield(it.batch, it.err)
				it.release()
				if !more || it.err != nil {
					return
				}
			}
			r.streams = r.streams[1:]
			// A reader that stopped because ctx ended may have dropped rows.
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			r.start()
		}
	}
}

// readers are the goroutines that read files, in the order of the files.
type readers struct {
	q       *query
	ctx     context.Context
	next    int         // file to be read
	streams []chan item // of the files before it that were not read to their end
	group   sync.WaitGroup
}

// start reads the next file, if there is one.
func (r *readers) start() {
	if r.next == len(r.q.files) {
		return
	}
	f, out := r.q.files[r.next], make(chan item, ahead)
	r.next++
	r.streams = append(r.streams, out)
	r.group.Go(func() { r.q.produce(r.ctx, f, out) })
}

// drain takes what the readers still give, until all have ended.
func (r *readers) drain() {
	for _, s := range r.streams {
		for it := range s {
			it.release()
		}
	}
	r.group.Wait()
}

func (i item) release() {
	if i.batch != nil {
		i.batch.Release()
	}
}

func (q *query) produce(ctx context.Context, f *delta.Add, out chan<- item) {
	defer close(out)
	for batch, err := range q.file(ctx, f) {
		if err != nil {
			select {
			case out <- item{err: err}:
			case <-ctx.Done():
			}
			return
		}
		batch.Retain()
		select {
		case out <- item{batch: batch}:
		case <-ctx.Done():
			batch.Release()
			return
		}
	}
}

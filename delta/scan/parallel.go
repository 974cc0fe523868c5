package scan

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
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
		var readers sync.WaitGroup
		streams := make([]chan item, len(q.files))
		for i := range streams {
			streams[i] = make(chan item, ahead)
		}
		next := 0
		start := func() {
			if next < len(q.files) {
				i := next
				next++
				readers.Go(func() { q.produce(ctx, i, streams[i]) })
			}
		}
		for range q.table.parallelism() {
			start()
		}
		defer func() {
			cancel()
			for _, s := range streams[:next] {
				for it := range s {
					if it.batch != nil {
						it.batch.Release()
					}
				}
			}
			readers.Wait()
		}()
		for i := range streams {
			for it := range streams[i] {
				more := yield(it.batch, it.err)
				if it.batch != nil {
					it.batch.Release()
				}
				if !more || it.err != nil {
					return
				}
			}
			// A reader that stopped because ctx ended may have dropped rows.
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			start()
		}
	}
}

func (q *query) produce(ctx context.Context, i int, out chan<- item) {
	defer close(out)
	for batch, err := range q.file(ctx, q.files[i]) {
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

package data

import (
	"fmt"

	"tcdbg/torch"
)

// DataLoader makes batches of a data set.
type DataLoader struct {
	dataset   Dataset
	batches   BatchSampler
	collate   func(samples [][]*torch.Tensor) []*torch.Tensor
	workers   int
	generator *torch.Generator
}

// NewDataLoader makes a DataLoader. Options: kw.BatchSize(1),
// kw.Shuffle(false), kw.DropLast(false), kw.NumWorkers(0), kw.Generator;
// kw.Sampler, a Sampler, in place of shuffling; kw.BatchSampler, a BatchSampler,
// in place of all that makes batches; kw.CollateFn, a function of
// [][]*torch.Tensor, in place of Stack.
func NewDataLoader(d Dataset, opts ...torch.Option) *DataLoader {
	l := &DataLoader{dataset: d, collate: Stack}
	size, shuffle, dropLast := 1, false, false
	var sampler Sampler
	var own []string
	for _, o := range opts {
		switch o.Name {
		case "batch_size":
			size = o.Value.(int)
		case "shuffle":
			shuffle = o.Value.(bool)
		case "drop_last":
			dropLast = o.Value.(bool)
		case "sampler":
			sampler = asked[Sampler](o)
		case "batch_sampler":
			l.batches = asked[BatchSampler](o)
		case "collate_fn":
			l.collate = asked[func(samples [][]*torch.Tensor) []*torch.Tensor](o)
		case "num_workers":
			l.workers = o.Value.(int)
		case "generator":
			l.generator = o.Value.(*torch.Generator)
		default:
			refuse("TypeError", "DataLoader.__init__() got an unexpected keyword argument '%s'", o.Name)
		}
		switch o.Name {
		case "batch_size", "shuffle", "drop_last", "sampler":
			own = append(own, o.Name)
		}
	}
	switch {
	case l.batches != nil && own != nil:
		refuse("ValueError", "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
	case sampler != nil && shuffle:
		refuse("ValueError", "sampler option is mutually exclusive with shuffle")
	case size <= 0:
		refuse("ValueError", "batch_size should be a positive integer value, but got batch_size=%d", size)
	case l.workers < 0:
		refuse("ValueError", "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
	}
	if l.batches == nil {
		l.batches = NewBatchSampler(l.order(sampler, shuffle), size, dropLast)
	}
	return l
}

// order is the sampler that the options ask for.
func (l *DataLoader) order(given Sampler, shuffle bool) Sampler {
	switch {
	case given != nil:
		return given
	case shuffle && l.dataset.Len() > 0:
		return &RandomSampler{n: l.dataset.Len(), count: l.dataset.Len(), generator: l.generator}
	}
	return NewSequentialSampler(l.dataset)
}

// asked is the value of an option that must be a T.
func asked[T any](o torch.Option) T {
	v, ok := o.Value.(T)
	if !ok {
		refuse("TypeError", "keyword %s cannot be a %T", o.Name, o.Value)
	}
	return v
}

func refuse(kind, format string, args ...any) {
	panic(&torch.Error{Op: "DataLoader", Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// Len is the number of batches.
func (l *DataLoader) Len() int { return l.batches.Len() }

// All goes through the data set once, in a new order when shuffling:
//
//	for batch := range loader.All() {
//		x, y := batch[0], batch[1]
//	}
func (l *DataLoader) All() func(yield func(batch []*torch.Tensor) bool) {
	return func(yield func([]*torch.Tensor) bool) {
		g := l.generator
		if g == nil {
			g = torch.DefaultGenerator()
		}
		g.Int63() // PyTorch draws a seed for the workers, whether there are any or not
		batches := l.batches.Batches()
		if l.workers > 0 {
			l.parallel(batches, yield)
			return
		}
		for _, b := range batches {
			if !yield(l.load(b)) {
				return
			}
		}
	}
}

// load makes a batch of samples.
func (l *DataLoader) load(samples []int) []*torch.Tensor {
	out := make([][]*torch.Tensor, len(samples))
	for i, s := range samples {
		out[i] = l.dataset.Get(s)
	}
	return l.collate(out)
}

// Stack joins samples tensor by tensor: what a DataLoader does unless told
// otherwise.
func Stack(samples [][]*torch.Tensor) []*torch.Tensor {
	var columns [][]*torch.Tensor
	for _, s := range samples {
		for k, t := range s {
			if k == len(columns) {
				columns = append(columns, nil)
			}
			columns[k] = append(columns[k], t)
		}
	}
	out := make([]*torch.Tensor, len(columns))
	for k, c := range columns {
		out[k] = torch.Stack(c)
	}
	return out
}

// Collate stacks samples of a data set.
func Collate(d Dataset, samples []int) []*torch.Tensor {
	return (&DataLoader{dataset: d, collate: Stack}).load(samples)
}

// ahead is how many batches each worker may be ahead of the program.
const ahead = 2

// result is a batch, or what its making panicked with.
type result struct {
	batch  []*torch.Tensor
	failed any
}

// parallel loads batches in goroutines and yields them in order. When the
// program leaves the loop, or a batch fails, the workers end.
func (l *DataLoader) parallel(batches [][]int, yield func([]*torch.Tensor) bool) {
	done := make(chan struct{})
	defer close(done)
	queues := make([]chan result, min(l.workers, len(batches)))
	for w := range queues {
		queues[w] = make(chan result, ahead)
		go l.work(batches, w, len(queues), queues[w], done)
	}
	for i := range batches {
		r := <-queues[i%len(queues)]
		if r.failed != nil {
			panic(r.failed)
		}
		if !yield(r.batch) {
			return
		}
	}
}

// work makes the batches of one worker: every one whose number is w modulo the
// number of workers.
func (l *DataLoader) work(batches [][]int, w, workers int, queue chan<- result, done <-chan struct{}) {
	for i := w; i < len(batches); i += workers {
		r := l.try(batches[i])
		select {
		case queue <- r:
		case <-done:
			return
		}
		if r.failed != nil {
			return
		}
	}
}

func (l *DataLoader) try(samples []int) (r result) {
	defer func() {
		if e := recover(); e != nil {
			r.failed = e
		}
	}()
	return result{batch: l.load(samples)}
}

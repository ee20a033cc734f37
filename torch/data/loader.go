package data

import (
	"fmt"

	"tcdbg/torch"
)

// DataLoader makes batches of a data set.
type DataLoader struct {
	dataset   Dataset
	batch     int
	shuffle   bool
	dropLast  bool
	workers   int
	generator *torch.Generator
}

// NewDataLoader makes a DataLoader. Options: kw.BatchSize(1),
// kw.Shuffle(false), kw.DropLast(false), kw.NumWorkers(0), kw.Generator.
func NewDataLoader(d Dataset, opts ...torch.Option) *DataLoader {
	l := &DataLoader{dataset: d, batch: 1}
	for _, o := range opts {
		switch o.Name {
		case "batch_size":
			l.batch = o.Value.(int)
		case "shuffle":
			l.shuffle = o.Value.(bool)
		case "drop_last":
			l.dropLast = o.Value.(bool)
		case "num_workers":
			l.workers = o.Value.(int)
		case "generator":
			l.generator = o.Value.(*torch.Generator)
		default:
			panic(&torch.Error{Op: "DataLoader", Kind: "TypeError", Msg: fmt.Sprintf("DataLoader.__init__() got an unexpected keyword argument '%s'", o.Name)})
		}
	}
	if l.batch <= 0 {
		panic(&torch.Error{Op: "DataLoader", Kind: "ValueError", Msg: fmt.Sprintf("batch_size should be a positive integer value, but got batch_size=%d", l.batch)})
	}
	return l
}

// Len is the number of batches.
func (l *DataLoader) Len() int {
	if l.dropLast {
		return l.dataset.Len() / l.batch
	}
	return (l.dataset.Len() + l.batch - 1) / l.batch
}

// order lists the samples of one pass. It draws what PyTorch draws: a seed for
// the workers, and for shuffling a seed of its own unless there is a generator.
func (l *DataLoader) order() []int {
	n := l.dataset.Len()
	g := l.generator
	if g == nil {
		g = torch.DefaultGenerator()
	}
	g.Int63()
	if !l.shuffle {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	if l.generator == nil {
		g = torch.NewGenerator(g.Int63())
	}
	return g.Perm(n)
}

// All goes through the data set once, in a new order when shuffling:
//
//	for batch := range loader.All() {
//		x, y := batch[0], batch[1]
//	}
func (l *DataLoader) All() func(yield func(batch []*torch.Tensor) bool) {
	return func(yield func([]*torch.Tensor) bool) {
		order := l.order()
		if l.workers > 0 {
			if !l.parallel(order, yield) {
				return
			}
		} else {
			for i := range l.Len() {
				if !yield(l.load(order, i)) {
					return
				}
			}
		}
		if l.shuffle && l.generator != nil {
			l.generator.Perm(len(order)) // PyTorch's sampler asks for one more, of which it takes nothing
		}
	}
}

// load makes batch i.
func (l *DataLoader) load(order []int, i int) []*torch.Tensor {
	from := i * l.batch
	return Collate(l.dataset, order[from:min(from+l.batch, len(order))])
}

// Collate stacks samples of a data set, tensor by tensor.
func Collate(d Dataset, samples []int) []*torch.Tensor {
	var columns [][]*torch.Tensor
	for _, s := range samples {
		for k, t := range d.Get(s) {
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

// ahead is how many batches each worker may be ahead of the program.
const ahead = 2

// result is a batch, or what its making panicked with.
type result struct {
	batch  []*torch.Tensor
	failed any
}

// parallel loads batches in goroutines and yields them in order. When the
// program leaves the loop, the workers end and the result is false.
func (l *DataLoader) parallel(order []int, yield func([]*torch.Tensor) bool) bool {
	done := make(chan struct{})
	defer close(done)
	queues := make([]chan result, l.workers)
	for w := range queues {
		queues[w] = make(chan result, ahead)
		go l.work(order, w, queues[w], done)
	}
	for i := range l.Len() {
		r := <-queues[i%l.workers]
		if r.failed != nil {
			panic(r.failed)
		}
		if !yield(r.batch) {
			return false
		}
	}
	return true
}

// work makes the batches of one worker: every one whose number is w modulo the
// number of workers.
func (l *DataLoader) work(order []int, w int, queue chan<- result, done <-chan struct{}) {
	for i := w; i < l.Len(); i += l.workers {
		r := l.try(order, i)
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

func (l *DataLoader) try(order []int, i int) (r result) {
	defer func() {
		if e := recover(); e != nil {
			r.failed = e
		}
	}()
	return result{batch: l.load(order, i)}
}

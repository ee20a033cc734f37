package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/torch"
)

type job struct {
	id int
	x  *torch.Tensor
}
type result struct {
	id  int
	sum float64
	err error
}

var errOdd = errors.New("odd job")

type Pool struct {
	sync.RWMutex
	seen map[int]float64
	n    atomic.Int64
	once sync.Once
	cond *sync.Cond
}

func (p *Pool) worker(ctx context.Context, f func(*torch.Tensor) *torch.Tensor, in <-chan job, out chan<- result, wg *sync.WaitGroup) {
	defer wg.Done()
	defer func() {
		if r := recover(); r != nil {
			out <- result{-1, 0, fmt.Errorf("worker: %v", r)}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case j, ok := <-in:
			if !ok {
				return
			}
			if j.id == 5 {
				out <- result{j.id, 0, fmt.Errorf("job %d: %w", j.id, errOdd)}
				continue
			}
			p.once.Do(func() { fmt.Println("once") })
			y := f(j.x).Sum().Item()
			p.Lock()
			p.seen[j.id] = y
			p.Unlock()
			p.n.Add(1)
			out <- result{id: j.id, sum: y}
		}
	}
}

func stage[A, B any](in <-chan A, f func(A) B) <-chan B {
	out := make(chan B)
	go func() {
		defer close(out)
		for x := range in {
			out <- f(x)
		}
	}()
	return out
}

type key string

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Add(1).Relu() })
	p := &Pool{seen: map[int]float64{}}
	p.cond = sync.NewCond(&p.RWMutex)
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), key("k"), 3))
	in, out := make(chan job), make(chan result, 4)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go p.worker(ctx, f, in, out, &wg)
	}
	go func() {
		for i := range 10 {
			in <- job{i, torch.Full([]int{3}, i)}
		}
		close(in)
	}()
	go func() { wg.Wait(); close(out) }()
	var all []result
	for r := range out {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b result) int { return a.id - b.id })
	for _, r := range all {
		fmt.Println(r.id, r.sum, r.err, errors.Is(r.err, errOdd))
	}
	fmt.Println(p.n.Load(), len(p.seen))
	cancel(errOdd)
	fmt.Println(ctx.Err(), context.Cause(ctx), ctx.Value(key("k")), ctx.Value("k"))
	tctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	<-tctx.Done()
	fmt.Println(tctx.Err(), errors.Is(tctx.Err(), context.DeadlineExceeded))
	var called atomic.Bool
	done := make(chan struct{})
	actx, acancel := context.WithCancel(context.Background())
	context.AfterFunc(actx, func() { called.Store(true); close(done) })
	acancel()
	<-done
	fmt.Println(called.Load())

	nums := make(chan int)
	go func() {
		defer close(nums)
		for i := range 4 {
			nums <- i
		}
	}()
	for v := range stage(stage(nums, func(i int) *torch.Tensor { return torch.Full([]int{2}, i) }), func(t *torch.Tensor) float64 { return f(t).Sum().Item() }) {
		fmt.Print(v, " ")
	}
	fmt.Println()
	ready := false
	go func() { p.Lock(); ready = true; p.cond.Broadcast(); p.Unlock() }()
	p.Lock()
	for !ready {
		p.cond.Wait()
	}
	p.Unlock()
	var nilch chan int
	select {
	case <-nilch:
	case <-time.After(time.Millisecond):
		fmt.Println("timeout")
	}
	tick := time.NewTicker(time.Millisecond)
	for range 2 {
		<-tick.C
	}
	tick.Stop()
	sem := make(chan struct{}, 2)
	var mx, cur atomic.Int32
	for range 6 {
		wg.Go(func() {
			sem <- struct{}{}
			if n := cur.Add(1); n > mx.Load() {
				mx.Store(n)
			}
			runtime.Gosched()
			cur.Add(-1)
			<-sem
		})
	}
	wg.Wait()
	fmt.Println(mx.Load() <= 2)
	m := sync.Map{}
	for i := range 4 {
		wg.Go(func() { m.Store(i%2, i) })
	}
	wg.Wait()
	n := 0
	m.Range(func(k, v any) bool { n += k.(int); return true })
	fmt.Println(n)
	get := sync.OnceValues(func() (int, error) { return 3, errOdd })
	a, err := get()
	fmt.Println(a, err)
	func() {
		defer func() { fmt.Println("recovered", recover()) }()
		var c chan int
		close(c)
	}()
	wg.Go(func() {
		defer fmt.Println("deferred")
		runtime.Goexit()
	})
	wg.Wait()
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		ch := make(chan *torch.Tensor, 1)
		ch <- x.Add(1)
		return (<-ch).Mul(3)
	})
	fmt.Println(g(torch.Ones(2)))
	var mu sync.Mutex
	fmt.Println(mu.TryLock(), mu.TryLock())
}

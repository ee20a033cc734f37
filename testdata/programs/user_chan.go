package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/torch"
)

type Job struct {
	ID   int
	Data *torch.Tensor
	Resp chan<- Result
}
type Result struct {
	ID  int
	Sum float64
	Err error
}
type State uint8

const (
	Idle State = iota
	Busy
	Done
)

func (s State) String() string { return [...]string{"idle", "busy", "done"}[s] }

type Pool struct {
	sync.Mutex
	jobs  chan Job
	wg    sync.WaitGroup
	state map[int]State
	count atomic.Int64
	once  sync.Once
	f     func(*torch.Tensor) *torch.Tensor
}

func NewPool(n int, f func(*torch.Tensor) *torch.Tensor) *Pool {
	p := &Pool{jobs: make(chan Job, 4), state: map[int]State{}, f: f}
	for i := range n {
		p.wg.Add(1)
		go p.work(i)
	}
	return p
}

func (p *Pool) set(i int, s State) {
	p.Lock()
	defer p.Unlock()
	p.state[i] = s
}

func (p *Pool) work(i int) {
	defer p.wg.Done()
	defer p.set(i, Done)
	for j := range p.jobs {
		p.set(i, Busy)
		p.count.Add(1)
		func() {
			defer func() {
				if r := recover(); r != nil {
					j.Resp <- Result{j.ID, 0, fmt.Errorf("job %d: %v", j.ID, r)}
				}
			}()
			if j.ID == 5 {
				panic("five")
			}
			j.Resp <- Result{ID: j.ID, Sum: p.f(j.Data).Item()}
		}()
		p.set(i, Idle)
	}
}

func (p *Pool) Close() { p.once.Do(func() { close(p.jobs) }); p.wg.Wait() }

func gen(ctx context.Context, n int) <-chan int {
	ch := make(chan int)
	go func() {
		defer close(ch)
		for i := range n {
			select {
			case ch <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ch
}

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum() })
	p := NewPool(3, f)
	resp := make(chan Result, 10)
	for i := range 8 {
		p.jobs <- Job{i, torch.Full([]int{3}, float64(i)), resp}
	}
	p.Close()
	p.Close()
	close(resp)
	var rs []Result
	for r := range resp {
		rs = append(rs, r)
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].ID < rs[j].ID })
	for _, r := range rs {
		fmt.Printf("%+v\n", r)
	}
	fmt.Println(p.count.Load(), p.state)
	ctx, cancel := context.WithCancel(context.Background())
	total := 0
loop:
	for {
		select {
		case v, ok := <-gen(ctx, 3):
			if !ok {
				break loop
			}
			total += v + 1
			if total > 3 {
				break loop
			}
		case <-time.After(time.Second):
			fmt.Println("late")
		}
	}
	cancel()
	fmt.Println("total", total)
	tick := time.NewTicker(time.Millisecond)
	n := 0
	for range tick.C {
		if n++; n == 3 {
			tick.Stop()
			break
		}
	}
	var rw sync.RWMutex
	var m sync.Map
	var wg sync.WaitGroup
	shared := map[State][]int{}
	for i := range 20 {
		wg.Go(func() {
			m.Store(State(i%3), i%3)
			rw.Lock()
			shared[State(i%3)] = append(shared[State(i%3)], i)
			rw.Unlock()
		})
	}
	wg.Wait()
	for k := range shared {
		sort.Ints(shared[k])
	}
	fmt.Println(shared)
	v, ok := m.Load(Busy)
	fmt.Println(v, ok)
	_, ok = m.Load(1)
	fmt.Println(ok)
	done := make(chan struct{})
	var sem = make(chan State, 2)
	go func() { sem <- Busy; sem <- Done; close(done) }()
	<-done
	fmt.Println(<-sem, <-sem, len(sem), cap(sem))
	var nilch chan int
	select {
	case <-nilch:
	default:
		fmt.Println("default")
	}
	cond := sync.NewCond(&sync.Mutex{})
	ready := false
	go func() { cond.L.Lock(); ready = true; cond.L.Unlock(); cond.Broadcast() }()
	cond.L.Lock()
	for !ready {
		cond.Wait()
	}
	cond.L.Unlock()
	var av atomic.Value
	av.Store(Job{ID: 9})
	fmt.Println(av.Load().(Job).ID)
}

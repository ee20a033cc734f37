package main

import (
	"fmt"
	"sync"
)

// buffer is one of a producer and consumers.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	items   []int
	closed  bool
}

func (b *buffer) put(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 2 {
		b.changed.Wait()
	}
	b.items = append(b.items, n)
	b.changed.Broadcast()
}

func (b *buffer) get() (n int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 0 && !b.closed {
		b.changed.Wait()
	}
	if len(b.items) == 0 {
		return 0, false
	}
	n, b.items = b.items[0], b.items[1:]
	b.changed.Signal()
	return n, true
}

func use(n int) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("recovered from ", r)
		}
	}()
	if n%5 == 3 {
		var none []int
		return fmt.Sprint(none[n])
	}
	return fmt.Sprint(100 / (n % 4))
}

func main() {
	b := &buffer{}
	b.changed = sync.NewCond(&b.mu)
	pool := sync.Pool{New: func() any { return new(int) }}
	texts := make(chan string, 1)
	var wg sync.WaitGroup
	for c := range 3 {
		wg.Go(func() {
			for {
				n, ok := b.get()
				if !ok {
					return
				}
				p := pool.Get().(*int)
				*p++
				texts <- fmt.Sprint(c, " ", *p, " ", use(n))
				pool.Put(p)
			}
		})
	}
	go func() {
		for n := range 12 {
			b.put(n)
		}
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.changed.Broadcast()
		wg.Wait()
		close(texts)
	}()
	for s := range texts {
		fmt.Println(s)
	}
	defer func() { fmt.Println(recover()) }()
	texts <- "more"
}

package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

type counts struct {
	sync.RWMutex
	m map[string]int
}

func main() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var steps atomic.Int64
	c := counts{m: map[string]int{}}
	order := ""
	for g := range 4 {
		wg.Go(func() {
			for i := range 5 {
				mu.Lock()
				order += fmt.Sprint(g)
				if i == 2 {
					runtime.Gosched()
				}
				mu.Unlock()
				c.Lock()
				c.m[fmt.Sprint(i)] += g
				c.Unlock()
				c.RLock()
				_ = c.m["0"]
				c.RUnlock()
				steps.Add(1)
			}
		})
	}
	spins := 0
	for steps.Load() < 20 { // it must not keep the others from running
		spins++
	}
	wg.Wait()
	racy := 0
	for range 3 {
		wg.Go(func() {
			for range 40 {
				n := racy
				if n%7 == 3 {
					runtime.Gosched()
				}
				racy = n + 1
			}
		})
	}
	wg.Wait()
	fmt.Println(order, spins, racy, c.m)
}

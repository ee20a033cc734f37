package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// group is what errgroup.Group is.
type group struct {
	wg     sync.WaitGroup
	once   sync.Once
	err    error
	slots  chan struct{}
	cancel context.CancelFunc
}

func (g *group) Go(f func() error) {
	g.slots <- struct{}{}
	g.wg.Add(1)
	go func() {
		defer func() {
			<-g.slots
			g.wg.Done()
		}()
		if err := f(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel()
			})
		}
	}()
}

func (g *group) Wait() error {
	g.wg.Wait()
	g.cancel()
	return g.err
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	g := &group{slots: make(chan struct{}, 3), cancel: cancel}
	results := make([]int, 8)
	config := sync.OnceValue(func() int { return 5 })
	for i := range results {
		g.Go(func() error {
			if i == config() {
				return fmt.Errorf("task %d failed", i)
			}
			for n := range 30 {
				select {
				case <-ctx.Done():
					results[i] = -n
					return errors.Join(ctx.Err())
				default:
					results[i]++
				}
			}
			return nil
		})
	}
	err := g.Wait()
	<-ctx.Done()
	fmt.Println(err, results, ctx.Err())
}

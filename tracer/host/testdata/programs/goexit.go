package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"
)

type E struct{ n int }

func (e E) Error() string { return fmt.Sprint("E", e.n) }

func main() {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer fmt.Println("deferred")
		runtime.Goexit()
	})
	wg.Wait()
	done := make(chan int)
	go func() {
		defer close(done)
		defer func() { fmt.Println("out", recover()) }()
		sort.Slice([]int{3, 2, 1}, func(i, j int) bool {
			defer fmt.Println("in")
			runtime.Goexit()
			return true
		})
	}()
	<-done
	done = make(chan int)
	go func() {
		defer close(done)
		defer func() { fmt.Println("again", recover()) }()
		defer panic("new")
		runtime.Goexit()
	}()
	<-done
	fail := func() { panic(E{2}) }
	ctx, cancel := context.WithCancel(context.Background())
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "Go":
			wg.Go(fail)
		case "time":
			time.AfterFunc(time.Millisecond, fail)
		case "context":
			context.AfterFunc(ctx, fail)
		}
		cancel()
		time.Sleep(5 * time.Second)
	}
	cancel()
}

package main

import (
	"fmt"
	"time"
)

func main() {
	slow, fast := make(chan string), make(chan string)
	go func() {
		for { // on a busy machine the first may come before late
			time.Sleep(30 * time.Millisecond)
			slow <- "slow"
		}
	}()
	go func() { fast <- "fast" }()
	late := time.After(8 * time.Millisecond)
	for range 2 {
		select {
		case s := <-slow:
			fmt.Println(s)
		case s := <-fast:
			fmt.Println(s)
		case <-late:
			fmt.Println("late")
		}
	}
	n := 0
	tick := time.NewTicker(time.Millisecond)
	for range tick.C {
		if n++; n == 3 {
			break
		}
	}
	tick.Stop()
	called := make(chan int)
	time.AfterFunc(2*time.Millisecond, func() { called <- n })
	t := time.NewTimer(time.Hour)
	fmt.Println(t.Stop(), t.Reset(time.Millisecond), <-called)
	before := time.Now()
	fmt.Println((<-t.C).Sub(before) < time.Minute, t.Stop())
	fmt.Println(<-slow, time.Since(before))
	select {
	case <-time.Tick(time.Millisecond):
		fmt.Println("tick")
	}
}

package main

import (
	"fmt"
	"sync"
)

type job struct{ n, squared int }

func main() {
	jobs, done := make(chan int), make(chan job, 3)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range jobs {
				sum := 0
				for range n {
					sum += n
				}
				fmt.Println("worker", w, "has", n)
				done <- job{n, sum}
			}
		}()
	}
	go func() {
		for n := range 12 {
			jobs <- n
		}
		close(jobs)
		wg.Wait()
		close(done)
	}()
	total, order := 0, ""
	for j := range done {
		total += j.squared
		order += fmt.Sprint(j.n, " ")
	}
	fmt.Println(total, order)
}

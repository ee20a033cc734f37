package main

import "fmt"

type cause struct{ n int }

func (c *cause) Error() string { return fmt.Sprint("cause ", c.n) }

type worker struct{}

func (w *worker) run(n int) {
	if n == 0 {
		panic(&cause{42})
	}
	w.run(n - 1)
}

func main() {
	fmt.Println("start")
	defer fmt.Println("deferred")
	func() {
		(&worker{}).run(2)
	}()
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"tcdbg/torch"
)

type op func(float64) float64
type chain []op

func (c chain) apply(x float64) (y float64) {
	y = x
	for _, f := range c {
		y = f(y)
	}
	return
}
func compose(fs ...op) op { return chain(fs).apply }

type stack[T any] []T

func (s *stack[T]) push(v T) { *s = append(*s, v) }
func (s *stack[T]) pop() (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			if re, ok := r.(runtime.Error); ok {
				err = fmt.Errorf("pop: %w", re)
				return
			}
			panic(r)
		}
	}()
	v = (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return v, nil
}

type resource struct {
	name string
	log  *[]string
}

func open(n string, log *[]string) *resource {
	*log = append(*log, "open "+n)
	return &resource{n, log}
}
func (r *resource) Close() { *r.log = append(*r.log, "close "+r.name) }

func work(log *[]string, fail int) (n int, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("work: %v", e)
			n *= 10
		}
	}()
	for i := range 3 {
		r := open(fmt.Sprint(i), log)
		defer r.Close()
		if i == fail {
			panic(fmt.Sprintf("at %d", i))
		}
		n++
	}
	return n, nil
}

func search(grid [][]int, want int) (r, c int, ok bool) {
outer:
	for i, row := range grid {
		for j, v := range row {
			switch {
			case v < 0:
				continue outer
			case v == want:
				r, c, ok = i, j, true
				break outer
			case v > 100:
				goto end
			}
		}
	}
end:
	return
}

func classify(v any) string {
	switch x := v.(type) {
	case nil:
		return "nil"
	case int, int64:
		return fmt.Sprintf("int %v", x)
	case float64:
		return fmt.Sprintf("float %g", x)
	case []int:
		return fmt.Sprintf("ints %d", len(x))
	case fmt.Stringer:
		return "stringer " + x.String()
	case error:
		return "error " + x.Error()
	case func() int:
		return fmt.Sprint("func ", x())
	case *torch.Tensor:
		return fmt.Sprint("tensor ", x.Shape())
	case stack[int]:
		return fmt.Sprint("stack ", len(x))
	case map[string]op:
		return fmt.Sprint("ops ", len(x))
	case struct{ A int }:
		return fmt.Sprint("anon ", x.A)
	case [2]string:
		return x[0] + x[1]
	}
	return fmt.Sprintf("other %T", v)
}

type W struct{ n int }

func (w W) String() string { return strings.Repeat("w", w.n) }

type key struct {
	a int
	b string
	c [2]bool
	d any
}

func fib() func() int {
	a, b := 0, 1
	return func() int {
		defer func() { a, b = b, a+b }()
		return a
	}
}

func main() {
	double := op(func(x float64) float64 { return 2 * x })
	f := compose(double, func(x float64) float64 { return x + 1 }, double.apply2)
	fmt.Println(f(3))
	var s stack[W]
	s.push(W{1})
	s.push(W{2})
	for range 3 {
		fmt.Println(s.pop())
	}
	var log []string
	for _, fail := range []int{-1, 1} {
		fmt.Println(work(&log, fail))
	}
	fmt.Println(log)
	g := [][]int{{1, -1, 5}, {2, 7, 3}, {4, 101, 9}}
	fmt.Println(search(g, 7))
	fmt.Println(search(g, 5))
	fmt.Println(search(g, 9))
	for _, v := range []any{nil, 1, int64(2), 2.5, []int{1}, W{3}, fmt.Errorf("e"), func() int { return 4 }, torch.Ones(2, 1), stack[int]{1}, map[string]op{"d": double}, struct{ A int }{5}, [2]string{"x", "y"}, stack[string]{}, key{}} {
		fmt.Println(classify(v))
	}
	m := map[key]int{{1, "x", [2]bool{true}, W{1}}: 1}
	m[key{1, "x", [2]bool{true, false}, W{1}}]++
	m[key{1, "x", [2]bool{true}, 1}]--
	fmt.Println(len(m), m[key{a: 1, b: "x", c: [2]bool{0: true}, d: W{1}}], key{d: W{2}} == key{d: W{2}}, key{d: 1} == key{d: int64(1)})
	func() {
		defer func() { fmt.Println("hash:", recover()) }()
		m[key{d: []int{1}}] = 2
	}()
	func() {
		defer func() { fmt.Println("eq:", recover()) }()
		fmt.Println(any(struct{ f func() }{}) == any(struct{ f func() }{}))
	}()
	nf := fib()
	for i := 0; i < 10; i++ {
		if i%2 == 0 {
			nf()
			continue
		}
		fmt.Print(nf(), " ")
	}
	fmt.Println()
	var fs []func() int
	for i := range 3 {
		fs = append(fs, func() int { i *= 10; return i })
	}
	fmt.Println(fs[1](), fs[1](), fs[2]())
	switch x := 5; {
	case x > 3:
		fmt.Println("gt3")
		fallthrough
	case x > 10:
		fmt.Println("fell")
	default:
		fmt.Println("default")
	}
	arr := [...]string{2: "c", 0: "a"}
	brr := arr
	brr[0] = "z"
	fmt.Println(arr, brr, arr == brr, len(arr), arr[1] == "")
	sl := arr[:2:2]
	sl = append(sl, "new")
	fmt.Println(arr, sl, cap(sl) >= 3, min(3, 1, 2), max(2.5, 1))
	clear(m)
	fmt.Println(len(m), copy(sl, []string{"q"}), sl)
	c := torch.Compile(func(x *torch.Tensor, n int) (y *torch.Tensor, calls int) {
		defer func() { calls++ }()
		y = x
	loop:
		for i := 0; ; i++ {
			switch {
			case i == n:
				break loop
			case i%2 == 0:
				y = y.Add(float64(i))
				continue
			}
			y = y.Mul(2)
			calls = i
		}
		return
	})
	fmt.Println(c(torch.Ones(2), 3))
	fmt.Println(c(torch.Ones(2), 4))
	method := torch.Ones(3).Add
	fmt.Println(method(1), (*torch.Tensor).Mul(torch.Ones(1), 4))
	_, file, line, ok := runtime.Caller(0)
	fmt.Println(file != "", line, ok)
	defer os.Exit(3)
	defer func() {
		fmt.Println("exiting", recover())
	}()
	var np *resource
	np.Close()
}

func (o op) apply2(x float64) float64 { return o(o(x)) }

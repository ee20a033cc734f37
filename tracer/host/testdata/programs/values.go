package main

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type Point struct{ X, Y int }

func (p Point) String() string { return fmt.Sprintf("<%d,%d>", p.X, p.Y) }

type Shape interface {
	Area() float64
	Name() string
}

type base struct{ name string }

func (b *base) Name() string { return b.name }

type Square struct {
	*base
	side float64
}

func (s Square) Area() float64 { return s.side * s.side }

type ints []int

func (s ints) Len() int           { return len(s) }
func (s ints) Less(i, j int) bool { return s[i] > s[j] }
func (s ints) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

type queue struct{ ints }

func (q *queue) Push(x any) { q.ints = append(q.ints, x.(int)) }
func (q *queue) Pop() any {
	last := q.ints[len(q.ints)-1]
	q.ints = q.ints[:len(q.ints)-1]
	return last
}

type upper struct{ w io.Writer }

func (u upper) Write(p []byte) (int, error) { return u.w.Write([]byte(strings.ToUpper(string(p)))) }

type Tree[K interface{ ~int | ~string }, V any] struct {
	left, right *Tree[K, V]
	key         K
	val         V
}

func (t *Tree[K, V]) Put(k K, v V) *Tree[K, V] {
	switch {
	case t == nil:
		return &Tree[K, V]{key: k, val: v}
	case k < t.key:
		t.left = t.left.Put(k, v)
	case k > t.key:
		t.right = t.right.Put(k, v)
	default:
		t.val = v
	}
	return t
}

func (t *Tree[K, V]) All(yield func(K, V) bool) bool {
	return t == nil || t.left.All(yield) && yield(t.key, t.val) && t.right.All(yield)
}

type Celsius float64
type Weekday int

const (
	Sunday Weekday = iota
	Monday
)

func (d Weekday) String() string { return [...]string{"Sun", "Mon"}[d] }

type node struct {
	next *node
	kids []node
	meta map[string]node
	fn   func(node) node
}

type config struct {
	Name  string         `json:"name"`
	Sizes []int          `json:"sizes,omitempty"`
	Extra map[string]any `json:"extra"`
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case int, int64:
		return fmt.Sprintf("int %v", v)
	case Weekday:
		return "weekday " + v.String()
	case fmt.Stringer:
		return "stringer " + v.String()
	case []int:
		return fmt.Sprint("slice ", len(v))
	case error:
		return "error " + v.Error()
	case func() int:
		return fmt.Sprint("func ", v())
	}
	return fmt.Sprintf("other %T", v)
}

func divmod(a, b int) (q, r int, err error) {
	if b == 0 {
		return 0, 0, fmt.Errorf("divide %d by zero", a)
	}
	return a / b, a % b, nil
}

func main() {
	p := Point{1, 2}
	fmt.Println(p, &p, []Point{p}, map[string]Point{"a": p}, struct{ P Point }{p})
	fmt.Printf("%v %+v %T %T %T\n", p, struct{ a, b int }{1, 2}, p, &p, []Shape{})
	var s Shape = Square{&base{"sq"}, 3}
	fmt.Println(s.Area(), s.Name())
	x := ints{3, 1, 2}
	sort.Sort(x)
	fmt.Println(x, sort.IsSorted(sort.Reverse(x)))
	q := &queue{}
	for _, v := range []int{5, 9, 7} {
		heap.Push(q, v)
	}
	fmt.Println(heap.Pop(q), heap.Pop(q))
	fmt.Fprintf(upper{os.Stdout}, "shout %d\n", 1)
	var t *Tree[string, int]
	for i, w := range strings.Fields("the quick brown fox jumps") {
		t = t.Put(w, i)
	}
	t.All(func(k string, v int) bool { fmt.Print(k, "=", v, " "); return true })
	fmt.Println()
	m := map[string]int{"b": 2, "a": 1, "c": 3}
	fmt.Println(slices.Sorted(maps.Keys(m)), len(m), m)
	for _, v := range []any{nil, 1, Monday, p, []int{1}, io.EOF, func() int { return 4 }, Celsius(2), struct{}{}} {
		fmt.Println(describe(v))
	}
	n := node{kids: []node{{}, {}}, meta: map[string]node{"x": {}}}
	n.next = &n
	n.fn = func(n node) node { n.kids = nil; return n }
	fmt.Println(len(n.next.kids), len(n.fn(n).kids), len(n.meta["x"].kids))
	var wg sync.WaitGroup
	var total atomic.Int64
	var mu sync.Mutex
	seen := map[int]bool{}
	for i := range 50 {
		wg.Go(func() {
			total.Add(int64(i))
			mu.Lock()
			seen[i] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	fmt.Println(total.Load(), len(seen))
	var head atomic.Pointer[Point]
	head.Store(&p)
	fmt.Println(*head.Load())
	c := make(chan int, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := range c {
			fmt.Print(v, ";")
		}
	}()
	for i := range 4 {
		select {
		case c <- i:
		case <-time.After(time.Minute):
		}
	}
	close(c)
	<-done
	fmt.Println()
	fmt.Println(divmod(17, 5))
	fmt.Println(divmod(1, 0))
	data, err := json.Marshal(config{"n", []int{1, 2}, map[string]any{"k": 1}})
	var back config
	fmt.Println(string(data), err, json.Unmarshal(data, &back), back.Name, back.Sizes)
	a, b := [3]int{1, 2, 3}, [3]int{1, 2, 3}
	pa := &a
	fmt.Println(a == b, pa[1:], [2]bool(([]bool{true, false})), min(3, 1, 2), max("a", "b"))
	bs := []byte("héllo")
	for i, r := range "hé" {
		fmt.Print(i, string(r), " ")
	}
	fmt.Println(len(bs), string(bs[1:3]), []rune("hé"), string(rune(233)))
	f := Point.String
	g := p.String
	h := (*base).Name
	p.X = 100
	fmt.Println(f(p), g(), h(&base{"method expression"}))
	var arr [5]func() int
	for i := range arr {
		arr[i] = func() int { return i * i }
	}
	fmt.Println(arr[2](), arr[4]())
	next, stop := iter.Pull(slices.Values([]int{1, 2, 3}))
	fmt.Println(next())
	fmt.Println(next())
	stop()
	fmt.Println(Celsius(36.6), complex(1, 2)*complex(0, 1), 7&^5, -7/2, -7%3, uint8(len(bs)*50)+100)
outer:
	for i := range 3 {
		for j := range 3 {
			if j == 2 {
				continue outer
			}
			if i == 2 {
				break outer
			}
			fmt.Print(i, j, " ")
		}
	}
	fmt.Println()
	swap := func(a, b int) (int, int) { return b, a }
	u, v := 1, 2
	for range 3 {
		u, v = swap(u, v)
		u, v = v, u
	}
	for range 3 {
		u, v = v, u
	}
	fmt.Println(u, v)
	rest := a[3:]
	fmt.Println(len(rest), cap(rest), rest)
}

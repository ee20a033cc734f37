package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"tcdbg/torch"
)

type Number interface {
	~int | ~int64 | ~float64
}

type Matrix[T Number] struct {
	Rows, Cols int
	data       []T
}

func New[T Number](r, c int, f func(i, j int) T) *Matrix[T] {
	m := &Matrix[T]{r, c, make([]T, r*c)}
	for i := range r {
		for j := range c {
			m.data[i*c+j] = f(i, j)
		}
	}
	return m
}

func (m *Matrix[T]) At(i, j int) T { return m.data[i*m.Cols+j] }
func (m *Matrix[T]) Mul(o *Matrix[T]) (*Matrix[T], error) {
	if m.Cols != o.Rows {
		return nil, &ShapeError{[2]int{m.Rows, m.Cols}, [2]int{o.Rows, o.Cols}}
	}
	return New(m.Rows, o.Cols, func(i, j int) (s T) {
		for k := range m.Cols {
			s += m.At(i, k) * o.At(k, j)
		}
		return
	}), nil
}
func (m *Matrix[T]) All() iter.Seq2[[2]int, T] {
	return func(yield func([2]int, T) bool) {
		for i := range m.Rows {
			for j := range m.Cols {
				if !yield([2]int{i, j}, m.At(i, j)) {
					return
				}
			}
		}
	}
}

type ShapeError struct{ A, B [2]int }

func (e *ShapeError) Error() string { return fmt.Sprintf("shapes %v and %v", e.A, e.B) }

type Meters float64
type Set[K comparable] map[K]struct{}

func (s Set[K]) Add(k ...K) Set[K] {
	for _, x := range k {
		s[x] = struct{}{}
	}
	return s
}
func SortedKeys[M ~map[K]V, K cmp.Ordered, V any](m M) []K { return slices.Sorted(maps.Keys(m)) }

type Tree[T any] struct {
	Left, Right *Tree[T]
	Val         T
	less        func(a, b T) bool
}

func (t *Tree[T]) Insert(v T) *Tree[T] {
	if t == nil {
		return &Tree[T]{Val: v}
	}
	return t
}
func (t *Tree[T]) Walk() iter.Seq[T] {
	return func(yield func(T) bool) { t.push(yield) }
}
func (t *Tree[T]) push(yield func(T) bool) bool {
	return t == nil || t.Left.push(yield) && yield(t.Val) && t.Right.push(yield)
}
func insert[T any](t *Tree[T], v T, c func(a, b T) int) *Tree[T] {
	if t == nil {
		return &Tree[T]{Val: v}
	}
	if c(v, t.Val) < 0 {
		t.Left = insert(t.Left, v, c)
	} else {
		t.Right = insert(t.Right, v, c)
	}
	return t
}

func Map[A, B any](s iter.Seq[A], f func(A) B) iter.Seq[B] {
	return func(yield func(B) bool) {
		for a := range s {
			if !yield(f(a)) {
				return
			}
		}
	}
}

type Opt[T any] struct {
	v  T
	ok bool
}

func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }
func (o Opt[T]) OrElse(d T) T {
	if o.ok {
		return o.v
	}
	return d
}
func (o Opt[T]) String() string {
	if o.ok {
		return fmt.Sprintf("Some(%v)", o.v)
	}
	return "None"
}

func main() {
	a := New(2, 3, func(i, j int) Meters { return Meters(i*3 + j) })
	b := New(3, 2, func(i, j int) Meters { return 1 })
	c, err := a.Mul(b)
	fmt.Printf("%v %v %T %+v\n", c, err, c, *c)
	_, err = a.Mul(a)
	var se *ShapeError
	fmt.Println(errors.As(err, &se), se, err)
	for k, v := range c.All() {
		if k == [2]int{1, 1} {
			break
		}
		fmt.Print(k, v, ";")
	}
	fmt.Println()
	s := Set[string]{}.Add("b", "a")
	fmt.Printf("%v %T %v\n", SortedKeys(s), s, len(s))
	var t *Tree[string]
	for _, w := range strings.Fields("the quick brown fox jumps over the lazy dog") {
		t = insert(t, w, strings.Compare)
	}
	fmt.Println(slices.Collect(Map(t.Walk(), func(s string) int { return len(s) })))
	for w := range t.Walk() {
		if w > "l" {
			fmt.Println("first over l:", w)
			break
		}
	}
	fmt.Println(Some(3), Opt[string]{}, Some("x").OrElse("y"), Opt[float64]{}.OrElse(2.5), []Opt[int]{Some(1), {}})
	fmt.Printf("%T %T %v %+v\n", Some(Meters(1)), Opt[[]string]{}, map[string]Opt[int]{"k": Some(2)}, struct{ O Opt[bool] }{Some(true)})
	type pair struct {
		k string
		v int
	}
	ps := []pair{{"b", 2}, {"a", 2}, {"c", 1}}
	slices.SortStableFunc(ps, func(x, y pair) int { return cmp.Or(cmp.Compare(x.v, y.v), strings.Compare(x.k, y.k)) })
	fmt.Println(ps, slices.MaxFunc(ps, func(x, y pair) int { return cmp.Compare(x.v, y.v) }))
	i, ok := slices.BinarySearchFunc(ps, 2, func(p pair, v int) int { return cmp.Compare(p.v, v) })
	fmt.Println(i, ok, slices.IndexFunc(ps, func(p pair) bool { return p.k == "b" }))
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		for _, m := range []Meters{1, 2} {
			x = x.Mul(float64(m)).Add(float64(c.At(0, 0)))
		}
		return x
	})
	fmt.Println(f(torch.Ones(2)))
	groups := map[int][]string{}
	for _, w := range []string{"x", "yy", "zz"} {
		groups[len(w)] = append(groups[len(w)], w)
	}
	keys := slices.Collect(maps.Keys(groups))
	sort.Sort(sort.Reverse(sort.IntSlice(keys)))
	fmt.Println(keys, groups)
	next, stop := iter.Pull2(c.All())
	k, v, ok := next()
	fmt.Println(k, v, ok)
	stop()
	for i, ch := range slices.Backward([]rune("héy")) {
		fmt.Print(i, string(ch), " ")
	}
	fmt.Println(slices.Collect(slices.Chunk([]int{1, 2, 3, 4, 5}, 2)))
}

package main

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"tcdbg/torch"
)

type Number interface {
	~int | ~int8 | ~float32 | ~float64
}

type Celsius float64
type Small int8

func Sum[T Number](xs ...T) (s T) {
	for _, x := range xs {
		s += x
	}
	return
}

func Map[S ~[]A, A, B any](xs S, f func(A) B) []B {
	out := make([]B, 0, len(xs))
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

type Set[T cmp.Ordered] map[T]struct{}

func (s Set[T]) Add(xs ...T) Set[T] {
	for _, x := range xs {
		s[x] = struct{}{}
	}
	return s
}
func (s Set[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, k := range slices.Sorted(maps.Keys(s)) {
			if !yield(k) {
				return
			}
		}
	}
}

type Tree[K cmp.Ordered, V any] struct {
	root *node[K, V]
	n    int
}
type node[K cmp.Ordered, V any] struct {
	k    K
	v    V
	l, r *node[K, V]
}

func (t *Tree[K, V]) Put(k K, v V) {
	p := &t.root
	for *p != nil {
		switch c := cmp.Compare(k, (*p).k); {
		case c < 0:
			p = &(*p).l
		case c > 0:
			p = &(*p).r
		default:
			(*p).v = v
			return
		}
	}
	*p = &node[K, V]{k: k, v: v}
	t.n++
}
func (n *node[K, V]) walk(yield func(K, V) bool) bool {
	return n == nil || n.l.walk(yield) && yield(n.k, n.v) && n.r.walk(yield)
}
func (t *Tree[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.root.walk(yield) }
}

type Module[In, Out any] interface {
	Forward(In) Out
}
type Fn[In, Out any] func(In) Out

func (f Fn[In, Out]) Forward(x In) Out { return f(x) }

type Chain[A, B, C any] struct {
	First  Module[A, B]
	Second Module[B, C]
}

func (c Chain[A, B, C]) Forward(x A) C { return c.Second.Forward(c.First.Forward(x)) }

type Ptr[T any] interface {
	*T
	Set(string) error
}
type Opt struct{ s string }

func (o *Opt) Set(s string) error {
	if s == "" {
		return fmt.Errorf("empty")
	}
	o.s = strings.ToUpper(s)
	return nil
}
func ParseAll[T any, P Ptr[T]](xs []string) ([]T, error) {
	out := make([]T, len(xs))
	for i, s := range xs {
		if err := P(&out[i]).Set(s); err != nil {
			return nil, fmt.Errorf("%T %d: %w", out, i, err)
		}
	}
	return out, nil
}

type List[T any] struct {
	next *List[T]
	val  T
}

func Push[T any](l *List[T], v T) *List[T] { return &List[T]{l, v} }

type Layer struct {
	Name string
	N    int
	W    Small
}
type byN []Layer

func (b byN) Len() int           { return len(b) }
func (b byN) Less(i, j int) bool { return b[i].N < b[j].N }
func (b byN) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func zero[T any]() (z T) { return }

func kind[T any](x T) string {
	switch v := any(x).(type) {
	case int, Small:
		return fmt.Sprintf("int-like %v", v)
	case fmt.Stringer:
		return "stringer " + v.String()
	case []T:
		return "slice of self"
	case interface{ Len() int }:
		return fmt.Sprint("len ", v.Len())
	case nil:
		return "nil"
	}
	return fmt.Sprintf("%T", x)
}

func main() {
	fmt.Println(Sum(1, 2), Sum(Celsius(1.5), 2), Sum[Small](100, 27, 1), Map([]Small{1, 2}, func(s Small) string { return fmt.Sprintf("%T%v", s, s) }))
	s := Set[string]{}.Add("c", "a", "b")
	for x := range s.All() {
		if x == "c" {
			break
		}
		fmt.Print(x, " ")
	}
	fmt.Printf("%T %v\n", s, len(s))
	var t Tree[Celsius, *torch.Tensor]
	for i := range 4 {
		t.Put(Celsius((i*3)%4), torch.Full([]int{2}, i))
	}
	fmt.Printf("%T %d\n", t, t.n)
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		for k, v := range t.All() {
			x = x.Mul(float64(k) + 1).Add(v)
		}
		return x
	})
	fmt.Println(f(torch.Ones(2)))
	c := Chain[*torch.Tensor, *torch.Tensor, *torch.Tensor]{Fn[*torch.Tensor, *torch.Tensor](func(x *torch.Tensor) *torch.Tensor { return x.Sin() }), Chain[*torch.Tensor, *torch.Tensor, *torch.Tensor]{Fn[*torch.Tensor, *torch.Tensor](func(x *torch.Tensor) *torch.Tensor { return x.Relu() }), Fn[*torch.Tensor, *torch.Tensor](func(x *torch.Tensor) *torch.Tensor { return x.Neg() })}}
	fmt.Println(torch.Compile(c.Forward)(torch.NewTensor([]float64{-1, 0, 2})))
	o, err := ParseAll[Opt]([]string{"a", "b"})
	fmt.Println(o, err)
	_, err = ParseAll[Opt]([]string{"a", ""})
	fmt.Println(err)
	l := Push(Push[Celsius](nil, 1), 2)
	fmt.Printf("%T %v %v\n", l, l.val, l.next.val)
	layers := []Layer{{"b", 2, 1}, {"a", 2, 2}, {"c", 1, 3}, {"d", 3, 4}}
	sort.Stable(sort.Reverse(byN(layers)))
	fmt.Println(layers)
	slices.SortFunc(layers, func(a, b Layer) int { return cmp.Or(cmp.Compare(a.N, b.N), strings.Compare(a.Name, b.Name)) })
	fmt.Println(layers)
	i, ok := slices.BinarySearchFunc(layers, 2, func(l Layer, n int) int { return l.N - n })
	fmt.Println(i, ok, slices.IndexFunc(layers, func(l Layer) bool { return l.W == 4 }), slices.Contains(layers, Layer{"c", 1, 3}))
	m := maps.Collect(slices.All(layers))
	fmt.Println(m, slices.Collect(maps.Values(map[string]Layer{"x": layers[0]})), slices.MaxFunc(layers, func(a, b Layer) int { return int(a.W - b.W) }))
	groups := map[int][]Layer{}
	for _, l := range layers {
		groups[l.N] = append(groups[l.N], l)
	}
	fmt.Println(groups, slices.Sorted(maps.Keys(groups)))
	for chunk := range slices.Chunk(layers, 3) {
		fmt.Print(len(chunk), chunk[0].Name, " ")
	}
	maps.DeleteFunc(groups, func(k int, v []Layer) bool { return len(v) > 1 })
	fmt.Println(len(groups), slices.Equal(layers, slices.Clone(layers)), slices.Compact([]Small{1, 1, 2}), slices.Insert([]Small{1}, 0, 9, 8), slices.Repeat([]Celsius{1}, 2), slices.Concat(layers[:1], layers[3:]))
	next, stop := iter.Pull2(t.All())
	k, v, ok := next()
	fmt.Println(k, v, ok)
	stop()
	k, v, ok = next()
	fmt.Println(k, v, ok)
	fmt.Println(zero[Layer](), zero[*Layer](), zero[Set[int]]() == nil, kind(3), kind(Small(4)), kind("s"), kind(byN(layers)), kind([]int{}), kind(error(nil)))
	heads := torch.Compile(func(xs map[string]*torch.Tensor) *torch.Tensor {
		var acc *torch.Tensor
		for _, k := range slices.Sorted(maps.Keys(xs)) {
			if acc == nil {
				acc = xs[k]
				continue
			}
			acc = acc.Mul(2).Add(xs[k])
		}
		return acc
	})
	fmt.Println(heads(map[string]*torch.Tensor{"b": torch.Ones(2), "a": torch.Arange(2), "c": torch.Zeros(2)}))
}

package main

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type E struct{ N int }

func (e *E) Error() string { return fmt.Sprint("E", e.N) }

type S interface{ Area() int }
type Sq int

func (s Sq) Area() int { return int(s) }

func main() {
	n := 0
	v := sync.OnceValue(func() Sq { n++; return Sq(n) })
	fmt.Println(v(), v(), n)
	w := sync.OnceValues(func() (*E, error) { n++; return &E{n}, errors.New("x") })
	a, err := w()
	b, _ := w()
	fmt.Println(a == b, err, n)
	f := sync.OnceFunc(func() { fmt.Println("once") })
	f()
	f()
	fmt.Println(reflect.TypeFor[E](), reflect.TypeFor[S](), reflect.TypeFor[error](), reflect.TypeFor[map[string]S](), reflect.TypeFor[[]*E]().Elem().Elem().Name())
	e, ok := errors.AsType[*E](fmt.Errorf("w %w", &E{5}))
	fmt.Println(e, ok)
	pe, ok := errors.AsType[*fs.PathError](func() error { _, err := os.Open("/nonexistent/q"); return err }())
	fmt.Println(pe, ok)
	_, ok = errors.AsType[*E](errors.New("q"))
	fmt.Println(ok)
	d := rand.N(10 * time.Millisecond)
	fmt.Println(d >= 0 && d < 10*time.Millisecond, rand.N(Sq(1)))
	seed := maphash.MakeSeed()
	fmt.Println(maphash.Comparable(seed, E{1}) == maphash.Comparable(seed, E{1}), maphash.Comparable(seed, E{1}) == maphash.Comparable(seed, E{2}))
	var p atomic.Pointer[E]
	fmt.Println(p.Load() == nil, p.CompareAndSwap(nil, &E{3}), p.Load().N, p.Swap(&E{4}).N)
	q, ok := reflect.TypeAssert[S](reflect.ValueOf(Sq(4)))
	fmt.Println(q, ok)
	next, stop := iter.Pull(slices.Values([]Sq{1, 2}))
	fmt.Println(next())
	stop()
	fmt.Println(slices.Sorted(maps.Keys(map[Sq]bool{3: true, 1: true})))
	defer func() { fmt.Println(recover()); g() }()
	sync.OnceValue(func() int { panic(E{7}) })()
}

func g() {
	mk := reflect.TypeFor[Sq]
	fmt.Println(mk())
	ff := sync.OnceValue[int]
	fmt.Println(ff(func() int { return 3 })())
}

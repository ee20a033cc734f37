package main

import (
	"bytes"
	"container/heap"
	"container/list"
	"context"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

type Shape interface{ Area() float64 }

type Sq struct{ S float64 }

func (s Sq) Area() float64     { return s.S * s.S }
func (s Sq) String() string    { return fmt.Sprintf("Sq<%g>", s.S) }
func (s *Sq) GoString() string { return "go" }

type Celsius float64

func (c *Celsius) Scan(st fmt.ScanState, verb rune) error {
	var f float64
	_, err := fmt.Fscan(st, &f)
	*c = Celsius(f * 2)
	return err
}

type Hot struct{ T int }

func (h Hot) Format(s fmt.State, verb rune) { fmt.Fprintf(s, "hot %c %d", verb, h.T) }

type header struct {
	A int32
	B [2]uint8
	C struct{ D float32 }
}

type byArea []Shape

func (b byArea) Len() int           { return len(b) }
func (b byArea) Less(i, j int) bool { return b[i].Area() < b[j].Area() }
func (b byArea) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byArea) Push(x any)        { *b = append(*b, x.(Shape)) }
func (b *byArea) Pop() any {
	old := *b
	x := old[len(old)-1]
	*b = old[:len(old)-1]
	return x
}

type key struct{ n int }

type broken struct{ at key }

func (b broken) Error() string { return "broken" }

func try(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(what, "panics:", r)
		}
	}()
	f()
}

func main() {
	sq := Sq{2}
	var sh Shape = sq
	fmt.Print(sq, " ", &sq, sh, "\n")
	fmt.Println(fmt.Sprint(sq, Hot{1}), fmt.Sprintln(Hot{2}), fmt.Sprintf("%v %+v %#v %T %s %d", sq, sh, &sq, sh, sq, sq))
	fmt.Println(string(fmt.Append(nil, sq)), string(fmt.Appendf(nil, "%x", sq)), string(fmt.Appendln(nil, sh)))
	fmt.Fprint(os.Stdout, sq, "\n")
	fmt.Fprintln(os.Stdout, []Shape{sq, nil}, map[key]Shape{{1}: sq})
	fmt.Printf("%v %T %q\n", fmt.Errorf("w %v: %w", sq, broken{key{1}}), broken{}, Hot{3})
	var c Celsius
	var n int
	var s string
	for _, f := range []func() (int, error){
		func() (int, error) { return fmt.Sscan("1.5 2", &c, &n) },
		func() (int, error) { return fmt.Sscanf("3 x4", "%v x%d", &c, &n) },
		func() (int, error) { return fmt.Sscanln("5 6 q", &c, &n, &s) },
		func() (int, error) { return fmt.Fscan(strings.NewReader("7 8"), &c, &n) },
		func() (int, error) { return fmt.Fscanf(strings.NewReader("9"), "%v", &c) },
		func() (int, error) { return fmt.Fscanln(strings.NewReader("1\n"), &c, &n) },
		func() (int, error) { return fmt.Sscan("1", &sh) },
		func() (int, error) { return fmt.Sscan("1", &sq) },
	} {
		k, err := f()
		fmt.Println(k, err, float64(c), n, s)
	}
	log.SetFlags(log.Lshortfile)
	log.SetOutput(os.Stdout)
	log.Print(sq, Hot{4})
	log.Printf("%v", sh)
	log.Println(broken{})
	try("panic", func() { log.Panic(sq) })
	try("panicf", func() { log.Panicf("%v", Hot{5}) })
	try("panicln", func() { log.Panicln(sq, 1) })
	l := log.New(os.Stdout, "> ", log.Lshortfile)
	l.Print(sq)
	l.Printf("%d", Hot{6})
	l.Println(sh)
	try("l.panic", func() { l.Panic(sq) })
	try("l.panicf", func() { l.Panicf("%v", sq) })
	try("l.panicln", func() { l.Panicln(sq) })

	var buf bytes.Buffer
	h := header{1, [2]uint8{2, 3}, struct{ D float32 }{4}}
	fmt.Println(binary.Write(&buf, binary.LittleEndian, h), binary.Size(h), binary.Size(sh), binary.Size([]header{h, h}), buf.Bytes())
	var g header
	fmt.Println(binary.Read(&buf, binary.LittleEndian, &g), g == h)
	b, err := binary.Append(nil, binary.BigEndian, &h)
	fmt.Println(b, err)
	k, err := binary.Decode(b, binary.BigEndian, &g)
	fmt.Println(k, err, g)
	k, err = binary.Encode(b, binary.LittleEndian, []header{h})
	fmt.Println(k, err, b)
	fmt.Println(binary.Write(io.Discard, binary.LittleEndian, struct{ S Shape }{sq}))

	bs, err := json.MarshalIndent(map[string]Shape{"a": sq}, "", " ")
	fmt.Println(string(bs), err, json.NewEncoder(os.Stdout).Encode([]Shape{sq, nil}))
	xs, err := xml.MarshalIndent(sq, "", " ")
	fmt.Println(string(xs), err, xml.NewEncoder(os.Stdout).Encode(sq))
	fmt.Println(xml.NewDecoder(strings.NewReader("<Sq><S>7</S></Sq>")).Decode(&sq), sq)

	ls := list.New()
	e := ls.PushBack(sh)
	ls.PushFront(key{1})
	ls.InsertAfter(sq, e)
	ls.InsertBefore(Hot{7}, e)
	for e := ls.Front(); e != nil; e = e.Next() {
		_, isShape := e.Value.(Shape)
		fmt.Printf("%T %v ", e.Value, isShape)
	}
	fmt.Println()
	hp := &byArea{Sq{3}, Sq{1}}
	heap.Init(hp)
	heap.Push(hp, Sq{2})
	fmt.Println(heap.Pop(hp), hp.Len())
	shapes := []Shape{Sq{3}, Sq{1}, Sq{2}}
	less := func(i, j int) bool { return shapes[i].Area() < shapes[j].Area() }
	fmt.Println(sort.SliceIsSorted(shapes, less))
	sort.Slice(shapes, less)
	sort.SliceStable(shapes, func(i, j int) bool { return shapes[i].Area() > shapes[j].Area() })
	sort.Sort(byArea(shapes))
	fmt.Println(shapes)

	ctx := context.WithValue(context.Background(), key{1}, sh)
	fmt.Println(ctx.Value(key{1}).(Shape).Area(), ctx.Value(key{2}), ctx.Value(1), ctx)
	try("key", func() { context.WithValue(ctx, []int{1}, 1) })

	var m sync.Map
	m.Store(key{1}, sh)
	v, ok := m.Load(key{1})
	fmt.Println(v.(Shape), ok)
	v, ok = m.LoadOrStore(key{2}, Hot{8})
	fmt.Println(v, ok, m.CompareAndSwap(key{2}, Hot{8}, Hot{9}), m.CompareAndDelete(key{2}, Hot{8}))
	v, ok = m.Swap(key{2}, sq)
	fmt.Println(v, ok)
	v, ok = m.LoadAndDelete(key{2})
	m.Delete(key{1})
	fmt.Println(v, ok)
	try("unhashable", func() { m.Store([]int{1}, 1) })
	p := sync.Pool{New: func() any { return &Sq{5} }}
	x := p.Get().(*Sq)
	p.Put(x)
	var av atomic.Value
	av.Store(sq)
	fmt.Println(av.Swap(Sq{6}), av.CompareAndSwap(Sq{6}, Sq{7}), av.Load().(Shape).Area())
	try("atomic", func() { av.Store(Hot{1}) })
	var ap atomic.Pointer[Sq]
	ap.Store(x)
	fmt.Println(ap.Load() == x, ap.Swap(nil) == x, ap.CompareAndSwap(nil, x))
	once, twice := sync.OnceValue(func() Shape { return sq }), sync.OnceValues(func() (Shape, error) { return sq, broken{} })
	fmt.Println(once().Area(), once() == Shape(sq))
	fmt.Println(twice())
	seed := maphash.MakeSeed()
	fmt.Println(maphash.Comparable(seed, key{1}) == maphash.Comparable(seed, key{1}))
	var hs maphash.Hash
	maphash.WriteComparable(&hs, key{1})

	err = fmt.Errorf("a: %w", errors.Join(broken{key{3}}, io.EOF))
	var br broken
	var keyed interface{ Error() string }
	fmt.Println(errors.As(err, &br), br.at.n, errors.As(err, &keyed), keyed)
	got, ok := errors.AsType[broken](err)
	fmt.Println(got.at, ok)
	try("as", func() { errors.As(err, br) })
	runtime.KeepAlive(sh)
	runtime.SetFinalizer(x, func(*Sq) {})
	runtime.AddCleanup(&n, func(Sq) {}, sq)
}

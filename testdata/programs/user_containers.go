package main

import (
	"bufio"
	"bytes"
	"container/heap"
	"container/list"
	"container/ring"
	"encoding/binary"
	"encoding/csv"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"tcdbg/torch"
)

type Item struct {
	Name  string
	Prio  int
	index int
}
type Queue []*Item

func (q Queue) Len() int           { return len(q) }
func (q Queue) Less(i, j int) bool { return q[i].Prio > q[j].Prio }
func (q Queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }
func (q *Queue) Push(x any)        { it := x.(*Item); it.index = len(*q); *q = append(*q, it) }
func (q *Queue) Pop() (x any)      { n := len(*q) - 1; x, *q = (*q)[n], (*q)[:n]; return }

type byLen []string

func (b byLen) Len() int           { return len(b) }
func (b byLen) Less(i, j int) bool { return len(b[i]) < len(b[j]) }
func (b byLen) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

type upper struct{ r io.Reader }

func (u upper) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	copy(p, bytes.ToUpper(p[:n]))
	return n, err
}

type counter struct {
	io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return c.Writer.Write(p) }

type Shape interface{ Area() float64 }
type Circle struct{ R float64 }
type Rect struct{ W, H float64 }

func (c Circle) Area() float64 { return 3 * c.R * c.R }
func (r Rect) Area() float64   { return r.W * r.H }

type Temp float64

func (t Temp) GobEncode() ([]byte, error) { return fmt.Appendf(nil, "%g", float64(t)), nil }
func (t *Temp) GobDecode(b []byte) error  { _, err := fmt.Sscan(string(b), (*float64)(t)); return err }

type Scene struct {
	Name   string
	Shapes []Shape
	Temps  map[string]Temp
	hidden int
}
type Header struct {
	Magic   uint32
	Version uint16
	Flags   [2]uint8
	Size    int64
}

func main() {
	q := &Queue{}
	items := map[string]*Item{}
	for i, n := range []string{"a", "b", "c", "d"} {
		it := &Item{Name: n, Prio: (i * 7) % 5}
		items[n] = it
		heap.Push(q, it)
	}
	items["a"].Prio = 9
	heap.Fix(q, items["a"].index)
	heap.Remove(q, items["b"].index)
	for q.Len() > 0 {
		it := heap.Pop(q).(*Item)
		fmt.Print(it.Name, it.Prio, " ")
	}
	fmt.Println()
	words := byLen{"ccc", "a", "bb", "d"}
	sort.Stable(sort.Reverse(words))
	fmt.Println(words, sort.IsSorted(words))
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	fmt.Println(words, sort.SearchStrings(words, "bb"))
	l := list.New()
	for _, c := range []Circle{{1}, {2}} {
		l.PushFront(c)
	}
	for e := l.Front(); e != nil; e = e.Next() {
		fmt.Print(e.Value.(Shape).Area(), " ")
	}
	r := ring.New(3)
	for i := range 3 {
		r.Value = Temp(i)
		r = r.Next()
	}
	r.Do(func(v any) { fmt.Printf("%v %T ", v, v) })
	fmt.Println()
	b, err := io.ReadAll(upper{strings.NewReader("hello\nworld\n")})
	fmt.Printf("%s %v\n", b, err)
	cw := &counter{Writer: os.Stdout}
	bw := bufio.NewWriter(cw)
	fmt.Fprintf(bw, "%s|%5.1f\n", "buffered", 2.25)
	bw.Flush()
	fmt.Println(cw.n)
	sc := bufio.NewScanner(upper{strings.NewReader("one two\nthree")})
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		fmt.Print(sc.Text(), ",")
	}
	fmt.Println()
	cr := csv.NewReader(strings.NewReader("n,v\nx,1\n\"y,z\",2\n"))
	recs, err := cr.ReadAll()
	fmt.Println(recs, err)
	var net bytes.Buffer
	gob.Register(Circle{})
	gob.Register(Rect{})
	err = gob.NewEncoder(&net).Encode(Scene{"s", []Shape{Circle{1}, Rect{2, 3}}, map[string]Temp{"k": 3.5}, 7})
	var s Scene
	fmt.Println(err, gob.NewDecoder(&net).Decode(&s))
	fmt.Printf("%+v %v\n", s, s.Shapes[1].Area())
	var hb bytes.Buffer
	fmt.Println(binary.Write(&hb, binary.BigEndian, Header{0xCAFE, 2, [2]uint8{1, 2}, -1}), hb.Bytes(), binary.Size(Header{}))
	var h Header
	fmt.Println(binary.Read(&hb, binary.BigEndian, &h), h)
	re := regexp.MustCompile(`(?P<k>\w+)=(?P<v>\d+)`)
	fmt.Println(re.ReplaceAllStringFunc("a=1 b=22", func(s string) string { return "<" + s + ">" }), re.FindAllStringSubmatch("a=1 b=22", -1))
	fmt.Println(strings.FieldsFunc("a1b2c", unicode.IsDigit), strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, "aBc"))
	pr, pw := io.Pipe()
	go func() {
		defer pw.Close()
		fmt.Fprint(pw, Temp(1), Rect{1, 2})
	}()
	all, _ := io.ReadAll(io.TeeReader(pr, io.Discard))
	fmt.Println(string(all))
	var sb strings.Builder
	mw := io.MultiWriter(&sb, &counter{Writer: io.Discard})
	io.WriteString(mw, "multi")
	fmt.Println(sb.String(), sb.Len())
	total := torch.Compile(func(shapes []Shape, x *torch.Tensor) *torch.Tensor {
		for _, s := range shapes {
			x = x.Add(s.Area())
		}
		return x
	})
	fmt.Println(total(s.Shapes, torch.Zeros(2)))
}

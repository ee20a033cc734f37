package main

import (
	"bytes"
	"container/heap"
	"encoding/gob"
	"encoding/xml"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
)

type Shape interface{ Area() float64 }

type Quad struct{ S float64 }

func (s Quad) Area() float64 { return s.S * s.S }

type Small int8
type Text string

func (t Text) MarshalText() ([]byte, error) { return []byte("<" + string(t) + ">"), nil }
func (t *Text) UnmarshalText(b []byte) error {
	*t = Text(strings.Trim(string(b), "<>"))
	return nil
}

type Base struct {
	ID Small `xml:"id,attr"`
}

type Layer struct {
	XMLName xml.Name `xml:"layer"`
	Base
	Kind  Text     `xml:"kind"`
	Sizes []Small  `xml:"sizes>n"`
	Sub   []*Layer `xml:"layer"`
	Note  string   `xml:",comment"`
	Skip  int      `xml:"-"`
	Opt   *Small   `xml:"opt,omitempty"`
	priv  int
}

type Pixel struct{ R, G Small }

func (p Pixel) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: "rg"}, Value: fmt.Sprint(p.R, ",", p.G)})
	return e.EncodeElement(struct {
		Sum Small `xml:"sum"`
	}{p.R + p.G}, start)
}

func (p *Pixel) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var in struct {
		Sum Small `xml:"sum"`
	}
	if err := d.DecodeElement(&in, &start); err != nil {
		return err
	}
	p.R = in.Sum
	for _, a := range start.Attr {
		p.G = Small(len(a.Value))
	}
	return nil
}

func (p Pixel) MarshalXMLAttr(name xml.Name) (xml.Attr, error) {
	return xml.Attr{Name: name, Value: fmt.Sprintf("%d/%d", p.R, p.G)}, nil
}

type Image struct {
	At   Pixel   `xml:"at,attr"`
	Pix  []Pixel `xml:"pix"`
	Any  any     `xml:"any"`
	Rest string  `xml:",innerxml"`
}

type Weights struct {
	Name  Text
	Data  []float32
	By    map[Text]Small
	Shape Shape
	Sub   *Weights
	priv  int
}

type Secret struct{ n int }

func (s Secret) GobEncode() ([]byte, error) { return []byte{byte(s.n + 1)}, nil }
func (s *Secret) GobDecode(b []byte) error  { s.n = int(b[0]) - 1; return nil }

type Boxed struct {
	A Secret
	B *Secret
	C []Secret
}

type queue []Small

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i] < q[j] }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(Small)) }
func (q *queue) Pop() any {
	l := *q
	x := l[len(l)-1]
	*q = l[:len(l)-1]
	return x
}

func try(what string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Printf("%s: panic %T %v\n", what, r, r)
		}
	}()
	fmt.Println(what, f())
}

func gobs() {
	gob.Register(Quad{})
	var buf bytes.Buffer
	in := Weights{Name: "w", Data: []float32{1, 2}, By: map[Text]Small{"a": 1}, Shape: Quad{3}, Sub: &Weights{Name: "s"}}
	e := gob.NewEncoder(&buf)
	fmt.Println(e.EncodeValue(reflect.ValueOf(in)), e.EncodeValue(reflect.ValueOf(&in)))
	d := gob.NewDecoder(&buf)
	var out, second Weights
	fmt.Println(d.DecodeValue(reflect.ValueOf(&out)), out.Name, out.Data, out.By, out.Shape.Area(), out.Sub.Name)
	fmt.Println(d.DecodeValue(reflect.ValueOf(&second).Elem()), second.Shape)
	fmt.Println(d.DecodeValue(reflect.ValueOf(out)))
	fmt.Println(d.DecodeValue(reflect.Value{}))
	try("nil", func() any { return e.EncodeValue(reflect.ValueOf((*Weights)(nil))) })
	fmt.Println(e.Encode(func() {}), e.Encode(make(chan Small)), e.Encode(struct{ a int }{1}))
	buf.Reset()
	fmt.Println(gob.NewEncoder(&buf).Encode(Boxed{Secret{3}, &Secret{4}, []Secret{{5}}}))
	var b Boxed
	fmt.Println(gob.NewDecoder(&buf).Decode(&b), b.A, b.B.n, b.C)
}

func xmls() {
	n := Small(4)
	l := Layer{Base: Base{3}, Kind: "conv", Sizes: []Small{1, 2}, Sub: []*Layer{{Kind: "relu"}}, Note: " hi ", Opt: &n}
	e := xml.NewEncoder(os.Stdout)
	e.Indent("", " ")
	fmt.Println(e.EncodeElement(l, xml.StartElement{Name: xml.Name{Local: "net"}, Attr: []xml.Attr{{Name: xml.Name{Local: "v"}, Value: "1"}}}))
	im := Image{At: Pixel{1, 2}, Pix: []Pixel{{3, 4}, {5, 6}}, Any: Quad{2}}
	fmt.Println(e.Encode(im))
	fmt.Println(e.EncodeElement(Small(3), xml.StartElement{Name: xml.Name{Local: "small"}}), e.EncodeElement([]Text{"a", "b"}, xml.StartElement{Name: xml.Name{Local: "t"}}))
	fmt.Println(e.Encode(map[Text]int{"a": 1}), e.Encode(make(chan Small)))
	for _, t := range []xml.Token{xml.StartElement{Name: xml.Name{Local: "a"}}, xml.CharData("x<y"), xml.Comment("c"), xml.EndElement{Name: xml.Name{Local: "b"}}, xml.EndElement{Name: xml.Name{Local: "a"}}, xml.ProcInst{Target: "p", Inst: []byte("i")}, xml.Directive("d"), Small(3), Quad{1}} {
		fmt.Println(e.EncodeToken(t))
	}
	fmt.Println(e.Flush())
	text := `<layer id="7"><kind>&lt;pool&gt;</kind><sizes><n>5</n><n>6</n></sizes><!--note--><layer><kind>x</kind></layer><opt>9</opt></layer>`
	var back Layer
	fmt.Println(xml.Unmarshal([]byte(text), &back), back.ID, back.Kind, back.Sizes, len(back.Sub), back.Sub[0].Kind, back.Note, *back.Opt, back.XMLName)
	var img Image
	fmt.Println(xml.Unmarshal([]byte(`<Image at="3/4"><pix rg="1,2"><sum>3</sum></pix><pix><sum>4</sum></pix></Image>`), &img), img)
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		t, err := d.Token()
		if err != nil {
			fmt.Println(err)
			break
		}
		c := xml.CopyToken(t)
		if s, ok := t.(xml.StartElement); ok && s.Name.Local == "sizes" {
			var v struct {
				N []Small `xml:"n"`
			}
			fmt.Println(d.DecodeElement(&v, &s), v.N)
			continue
		}
		fmt.Printf("%T %v\n", c, c)
	}
	fmt.Println(xml.CopyToken(Quad{2}), xml.CopyToken(nil))
	fmt.Println(xml.Unmarshal([]byte("<a><n>300</n></a>"), &struct {
		N Small `xml:"n"`
	}{}))
}

func sources() {
	set := token.NewFileSet()
	for _, src := range []any{"package p\nfunc  F( ) {x:=1}", []byte("package q"), strings.NewReader("package r\nvar X = 3"), bytes.NewBufferString("package s"), Small(3), Text("package t"), nil} {
		f, err := parser.ParseFile(set, "none.go", src, 0)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(f.Name, len(f.Decls), format.Node(os.Stdout, set, f))
		for _, d := range f.Decls {
			fmt.Println(format.Node(os.Stdout, set, d))
		}
	}
	for _, src := range []any{"a+ b*c", []byte("f(1,"), Text("x")} {
		x, err := parser.ParseExprFrom(set, "expr", src, 0)
		if err == nil {
			err = ast.Print(set, x)
		}
		fmt.Println(err)
	}
	fmt.Println(format.Node(os.Stdout, set, Quad{1}), format.Node(os.Stdout, set, []ast.Stmt{}))
}

func main() {
	gobs()
	xmls()
	sources()
	q := &queue{3, 1}
	var h heap.Interface = q
	heap.Init(h)
	h.Push(Small(0))
	heap.Fix(h, 2)
	fmt.Println(heap.Pop(h), heap.Remove(h, 0), *q)
	try("push", func() any { h.Push(1); return nil })
	p := pprof.NewProfile("layers")
	s, t := &Quad{1}, Small(2)
	p.Add(s, 0)
	p.Add(t, 0)
	try("twice", func() any { p.Add(Small(2), 0); return p.Count() })
	p.Remove(s)
	p.Remove(Small(3))
	fmt.Println(p.Count(), p.Name())
	var pin runtime.Pinner
	pin.Pin(s)
	try("pin", func() any { pin.Pin(Small(3)); return 0 })
	pin.Unpin()
	try("log", func() any { trace.Logf(nil, "a", "%v", s); return 0 })
}

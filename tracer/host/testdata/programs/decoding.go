package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"time"
)

type Shape interface{ Area() float64 }
type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }

type Circle struct{ R float64 }

func (s *Circle) Area() float64 { return s.R * s.R * 3 }

type holder struct {
	Name string
	S    Shape
	L    []Shape
	M    map[string]Shape
	A    any
	P    *Shape
	N    struct{ In Shape }
	Arr  [2]Shape
}
type Emb struct{ Shape }

// Doc decodes itself.
type Doc struct{ S Shape }

func (d *Doc) UnmarshalJSON(b []byte) error {
	var k struct{ Kind string }
	if err := json.Unmarshal(b, &k); err != nil {
		return err
	}
	switch k.Kind {
	case "sq":
		d.S = Sq{2}
	case "bad":
		return errors.New("bad kind")
	}
	return json.Unmarshal([]byte(`{"S":"x"}`), &struct{ S *Shape }{&d.S})
}

func show(what string, err error, v ...any) {
	fmt.Printf("%s: %v |", what, err)
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		fmt.Printf(" [%s %s off %d %s.%s]", te.Value, te.Type, te.Offset, te.Struct, te.Field)
	}
	for _, x := range v {
		fmt.Printf(" %T %+v", x, x)
	}
	fmt.Println()
}

func main() {
	var s Shape = Sq{3}
	show("var", json.Unmarshal([]byte(`{"S":1}`), &s), s)
	show("var num", json.Unmarshal([]byte(`1`), &s), s)
	show("var null", json.Unmarshal([]byte(`null`), &s), s)
	s = nil
	show("nil var", json.Unmarshal([]byte(`{"S":1}`), &s), s)
	s = &Circle{2}
	show("ptr", json.Unmarshal([]byte(`{"R":5}`), &s), s)
	c := &Circle{2}
	s = c
	show("ptr wrong", json.Unmarshal([]byte(`{"R":"x"}`), &s), s, c)
	show("ptr null", json.Unmarshal([]byte(`null`), &s), s, c)

	h := holder{Name: "n", S: Sq{1}, L: []Shape{Sq{1}, &Circle{1}, nil}, M: map[string]Shape{"a": Sq{1}}, A: Sq{4}, Arr: [2]Shape{Sq{7}, &Circle{8}}}
	h.N.In = Sq{9}
	show("field", json.Unmarshal([]byte(`{"Name":"x","S":{"S":2},"A":5}`), &h), h.Name, h.S, h.A)
	show("list", json.Unmarshal([]byte(`{"L":[{"S":2},{"R":9},4,5]}`), &h), len(h.L), h.L[0], h.L[1])
	fmt.Println(h.L[2] == nil)
	show("map", json.Unmarshal([]byte(`{"M":{"a":{"S":3},"b":"x"}}`), &h), h.M)
	show("nested", json.Unmarshal([]byte(`{"N":{"In":[1]},"Name":"later"}`), &h), h.N, h.Name)
	show("array", json.Unmarshal([]byte(`{"Arr":[1,{"R":3}]}`), &h), h.Arr[0], h.Arr[1])
	show("pp", json.Unmarshal([]byte(`{"P":true}`), &h), h.P == nil)
	e := Emb{Sq{1}}
	show("emb", json.Unmarshal([]byte(`{"Shape":{"S":2}}`), &e), e)
	var d Doc
	show("doc", json.Unmarshal([]byte(`{"Kind":"sq"}`), &d), d)
	show("doc bad", json.Unmarshal([]byte(`{"Kind":"bad"}`), &d), d)
	ds := []Doc{}
	show("docs", json.Unmarshal([]byte(`[{"Kind":"none"},{"Kind":"sq"}]`), &ds), ds)
	dec := json.NewDecoder(bytes.NewBufferString(`{"S":{"S":2}} {"S":null} {"Name":"z"}`))
	for dec.More() {
		show("dec", dec.Decode(&h), h.S, h.Name)
	}
	var a any = Sq{3}
	show("any", json.Unmarshal([]byte(`{"S":1}`), &a), a)
	a = &Sq{3}
	show("any ptr", json.Unmarshal([]byte(`{"S":1}`), &a), a)
	a = &holder{S: Sq{1}}
	show("any holder", json.Unmarshal([]byte(`{"S":1}`), &a), a.(*holder).S)
	show("dup", json.Unmarshal([]byte(`{"S":1,"L":2,"M":3}`), &h), h.S, h.L[0], len(h.L), h.M)
	show("syntax", json.Unmarshal([]byte(`{"S":1,"L":2,"M":3`), &h), h.S)
	type low struct{ Shape }
	type Up struct {
		low
		*Sq
		X int
	}
	u := Up{low: low{Sq{1}}}
	show("unexported", json.Unmarshal([]byte(`{"S":4,"X":3,"Shape":1}`), &u), u.low, u.Sq, u.X)
	show("mapiface", json.Unmarshal([]byte(`{"x":1}`), &map[string]Shape{}))

	show("xml", xml.Unmarshal([]byte(`<holder><Name>q</Name><S>1</S></holder>`), &h), h.Name, h.S)
	run := fmt.Sprint(time.Now().UnixNano()) // names are the process's, which may run this twice
	gob.RegisterName("Sq"+run, Sq{})
	gob.RegisterName("Circle"+run, &Circle{})
	var buf bytes.Buffer
	type G struct {
		S Shape
		T string
		A any
	}
	show("gob", gob.NewEncoder(&buf).Encode(G{Sq{2}, "t", 1}))
	g := G{S: Sq{1}}
	show("gob", gob.NewDecoder(&buf).Decode(&g), g)
	type W struct{ S any }
	gob.NewEncoder(&buf).Encode(W{"str"})
	g.S = Sq{1}
	show("gob bad", gob.NewDecoder(&buf).Decode(&g), g)
	gob.NewEncoder(&buf).Encode(W{nil})
	g.S = Sq{1}
	show("gob nil", gob.NewDecoder(&buf).Decode(&g), g)
	gob.NewEncoder(&buf).Encode(struct{ L []any }{[]any{1, Sq{2}}})
	var gl struct{ L []Shape }
	show("gob list", gob.NewDecoder(&buf).Decode(&gl), gl.L[0])
	b, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"x"`
		S       Shape
	}{S: Sq{2}})
	show("xml m", err, string(b))
	b, err = json.Marshal(h)
	show("json m", err, string(b))
}

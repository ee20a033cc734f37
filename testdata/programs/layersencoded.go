package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"tcdbg/torch"
	F "tcdbg/torch/nn/functional"
)

type Activation int

const (
	Relu Activation = iota
	Tanh
)

func (a Activation) String() string { return [...]string{"relu", "tanh"}[a] }
func (a Activation) MarshalText() ([]byte, error) {
	if a > Tanh {
		return nil, fmt.Errorf("bad activation %d", int(a))
	}
	return []byte(a.String()), nil
}
func (a *Activation) UnmarshalText(b []byte) error {
	for i := Relu; i <= Tanh; i++ {
		if i.String() == string(b) {
			*a = i
			return nil
		}
	}
	return fmt.Errorf("unknown activation %q", b)
}

type Layer interface {
	Forward(x *torch.Tensor) *torch.Tensor
	Kind() string
}

type Meta struct {
	Name string   `json:"name" xml:"name,attr"`
	Tags []string `json:"tags,omitempty" xml:"tag"`
}

type Linear struct {
	Meta
	In, Out int
	Scale   float64    `json:"scale,string"`
	Act     Activation `json:"act" xml:"act"`
}

func (l *Linear) Kind() string { return "linear" }
func (l *Linear) Forward(x *torch.Tensor) *torch.Tensor {
	w := torch.Arange(l.In*l.Out).Reshape(l.Out, l.In).To(torch.Float32).Mul(l.Scale)
	x = F.Linear(x, w)
	if l.Act == Tanh {
		return x.Tanh()
	}
	return x.Relu()
}

type Scale struct {
	Meta
	By float64
}

func (s Scale) Kind() string                          { return "scale" }
func (s Scale) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(s.By) }

type Spec struct {
	Layer
}

func (s Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type string `json:"type"`
		Body Layer  `json:"body"`
	}{s.Kind(), s.Layer})
}

func (s *Spec) UnmarshalJSON(b []byte) error {
	var head struct {
		Type string          `json:"type"`
		Body json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	switch head.Type {
	case "linear":
		s.Layer = new(Linear)
	case "scale":
		var sc Scale
		if err := json.Unmarshal(head.Body, &sc); err != nil {
			return err
		}
		s.Layer = sc
		return nil
	default:
		return fmt.Errorf("layer %q: %w", head.Type, errUnknown)
	}
	return json.Unmarshal(head.Body, s.Layer)
}

var errUnknown = errors.New("unknown layer")

type Net struct {
	Version int                    `json:"version"`
	Layers  []Spec                 `json:"layers"`
	Init    map[Activation]float64 `json:"init"`
	Extra   any                    `json:"extra"`
	Raw     json.RawMessage        `json:"raw"`
	Opt     *float64               `json:"opt,omitzero"`
}

type netXML struct {
	XMLName xml.Name  `xml:"net"`
	Linear  []*Linear `xml:"linear"`
	Scale   []Scale   `xml:"scale"`
}

func (n *Net) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range n.Layers {
		x = l.Forward(x)
	}
	return x
}

func main() {
	n := &Net{Version: 2, Init: map[Activation]float64{Tanh: 0.5, Relu: 1}, Extra: map[string]any{"lr": 0.1, "steps": []int{1, 2}}, Raw: json.RawMessage(`{"a": 1}`)}
	n.Layers = []Spec{{&Linear{Meta{"a", []string{"x"}}, 3, 4, 0.25, Tanh}}, {Scale{Meta{Name: "b"}, 2}}, {&Linear{Meta{Name: "c"}, 4, 2, 0.5, Relu}}}
	b, err := json.MarshalIndent(n, "", "  ")
	fmt.Println(string(b), err)
	var back Net
	fmt.Println(json.Unmarshal(b, &back), len(back.Layers), back.Layers[0].Kind(), back.Init, back.Extra, string(back.Raw))
	x := torch.Ones(2, 3)
	f := torch.Compile(n.Forward)
	g := torch.Compile(back.Forward)
	fmt.Println(f(x), g(x), torch.Allclose(f(x), g(x)))
	var te *json.UnmarshalTypeError
	var se *json.SyntaxError
	for _, s := range []string{`{"layers":[{"type":"conv"}]}`, `{"version":"x"}`, `{"version":1`, `{"init":{"gelu":1}}`, `{"layers":[{"type":"linear","body":{"In":"q"}}]}`, `{"layers": 3}`} {
		err := json.Unmarshal([]byte(s), &back)
		fmt.Println(err, errors.Is(err, errUnknown), errors.As(err, &te), errors.As(err, &se))
	}
	d := json.NewDecoder(strings.NewReader(`{"version": 1, "bogus": 2} {"version": 3}`))
	d.DisallowUnknownFields()
	fmt.Println(d.Decode(&back))
	d = json.NewDecoder(strings.NewReader(`[1, {"a": [2]}, "x"]`))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		fmt.Printf("%T %v %v\n", t, t, d.More())
	}
	var nx netXML
	nx.Linear = append(nx.Linear, n.Layers[0].Layer.(*Linear), n.Layers[2].Layer.(*Linear))
	nx.Scale = append(nx.Scale, n.Layers[1].Layer.(Scale))
	xb, err := xml.MarshalIndent(nx, "", " ")
	fmt.Println(string(xb), err)
	var nb netXML
	fmt.Println(xml.Unmarshal(xb, &nb), *nb.Linear[0], nb.Scale)
	gob.Register(&Linear{})
	gob.Register(Scale{})
	var buf bytes.Buffer
	layers := []Layer{n.Layers[0].Layer, n.Layers[1].Layer}
	fmt.Println(gob.NewEncoder(&buf).Encode(layers))
	var gl []Layer
	fmt.Println(gob.NewDecoder(&buf).Decode(&gl), len(gl))
	for _, l := range gl {
		fmt.Printf("%T %+v %s\n", l, l, l.Kind())
	}
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		for _, l := range gl {
			x = l.Forward(x)
		}
		return x
	})
	fmt.Println(h(x))
}

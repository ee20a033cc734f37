package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type Stage string

const (
	Train Stage = "train"
	Eval  Stage = "eval"
)

func (s Stage) Title() string { return strings.ToUpper(string(s[:1])) + string(s[1:]) }

type Metrics map[Stage]float64

func (m Metrics) Best() (s Stage) {
	best := -1.0
	for _, k := range []Stage{Train, Eval} {
		if m[k] > best {
			best, s = m[k], k
		}
	}
	return
}

type Meta struct {
	Author string `json:"author"`
	Tags   []string
}

type Report struct {
	Meta
	Name    string  `json:"name"`
	Metrics Metrics `json:"metrics"`
	Layers  []Layer `json:"layers"`
	note    string
}

type Layer struct {
	Kind   string
	In     int
	Out    int
	Params int `json:",omitempty"`
}

func (l Layer) String() string     { return fmt.Sprintf("%s(%d->%d)", l.Kind, l.In, l.Out) }
func (l *Layer) Grow(n int) *Layer { l.Out += n; return l }
func (r *Report) Count() (n int) {
	for _, l := range r.Layers {
		n += l.Params
	}
	return
}
func (r Report) Note(p string) string { return p + r.note }

const page = `{{define "layer"}}{{.Kind | printf "%-8s"}} {{.}}{{if .Params}} [{{.Params}}]{{end}}{{end -}}
# {{.Name}} by {{.Author}} ({{len .Tags}} tags{{range $i, $t := .Tags}}{{if $i}},{{end}} {{$t}}{{end}})
{{range .Layers}}- {{template "layer" .}}
{{else}}none
{{end}}total {{.Count}} best {{.Metrics.Best}} {{.Metrics.Best.Title}} {{.Note "n:"}}
{{range $k, $v := .Metrics}}{{$k.Title}}={{printf "%.2f" $v}} {{end}}
{{with index .Layers 0}}{{.In}}{{end}} {{eq (index .Layers 0).Kind "linear"}} {{index .Metrics "eval"}} {{up .Name}}
`

func main() {
	torch.ManualSeed(3)
	l1, l2 := nn.NewLinear(4, 8), nn.NewLinear(8, 2)
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return l2.Forward(l1.Forward(x).Relu()) })
	out := f(torch.Ones(2, 4))
	r := &Report{Meta: Meta{"ann", []string{"a", "b"}}, Name: "mlp", Metrics: Metrics{Train: 0.5, Eval: 0.75}, note: "hidden"}
	for _, l := range []*nn.Linear{l1, l2} {
		s := l.Weight.Shape()
		r.Layers = append(r.Layers, Layer{"linear", s[1], s[0], l.Weight.Numel()})
	}
	r.Layers = append(r.Layers, Layer{Kind: "relu"})
	t := template.Must(template.New("page").Funcs(template.FuncMap{"up": strings.ToUpper}).Parse(page))
	if err := t.Execute(os.Stdout, r); err != nil {
		fmt.Println("error:", err)
	}
	fmt.Println(t.Execute(os.Stdout, struct{ Name int }{1}) != nil)
	b, _ := json.MarshalIndent(r, "", "  ")
	fmt.Println(string(b))
	var back Report
	fmt.Println(json.Unmarshal(b, &back), back.Author, back.Layers, back.Metrics)
	fmt.Println(out.Shape(), r.Layers[0].Grow(2))
	fmt.Printf("%v|%+v|%#v\n", back.Layers[0], back.Meta, back.Meta)
	err := template.Must(template.New("e").Parse("{{.Nope}}")).Execute(os.Stdout, r)
	fmt.Println(err)
	err = template.Must(template.New("e").Parse("{{.Metrics.Best.Zed}}")).Execute(os.Stdout, r)
	fmt.Println(err)
}

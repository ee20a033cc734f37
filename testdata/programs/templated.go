package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type Param struct {
	Name  string
	T     *torch.Tensor
	Train bool
}

func (p Param) Numel() int            { return p.T.Numel() }
func (p Param) Dims() []int           { return p.T.Shape() }
func (p *Param) Ptr() string          { return "*" + p.Name }
func (p Param) Is(kind string) bool   { return strings.HasSuffix(p.Name, kind) }
func (p Param) Fail() (string, error) { return "", errors.New("no " + p.Name) }
func (p Param) Join(xs ...any) string { return fmt.Sprint(xs...) }

type Params []*Param

func (ps Params) Total() (n int) {
	for _, p := range ps {
		n += p.Numel()
	}
	return
}

type Names map[string]Param

type Report struct {
	Title string
	Params
	By    Names
	Stats struct{ Mean, Max float64 }
	Fn    func(int) string
	Ch    chan int
	Err   error
	any   int
}

type Named interface{ Ptr() string }

const text = `{{- define "row"}}{{.Name | printf "%-12s"}} {{.Numel}} {{.Dims}} {{.Ptr}}{{if .Train}} train{{else}} fixed{{end}}{{end -}}
{{.Title | upper}}: {{.Total}} in {{len .Params}}
{{range $i, $p := .Params}}{{$i}}: {{template "row" $p}}{{if $p.Is "bias"}} (bias){{end}}
{{else}}none
{{end}}{{with .Stats}}mean {{printf "%.2f" .Mean}} max {{.Max}}{{end}}
{{range $k, $v := .By}}{{$k}}={{$v.Name}} {{end}}
{{call .Fn 3}} {{index .By "x" | kind}} {{(index .Params 0).Join 1 "a" true nil}} {{eq .Stats.Max 3.0}} {{slice .Title 1 3}} {{not .Err}}
{{range 3}}{{.}}{{end}}{{range $x := .Ch}}<{{$x}}>{{end}}{{break_ 2}}
`

func main() {
	torch.ManualSeed(0)
	m := nn.NewLinear(3, 2)
	r := Report{Title: "layers", By: Names{}, Fn: func(i int) string { return strings.Repeat("f", i) }, Ch: make(chan int, 2)}
	r.Ch <- 4
	r.Ch <- 5
	close(r.Ch)
	for _, p := range nn.NamedParameters(m) {
		r.Params = append(r.Params, &Param{p.Name, p.Tensor, p.Tensor.RequiresGrad()})
	}
	r.By["x"] = *r.Params[0]
	f := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) { return x.Mean(), x.Max() })
	mean, max := f(torch.NewTensor([]float64{1, 2, 3}))
	r.Stats.Mean, r.Stats.Max = mean.Item(), max.Item()
	funcs := template.FuncMap{"upper": strings.ToUpper, "kind": func(p Param) string { return fmt.Sprintf("%T", p) }, "break_": func(n Named) string { return n.Ptr() }}
	t := template.Must(template.New("r").Funcs(funcs).Parse(text))
	err := t.Execute(os.Stdout, r)
	fmt.Println()
	fmt.Println(err)
	for _, s := range []string{"{{.Nope}}", "{{.Stats.Nope}}", "{{(index .Params 0).Fail}}", "{{.any}}", "{{.Total 1}}", "{{index .By 3}}", "{{call .Title}}", "{{break_ (index .Params 1)}}", "{{.Params.Total}}", "{{len .Err}}", "{{(index .By \"q\").Name}}!", "{{.}}"} {
		t, err := template.New("x").Funcs(funcs).Option("missingkey=error").Parse(s)
		if err != nil {
			fmt.Println("parse", err)
			continue
		}
		if s == "{{.}}" {
			err = t.Execute(os.Stdout, r.Stats)
		} else {
			err = t.Execute(os.Stdout, r)
		}
		fmt.Println(" ", err)
	}
}

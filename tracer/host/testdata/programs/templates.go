package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"text/template"
	"text/template/parse"
)

type Shape interface{ Area() float64 }
type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }

type Ctx struct {
	Name  string
	Items []Item
	M     map[string]int
	S     Shape
	F     func(int) int
	Err   error
	priv  int
}

type Item struct {
	ID   int
	Tags []string
}

func (i Item) Upper(s string, n ...int) string { return strings.ToUpper(s) + fmt.Sprint(n) }
func (i *Item) Set(id int) string              { i.ID = id; return "" }
func (c *Ctx) Takes(s Shape) string            { return fmt.Sprintf("%.1f", s.Area()) }
func (c *Ctx) Fails(x int) (string, error)     { return "", errors.New("failed") }
func (c *Ctx) Panics() string                  { panic("boom") }
func (c *Ctx) Stringers(a ...fmt.Stringer) int { return len(a) }
func (c Ctx) Any(a any) string                 { return fmt.Sprintf("%T", a) }
func (c Ctx) Seq() func(yield func(int, Item) bool) {
	return func(y func(int, Item) bool) {
		for i, it := range c.Items {
			if !y(i, it) {
				return
			}
		}
	}
}

func run(name, text string, data any) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"add":   func(a, b int) int { return a + b },
		"area":  func(s Shape) float64 { return s.Area() },
		"join":  strings.Join,
		"areas": func(s ...Shape) int { return len(s) },
		"bad":   func() (int, error) { return 0, errors.New("bad func") },
	}).Parse(text)
	if err != nil {
		fmt.Println(name, "parse:", err)
		return
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	fmt.Printf("%s: %q", name, b.String())
	var ee template.ExecError
	if err != nil {
		fmt.Printf(" err %v %v", err, errors.As(err, &ee))
	}
	fmt.Println()
}

func main() {
	c := &Ctx{Name: "n", Items: []Item{{1, []string{"a", "b"}}, {2, nil}}, M: map[string]int{"z": 1, "a": 2}, S: Sq{3}, F: func(i int) int { return i * 2 }, Err: errors.New("e")}
	run("plain", "{{.Name}} {{len .Items}} {{range $i, $e := .Items}}{{$i}}={{.ID}} {{join .Tags `,`}};{{else}}none{{end}}", c)
	run("map", "{{range $k, $v := .M}}{{$k}}:{{$v}} {{end}}{{.M.a}} {{index .M `z`}} {{.M.q}}", c)
	run("iface", "{{.S.Area}} {{.S.S}} {{.S}} {{area .S}} {{.Takes .S}}", c)
	run("wrong", "a {{.Takes .Name}}", c)
	run("wrong const", "a {{.Takes 1}}", c)
	run("wrong func", "a {{area .Name}}", c)
	run("wrong variadic", "a {{areas .S .S}} {{areas .S .Name}}", c)
	run("nil arg", "a {{area nil}}", c)
	run("stringers", "{{.Stringers}} {{.Stringers .Name}}", c)
	run("any", "{{.Any 1}} {{.Any .S}} {{.Any nil}}", c)
	run("call", "{{call .F 3}} {{call .F `x`}}", c)
	run("ptr", "{{range .Items}}{{.Set 9}}{{.ID}}{{.Upper `q` 1 2}}{{end}}", c)
	run("fails", "x{{.Fails 1}}", c)
	run("panics", "x{{.Panics}}", c)
	run("bad", "x{{bad}}", c)
	run("priv", "x{{.priv}}", c)
	run("missing", "x{{.Nope}}", c)
	run("syntax", "x{{.Nope", c)
	run("seq", "{{range $i, $x := .Seq}}{{$i}}{{$x.ID}} {{end}}{{range 3}}{{.}}{{end}}", c)
	run("cmp", "{{if and (eq .Name `n`) (lt 1 2) (ne 1 2)}}y{{end}} {{printf `%5.2f|%v` 1.5 .Items}} {{html `<a>`}} {{urlquery `a b`}} {{js `'`}} {{not true}} {{slice .Name 0 1}}", c)
	run("err", "{{.Err}} {{.Err.Error}}", c)
	run("with", "{{with .S}}{{.S}}{{end}}{{define `t`}}<{{.}}>{{end}}{{template `t` .Name}}{{block `b` 1}}{{.}}{{end}}{{- /* c */ -}} x", c)
	run("break", "{{range 9}}{{if eq . 3}}{{continue}}{{end}}{{if gt . 5}}{{break}}{{end}}{{.}}{{end}}", c)
	run("option", "{{.a}}", map[string]any{})
	t := template.Must(template.New("o").Option("missingkey=error").Parse("{{.a}}"))
	fmt.Println(t.Execute(os.Stdout, map[string]int{}))
	fmt.Println(t.Name(), t.Tree.Root.Nodes[0].Type() == parse.NodeAction, t.DefinedTemplates())
	func() {
		defer func() { fmt.Println(recover()) }()
		template.New("f").Funcs(template.FuncMap{"x": 1})
	}()
	u, err := url.Parse("http://h/p?a=1&b=2")
	fmt.Println(u.Host, u.Query()["b"], err)
}

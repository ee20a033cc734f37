package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file prints a graph as Go code against package torch.

// GoCode prints the graph as a Go function that compiles in a file importing
// torch, nn/functional as F, and kw.
func (g *Graph) GoCode() string {
	p := &goPrinter{spell: spellings()}
	var params, results []string
	for _, n := range g.Placeholders() {
		params = append(params, goName(n.Name)+" "+goType(n.Meta))
	}
	for _, a := range g.Outputs() {
		results = append(results, goResultType(a))
	}
	fmt.Fprintf(&p.sb, "func %s(%s)", strings.TrimLeft(goName(g.Name), "_"), strings.Join(params, ", "))
	if len(results) > 0 {
		fmt.Fprintf(&p.sb, " (%s)", strings.Join(results, ", "))
	}
	p.sb.WriteString(" {\n")
	for n := g.first; n != nil; n = n.next {
		p.node(n)
	}
	p.sb.WriteString("}\n")
	return p.sb.String()
}

type goPrinter struct {
	sb    strings.Builder
	spell map[ops.ID]spelling
}

// spelling is how an operator is called from Go.
type spelling struct {
	name string // Add, torch.Cat, F.Linear
	torch.Binding
}

// spellings inverts the binding table; a method is preferred to a
// function, and what names a device (Cpu) is no other call.
var spellings = sync.OnceValue(func() map[ops.ID]spelling {
	out := map[ops.ID]spelling{}
	bindings := torch.Bindings()
	for _, full := range slices.Sorted(maps.Keys(bindings)) { // of two spellings the first: Mul, not Multiply
		b := bindings[full]
		if old, ok := out[b.Op]; b.Device != "" || ok && (old.Method || !b.Method) {
			continue
		}
		out[b.Op] = spelling{shortName(full), b}
	}
	return out
})

// shortName turns (*tcdbg/torch.Tensor).Add into Add, tcdbg/torch.Cat into
// torch.Cat and tcdbg/torch/nn/functional.Linear into F.Linear.
func shortName(full string) string {
	if i := strings.LastIndex(full, ")."); i >= 0 {
		return full[i+2:]
	}
	s := full[strings.LastIndexByte(full, '/')+1:]
	if name, ok := strings.CutPrefix(s, "functional."); ok { // some are called by an exported function of that name
		return "F." + strings.ToUpper(name[:1]) + name[1:]
	}
	return s
}

func (p *goPrinter) node(n *Node) {
	switch {
	case n.Kind == Placeholder:
	case n.Kind == Output:
		parts := make([]string, len(n.Args))
		for i, a := range n.Args {
			parts[i] = goArg(a)
		}
		fmt.Fprintf(&p.sb, "\treturn %s\n", strings.Join(parts, ", "))
	case n.Apply != nil:
		p.apply(n)
	case n.Flow != nil:
		p.flow(n)
	case n.Op == ops.None: // getitem: its operator assigned it
	default:
		fmt.Fprintf(&p.sb, "\t%s := %s\n", p.left(n), p.call(n))
	}
}

// left is the assigned names: one for each result; unused ones are blank.
func (p *goPrinter) left(n *Node) string {
	list, several := n.Meta.([]ops.Result)
	if !several {
		if n.NumUsers() == 0 {
			return "_"
		}
		return goName(n.Name)
	}
	names := make([]string, len(list))
	for i := range names {
		names[i] = "_"
	}
	for _, u := range n.Users() {
		if u.Target == "getitem" {
			_, k := u.Item()
			names[k] = goName(u.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (p *goPrinter) call(n *Node) string {
	sp, ok := p.spell[n.Op]
	row := n.OpRow()
	if !ok {
		return fmt.Sprintf("torch.Op(%q, %s)", rowName(row), goArgs(n.Args))
	}
	byPos := map[int]bool{}
	var args []string
	if sp.Method {
		byPos[0] = true
	}
	for _, i := range sp.Params {
		byPos[i] = true
		args = append(args, goArg(n.Args[i]))
	}
	if sp.Variadic == torch.VariadicInts || sp.Variadic == torch.VariadicMixed || sp.Variadic == torch.VariadicTensors {
		byPos[sp.VariadicArg] = true
		if s := goSpread(n.Args[sp.VariadicArg]); s != "" {
			args = append(args, s)
		}
	}
	for i, par := range row.Params() {
		if byPos[i] || (par.HasDef && argText(par.Default) == argText(n.Args[i])) {
			continue
		}
		args = append(args, "kw."+camel(par.Name)+"("+goArg(n.Args[i])+")")
	}
	text := sp.name + "(" + strings.Join(args, ", ") + ")"
	if sp.Method {
		return goArg(n.Args[0]) + "." + text
	}
	return text
}

func goSpread(a ops.Arg) string {
	var parts []string
	switch a := a.(type) {
	case []sym.Int:
		for _, x := range a {
			parts = append(parts, goArg(x))
		}
	case []ops.Value:
		for _, x := range a {
			parts = append(parts, goArg(x))
		}
	default:
		return goArg(a)
	}
	return strings.Join(parts, ", ")
}

func goArgs(as []ops.Arg) string {
	parts := make([]string, len(as))
	for i, a := range as {
		parts[i] = goArg(a)
	}
	return strings.Join(parts, ", ")
}

func goArg(a ops.Arg) string {
	switch a := a.(type) {
	case nil:
		return "nil"
	case *Node:
		return goName(a.Name)
	case sym.Int:
		return a.GoText()
	case []sym.Int:
		return "[]int{" + goSpread(a) + "}"
	case []ops.Value:
		return "[]*torch.Tensor{" + goSpread(a) + "}"
	case float64:
		return goFloat(a)
	case string:
		return fmt.Sprintf("%q", a)
	case ops.DType:
		return "torch." + camel(a.Name())
	case ops.Device:
		return fmt.Sprintf("torch.Device(%q)", string(a))
	}
	return fmt.Sprintf("%v", a)
}

// goFloat writes a float so that Go reads a float64 constant of the same value.
func goFloat(f float64) string {
	s := floatText(f)
	switch s {
	case "inf", "-inf":
		return "math.Inf(" + strings.TrimSuffix(s, "inf") + "1)"
	case "nan":
		return "math.NaN()"
	}
	return s
}

func goType(meta any) string {
	switch meta.(type) {
	case sym.Int:
		return "int"
	case ops.ScalarMeta:
		return "float64"
	}
	return "*torch.Tensor"
}

func goResultType(a ops.Arg) string {
	switch a := a.(type) {
	case *Node:
		return goType(a.Meta)
	case sym.Int:
		return "int"
	case float64:
		return "float64"
	case bool:
		return "bool"
	}
	return "any"
}

// camel spells PyTorch's snake_case as Go does: each word capitalised, a final
// underscore kept.
func camel(s string) string {
	var sb strings.Builder
	up := true
	for i, r := range s {
		if r == '_' && i < len(s)-1 {
			up = true
			continue
		}
		if up {
			r, up = unicode.ToUpper(r), false
		}
		sb.WriteRune(r)
	}
	return sb.String()
}

// goName makes a node's name a Go identifier that is no keyword.
func goName(s string) string {
	switch s {
	case "func", "type", "var", "range", "map", "select", "switch", "go", "chan", "const", "default", "defer", "interface",
		"package", "struct", "case", "goto", "fallthrough", "torch", "kw", "F", "math":
		return s + "_"
	}
	return s
}

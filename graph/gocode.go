package graph

import (
	"fmt"
	"maps"
	"regexp"
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
	body := &goPrinter{spell: p.spell, ungraded: partlyUngraded(g)}
	for n := g.first; n != nil; n = n.next {
		body.node(n)
	}
	text := body.sb.String()
	p.sizes(g, text)
	p.sb.WriteString(text + "}\n")
	return p.sb.String()
}

type goPrinter struct {
	sb       strings.Builder
	spell    map[callee]spelling
	ungraded bool // calls under torch.NoGrad are written so
}

// partlyUngraded reports whether some calls are made under torch.NoGrad and others are not: where all
// are, who calls the function is.
func partlyUngraded(g *Graph) bool {
	some, all := false, true
	for n := g.first; n != nil; n = n.next {
		if n.Op != ops.None {
			some, all = some || n.NoGrad, all && n.NoGrad
		}
	}
	return some && !all
}

// sizes declares the symbols that the text of the body uses: each is a size of an input.
func (p *goPrinter) sizes(g *Graph, body string) {
	done := map[*sym.Symbol]bool{}
	declare := func(x sym.Int, value string) {
		s, bare := x.AsSymbol()
		if !bare || done[s] {
			return
		}
		done[s] = true
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(s.Name) + `\b`).MatchString(body) {
			fmt.Fprintf(&p.sb, "\t%s := %s\n", s.Name, value)
		}
	}
	for _, n := range g.Placeholders() {
		if x, ok := n.Meta.(sym.Int); ok && n.Name != x.String() {
			declare(x, goName(n.Name))
		}
	}
	for _, n := range g.Placeholders() {
		if m, ok := n.Meta.(*ops.TensorMeta); ok {
			for i, x := range m.Shape {
				declare(x, fmt.Sprintf("%s.Size(%d)", goName(n.Name), i))
			}
		}
	}
}

// spelling is how an operator is called from Go.
type spelling struct {
	name string // Add, torch.Cat, F.Linear
	torch.Binding
}

// callee is an operator as a method, or as a function.
type callee struct {
	op     ops.ID
	method bool
}

// spellings inverts the binding table; what names a device (Cpu) is no other call.
var spellings = sync.OnceValue(func() map[callee]spelling {
	out := map[callee]spelling{}
	bindings := torch.Bindings()
	for _, full := range slices.Sorted(maps.Keys(bindings)) { // of two spellings the first: Mul, not Multiply
		b := bindings[full]
		c := callee{b.Op, b.Method}
		if _, ok := out[c]; b.Device == "" && !ok {
			out[c] = spelling{shortName(full), b}
		}
	}
	return out
})

// spelled is how n is called: as a function where it was recorded so, but for the operators that
// have a sign, which Go has methods for.
func (p *goPrinter) spelled(n *Node) (spelling, bool) {
	op := n.Op
	if ops.ByKeyword(n.OpRow()) {
		op = ops.Functional(op)
	}
	if pos, _ := callArgs(n); len(pos) > 0 && n.OpRow().Params()[0].Type == "Operand" && !isTensorNode(pos[0]) {
		sp, ok := p.spell[callee{op, false}] // 1 - x is no method in Go
		return sp, ok
	}
	_, _, sign := infixOf(n)
	method := n.Kind == CallMethod || sign || n.graph.Aten
	if sp, ok := p.spell[callee{op, method}]; ok {
		return sp, true
	}
	sp, ok := p.spell[callee{op, !method}]
	return sp, ok
}

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
	case n.Op == ops.None && n.Target == AssertScalar:
		fmt.Fprintf(&p.sb, "\t%s\n", goNumber(n))
	case n.Op == ops.None && n.IsNumber():
		fmt.Fprintf(&p.sb, "\t%s := %s\n", p.left(n), goNumber(n))
	case n.Op == ops.None: // getitem: its operator assigned it
	case p.ungraded && n.NoGrad && n.IsTensor():
		fmt.Fprintf(&p.sb, "\tvar %s *torch.Tensor\n\ttorch.NoGrad(func() { %s = %s })\n", p.left(n), p.left(n), p.call(n))
	case strings.Trim(p.left(n), "_, ") == "":
		fmt.Fprintf(&p.sb, "\t%s = %s\n", p.left(n), p.call(n))
	case p.isList(n):
		p.items(n)
	default:
		fmt.Fprintf(&p.sb, "\t%s := %s\n", p.left(n), p.call(n))
	}
}

func isTensorNode(a ops.Arg) bool {
	n, ok := a.(*Node)
	return ok && n.IsTensor()
}

// isList reports whether the call gives a slice in Go.
func (p *goPrinter) isList(n *Node) bool {
	_, ok := p.spelled(n)
	return !ok || slices.Contains(n.OpRow().Returns(), "Tensor[]")
}

// items assigns the elements of what a call gives.
func (p *goPrinter) items(n *Node) {
	list := goName(n.Name)
	element := func(i int) string {
		if _, ok := p.spelled(n); ok {
			return fmt.Sprintf("%s[%d]", list, i)
		}
		return fmt.Sprintf("%s[%d].(%s)", list, i, goType(n.Meta))
	}
	if _, several := n.Meta.([]ops.Result); !several {
		list = p.call(n)
		fmt.Fprintf(&p.sb, "\t%s := %s\n", goName(n.Name), element(0))
		return
	}
	fmt.Fprintf(&p.sb, "\t%s := %s\n", list, p.call(n))
	for i, name := range strings.Split(p.left(n), ", ") {
		if name != "_" {
			fmt.Fprintf(&p.sb, "\t%s := %s\n", name, element(i))
		}
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
	sp, ok := p.spelled(n)
	row, bound := n.OpRow(), n.Args
	if !ok {
		return fmt.Sprintf("torch.Op(%q, %s)", rowName(row), goArgs(bound))
	}
	if ops.ByKeyword(row) {
		bound = slices.Clone(ops.PureArgs(row, bound))
		row = ops.Get(ops.Functional(n.Op))
		bound[len(bound)-1] = true // inplace
	}
	byPos := map[int]bool{}
	var args []string
	if sp.Method {
		byPos[0] = true
	}
	for _, i := range sp.Params {
		byPos[i] = true
		args = append(args, goArg(bound[i]))
	}
	if sp.Variadic == torch.VariadicInts || sp.Variadic == torch.VariadicMixed || sp.Variadic == torch.VariadicTensors {
		byPos[sp.VariadicArg] = true
		if s := goSpread(bound[sp.VariadicArg]); s != "" {
			args = append(args, s)
		}
	}
	for i, par := range row.Params() {
		if byPos[i] || (par.HasDef && argText(par.Default) == argText(bound[i])) {
			continue
		}
		args = append(args, "kw."+camel(par.Name)+"("+goArg(bound[i])+")")
	}
	text := sp.name + "(" + strings.Join(args, ", ") + ")"
	if sp.Method {
		return goArg(bound[0]) + "." + text
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

// GoArg is an argument as GoCode writes it.
func GoArg(a ops.Arg) string { return goArg(a) }

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
	case []bool:
		return "[]bool{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(a), " ", ", "), "[]") + "}"
	case []any:
		return "[]any{" + goArgs(a) + "}"
	case float64:
		return goFloat(a)
	case complex128:
		return "complex(" + goFloat(real(a)) + ", " + goFloat(imag(a)) + ")"
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
		"package", "struct", "case", "goto", "fallthrough", "torch", "kw", "F", "math",
		"fmt", "os", "compiler":
		return s + "_"
	}
	return s
}

package export

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
)

// This file prints a program as PyTorch does.

// String is what Python's print shows of an ExportedProgram.
func (p *Program) String() string {
	var sb strings.Builder
	sb.WriteString("ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self")
	for _, in := range p.Inputs {
		sb.WriteString(", " + in.Name)
		if t := p.typeOf(in.Name); t != "" {
			sb.WriteString(": \"" + t + "\"")
		}
	}
	sb.WriteString("):\n")
	last := p.lastNames()
	where := ""
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if at := n.place(); at != where && at != "" {
			where = at
			sb.WriteString("            # " + at + "\n")
		}
		for _, line := range p.lines(n, last[i]) {
			sb.WriteString("            " + line + "\n")
		}
	}
	outs := make([]string, len(p.Outputs))
	for i, o := range p.Outputs {
		outs[i] = argText(o.Value)
	}
	sb.WriteString("            return (" + tuple(outs) + ")\n\nGraph signature:\n    # inputs\n")
	for _, in := range p.Inputs {
		sb.WriteString("    " + p.signature(&in) + "\n")
	}
	sb.WriteString("\n    # outputs\n")
	for _, o := range p.Outputs {
		text := "    " + argText(o.Value) + ": " + outputKinds[o.Kind]
		if o.Target != "" {
			text += " target='" + o.Target + "'"
		}
		sb.WriteString(text + "\n")
	}
	sb.WriteString("\nRange constraints: {" + p.rangeText() + "}\n")
	return Printable(sb.String())
}

var outputKinds = map[OutputKind]string{
	Result: "USER_OUTPUT", BufferMutation: "BUFFER_MUTATION", InputMutation: "USER_INPUT_MUTATION",
}

// Printable takes control characters but line ends out of a text.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
}

func tuple(parts []string) string {
	s := strings.Join(parts, ", ")
	if len(parts) == 1 {
		s += ","
	}
	return s
}

// place names the line that a call comes from.
func (n *Node) place() string {
	if len(n.Stack) == 0 {
		return ""
	}
	f := n.Stack[len(n.Stack)-1]
	return fmt.Sprintf("File: %s:%d in %s, code: %s", f.File, f.Line, f.Func, f.Code)
}

// typeOf is the type comment of a value: f32[s0, 4], Sym(2*s0).
func (p *Program) typeOf(name string) string {
	if t := p.values[name]; t != nil {
		return t.DType.Short() + p.sizesText(t.Shape)
	}
	if text := p.sizes[name]; text != "" {
		return "Sym(" + p.sizeText(sizeText(text)) + ")"
	}
	return ""
}

func (p *Program) sizesText(list []Size) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = p.sizeText(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (p *Program) sizeText(s Size) string {
	if s.Expr == "" {
		return strconv.FormatInt(s.Value, 10)
	}
	_, symbol := p.Env(func(s *Symbol) int64 { return s.Hint })
	x, err := readSize(s.Expr, symbol)
	if err != nil {
		return clip(s.Expr)
	}
	return x.String()
}

// lines are a call and what takes its results apart.
func (p *Program) lines(n *Node, dead []string) []string {
	name := n.Name
	if len(n.Outs) == 1 && !n.Outs[0].Many && n.Outs[0].Name != "" {
		name = n.Outs[0].Name
	}
	text := name
	if t := p.typeOf(name); t != "" {
		text += ": \"" + t + "\""
	}
	text += " = " + n.callText()
	var items []string
	for _, o := range n.Outs {
		if o.Many {
			items = append(items, o.List...)
		} else if len(n.Outs) > 1 {
			items = append(items, o.Name)
		}
	}
	lines := []string{text}
	for i, item := range items {
		lines = append(lines, fmt.Sprintf("%s: \"%s\" = %s[%d]", item, p.typeOf(item), name, i))
	}
	if len(items) > 0 {
		dead = append([]string{name}, dead...)
	}
	if len(dead) > 0 {
		lines[len(lines)-1] += ";  " + strings.Join(dead, " = ") + " = None"
	}
	return lines
}

func (n *Node) callText() string {
	var args []string
	for _, a := range n.Args {
		text := argText(a.Value)
		if a.Keyword {
			text = a.Name + " = " + text
		}
		args = append(args, text)
	}
	if sign, ok := signs[strings.TrimPrefix(n.Target, "_operator.")]; ok && len(args) == 2 && strings.HasPrefix(n.Target, "_operator.") {
		return args[0] + " " + sign + " " + args[1]
	}
	return n.Target + "(" + strings.Join(args, ", ") + ")"
}

var signs = map[string]string{"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}

// argText is an argument as Python writes it.
func argText(a Arg) string {
	switch a := a.(type) {
	case nil:
		return "None"
	case Ref:
		return string(a)
	case string:
		return strconv.Quote(a)
	case bool:
		if a {
			return "True"
		}
		return "False"
	case float64:
		return strings.Trim(pythonFloat(a), "\"")
	case ops.DType:
		return "torch." + a.Name()
	case ops.Device:
		return "device(type='" + string(a) + "')"
	case MemoryFormat:
		if name, err := memoryFormat(a); err == nil {
			return fmt.Sprintf("torch.%s", name)
		}
	case Layout:
		return "torch.strided"
	case []Arg:
		parts := make([]string, len(a))
		for i, e := range a {
			parts[i] = argText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(a)
}

func pythonFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	b, _ := decimal(f).MarshalJSON()
	return strings.ToLower(string(b))
}

// lastNames are the values that nobody reads after a call, in the order of its arguments.
func (p *Program) lastNames() map[int][]string {
	live := map[string]bool{}
	for _, o := range p.Outputs {
		eachRef(o.Value, func(r Ref) { live[string(r)] = true })
	}
	out := map[int][]string{}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		end := func(name string) {
			if name != "" && !live[name] {
				live[name] = true
				out[i] = append(out[i], name)
			}
		}
		n := &p.Nodes[i]
		for _, a := range n.Args {
			eachRef(a.Value, func(r Ref) { end(string(r)) })
		}
		for _, o := range n.Outs {
			for _, name := range append([]string{o.Name}, o.List...) {
				end(name)
			}
		}
	}
	return out
}

func (p *Program) signature(in *Input) string {
	switch in.Kind {
	case Parameter:
		return in.Name + ": PARAMETER target='" + in.Target + "'"
	case Buffer:
		kept := argText(p.Weights[in.Target].Kept())
		return in.Name + ": BUFFER target='" + in.Target + "' persistent=" + kept
	case Constant:
		return in.Name + ": CONSTANT_TENSOR target='" + in.Target + "'"
	}
	return in.Name + ": USER_INPUT"
}

func (p *Program) rangeText() string {
	parts := make([]string, len(p.Symbols))
	for i, s := range p.Symbols {
		upper := "int_oo"
		if s.Max != math.MaxInt64 {
			upper = strconv.FormatInt(s.Max, 10)
		}
		parts[i] = fmt.Sprintf("%s: VR[%d, %s]", s.Name, s.Min, upper)
	}
	return strings.Join(parts, ", ")
}

package fx

import (
	"strconv"
	"strings"
)

// This file reads the Python form.

// codeParser walks over the lines of one text.
type codeParser struct {
	stack  []*class // open classes, by indentation
	top    []*Graph
	source Source
	nodes  int
}

type class struct {
	indent int
	g      *Graph
	known  map[string]bool // names of nodes
	at     map[string]int  // first node of a name
	inBody bool
	params bool     // the parameters go on, one a line
	output []string // of a return that goes on so, what there is
}

// maxNodes bounds what one text can make.
const maxNodes = 1 << 20

func parseCode(text string) *Graph {
	p := &codeParser{}
	for len(text) > 0 && p.nodes < maxNodes {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		p.line(strings.TrimSuffix(line, "\r"))
	}
	if len(p.top) == 0 {
		return nil
	}
	return p.top[0]
}

func (p *codeParser) line(line string) {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	switch {
	case body == "":
	case strings.HasPrefix(body, "class ") && strings.Contains(body, "torch.nn.Module"):
		p.openClass(indent, body)
	case strings.Contains(line, " class ") && strings.Contains(line, "(torch.nn.Module):"):
		// "<eval_with_key>.3 class GraphModule(torch.nn.Module):"
		p.openClass(0, line[strings.Index(line, "class "):])
	case strings.HasPrefix(body, "def forward("):
		p.forward(indent, body)
	case strings.HasPrefix(body, "#"):
		p.comment(body)
	default:
		switch c := p.current(indent); {
		case c == nil:
		case c.output != nil:
			p.outputLine(c, body)
		case opensReturn(body):
			c.output = []string{body}
		case c.params && strings.HasPrefix(body, ")"):
			c.params = false
		case c.params && !strings.Contains(body, " = "): // a list that was cut off ends with the first statement
			parameter, _, _ := strings.Cut(body, "  #") // "arg0_1: "f32[4]",  # PlainAOTInput(idx=0)"
			p.parameters(c, parameter)
		default:
			p.statement(c, body)
		}
	}
}

// opensReturn reports whether a line begins a return that has its values one a line: of a tuple, or of
// a joint graph, which unflattens them.
func opensReturn(body string) bool {
	body = strings.TrimSpace(body)
	return body == "return (" || strings.HasPrefix(body, "return ") && strings.HasSuffix(body, "([")
}

// outputLine takes one line of such a return.
func (p *codeParser) outputLine(c *class, body string) {
	value, _, _ := strings.Cut(body, "  #")
	if !strings.HasPrefix(body, ")") && !strings.HasPrefix(body, "]") {
		c.output = append(c.output, strings.TrimSpace(value))
		return
	}
	whole := c.output[0] + strings.TrimSuffix(strings.Join(c.output[1:], " "), ",") + strings.TrimSpace(value)
	c.output = nil
	p.statement(c, whole)
}

func (p *codeParser) openClass(indent int, body string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(body, "class "), "(")
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	g := &Graph{Name: name}
	if len(p.stack) > 0 {
		parent := p.stack[len(p.stack)-1].g
		parent.Subs = append(parent.Subs, g)
	} else {
		p.top = append(p.top, g)
	}
	p.stack = append(p.stack, &class{indent: indent, g: g, known: map[string]bool{}, at: map[string]int{}})
	p.source = Source{}
}

// current is the innermost class that the indentation belongs to.
func (p *codeParser) current(indent int) *class {
	for len(p.stack) > 0 {
		c := p.stack[len(p.stack)-1]
		if indent > c.indent && c.inBody {
			return c
		}
		if indent > c.indent {
			return nil
		}
		p.stack = p.stack[:len(p.stack)-1]
	}
	return nil
}

func (p *codeParser) forward(indent int, body string) {
	if len(p.stack) == 0 {
		p.openClass(-1, "class GraphModule(")
	}
	for len(p.stack) > 1 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	c := p.stack[len(p.stack)-1]
	c.inBody = true
	params := strings.TrimPrefix(body, "def forward(")
	end := strings.LastIndex(params, ")")
	c.params = end < 0
	if end >= 0 {
		params = params[:end]
	}
	p.parameters(c, params)
}

// parameters adds the inputs of a list, or of one line of it.
func (p *codeParser) parameters(c *class, list string) {
	for _, s := range splitTop(list, ',') {
		s = strings.TrimSpace(s)
		if s == "self" || s == "" || s == "*" {
			continue
		}
		name, typ, _ := strings.Cut(s, ":")
		name, _, _ = strings.Cut(strings.TrimSpace(name), "=")
		p.add(c, Node{Name: name, Op: "placeholder", Target: name, Type: unquote(strings.TrimSpace(typ))})
	}
}

func (p *codeParser) add(c *class, n Node) {
	if _, twice := c.at[n.Name]; !twice {
		c.at[n.Name] = len(c.g.Nodes)
	}
	c.g.Nodes = append(c.g.Nodes, n)
	c.known[n.Name] = true
	p.nodes++
}

// ofForward begins the comment of nodes of the backward pass: the place of the node that they differentiate follows.
const ofForward = "# Backward of forward node: "

// comment takes "# File: F:L in fn, code: src".
func (p *codeParser) comment(body string) {
	if rest, ok := strings.CutPrefix(body, ofForward); ok {
		p.source, _ = ParseSource(rest) // of a node without a place it has none either
		return
	}
	if s, ok := ParseSource(body); ok {
		p.source = s
	} else if strings.HasPrefix(body, "# No stacktrace") {
		p.source = Source{}
	}
}

// ParseSource reads a File comment: "# File: F:L in fn, code: src" or
// `# File "F", line L, in f, code: src`.
func ParseSource(s string) (Source, bool) {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(s, "# "), "File: "); ok {
		place, code, _ := strings.Cut(rest, ", code: ")
		i := strings.LastIndex(place, " in ")
		if i < 0 {
			i = len(place)
		}
		file, lineNo, ok := CutLine(place[:i])
		if !ok {
			return Source{}, false
		}
		return Source{File: file, Line: lineNo, Func: strings.TrimPrefix(place[i:], " in "), Code: code}, true
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(s, "# "), `File "`); ok {
		file, rest, ok := strings.Cut(rest, `", line `)
		if !ok {
			return Source{}, false
		}
		num, rest, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(strings.TrimSpace(num))
		if err != nil {
			return Source{}, false
		}
		place, code, _ := strings.Cut(rest, ", code: ")
		return Source{File: file, Line: n, Func: strings.TrimPrefix(strings.TrimSpace(place), "in "), Code: code}, true
	}
	return Source{}, false
}

// CutLine cuts "path:12".
func CutLine(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(s[i+1:]))
	return s[:i], n, err == nil
}

// statement takes one line of a forward's body.
func (p *codeParser) statement(c *class, body string) {
	body = dropClears(body)
	if rest, ok := strings.CutPrefix(body, "return"); ok && (rest == "" || rest[0] == ' ' || rest[0] == '(') {
		p.add(c, Node{Name: "output", Op: "output", Target: "output", Text: strings.TrimSpace(rest), Args: p.names(c, rest)})
		return
	}
	body = augmented(body)
	lhs, rhs, ok := cutAssign(body)
	if !ok {
		if name, typ, ok := strings.Cut(body, ": \""); ok && identifier(name) { // an input: a: "f32[4]"  # PlainAOTInput(idx=0)
			typ, _, _ = strings.Cut(typ, "\"")
			p.add(c, Node{Name: name, Op: "placeholder", Target: name, Type: typ})
			return
		}
		if strings.HasSuffix(body, ")") { // a call whose result nobody uses
			p.add(c, p.value(c, "", "", body))
		}
		return
	}
	name, typ, _ := strings.Cut(lhs, ":")
	name = strings.TrimSpace(name)
	if !identifier(name) {
		return
	}
	if identifier(rhs) && c.known[rhs] { // l_x_ = L_x_
		p.rename(c, rhs, name)
		return
	}
	p.add(c, p.value(c, name, unquote(strings.TrimSpace(typ)), rhs))
}

// augmented makes "x = a += b" of "a += b;  x = a", as which an assignment that changes its target is printed.
func augmented(body string) string {
	change, named, ok := strings.Cut(body, ";  ")
	if !ok {
		return body
	}
	lhs, rhs, ok := cutAssign(named)
	if op, rest, _ := strings.Cut(strings.TrimPrefix(change, rhs+" "), " "); !ok || !identifier(rhs) || rest == "" ||
		!strings.HasPrefix(change, rhs+" ") || !strings.HasSuffix(op, "=") || infixNames[op] == "" {
		return body
	}
	return lhs + " = " + change
}

// rename gives a placeholder the name under which the body knows it.
func (p *codeParser) rename(c *class, from, to string) {
	i, ok := c.at[from]
	if !ok {
		return
	}
	delete(c.at, from)
	c.at[to] = i
	c.g.Nodes[i].Name = to
	c.known[to] = true
}

// value makes the node of "rhs".
func (p *codeParser) value(c *class, name, typ, rhs string) Node {
	n := Node{Name: name, Type: typ, Source: p.source, Text: rhs, Args: p.names(c, rhs)}
	head, args, isCall := cutCall(rhs)
	switch {
	case isCall && strings.HasPrefix(head, "self."):
		n.Op, n.Target, n.Text = "call_module", strings.TrimPrefix(head, "self."), args
	case isCall && identifierPath(head):
		recv, method := cutLastDot(head)
		n.Op, n.Target, n.Text = "call_function", head, args
		if c.known[recv] {
			n.Op, n.Target = "call_method", method
		}
	case isCall && c.known[headName(head)] && strings.Contains(head, "."):
		_, n.Target = cutLastDot(head)
		n.Op, n.Text = "call_method", args
	case strings.HasPrefix(rhs, "self."):
		n.Op, n.Target = "get_attr", strings.TrimPrefix(rhs, "self.")
	case strings.HasSuffix(rhs, "]") && identifier(headName(rhs)):
		n.Op, n.Target = "call_function", "operator.getitem"
	default:
		n.Op, n.Target = "call_function", "operator."+infix(rhs)
	}
	return n
}

// infix names the Python operator of an expression such as "l > 100".
func infix(rhs string) string {
	var n nesting
	for i := 0; i < len(rhs); i++ {
		if !n.outside(rhs[i]) || rhs[i] != ' ' {
			continue
		}
		op, _, ok := strings.Cut(rhs[i+1:], " ")
		if name := infixNames[op]; ok && name != "" {
			return name
		}
	}
	switch {
	case strings.HasPrefix(rhs, "-"):
		return "neg"
	case strings.HasPrefix(rhs, "~"):
		return "invert"
	case strings.HasPrefix(rhs, "not "):
		return "not_"
	}
	return "value"
}

var infixNames = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
	"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "&": "and_", "|": "or_", "^": "xor",
	"<<": "lshift", ">>": "rshift", "+=": "iadd", "-=": "isub", "*=": "imul", "/=": "itruediv", "is": "is_", "in": "contains",
}

// names lists the known nodes in an expression, each once.
func (p *codeParser) names(c *class, expr string) []string {
	var out []string
	seen := map[string]bool{}
	for i := 0; i < len(expr); {
		ch := expr[i]
		if ch == '\'' || ch == '"' {
			j := strings.IndexByte(expr[i+1:], ch)
			if j < 0 {
				break
			}
			i += j + 2
			continue
		}
		if !letter(ch) {
			i++
			continue
		}
		j := i
		for j < len(expr) && (letter(expr[j]) || expr[j] >= '0' && expr[j] <= '9') {
			j++
		}
		word := expr[i:j]
		if (i == 0 || expr[i-1] != '.') && c.known[word] && !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
		i = j
	}
	return out
}

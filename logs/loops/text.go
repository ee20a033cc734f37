package loops

import (
	"math"
	"strconv"
	"strings"
)

// This file cuts the text of the log. A node begins with "op1: SchedulerNode(ComputedBuffer)" and
// has lines "op1.writes = [...]", whose lists may go on over several lines; its buffers are indented
// below "op1.outputs", and those that it reads are told as "buf0_layout = FixedLayout(...)". What
// tcdbg exec has a PyTorch program write (internal/pyhook) is the same, a line for each node, with
// "; " between what were lines.

type parser struct {
	program Program
	node    *Node
	buffer  *Buffer
	list    strings.Builder // of a list that goes on
	into    func(string)
	depth   int
}

// longestList bounds the text of one list.
const longestList = 1 << 20

func (p *parser) read(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if len(p.program.Nodes) >= maxNodes {
			return
		}
		if p.into != nil {
			p.more(line)
			continue
		}
		p.line(line)
	}
}

// line reads a line that begins something.
func (p *parser) line(line string) {
	body := strings.TrimLeft(line, " ")
	name, rest, ok := strings.Cut(body, ": ")
	switch {
	case ok && opName(name) && strings.Contains(rest, "); "): // tcdbg exec has a node in one line
		for part := range strings.SplitSeq(body, "; ") {
			p.line(part)
		}
	case ok && opName(name) && strings.Contains(rest, "("):
		p.begin(name)
	case ok && identifier(name) && identifier(rest): // buf0: ComputedBuffer
		p.buffer = p.program.buffer(name)
	default:
		if field, value, ok := strings.Cut(body, " = "); ok {
			p.field(field, value)
		} else if field, ok := strings.CutSuffix(body, " ="); ok {
			p.field(field, "")
		}
	}
}

func (p *parser) begin(name string) {
	p.buffer = nil
	if p.program.Nodes[name] != nil { // groups repeat the nodes in them
		p.node = nil
		return
	}
	p.node = &Node{Name: strings.Clone(name)}
	p.program.Nodes[p.node.Name] = p.node
}

// field reads "NAME.WORD = VALUE" and "NAME_layout = VALUE".
func (p *parser) field(field, value string) {
	if name, ok := strings.CutSuffix(field, "_layout"); ok && identifier(name) {
		p.program.buffer(name).layout(value)
		return
	}
	name, what, ok := strings.Cut(field, ".")
	if !ok {
		return
	}
	switch node := p.node; {
	case what == "layout" && p.buffer != nil:
		p.buffer.layout(value)
	case what == "users" && p.buffer != nil:
		p.open(value, p.buffer.users)
	case node == nil || name != node.Name:
	case what == "writes":
		p.open(value, func(s string) {
			from := len(node.Accesses)
			node.accesses(s, true)
			for i := range node.Accesses[from:] {
				p.program.writers[node.Accesses[from+i].Buffer] = node.Name
			}
		})
	case what == "unmet_dependencies", what == "met_dependencies":
		p.open(value, func(s string) { node.accesses(s, false) })
	case what == "sizes":
		node.Ranges = strings.Clone(value)
	}
}

// open begins a list, which ends with the bracket that closes it.
func (p *parser) open(value string, into func(string)) {
	p.list.Reset()
	p.into, p.depth = into, 0
	p.more(value)
}

// more adds a line to the open list.
func (p *parser) more(line string) {
	p.list.WriteString(line)
	p.list.WriteByte(' ')
	p.depth += strings.Count(line, "[") - strings.Count(line, "]")
	if began := strings.Contains(p.list.String()[:min(p.list.Len(), 16)], "["); p.depth <= 0 && (began || p.list.Len() > 64) ||
		p.list.Len() > longestList {
		p.into(p.list.String())
		p.into = nil
	}
}

func (p *Program) buffer(name string) *Buffer {
	b := p.Buffers[name]
	if b == nil {
		b = &Buffer{Bytes: -1}
		if len(p.Buffers) < 4*maxNodes {
			p.Buffers[strings.Clone(name)] = b
		}
	}
	return b
}

// layout reads FixedLayout('cpu', torch.float32, size=[2, 4], stride=[4, 1]).
func (b *Buffer) layout(s string) {
	_, rest, ok := strings.Cut(s, "torch.")
	dtype, _, _ := strings.Cut(rest, ",")
	_, size, sized := strings.Cut(s, "size=[")
	size, _, closed := strings.Cut(size, "]")
	item := itemSize(strings.TrimSpace(dtype))
	if !ok || !sized || !closed || item == 0 {
		return
	}
	b.Item, b.Bytes = item, item
	for part := range strings.SplitSeq(size, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 || n > 0 && b.Bytes > math.MaxInt64/n {
			b.Bytes = -1
			return
		}
		b.Bytes *= n
	}
}

// itemSize is the bytes of an element, 0 for what is not known.
func itemSize(dtype string) int64 {
	switch dtype {
	case "bool", "int8", "uint8", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu":
		return 1
	case "float16", "bfloat16", "int16", "uint16":
		return 2
	case "float32", "int32", "uint32", "complex32":
		return 4
	case "float64", "int64", "uint64", "complex64":
		return 8
	case "complex128":
		return 16
	}
	return 0
}

// users reads NodeUser(node=SchedulerNode(name='op1'), can_inplace=False, is_weak=False), ...
func (b *Buffer) users(s string) {
	b.Known = true
	for part := range strings.SplitSeq(s, "NodeUser(node=") {
		if strings.HasPrefix(part, "OUTPUT") {
			b.Output = true
			continue
		}
		if strings.Contains(part, "is_weak=True") {
			continue
		}
		_, name, ok := strings.Cut(part, "name='")
		name, _, closed := strings.Cut(name, "'")
		if ok && closed {
			b.Users = append(b.Users, strings.Clone(name))
		} else if strings.Contains(part, "(") { // a group, whose name is told in another way
			b.Known = false
		}
	}
}

// accesses reads a list of dependencies; weak ones order nodes and move nothing.
func (n *Node) accesses(s string, write bool) {
	for s != "" {
		i := strings.Index(s, "Dep(")
		if i < 0 {
			return
		}
		kind, rest := s[:i], s[i+len("Dep("):]
		body, after := closing(rest)
		s = after
		switch {
		case strings.HasSuffix(kind, "Memory"):
			if a, ok := memoryDep(body); ok {
				a.Write = write
				n.Accesses = append(n.Accesses, a)
			}
		case strings.HasSuffix(kind, "Star"):
			if name := quoted(body); name != "" {
				n.Accesses = append(n.Accesses, Access{Buffer: name, Write: write, Whole: true})
			}
		}
	}
}

// closing cuts s at the bracket that closes what was opened before it.
func closing(s string) (body, after string) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return s[:i], s[i+1:]
			}
			depth--
		}
	}
	return s, ""
}

// memoryDep reads 'buf0', 64*c0 + c1, {c0: 2, c1: 64}, and a mode after it.
func memoryDep(s string) (Access, bool) {
	a := Access{Buffer: quoted(s)}
	i := strings.LastIndexByte(s, '{')
	_, rest, ok := strings.Cut(s, "', ")
	if a.Buffer == "" || i < 0 || !ok || len(s)-len(rest) > i {
		return a, false
	}
	index := s[len(s)-len(rest) : i]
	a.Index = strings.Clone(strings.TrimRight(index, ", "))
	ranges, mode, _ := strings.Cut(s[i+1:], "}")
	if mode = strings.Trim(mode, ", "); mode != "" && mode != "None" {
		a.Mode = strings.Clone(mode)
	}
	for part := range strings.SplitSeq(ranges, ", ") {
		name, size, ok := strings.Cut(part, ": ")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
		if err != nil || n < 0 {
			n = -1
		}
		a.Loops = append(a.Loops, Loop{strings.Clone(strings.TrimSpace(name)), n})
	}
	return a, true
}

// quoted is the first text in single quotes.
func quoted(s string) string {
	_, s, ok := strings.Cut(s, "'")
	name, _, closed := strings.Cut(s, "'")
	if !ok || !closed {
		return ""
	}
	return strings.Clone(name)
}

// opName says whether s names nodes: op1, op1_op2.
func opName(s string) bool {
	if s == "" {
		return false
	}
	for part := range strings.SplitSeq(s, "_") {
		n, ok := strings.CutPrefix(part, "op")
		if _, err := strconv.ParseUint(n, 10, 32); !ok || err != nil {
			return false
		}
	}
	return true
}

func identifier(s string) bool {
	for i := range len(s) {
		if !word(s[i]) {
			return false
		}
	}
	return s != ""
}

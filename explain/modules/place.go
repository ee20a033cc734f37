package modules

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file gives every node a module.

// line is a line of the program.
type line struct {
	file string
	line int
}

func lineOf(p logs.Pos) line { return line{p.File, p.Line} }

// below is what is known of a line in a module and below it.
type below struct {
	path  string // of one module whose code it is
	other bool   // there are more
}

// lines is what the captured graph tells of the lines of the program.
type lines struct {
	runs map[line]int // how often nodes of a line follow each other
	of   map[line]map[string]below
}

// countRuns counts the runs of nodes of each line.
func countRuns(nodes []explain.GraphNode) map[line]int {
	runs := map[line]int{}
	var last line
	for i := range nodes {
		if !computes(&nodes[i]) {
			continue
		}
		if at := lineOf(nodes[i].Pos); at != last {
			runs[at]++
			last = at
		}
	}
	return runs
}

// learn notes the modules of every line, under each of the modules above them.
func (g *Graph) learn() {
	g.lines.of = map[line]map[string]below{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !computes(n) || n.Pos.Line == 0 {
			continue
		}
		at, path := lineOf(n.Pos), g.Module[i]
		paths := g.lines.of[at]
		if paths == nil {
			paths = map[string]below{}
			g.lines.of[at] = paths
		}
		for p := path; ; p = parent(p) {
			b, ok := paths[p]
			if !ok {
				paths[p] = below{path, false}
			} else if b.path != path {
				paths[p] = below{b.path, true}
			}
			if p == "" {
				break
			}
		}
	}
}

// within is the module of a line at or below path, or of those above it the nearest that has one.
func (l *lines) within(at line, path string) (string, bool) {
	paths := l.of[at]
	for p := path; paths != nil; p = parent(p) {
		if b, ok := paths[p]; ok {
			if b.other {
				return p, true
			}
			return b.path, true
		}
		if p == "" {
			break
		}
	}
	return "", false
}

// place gives every node its module: what computes with a parameter that of the parameter, what lies
// between two of them the module that both agree on.
func (g *Graph) place(held []anchor, captured *Graph) {
	any := false
	for i := range g.Inputs {
		any = any || g.Inputs[i].Kind != Argument
	}
	if !any {
		g.byFunction()
		return
	}
	if captured != nil {
		g.lines = captured.lines
	} else {
		g.lines.runs = countRuns(g.Nodes)
	}
	next := make([]int, len(g.Nodes)) // the next node with a parameter
	after := -1
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		next[i] = after
		if held[i].known && computes(&g.Nodes[i]) {
			after = i
		}
	}
	before := -1
	for i := range g.Nodes {
		switch n := &g.Nodes[i]; {
		case !computes(n):
			g.Module[i] = held[i].path
		case held[i].known:
			g.Module[i] = held[i].path
			before = i
		case isView(n0(n.Target)) && len(g.args[i]) > 0 && sameLine(n.Pos, g.Nodes[g.args[i][0]].Pos):
			g.Module[i] = g.Module[g.args[i][0]]
		default:
			g.Module[i] = g.between(i, before, next[i], held)
		}
	}
}

// computes reports whether a node is neither an input nor the output.
func computes(n *explain.GraphNode) bool { return n.Op != "placeholder" && n.Op != "output" }

// between is the module of a node without a parameter, from the nodes with one before and after it.
func (g *Graph) between(i, before, after int, held []anchor) string {
	pos := g.Nodes[i].Pos
	if before < 0 || after < 0 {
		at := max(before, after)
		if at < 0 {
			return ""
		}
		// Several modules of one Sequential run in one line: nothing says that it is the neighbour's.
		if path, ok := g.lines.within(lineOf(pos), parent(held[at].path)); ok && g.lines.of != nil {
			return path
		}
		if g.sameFunc(pos, g.Nodes[at].Pos) {
			return g.scopeOf(at, held)
		}
		return ""
	}
	both := common(held[before].path, held[after].path)
	if path, ok := g.lines.within(lineOf(pos), both); ok {
		return path
	}
	if held[before].path == held[after].path {
		return both
	}
	a, b := g.scopeOf(before, held), g.scopeOf(after, held)
	inA, inB := g.sameFunc(pos, g.Nodes[before].Pos), g.sameFunc(pos, g.Nodes[after].Pos)
	switch {
	case inA && inB && a == b, inA && !inB:
		return deeper(a, both)
	case inB && !inA:
		return deeper(b, both)
	case inA && inB && g.reads(i, a):
		return deeper(a, both)
	case inA && inB && pos.Line < g.Nodes[before].Pos.Line:
		return deeper(b, both) // the next instance of the same code has begun
	case inA && inB && pos.Line > g.Nodes[after].Pos.Line:
		return deeper(a, both)
	}
	return both
}

// reads reports whether a node reads a value that its own line computed in a module.
func (g *Graph) reads(i int, path string) bool {
	for _, a := range g.args[i] {
		if m := g.Module[a]; sameLine(g.Nodes[i].Pos, g.Nodes[a].Pos) && path != "" && (m == path || strings.HasPrefix(m, path+".")) {
			return true
		}
	}
	return false
}

// deeper is the one of two paths that lies below the other; where neither does, the first.
func deeper(a, b string) string {
	if strings.HasPrefix(b, a+".") || a == "" {
		return b
	}
	return a
}

// scopeOf is the module whose code computes with a parameter: of self.conv1(x) the one that has conv1, of
// self.weight * x the one that has weight.
func (g *Graph) scopeOf(i int, held []anchor) string {
	code, path := g.Nodes[i].Pos.Code, held[i].path
	if param := held[i].param; param != "" && mentions(code, param) {
		return path
	}
	parts := strings.Split(path, ".")
	for k := len(parts) - 1; k >= 0; k-- {
		if mentions(code, parts[k]) {
			return strings.Join(parts[:k], ".")
		}
	}
	return parent(path)
}

// mentions reports whether code has an attribute: self.conv1, m.Conv1.
func mentions(code, attribute string) bool {
	for rest := code; ; {
		_, tail, ok := strings.Cut(rest, "."+attribute)
		if !ok {
			return false
		}
		if tail == "" || !word(tail[0]) {
			return true
		}
		rest = tail
	}
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func sameLine(a, b logs.Pos) bool { return a.Line > 0 && a.Line == b.Line && a.File == b.File }

// sameFuncLines is how far lines of one function may lie apart to be taken for such.
const sameFuncLines = 12

// sameFunc reports whether two lines are of one function. Classes of one file have functions of one name:
// lines of the same one lie close together, and run equally often.
func (g *Graph) sameFunc(a, b logs.Pos) bool {
	if a.Line == 0 || a.File != b.File || a.Func != b.Func || max(a.Line-b.Line, b.Line-a.Line) > sameFuncLines {
		return false
	}
	return a.Line == b.Line || g.lines.runs[lineOf(a)] == g.lines.runs[lineOf(b)]
}

// parent is the path without its last part.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i]
	}
	return ""
}

// common is the path that two begin with.
func common(a, b string) string {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return strings.Join(as[:n], ".")
}

// maxFlat is the number of nodes up to which a graph without modules needs no levels.
const maxFlat = 60

// byFunction makes levels of the functions of the program, where there are many nodes.
func (g *Graph) byFunction() {
	if len(g.Nodes) <= maxFlat {
		return
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; computes(n) && n.Pos.Func != "" {
			g.Module[i] = strings.ReplaceAll(explain.FunctionOf(n.Pos, nil), ".", "·")
		}
	}
}

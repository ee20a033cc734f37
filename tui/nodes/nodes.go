// Package nodes is how a graph of any size is looked at: which modules are open, what lies around
// a node, what is hot, and two stages beside each other. It draws lines, and knows no screen.
//
// It imports explain, explain/modules, theme and rails. Open this file first, then draw.go.
package nodes

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/tui/theme"
)

// Graph is one stage of a graph, read.
type Graph struct {
	*modules.Graph
	Tree  *modules.Level
	Nanos map[string]float64 // of a call, by captured node; nil where nothing was timed
	first map[string]bool    // modules that are open at first
}

// firstRows is how many lines a tree takes at first, at most.
const firstRows = 60

// Read makes the tree of a graph.
func Read(g *modules.Graph, nanos map[string]float64) *Graph {
	out := &Graph{Graph: g, Tree: g.Tree(nanos), Nanos: nanos}
	out.first = out.Tree.FirstOpen(firstRows)
	return out
}

// Heat is what the bars show.
type Heat int

// The measures.
const (
	Cold Heat = iota
	ByBytes
	ByFLOPs
	ByTime
)

func (h Heat) String() string {
	return [...]string{"no heat", "heat by bytes", "heat by FLOPs", "heat by time"}[h]
}

// of is a sum's part of a measure.
func (h Heat) of(s modules.Sum) float64 {
	switch h {
	case ByBytes:
		return float64(s.Bytes)
	case ByFLOPs:
		return float64(s.FLOPs)
	case ByTime:
		return s.Nanos
	}
	return 0
}

// Around is what the drawing is limited to.
type Around int

// The neighbourhoods.
const (
	Whole Around = iota
	Near
	Up
	Down
	Path
)

// View is how somebody looks at graphs.
type View struct {
	toggled map[string]bool // modules that are not as they were at first
	Heat    Heat
	around  Around
	node    string // around which
	mark    string // where paths begin
	hops    int
	of      string // graph of node and mark
}

// New is how graphs are looked at until somebody says otherwise.
func New() View { return View{toggled: map[string]bool{}, hops: 2} }

// open reports whether a module is open.
func (v *View) open(g *Graph, l *modules.Level) bool { return g.first[l.Path] != v.toggled[l.Path] }

// Open tells, now and later, which modules are open now.
func (v *View) Open(g *Graph) func(*modules.Level) bool {
	open := map[string]bool{}
	g.Tree.Each(func(l *modules.Level) { open[l.Path] = v.open(g, l) })
	return func(l *modules.Level) bool { return open[l.Path] }
}

// inputsPath is the path of the line that folds the inputs.
const inputsPath = "\x00inputs"

// Toggle opens or closes a line; false: it is not one that folds.
func (v *View) Toggle(l *Line) bool {
	path, ok := l.path()
	if !ok {
		return false
	}
	if v.toggled[path] {
		delete(v.toggled, path)
	} else {
		v.toggled[path] = true
	}
	return true
}

// ToggleAll closes every module, or where none is open, opens them all.
func (v *View) ToggleAll(g *Graph) {
	any := false
	g.Tree.Each(func(l *modules.Level) { any = any || l.Path != "" && v.open(g, l) })
	g.Tree.Each(func(l *modules.Level) {
		delete(v.toggled, l.Path)
		if l.Path != "" && v.open(g, l) == any {
			v.toggled[l.Path] = true
		}
	})
}

// Reveal opens the modules that hold a node.
func (v *View) Reveal(g *Graph, node int) {
	path := g.Module[node]
	g.Tree.Each(func(l *modules.Level) {
		holds := l.Path != "" && l.Holds(path) || strings.HasSuffix(l.Path, modules.Between) && has(l, node)
		if holds && !v.open(g, l) {
			v.toggled[l.Path] = !v.toggled[l.Path]
		}
	})
}

func has(l *modules.Level, node int) bool {
	for _, it := range l.Items {
		if it.Level == nil && it.Node == node {
			return true
		}
	}
	return false
}

// Line is one line: a node, a module, an input, or all of them folded.
type Line struct {
	modules.Row
	input  *modules.Input // Node is its node
	inputs bool           // all of them
}

func (l *Line) path() (string, bool) {
	switch {
	case l.inputs:
		return inputsPath, true
	case l.Level != nil:
		return l.Level.Path, true
	}
	return "", false
}

// maxInputs is the number of inputs up to which each has its line.
const maxInputs = 8

// Lines lists what the view shows of a graph.
func (v *View) Lines(g *Graph) []Line {
	if only := v.limited(g); only != nil {
		var out []Line
		for i := range g.Nodes {
			if only[i] {
				out = append(out, Line{Row: modules.Row{Item: modules.Item{Node: i}}})
			}
		}
		return out
	}
	var out []Line
	folded := len(g.Inputs) > maxInputs
	open := !folded || v.toggled[inputsPath]
	if folded {
		out = append(out, Line{Row: modules.Row{Item: modules.Item{Node: -1}, Open: open}, inputs: true})
	}
	arguments := g.Arguments()
	for i := range g.Inputs {
		in := &g.Inputs[i]
		if open || in.Kind == modules.Argument && arguments <= maxInputs {
			depth := 0
			if folded {
				depth = 1
			}
			out = append(out, Line{Row: modules.Row{Item: modules.Item{Node: in.Node}, Depth: depth}, input: in})
		}
	}
	for _, r := range g.Tree.Rows(func(l *modules.Level) bool { return v.open(g, l) }) {
		out = append(out, Line{Row: r})
	}
	return out
}

// limited are the nodes of the neighbourhood, nil for all.
func (v *View) limited(g *Graph) map[int]bool {
	i := g.Find(v.node)
	if v.around == Whole || i < 0 {
		return nil
	}
	switch v.around {
	case Up:
		return g.Near(i, v.hops, modules.Upstream)
	case Down:
		return g.Near(i, v.hops, modules.Downstream)
	case Path:
		if j := g.Find(v.mark); j >= 0 {
			return g.Between(i, j)
		}
		return nil
	}
	return g.Near(i, v.hops, modules.Both)
}

// Of forgets node and mark when another graph is looked at.
func (v *View) Of(graph string) {
	if v.of != graph {
		v.of, v.around, v.node, v.mark = graph, Whole, "", ""
	}
}

// Look goes on to the next neighbourhood of a node: around, upstream, downstream, and back to the whole.
func (v *View) Look(node string) {
	if node != v.node && v.around != Whole && node != "" {
		v.node, v.around = node, max(Near, v.around%Path)
		return
	}
	v.node = node
	v.around = (v.around + 1) % Path
	if node == "" {
		v.around = Whole
	}
}

// Mark notes a node; where one is noted already, the paths between the two are shown.
func (v *View) Mark(node string) {
	if v.mark == "" || v.mark == node {
		v.mark = node
		return
	}
	v.node, v.around = node, Path
}

// Unmark shows the whole graph.
func (v *View) Unmark() { v.mark, v.node, v.around = "", "", Whole }

// maxHops bounds the neighbourhood; one more is all.
const maxHops = 9

// Hops makes the neighbourhood wider or narrower; 0 hops are all.
func (v *View) Hops(n int) {
	switch h := v.hops + n; {
	case v.hops == 0 && n < 0:
		v.hops = maxHops
	case h > maxHops || v.hops == 0:
		v.hops = 0
	default:
		v.hops = max(1, h)
	}
}

// NextHeat is the next measure; one that nothing was measured in is passed over.
func (v *View) NextHeat(g *Graph) {
	for range 4 {
		v.Heat = (v.Heat + 1) % 4
		if v.Heat == Cold || v.Heat.of(g.Tree.Sum) > 0 {
			return
		}
	}
}

// Says is what the view is limited to, "" for nothing.
func (v *View) Says(g *Graph) string {
	if v.around == Whole || g.Find(v.node) < 0 {
		if v.mark != "" {
			return "marked " + v.mark + ": M on another node shows the paths between"
		}
		return ""
	}
	far := "all hops"
	if v.hops > 0 {
		far = explain.Count(v.hops, "hop")
	}
	switch v.around {
	case Path:
		if v.limited(g) == nil {
			return "no path between " + v.mark + " and " + v.node
		}
		return "paths between " + v.mark + " and " + v.node
	case Up:
		return "upstream of " + v.node + ", " + far
	case Down:
		return "downstream of " + v.node + ", " + far
	}
	return "around " + v.node + ", " + far
}

// Text is what a search looks through: of a closed module everything that it holds.
func (g *Graph) Text(l *Line) string {
	var b strings.Builder
	g.text(&b, l)
	return b.String()
}

func (g *Graph) text(b *strings.Builder, l *Line) {
	switch {
	case l.inputs:
		b.WriteString(g.InputText()) // a search for a module means its operators
	case l.Level != nil:
		b.WriteString(l.Level.Path)
		if !l.Open {
			l.Level.Each(func(m *modules.Level) {
				b.WriteString(" " + m.Path)
				for _, it := range m.Items {
					if it.Level == nil {
						g.nodeText(b, it.Node)
					}
				}
			})
		}
	default:
		g.nodeText(b, l.Node)
	}
}

func (g *Graph) nodeText(b *strings.Builder, i int) {
	n := &g.Nodes[i]
	for _, s := range []string{n.Name, n.Target, theme.Clean(Shape(n.Type)), n.Type, placeOf(n.Pos), n.Pos.Code} {
		b.WriteByte(' ')
		b.WriteString(s)
	}
}

// Hits counts the nodes of a closed module that a search finds.
func (g *Graph) Hits(l *modules.Level, query string) int {
	n := 0
	l.Each(func(m *modules.Level) {
		for _, it := range m.Items {
			if it.Level != nil {
				continue
			}
			var b strings.Builder
			g.nodeText(&b, it.Node)
			if theme.IndexFold(b.String(), query) >= 0 {
				n++
			}
		}
	})
	return n
}

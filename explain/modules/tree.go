package modules

import "strings"

// This file is the tree of modules: what each adds up to, and the rows that are shown
// where some are open and some closed.

// Sum is what the nodes of a module add up to.
type Sum struct {
	Operators    int
	Bytes, FLOPs int64
	Nanos        float64 // 0 where no kernel was timed
	Unknown      int     // nodes whose sizes are not known
}

// Level is one module with what is below it.
type Level struct {
	Path, Name string
	Sum        Sum
	Items      []Item // nodes and modules, in the order in which they first compute
	Above      *Level
}

// Item is a node, or a module below.
type Item struct {
	Node  int
	Level *Level // nil: the node
}

// Tree puts the nodes that compute into their modules. nanos are times by the captured node, or nil.
func (g *Graph) Tree(nanos map[string]float64) *Level {
	root := &Level{}
	levels := map[string]*Level{"": root}
	for i := range g.Nodes {
		if g.Nodes[i].Op == "placeholder" {
			continue
		}
		l := level(levels, g.Module[i])
		l.Items = append(l.Items, Item{Node: i})
		for s := g.NodeSum(i, nanos); l != nil; l = l.Above {
			l.Sum.add(s)
		}
	}
	root.Each(func(l *Level) { g.gather(l, nanos) })
	return root
}

// maxBetween is the number of nodes that stand beside modules; more of them are gathered in a level of their own.
const maxBetween = 8

// Between is the name of the level of what computes beside the modules of one.
const Between = "(beside its modules)"

// gather puts the nodes of a level with modules below it into a level of their own, where they are many.
func (g *Graph) gather(l *Level, nanos map[string]float64) {
	if own := len(l.Items) - len(modulesOf(l)); own == len(l.Items) || own <= maxBetween {
		return
	}
	beside := &Level{Path: join(l.Path, Between), Name: Between, Above: l}
	var items []Item
	for _, it := range l.Items {
		if it.Level != nil || g.Nodes[it.Node].Op == "output" {
			items = append(items, it)
			continue
		}
		if len(beside.Items) == 0 {
			items = append(items, Item{Level: beside})
		}
		beside.Items = append(beside.Items, it)
		beside.Sum.add(g.NodeSum(it.Node, nanos))
	}
	l.Items = items
}

// NodeSum is what one node adds.
func (g *Graph) NodeSum(i int, nanos map[string]float64) Sum {
	s := Sum{Bytes: g.Cost[i].Bytes, FLOPs: g.Cost[i].FLOPs, Nanos: nanos[g.Nodes[i].Name]}
	if computes(&g.Nodes[i]) && g.Nodes[i].Op != "get_attr" {
		s.Operators = 1
	}
	if g.Cost[i].Unknown {
		s.Unknown = 1
	}
	return s
}

func (s *Sum) add(o Sum) {
	s.Operators += o.Operators
	s.Bytes += o.Bytes
	s.FLOPs += o.FLOPs
	s.Nanos += o.Nanos
	s.Unknown += o.Unknown
}

// level is the module of a path, made with those above it where it is new.
func level(levels map[string]*Level, path string) *Level {
	if l, ok := levels[path]; ok {
		return l
	}
	above := level(levels, parent(path))
	l := &Level{Path: path, Name: path[strings.LastIndexByte(path, '.')+1:], Above: above}
	levels[path] = l
	above.Items = append(above.Items, Item{Level: l})
	return l
}

// Row is one line of the tree.
type Row struct {
	Item
	In    *Level // the module that holds it
	Depth int
	Open  bool // of a module
}

// Rows lists the tree: modules that open says, with what they hold, the others alone.
func (l *Level) Rows(open func(*Level) bool) []Row {
	var out []Row
	var visit func(l *Level, depth int)
	visit = func(l *Level, depth int) {
		for _, it := range l.Items {
			r := Row{Item: it, In: l, Depth: depth}
			if it.Level != nil {
				r.Open, r.Node = open(it.Level), -1
			}
			out = append(out, r)
			if r.Open {
				visit(it.Level, depth+1)
			}
		}
	}
	visit(l, 0)
	return out
}

// FirstOpen is the modules that are open until somebody closes one: level by level, as long as at most
// rows lines come of it.
func (l *Level) FirstOpen(rows int) map[string]bool {
	open := map[string]bool{}
	lines, row := len(l.Items), modulesOf(l)
	for len(row) > 0 {
		more := 0
		var next []*Level
		for _, m := range row {
			more += len(m.Items)
			next = append(next, modulesOf(m)...)
		}
		// A level with one module costs one line, and says where the work is.
		if lines+more > rows && len(row) > 1 {
			break
		}
		for _, m := range row {
			open[m.Path] = true
		}
		lines += more
		row = next
	}
	return open
}

func modulesOf(l *Level) []*Level {
	var out []*Level
	for _, it := range l.Items {
		if it.Level != nil {
			out = append(out, it.Level)
		}
	}
	return out
}

// Each visits a module and those below it.
func (l *Level) Each(visit func(*Level)) {
	visit(l)
	for _, m := range modulesOf(l) {
		m.Each(visit)
	}
}

// Holds reports whether a path lies in the module, or is its own.
func (l *Level) Holds(path string) bool {
	return l.Path == "" || path == l.Path || strings.HasPrefix(path, l.Path+".")
}
